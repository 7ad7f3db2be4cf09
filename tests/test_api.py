"""`deident.load()`: any shape of texts in, the same shape out; alone and together the same."""

import importlib
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deident
from deident.errors import ConfigError, MissingPackageError
from deident.surrogates import make_key
from tests.strategies import texts

KEY = b"a key of sixteen or more bytes"
NOTE = "Call 303-555-0182 on 3/4/21."
OTHER = "Seen 5/6/2021 and well."


@pytest.fixture(scope="module")
def tags() -> deident.Deidentifier:
    return deident.load(detectors=["patterns"])


@pytest.fixture(scope="module")
def drawn() -> deident.Deidentifier:
    return deident.load(detectors=["patterns"], replace="surrogate", key=KEY)


def test_the_public_names_are_there() -> None:
    for name in deident.__all__:
        assert getattr(deident, name).__name__ == name
        assert name in dir(deident)
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        importlib.import_module("deident").lod  # noqa: B018


def test_a_text_gives_a_text(tags: deident.Deidentifier) -> None:
    assert tags.scrub(NOTE) == "Call [PHONE] on [DATE]."
    assert [(span.start, span.end, span.label) for span in tags.detect(NOTE)] == [
        (5, 17, deident.Label.PHONE),
        (21, 27, deident.Label.DATE),
    ]
    assert tags.scrub("") == ""


@pytest.mark.parametrize(
    "column",
    [
        [NOTE, None, OTHER],
        pd.Series([NOTE, None, OTHER], index=[7, 8, 9], name="note"),
        pd.Series([NOTE, None, OTHER], dtype=object),
        pd.Series([NOTE, pd.NA, OTHER], dtype="string"),
        pd.Series([NOTE, None, OTHER]).astype("category"),
        pl.Series("note", [NOTE, None, OTHER]),
        pl.Series("note", [NOTE, None, OTHER], dtype=pl.Categorical),
        pa.array([NOTE, None, OTHER]),
        pa.array([NOTE, None, OTHER], type=pa.large_string()),
        pa.array([NOTE, None, OTHER]).dictionary_encode(),
        pa.chunked_array([[NOTE], [None, OTHER]]),
        np.array([NOTE, None, OTHER], dtype=object),
    ],
    ids=lambda value: type(value).__module__.partition(".")[0],
)
def test_a_column_gives_a_column_of_its_kind(tags: deident.Deidentifier, column: Any) -> None:
    scrubbed = tags.scrub(column)
    assert type(scrubbed) is type(column) or isinstance(column, pa.Array)
    values = scrubbed.to_pylist() if isinstance(scrubbed, pa.Array | pa.ChunkedArray) else list(scrubbed)
    assert values[0] == "Call [PHONE] on [DATE]."
    assert values[1] is None or values[1] is pd.NA or math.isnan(values[1])
    assert values[2] == "Seen [DATE] and well."
    found = tags.detect(column)
    rows = found.to_pylist() if isinstance(found, pa.Array | pa.ChunkedArray) else list(found)
    first = rows[0][0]
    assert (first["start"] if isinstance(first, dict) else first.start) == 5
    assert len(rows[2]) == 1
    assert rows[1] is None
    if isinstance(column, pd.Series):
        assert scrubbed.index.equals(column.index)
        assert scrubbed.name == column.name


def test_the_type_of_a_column_stays() -> None:
    tags = deident.load(detectors=["patterns"])
    for kind in ("string", "object"):
        assert tags.scrub(pd.Series([NOTE], dtype=kind)).dtype == kind
    assert tags.scrub(pa.array([NOTE], type=pa.large_string())).type == pa.large_string()
    assert tags.scrub(pl.Series("a", [NOTE])).dtype == pl.String


def test_surrogates_are_the_patients(drawn: deident.Deidentifier) -> None:
    frame = pd.DataFrame({"note": [NOTE, OTHER, NOTE, NOTE], "pid": [1.0, 2.0, 1.0, math.nan]})
    made = drawn.scrub(frame["note"], patient=frame["pid"])
    assert made[0] == made[2] == drawn.scrub(NOTE, patient="1") == drawn.scrub(NOTE, patient=1)
    assert made[3] == drawn.scrub(NOTE) != made[0]
    assert made[1] == drawn.scrub([OTHER], patient=[2])[0] == drawn.scrub(OTHER, patient=deident.Patient("2"))
    assert deident.load(detectors=["patterns"], replace="surrogate", key=KEY).scrub(NOTE) == made[3]
    assert deident.load(detectors=["patterns"], replace="surrogate").scrub(NOTE) != made[3]


def test_what_is_known_of_the_patient_is_used() -> None:
    known = deident.load(detectors=["known"])
    patient = deident.Patient("1", ((deident.Label.PATIENT, "Ada Lund"),))
    assert known.scrub("Lund slept well.", patient=patient) == "[PATIENT] slept well."


@settings(max_examples=25)
@given(st.lists(st.one_of(st.none(), texts), max_size=6), st.randoms())
def test_together_and_alone_are_the_same(notes: list[str | None], order: Any) -> None:
    deidentifier = deident.load(detectors=["patterns"], replace="surrogate", key=KEY)
    patients = [str(order.randint(0, 2)) for _ in notes]
    alone = [
        None if note is None else deidentifier.scrub(note, patient=whose)
        for note, whose in zip(notes, patients, strict=True)
    ]
    assert deidentifier.scrub(notes, patient=patients) == alone
    mixed = list(range(len(notes)))
    order.shuffle(mixed)
    made = deidentifier.scrub([notes[place] for place in mixed], patient=[patients[place] for place in mixed])
    assert made == [alone[place] for place in mixed]


class Breaks:
    name = "breaks"

    def detect(self, doc: deident.Document) -> list[deident.Span]:
        if "Zebulon" in doc.text:
            raise ValueError(doc.text)
        return []

    def why(self, span: deident.Span) -> str:
        return ""


def test_a_text_that_fails_is_named_by_its_place_alone() -> None:
    plain = deident.load(detectors=["patterns"]).pipeline
    broken = deident.Deidentifier(deident.Pipeline((Breaks(),), plain.treatment))
    notes = ["fine", "Zebulon came", "fine too"]
    with pytest.raises(deident.ProcessingError, match=r"^text 1: could not be processed \(ValueError\)$") as caught:
        broken.scrub(notes)
    assert caught.value.__cause__ is None
    with pytest.raises(deident.ProcessingError, match=r"^could not be processed \(ValueError\)$"):
        broken.scrub(notes[1])
    assert broken.scrub(notes, errors="null") == ["fine", None, "fine too"]
    assert broken.detect(notes, errors="null") == [(), None, ()]
    assert broken.scrub(pd.Series(notes), errors="null").isna().tolist() == [False, True, False]
    assert broken.scrub(notes[1], errors="null") is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "give a text, a list, or a column of pandas, polars or Arrow; not a int"),
        ([NOTE, 3], "text 1 is of type int, not a text"),
        (pd.DataFrame({"a": [NOTE]}), "not a DataFrame"),
        (pa.table({"a": [NOTE]}), "not a Table"),
        ({NOTE}, "not a set"),
    ],
)
def test_what_is_no_text_is_refused(tags: deident.Deidentifier, given: Any, message: str) -> None:
    with pytest.raises(deident.UsageError, match=message):
        tags.scrub(given)


def test_patients_that_cannot_be_are_refused(tags: deident.Deidentifier) -> None:
    with pytest.raises(deident.UsageError, match="2 texts, but 1 patients"):
        tags.scrub([NOTE, OTHER], patient=["p"])
    with pytest.raises(deident.UsageError, match="not of type float"):
        tags.scrub([NOTE], patient=[1.5])
    with pytest.raises(deident.UsageError, match="errors must be 'raise' or 'null'"):
        tags.scrub(NOTE, errors="ignore")  # pyright: ignore[reportCallIssue, reportArgumentType]


def test_settings_come_from_a_file_and_by_name(tmp_path: Path) -> None:
    file, key = tmp_path / "d.toml", tmp_path / "study.key"
    file.write_text('[detect]\ndetectors = ["patterns"]\nleast = 0.5\n')
    make_key(key)
    loaded = deident.load(file, replace="surrogate", key_file=key)
    assert (loaded.config.detect.least, loaded.config.scrub.key_file) == (0.5, str(key))
    assert loaded.scrub(NOTE) == deident.load(str(file), replace="surrogate", key_file=str(key)).scrub(NOTE)
    assert deident.load(loaded.config, steps=()).config.detect.steps == ()
    assert deident.load(loaded.config, least=1).config.detect.least == 1.0
    with pytest.raises(ConfigError, match=r"there is no setting 'detector'; there are: .*detectors"):
        deident.load(detector="nlm")
    with pytest.raises(ConfigError, match=r"load\(\): \[detect\]: detectors must be a list of strings"):
        deident.load(detectors="nlm")
    with pytest.raises(deident.UsageError, match="no detector is named"):
        deident.load(detectors=())


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from deident import api

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPackageError, match=r"deident\[tables\]"):
        api.span_fields()
