"""Whose note it is: by path, column and map; and that its surrogates then agree."""

from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from deident.config import Config, Detect, Patients, Scrub
from deident.document import Document, Patient
from deident.errors import ProcessingError, UsageError
from deident.labels import Label
from deident.patients import grouping
from deident.pipeline import Pipeline
from deident.surrogates import make_key


def patient(doc: Document, **settings: str) -> str:
    found = grouping(Patients(**settings))(doc).patient
    return found.id if found is not None else "nobody"


@pytest.mark.parametrize(
    ("pattern", "note", "expected"),
    [
        ("{patient}/*", "p17/visit-1", "p17"),
        ("ward/{patient}/**", "ward/p17/2019/3/note", "p17"),
        ("*_{patient}_*", "mercy_p17_2019", "p17"),
        ("{patient}-*", "p17-a-b", "p17"),
        ("notes.v2/{patient}", "notes.v2/p17", "p17"),
    ],
)
def test_by_path(pattern: str, note: str, expected: str) -> None:
    assert patient(Document(note, "x"), patient_path=pattern) == expected


@pytest.mark.parametrize("note", ["p17", "ward/p17/visit-1", "/x"])
def test_a_path_that_does_not_fit_is_an_error(note: str) -> None:
    with pytest.raises(ProcessingError, match="does not fit the pattern"):
        patient(Document(note, "x"), patient_path="{patient}/*")


@pytest.mark.parametrize(("value", "expected"), [("p17", "p17"), (17, "17"), (17.0, "17"), (" p17 ", "p17")])
def test_by_column(value: Any, expected: str) -> None:
    doc = Document("n", "x", meta=MappingProxyType({"mrn": value}))
    assert patient(doc, patient_column="mrn") == expected


@pytest.mark.parametrize("value", [None, "", "  ", True, 1.5, ["p17"]])
def test_a_column_that_names_nobody_is_an_error(value: Any) -> None:
    with pytest.raises(ProcessingError, match="the column 'mrn' names no patient"):
        patient(Document("n", "x", meta=MappingProxyType({"mrn": value})), patient_column="mrn")


def test_by_map_and_what_the_format_told_stays_known(tmp_path: Path) -> None:
    file = tmp_path / "map.csv"
    file.write_text("patient_id;Note ID\np17;a\np18;ward/b.txt\n\np17;c.xml\n", encoding="utf-8-sig")
    for note, expected in (("a", "p17"), ("ward/b", "p18"), ("x/c", "p17"), ("x/a", "p17")):
        assert patient(Document(note, "x"), patient_map=str(file)) == expected
    known = Document("a", "x", patient=Patient("old", ((Label.PATIENT, "Ada"),)))
    found = grouping(Patients(patient_map=str(file)))(known).patient
    assert found == Patient("p17", ((Label.PATIENT, "Ada"),))
    with pytest.raises(ProcessingError, match="the patient map does not have it"):
        patient(Document("z", "x"), patient_map=str(file))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no note"),
        ("note_id,patient_id\n", "holds no note"),
        ("note_id,who\nSecret,p\n", "must name its columns in the first line"),
        ("note_id,patient_id\nSecret,\n", "line 2: a note and its patient are needed"),
        ("note_id,patient_id\nSecret,p1\nSecret,p2\n", "line 3: the note has another patient"),
        ('note_id,patient_id\n"Secret,p1\n', "line 2: not well-formed CSV"),
    ],
)
def test_wrong_maps_are_refused_without_their_content(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "map.csv"
    file.write_text(content)
    with pytest.raises(UsageError, match=message) as caught:
        grouping(Patients(patient_map=str(file)))
    assert "Secret" not in str(caught.value)


def test_wrong_settings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"must hold \{patient\} once"):
        grouping(Patients(patient_path="*/x"))
    with pytest.raises(UsageError, match="by one of patient_path and patient_column"):
        grouping(Patients(patient_path="{patient}", patient_column="x"))
    with pytest.raises(UsageError, match="there is no patient map"):
        grouping(Patients(patient_map=str(tmp_path / "none.csv")))
    assert patient(Document("a", "x")) == "nobody"


def test_the_notes_of_a_patient_agree_and_those_of_others_do_not(tmp_path: Path) -> None:
    key = tmp_path / "k"
    make_key(key)
    scrub = Scrub(replace="surrogate", key_file=str(key))
    made = Pipeline.from_config(Config(Detect(detectors=("patterns",)), scrub, Patients(patient_path="{patient}/*")))
    text = "Call 303-555-0182 on 3/4/2019."
    one, two, other = (made.scrub(Document(name, text)).text for name in ("p1/a", "p1/b", "p2/a"))
    assert one == two != other
    assert made.scrub(Document("p1/a", text)).patient is None
