"""The doors of other libraries: a spaCy component and a scikit-learn transformer."""

import os
import pickle
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import spacy
from hypothesis import given, settings
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from spacy.tokens import Doc, Span

import deident
import deident.spacy as component
from deident.document import Document
from deident.errors import ConfigError, ProcessingError, UsageError
from deident.sklearn import Scrubber
from tests.strategies import texts

ROOT = Path(__file__).parents[1]
PATTERNS = {"detectors": ["patterns"]}
PLAIN = deident.load(detectors=["patterns"])
TEXT = "Seen 3/4/21, call 303-555-0182."


def pipeline(**config: Any) -> Any:
    nlp = spacy.blank("en")
    nlp.add_pipe("deident", config={"settings": PATTERNS, **config})
    return nlp


assert component.make  # registered by being imported; where deident is installed, its entry point does that
NLP = pipeline(ents=True)


def placed(doc: Doc) -> list[tuple[int, int, str]]:
    return [(span.start_char, span.end_char, span.label_) for span in doc.spans["deident"]]


def test_spans_and_entities() -> None:
    doc = NLP(TEXT)
    assert placed(doc) == [(span.start, span.end, span.label.value) for span in PLAIN.detect(TEXT)]
    assert [ent.label_ for ent in doc.ents] == ["DATE", "PHONE"]
    assert len(doc.spans["deident"].attrs["scores"]) == 2
    assert "deident" not in pipeline(spans_key="other")(TEXT).spans
    assert not pipeline()(TEXT).ents


@settings(max_examples=60)
@given(texts)
def test_spans_are_widened_and_never_narrowed(text: str) -> None:
    found = PLAIN.detect(text)
    doc = NLP(text)
    covered = {place for start, end, _ in placed(doc) for place in range(start, end)}
    in_ents = {place for ent in doc.ents for place in range(ent.start_char, ent.end_char)}
    for span in found:
        assert covered >= set(range(span.start, span.end))
    assert covered == in_ents


def test_two_finds_in_one_token_are_one_entity() -> None:
    text = "ID:03/04/2021;303-555-0182"
    nlp = spacy.blank("en")
    nlp.tokenizer = lambda text: Doc(nlp.vocab, words=[text], spaces=[False])  # type: ignore[assignment]
    nlp.add_pipe("deident", config={"settings": PATTERNS, "ents": True})
    assert len(PLAIN.detect(text)) == 2
    doc = nlp(text)
    assert [(start, end) for start, end, _ in placed(doc)] == [(0, len(text))] * 2
    assert [ent.text for ent in doc.ents] == [text]


def test_other_entities_stay_where_nothing_was_found() -> None:
    doc = Doc(NLP.vocab, words=["Anaemia", "on", "3/4/2021", "."])
    doc.ents = (Span(doc, 0, 1, "DISEASE"), Span(doc, 1, 3, "TIME"))
    assert [(ent.text, ent.label_) for ent in NLP.get_pipe("deident")(doc).ents] == [
        ("Anaemia", "DISEASE"),
        ("3/4/2021", "DATE"),
    ]


def test_a_pipeline_is_saved_as_its_settings(tmp_path: Path) -> None:
    NLP.to_disk(tmp_path / "saved")
    read = spacy.load(tmp_path / "saved")
    assert placed(read(TEXT)) == placed(NLP(TEXT))
    assert sum(path.stat().st_size for path in (tmp_path / "saved").rglob("*") if path.is_file()) < 200_000
    again = pickle.loads(pickle.dumps(NLP.get_pipe("deident")))
    assert placed(again(NLP.make_doc(TEXT))) == placed(NLP(TEXT))


def test_a_patient_may_be_told(tmp_path: Path) -> None:
    roster = tmp_path / "roster.csv"
    roster.write_text("patient_id,last_name,first_name\np1,Okonkwo,Ada\n")
    nlp = pipeline(settings={"detectors": ["known"], "names": "patient", "roster": str(roster)})
    doc = nlp.make_doc("okonkwo was seen")
    doc.user_data["patient"] = "p1"
    assert placed(nlp.get_pipe("deident")(doc)) == [(0, 7, "PATIENT")]
    assert placed(nlp("okonkwo was seen")) == []


def test_what_fails_raises_without_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Any, doc: Document) -> Document:
        raise ValueError(doc.text)

    nlp = pipeline()
    monkeypatch.setattr(type(PLAIN.pipeline), "detect", fails)
    with pytest.raises(ProcessingError) as raised:
        nlp(TEXT)
    assert "303" not in str(raised.value)


def test_mistakes_in_settings() -> None:
    with pytest.raises(ConfigError, match="no setting 'detector'"):
        pipeline(settings={"detector": ["nlm"]})
    with pytest.raises(UsageError, match="nowhere"):
        pipeline(spans_key="")


def test_spacy_finds_the_component_by_its_entry_point(tmp_path: Path) -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["spacy_factories"]
    information = tmp_path / "doors-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: doors\nVersion: 1\n")
    listed = "".join(f"{name} = {target}\n" for name, target in points.items())
    (information / "entry_points.txt").write_text(f"[spacy_factories]\n{listed}")
    ask = (
        "import spacy; nlp = spacy.blank('en')"
        "; nlp.add_pipe('deident', config={'settings': {'detectors': ['patterns']}})"
        "; doc = nlp('Seen 3/4/21.'); print(doc.spans['deident'][0].label_)"
    )
    done = subprocess.run(
        [sys.executable, "-c", ask],
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT / "src")))},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "DATE"


# ---- scikit-learn ----------------------------------------------------------------------------------------------------

NOTES = ["Seen 3/4/21.", "Call 303-555-0182.", "Well."]
SCRUBBED = ["Seen [DATE].", "Call [PHONE].", "Well."]


def test_texts_come_back_in_their_kind() -> None:
    scrubber = Scrubber(PATTERNS)
    assert scrubber.transform(NOTES) == scrubber.fit_transform(NOTES) == SCRUBBED
    assert scrubber.transform(np.array(NOTES, dtype=object)).tolist() == SCRUBBED
    assert scrubber.transform(np.array(NOTES).reshape(-1, 1)).tolist() == [[text] for text in SCRUBBED]
    series = scrubber.transform(pd.Series(NOTES, index=[5, 6, 7], name="note"))
    assert (series.tolist(), series.name, list(series.index)) == (SCRUBBED, "note", [5, 6, 7])
    frame = pd.DataFrame({"a": NOTES, "b": NOTES[::-1]})
    pd.testing.assert_frame_equal(scrubber.transform(frame), pd.DataFrame({"a": SCRUBBED, "b": SCRUBBED[::-1]}))
    assert frame["a"].tolist() == NOTES
    assert scrubber.transform(pl.DataFrame({"a": NOTES}))["a"].to_list() == SCRUBBED
    with pytest.raises(UsageError, match="not a text"):
        scrubber.transform(pd.DataFrame({"a": NOTES, "age": [1, 2, 3]}))


def test_in_a_pipeline_no_identifier_becomes_a_feature() -> None:
    steps = make_pipeline(Scrubber(PATTERNS), TfidfVectorizer(token_pattern=r"\S+"))
    steps.fit(NOTES)
    features: Any = steps[-1].get_feature_names_out()
    assert set(features) == {"seen", "[date].", "call", "[phone].", "well."}
    columns = make_column_transformer((make_pipeline(Scrubber(PATTERNS), TfidfVectorizer()), "note"))
    assert columns.fit_transform(pd.DataFrame({"note": NOTES, "mrn": ["1", "2", "3"]})).shape == (3, 5)


def test_it_is_cloned_and_pickled_as_its_settings() -> None:
    scrubber = Scrubber(PATTERNS, errors="null").fit(NOTES)
    assert scrubber.get_params() == {"settings": PATTERNS, "config": None, "errors": "null"}
    assert len(pickle.dumps(scrubber)) < 1000
    others: tuple[Any, ...] = (clone(scrubber), pickle.loads(pickle.dumps(scrubber)))
    for other in others:
        assert other.get_params() == scrubber.get_params()
        assert other.transform(NOTES) == SCRUBBED
    with pytest.raises(ConfigError, match="no setting"):
        scrubber.set_params(settings={"detector": 1}).fit(NOTES)
