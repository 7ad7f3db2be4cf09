"""Laws of resolving and replacing."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deident import replace
from deident.document import Document, Span, first_overlap, gaps
from deident.errors import SpanError, UnknownNameError
from deident.labels import Label
from deident.resolve import POLICIES, STEPS, resolve, step
from tests.casefiles import cases
from tests.strategies import documents, spans_of

policies = st.sampled_from(sorted(POLICIES))


def _covered(spans: tuple[Span, ...]) -> set[int]:
    return {place for span in spans for place in range(span.start, span.end)}


@given(spans_of(40), policies)
def test_resolved_spans_are_disjoint_and_cover_what_was_covered(spans: tuple[Span, ...], policy: str) -> None:
    resolved = resolve(spans, policy=policy)
    assert first_overlap(resolved) is None
    assert list(resolved) == sorted(resolved)
    assert _covered(resolved) == _covered(spans)
    assert resolve(resolved, policy=policy) == resolved
    assert {span.label for span in resolved} <= {span.label for span in spans}


@given(spans_of(40), policies, st.randoms())
def test_the_order_of_the_detectors_does_not_matter(
    spans: tuple[Span, ...], policy: str, random: st.DataObject
) -> None:
    shuffled = list(spans)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  (a random.Random, which Hypothesis types loosely)
    assert [(s.start, s.end) for s in resolve(shuffled, policy=policy)] == [
        (s.start, s.end) for s in resolve(spans, policy=policy)
    ]


def test_the_policies_choose() -> None:
    spans = (Span(0, 4, Label.DATE, score=0.9), Span(2, 10, Label.PHONE, score=0.5))
    assert resolve(spans)[0].label is Label.PHONE
    assert resolve(spans, policy="surest")[0].label is Label.DATE
    with pytest.raises(UnknownNameError):
        resolve(spans, policy="best")


def _marked(text: str) -> Document:
    """`"Dr. <Lee|DOCTOR>"` as a document."""
    spans: list[Span] = []
    plain = ""
    position = 0
    for match in re.finditer(r"<(.*?)\|([A-Z-]+)>", text):
        plain += text[position : match.start()]
        spans.append(Span(len(plain), len(plain) + len(match[1]), Label(match[2]), "case", 0.95))
        plain += match[1]
        position = match.end()
    return Document("a", plain + text[position:], tuple(spans))


@pytest.mark.parametrize("case", cases("steps"), ids=lambda case: f"{case['step']}: {case['text'][:40]}")
def test_steps(case: dict[str, Any]) -> None:
    doc = _marked(case["text"])
    found = step(case["step"])(doc, doc.spans)
    assert [span.label.value for span in found] == case["labels"]
    if "texts" in case:
        assert [doc.text[span.start : span.end] for span in found] == case["texts"]


@given(documents(), st.sampled_from(sorted(STEPS)))
def test_no_step_uncovers_a_character(doc: Document, name: str) -> None:
    spans = resolve(doc.spans)
    found = step(name)(doc.with_spans(spans), spans)
    assert _covered(spans) <= _covered(found)
    assert first_overlap(found) is None


@given(documents(), st.sampled_from(sorted(replace.TREATMENTS)))
def test_text_outside_spans_is_unchanged_and_spans_lie_on_their_replacements(doc: Document, name: str) -> None:
    doc = doc.with_spans(resolve(doc.spans))
    treat = replace.treatment(name)
    new = replace.apply(doc, treat)
    old_gaps = "\0".join(doc.text[start:end] for start, end in gaps(doc.spans, len(doc.text)))
    new_gaps = "\0".join(new.text[start:end] for start, end in gaps(new.spans, len(new.text)))
    assert old_gaps == new_gaps
    assert [new.text[s.start : s.end] for s in new.spans] == [treat(doc, span) for span in doc.spans]
    assert new.patient is None
    assert not new.meta


def test_overlapping_spans_are_refused() -> None:
    doc = Document("a", "abcdef", (Span(0, 3, Label.DATE), Span(2, 5, Label.AGE)))
    with pytest.raises(SpanError, match="at 0 and 2 overlap"):
        replace.apply(doc, replace.tag)


def test_the_mask_keeps_blanks() -> None:
    doc = Document("a", "Ada\nOkoro x", (Span(0, 9, Label.PATIENT),))
    assert replace.apply(doc, replace.mask).text == "***\n***** x"


def _longer(doc: Document, span: Span) -> str:
    return f"<{doc.text[span.start : span.end]}>" if span.label is not Label.AGE else ""


@given(documents(), documents())
def test_other_annotation_is_carried_onto_the_new_text(doc: Document, other: Document) -> None:
    doc = doc.with_spans(resolve(doc.spans))
    new = replace.rewritten(doc, _longer)
    assert new.document == replace.apply(doc, _longer)
    theirs = [span for span in other.spans if span.end <= len(doc.text)]
    carried = new.carried(theirs)
    assert all(span.end <= len(new.document.text) for span in carried)
    for span in theirs:
        if not any(span.overlaps(own) for own in doc.spans):
            (moved,) = new.carried([span])
            assert new.document.text[moved.start : moved.end] == doc.text[span.start : span.end]
    for own, move in zip(doc.spans, new.moves, strict=True):
        assert new.document.text[move.new_start : move.new_end] == _longer(doc, own)
        assert [(s.start, s.end) for s in new.carried([own])] == (
            [(move.new_start, move.new_end)] if move.new_end > move.new_start else []
        )


def test_a_span_that_a_replacement_touches_is_widened_over_it() -> None:
    doc = Document("a", "Ada Okoro seen", (Span(0, 9, Label.PATIENT),))
    new = replace.rewritten(doc, replace.tag)
    assert new.document.text == "[PATIENT] seen"
    (part,) = new.carried([Span(4, 14, Label.OTHER)])
    assert (part.start, part.end) == (0, 14)
