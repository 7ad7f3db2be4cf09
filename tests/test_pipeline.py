"""The path: one whole note, and failing closed."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from deident import replace
from deident.config import Config, Detect, Scrub
from deident.document import Document, Failure, Span
from deident.errors import UsageError
from deident.pipeline import Pipeline, attempt, attempt_all
from deident.surrogates import make_key
from tests.strategies import texts

ROOT = Path(__file__).parents[1]


def test_a_whole_note() -> None:
    note = (ROOT / "examples" / "notes" / "clinic-letter.txt").read_text(encoding="utf-8")
    scrubbed = Pipeline.from_config(Config()).scrub(Document("n", note))
    golden = (ROOT / "tests" / "golden" / "clinic-letter.scrubbed.txt").read_text(encoding="utf-8")
    assert scrubbed.text == golden


def test_no_detector_is_an_error() -> None:
    with pytest.raises(UsageError, match="no detector is named"):
        Pipeline.from_config(Config(detect=Detect(())))


class _Careless:
    """A detector that raises with the text in its message."""

    name = "careless"

    def detect(self, doc: Document) -> Iterable[Span]:
        raise ValueError(f"cannot understand {doc.text!r}")

    def why(self, span: Span) -> str:
        return "never"


def test_whatever_raises_inside_yields_a_failure_without_text() -> None:
    pipeline = Pipeline((_Careless(),), replace.tag)
    result = attempt(pipeline.scrub, Document("n1", "Ada Okoro"))
    assert result == Failure("n1", "could not be processed (ValueError)")
    done, failures = attempt_all(pipeline.detect, [Document("n1", "Ada"), Document("n2", "Okoro")])
    assert done == ()
    assert "Ada" not in repr(failures)
    assert [failure.id for failure in failures] == ["n1", "n2"]


@given(texts)
def test_what_was_found_is_gone_and_the_rest_stays(text: str) -> None:
    pipeline = Pipeline.from_config(Config())
    doc = pipeline.detect(Document("a", text))
    scrubbed = pipeline.scrub(Document("a", text))
    assert len(doc.spans) == len(scrubbed.spans)
    assert scrubbed.text == replace.apply(doc, replace.tag).text


def test_spans_of_stand_ins_stay_behind(tmp_path: Path) -> None:
    key = tmp_path / "k"
    make_key(key)
    doc = Document("n", "Call 303-555-0182 on 3/4/2019.")

    def labels(**settings: Any) -> list[str]:
        given: dict[str, Any] = {"key_file": str(key)} | settings
        scrub = Scrub(**given)
        made = Pipeline.from_config(Config(Detect(detectors=("patterns",)), scrub)).scrub(doc)
        return [span.label.value for span in made.spans]

    assert labels(replace="surrogate") == []
    assert labels(replace="surrogate", spans="all") == ["PHONE", "DATE"]
    assert labels(replace="mask", key_file="") == ["PHONE", "DATE"]
    assert labels(replace="mask", key_file="", spans="none") == []
    assert labels(policy="safe-harbor", replace="random", key_file="") == ["DATE"]
    assert labels(policy="expert-determination") == []
    with pytest.raises(UsageError, match="'all', 'none' or 'tags', not 'some'"):
        labels(key_file="", spans="some")
