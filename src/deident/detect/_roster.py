"""Lists of who and what is known, read from CSV: patients (`roster`) and a site's providers (`providers`).

    patient_id,last_name,first_name,dob,mrn,phone,next_of_kin,provider
    p17,Okoro,Ada M.,1950-03-04,00-12-345,(303) 555-0182,Emeka Okoro|Ngozi Okoro,"Marchetti, Luisa, MD"

The first line names the columns; `COLUMNS` has them all, and a label (`DOCTOR`, `STREET` …) is a name too. Capitals,
blanks, hyphens and underscores do not matter. A name may be one column or several (`last_name`, `first_name` …), a
column may stand twice, and `|` parts several values in one cell. Commas, semicolons or tabs part the cells.

`patient_id` and `note_id` say whose notes a row is for: the note's patient as its format names him, or the note by its
id or file name. A row with neither, and every row of a list without such columns, holds for all notes.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from deident import labels, lexicons
from deident.detect._identifiers import Entry, days
from deident.document import Document
from deident.errors import UnknownNameError, UsageError
from deident.labels import Label

_PATIENT_ID, _NOTE_ID, _NAME, _NONE = "patient", "note", "name", "none"
_NAME_PARTS = ("last", "suffix", "first", "middle")

# What a column holds: a part of the name of the person whose row it is, whose notes the row is for, or a label.
COLUMNS: Mapping[str, str | Label] = MappingProxyType(
    {
        heading: meaning
        for meaning, headings in (
            (_PATIENT_ID, "patient_id pid person_id subject_id"),
            (_NOTE_ID, "note note_id file file_name filename document document_id"),
            (_NAME, "name full_name patient_name display_name legal_name"),
            ("last", "last_name lastname surname family_name family"),
            ("first", "first_name firstname given_name given forename"),
            ("middle", "middle_name middlename middle_initial middle"),
            ("suffix", "suffix name_suffix"),
            (Label.PATIENT, "alias other_name preferred_name nickname maiden_name former_name relative next_of_kin nok "
             "contact_name emergency_contact guarantor spouse mother father guardian"),
            (Label.DOCTOR, "provider provider_name doctor physician attending attending_provider pcp referring "
             "referring_provider primary_care_provider"),
            (Label.DATE, "dob birth_date birthdate date_of_birth admission_date discharge_date date_of_death"),
            (Label.MEDICALRECORD, "mrn medical_record_number medical_record mr_number"),
            (Label.SSN, "ssn social_security_number"),
            (Label.PHONE, "phone phone_number telephone home_phone work_phone mobile mobile_phone cell cell_phone "
             "pager"),
            (Label.FAX, "fax fax_number"),
            (Label.EMAIL, "email e_mail email_address"),
            (Label.URL, "url website"),
            (Label.STREET, "street address street_address address_line address_1 address_2 address_line_1 "
             "address_line_2 home_address mailing_address"),
            (Label.CITY, "city town"),
            (Label.STATE, "state province"),
            (Label.ZIP, "zip zip_code zipcode postal_code postcode"),
            (Label.LOCATION_OTHER, "county"),
            (Label.COUNTRY, "country"),
            (Label.ORGANIZATION, "employer school church"),
            (Label.PROFESSION, "occupation"),
            (Label.HOSPITAL, "facility clinic"),
            (Label.ACCOUNT, "account_number visit_number encounter_number visit_id encounter_id encounter csn"),
            (Label.HEALTHPLAN, "member_id policy_number insurance_id health_plan_id subscriber_id"),
            (Label.LICENSE, "license_number drivers_license"),
            (Label.IDNUM, "npi dea"),
            (_NONE, "sex gender race ethnicity language religion marital_status deceased credential credentials "
             "specialty title prefix"),
        )
        for heading in headings.split()
    }
)  # fmt: skip
_UNCLEAR = {"patient": "patient_id or patient_name", "id": "patient_id, note_id or idnum"}
NOTHING = frozenset({"-", "--", "?", "n/a", "na", "none", "unknown", "not known", "nan"})
_DIGITS = frozenset({Label.PHONE, Label.FAX, Label.SSN, Label.MEDICALRECORD, Label.ZIP})


def _nobody() -> Mapping[str, tuple[Entry, ...]]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Roster:
    """What is known beforehand: of everybody's notes (`site`), of one patient's (`patients`), of one note (`notes`)."""

    site: tuple[Entry, ...] = field(default=(), repr=False)
    patients: Mapping[str, tuple[Entry, ...]] = field(default_factory=_nobody, repr=False, hash=False)
    notes: Mapping[str, tuple[Entry, ...]] = field(default_factory=_nobody, repr=False, hash=False)

    def of(self, doc: Document) -> tuple[Entry, ...]:
        """What the rows for this note and for its patient hold."""
        own = self.patients.get(_key(doc.patient.id), ()) if doc.patient is not None and doc.patient.id else ()
        name = PurePosixPath(doc.id).name
        return own + self.notes.get(_key(doc.id), self.notes.get(_key(name), ()))


def _once(entries: tuple[Entry, ...] | list[Entry]) -> tuple[Entry, ...]:
    return tuple(dict.fromkeys(entries))


def _key(ident: str) -> str:
    """Ids are compared without case, and numbers without their leading zeros, which spreadsheets drop."""
    key = lexicons.fold(ident.strip())
    return (key.lstrip("0") or "0") if key.isdigit() else key


def roster(path: str | Path, *, everyone: bool = False) -> Roster:
    """The patients in a CSV file. `everyone`: every row holds for all notes, whatever its ids.

    Errors name lines and columns by number, never by content: a file without a heading shows names there.
    """
    return _List(Path(path), "roster", Label.PATIENT, everyone=everyone).read()


def providers(path: str | Path) -> Roster:
    """The providers in a CSV file, which hold for all notes; `name` and its parts are those of a DOCTOR."""
    return _List(Path(path), "provider list", Label.DOCTOR, everyone=True).read()


@dataclass(frozen=True, slots=True)
class _List:
    """One file: what it is called in messages, and whose name its rows hold."""

    path: Path
    called: str
    named: Label
    everyone: bool

    def read(self) -> Roster:
        rows = self._rows()
        first = next(rows, None)
        if first is None:
            raise self._refused("it is empty; its first line must name the columns")
        columns = [self._column(heading, first[0], place) for place, heading in enumerate(first[1], 1)]
        if not any(isinstance(column, Label) or column in (_NAME, *_NAME_PARTS) for column in columns):
            raise self._refused("no column holds anything to look for", line=first[0])
        site: list[Entry] = []
        patients: dict[str, list[Entry]] = {}
        notes: dict[str, list[Entry]] = {}
        for line, cells in rows:
            if len(cells) > len(columns):
                raise self._refused(f"{len(cells)} cells, but {len(columns)} columns are named", line=line)
            found = list(self._entries(columns, cells, line))
            whose = [pair for pair in zip(columns, map(str.strip, cells), strict=False) if pair[1]]
            of_patients = [_key(cell) for column, cell in whose if column == _PATIENT_ID]
            of_notes = [key for column, cell in whose if column == _NOTE_ID for key in _note_keys(cell)]
            if self.everyone or not (of_patients or of_notes):
                site += found
                continue
            for table, keys in ((patients, of_patients), (notes, of_notes)):
                for key in keys:
                    table.setdefault(key, []).extend(found)
        return Roster(_once(site), _frozen(patients), _frozen(notes))

    def _refused(self, why: str, *, line: int = 0, column: int = 0) -> UsageError:
        """What is wrong, and where; never what stands there."""
        place = [f"{name} {number}" for name, number in (("line", line), ("column", column)) if number]
        return UsageError(f"the {self.called} {self.path}{''.join(f', {part}' for part in place)}: {why}")

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Rows that hold something, with the line on which each begins."""
        try:
            text = self.path.read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            raise UsageError(f"there is no {self.called} {self.path}") from None
        except OSError as error:
            raise UsageError(f"the {self.called} {self.path} cannot be read ({type(error).__name__})") from None
        except UnicodeDecodeError:
            raise self._refused("not UTF-8 text") from None
        heading = text.lstrip().partition("\n")[0]
        delimiter = max(",;\t", key=heading.count)
        reader = csv.reader(StringIO(text, newline=""), strict=True, delimiter=delimiter)
        while True:
            line = reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error:  # whose own message may quote the text
                raise self._refused("not well-formed CSV", line=line) from None
            if any(cell.strip() for cell in cells):
                yield line, cells

    def _column(self, heading: str, line: int, place: int) -> str | Label:
        key = "_".join(heading.lower().replace("_", " ").replace("-", " ").replace("'", "").split())
        if key in _UNCLEAR:
            raise self._refused(f"'{key}' is unclear, call it {_UNCLEAR[key]}", line=line, column=place)
        meaning = COLUMNS.get(key)
        if meaning is not None:
            return meaning
        try:
            return labels.parse(heading)
        except UnknownNameError:
            what = "no known heading, such as patient_id, name, dob, mrn, phone, address; docs/detectors.md has them"
            raise self._refused(what, line=line, column=place) from None

    def _entries(self, columns: list[str | Label], cells: list[str], line: int) -> Iterator[Entry]:
        parts: dict[str, list[str]] = {part: [] for part in _NAME_PARTS}
        for place, (column, cell) in enumerate(zip(columns, cells, strict=False), 1):
            for value in map(str.strip, cell.split("|")):
                if value.lower() in NOTHING or not value:
                    continue
                if column == _NAME:
                    yield self.named, value
                elif column == _PATIENT_ID:
                    yield Label.IDNUM, value
                elif isinstance(column, Label):
                    self._check(column, value, line, place)
                    yield column, value
                elif column in parts:
                    parts[column].append(value)
        if any(parts.values()):
            last, first = (" ".join((*parts[a], *parts[b])) for a, b in (_NAME_PARTS[:2], _NAME_PARTS[2:]))
            yield self.named, f"{last}, {first}" if last and first else last or first

    def _check(self, label: Label, value: str, line: int, place: int) -> None:
        if label is Label.DATE and not days(value):
            raise self._refused("not a date; write it as 1950-03-04", line=line, column=place)
        if label in _DIGITS and not any(map(str.isdigit, value)):
            raise self._refused(f"a {label} without a digit", line=line, column=place)


def _frozen(table: dict[str, list[Entry]]) -> Mapping[str, tuple[Entry, ...]]:
    return MappingProxyType({key: _once(entries) for key, entries in table.items()})


def _note_keys(cell: str) -> Iterator[str]:
    """A note by its id, or by its file's name with or without the suffix."""
    yield _key(cell)
    name, dot, suffix = cell.rpartition(".")
    if dot and name and len(suffix) <= 5 and suffix.isalpha():
        yield _key(name)


# --- a roster of what was found --------------------------------------------------------------------------------------

# what tells who somebody is wherever it stands, so that it is worth looking for in his other notes
GATHERED = (
    Label.PATIENT, Label.DOCTOR, Label.HOSPITAL, Label.ORGANIZATION, Label.STREET, Label.MEDICALRECORD, Label.SSN,
    Label.PHONE, Label.FAX, Label.EMAIL, Label.ACCOUNT, Label.HEALTHPLAN, Label.LICENSE, Label.IDNUM, Label.USERNAME,
    Label.DEVICE, Label.VEHICLE,
)  # fmt: skip


def gathered(documents: Iterable[Document], *, least: float) -> dict[str, dict[Label, list[str]]]:
    """What was found in each patient's notes with a score of `least` or more, once each, in the order of finding."""
    found: dict[str, dict[Label, dict[str, None]]] = {}
    for doc in documents:
        if doc.patient is None or not doc.patient.id:
            raise UsageError(f"the note {doc.id} names no patient, so nothing is known of whose other notes there are")
        row = found.setdefault(doc.patient.id, {})
        for span in doc.spans:
            if span.score >= least and span.label in GATHERED:
                value = " ".join(doc.text[span.start : span.end].replace("|", " ").split())
                row.setdefault(span.label, {})[value] = None
    return {patient: {label: list(values) for label, values in row.items()} for patient, row in found.items()}


def written(rows: Mapping[str, Mapping[Label, Iterable[str]]]) -> str:
    """The roster as a CSV file that `roster` reads."""
    stream = StringIO()
    table = csv.writer(stream, lineterminator="\n")
    # "patient" alone might be his id
    table.writerow(["patient_id", *("alias" if label is Label.PATIENT else label.value for label in GATHERED)])
    for patient, row in rows.items():
        table.writerow([patient, *("|".join(row.get(label, ())) for label in GATHERED)])
    return stream.getvalue()
