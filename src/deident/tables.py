"""Rows of a table, wherever it lies: which columns are text, which are identifiers, which stay. All else is blocked.

    columns = Columns(text=("note",), patient="pid", fields={"pid": Label.MEDICALRECORD}, keep=("ward",))
    rows = Rows(deidentifier, columns, ["pid", "ward", "note", "phone"])
    rows.names                                  # ['pid', 'ward', 'note']; "phone" is in rows.blocked
    rows.scrub(["p7", "ICU", "Seen 3/4/21.", "303-555-0182"])    # ['id-5f0c91be4d21a7e3', 'ICU', 'Seen [DATE].']

A text column is read by the detectors. A field is wholly an identifier, of the label that is said; what it says is
known of the patient whose note stands beside it, and has the same stand-in in both (`structure.py`: numbers become
codes that stay apart). A column that is kept stays as it is. The patient column groups the rows; it goes out only if
it is a field too, or kept. A column that nobody named is blocked: it is not in the output, and `blocked` tells of it.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

from deident import labels
from deident.api import Deidentifier, Errors, missing, patient_of, span_fields
from deident.document import Document, Failure, Kind, Patient, Place, Span
from deident.errors import DeidentError, ProcessingError, UsageError
from deident.formats.jsonl import span_object
from deident.labels import Category, Label
from deident.pipeline import attempt


@dataclass(frozen=True, slots=True)
class Columns:
    """What is said of the columns of a table, by their names."""

    text: tuple[str, ...]
    patient: str = ""
    id: str = ""  # names a row in messages, and is the patient where no other is known
    fields: Mapping[str, Label] = field(default_factory=dict[str, Label])
    keep: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        text: str | Sequence[str],
        *,
        patient: str | None = None,
        id: str | None = None,  # noqa: A002 (the name of the column's part)
        fields: Mapping[str, str] | None = None,
        keep: Sequence[str] = (),
    ) -> "Columns":
        """From what a caller says; labels by any of their names."""
        named = {name: labels.parse(label) for name, label in (fields or {}).items()}
        return cls((text,) if isinstance(text, str) else tuple(text), patient or "", id or "", named, tuple(keep))

    def __post_init__(self) -> None:
        if not self.text:
            raise UsageError("say which column is text")
        for name in (*self.text, *self.fields):
            if name in self.keep:
                raise UsageError(f"the column '{name}' cannot be kept as it is and be scrubbed too")
        for name in self.text:
            if name in self.fields:
                raise UsageError(f"the column '{name}' is either text or an identifier of its own, not both")

    def check(self, names: Sequence[str]) -> None:
        """An error if a column that is spoken of is not there, or is there twice."""
        for name in (*self.text, *self.fields, *self.keep, *filter(None, (self.patient, self.id))):
            if names.count(name) != 1:
                what = "no column" if name not in names else "more than one column"
                raise UsageError(f"there is {what} '{name}'; there are: {', '.join(names)}")

    def goes_out(self, name: str) -> bool:
        return name in self.text or name in self.fields or name in self.keep

    def is_read(self, name: str) -> bool:
        return name in self.text or name in self.fields or name in (self.patient, self.id)


@dataclass(frozen=True, slots=True)
class Named:
    """What of a table's columns goes out, and what is blocked."""

    names: list[str]
    blocked: list[str]


class Rows:
    """Scrubs the rows of one table, whose columns have these names."""

    def __init__(self, deidentifier: Deidentifier, columns: Columns, names: Sequence[str]) -> None:
        named = self.check(columns, names)
        self._pipeline = deidentifier.pipeline
        self._columns = columns
        self._places = {name: place for place, name in enumerate(names)}
        self.names, self.blocked = named.names, named.blocked

    @staticmethod
    def check(columns: Columns, names: Sequence[str]) -> Named:
        """What becomes of the columns, before anything is loaded."""
        columns.check(names)
        out = [name for name in names if columns.goes_out(name)]
        return Named(out, [name for name in names if name not in out and not columns.is_read(name)])

    def is_text(self, name: str) -> bool:
        return name in self._columns.text

    def is_made(self, name: str) -> bool:
        """Whether its values are new ones."""
        return name in self._columns.text or name in self._columns.fields

    def is_read(self, name: str) -> bool:
        return self._columns.is_read(name)

    def scrub(self, row: Sequence[Any]) -> list[Any] | Failure:
        """The row of the columns that go out; a row of which one cell fails, fails."""
        return self._each(row, self._pipeline.scrub, lambda doc: doc.text)

    def detect(self, row: Sequence[Any]) -> list[Any] | Failure:
        """The same with the spans of each text in its place; fields and the columns that are kept stay."""
        return self._each(row, self._pipeline.detect, lambda doc: doc.spans)

    def _each(
        self, row: Sequence[Any], work: Callable[[Document], Document], take: Callable[[Document], Any]
    ) -> list[Any] | Failure:
        identifier = self._cell(row, self._columns.id)
        name = str(identifier) if not missing(identifier) else ""
        try:
            found = self._documents(row, name)
        except DeidentError as error:
            return Failure(name, str(error))
        made: list[Any] = []
        for column in self.names:
            doc = found.get(column)
            if doc is None:
                made.append(row[self._places[column]])
                continue
            field_ = column in self._columns.fields
            result = attempt(self._pipeline.scrub if field_ else work, doc)
            if isinstance(result, Failure):
                return Failure(name, f"column '{column}': {result.reason}")
            made.append(result.text if field_ else take(result))
        return made

    def _documents(self, row: Sequence[Any], name: str) -> dict[str, Document]:
        """The documents of a row by column; those of fields have their span already."""
        columns = self._columns
        texts = {column: _text(self._cell(row, column), column) for column in columns.text}
        fields = {column: _written(self._cell(row, column), column) for column in columns.fields}
        known = tuple((columns.fields[column], text) for column, text in fields.items() if text)
        whose = patient_of(self._cell(row, columns.patient)) if columns.patient else None
        if not name:
            whole = "\0".join(text for text in texts.values() if text is not None)
            name = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
        meta = {columns.patient: whose.id} if whose is not None else {}
        patient = self._pipeline.group(Document(name, "", patient=whose, meta=meta)).patient
        if known:
            patient = Patient(patient.id if patient is not None else "", known)
        made: dict[str, Document] = {}
        for column, text in texts.items():
            if text is not None:
                # without fields the text is as one by itself
                place = Place(column, Kind.PROSE) if known else None
                made[column] = Document(name, text, patient=patient, meta=meta, place=place)
        for column, text in fields.items():
            if text:
                label = columns.fields[column]
                kind = Kind.ID if label.category is Category.ID else Kind.TEXT
                span = Span(0, len(text), label, source=f"column:{column}")
                made[column] = Document(name, text, (span,), patient, meta, Place(column, kind))
        return made

    def _cell(self, row: Sequence[Any], column: str) -> Any:
        return row[self._places[column]] if column else None


def _text(value: Any, column: str) -> str | None:
    if missing(value):
        return None
    if not isinstance(value, str):
        raise UsageError(f"the column '{column}' holds a {type(value).__name__}, not a text")
    return value


def _written(value: Any, column: str) -> str:
    """An identifier as it is written: 17 and 17.0 are "17", a date is 2021-03-04."""
    if missing(value):
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, bool | float | bytes) or not isinstance(value, str | int | Decimal | UUID):
        raise UsageError(f"the column '{column}' holds a {type(value).__name__}, which is no identifier")
    return str(value)


def scrub_batch(rows: Rows, batch: Any, *, errors: Errors = "raise", reason: str = "") -> Any:
    """An Arrow record batch of the columns that go out, texts and fields scrubbed.

    A row that fails raises, by its place and without any of it. With errors="null" its texts and fields become null,
    and the column `reason`, which the batch then has, says why.
    """
    return _batch(rows, batch, rows.scrub, None, errors, reason)


def detect_batch(rows: Rows, batch: Any, *, errors: Errors = "raise", reason: str = "") -> Any:
    """The same with the spans of each text in its place, as a list of structs."""
    import pyarrow as pa

    return _batch(rows, batch, rows.detect, pa.list_(pa.struct(span_fields())), errors, reason)


def _batch(
    rows: Rows,
    batch: Any,
    work: Callable[[Sequence[Any]], list[Any] | Failure],
    spans: Any,
    errors: Errors,
    reason: str,
) -> Any:
    import pyarrow as pa

    needed = [
        batch.column(place).to_pylist() if rows.is_read(name) else None for place, name in enumerate(batch.schema.names)
    ]
    made: dict[str, list[Any]] = {name: [] for name in rows.names if rows.is_made(name)}
    reasons: list[str | None] = []
    for place in range(batch.num_rows):
        row = [column[place] if column is not None else None for column in needed]
        result = work(row)
        failed = isinstance(result, Failure)
        if failed and errors == "raise":
            raise ProcessingError(f"row {place} of its batch: {result.reason}")
        reasons.append(result.reason if isinstance(result, Failure) else None)
        for position, name in enumerate(rows.names):
            if name in made:
                value = None if isinstance(result, Failure) else result[position]
                made[name].append(_plain(value))
    columns = [
        pa.array(made[name], type=spans if spans is not None and rows.is_text(name) else pa.string())
        if name in made
        else batch.column(batch.schema.get_field_index(name))
        for name in rows.names
    ]
    names = [*rows.names, *([reason] if reason else [])]
    return pa.RecordBatch.from_arrays([*columns, *([pa.array(reasons, pa.string())] if reason else [])], names=names)


def _plain(value: Any) -> Any:
    return [span_object(span) for span in cast(tuple[Span, ...], value)] if isinstance(value, tuple) else value
