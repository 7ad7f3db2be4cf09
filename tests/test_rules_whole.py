"""All rules together on short notes in styles that no corpus of ours has: what must be covered, and what must stay."""

import re
from typing import Any

import pytest

from deident.config import Config, Detect
from deident.document import Document
from deident.learn.features import RULES
from deident.pipeline import Pipeline
from tests.casefiles import cases

PIPELINE = Pipeline.from_config(Config(detect=Detect(detectors=RULES)))


def _unmarked(marked: str) -> tuple[str, list[tuple[int, int]]]:
    """The text without its marks, and what they enclose."""
    text, places, begin = "", list[tuple[int, int]](), 0
    for part in re.split(r"([<>])", marked):
        if part == "<":
            begin = len(text)
        elif part == ">":
            places.append((begin, len(text)))
        else:
            text += part
    return text, places


@pytest.mark.parametrize("case", cases("wholes"), ids=lambda case: case["style"])
def test_a_note_in_another_style(case: dict[str, Any]) -> None:
    text, wanted = _unmarked(case["text"])
    spans = PIPELINE.detect(Document("case", text)).spans
    covered = {place for span in spans for place in range(span.start, span.end)}
    left = [
        text[start:end]
        for start, end in wanted
        if any(place not in covered for place in range(start, end) if text[place].isalnum())
    ]
    assert left == []
    for words in case["stays"]:
        assert any(covered.isdisjoint(range(hit.start(), hit.end())) for hit in re.finditer(re.escape(words), text)), (
            f"{words!r} is gone"
        )
