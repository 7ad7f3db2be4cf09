"""Spans → tags and back; the only place where that is done.

A token that any span touches is tagged; a span that cuts a token is widened to it, never narrowed. Tags are BIO:
"B-DATE", "I-DATE", "O".
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from deident import labels
from deident.document import Span
from deident.labels import Label
from deident.tokens import Tokens

OUT = "O"


def tags(tokens: Tokens, spans: Iterable[Span]) -> list[str]:
    """The tag of each token; where spans share a token, the first has it."""
    found = [OUT] * len(tokens)
    for span in sorted(spans):
        first, last = tokens.touching(span.start, span.end)
        for place in range(first, last):
            if found[place] == OUT:
                found[place] = f"{'B' if place == first else 'I'}-{span.label}"
    return found


def stretches(tag_names: Sequence[str]) -> Iterator[tuple[int, int, Label]]:
    """(first token, one past the last, label) of each tagged stretch; a stray "I-" begins one."""
    first, current = 0, OUT
    for place, tag in enumerate([*tag_names, OUT]):
        if current != OUT and tag != f"I-{current}":
            yield first, place, labels.parse(current)
            current = OUT
        if tag != OUT and current == OUT:
            first, current = place, tag[2:]


def spans(tokens: Tokens, tag_names: Sequence[str], *, source: str = "", scores: Sequence[float] = ()) -> list[Span]:
    """The spans that the tags mean; a span's score is the least of its tokens'."""
    starts, ends = tokens.starts, tokens.ends
    return [
        Span(int(starts[first]), int(ends[last - 1]), label, source, min(scores[first:last]) if scores else 1.0)
        for first, last, label in stretches(tag_names)
    ]


def spans_of_path(
    tokens: Tokens, path: NDArray[np.uint8], tag_names: Sequence[str], likely: NDArray[np.float32], *, source: str
) -> list[Span]:
    """`spans` of tags by their places in `tag_names`; only the tagged tokens are looked at."""
    places = np.flatnonzero(path != tag_names.index(OUT))
    if not len(places):
        return []
    codes = path[places]
    # a stretch begins at "B-", after a gap, and where the label changes
    kinds = sorted({name[2:] for name in tag_names})
    of_tag = np.array([kinds.index(name[2:]) for name in tag_names])
    inside = np.array([name.startswith("I-") for name in tag_names])
    begins = ~inside[codes]
    begins[0] = True
    begins[1:] |= (np.diff(places) != 1) | (np.diff(of_tag[codes]) != 0)
    firsts = np.flatnonzero(begins)
    lasts = np.append(firsts[1:], len(places)) - 1
    scores = np.minimum.reduceat(likely[places], firsts)
    found = zip(
        tokens.starts[places[firsts]].tolist(), tokens.ends[places[lasts]].tolist(), of_tag[codes[firsts]].tolist(),
        scores.tolist(), strict=True,
    )  # fmt: skip
    return [Span(start, end, labels.parse(kinds[kind]), source, score) for start, end, kind, score in found]
