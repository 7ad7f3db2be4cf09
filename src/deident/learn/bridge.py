"""Spans → tags and back; the only place where that is done.

A token that any span touches is tagged; a span that cuts a token is widened to it, never narrowed. Tags are BIO:
"B-DATE", "I-DATE", "O".
"""

from collections.abc import Iterable, Iterator, Sequence

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
