"""Who finds: one file a detector, with `detector() -> Detector`.

A detector that takes settings names them as keyword-only arguments: `detector(*, roster="")` is given what the setting
`roster` of `[detect]` says (`config.Detect`).
"""

from collections.abc import Iterable
from inspect import signature
from typing import Any, Protocol, cast

from deident import plugins
from deident.config import Detect
from deident.document import Document, Span


class Detector(Protocol):
    """Finds spans. `why` says in a few words, without text, what a span's `source` looked for."""

    name: str

    def detect(self, doc: Document) -> Iterable[Span]: ...

    def why(self, span: Span) -> str: ...


def load(name: str, settings: Detect | None = None) -> Detector:
    """The detector of this name, with those of the settings that it takes."""
    make: Any = plugins.load("detect", name).detector
    given = settings if settings is not None else Detect()
    return cast(Detector, make(**{key: getattr(given, key) for key in signature(make).parameters}))
