"""Identifiers that show by their form alone: e-mail, URL, IP address, telephone, SSN, dates.

The patterns stand in `patterns.toml`, each with what it looks for, one text that it must find and one that it must
not; a test runs them all.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from deident import labels
from deident.document import Document, Span


@dataclass(frozen=True, slots=True)
class Pattern:
    """One entry of the data file; the group `phi` is the span, or the whole match where there is none."""

    name: str
    label: labels.Label
    looks_for: str
    regex: re.Pattern[str]
    score: float
    finds: tuple[str, ...]
    passes: tuple[str, ...]


@cache
def patterns() -> tuple[Pattern, ...]:
    data: dict[str, dict[str, Any]] = tomllib.loads(
        files("deident.detect").joinpath("patterns.toml").read_text(encoding="utf-8")
    )
    months = data.pop("words")["months"]
    return tuple(
        Pattern(
            name,
            labels.parse(entry["label"]),
            entry["looks_for"],
            re.compile(entry["regex"].replace("{months}", months), re.VERBOSE | re.IGNORECASE),
            entry.get("score", 0.9),
            tuple(entry["finds"]),
            tuple(entry["passes"]),
        )
        for name, entry in data.items()
    )


class Patterns:
    name = "patterns"

    def detect(self, doc: Document) -> Iterator[Span]:
        for pattern in patterns():
            named = "phi" in pattern.regex.groupindex
            for match in pattern.regex.finditer(doc.text):
                span = match.span("phi") if named and match["phi"] else match.span()
                yield Span(*span, pattern.label, f"{self.name}:{pattern.name}", pattern.score)

    def why(self, span: Span) -> str:
        wanted = span.source.partition(":")[2]
        return next(pattern.looks_for for pattern in patterns() if pattern.name == wanted)


def detector() -> Patterns:
    return Patterns()
