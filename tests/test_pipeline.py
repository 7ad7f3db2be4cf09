"""The path: one whole note, and failing closed."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given

from deident import replace
from deident.config import Config, Detect
from deident.document import Document, Failure, Span
from deident.errors import UsageError
from deident.pipeline import Pipeline, attempt, attempt_all
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
