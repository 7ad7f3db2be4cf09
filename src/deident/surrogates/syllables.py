"""The thesis' own surrogates (5.1.1): dictionary words with their syllables shuffled, in the original's orthography.

Every word of a name, place or institution becomes a word of its length class from the dictionary of its kind, its
syllables in another order; the same word of a patient's notes becomes the same (so that mentions of one person still
agree). In identifiers, telephone numbers and ages every digit becomes another digit, every letter another letter.
Dates move as in `dates`, which keeps them valid and as far apart as they were.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

from deident import lexicons
from deident.labels import Category, Label
from deident.surrogates import _shapes, dates, organizations, places
from deident.surrogates._draws import Draw
from deident.surrogates._mentions import Mention, Options

LABELS: frozenset[Label] = frozenset()  # a way for all labels, not a family of some

_DICTIONARIES: Mapping[Label, tuple[str, ...]] = {
    Label.PATIENT: ("first_female", "first_male", "last"),
    Label.DOCTOR: ("first_female", "first_male", "last"),
    Label.HOSPITAL: ("hospitals",),
    Label.DEPARTMENT: ("hospitals",),
    Label.ORGANIZATION: ("organizations",),
    Label.STREET: ("streets",),
    Label.COUNTRY: ("countries",),
    Label.LOCATION_OTHER: ("landmarks",),
    Label.PROFESSION: ("professions",),
}
_SYLLABLE = re.compile(r"[^aeiouy]*[aeiouy]+(?:[^aeiouy]*$|[^aeiouy](?=[^aeiouy]))?|[^aeiouy]+$")
_WORD = re.compile(r"(?:[^\W\d_][\u0300-\u036f]*)+|\d+|(?:[\W_])+")
_KEPT: Mapping[Label, frozenset[str]] = {
    Label.HOSPITAL: organizations.GENERAL | organizations.SAINTLY,
    Label.DEPARTMENT: organizations.GENERAL,
    Label.ORGANIZATION: organizations.GENERAL,
    Label.STREET: places.SUFFIXES,
}
_CLASSES = (3, 7)  # short words have up to three letters, middling ones up to seven


def length_class(word: str) -> int:
    return sum(len(word) > limit for limit in _CLASSES)


def notice(mentions: Sequence[Mention]) -> dates.Context:
    return dates.notice(mentions)


def surrogate(mention: Mention, draw: Draw, context: dates.Context, options: Options) -> str:
    label, text = mention.label, mention.text
    if label is Label.DATE:
        return dates.surrogate(mention, draw, context, options)
    if label.category in (Category.CONTACT, Category.ID, Category.AGE, Category.OTHER) or label in (
        Label.ZIP, Label.USERNAME, Label.ROOM,
    ):  # fmt: skip
        return _shapes.scrambled(text, draw, "syllables")
    spaced = _shapes.unspaced(text)
    if spaced is not None:
        return _shapes.spaced(_words(spaced, label, draw))
    return _words(text, label, draw)


def _words(text: str, label: Label, draw: Draw) -> str:
    pieces: list[str] = _WORD.findall(text)
    kept = _KEPT.get(label, frozenset())
    own = [place for place, piece in enumerate(pieces) if piece[0].isalnum() and piece.lower() not in kept]
    own = own or [place for place, piece in enumerate(pieces) if piece[0].isalnum()]
    for place in own:
        piece = pieces[place]
        if len(piece) < 3 or piece[0].isnumeric():
            pieces[place] = _shapes.scrambled(piece, draw, "syllables")
        else:
            pieces[place] = _shapes.like(piece, _shuffled(piece, label, draw))
    return "".join(pieces)


def _shuffled(word: str, label: Label, draw: Draw) -> str:
    normal = _shapes.fold(word)
    dictionary = _dictionary(_DICTIONARIES.get(label, ("places",)), length_class(word))
    place = draw.number("syllables", normal)
    for step in range(len(dictionary)):
        entry = dictionary[(place + step) % len(dictionary)]
        parts = list(syllables_of(entry))
        number = place
        for last in range(len(parts) - 1, 0, -1):
            number, other = divmod(number, last + 1)
            parts[last], parts[other] = parts[other], parts[last]
        new = "".join(parts)
        if new == entry and len(parts) > 1:
            new = "".join([*parts[1:], parts[0]])
        if entry != normal and normal not in new and new not in normal:
            return new
    return _shapes.babble(draw, "syllables", normal, len(normal))


@lru_cache(maxsize=1 << 14)
def syllables_of(word: str) -> tuple[str, ...]:
    """ "kowalczyk" → ("ko", "wal", "czyk")."""
    return tuple(_SYLLABLE.findall(word))


@cache
def _dictionary(pools: tuple[str, ...], size: int) -> tuple[str, ...]:
    """The single words of the pools, in lower case, of one length class."""
    texts: list[str] = []
    for name in pools:
        if name == "places":
            texts += [place.city for place in lexicons.places()]
        else:
            texts += [entry.text for entry in lexicons.pool(name)]
    found = {word.lower() for text in texts for word in re.findall(r"[A-Za-z]{3,}", text)}
    return tuple(sorted(word for word in found if length_class(word) == size))
