"""Whose note it is, where the format does not say: from the note's path, from a column, or from a CSV map.

    group = grouping(Patients(patient_path="{patient}/*"))      # p17/visit-1 → p17
    group = grouping(Patients(patient_column="mrn"))            # meta["mrn"] of the note
    group = grouping(Patients(patient_map="patients.csv"))      # note_id,patient_id

All notes of a patient get the same surrogates, numbers and date shift. A note that the rule says nothing of is an error
and no patient of its own: two halves of a patient's notes that do not agree are found out too late.
"""

import csv
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from io import StringIO
from pathlib import Path

from deident.config import Patients
from deident.document import Document, Patient
from deident.errors import ProcessingError, UsageError

Grouping = Callable[[Document], Document]

_NOTE = frozenset({"note", "note_id", "id", "file", "file_name", "filename", "document", "document_id"})
_PATIENT = frozenset({"patient", "patient_id", "pid", "person_id", "subject_id", "mrn"})


def grouping(settings: Patients) -> Grouping:
    """What gives each document the patient that the settings find; without any it stays as it is."""
    given = [name for name in ("patient_path", "patient_column", "patient_map") if getattr(settings, name)]
    if len(given) > 1:
        raise UsageError(f"patients are told by one of {' and '.join(given)}, not by both")
    if settings.patient_path:
        return _by_path(settings.patient_path)
    if settings.patient_column:
        return _by_column(settings.patient_column)
    if settings.patient_map:
        return _by_table(read_map(Path(settings.patient_map)))
    return lambda doc: doc


def _of(doc: Document, ident: str) -> Document:
    known = doc.patient.known if doc.patient is not None else ()
    return replace(doc, patient=Patient(ident, known))


# -- by path -----------------------------------------------------------------------------------------------------------

_PART = re.compile(r"(\{patient\}|\*\*|\*)")
_MEANS = {"{patient}": r"(?P<patient>[^/]+?)", "**": r".*", "*": r"[^/]*"}


def _by_path(pattern: str) -> Grouping:
    if pattern.count("{patient}") != 1:
        raise UsageError(f"the path pattern '{pattern}' must hold {{patient}} once, as in '{{patient}}/*'")
    expression = re.compile("".join(_MEANS.get(part, re.escape(part)) for part in _PART.split(pattern)))

    def group(doc: Document) -> Document:
        found = expression.fullmatch(doc.id)
        if found is None:
            raise ProcessingError(f"its path does not fit the pattern '{pattern}', so nobody knows its patient")
        return _of(doc, found["patient"])

    return group


# -- by column ---------------------------------------------------------------------------------------------------------


def _by_column(column: str) -> Grouping:
    def group(doc: Document) -> Document:
        value = doc.meta.get(column)
        if isinstance(value, float) and value.is_integer():  # 17, of which a missing neighbour made a fraction
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
            raise ProcessingError(f"the column '{column}' names no patient for it")
        return _of(doc, str(value).strip())

    return group


# -- by a map ----------------------------------------------------------------------------------------------------------


def read_map(path: Path) -> Mapping[str, str]:
    """Notes and their patients in a CSV file with a heading; errors name lines, never what stands there."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"there is no patient map {path}") from None
    except UnicodeDecodeError:
        raise UsageError(f"the patient map {path} is not UTF-8 text") from None
    head = text.lstrip().partition("\n")[0]
    reader = csv.reader(StringIO(text, newline=""), strict=True, delimiter=max(",;\t", key=head.count))
    found: dict[str, str] = {}
    places: tuple[int, int] | None = None
    while True:
        line = reader.line_num + 1
        try:
            cells = [cell.strip() for cell in next(reader)]
        except StopIteration:
            break
        except csv.Error:  # whose own message may quote the text
            raise UsageError(f"the patient map {path}, line {line}: not well-formed CSV") from None
        if not any(cells):
            continue
        if places is None:
            places = _columns(cells, path)
            continue
        if len(cells) <= max(places) or not cells[places[0]] or not cells[places[1]]:
            raise UsageError(f"the patient map {path}, line {line}: a note and its patient are needed")
        note, patient = cells[places[0]], cells[places[1]]
        if found.setdefault(note, patient) != patient:
            raise UsageError(f"the patient map {path}, line {line}: the note has another patient already")
    if not found:
        raise UsageError(f"the patient map {path} holds no note")
    return found


def _columns(cells: list[str], path: Path) -> tuple[int, int]:
    keys = ["_".join(cell.lower().replace("_", " ").replace("-", " ").split()) for cell in cells]
    note = [place for place, key in enumerate(keys) if key in _NOTE]
    patient = [place for place, key in enumerate(keys) if key in _PATIENT]
    if len(note) != 1 or len(patient) != 1:
        raise UsageError(f"the patient map {path} must name its columns in the first line: note_id,patient_id")
    return note[0], patient[0]


def _by_table(table: Mapping[str, str]) -> Grouping:
    def group(doc: Document) -> Document:
        for name in (doc.id, doc.id.rpartition("/")[2]):
            patient = table.get(name) or next(
                (table[f"{name}{suffix}"] for suffix in (".txt", ".xml", ".json") if f"{name}{suffix}" in table), None
            )
            if patient is not None:
                return _of(doc, patient)
        raise ProcessingError("the patient map does not have it")

    return group
