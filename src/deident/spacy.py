"""A component for spaCy's pipelines: `nlp.add_pipe("deident")` (`pip install 'deident[spacy]'`).

    nlp = spacy.blank("en")
    nlp.add_pipe("deident", config={"settings": {"engine": "fast"}, "ents": True})
    for span in nlp(text).spans["deident"]:
        print(span.label_, span.start_char, span.end_char)

Spans are as wide as spaCy's tokens: one that begins or ends within a token is widened to all of it, never narrowed.
The text itself stays: `deident.load().scrub(doc.text)` gives another. A pipeline is saved with the settings, not with
words and models, which every process loads once. A text that fails raises `ProcessingError`, without any of it.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from deident import api
from deident.document import Document
from deident.errors import MissingPackageError, UsageError
from deident.pipeline import attempt

try:
    from spacy.language import Language
    from spacy.tokens import Doc, Span, SpanGroup
except ImportError:
    raise MissingPackageError("spacy", "spacy") from None


class Deident:
    """Finds identifiers in a Doc; `settings` are those of `deident.load`, `config` is a file of them.

    spans_key: under which they stand in `doc.spans`, their scores in its `attrs`; "" for nowhere.
    ents: whether they are entities, too, in place of those that they touch.
    Whose text it is, for names that are known, may stand in `doc.user_data["patient"]`.
    """

    def __init__(
        self, config: str | None, settings: Mapping[str, Any], spans_key: str = "deident", *, ents: bool = False
    ) -> None:
        if not spans_key and not ents:
            raise UsageError("what is found would stand nowhere: give a spans_key, or ents")
        self._config, self._settings, self._spans_key, self._ents = config, dict(settings), spans_key, ents
        api.configured(config, changes=self._settings)  # a mistake is said now, not at the first text

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._config, self._settings, self._spans_key, self._ents)

    @cached_property
    def _pipeline(self) -> Any:
        return api.load(self._config, **self._settings).pipeline

    def __call__(self, doc: Doc) -> Doc:
        patient = api.patient_of(doc.user_data.get("patient"))
        found = attempt(self._pipeline.detect, api.document(doc.text, patient))
        if not isinstance(found, Document):
            raise api.failed(found)
        spans: list[Span] = []
        for span in found.spans:
            wide = doc.char_span(span.start, span.end, span.label.value, alignment_mode="expand")
            assert wide is not None, "a span lies within its text"
            spans.append(wide)
        if self._spans_key:
            scores = [span.score for span in found.spans]
            doc.spans[self._spans_key] = SpanGroup(doc, name=self._spans_key, spans=spans, attrs={"scores": scores})
        if self._ents:
            own = _parted(doc, spans)
            taken = {token.i for span in own for token in span}
            doc.ents = (*own, *(ent for ent in doc.ents if not any(token.i in taken for token in ent)))
        return doc


def _again(config: str | None, settings: Mapping[str, Any], spans_key: str, ents: bool) -> Deident:
    return Deident(config, settings, spans_key, ents=ents)


def _parted(doc: Doc, spans: list[Span]) -> list[Span]:
    """Entities must not share a token: those that do become one, of the first one's label."""
    parted: list[Span] = []
    for span in spans:
        if parted and span.start < parted[-1].end:
            last = parted.pop()
            span = Span(doc, last.start, max(last.end, span.end), last.label_)
        parted.append(span)
    return parted


@Language.factory(  # pyright: ignore[reportUntypedFunctionDecorator]
    "deident", default_config={"config": None, "settings": {}, "spans_key": "deident", "ents": False}
)
def make(
    nlp: Language,  # noqa: ARG001 (what spaCy gives to every factory)
    name: str,  # noqa: ARG001
    config: str | None,
    settings: dict[str, Any],
    spans_key: str,
    ents: bool,
) -> Deident:
    return Deident(config, settings, spans_key, ents=ents)
