"""Who finds: one file a detector, with `detector() -> Detector`."""

from collections.abc import Iterable
from typing import Protocol, cast

from deident import plugins
from deident.document import Document, Span


class Detector(Protocol):
    """Finds spans. `why` says in a few words, without text, what a span's `source` looked for."""

    name: str

    def detect(self, doc: Document) -> Iterable[Span]: ...

    def why(self, span: Span) -> str: ...


def load(name: str) -> Detector:
    return cast(Detector, plugins.load("detect", name).detector())
