"""What stands in the fields of structured records: a treatment's answer where the syntax allows it, else a stand-in.

A tag such as `[DATE]` is no date, and a reference to `[IDNUM]` leads nowhere. So `Structured` asks the treatment, and
where its answer cannot stand in the field it puts something that can:

- an identifier becomes a code, the same one wherever the identifier stands: in a field, in a reference, in another
  message, in the prose beside it. It is drawn from the run's secret, so no table is kept and workers agree;
- a date becomes its year, or nothing where the year tells an age over 89 (45 CFR 164.514(b)(2)(i)(C));
- an age over 89 becomes 90.

A treatment that draws surrogates is used for identifiers too, but for everybody at once and not for each patient:
references cross from one patient's record into another's.
"""

import hmac
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache

from deident.detect import Detector
from deident.document import Document, Kind, Patient, Span
from deident.labels import Category, Label
from deident.replace import Treatment

EVERYBODY = "*"  # the patient for whom identifiers are drawn
SECRET_BYTES = 32
_OLD = 90  # years
# signs, without which two identifiers may have one stand-in: of a million numbers of 8 digits some 5,000 pairs would
_ROOM = 12
_STRICT = re.compile(r"[A-Za-z0-9.\-]{1,64}")  # what may be the id of a FHIR resource, and is harmless elsewhere
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_OID = re.compile(r"[0-2](?:\.(?:0|[1-9][0-9]*)){3,}")
_DATE = re.compile(r"(\d{4})(?:(-?)(\d\d)(?:\2(\d\d)(.*))?)?", re.DOTALL)
_TIME = re.compile(
    r"(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?|\d{2,8}(?:\.\d{1,9})?(?:[+-]\d{4})?|[+-]\d{4}|)"
)
_ISO = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?")


def normal(text: str) -> str:
    """An identifier without what its writers add or leave out: case, separators, leading zeros.

    >>> normal("00-12-345 ") == normal("12345")
    True
    """
    return "".join(filter(str.isalnum, text)).casefold().lstrip("0")


@lru_cache(maxsize=64)
def _linked(known: tuple[tuple[Label, str], ...]) -> Mapping[str, tuple[Label, str]]:
    """The identifiers of a record, which its prose repeats, by their normal form."""
    found: dict[str, tuple[Label, str]] = {}
    for label, text in known:
        if label.category is Category.ID and len(normal(text)) > 3:
            found.setdefault(normal(text), (label, text))
    return found


class Sweep:
    """Finds in a record's prose what its fields say, word for word, where a detector of names and numbers may not: a
    name with digits in it, a code that looks like no number."""

    name = "structure"

    def detect(self, doc: Document) -> Iterator[Span]:
        table = _first_words(doc.patient.known) if doc.patient is not None else {}
        if not table:
            return
        folded = doc.text.casefold()
        same = len(folded) == len(doc.text)  # "ß" becomes two letters
        for word in re.finditer(r"\w+", folded if same else doc.text):
            for text, label, exact in table.get(word[0], ()):
                end = word.start() + len(text)
                found = doc.text[word.start() : end]
                if (found == text if exact else found.casefold() == text.casefold()) and not _goes_on(doc.text, end):
                    yield Span(word.start(), end, label, self.name)

    def why(self, span: Span) -> str:  # noqa: ARG002 (the face that all detectors have)
        return "what a field of the record says, word for word"


class Announced:
    """Of what the detector `nlm` finds those names that something announces: a title, "by", a first name beside it.

    A word that is a name by its likelihood alone is as likely a term: White, Beagle, Camila.
    """

    name = "nlm"

    def __init__(self, nlm: Detector) -> None:
        self._nlm = nlm

    def detect(self, doc: Document) -> Iterator[Span]:
        for span in self._nlm.detect(doc):
            if span.label.category is Category.NAME and span.source != "nlm:likelihood":
                yield span

    def why(self, span: Span) -> str:
        return self._nlm.why(span)


def _goes_on(text: str, end: int) -> bool:
    return text[end : end + 1].isalnum() and text[end - 1 : end].isalnum()


@lru_cache(maxsize=64)
def _first_words(known: tuple[tuple[Label, str], ...]) -> Mapping[str, tuple[tuple[str, Label, bool], ...]]:
    """What to look for by its first word: the text, its label, and whether capitals must agree."""
    found: dict[str, list[tuple[str, Label, bool]]] = {}
    for label, text in known:
        if label.category is Category.NAME:
            told = [part for part in re.split(r"[\s,]+", text) if len(part) > 3 and any(map(str.isdigit, part))]
        else:
            told = [text] if sum(map(str.isalnum, text)) > 4 else []
        for item in told:
            first = re.search(r"\w+", item)
            if first is not None and first.start() == 0:
                found.setdefault(first[0].casefold(), []).append((item, label, item.isalpha()))
    return {word: tuple(items) for word, items in found.items()}


_WORD = re.compile(r"[^\W\d_]{4,}")
# words that a telephone number or an address in the network may keep
_GENERAL = frozenset({"extension", "phone", "telephone", "mobile", "cell", "home", "work", "office", "pager", "direct",
    "voice", "mail", "email", "http", "https", "www", "mailto", "example", "info"})  # fmt: skip
_LOOSE = frozenset({Category.CONTACT, Category.ID})


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))


@lru_cache(maxsize=64)
def _by_word(known: tuple[tuple[Label, str], ...]) -> Mapping[str, tuple[tuple[Label, str], ...]]:
    found: dict[str, list[tuple[Label, str]]] = {}
    for entry in known:
        for word in entry[1].casefold().replace(",", " ").split():
            found.setdefault(word, []).append(entry)
    return {word: tuple(entries) for word, entries in found.items()}


def _about(doc: Document) -> Document:
    """A field with that alone of what is known which shares a word with it: a message may name hundreds of people."""
    if doc.patient is None:
        return doc
    index = _by_word(doc.patient.known)
    own = dict.fromkeys(entry for word in doc.text.casefold().split() for entry in index.get(word, ()))
    return replace(doc, patient=Patient(doc.patient.id, tuple(own)))


@dataclass(frozen=True, slots=True)
class Structured:
    """A treatment for the texts of structured records, made of one for any text."""

    treat: Treatment
    secret: bytes = field(repr=False)
    _draws: dict[Label, bool] = field(init=False, default_factory=dict[Label, bool], repr=False, compare=False)

    def __call__(self, doc: Document, span: Span) -> str:
        text = doc.text[span.start : span.end]
        match doc.place.kind if doc.place is not None else Kind.PROSE:
            case Kind.PROSE | Kind.TERM:
                known = self._known(doc, text)
                return self.treat(doc, span) if known is None else self._identifier(*known)
            case Kind.TEXT:
                new = self.treat(_about(doc), span)
                # its stand-in was made for the number that the field should hold, and kept what else is there
                kept = span.label.category in _LOOSE and new != text and self._keeps(text, new)
                return f"[{span.label}]" if kept else new
            case Kind.ID:
                return self._identifier(span.label, text)
            case Kind.URI:
                return self._uri(text)
            case Kind.DATE:
                return self._date(doc, text)
            case Kind.INSTANT:
                new = self._date(doc, text)
                return f"{new}-01-01T00:00:00Z" if len(new) == len("2021") else new
            case Kind.AGE:
                return self._age(text)

    @staticmethod
    def _known(doc: Document, text: str) -> tuple[Label, str] | None:
        """The identifier of the record that prose repeats; alone, or behind a word ("MRN 123456")."""
        linked = _linked(doc.patient.known) if doc.patient is not None else {}
        return linked.get(normal(text)) or linked.get(normal(re.split(r"[\s:#]+", text)[-1]))

    def code(self, text: str) -> str:
        """16 hexadecimal digits for a text: under the run's secret the same every time, and nothing without it."""
        return hmac.digest(self.secret, text.encode("utf-8", "surrogatepass"), "sha256").hex()

    def _ask(self, text: str, label: Label, patient: str = EVERYBODY) -> str:
        span = Span(0, len(text), label)
        return self.treat(Document(patient, text, (span,), Patient(patient)), span)

    def _identifier(self, label: Label, text: str) -> str:
        new = self._ask(text, label)
        if new == text:  # the policy lets it stand
            return text
        code = self.code(text)
        if _UUID.fullmatch(text):
            return f"{code[:8]}-{code[8:12]}-8{code[13:16]}-8{code[17:20]}-{code[20:32]}"
        if _OID.fullmatch(text):
            return f"2.25.{int(code[:30], 16)}"
        if (
            self._drawn(label)
            and len(normal(text)) >= _ROOM
            and not self._keeps(text, new)
            and (_STRICT.fullmatch(new) or not _STRICT.fullmatch(text))
        ):
            return new
        return f"id-{code[:16]}"

    @staticmethod
    def _keeps(text: str, new: str) -> bool:
        return bool((_words(text) & _words(new)) - _GENERAL)

    def _drawn(self, label: Label) -> bool:
        """Whether the treatment gives each identifier of this label a stand-in of its own, always the same one."""
        drawn = self._draws.get(label)
        if drawn is None:
            probes = ("48291734", "59310267")
            first, second = (self._ask(probe, label) for probe in probes)
            shaped = all(_STRICT.fullmatch(new) and new not in probes for new in (first, second))
            drawn = self._draws[label] = shaped and first != second and first == self._ask(probes[0], label)
        return drawn

    def _uri(self, text: str) -> str:
        new = self._ask(text, Label.URL)
        if new == text or (self._drawn(Label.IDNUM) and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s\[\]*]+", new)):
            return new
        return f"https://deident.invalid/{self.code(text)[:16]}"  # a name that leads nowhere (RFC 2606)

    def _date(self, doc: Document, text: str) -> str:
        found = _DATE.fullmatch(text)
        if found is None:
            return ""
        year, hyphen, month, day = found[1], found[2] or "", found[3], found[4]
        iso = "-".join(part for part in (year, month, day) if part)
        try:
            date(int(year), int(month or 1), int(day or 1))
        except ValueError:
            return ""
        new = self._ask(iso, Label.DATE, doc.patient.id if doc.patient is not None else doc.id)
        if new == iso and len(iso) > len(year):  # the policy lets dates stand
            return text
        if not _ISO.fullmatch(new):
            new = year
        if len(new) == len(iso) and new != iso:  # it moves them
            time = found[5] or ""
            return new.replace("-", hyphen) + (time if _TIME.fullmatch(time) else "")
        return "" if self._tells_age(new[:4]) else new.replace("-", hyphen)

    def _tells_age(self, year: str) -> bool:
        """Whether a year that stays tells that somebody is over 89, and the treatment hides such ages."""
        return int(year) <= date.today().year - _OLD and self._ask("95", Label.AGE) != "95"

    def _age(self, text: str) -> str:
        new = self._ask(text, Label.AGE)
        if new == text or (re.fullmatch(r"\d+(?:\.\d+)?", new) and float(new) <= _OLD):
            return new
        return text if float(text) < _OLD else str(_OLD)
