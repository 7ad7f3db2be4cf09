"""HL7 v2 messages in pipes and hats: one, many, a batch (FHS, BHS), or framed by MLLP.

    MSH|^~\\&|LAB|GENERAL|||20260304||ORU^R01|7|P|2.5.1
    PID|1||00123^^^GENERAL^MR||Okoro^Ada||19710412|F
    OBX|1|TX|11502-2^Report^LN||Seen by Dr. Lund\\.br\\for her hip.

`hl7.toml` says of every field what becomes of it. Prose (OBX-5 of a text type, NTE-3 …) is gathered over repetitions,
and over the lines of a report that has a segment a line, so that detectors see whole sentences. Delimiters are those of
the message; escapes are decoded before anybody looks, and encoded again.

`--from hl7:site.toml` reads a further file of the same form, whose segments (a site's Z-segments) come in addition or
in place of ours.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, BinaryIO, cast

from deident.document import Kind, Record
from deident.errors import ConfigError, FormatError, UnknownNameError
from deident.formats import Files, _attachments, decode
from deident.formats._structure import (
    CODE,
    KEPT,
    NUMBER,
    YEARS,
    Builder,
    Part,
    Slot,
    is_affix,
    opaque,
    public,
    words,
    written,
)
from deident.labels import Label
from deident.labels import parse as label_named

SUFFIXES = (".hl7",)
ALSO = (".mllp", ".er7")
STRUCTURED = True

_HEADERS = ("MSH", "FHS", "BHS")
_ENVELOPE = (*_HEADERS, "BTS", "FTS")
_BEGINS = re.compile(rb"(?:(?<=[\r\n])|(?<![\s\S]))(?:\x0b|\xef\xbb\xbf)*(?:MSH|FHS|BHS|BTS|FTS)(?=[^A-Za-z0-9\s])")
_LOOKS = re.compile(rb"[\s\x0b]*(?:MSH|FHS|BHS)([^A-Za-z0-9\s])([^A-Za-z0-9\s]{2,5})\1")
_SEGMENT = re.compile(r"[A-Z][A-Z0-9]{2}")
_LINES = re.compile(r"\r\n|\r|\n")
_CHUNK = 1 << 16
_LONGEST_MARK = 8

NULL = '""'


_TEXT_TYPES = frozenset({"TX", "FT", "ST", "FX"})
_OBSERVED = words(
    "AD CE CF CK CN CNE CP CQ CWE CX DR DT DTM EI HD ID IS MO NM PL PN PPN SI SN TM TN TS XAD XCN XON XPN XTN NA MA TX "
    "FT ST FX"
)
_SAME_AS = {  # older names of types, and those that are one value
    "AD": "XAD", "CE": "CWE", "CNE": "CWE", "CF": "CWE", "CK": "CX IDNUM", "CN": "XCN DOCTOR", "DT": "date",
    "DTM": "date", "TS": "date", "ID": "keep", "IS": "keep", "SI": "keep", "TM": "keep", "NM": "number",
    "PN": "XPN PATIENT", "TN": "XTN", "CX": "CX IDNUM", "PPN": "PPN DOCTOR", "XCN": "XCN DOCTOR",
    "XON": "XON ORGANIZATION", "XPN": "XPN PATIENT", "MA": "NA", "EI": "EI", "HD": "HD",
}  # fmt: skip
# Coding systems that are public, by their names in table 0396. What a site's own codes mean may be anything.
_SYSTEMS = re.compile(
    r"HL7\d{3,4}|LN|SCT2?|SNM3?|SNT|SNOMED|I9C?|I9C(?:DX|P)|I10[CP]?|I10C(?:DX|P)|I11|C4|C5|CPT|HCPCS|HCPT|NDC|CVX|MVX"
    r"|RXNORM|UCUM|CDCREC|CDCPHINVS|CDCEDACUITY|PHINQUESTION|PHINVADS|ISO\+|ISO3166(?:_[12])?|ISO639(?:-[12])?|ANS\+|DCM"
    r"|NCIT|NCI|UNII|ATC[CD]?|CAS|ICD(?:O|O3|10|9)|FDDC|FDDX|NUCC|NUBC|UB(?:92|04)?|NIP\d{3}|USPS|FIPS\S*|MEDR|UPC|IEEE|MDC"
)

# -- the table ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rule:
    """What becomes of a value: a disposition, or a type whose components have theirs."""

    how: str
    label: Label | None = None


@dataclass(frozen=True, slots=True)
class Table:
    types: Mapping[str, tuple[Rule, ...]]
    segments: Mapping[str, tuple[Rule, ...]]

    def rule(self, segment: str, number: int) -> Rule:
        fields = self.segments[segment]
        return fields[number - 1] if number <= len(fields) else BLOCK


BLOCK = Rule("block")
_SIMPLE = words(
    "keep code number prose term table text id name affix phone area local date birth oid block OBX-5 MSH-2 ED"
)


def _rule(said: str, types: Mapping[str, Any], where: str) -> Rule:
    how, _, label = said.partition(" ")
    if how not in _SIMPLE and how not in types:
        raise ConfigError(f"{where}: no disposition '{how}'; there are: {', '.join(sorted({*_SIMPLE, *types}))}")
    try:
        return Rule(how, label_named(label) if label else None)
    except UnknownNameError as error:
        raise ConfigError(f"{where}: {error}") from None


def _rules(rows: Any, types: Mapping[str, Any], where: str) -> tuple[Rule, ...]:
    if not isinstance(rows, list) or not all(isinstance(row, str) for row in cast(list[object], rows)):
        raise ConfigError(f"{where} must be a list of strings, one for each field in its order")
    return tuple(_rule(row, types, f"{where}-{number}") for number, row in enumerate(cast(list[str], rows), 1))


def _table(data: Mapping[str, Any], types: Mapping[str, Any], where: str) -> Table:
    for key in data:
        if key not in ("types", "segments"):
            raise ConfigError(f"{where}: unknown key '{key}'; there are: types, segments")
    all_types = {**types, **cast(Mapping[str, Any], data.get("types", {}))}
    segments = cast(Mapping[str, Any], data.get("segments", {}))
    for name in segments:
        if not _SEGMENT.fullmatch(name):
            raise ConfigError(f"{where}: '{name}' is no name of a segment")
    return Table(
        {name: _rules(rows, all_types, f"{where}: {name}") for name, rows in all_types.items()},
        {name: _rules(rows, all_types, f"{where}: {name}") for name, rows in segments.items()},
    )


@cache
def _data() -> Mapping[str, Any]:
    return tomllib.loads((resources("deident.formats") / "hl7.toml").read_text(encoding="utf-8"))


@cache
def table() -> Table:
    """What `hl7.toml` says."""
    return _table(_data(), {}, "hl7.toml")


def _site_table(path: Path) -> Table:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"there is no file {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from None
    theirs = _table(data, _data()["types"], str(path))
    return Table({**table().types, **theirs.types}, {**table().segments, **theirs.segments})


# -- delimiters and escapes --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Delimiters:
    field: str = "|"
    component: str = "^"
    repetition: str = "~"
    escape: str = "\\"
    sub: str = "&"

    def decode(self, raw: str) -> str | None:
        """The text of a value; None where it has an escape that nobody can read."""
        if self.escape not in raw:
            return raw
        parts = raw.split(self.escape)
        out = [parts[0]]
        place = 1
        while place < len(parts):
            closed = place + 1 < len(parts)
            meant = self._meant(parts[place]) if closed else None
            if meant is not None:
                out += [meant, parts[place + 1]]
                place += 2
            elif closed and re.fullmatch(r"[CMZX][0-9A-Fa-f]*|\.[a-z]{2}.{0,6}", parts[place]):
                return None
            else:  # a backslash that escapes nothing, as in a Windows path
                out += [self.escape, parts[place]]
                place += 1
        return "".join(out)

    def _meant(self, code: str) -> str | None:
        signs = {"F": self.field, "S": self.component, "T": self.sub, "R": self.repetition, "E": self.escape}
        if code in signs:
            return signs[code]
        if code in {"H", "N"}:  # highlighting begins and ends
            return ""
        if re.fullmatch(r"X(?:[0-9A-Fa-f]{2})+", code):
            return _of_bytes(bytes.fromhex(code[1:]))
        command = re.fullmatch(r"\.(br|sp|sk|in|ti|fi|nf|ce)([+-]?\d{0,2})", code)
        if command is None:
            return None
        count = min(abs(int(command[2])), 99) if command[2].strip("+-") else 1
        match command[1]:
            case "br" | "ce":
                return "\n"
            case "sp":
                return "\n" * count
            case "sk":
                return " " * count
            case _:
                return ""


def _of_bytes(data: bytes) -> str | None:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return None if "\0" in text else text


@dataclass(frozen=True, slots=True)
class Escape:
    """Writes a text into a field; `raw` are the delimiters that stood in it without an escape."""

    delimiters: Delimiters
    raw: str = ""

    def __call__(self, text: str) -> str:
        at = self.delimiters
        signs = {at.escape: "E", at.field: "F", at.component: "S", at.repetition: "R", at.sub: "T"}
        coded = {sign: f"{at.escape}{code}{at.escape}" for sign, code in signs.items() if sign and sign not in self.raw}
        coded |= {"\n": f"{at.escape}.br{at.escape}"}
        out: list[str] = []
        for char in text.replace("\r\n", "\n").replace("\r", "\n"):
            if char in coded:
                out.append(coded[char])
            elif char < " " and char != "\t":
                out.append(f"{at.escape}X{ord(char):02X}{at.escape}")
            else:
                out.append(char)
        return "".join(out)


# -- reading -----------------------------------------------------------------------------------------------------------


def sniff(suffix: str, head: bytes) -> bool:
    return suffix in {".hl7", ".mllp", ".er7"} or _LOOKS.match(head) is not None


def pieces(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """A file's messages, and the segments around them (FHS, BHS, BTS, FTS), each with the line it begins at."""
    held = b""
    line = 1
    scanned = 0
    while True:
        chunk = stream.read(_CHUNK)
        held += chunk
        while True:
            found = _BEGINS.search(held, max(scanned, 1))
            # what stands at the very end may be the half of a mark
            if found is None or (chunk and found.end() > len(held) - 1):
                break
            piece, held, scanned = held[: found.start()], held[found.start() :], 0
            if piece.strip(b"\r\n\x0b\xef\xbb\xbf \t"):
                yield line, piece
                line += _line_ends(piece)
            else:  # blank lines before a message are the message's
                held, scanned = piece + held, found.end()
        scanned = max(scanned, len(held) - _LONGEST_MARK)
        if not chunk:
            break
    if held:
        yield line, held


def _line_ends(data: bytes) -> int:
    return len(re.findall(rb"\r\n|\r|\n", data))


def read(files: Files, *, name: str) -> Record:
    return _read(files[".hl7"], name, table())


def write(record: Record) -> dict[str, bytes]:
    return {".hl7": written(record, "hl7")}


@dataclass(frozen=True, slots=True)
class Configured:
    """This format with the segments of a site's own table."""

    rules: Table
    SUFFIXES = SUFFIXES
    ALSO = ALSO

    def read(self, files: Files, *, name: str) -> Record:
        return _read(files[".hl7"], name, self.rules)

    def write(self, record: Record) -> dict[str, bytes]:
        return write(record)

    def pieces(self, stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
        return pieces(stream)


@cache
def configured(option: str) -> Configured:
    """What `hl7:FILE` is."""
    return Configured(_site_table(Path(option)))


def _read(data: bytes, name: str, rules: Table) -> Record:
    text, encoding = _decoded(data)
    builder = Builder("hl7", name)
    return builder.record(_Message(text, builder, rules).parts(), encoding=encoding)


def _decoded(data: bytes) -> tuple[str, str]:
    """The text and its encoding: UTF-8, or what MSH-18 says where it is not."""
    try:
        return decode(data, keep_mark=True), "utf-8"
    except FormatError:
        said = re.match(rb"[\s\x0b]*MSH(.)(?:.*?\1){16}([A-Z0-9 /]*)", data.split(b"\r")[0].split(b"\n")[0])
        number = re.fullmatch(rb"8859/(\d{1,2})", said[2].strip()) if said is not None else None
        if number is None or b"\0" in data:
            raise
        encoding = f"iso8859-{int(number[1])}"
        try:
            return data.decode(encoding), encoding
        except (LookupError, UnicodeDecodeError):
            raise FormatError("not text in the character set that MSH-18 names") from None


def _delimiters(header: str) -> Delimiters:
    """Those of MSH-1 and MSH-2; a trailer (BTS, FTS) says the first alone."""
    if header[:3] not in _HEADERS:
        return Delimiters(field=header[3:4] or "|")
    field = header[3:4]
    said = header[4:].split(field, 1)[0] if field else ""
    if len(said) == 5 and said[2] == said[3]:  # a backslash written twice
        said = said[:3] + said[4:]
    signs = field + said[:4]
    if len(said) < 3 or len(set(signs)) != len(signs) or any(sign.isalnum() or sign.isspace() for sign in signs):
        raise FormatError("its delimiters (MSH-1, MSH-2) are not four or five different signs", line=1)
    return Delimiters(*signs)


@dataclass(frozen=True, slots=True)
class _Segment:
    name: str
    fields: tuple[str, ...]  # by their numbers: fields[0] is the name, and in a header fields[1] the separator

    def get(self, number: int) -> str:
        return self.fields[number] if number < len(self.fields) else ""


class _Message:
    """One message, or one segment around messages, on its way into parts."""

    def __init__(self, text: str, builder: Builder, rules: Table) -> None:
        self.builder = builder
        self.rules = rules
        start = len(text) - len(text.lstrip("\x0b\ufeff\r\n\t "))
        body, mark, tail = text[start:].partition("\x1c")
        if not body or tail.strip("\r\n\x1c\t "):
            raise FormatError("no message between the marks of its frame")
        self.before, self.after = text[:start], mark + tail
        self.at = _delimiters(body)
        rows = _LINES.split(body)
        self.ends = [*_LINES.findall(body), ""]
        self.lines = [self._segment(row, number) for number, row in enumerate(rows, 1)]
        if self.lines[0] is None or self.lines[0].name not in _ENVELOPE:
            raise FormatError("it does not begin with MSH, FHS, BHS, BTS or FTS", line=1)
        self.prose: dict[int, list[Part]] = {}

    def _segment(self, row: str, line: int) -> _Segment | None:
        """None for a blank line. A line that is no segment may be the end of a name: the whole message is refused."""
        if not row.strip():
            return None
        name, sign = row[:3], row[3:4]
        if not _SEGMENT.fullmatch(name) or sign not in ("", self.at.field):
            raise FormatError("not a segment (a line end inside a field?)", line=line)
        fields = row.split(self.at.field)
        return _Segment(name, (name, self.at.field, *fields[1:]) if name in _HEADERS else tuple(fields))

    # -- segments ------------------------------------------------------------------------------------------------

    def parts(self) -> Iterator[Part]:
        yield self.before
        scopes = list(self._scopes())
        for place, segment in enumerate(self.lines):
            self.builder.scope = scopes[place]
            if segment is not None and segment.name not in self.rules.segments:
                # three letters that begin with Z are the name of a segment; others may be the beginning of anything
                self.builder.block(segment.name if segment.name[0] == "Z" else "an unknown segment")
                continue
            if segment is not None:
                yield from self._fields(place, segment)
            yield self.ends[place]
        yield self.after

    def _scopes(self) -> Iterator[str]:
        """Whose each segment is: the patient's of the last PID, or of the first one."""
        ids = [self._patient(row) if row is not None and row.name == "PID" else "" for row in self.lines]
        scope = next(filter(None, ids), "")
        for own in ids:
            scope = own or scope
            yield scope

    def _patient(self, segment: _Segment) -> str:
        """The medical record number of PID-3, or else the first id that it has."""
        listed = [row.split(self.at.component) for row in segment.get(3).split(self.at.repetition)]
        listed.sort(key=lambda row: row[4:5] != ["MR"])
        candidates = [*(row[0] for row in listed), segment.get(2).split(self.at.component)[0], segment.get(18)]
        return next((found for found in candidates if found and found != NULL), "patient")

    def _fields(self, place: int, segment: _Segment) -> Iterator[Part]:
        name = segment.name
        yield name
        if name in _HEADERS:
            yield self.at.field + segment.get(2)
        first = 3 if name in _HEADERS else 1
        if name in ("OBX", "NTE") and place not in self.prose:
            self._gather(place)
        for number in range(first, len(segment.fields)):
            yield self.at.field
            raw = segment.fields[number]
            if not raw or raw == NULL:
                yield raw
                continue
            path = f"{name}-{number}"
            if (name, number) in (("OBX", 5), ("NTE", 3)) and self.prose.get(place):
                yield from self.prose[place]
            elif (name, number) == ("OBX", 5):
                yield from self._observed(segment, raw)
            else:
                yield from self._field(self.rules.rule(name, number), raw, path)

    def _gather(self, place: int) -> None:
        """The prose of a run of segments: NTE after NTE, or OBX after OBX of one question."""
        run: list[tuple[int, str]] = []
        first = self.lines[place]
        assert first is not None
        while place < len(self.lines) and (segment := self.lines[place]) is not None and segment.name == first.name:
            if first.name == "OBX" and (segment.get(2) not in _TEXT_TYPES or segment.get(3) != first.get(3)):
                break
            run.append((place, segment.get(3 if first.name == "NTE" else 5)))
            place += 1
        path = "NTE-3" if first.name == "NTE" else "OBX-5"
        for (number, _), parts in zip(run, self._prose([raw for _, raw in run], path), strict=True):
            self.prose[number] = parts

    def _prose(self, values: Sequence[str], path: str) -> list[list[Part]]:
        """The parts of several values whose text is one: a line for each repetition."""
        pieces: list[tuple[str, str]] = []
        shapes: list[list[str | tuple[int, Escape]]] = []
        for value in values:
            shape: list[str | tuple[int, Escape]] = []
            for number, raw in enumerate(value.split(self.at.repetition)):
                if number:
                    shape.append(self.at.repetition)
                text = self.at.decode(raw)
                if not raw.strip() or raw == NULL:
                    shape.append(raw)
                elif text is None or opaque(text):
                    self.builder.block(path)
                else:
                    shape.append((len(pieces), self._escape(raw)))
                    pieces.append(("\n", text))
            shapes.append(shape)
        doc = self.builder.prose(pieces, path) if pieces else -1
        return [[item if isinstance(item, str) else Slot(doc, *item) for item in shape] for shape in shapes]

    def _escape(self, raw: str) -> Escape:
        return Escape(self.at, "".join(sign for sign in (self.at.component, self.at.sub) if sign and sign in raw))

    # -- values --------------------------------------------------------------------------------------------------

    def _field(self, rule: Rule, raw: str, path: str) -> Iterator[Part]:
        if rule.how == "prose":
            yield from self._prose([raw], path)[0]
            return
        for number, repetition in enumerate(raw.split(self.at.repetition)):
            if number:
                yield self.at.repetition
            if repetition:
                yield from self._value(rule, repetition, path, 0)

    def _value(self, rule: Rule, raw: str, path: str, level: int) -> Iterator[Part]:
        """A value at its level: a field's repetition, a component, a sub-component."""
        sign = self._sign(level)
        if raw == NULL:
            yield raw
        elif rule.how in self.rules.types:
            values = raw.split(sign) if sign else [raw]
            self._learn(rule, values, level)
            yield from self._components(rule, values, path, level)
        elif rule.how in ("text", "prose", "term", "table") or not sign or sign not in raw:
            yield from self._leaf(rule, raw, path)
        else:  # one value by the table, but the message has more of them
            first, *others = raw.split(sign)
            yield from self._value(rule, first, path, level + 1)
            self.builder.block(f"{path}.?", sum(map(bool, others)))

    def _sign(self, level: int) -> str:
        return self.at.component if level == 0 else self.at.sub if level == 1 else ""

    def _components(self, rule: Rule, values: list[str], path: str, level: int) -> Iterator[Part]:
        rules = self.rules.types[rule.how]
        telephone = self._telephone(values, path) if rule.how == "XTN" else {}
        for number, value in enumerate(values):
            if number:
                yield self._sign(level)
            if number in telephone:
                yield telephone[number]
            elif value:
                own = rules[number] if number < len(rules) else BLOCK
                if own.how == "term" and not _SYSTEMS.fullmatch("".join(values[number + 1 : number + 2])):
                    own = Rule("prose")
                inherited = own if own.label is not None else Rule(own.how, rule.label)
                yield from self._value(inherited, value, f"{path}.{number + 1}", level + 1)

    def _telephone(self, values: list[str], path: str) -> Mapping[int, Part]:
        """XTN.6 and XTN.7 are one telephone number, the same that may stand in XTN.1 and XTN.12."""
        local = self.at.decode(values[6]) if len(values) > 6 else None
        if not local:
            return {}
        area = self.at.decode(values[5]) or ""
        doc = self.builder.field(f"({area}) {local}" if area else local, Label.PHONE, Kind.TEXT, f"{path}.7")
        self.builder.know(Label.PHONE, f"{area}{local}")
        escape = Escape(self.at)
        return {6: Slot(doc, form=_Local(escape))} | ({5: Slot(doc, form=_Area(escape))} if area else {})

    def _leaf(self, rule: Rule, raw: str, path: str) -> Iterator[Part]:
        text = self.at.decode(raw)
        if rule.how == "block" or text is None or opaque(text):
            self.builder.block(path)
            return
        escape = self._escape(raw)
        if not text.strip():
            yield raw
            return
        match rule.how:
            case "keep" if KEPT.fullmatch(text):
                yield self.builder.retained(text, path, escape)
            case "number" if NUMBER.fullmatch(text):
                yield self.builder.retained(text, path, escape)
            case "code" if CODE.fullmatch(text):
                yield self.builder.retained(text, path, escape)
            case "affix" if is_affix(text):
                yield self.builder.retained(text, path, escape)
            case "oid" if public(text):
                yield self.builder.retained(text, path, escape)
            case "term" | "table":
                yield Slot(self.builder.term(text, path), 0, escape)
            case "keep" | "number" | "code" | "prose":
                yield Slot(self.builder.prose([("", text)], path), 0, escape)
            case "name" | "affix":
                yield Slot(self.builder.field(text, rule.label or Label.PATIENT, Kind.TEXT, path), form=escape)
            case "phone" | "area" | "local":
                self.builder.know(Label.PHONE, text)
                yield Slot(self.builder.field(text, Label.PHONE, Kind.TEXT, path), form=escape)
            case "text":
                label = rule.label or Label.OTHER
                self.builder.know(label, text)
                yield Slot(self.builder.field(text, label, Kind.TEXT, path), form=escape)
            case "date" | "birth":
                if rule.how == "birth":
                    self.builder.know(Label.DATE, "-".join(filter(None, (text[:4], text[4:6], text[6:8]))))
                yield Slot(self.builder.field(text, Label.DATE, Kind.DATE, path), form=escape)
            case "id" | "oid":
                label = Label.IDNUM if rule.label is None or rule.how == "oid" else rule.label
                self.builder.know(label, text)
                yield Slot(self.builder.field(text, label, Kind.ID, path), form=escape)
            case _:
                self.builder.block(path)

    def _observed(self, segment: _Segment, raw: str) -> Iterator[Part]:
        """OBX-5 by OBX-2."""
        kind = segment.get(2)
        if kind == "ED":
            for number, value in enumerate(raw.split(self.at.repetition)):
                if number:
                    yield self.at.repetition
                yield from self._encapsulated(value)
        elif kind not in _OBSERVED:  # RP among them: it points to a file
            self.builder.block("OBX-5", raw.count(self.at.repetition) + 1)
        else:
            said, _, label = _SAME_AS.get(kind, kind).partition(" ")
            rule = Rule(said, Label(label) if label else None)
            units = segment.get(6).split(self.at.component)[0].casefold()
            if said == "number" and units in YEARS and NUMBER.fullmatch(raw) and raw.replace(".", "").isdecimal():
                yield Slot(self.builder.field(raw, Label.AGE, Kind.AGE, "OBX-5"), form=Escape(self.at))
            else:
                yield from self._field(rule, raw, "OBX-5")

    def _encapsulated(self, raw: str) -> Iterator[Part]:
        """ED: a file in the message. Text and HTML are scrubbed; others are blocked."""
        values = raw.split(self.at.component)
        rules = (Rule("HD"), Rule("keep"), Rule("keep"), Rule("keep"))
        for number, value in enumerate(values[:4]):
            if number:
                yield self.at.component
            if value:
                yield from self._value(rules[number], value, f"OBX-5.{number + 1}", 1)
        if len(values) > 4:
            yield self.at.component
            text = self.at.decode(self.at.component.join(values[4:]))
            encoding = values[3].casefold() if len(values) > 3 else ""
            found = None
            if text:
                found = _attachments.embedded(self.builder, text, encoding or "a", "OBX-5.5", form=Escape(self.at))
            if found is None:
                self.builder.block("OBX-5.5")
            else:
                yield found

    # -- what the fields tell of people --------------------------------------------------------------------------

    def _learn(self, rule: Rule, values: list[str], level: int) -> None:
        """The name that the components make together."""
        first = {"XPN": 0, "XCN": 1, "PPN": 1, "CNN": 1}.get(rule.how)
        if first is None or rule.label is None:
            return
        sub = self.at.sub if level == 0 else ""
        texts = [self.at.decode(value) or "" for value in values[first : first + 3]]
        family, *given = (*texts, "", "")
        surnames = [name for name in (family.split(sub) if sub else [family]) if name and name != NULL]
        given = " ".join(name for name in given[:2] if name and name != NULL)
        for surname in surnames:
            self.builder.know(rule.label, f"{surname}, {given}" if given else surname)
        if given and not surnames:
            self.builder.know(rule.label, given)


@dataclass(frozen=True, slots=True)
class _Area:
    """The area code of "(303) 555-0182"."""

    write: Escape

    def __call__(self, text: str) -> str:
        found = re.fullmatch(r"\((\d+)\) .+", text)
        return self.write(found[1]) if found is not None else ""


@dataclass(frozen=True, slots=True)
class _Local:
    """What stands behind the area code."""

    write: Escape

    def __call__(self, text: str) -> str:
        found = re.fullmatch(r"\(\d+\) (.+)", text)
        return self.write(found[1] if found is not None else text)
