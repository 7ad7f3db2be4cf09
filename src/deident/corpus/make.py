"""Synthetic notes: layouts and sentence banks filled with a made-up person, then roughened; gold by construction.

A note is built as pieces of text that know their label, so that whatever the noise does to a piece, its span goes
along. The same seed and number give the same note, whatever comes before or after.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from random import Random

from deident.corpus.story import Piece, Story, fill
from deident.corpus.templates import Choice, Include, Layout, Slot, Template, banks, layouts
from deident.document import Document, Patient, Span
from deident.errors import FormatError


def render(template: Template, story: Story, depth: int = 0) -> Iterator[Piece]:
    """The pieces of a template; an inclusion inside an inclusion is a mistake of the banks."""
    for node in template:
        match node:
            case str():
                yield Piece(node)
            case Slot(name):
                piece = fill(name, story)
                if name == "profession.a":
                    yield Piece("an " if piece.text[:1].lower() in "aeiou" else "a ")
                yield piece
            case Choice(options):
                yield from render(story.random.choice(options), story, depth)
            case Include():
                if depth:
                    raise FormatError(f"the bank {node.bank} is included from a bank")
                yield from _included(node, story)


def _included(node: Include, story: Story) -> Iterator[Piece]:
    bank = banks().get(node.bank)
    if bank is None:
        raise FormatError(f"a bank {node.bank} that does not exist")
    count = min(story.random.randint(node.least, node.most), len(bank))
    for place, template in enumerate(story.random.sample(bank, count)):
        if place:
            yield Piece("\n" if node.lines else " ")
        prefix = node.prefix
        if node.lines and place and (number := re.match(r"(\s*)(\d+)(.*)", prefix)):
            prefix = f"{number[1]}{int(number[2]) + place}{number[3]}"
        if prefix:
            yield Piece(prefix)
        yield from render(template, story, 1)


def _pieces(layout: Layout, story: Story) -> list[Piece]:
    pieces: list[Piece] = []
    for place, line in enumerate(layout.lines):
        if place:
            pieces.append(Piece("\n"))
        pieces += render(line, story)
    return [piece for piece in pieces if piece.text]


# --- noise -----------------------------------------------------------------------------------------------------------

_OCR = {"O": "0", "0": "O", "l": "1", "1": "l", "rn": "m", "m": "rn", "S": "5", "5": "S", "I": "l", "B": "8", "e": "c"}
_WORD = re.compile(r"[^\W\d_]{4,}")


def _typo(text: str, random: Random) -> str:
    """One letter of one longer word lost, doubled, or changed with its neighbour."""
    found = list(_WORD.finditer(text))
    if not found:
        return text
    word = random.choice(found)
    at = random.randrange(word.start() + 1, word.end() - 1)
    match random.randrange(3):
        case 0:
            return text[:at] + text[at + 1 :]
        case 1:
            return text[:at] + text[at] + text[at:]
        case _:
            return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


def _scanned(text: str, random: Random, share: float) -> str:
    return re.sub(r"rn|[O0l1mS5IBe]", lambda m: _OCR[m[0]] if m[0] in _OCR and random.random() < share else m[0], text)


def _glued(pieces: list[Piece], random: Random, share: float) -> None:
    """White space between an identifier and its neighbour drops out, as in a faulty export."""
    for place, piece in enumerate(pieces):
        if piece.label is None and piece.text.strip():
            before = place > 0 and pieces[place - 1].label is not None
            after = place + 1 < len(pieces) and pieces[place + 1].label is not None
            if before and random.random() < share:
                piece.text = piece.text.lstrip(" \n")
            if after and random.random() < share:
                piece.text = piece.text.rstrip(" \n")
        elif piece.label is None and piece.text == "\n" and random.random() < share:
            piece.text = ""


def _roughened(pieces: list[Piece], orders: Sequence[str], random: Random) -> list[Piece]:
    kinds = {order.split()[0] for order in orders}
    if "glue" in kinds:
        _glued(pieces, random, 0.35)
    for piece in pieces:
        if "typos" in kinds and random.random() < (0.08 if piece.label is None else 0.15):
            piece.text = _typo(piece.text, random)
        if "ocr" in kinds:
            piece.text = _scanned(piece.text, random, 0.04)
        if "caps" in kinds:
            piece.text = piece.text.upper()
        elif "lower" in kinds:
            piece.text = piece.text.lower()
    return [piece for piece in pieces if piece.text]


def _wrapped(text: str, width: int) -> str:
    """Blanks become line breaks where a line would run over the width: no offset moves."""
    out = list(text)
    start, blank = 0, -1
    for place, char in enumerate(text):
        if char == "\n":
            start, blank = place + 1, -1
        elif char == " ":
            if place - start > width and blank > start:
                out[blank] = "\n"
                start = blank + 1
            blank = place
        elif place - start > width and blank > start:
            out[blank] = "\n"
            start, blank = blank + 1, -1
    return "".join(out)


# How often a layout that orders nothing is roughened, and how.
_CHANCES: Mapping[str, float] = {"caps": 0.1, "lower": 0.08, "wrap 66": 0.12, "glue": 0.05, "typos": 0.06, "ocr": 0.04}


def _orders(layout: Layout, random: Random) -> Sequence[str]:
    if layout.orders:
        return layout.orders
    return [order for order, chance in _CHANCES.items() if random.random() < chance]


def note(seed: int, number: int) -> Document:
    """The note of this number in the series of this seed."""
    random = Random(f"{seed}/{number}")  # noqa: S311 (no secret is drawn)
    story = Story(random)
    layout = random.choice(layouts())
    orders = _orders(layout, random)
    pieces = _roughened(_pieces(layout, story), orders, random)
    text = "".join(piece.text for piece in pieces)
    width = next((int(order.split()[1]) + random.randrange(-4, 5) for order in orders if order.startswith("wrap")), 0)
    if width:
        text = _wrapped(text, width)
    spans: list[Span] = []
    position = 0
    for piece in pieces:
        if piece.label is not None:
            spans.append(Span(position, position + len(piece.text), piece.label))
        position += len(piece.text)
    name = f"syn-{seed}-{number:06d}"
    return Document(name, text, tuple(spans), Patient(name), {"layout": layout.name})


def notes(count: int, *, seed: int) -> Iterator[Document]:
    """`count` notes; each depends on the seed and its number alone."""
    return (note(seed, number) for number in range(count))
