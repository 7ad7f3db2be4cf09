"""FHIR R4 in JSON: a resource or a bundle a file, or the lines of a bulk export (NDJSON).

`fhir.toml` says of every element what becomes of it. Ids, references, `fullUrl`, identifiers and conditional references
go through one map, so that what pointed to a resource still does; what a bundle tells of its people is looked for in
its narrative, notes and attachments. A resource belongs to the patient that it refers to.

`--from fhir:site.toml` reads a further file of the same form, whose types and extensions come in addition to ours, or
in place of them.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import unquote

from deident.document import Kind, Record
from deident.errors import ConfigError, FormatError, UnknownNameError
from deident.formats import Files, _attachments, _markup, _xml, decode
from deident.formats._structure import (
    CODE,
    COUNTRY,
    KEPT,
    MIME,
    OID,
    UNIT,
    YEARS,
    Builder,
    Either,
    Embedded,
    Part,
    Parts,
    Slot,
    is_affix,
    opaque,
    public,
    words,
    written,
)
from deident.labels import Label
from deident.labels import parse as label_named

SUFFIXES = (".json",)
ALSO = (".ndjson", ".jsonl")
STRUCTURED = True

DEEPEST = 100
_LEAVES = words(
    "number keep code unit samples prose term text name affix id identifier telecom country display link uri date "
    "instant birth age quantity file xhtml tag resource block"
)
_COMMON = words("extension modifierExtension id")
_OF_RESOURCES = words("resourceType meta implicitRules language text contained")

_UUID = re.compile(r"urn:(?:uuid|oid):")
_RELATIVE = re.compile(
    r"(?P<base>https?://[^?#]*/)?(?P<type>[A-Z][A-Za-z]+)/(?P<id>[A-Za-z0-9.\-]{1,64})"
    r"(?:/_history/(?P<version>[A-Za-z0-9.\-]{1,64}))?(?:#(?P<inner>[A-Za-z0-9.\-]{1,64}))?"
)
_SEARCH = re.compile(r"(?P<base>https?://[^?#]*/)?(?:(?P<type>[A-Z][A-Za-z]+)\?|\?)?(?P<query>[A-Za-z_][^?#]*=[^?#]*)")
_SAMPLES = re.compile(r"[0-9EULe.+\s-]*")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")

# Whose name a reference shows, by what it points to, or else by the element that it is.
_SHOWN: Mapping[str, Label] = {
    "Patient": Label.PATIENT, "RelatedPerson": Label.PATIENT, "Person": Label.PATIENT, "Group": Label.PATIENT,
    "Practitioner": Label.DOCTOR, "PractitionerRole": Label.DOCTOR, "Organization": Label.ORGANIZATION,
    "Location": Label.HOSPITAL, "HealthcareService": Label.HOSPITAL, "Device": Label.DEVICE,
    "subject": Label.PATIENT, "patient": Label.PATIENT, "beneficiary": Label.PATIENT, "subscriber": Label.PATIENT,
    "performer": Label.DOCTOR, "author": Label.DOCTOR, "recorder": Label.DOCTOR, "asserter": Label.DOCTOR,
    "requester": Label.DOCTOR, "provider": Label.DOCTOR, "individual": Label.DOCTOR, "member": Label.DOCTOR,
    "generalPractitioner": Label.DOCTOR, "managingOrganization": Label.ORGANIZATION, "payor": Label.ORGANIZATION,
    "serviceProvider": Label.ORGANIZATION, "custodian": Label.ORGANIZATION, "location": Label.HOSPITAL,
}  # fmt: skip
_PERSONS = words("Patient RelatedPerson Person")
_OF_TYPE: Mapping[str, Label] = {  # an identifier, by the code of its type (HL7 table 0203)
    "MR": Label.MEDICALRECORD, "PI": Label.MEDICALRECORD, "PT": Label.MEDICALRECORD, "SS": Label.SSN, "SB": Label.SSN,
    "DL": Label.LICENSE, "MD": Label.LICENSE, "MB": Label.HEALTHPLAN, "MC": Label.HEALTHPLAN, "MA": Label.HEALTHPLAN,
    "NIIP": Label.HEALTHPLAN, "AN": Label.ACCOUNT, "VN": Label.ACCOUNT,
}  # fmt: skip
_OF_OWNER: Mapping[str, Label] = {
    "Patient": Label.MEDICALRECORD, "RelatedPerson": Label.MEDICALRECORD, "Person": Label.MEDICALRECORD,
    "Coverage": Label.HEALTHPLAN, "Encounter": Label.ACCOUNT, "Account": Label.ACCOUNT, "EpisodeOfCare": Label.ACCOUNT,
    "Device": Label.DEVICE,
}  # fmt: skip
_TELECOMS: Mapping[str, Label] = {
    "phone": Label.PHONE, "fax": Label.FAX, "email": Label.EMAIL, "pager": Label.PHONE, "sms": Label.PHONE,
    "url": Label.URL,
}  # fmt: skip
_ABSENT = '[{"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueCode": "masked"}]'
_MASKED = f'{{"extension": {_ABSENT}}}'


# -- the table ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rule:
    how: str
    label: Label | None = None


@dataclass(frozen=True, slots=True)
class Table:
    types: Mapping[str, Mapping[str, Rule]]
    extensions: Mapping[str, Any] = field(hash=False)  # by URL: a Rule, or the same of inner extensions


_BLOCK = Rule("block")


def _table(data: Mapping[str, Any], known: Iterable[str], where: str) -> Table:
    names = {*known, *data} - {"extensions"}

    def rule(said: Any, place: str) -> Rule:
        how, _, label = said.partition(" ") if isinstance(said, str) else ("", "", "")
        if how not in _LEAVES and how not in names and how != "value":
            raise ConfigError(
                f"{where}: {place}: no disposition '{how}'; there are: {', '.join(sorted(_LEAVES))}, types"
            )
        try:
            return Rule(how, label_named(label) if label else None)
        except UnknownNameError as error:
            raise ConfigError(f"{where}: {place}: {error}") from None

    def extension(said: Any, place: str) -> Any:
        if isinstance(said, Mapping):
            return {url: extension(inner, place) for url, inner in cast(Mapping[str, Any], said).items()}
        return rule(said, place)

    types: dict[str, dict[str, Rule]] = {}
    for name, rows in data.items():
        if name == "extensions":
            continue
        if not isinstance(rows, Mapping) or not all(isinstance(row, str) for row in cast(Any, rows).values()):
            raise ConfigError(f"{where}: {name} must be a table: disposition = 'elements'")
        for said, elements in cast(Mapping[str, str], rows).items():
            types.setdefault(name, {}).update(dict.fromkeys(elements.split(), rule(said, name)))
    told = data.get("extensions", {})
    if not isinstance(told, Mapping):
        raise ConfigError(f"{where}: extensions must be a table")
    return Table(types, {url: extension(said, url) for url, said in cast(Mapping[str, Any], told).items()})


@cache
def table() -> Table:
    """What `fhir.toml` says."""
    text = (resources("deident.formats") / "fhir.toml").read_text(encoding="utf-8")
    return _table(tomllib.loads(text), (), "fhir.toml")


def _site_table(path: Path) -> Table:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"there is no file {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from None
    ours = table()
    theirs = _table(data, ours.types, str(path))
    types = {**ours.types, **{name: {**ours.types.get(name, {}), **rows} for name, rows in theirs.types.items()}}
    return Table(types, {**ours.extensions, **theirs.extensions})


# -- files -------------------------------------------------------------------------------------------------------------


def sniff(suffix: str, head: bytes) -> bool:
    return suffix in {".json", ".ndjson", ".jsonl"} and b'"resourceType"' in head


def pieces(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines of an export; or the whole file, where it is one resource over many lines."""
    before = b""
    first = second = b""
    number = begins = 0
    for line in stream:
        number += 1
        if line.strip() and not first.strip():
            first, begins = line, number
        elif line.strip():
            second = line
            break
        elif not first:
            before += line
    if not first:
        return
    if second and (not _is_object(first) and not second.startswith(b"{")):
        yield 1, before + first + second + stream.read()
        return
    yield begins, first
    if second:
        yield number, second
    for later, line in enumerate(stream, number + 1):
        if line.strip():
            yield later, line


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def read(files: Files, *, name: str) -> Record:
    return _read(files[".json"], name, table())


def write(record: Record) -> dict[str, bytes]:
    return {".json": written(record, "fhir")}


@dataclass(frozen=True, slots=True)
class Configured:
    """This format with a site's own types and extensions."""

    rules: Table = field(hash=False)
    SUFFIXES = SUFFIXES
    ALSO = ALSO
    STRUCTURED = STRUCTURED

    def read(self, files: Files, *, name: str) -> Record:
        return _read(files[".json"], name, self.rules)

    def write(self, record: Record) -> dict[str, bytes]:
        return write(record)

    def pieces(self, stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
        return pieces(stream)


@cache
def configured(option: str) -> Configured:
    """What `fhir:FILE` is."""
    return Configured(_site_table(Path(option)))


class _Number(str):
    """A number as it is written: 1.50 is no 1.5 in FHIR."""

    __slots__ = ()


def _parse(text: str) -> Any:
    """JSON with its numbers as they are written; a key that stands twice is refused, for readers differ in which."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) != len(items):
            raise FormatError("an object with one key twice")
        return found

    def constant(_: str) -> Any:
        raise FormatError("a number that is none")

    try:
        return json.loads(
            text, object_pairs_hook=pairs, parse_float=_Number, parse_int=_Number, parse_constant=constant
        )
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON at column {error.colno}", line=error.lineno) from None
    except (RecursionError, ValueError) as error:
        raise FormatError(f"not JSON that can be read ({type(error).__name__})") from None


def _read(data: bytes, name: str, rules: Table) -> Record:
    text = decode(data)
    value = _parse(text)
    if not isinstance(value, dict) or not isinstance(cast(dict[str, Any], value).get("resourceType"), str):
        raise FormatError("not a FHIR resource: an object with a resourceType")
    builder = Builder("fhir", name)
    walk = _Walk(builder, rules, cast(dict[str, Any], value), pretty="\n" in text.strip())
    made = walk.resource(cast(dict[str, Any], value), 0)
    if made is None:
        raise FormatError("a resource of a type that nobody listed")
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    return builder.record([text[:start], *made, text[end:]])


# -- writing of strings ------------------------------------------------------------------------------------------------


def _inner(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _string(text: str) -> str:
    """A JSON string; FHIR has no empty ones."""
    return json.dumps(text or "[removed]", ensure_ascii=False)


def _raw(text: str) -> str:
    """A JSON number."""
    if not _NUMBER.fullmatch(text):
        raise FormatError("what stands for a number is none")
    return text


# -- walking -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Made:
    """The JSON of a primitive; `absent` is a date that may be nothing in the end."""

    parts: Parts
    absent: int | None = None


@dataclass(frozen=True, slots=True)
class _At:
    """Where a value stands: its object, its element, the label and the resource it is in."""

    data: Mapping[str, Any]
    key: str
    path: str
    label: Label | None
    owner: str
    depth: int


class _Walk:
    """One file's resources on their way into parts."""

    def __init__(self, builder: Builder, rules: Table, root: Mapping[str, Any], *, pretty: bool) -> None:
        self.builder = builder
        self.rules = rules
        self.pretty = pretty
        self.types: dict[str, str] = {}  # id → type of resource
        self._look(root, 0)
        patients = {ident for ident, kind in self.types.items() if kind == "Patient"}
        self.patient = patients.pop() if len(patients) == 1 else ""  # whose a bundle is, where it is one patient's
        self.leaves: Mapping[str, Callable[[str, _At], _Made | None]] = {
            "keep": self._kept, "code": self._code, "unit": self._unit, "samples": self._samples, "prose": self._prose,
            "term": self._term, "text": self._text, "name": self._name, "affix": self._affix, "id": self._id,
            "identifier": self._identifier, "telecom": self._telecom, "country": self._country,
            "display": self._display, "link": self._link,
            "uri": self._uri, "date": self._date, "instant": self._instant, "birth": self._birth, "file": self._file,
            "xhtml": self._xhtml,
        }  # fmt: skip

    def _look(self, value: Any, depth: int) -> None:
        """Which resources there are: those of entries, and those contained in others."""
        if depth > DEEPEST:
            raise FormatError("objects in objects too deep")
        if not isinstance(value, dict):
            return
        data = cast(dict[str, Any], value)
        kind, ident = data.get("resourceType"), data.get("id")
        if isinstance(kind, str) and isinstance(ident, str):
            self.types[ident] = kind
        for entry in _list(data.get("entry")):
            if isinstance(entry, dict):
                inner, full = entry.get("resource"), entry.get("fullUrl")
                self._look(inner, depth + 1)
                if isinstance(full, str) and isinstance(inner, dict) and isinstance(inner.get("resourceType"), str):
                    self.types[_UUID.sub("", full)] = cast(dict[str, Any], inner)["resourceType"]
        for inner in _list(data.get("contained")):
            self._look(inner, depth + 1)

    # -- objects -------------------------------------------------------------------------------------------------

    def resource(self, data: dict[str, Any], depth: int) -> Parts | None:
        kind = data.get("resourceType")
        if not isinstance(kind, str) or kind not in self.rules.types:
            self.builder.block("a resource of an unknown type")
            return None
        outer = self.builder.scope
        self.builder.scope = self._scope(kind, data) or outer or self.patient
        made = self._object(kind, data, kind, None, kind, depth)
        self.builder.scope = outer
        return made

    def _scope(self, kind: str, data: Mapping[str, Any]) -> str:
        """Whose a resource is: the id of the patient that it is, or refers to."""
        if kind == "Patient":
            return data["id"] if isinstance(data.get("id"), str) else ""
        for key in ("subject", "patient", "beneficiary", "for", "individual"):
            for reference in _list(data.get(key)) or [data.get(key)]:
                told = reference.get("reference") if isinstance(reference, dict) else None
                if isinstance(told, str):
                    found = _RELATIVE.fullmatch(told)
                    bare = found["id"] if found is not None else _UUID.sub("", told).removeprefix("#")
                    if (found is not None and found["type"] == "Patient") or self.types.get(bare) == "Patient":
                        return bare
        return ""

    def _object(
        self, kind: str, data: Mapping[str, Any], path: str, label: Label | None, owner: str, depth: int
    ) -> Parts | None:
        if depth > DEEPEST:
            raise FormatError("objects in objects too deep")
        if kind == "HumanName":
            self._learn_name(data, label or Label.PATIENT)
        rules = self.rules.types[kind]
        members: list[Parts] = []
        for key, value in data.items():
            base = key.removeprefix("_")
            if key != base and base in data:
                continue  # it goes with its primitive
            at = _At(data, base, f"{path}.{base}", label, owner, depth)
            if key == "resourceType" and path == kind:
                members.append((f'"resourceType"{self._colon()}{_string(kind)}',))
            elif key in _COMMON or (path == kind and key in _OF_RESOURCES):
                members += self._common(key, value, at)
            elif base in rules:
                members += self._member(rules[base], at, value if key == base else None, data.get(f"_{base}"))
            else:
                self.builder.block(f"{path}.?")
        return self._braces("{}", members, depth) if members else None

    def _common(self, key: str, value: Any, at: _At) -> Iterator[Parts]:
        """What every element, and every resource, may have."""
        match key:
            case "extension" | "modifierExtension":
                items = [
                    self._extension(item, self.rules.extensions, at, modifier=key == "modifierExtension")
                    for item in _list(value)
                ]
                yield from self._items(key, items, at.depth)
            case "id":
                yield from self._member(Rule("id", Label.IDNUM), at, value, None)
            case "meta":
                yield from self._member(Rule("Meta"), at, value, None)
            case "text" if isinstance(value, dict) and _narrative(cast(dict[str, Any], value).get("div")) is not None:
                yield from self._member(Rule("Narrative"), at, value, None)
            case "contained":
                yield from self._items(key, [self._inner_resource(item, at) for item in _list(value)], at.depth)
            case "implicitRules":
                yield from self._member(Rule("uri"), at, value, at.data.get("_implicitRules"))
            case "language":
                yield from self._member(Rule("code"), at, value, at.data.get("_language"))
            case _:
                self.builder.block(at.path)

    def _inner_resource(self, value: Any, at: _At) -> Parts | None:
        if not isinstance(value, dict):
            self.builder.block(at.path)
            return None
        return self.resource(cast(dict[str, Any], value), at.depth + 2)

    def _member(self, rule: Rule, at: _At, value: Any, beside: Any) -> Iterator[Parts]:
        """An element with its key; `beside` is what stands under `_key`: ids and extensions of a primitive."""
        if rule.how == "block":
            self.builder.block(at.path, len(_list(value)) or 1)
            return
        if rule.how in self.rules.types or rule.how in ("resource", "tag"):
            if isinstance(value, list):
                items = [self._complex(rule, item, at) for item in cast(list[Any], value)]
                yield from self._items(at.key, items, at.depth)
            elif (made := self._complex(rule, value, at)) is not None:
                yield (self._key(at.key), *made)
            return
        if isinstance(value, list):
            yield from self._primitives(rule, at, cast(list[Any], value), _list(beside))
            return
        made = self._primitive(rule, value, at) if value is not None else None
        told = self._beside(beside, at)
        if made is not None and made.absent is not None:
            there = (self._key(at.key), *made.parts)
            if told is not None:
                there = (*there, self._comma(at.depth), self._key(f"_{at.key}"), *told)
            yield (Either(made.absent, there, (self._key(f"_{at.key}"), _MASKED)),)
            return
        if made is not None:
            yield (self._key(at.key), *made.parts)
        if told is not None:
            yield (self._key(f"_{at.key}"), *told)

    def _primitives(self, rule: Rule, at: _At, values: list[Any], beside: list[Any]) -> Iterator[Parts]:
        rows: list[tuple[Parts | None, Parts | None]] = []
        for place, value in enumerate(values):
            made = self._primitive(rule, value, at) if value is not None else None
            told = self._beside(beside[place], at) if place < len(beside) else None
            parts = made.parts if made is not None else None
            if made is not None and made.absent is not None:  # in a row every date has its place
                parts = (Either(made.absent, made.parts, ('"0001"',)),)
            if parts is not None or told is not None:
                rows.append((parts, told))
        if any(parts is not None for parts, _ in rows):
            yield from self._items(at.key, [parts or ("null",) for parts, _ in rows], at.depth)
        if any(told is not None for _, told in rows):
            yield from self._items(f"_{at.key}", [told or ("null",) for _, told in rows], at.depth)

    def _beside(self, value: Any, at: _At) -> Parts | None:
        """The id and the extensions of a primitive."""
        if not isinstance(value, dict):
            return None
        data = cast(dict[str, Any], value)
        members: list[Parts] = []
        for key, inner in data.items():
            if key in ("id", "extension"):
                members += self._common(key, inner, _At(data, key, f"{at.path}.{key}", None, "", at.depth + 1))
            else:
                self.builder.block(f"{at.path}.?")
        return self._braces("{}", members, at.depth + 1) if members else None

    def _complex(self, rule: Rule, value: Any, at: _At) -> Parts | None:
        if not isinstance(value, dict):
            self.builder.block(at.path)
            return None
        data = cast(dict[str, Any], value)
        depth = at.depth + (2 if isinstance(at.data.get(at.key), list) else 1)
        if rule.how == "resource":
            return self.resource(data, depth)
        inner = data.get("resource")
        if rule.how == "BundleEntry" and isinstance(inner, dict) and inner.get("resourceType") not in self.rules.types:
            self.builder.block("a resource of an unknown type")
            return None
        if rule.how == "tag":
            system = data.get("system")
            if not isinstance(system, str) or not public(system):
                self.builder.block(at.path)
                return None
            return self._object("Coding", data, at.path, None, at.owner, depth)
        return self._object(rule.how, data, at.path, rule.label or at.label, at.owner, depth)

    def _extension(self, value: Any, known: Mapping[str, Any], at: _At, *, modifier: bool) -> Parts | None:
        """An extension whose URL is listed; one that changes the meaning of its element leaves a mark behind."""
        data = cast(dict[str, Any], value) if isinstance(value, dict) else {}
        url = data.get("url")
        rule = known.get(url) if isinstance(url, str) else None
        path = f"{at.path}({url.rpartition('/')[2]})" if isinstance(url, str) and rule is not None else at.path
        where = _At(data, "url", path, None, at.owner, at.depth + 2)
        members: list[Parts] = [(self._key("url"), *self._url(url, where, listed=rule is not None))] if url else []
        if rule is None:
            self.builder.block(f"{at.path} (unknown)")
            if not modifier or not isinstance(url, str):
                return None
            return self._braces("{}", [*members, (self._key("extension"), _ABSENT)], where.depth)
        values = [key for key in data if key.startswith("value")]
        if isinstance(rule, Mapping):
            inner = cast(Mapping[str, Any], rule)
            items = [self._extension(item, inner, where, modifier=False) for item in _list(data.get("extension"))]
            made = list(self._items("extension", items, where.depth))
        elif len(values) == 1:
            made = list(self._value(cast(Rule, rule), values[0], data, path, where))
        else:
            made = []
        if not made:
            self.builder.block(path)
        return self._braces("{}", [*members, *made], where.depth) if made else None

    def _value(self, rule: Rule, key: str, data: Mapping[str, Any], path: str, where: _At) -> Iterator[Parts]:
        own = self.rules.types["Extension"].get(key, _BLOCK)
        if isinstance(data[key], str) and not isinstance(data[key], _Number) and rule.how != "value":
            own = rule
        if own.how != "block":
            at = _At(data, key, path, rule.label, where.owner, where.depth)
            if own.how == "name":
                self.builder.know(rule.label or Label.PATIENT, str(data[key]))
            yield from self._member(own, at, data[key], None)

    def _url(self, url: Any, at: _At, *, listed: bool) -> Parts:
        if listed:
            return (_string(str(url)),)
        made = self._uri(url, at) if isinstance(url, str) else None
        return made.parts if made is not None else ('""',)

    # -- layout --------------------------------------------------------------------------------------------------

    def _items(self, key: str, items: list[Parts | None], depth: int) -> Iterator[Parts]:
        kept = [item for item in items if item is not None]
        if kept:
            yield (self._key(key), *self._braces("[]", kept, depth + 1))

    def _braces(self, signs: str, members: list[Parts], depth: int) -> Parts:
        parts: list[Part] = [signs[0], self._line(depth + 1)]
        for place, member in enumerate(members):
            if place:
                parts.append(self._comma(depth))
            parts += member
        return (*parts, self._line(depth), signs[1])

    def _line(self, depth: int) -> str:
        return "\n" + "  " * depth if self.pretty else ""

    def _comma(self, depth: int) -> str:
        return "," + self._line(depth + 1)

    def _colon(self) -> str:
        return ": " if self.pretty else ":"

    def _key(self, key: str) -> str:
        return f'"{key}"{self._colon()}'

    # -- primitives ----------------------------------------------------------------------------------------------

    def _primitive(self, rule: Rule, value: Any, at: _At) -> _Made | None:
        at = _At(at.data, at.key, at.path, rule.label or at.label, at.owner, at.depth)
        if isinstance(value, bool) and rule.how == "number":
            return _Made((self.builder.number("true" if value else "false", at.path),))
        if isinstance(value, _Number):
            return self._number(rule, value, at)
        if not isinstance(value, str) or not value:
            self.builder.block(at.path)
            return None
        _check(value)
        if not value.strip():
            self.builder.block(at.path)
            return None
        return self.leaves[rule.how](value, at) if rule.how in self.leaves else self._nothing(at)

    def _nothing(self, at: _At) -> None:
        self.builder.block(at.path)

    def _number(self, rule: Rule, value: _Number, at: _At) -> _Made | None:
        unit = at.data.get("code") or at.data.get("unit") or ("a" if rule.how == "age" else "")
        years = isinstance(unit, str) and unit.casefold() in YEARS
        if rule.how in ("age", "quantity") and years and _NUMBER.fullmatch(value):
            return _Made((Slot(self.builder.field(value, Label.AGE, Kind.AGE, at.path), form=_raw),))
        if rule.how in ("number", "age", "quantity"):
            return _Made((self.builder.number(value, at.path),))
        self.builder.block(at.path)
        return None

    def _kept(self, value: str, at: _At) -> _Made | None:
        return self._if(KEPT.fullmatch(value) is not None, value, at)

    def _code(self, value: str, at: _At) -> _Made | None:
        return self._if(bool(CODE.fullmatch(value) or (at.key == "contentType" and MIME.fullmatch(value))), value, at)

    def _unit(self, value: str, at: _At) -> _Made | None:
        return self._if(value == at.data.get("code") or UNIT.fullmatch(value) is not None, value, at)

    def _samples(self, value: str, at: _At) -> _Made | None:
        if _SAMPLES.fullmatch(value):
            return _Made((self.builder.number(_string(value), at.path),))
        return self._nothing(at)

    def _if(self, stays: bool, value: str, at: _At) -> _Made | None:
        return _Made((self.builder.retained(value, at.path, _string),)) if stays else self._prose(value, at)

    def _prose(self, value: str, at: _At) -> _Made | None:
        if opaque(value):
            return self._nothing(at)
        return _Made((Slot(self.builder.prose([("", value)], at.path), form=_string),))

    def _term(self, value: str, at: _At) -> _Made | None:
        system = at.data.get("system")
        if not isinstance(system, str) or not public(system) or opaque(value):
            return self._prose(value, at)
        return _Made((Slot(self.builder.term(value, at.path), form=_string),))

    def _text(self, value: str, at: _At) -> _Made | None:
        label = at.label or Label.OTHER
        self.builder.know(label, value)
        return self._field(value, label, Kind.TEXT, at)

    def _name(self, value: str, at: _At) -> _Made | None:
        return self._field(value, at.label, Kind.TEXT, at)

    def _affix(self, value: str, at: _At) -> _Made | None:
        return self._if(True, value, at) if is_affix(value) else self._field(value, at.label, Kind.TEXT, at)

    def _field(self, value: str, label: Label | None, kind: Kind, at: _At) -> _Made:
        return _Made((Slot(self.builder.field(value, label or Label.PATIENT, kind, at.path), form=_string),))

    def _id(self, value: str, at: _At) -> _Made | None:
        label = at.label or Label.IDNUM
        if at.key != "id":
            self.builder.know(label, value)
        return self._field(value, label, Kind.ID, at)

    def _identifier(self, value: str, at: _At) -> _Made | None:
        label = self._label_of(at)
        if _UUID.match(value) or value.startswith(("http://", "https://")):
            return self._link(value, at)
        self.builder.know(label, value)
        return self._field(value, label, Kind.ID, at)

    def _label_of(self, at: _At) -> Label:
        system = at.data.get("system")
        if isinstance(system, str) and "us-ssn" in system:
            return Label.SSN
        kind = at.data.get("type")
        for coding in _list(kind.get("coding")) if isinstance(kind, dict) else []:
            code = coding.get("code") if isinstance(coding, dict) else None
            if isinstance(code, str) and code in _OF_TYPE:
                return _OF_TYPE[code]
        return _OF_OWNER.get(at.owner, Label.IDNUM)

    def _telecom(self, value: str, at: _At) -> _Made | None:
        system = at.data.get("system")
        label = _TELECOMS.get(system) if isinstance(system, str) else None
        label = label or (Label.EMAIL if "@" in value else Label.PHONE)
        self.builder.know(label, value)
        return self._field(value, label, Kind.TEXT, at)

    def _country(self, value: str, at: _At) -> _Made | None:
        stays = COUNTRY.fullmatch(value) is not None
        return self._if(True, value, at) if stays else self._field(value, Label.COUNTRY, Kind.TEXT, at)

    def _display(self, value: str, at: _At) -> _Made | None:
        kind = self._target(at.data)
        label = _SHOWN.get(kind)
        if label is None and kind in self.rules.types:
            return self._prose(value, at)
        label = label or _SHOWN.get(at.path.split(".")[-2], Label.OTHER)
        self.builder.know(label, value)
        return self._field(value, label, Kind.TEXT, at)

    def _target(self, data: Mapping[str, Any]) -> str:
        """The type of what a reference points to, "" where nobody says."""
        told, kind = data.get("reference"), data.get("type")
        if isinstance(told, str):
            found = _RELATIVE.fullmatch(told) or _SEARCH.fullmatch(told)
            if found is not None and found["type"]:
                return found["type"]
            bare = _UUID.sub("", told).removeprefix("#")
            if bare in self.types:
                return self.types[bare]
        return kind if isinstance(kind, str) else ""

    def _date(self, value: str, at: _At, kind: Kind = Kind.DATE) -> _Made | None:
        doc = self.builder.field(value, Label.DATE, kind, at.path)
        return _Made((Slot(doc, form=_string),), doc)

    def _instant(self, value: str, at: _At) -> _Made | None:
        return self._date(value, at, Kind.INSTANT)

    def _birth(self, value: str, at: _At) -> _Made | None:
        self.builder.know(Label.DATE, value)
        return self._date(value, at)

    # -- links, files --------------------------------------------------------------------------------------------

    def _uri(self, value: str, at: _At) -> _Made:
        return _Made(('"', *self._uri_parts(value, at), '"'))

    def _uri_parts(self, value: str, at: _At) -> Parts:
        if public(value):
            return (self.builder.retained(value, at.path, _inner),)
        found = _UUID.match(value)
        if found is not None:
            doc = self.builder.field(value[found.end() :], Label.IDNUM, Kind.ID, at.path)
            return (found[0], Slot(doc, form=_inner))
        if OID.fullmatch(value):
            return (Slot(self.builder.field(value, Label.IDNUM, Kind.ID, at.path), form=_inner),)
        return (Slot(self.builder.field(value, Label.URL, Kind.URI, at.path), form=_inner),)

    def _link(self, value: str, at: _At) -> _Made:
        return _Made(('"', *self._link_parts(value, at), '"'))

    def _link_parts(self, value: str, at: _At) -> Iterator[Part]:
        """`Patient/17`, `#med`, `urn:uuid:…`, `https://…/Patient/17`, `Patient?identifier=system|17`."""
        relative = _RELATIVE.fullmatch(value)
        search = _SEARCH.fullmatch(value)
        if value in self.rules.types or value == "#":
            yield value
        elif value.startswith("#"):
            yield "#"
            yield self._ident(value[1:], at)
        elif relative is not None and relative["type"] in self.rules.types:
            if relative["base"]:
                yield from self._uri_parts(relative["base"].rstrip("/"), at)
                yield "/"
            yield f"{relative['type']}/"
            yield self._ident(relative["id"], at)
            if relative["version"]:
                yield "/_history/"
                yield self._ident(relative["version"], at)
            if relative["inner"]:
                yield "#"
                yield self._ident(relative["inner"], at)
        elif search is not None and (not search["type"] or search["type"] in self.rules.types):
            if search["base"]:
                yield from self._uri_parts(search["base"].rstrip("/"), at)
                yield "/"
            yield f"{search['type']}?" if search["type"] else "?" * value.startswith("?")
            yield from self._query(search["query"], at)
        else:
            yield from self._uri_parts(value, at)

    def _ident(self, value: str, at: _At) -> Part:
        return Slot(self.builder.field(value, Label.IDNUM, Kind.ID, at.path), form=_inner)

    def _query(self, query: str, at: _At) -> Iterator[Part]:
        """The parameters of a search that name a resource; others, which may hold anything, are blocked."""
        first = True
        for parameter in query.split("&"):
            name, _, value = parameter.partition("=")
            if name not in ("identifier", "_id", "subject", "patient") or not value:
                self.builder.block(f"{at.path} (search)")
                continue
            yield f"{'' if first else '&'}{name}="
            first = False
            system, bar, ident = unquote(value).rpartition("|")
            if bar:
                yield from self._uri_parts(system, at) if system else ()
                yield "|"
            kind, slash, bare = ident.rpartition("/")
            if slash and kind in self.rules.types:
                yield f"{kind}/"
                ident = bare
            if ident:
                yield self._ident(ident, at)

    def _file(self, value: str, at: _At) -> _Made | None:
        found = _attachments.embedded(self.builder, value, "base64", at.path, form=_string)
        return _Made((found,)) if found is not None else self._nothing(at)

    def _xhtml(self, value: str, at: _At) -> _Made | None:
        root = _narrative(value)
        if root is None:
            return self._nothing(at)
        opening = '<div xmlns="http://www.w3.org/1999/xhtml">'
        parts = _markup.parts(self.builder, root, at.path, _markup.XHTML, opening)
        return _Made((Embedded(parts, "plain", _string),))

    # -- what elements tell of people ----------------------------------------------------------------------------

    def _learn_name(self, data: Mapping[str, Any], label: Label) -> None:
        family, text = data.get("family"), data.get("text")
        given = " ".join(item for item in _list(data.get("given")) if isinstance(item, str))
        if isinstance(family, str):
            self.builder.know(label, f"{family}, {given}" if given else family)
        elif given:
            self.builder.know(label, given)
        if isinstance(text, str):
            self.builder.know(label, text)


def _narrative(div: Any) -> Any:
    """The root of a narrative, None for what is none."""
    try:
        root = _xml.parse(div.encode("utf-8")) if isinstance(div, str) else None
    except (FormatError, UnicodeEncodeError):
        return None
    return root if root is not None and _markup.XHTML.name(root) == "div" else None


def _list(value: Any) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else []


def _check(text: str) -> None:
    """JSON may hold what no text has: half of a surrogate pair, control characters."""
    try:
        _xml.check(text)
    except FormatError as error:
        raise FormatError(f"a string: {str(error).replace('written in XML', 'read')}") from None
