"""Institutions by the words their names are built on: cases by label, linear time, the laws of every detector."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deident.detect import institutions
from deident.document import Document, Span
from deident.labels import Label
from tests.casefiles import cases

CASES: dict[str, dict[str, list[str]]] = dict(cases("institutions"))  # type: ignore[arg-type]
DETECTOR = institutions.detector()


def found(text: str) -> list[Span]:
    return list(DETECTOR.detect(Document("case", text)))


@pytest.mark.parametrize(("label", "marked"), [(label, text) for label, row in CASES.items() for text in row["finds"]])
def test_finds(label: str, marked: str) -> None:
    start, stop = marked.index("<"), marked.index(">") - 1
    text = marked.replace("<", "").replace(">", "")
    (span,) = found(text)
    assert text[span.start : span.end] == text[start:stop]
    assert span.label is Label(label)
    assert DETECTOR.why(span)


@pytest.mark.parametrize("text", [text for row in CASES.values() for text in row["passes"]])
def test_passes(text: str) -> None:
    assert found(text) == []


PIECES = ["Okafor ", "Clinic", "clinic ", "of ", "at ", "works ", "the ", "&", "-", ", ", "P.A.", "\n", "é", "’s ", "("]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_spans_are_inside_and_hold_letters(text: str) -> None:
    for span in found(text):
        assert 0 <= span.start < span.end <= len(text)
        assert any(map(str.isalpha, text[span.start : span.end]))


@pytest.mark.parametrize(
    "piece", ["Okafor ", "Clinic ", "CLINIC OF ", "works at ", "Okafor-", "the Bay ", "transferred to X "]
)
def test_time_grows_with_length_alone(piece: str) -> None:
    def took(size: int) -> float:
        text = piece * size
        best = float("inf")
        for _ in range(3):
            begin = time.process_time()
            found(text)
            best = min(best, time.process_time() - begin)
        return best

    took(100)
    assert took(16_000) < 12 * took(4_000) + 0.05
