"""Rows: named columns alone go out, fields and prose agree, one cell that fails fails its row."""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import deident
from deident import tables
from deident.document import Failure
from deident.errors import UsageError
from deident.labels import Label
from deident.tables import Columns, Rows

KEY = b"a key of sixteen or more bytes"
NAMES = ["note_id", "pid", "name", "ward", "note", "phone", "summary"]
COLUMNS = Columns.of(
    ["note", "summary"], patient="pid", id="note_id", fields={"pid": "MRN", "name": "PATIENT"}, keep=["ward"]
)
ROW = ["n1", 773104, "Ada Lund", "ICU", "Ms. Lund (773104) seen 3/4/21.", "303-555-0182", None]


@pytest.fixture(scope="module")
def tags() -> deident.Deidentifier:
    return deident.load(detectors=["patterns", "known"])


@pytest.fixture(scope="module")
def drawn() -> deident.Deidentifier:
    return deident.load(detectors=["patterns", "known"], replace="surrogate", key=KEY)


def test_only_what_is_named_goes_out(tags: deident.Deidentifier) -> None:
    rows = Rows(tags, COLUMNS, NAMES)
    assert rows.names == ["pid", "name", "ward", "note", "summary"]
    assert rows.blocked == ["phone"]
    made = rows.scrub(ROW)
    assert isinstance(made, list)
    code = made[0]
    assert re.fullmatch("id-[0-9a-f]{16}", code)
    assert made[1:] == ["[PATIENT]", "ICU", f"Ms. [PATIENT] ({code}) seen [DATE].", None]
    found = rows.detect(ROW)
    assert isinstance(found, list)
    assert found[:3] == made[:3]
    assert [span.label for span in found[3]] == [Label.PATIENT, Label.MEDICALRECORD, Label.DATE]


def test_a_field_and_the_prose_beside_it_have_one_surrogate(drawn: deident.Deidentifier) -> None:
    rows = Rows(drawn, COLUMNS, NAMES)
    made = rows.scrub(ROW)
    assert isinstance(made, list)
    number, name, _, note, _ = made
    assert name.split()[-1] in note
    assert number in note
    assert not [text for text in ("773104", "Lund", "3/4/21") if text in repr(made)]
    again = rows.scrub(["n2", "773104", "Ada Lund", "ICU", "Lund again.", None, "Seen 3/4/21."])
    assert isinstance(again, list)
    assert again[:2] == made[:2]
    other = rows.scrub(["n2", "773205", "Ada Lund", "ICU", "Lund again.", None, None])
    assert isinstance(other, list)
    assert other[1] != name


def test_a_row_is_worked_on_as_a_text_alone_is(drawn: deident.Deidentifier) -> None:
    """The law of all doors: with the patient or without one, the same as `Deidentifier.scrub`."""
    rows = Rows(drawn, Columns.of("note", patient="pid"), ["pid", "note"])
    for pid, note in (("p7", ROW[4]), (None, ROW[4]), (7, "Call 303-555-0182"), (7.0, "Call 303-555-0182"), ("p", "")):
        assert rows.scrub([pid, note]) == drawn.scrub([note], patient=[pid])


@pytest.mark.parametrize(
    ("value", "written"),
    [(7, "7"), (7.0, "7"), (date(2021, 3, 4), "2021-03-04"), (Decimal("7.50"), "7.50"), ("x", "x")],
)
def test_identifiers_of_other_types_are_written_out(value: object, written: str) -> None:
    class Says:
        name = "says"

        def detect(self, doc: deident.Document) -> list[deident.Span]:
            assert doc.patient is not None
            assert doc.patient.known == ((Label.IDNUM, written),)
            return []

        def why(self, span: deident.Span) -> str:
            return ""

    plain = deident.load(detectors=["patterns"]).pipeline
    rows = Rows(
        deident.Deidentifier(deident.Pipeline((Says(),), plain.treatment)),
        Columns.of("note", fields={"code": "IDNUM"}),
        ["code", "note"],
    )
    made = rows.scrub([value, "x"])
    assert isinstance(made, list)
    assert (made[0][:3], made[1]) == ("id-", "x")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({4: 17}, "the column 'note' holds a int, not a text"),
        ({2: True}, "the column 'name' holds a bool, which is no identifier"),
        ({2: 1.5}, "the column 'name' holds a float, which is no identifier"),
        ({1: 1.5}, "the column 'pid' holds a float, which is no identifier"),
    ],
)
def test_a_cell_that_fails_fails_its_row(tags: deident.Deidentifier, change: Mapping[int, Any], reason: str) -> None:
    row = [change.get(place, value) for place, value in enumerate(ROW)]
    assert Rows(tags, COLUMNS, NAMES).scrub(row) == Failure("n1", reason)


def test_empty_cells_stay_empty(tags: deident.Deidentifier) -> None:
    row = [None, math.nan, "", None, None, None, ""]
    assert Rows(tags, COLUMNS, NAMES).scrub(row) == [row[1], "", None, None, ""]


@pytest.mark.parametrize(
    ("columns", "names", "message"),
    [
        ({"text": "nota"}, NAMES, "there is no column 'nota'; there are: note_id, pid"),
        ({"text": "note", "keep": ["note"]}, NAMES, "cannot be kept as it is and be scrubbed too"),
        ({"text": "note", "fields": {"note": "DATE"}}, NAMES, "either text or an identifier of its own"),
        ({"text": ()}, NAMES, "say which column is text"),
        ({"text": "note", "fields": {"pid": "SHOE"}}, NAMES, "no label 'SHOE'; there are"),
        ({"text": "note"}, ["note", "note"], "more than one column 'note'"),
    ],
)
def test_columns_that_cannot_be_are_refused(
    tags: deident.Deidentifier, columns: dict[str, Any], names: Sequence[str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        Rows(tags, Columns.of(**columns), names)


def test_batches_of_arrow(tags: deident.Deidentifier) -> None:
    data = {"pid": [1, 2, 3], "note": ["Seen 3/4/21.", None, "Well."], "ward": ["a", "b", None], "x": [0.5, 1.5, 2.5]}
    batch = pa.RecordBatch.from_pydict(data)
    rows = Rows(tags, Columns.of("note", patient="pid", fields={"pid": "MRN"}, keep=["ward"]), batch.schema.names)
    made = tables.scrub_batch(rows, batch)
    codes = made.column("pid").to_pylist()
    assert len({*codes}) == 3
    assert made.to_pydict() == {"pid": codes, "note": ["Seen [DATE].", None, "Well."], "ward": ["a", "b", None]}
    found = tables.detect_batch(rows, batch).column("note").to_pylist()
    assert [spans and spans[0]["label"] for spans in found] == ["DATE", None, []]
    broken = pa.RecordBatch.from_pydict(data | {"pid": [1.0, 2.5, 3.0]})
    with pytest.raises(deident.ProcessingError, match=r"^row 1 of its batch: the column 'pid' holds a float"):
        tables.scrub_batch(rows, broken)
    told = tables.scrub_batch(rows, broken, errors="null", reason="why").to_pydict()
    assert told["note"] == ["Seen [DATE].", None, "Well."]
    assert told["pid"] == [codes[0], None, codes[2]]
    assert [why is None for why in told["why"]] == [True, False, True]
