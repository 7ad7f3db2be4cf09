"""Structured records: each value of an HL7 message or a FHIR resource is retained, scrubbed or blocked.

A reader walks its structure and tells a `Builder` what each value is; what it tells nothing about is not in the output.
The skeleton of a record is a row of parts: text that is retained, and places for the record's documents. `render`
joins them again. Values are interned: the same text with the same label is one document wherever it stands, so it has
one stand-in.
"""

import base64
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from deident.document import Document, Kind, Patient, Place, Record, Skeleton, Span
from deident.errors import FormatError
from deident.labels import Category, Label

RETAINED, SCRUBBED, BLOCKED = "retained", "scrubbed", "blocked"

Encode = Callable[[str], str]  # how a text is written in its format


def plain(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a document, or of one piece of it."""

    doc: int
    piece: int | None = None
    form: Encode = plain


@dataclass(frozen=True, slots=True)
class Either:
    """Parts that stand where a document has text, and others where it has none."""

    doc: int
    there: "Parts"
    absent: "Parts"


@dataclass(frozen=True, slots=True)
class Embedded:
    """A file within the record, whose own parts are written, then encoded."""

    parts: "Parts"
    encoding: str  # base64, hexadecimal, plain
    form: Encode = plain


@dataclass(frozen=True, slots=True)
class _Retained:
    """A value that stays, unless it proves to be an identifier that the record has elsewhere."""

    value: str = field(repr=False)
    path: str
    form: Encode


Part = str | Slot | Either | Embedded | _Retained
Parts = tuple[Part, ...]
Known = tuple[Label, str]

_WORD = re.compile(r"[^\W\d_]{4,}")
_OPAQUE = re.compile(r"[A-Za-z0-9+/=_-]{256}")  # no word is so long: a file in base64, which no detector can read
OID = re.compile(r"[0-2](?:\.(?:0|[1-9][0-9]*)){2,}")
# Where the names of public code systems, templates and kinds of identifiers lie: HL7's own, those of national and
# professional bodies that it registers, NCI, HITSP, CDC's vocabulary, IHE, DICOM.
_PUBLIC_OID = re.compile(
    r"(?:2\.16\.840\.1\.113883\.(?:1|4|5|6|10|11|12|13|18|21|3\.26|3\.88)|2\.16\.840\.1\.114222\.4\.(?:5|11)"
    r"|1\.3\.6\.1\.4\.1\.19376|1\.2\.840\.10008)(?:\.\d+)*"
)
_PUBLIC_URI = re.compile(
    r"https?://(?:[a-z0-9-]+\.)*(?:hl7\.org|loinc\.org|snomed\.info|unitsofmeasure\.org|nlm\.nih\.gov|nci\.nih\.gov"
    r"|cdc\.gov|fda\.gov|cms\.gov|healthit\.gov|ama-assn\.org|ada\.org|nucc\.org|nubc\.org|dicom\.nema\.org|ihe\.net"
    r"|who\.int|w3\.org|synthetichealth\.github\.io)(?:/[A-Za-z0-9._/#|$-]*)?|urn:(?:ietf|iso)[A-Za-z0-9:._-]*",
)


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What values that stay look like: a short word of a table, the code of a concept, a quantity.
# None looks like a telephone number or a day, which stand there where somebody's fields have shifted.
KEPT = re.compile(r"(?!\D*(?:\d\D*){7})[A-Za-z0-9.+*/%:_()<>=#,'\[\]{}-]{1,20}")
_DAY = r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:\d{2,6}(?:\.\d+)?)?(?:[+-]\d{4})?"
CODE = re.compile(rf"(?!{_DAY}$)" r"[A-Za-z0-9.+*/%:_()<>=#,'\[\]{}|$-]{1,64}")
NUMBER = re.compile(r"[<>=]{0,2}[+-]?(?:\d{1,8}(?:\.\d*)?|\.\d+|\d+\.\d+)(?:[eE][+-]?\d+)?%?")
UNIT = re.compile(r"(?![A-Z][a-z]{3})[\w%µ°/.*^'+\[\]{}()-]{1,20}")
MIME = re.compile(r"[A-Za-z0-9.+-]+/[A-Za-z0-9.+-]+(?:; ?charset=[A-Za-z0-9_-]+)?")
COUNTRY = re.compile(r"[A-Z]{2,3}")
YEARS = words("a y yr yrs year years")
_AFFIXES = words(
    "jr sr i ii iii iv v esq dr mr mrs ms miss mx prof rev sir md do rn np pa phd dds dmd lpn crna mph pharmd bsn msn "
    "aprn fnp lcsw psyd dpm dvm od ma ba bs msw facs facp mbbs"
)


def is_affix(text: str) -> bool:
    """Whether a part of a name is none of it: "Jr.", "MD, PhD"."""
    parts = re.split(r"[\s,]+", text.casefold().strip(" ,"))
    return all(part.replace(".", "") in _AFFIXES for part in parts)


def public(name: str) -> bool:
    """Whether an OID or a URI names a public system, and so nobody's hospital."""
    oid = name.removeprefix("urn:oid:")
    return bool(_PUBLIC_OID.fullmatch(oid) or _PUBLIC_URI.fullmatch(name))


_STATE = re.compile(r"[A-Za-z]{2,3}")


def opaque(text: str) -> bool:
    """Whether a text holds what nobody can read, such as a file in base64."""
    return _OPAQUE.search(text) is not None


_PART = re.compile(r"(?=[A-Za-z]*[0-9])[A-Za-z0-9]{6,}")


def _key(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def _telling(known: Iterable[Known]) -> Mapping[str, Label]:
    """The values that a retained one must not be: identifiers of five signs and more, and the words of names."""
    found: dict[str, Label] = {}
    for label, text in known:
        if label.category is Category.NAME:
            found |= dict.fromkeys((word.casefold() for word in _WORD.findall(text)), label)
        if label.category is not Category.DATE and len(_key(text)) > 4:
            found[_key(text)] = label
    return found


def _told(value: str, telling: Mapping[str, Label]) -> Label | None:
    """The label of a value that should stay, if it is an identifier of the record or has one in it: an OID that ends
    in the patient's number. Numbers of five digits are too common in codes."""
    if len(value) < 4:
        return None
    whole = telling.get(_key(value))
    if whole is not None:
        return whole
    parts = (part for part in _PART.findall(value) if part != value)
    return next(filter(None, (telling.get(part.casefold()) for part in parts)), None)


def _worth(label: Label, text: str) -> bool:
    signs, digits = len(_key(text)), sum(map(str.isdigit, text))
    match label:
        case Label.OTHER | Label.STATE | Label.COUNTRY | Label.ROOM | Label.DEPARTMENT | Label.PROFESSION | Label.AGE:
            return False
        case Label.DATE:
            return re.fullmatch(r"\d{4}-\d\d-\d\d", text) is not None
        case Label.PHONE | Label.FAX:
            return digits > 6
        case Label.ZIP:
            return digits > 4
        case _ if label.category is Category.ID:
            return digits > 0 and signs > 3
        case _:
            return signs > 1


class Builder:
    """Gathers the documents of one record while its structure is walked."""

    def __init__(self, form: str, name: str) -> None:
        self._form = form
        self._name = name
        self._documents: list[tuple[str, Place, Label | None, str]] = []  # text, place, label of a field, scope
        self._index: dict[tuple[object, ...], int] = {}
        self._known: dict[str, dict[Known, None]] = {}
        self._paths: Counter[tuple[str, str]] = Counter()
        self._terms: set[str] = set()
        self.scope = ""  # whose the values are that come now: the id of a patient

    # -- what a value is ---------------------------------------------------------------------------------------------

    def retained(self, value: str, path: str, form: Encode = plain) -> Part:
        """A value that is no identifier of anybody: a code, a unit, a result."""
        return _Retained(value, path, form)

    def number(self, value: str, path: str) -> Part:
        """A quantity or a flag, which stays as it is."""
        self._paths[RETAINED, path] += 1
        return value

    def field(self, text: str, label: Label, kind: Kind, path: str, scope: str | None = None) -> int:
        """A value that is an identifier by its position; the number of its document."""
        self._paths[SCRUBBED, path] += 1
        scope = self.scope if scope is None else scope
        if label in (Label.STATE, Label.COUNTRY) and not _STATE.fullmatch(text):
            label = Label.LOCATION_OTHER  # policies let states stay, but not what stands where a state should
        key = (text, kind) if kind in (Kind.ID, Kind.URI) else (text, kind, label, scope)
        return self._document(key, text, Place(path, kind), label, scope)

    def prose(self, pieces: Sequence[tuple[str, str]], path: str, scope: str | None = None) -> int:
        """Free text in pieces, each with what parts it from the one before (nothing before the first)."""
        self._paths[SCRUBBED, path] += 1
        scope = self.scope if scope is None else scope
        breaks: list[tuple[int, int]] = []
        size = 0
        for number, (between, text) in enumerate(pieces):
            if number:
                breaks.append((size, size + len(between)))
                size += len(between)
            size += len(text)
        joined = "".join(between * bool(number) + text for number, (between, text) in enumerate(pieces))
        place = Place(path, Kind.PROSE, tuple(breaks))
        return self._document((joined, place.breaks, scope), joined, place, None, scope)

    def term(self, text: str, path: str) -> int:
        """What a code of a public system means. Where the same text stands as prose, it is that term as well."""
        self._terms.add(" ".join(text.split()).casefold())
        return self.prose([("", text)], path)

    def block(self, path: str, count: int = 1) -> None:
        """A value that nobody can judge: it is not in the output."""
        self._paths[BLOCKED, path] += count

    def know(self, label: Label, text: str, scope: str | None = None) -> None:
        """An identifier to look for in the prose of its scope, where it is one that can be told from other words."""
        text = " ".join(text.split())
        if _worth(label, text):
            self._known.setdefault(self.scope if scope is None else scope, {})[label, text] = None

    def _document(self, key: tuple[object, ...], text: str, place: Place, label: Label | None, scope: str) -> int:
        found = self._index.get(key)
        if found is None:
            found = self._index[key] = len(self._documents)
            self._documents.append((text, place, label, scope))
        return found

    # -- the record --------------------------------------------------------------------------------------------------

    def record(self, parts: Iterable[Part], *, encoding: str = "utf-8") -> Record:
        """The record of all that was told, in the order of its parts."""
        parts = tuple(parts)
        telling = _telling(entry for entries in self._known.values() for entry in entries)
        settled = tuple(self._settled(parts, telling))
        everybody = tuple(dict.fromkeys(entry for entries in self._known.values() for entry in entries))
        shared = tuple(self._known.get("", ()))
        known = {scope: tuple(dict.fromkeys((*entries, *shared))) for scope, entries in self._known.items()}
        documents: list[Document] = []
        for number, (text, place, label, scope) in enumerate(self._documents):
            patient = Patient(scope or "shared", known.get(scope, shared) if scope else everybody)
            spans = (Span(0, len(text), label, "structure"),) if label is not None else ()
            identifier = f"{self._name}#{number + 1}:{place.path}"
            if place.kind is Kind.PROSE and not place.breaks and " ".join(text.split()).casefold() in self._terms:
                place = replace(place, kind=Kind.TERM)
            documents.append(Document(identifier, text, spans, patient, place=place))
        return Record(
            tuple(documents),
            Skeleton(self._form, settled, MappingProxyType(dict(self._paths)), len(documents), encoding),
        )

    def _settled(self, parts: Iterable[Part], telling: Mapping[str, Label]) -> Iterable[Part]:
        """The parts with every retained value written out, neighbours joined."""
        text: list[str] = []
        for part in parts:
            new = self._settle(part, telling)
            if isinstance(new, str):
                text.append(new)
                continue
            if text:
                yield "".join(text)
                text = []
            yield new
        if text:
            yield "".join(text)

    def _settle(self, part: Part, telling: Mapping[str, Label]) -> Part:
        match part:
            case str() | Slot():
                return part
            case _Retained(value, path, form):
                label = _told(value, telling)
                if label is None:
                    self._paths[RETAINED, path] += 1
                    return form(value)
                kind = Kind.ID if label.category is Category.ID else Kind.TEXT
                return Slot(self.field(value, label, kind, path), form=form)
            case Either(doc, there, absent):
                return Either(doc, tuple(self._settled(there, telling)), tuple(self._settled(absent, telling)))
            case Embedded(inner, encoding, form):
                return Embedded(tuple(self._settled(inner, telling)), encoding, form)


# -- writing -----------------------------------------------------------------------------------------------------------


def skeleton(record: Record, form: str) -> Skeleton:
    """The skeleton of a record that this format read; there is no way to write another one."""
    frame = record.frame
    if not isinstance(frame, Skeleton) or frame.format != form:
        raise FormatError(f"only what was read as {form} can be written as {form}")
    if len(record.documents) != frame.documents or any(doc.place is None for doc in record.documents):
        raise FormatError("its documents are not those that were read")
    return frame


def written(record: Record, form: str) -> bytes:
    """The bytes of a record that this format read."""
    frame = skeleton(record, form)
    try:
        return render(frame.parts, record.documents).encode(frame.encoding)
    except UnicodeEncodeError as error:
        raise FormatError(f"a character at offset {error.start} cannot be written in {frame.encoding}") from None


def render(parts: Parts, documents: Sequence[Document]) -> str:
    """The parts joined, with the texts that the documents now have."""
    out: list[str] = []
    for part in parts:
        match part:
            case str():
                out.append(part)
            case Slot(number, piece, form):
                out.append(form(_piece(documents[number], piece)))
            case Either(number, there, absent):
                out.append(render(there if documents[number].text else absent, documents))
            case Embedded(inner, encoding, form):
                out.append(form(_encoded(render(inner, documents), encoding)))
            case _Retained():
                raise FormatError("a record that was never finished")
    return "".join(out)


def _piece(doc: Document, piece: int | None) -> str:
    if piece is None:
        return doc.text
    breaks = doc.place.breaks if doc.place is not None else ()
    if piece > len(breaks):
        raise FormatError(f"{doc.id}: it has lost the places between its pieces")
    start = breaks[piece - 1][1] if piece else 0
    return doc.text[start : breaks[piece][0] if piece < len(breaks) else len(doc.text)]


def _encoded(text: str, encoding: str) -> str:
    match encoding:
        case "base64":
            return base64.b64encode(text.encode("utf-8")).decode("ascii")
        case "hexadecimal":
            return text.encode("utf-8").hex().upper()
        case _:
            return text
