"""Error groups and the confusion matrix, worked out by hand."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deident.document import Document, Span
from deident.evaluate.errors import ERRORS, Extent, Finding, Kind, analyse, confusion
from deident.evaluate.scores import View, score
from deident.labels import Label

TEXT = "x" * 100


def doc(*spans: tuple[int, int, Label]) -> dict[str, Document]:
    return {"d": Document("d", TEXT, tuple(Span(*span) for span in spans))}


def test_each_kind_of_error() -> None:
    gold = doc(
        (0, 5, Label.PATIENT),  # correct
        (10, 15, Label.PATIENT),  # called DOCTOR
        (20, 30, Label.DATE),  # short
        (35, 40, Label.DATE),  # long
        (45, 50, Label.DATE),  # short and long
        (55, 60, Label.CITY),  # half of it, and called STATE
        (70, 75, Label.ZIP),  # missing
    )
    system = doc(
        (0, 5, Label.PATIENT),
        (10, 15, Label.DOCTOR),
        (22, 30, Label.DATE),
        (34, 41, Label.DATE),
        (43, 48, Label.DATE),
        (55, 57, Label.STATE),
        (90, 95, Label.AGE),  # spurious
    )
    found = analyse(gold, system)
    assert found.kinds == {
        Kind.CORRECT: 1,
        Kind.TYPE: 1,
        Kind.EXTENT: 3,
        Kind.BOTH: 1,
        Kind.MISSING: 1,
        Kind.SPURIOUS: 1,
        Kind.FRAGMENT: 0,
    }
    assert found.shares == {
        Kind.TYPE: pytest.approx(1 / 7),
        Kind.EXTENT: pytest.approx(3 / 7),
        Kind.BOTH: pytest.approx(1 / 7),
        Kind.MISSING: pytest.approx(1 / 7),
        Kind.SPURIOUS: pytest.approx(1 / 7),
    }
    assert found.extents == {Label.DATE: {Extent.SHORT: 1, Extent.LONG: 1, Extent.SHORT_AND_LONG: 1}}
    assert found.by_label[Label.PATIENT][Kind.CORRECT] == found.by_label[Label.PATIENT][Kind.TYPE] == 1
    assert found.by_label[Label.AGE][Kind.SPURIOUS] == 1
    types = found.types  # table 7: extent errors and those that are wrong in both stand elsewhere
    assert types.labels == (Label.PATIENT, Label.DOCTOR, Label.ZIP, Label.AGE)
    assert types.row(Label.PATIENT) == [1, 1, 0, 0, 0]
    assert types.row(Label.ZIP) == [0, 0, 0, 0, 1]
    assert types.row(None) == [0, 0, 0, 1, 0]


def test_the_examples_of_the_paper() -> None:
    # "5 August 2060" found as "August 2060" is short; "November" found as "November 1 morning" is long
    gold = doc((0, 13, Label.DATE), (20, 28, Label.DATE))
    system = doc((2, 13, Label.DATE), (20, 38, Label.DATE))
    assert [finding.extent for finding in analyse(gold, system).findings] == [Extent.SHORT, Extent.LONG]


def test_the_nearest_span_decides_and_the_other_piece_is_a_fragment() -> None:
    gold, system = doc((0, 10, Label.PATIENT)), doc((0, 3, Label.PATIENT), (4, 10, Label.PATIENT))
    found = analyse(gold, system)
    assert found.findings == (
        Finding("d", Kind.EXTENT, Span(0, 10, Label.PATIENT), Span(4, 10, Label.PATIENT), Extent.SHORT),
        Finding("d", Kind.FRAGMENT, None, Span(0, 3, Label.PATIENT)),
    )
    assert sum(found.shares.values()) == pytest.approx(1.0)
    assert Kind.FRAGMENT not in found.shares
    # the same extent goes before the same label, the same label before the larger overlap
    near = doc((0, 10, Label.DOCTOR), (0, 9, Label.PATIENT))
    assert analyse(gold, near).findings[0].kind is Kind.TYPE
    wider = doc((0, 2, Label.PATIENT), (2, 10, Label.DOCTOR))
    assert analyse(gold, wider).findings[0].system == Span(0, 2, Label.PATIENT)


def test_one_system_span_over_two_of_gold_is_two_long_ones() -> None:
    found = analyse(doc((0, 4, Label.PATIENT), (5, 9, Label.PATIENT)), doc((0, 9, Label.PATIENT)))
    assert [finding.extent for finding in found.findings] == [Extent.LONG, Extent.LONG]


def test_confusion_counts_spans_of_the_same_extent_only() -> None:
    gold = doc((0, 5, Label.PATIENT), (10, 15, Label.PATIENT), (20, 30, Label.DATE), (40, 45, Label.ZIP))
    system = doc((0, 5, Label.PATIENT), (10, 15, Label.HOSPITAL), (22, 30, Label.DATE), (60, 62, Label.AGE))
    matrix = confusion(gold, system)
    assert matrix.labels == (Label.PATIENT, Label.HOSPITAL, Label.ZIP, Label.AGE, Label.DATE)
    assert matrix.row(Label.PATIENT) == [1, 1, 0, 0, 0, 0]
    assert matrix.row(Label.DATE) == [0, 0, 0, 0, 0, 1]
    assert matrix.row(None) == [0, 0, 0, 1, 1, 0]
    assert matrix.to_json()["rows"]["spurious"] == [0, 0, 0, 1, 1, 0]
    # two labels for one place: the right one counts, the other is spurious
    double = confusion(doc((0, 5, Label.PATIENT)), doc((0, 5, Label.DOCTOR), (0, 5, Label.PATIENT)))
    assert double.cells == {(Label.PATIENT, Label.PATIENT): 1, (None, Label.DOCTOR): 1}


def test_missing_documents_are_missed_and_failures_kept() -> None:
    bad = {"x": Document("x", TEXT, (Span(0, 9, Label.PATIENT), Span(4, 9, Label.DOCTOR)))}
    found = analyse(doc((0, 5, Label.PATIENT)) | bad, {})
    assert found.kinds[Kind.MISSING] == 1
    assert [failure.id for failure in found.failures] == ["x"]
    assert confusion(doc((0, 5, Label.PATIENT)), {}).count(Label.PATIENT, None) == 1
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["findings"] == [
        {
            "id": "d",
            "kind": "missing",
            "extent": None,
            "gold": {"start": 0, "end": 5, "label": "PATIENT"},
            "system": None,
        }
    ]


def test_no_errors_have_no_shares() -> None:
    gold = doc((0, 5, Label.PATIENT))
    assert analyse(gold, gold).shares == {}


LABELS = st.sampled_from([Label.PATIENT, Label.DOCTOR, Label.DATE])
PLACES = st.tuples(st.integers(0, 90), st.integers(1, 9), LABELS)


@settings(max_examples=50, deadline=None)
@given(st.lists(PLACES, max_size=8), st.lists(PLACES, max_size=8))
def test_every_span_has_one_place(
    gold_places: list[tuple[int, int, Label]], places: list[tuple[int, int, Label]]
) -> None:
    ours: list[Span] = []
    for start, size, label in sorted(gold_places):
        if not ours or start >= ours[-1].end:
            ours.append(Span(start, start + size, label))
    theirs = tuple(dict.fromkeys(Span(start, start + size, label) for start, size, label in places))
    gold, system = {"d": Document("d", TEXT, tuple(ours))}, {"d": Document("d", TEXT, theirs)}
    found = analyse(gold, system)
    assert [finding.gold for finding in found.findings if finding.gold] == ours
    assert {finding.system for finding in found.findings if finding.system} == set(theirs)
    strict = score(gold, system).overall[View.STRICT].micro
    assert found.kinds[Kind.CORRECT] == strict.tp
    assert sum(found.kinds[kind] for kind in ERRORS if kind is not Kind.SPURIOUS) == strict.fn
    matrix = confusion(gold, system)
    assert sum(sum(matrix.row(label)) for label in matrix.labels) == len(ours)
    assert sum(matrix.count(label, label) for label in matrix.labels) == strict.tp
