"""Synthetic notes: layouts and sentence banks filled with a made-up person, then roughened; gold by construction.

A note is built as pieces of text that know their label, so that whatever the noise does to a piece, its span goes
along. The same seed and number give the same note, whatever comes before or after.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from random import Random
from typing import Any

from deident.corpus.carriers import Report
from deident.corpus.story import Piece, Story, fill, tells
from deident.corpus.templates import HOMES, Choice, Include, Layout, Slot, Template, banks, layouts
from deident.document import Document, Patient, Span
from deident.errors import FormatError
from deident.labels import Label
from deident.tokens import tokenize


@dataclass(frozen=True, slots=True)
class Between:
    """Sentences without identifiers, and how often one follows a sentence of a bank: real notes are not dense."""

    sentences: Sequence[Template]
    share: float


def render(template: Template, story: Story, between: Between | None = None) -> Iterator[Piece]:
    """The pieces of a template; `between` is none inside a bank, where nothing more may be included."""
    for node in template:
        match node:
            case str():
                yield Piece(node)
            case Slot(name):
                yield from fill(name, story)
            case Choice(options):
                yield from render(story.random.choice(options), story, between)
            case Include():
                if between is None:
                    raise FormatError(f"the bank {node.bank} is included from a bank")
                yield from _included(node, story, between)


def _included(node: Include, story: Story, between: Between) -> Iterator[Piece]:
    bank = banks().get(node.bank)
    if bank is None:
        raise FormatError(f"the bank file banks/{node.bank}.txt is missing: there are {', '.join(banks())}")
    count = min(story.random.randint(node.least, node.most), len(bank))
    for place, template in enumerate(story.random.sample(bank, count)):
        if place:
            yield Piece("\n" if node.lines else " ")
        prefix = node.prefix
        if node.lines and place and (number := re.match(r"(\s*)(\d+)(.*)", prefix)):
            prefix = f"{number[1]}{int(number[2]) + place}{number[3]}"
        if prefix:
            yield Piece(prefix)
        yield from render(template, story)
        while not node.lines and story.random.random() < between.share:
            yield Piece(" ")
            yield from render(story.random.choice(between.sentences), story)


# What is put between the lines of any layout, and how often: names in poor contexts and words that are none, rare
# identifiers, and prose without identifiers, so that a note is not as dense as its layout.
_EXTRAS: Mapping[Include, float] = {
    Include("traps", 1, 3, lines=True): 0.2,
    Include("names", 1, 2, lines=False): 0.2,
    Include("rare", 1, 2, lines=True): 0.2,
    Include("numbers", 1, 2, lines=True): 0.2,
    Include("work", 1, 3, lines=False): 0.25,
    Include("places", 1, 3, lines=False): 0.2,
    Include("times", 1, 2, lines=True): 0.3,
    Include("addresses", 1, 2, lines=True): 0.15,
    Include("plain", 3, 9, lines=False): 0.5,
    Include("negatives", 2, 8, lines=False): 0.4,
    Include("exam", 3, 7, lines=False): 0.15,
    Include("procedure", 3, 6, lines=False): 0.05,
}


@cache
def _plain() -> tuple[Template, ...]:
    """The lines of all banks that hold no identifier."""
    return tuple(line for bank in banks().values() for line in bank if not tells(line))


_SHARES = (0.0, 0.0, 0.4, 0.6, 0.8)  # of sentences without identifiers between the others; a note draws one


def _pieces(layout: Layout, story: Story, sentences: Sequence[Template]) -> list[Piece]:
    random = story.random
    between = Between(sentences or _plain(), random.choice(_SHARES))
    lines = list(layout.lines)
    for include, chance in _EXTRAS.items():
        if random.random() < chance:
            lines.insert(random.randrange(1, len(lines) + 1), (include,))
    pieces: list[Piece] = []
    for place, line in enumerate(lines):
        if place:
            pieces.append(Piece("\n"))
        pieces += render(line, story, between)
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


_NAMES = (Label.PATIENT, Label.DOCTOR)
_STOP = re.compile(r"[.,;:](?=\s|$)")


def _cased(piece: Piece, kinds: set[str]) -> str:
    if "caps" in kinds or ("upnames" in kinds and piece.label in _NAMES):
        return piece.text.upper()
    if "lower" in kinds or ("lownames" in kinds and piece.label in _NAMES):
        return piece.text.lower()
    return piece.text.swapcase() if "swapcase" in kinds else piece.text


# where a word processor parts a long word at the end of a line
_BREAK = re.compile(r"[^\W\d_]{4}(?=[^\W\d_]{3})|(?<=[^\W\d_])-(?=[^\W\d_])")
_PARTED = (Label.PATIENT, Label.DOCTOR, Label.CITY, Label.DATE, Label.HOSPITAL, Label.PROFESSION, Label.ORGANIZATION)


def _typeset(kinds: set[str]) -> dict[int, str]:
    """The signs that a word processor, a web page or another system's line ends put in place of plain ones."""
    signs = {"smart": {"'": "\u2019", '"': "\u201d"}, "nbsp": {" ": "\xa0"}, "crlf": {"\n": "\r\n"}}
    return str.maketrans({plain: sign for kind in kinds & signs.keys() for plain, sign in signs[kind].items()})


def roughened(pieces: list[Piece], orders: Sequence[str], random: Random) -> list[Piece]:
    """The pieces after their noise: no label is lost, and none moves to another text."""
    kinds = {order.split()[0] for order in orders}
    if "glue" in kinds:
        _glued(pieces, random, 0.35)
    scanned = random.choice((0.02, 0.06, 0.2))  # of the letters and digits that a scanner takes for others
    for piece in pieces:
        if "typos" in kinds and random.random() < (0.08 if piece.label is None else 0.15):
            piece.text = _typo(piece.text, random)
        if "ocr" in kinds:
            piece.text = _scanned(piece.text, random, scanned)
        if "nopunct" in kinds and (piece.label is None or piece.label in _NAMES):
            piece.text = _STOP.sub("", piece.text)
        if "blanks" in kinds and piece.label is None:
            piece.text = re.sub(r"(?<=\S) (?=\S|$)", lambda m: "  " if random.random() < 0.2 else m[0], piece.text)
        if "tabs" in kinds and piece.label is None:
            piece.text = re.sub(r" {2,}", "\t", piece.text)
        if "hyphens" in kinds and piece.label in _PARTED:
            piece.text = _BREAK.sub(lambda m: f"{m[0].rstrip('-')}-\n" if random.random() < 0.3 else m[0], piece.text)
        piece.text = _cased(piece, kinds).translate(_typeset(kinds))
    return [piece for piece in pieces if piece.text]


def wrapped(text: str, width: int) -> str:
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
_CHANCES: Mapping[str, float] = {
    "caps": 0.09, "lower": 0.08, "wrap 66": 0.12, "glue": 0.05, "typos": 0.06, "ocr": 0.03, "nopunct": 0.05,
    "blanks": 0.03, "upnames": 0.05, "lownames": 0.03, "swapcase": 0.01, "tabs": 0.03, "hyphens": 0.02, "smart": 0.06,
    "nbsp": 0.01, "crlf": 0.03,
}  # fmt: skip


def _orders(layout: Layout, random: Random) -> Sequence[str]:
    if layout.orders:
        return layout.orders
    return [order for order, chance in _CHANCES.items() if random.random() < chance]


# --- notes -----------------------------------------------------------------------------------------------------------

_ABROAD = 0.07  # how often a note of any layout comes from outside the US
_PARAGRAPH = (4, 12)  # sentences of carriers that a note takes in
_REPORTS = 0.5  # of the notes, where there are reports to fill

# What a filled report is given before, behind and within: most have lost theirs, and real ones have them.
_HEAD, _FOOT = Include("header", 1, 4, lines=True), Include("footer", 1, 3, lines=True)
_FRAMED = 0.65
_WITHIN: Mapping[Include, float] = {
    Include("social", 1, 4, lines=False): 0.4,
    Include("work", 1, 2, lines=False): 0.2,
    Include("course", 1, 2, lines=False): 0.3,
    Include("times", 1, 2, lines=False): 0.3,
    Include("names", 1, 2, lines=False): 0.2,
    Include("places", 1, 2, lines=False): 0.15,
    Include("family", 1, 2, lines=False): 0.2,
}


def note(
    seed: int,
    number: int,
    sentences: Sequence[Template] = (),
    reports: Sequence[Report] = (),
    *,
    layout: Layout | None = None,
) -> Document:
    """The note of this number in the series of this seed: a layout, with some of the carriers' sentences if there are
    any, or one of the carriers' reports."""
    random = Random(f"{seed}/{number}")  # noqa: S311 (no secret is drawn)
    name = f"syn-{seed}-{number:06d}"
    if reports and layout is None and random.random() < _REPORTS:
        return filled(random.choice(reports), random, name)
    drawn = random.choice(layouts())
    layout = layout or drawn
    story = Story(random, layout.home or (random.choice(HOMES) if random.random() < _ABROAD else None))
    orders = _orders(layout, random)
    pieces = _pieces(layout, story, sentences)
    if sentences:
        pieces += [Piece("\n"), *_paragraph(sentences, story)]
    return _document(name, pieces, orders, random, layout.name)


def filled(report: Report, random: Random, name: str) -> Document:
    """A note made of a report: its slots filled, head, foot and histories of ours put to it, then roughened."""
    story = Story(random, female=report.female)
    parts: list[tuple[str, Template]] = list(zip(report.blanks, report.sentences, strict=True))
    for include, chance in _WITHIN.items():
        if random.random() < chance:
            place = random.randrange(1, len(parts) + 1)
            parts.insert(place, ("\n" if random.random() < 0.3 else " ", (include,)))
    if random.random() < _FRAMED:
        parts[:1] = [("", (_HEAD,)), ("\n", parts[0][1])]
    if random.random() < _FRAMED:
        parts.append(("\n", (_FOOT,)))
    plain = Between((), 0.0)
    pieces = [piece for blank, part in parts for piece in (Piece(blank), *render(part, story, plain)) if piece.text]
    orders = [order for order, chance in _CHANCES.items() if random.random() < chance]
    return _document(name, pieces, orders, random, f"carrier {report.id}")


def _document(name: str, pieces: list[Piece], orders: Sequence[str], random: Random, layout: str) -> Document:
    """The pieces roughened and joined, their spans by their places."""
    pieces = roughened(pieces, orders, random)
    text = "".join(piece.text for piece in pieces)
    width = next((int(order.split()[1]) + random.randrange(-4, 5) for order in orders if order.startswith("wrap")), 0)
    if width:
        text = wrapped(text, width)
    spans: list[Span] = []
    position = 0
    for piece in pieces:
        if piece.label is not None:
            spans.append(Span(position, position + len(piece.text), piece.label))
        position += len(piece.text)
    return Document(name, text, tuple(spans), Patient(name), {"layout": layout})


def _paragraph(sentences: Sequence[Template], story: Story) -> Iterator[Piece]:
    """Some sentences as they follow each other in a report."""
    count = story.random.randint(*_PARAGRAPH)
    start = story.random.randrange(max(1, len(sentences) - count))
    for template in sentences[start : start + count]:
        yield from render(template, story)
        yield Piece(" ")


def notes(
    count: int, *, seed: int, sentences: Sequence[Template] = (), reports: Sequence[Report] = ()
) -> Iterator[Document]:
    """`count` notes; each depends on the seed, its number and the carriers alone."""
    return (note(seed, number, sentences, reports) for number in range(count))


# --- how various they are --------------------------------------------------------------------------------------------

_DIGIT = re.compile(r"\d")
_GRAM = 5


@dataclass(frozen=True, slots=True)
class Variety:
    """How various synthetic notes are, and how little they share with notes that are kept for measuring."""

    notes: int
    layouts: int
    spans: Mapping[str, int]  # label → spans
    contexts: Mapping[str, int]  # label → different (two tokens before, two behind), digits and identifiers masked
    values: Mapping[str, int]  # label → different texts
    shared_of_synthetic: float  # of the different 5-grams of the synthetic notes, the share that the others hold
    shared_of_others: float  # of those of the others, the share that the synthetic notes hold

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def variety(documents: Iterable[Document], others: Iterable[Document] = ()) -> Variety:
    """Count the contexts of each label, and the 5-grams of tokens that stand in other notes (dev) too."""
    count, layouts_seen = 0, set[str]()
    spans = Counter[str]()
    contexts: dict[str, set[tuple[str, ...]]] = {}
    values: dict[str, set[str]] = {}
    grams = set[tuple[str, ...]]()
    for doc in documents:
        count += 1
        layouts_seen.add(doc.meta.get("layout", ""))
        tokens = tokenize(doc.text)
        masked = [_DIGIT.sub("0", word.lower()) for word in tokens.words()]
        grams.update(_grams(masked))
        touched = [(span, *tokens.touching(span.start, span.end)) for span in doc.spans]
        # another name beside a name is no other context: neighbours that are identifiers count as their type
        around = list(masked)
        for span, first, behind in touched:
            around[first:behind] = [span.label.value] * (behind - first)
        for span, first, behind in touched:
            label = span.label.value
            spans[label] += 1
            contexts.setdefault(label, set()).add(
                (*around[max(0, first - 2) : first], "_", *around[behind : behind + 2])
            )
            values.setdefault(label, set()).add(doc.text[span.start : span.end])
    other = {
        gram
        for doc in others
        for gram in _grams([_DIGIT.sub("0", word.lower()) for word in tokenize(doc.text).words()])
    }
    both = len(grams & other)
    return Variety(
        count,
        len(layouts_seen),
        dict(sorted(spans.items())),
        {label: len(found) for label, found in sorted(contexts.items())},
        {label: len(found) for label, found in sorted(values.items())},
        both / max(1, len(grams)),
        both / max(1, len(other)),
    )


def _grams(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(words[place:] for place in range(_GRAM)), strict=False)
