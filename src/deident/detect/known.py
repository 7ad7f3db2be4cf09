"""Identifiers known beforehand: this patient's own (`Patient.known`, a roster's rows of hers) and a site's lists.

Seed 002 (NLM Scrubber, the study of names) compares three states of knowledge, which are the `mode` here:

    none      nothing is known, so nothing is found
    patient   the patient's own identifiers
    all       those, and the site's providers and other lists (the default)

What is this patient's is believed alone: a surname, a first name, a nickname, a slip of the pen. Of a site's thousands
of names a part alone proves little ("Dr. Long" is a person, "Long" is not), so it needs a title, a degree or another
part of the same person's name beside it, unless it is a surname that is hardly anything else.
"""

import logging
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache

from deident.detect import _identifiers as ids
from deident.detect._identifiers import Entry
from deident.detect._known_names import NameSearch, Site
from deident.detect._known_numbers import NumberSearch
from deident.detect._known_words import quiet, word_of
from deident.detect._roster import Roster
from deident.detect._roster import providers as read_providers
from deident.detect._roster import roster as read_roster
from deident.document import Document, Span
from deident.errors import UnknownNameError
from deident.labels import Label
from deident.view import View, view

__all__ = ["Known", "Mode", "Roster", "detector"]

_log = logging.getLogger(__name__)


class Mode(StrEnum):
    """Whose identifiers are used."""

    NONE = "none"
    PATIENT = "patient"
    ALL = "all"


_WHY = {
    "exact": "what was given with the note or the roster, as it stands there",
    "reordered": "a known person's name, its parts in another order or with some left out",
    "nickname": "a form of a known person's first name",
    "part": "one part of a known person's name",
    "initials": "the initials of a known person",
    "glued": "a known name written together with something else",
    "typo": "a known name misspelt by a letter or two, or misread by a scanner",
    "number": "a known number with other separators, or without its leading zeros or country code",
    "last-four": "the last four digits of a known number, beside words that announce them",
    "date": "a known date, in some way of writing it",
    "date-part": "a part of the known date of birth, beside a word for birth",
    "address": "a part of a known address",
}


class Known:
    """Finds what is known. `roster` is the site's; each document brings its patient's."""

    name = "known"

    def __init__(self, *, roster: Roster | None = None, mode: str = Mode.ALL) -> None:
        if mode not in set(Mode):
            raise UnknownNameError("mode of known names", mode, Mode)
        self.roster = roster if roster is not None else Roster()
        self.mode = Mode(mode)
        self._site = Site(ids.Index(self.roster.site if self.mode is Mode.ALL else ()))
        self._patient_index = lru_cache(maxsize=64)(ids.Index)

    def detect(self, doc: Document) -> Iterator[Span]:
        entries = self._entries(doc)
        own = self._patient_index(entries) if entries else None
        found: list[Span] = []
        if own:
            found += _of_patient(view(doc.text), own)
        if self._site.index:
            found += _of_site(view(doc.text), self._site)
        yield from _kept(found)

    def why(self, span: Span) -> str:
        return _WHY[span.source.partition(":")[2].partition("+")[0]]

    def _entries(self, doc: Document) -> tuple[Entry, ...]:
        """What is known of this note's patient."""
        if self.mode is Mode.NONE:
            return ()
        listed = self.roster.of(doc)
        if not listed and (self.roster.patients or self.roster.notes):
            _log.warning("%s: no row of the roster is for this note or its patient", doc.id)
        own = (doc.patient.known if doc.patient is not None else ()) + listed
        return own if self.mode is Mode.ALL else tuple(entry for entry in own if entry[0] is not Label.DOCTOR)


def _of_patient(seen: View, index: ids.Index) -> Iterator[Span]:
    """Looks at each different word once, then at the places of those that are worth it."""
    names, numbers = NameSearch(seen, index.names), NumberSearch(seen, index)
    keys, tails, parts = index.hot, index.names.tails, index.names.parts
    hot: set[str] = set()
    for word in set(seen.words):
        known = word_of(word)
        if known.folded in keys:
            hot.add(word)
            if known.odd and known.folded in tails and known.folded not in parts:
                names.is_form(word, known)  # which it then remembers
        elif known.odd and (numbers.may_begin(known) or names.is_form(word, known)):
            hot.add(word)
    places = [place for place, word in enumerate(seen.words) if word in hot]
    yield from names.spans(places)
    yield from numbers.spans(places)


def _of_site(seen: View, site: Site) -> Iterator[Span]:
    worth = site.worth[quiet(seen.text)]
    hot = {word for word in set(seen.words) if worth[word]}
    places = [place for place, word in enumerate(seen.words) if word in hot]
    yield from NameSearch(seen, site.index.names, site).spans(places)
    yield from NumberSearch(seen, site.index).spans(places)


def _kept(spans: list[Span]) -> list[Span]:
    """The spans without those that another of the same label covers, and without doubles; in order."""
    kept: list[Span] = []
    reach: dict[Label, int] = {}
    for span in sorted(spans, key=lambda span: (span.start, -span.end, -span.score, span.label, span.source)):
        if span.end <= reach.get(span.label, 0):
            continue
        if kept and kept[-1].start == span.start and kept[-1].end == span.end:
            continue
        reach[span.label] = span.end
        kept.append(span)
    return kept


def detector(*, roster: str = "", providers: str = "", whole_roster: bool = False, names: str = Mode.ALL) -> Known:
    """roster, providers: CSV files (`_roster.py`); whole_roster: its rows hold for all notes; names: the mode."""
    known = read_roster(roster, everyone=whole_roster) if roster else Roster()
    if providers:
        known = replace(known, site=(*known.site, *read_providers(providers).site))
    return Known(roster=known, mode=names)
