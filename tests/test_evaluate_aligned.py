"""Differently tokenised systems on the tokens of gold."""

import json
import math

import pytest

from deident.document import Document
from deident.errors import FormatError, SpanError, UsageError
from deident.evaluate.aligned import ANY, Cells, Tagged, align, compare, locate, of_document
from deident.formats import inline

TEXT = "Mr. Okoro-Reeve, MRN#4471820 seen 3/4/2071"
NAME, ID, DATE = frozenset({"NAME"}), frozenset({"ID"}), frozenset({"DATE"})


def gold() -> tuple[Tagged, ...]:
    return of_document(
        inline.parse("Mr. [[PATIENT:Okoro-Reeve]], MRN#[[MEDICALRECORD:4471820]] seen [[DATE:3/4/2071]]", name="d"),
        scheme="nlm",
    )


def tags(row: list[frozenset[str]]) -> list[str]:
    return ["+".join(sorted(found)) for found in row]


def test_a_document_becomes_tokens_with_the_names_of_a_scheme() -> None:
    assert [TEXT[token.start : token.end] for token in gold()] == [
        "Mr", "Okoro", "Reeve", "MRN", "4471820", "seen", "3", "4", "2071",
    ]  # fmt: skip
    assert tags([token.tags for token in gold()]) == ["", "NAME", "NAME", "", "ID", "", "DATE", "DATE", "DATE"]
    # a label without a name in the scheme is no tag
    work = inline.parse("a [[PROFESSION:baker]]", name="d")
    assert tags([token.tags for token in of_document(work, scheme="mimic")]) == ["", ""]


def test_tokens_inside_around_and_across_those_of_gold() -> None:
    system = [
        Tagged(0, 3, frozenset()),
        Tagged(4, 16, NAME),  # "Okoro-Reeve,": holds two gold tokens
        Tagged(17, 23, ID),  # "MRN#44": across one gold token and the next
        Tagged(23, 28, NAME | DATE),  # "71820": a part of it, with two tags at once; the first stays
        Tagged(34, 35, DATE),
    ]
    assert tags(align(gold(), system)) == ["", "NAME", "NAME", "ID", "DATE+ID+NAME", "", "DATE", "", ""]


def test_gold_tokens_must_be_in_order() -> None:
    with pytest.raises(SpanError, match="not in order"):
        align([Tagged(4, 8), Tagged(0, 5)], [])
    with pytest.raises(SpanError, match=r"not 4\.\.4"):
        Tagged(4, 4)


def test_tokens_given_as_strings_are_placed() -> None:
    placed = locate("Mr.  Okoro\n-Reeve", [("Mr.", ()), ("Okoro", ["NAME"]), ("-", ()), ("Reeve", ["NAME"])])
    assert [(token.start, token.end, token.tags) for token in placed] == [
        (0, 3, frozenset()),
        (5, 10, NAME),
        (11, 12, frozenset()),
        (12, 17, NAME),
    ]
    with pytest.raises(FormatError, match="token 2 is not what stands at offset 4 of the text") as caught:
        locate("Mr. Okoro", [("Mr.", ()), ("koro", ["NAME"])])
    assert "koro" not in str(caught.value)
    with pytest.raises(FormatError, match="token 1"):
        locate("Mr. Okoro", [("", ())])


def test_two_systems_side_by_side() -> None:
    one = [Tagged(4, 16, NAME), Tagged(17, 28, ID)]
    two = [Tagged(4, 9, NAME), Tagged(34, 42, NAME)]
    found = compare({"d": gold()}, {"one": {"d": one}, "two": {"d": two, "z": two}})
    assert (found.documents, found.tokens) == (1, 9)
    assert found.classes["NAME"] == {"one": Cells(2, 0, 0, 7), "two": Cells(1, 1, 3, 4)}
    assert found.classes["ID"] == {"one": Cells(1, 0, 1, 7), "two": Cells(0, 1, 0, 8)}
    assert found.classes["DATE"] == {"one": Cells(0, 3, 0, 6), "two": Cells(0, 3, 0, 6)}
    # any tag will do: the date that `two` calls a name is found
    assert found.classes[ANY] == {"one": Cells(3, 3, 1, 2), "two": Cells(4, 2, 0, 3)}
    assert list(found.classes)[-1] == ANY
    assert found.extra == {"one": (), "two": ("z",)}
    cells = found.classes["NAME"]["two"]
    assert (cells.sensitivity, cells.specificity, cells.accuracy) == (1 / 2, 4 / 7, 5 / 9)
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["classes"]["NAME"]["two"]["sensitivity"] == 0.5


def test_a_missing_document_is_untagged() -> None:
    found = compare({"d": gold(), "e": gold()}, {"one": {"d": gold()}})
    assert found.missing == {"one": ("e",)}
    assert found.classes["NAME"]["one"] == Cells(2, 2, 0, 14)
    assert found.per_document["NAME"]["one"] == {"d": Cells(2, 0, 0, 7), "e": Cells(0, 2, 0, 7)}


def test_what_cannot_be_computed_is_not_a_number() -> None:
    assert math.isnan(Cells(tn=5).sensitivity)
    assert Cells(tn=5).to_json()["sensitivity"] is None


def test_what_is_refused() -> None:
    with pytest.raises(UsageError, match="no system"):
        compare({"d": gold()}, {})
    with pytest.raises(UsageError, match="rename it"):
        compare({"d": gold()}, {"one": {"d": [Tagged(0, 2, frozenset({ANY}))]}})


def test_the_published_row_of_patient_names() -> None:
    """Table 5 of the paper: 2388 patient name tokens, NLM Scrubber."""
    cells = Cells(tp=2386, fn=2, fp=24597, tn=1117891)
    assert (round(cells.sensitivity, 3), round(cells.specificity, 3), round(cells.accuracy, 3)) == (0.999, 0.978, 0.979)


def test_gold_against_itself() -> None:
    doc = Document("d", "Ada", ())
    rows = {"d": gold(), "e": of_document(doc)}
    for row in compare(rows, {"self": rows}).classes.values():
        assert row["self"].fn == row["self"].fp == 0
