"""Identifiers that show by their form, by a word beside them, or by the name of the field they stand in.

The rule tagger of the hybrid for psychiatric notes (Lee 2017, 3.3.2 and table 1), widened to all Safe Harbor
identifiers. The patterns are data: `patterns*.toml`, each with what it looks for and with texts in which it must and
must not find; the head of `patterns.toml` explains the form, and `load` reads a user's own files of the same form.

The text is scanned once. A vectorised pass over its characters finds the places where something may begin: a digit, a
word that some pattern waits for, "@", the sign after a field's name … Only there are the patterns of that trigger
tried, anchored. No pattern may repeat without a bound, and `proven` bounds the steps of each by its parse tree, so
time is linear in the text, whatever it holds.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from deident import labels, lexicons
from deident.detect._expressions import ALL, Openings, Pairs, bits, proven
from deident.document import Document, Span
from deident.errors import ConfigError, UnknownNameError
from deident.labels import Label
from deident.mending import mended

CONTEXT = 40  # characters before a trigger that `after` and `unless` look at


@dataclass(frozen=True, slots=True)
class Pattern:
    """One entry of a data file. Groups named by a label are spans of that label, the group `phi` of the entry's own;
    where there are none, the whole match is the span."""

    name: str
    label: Label
    looks_for: str
    regex: re.Pattern[str]
    score: float
    finds: tuple[str, ...]
    passes: tuple[str, ...]
    on: tuple[str, ...]  # triggers; none: the pattern is searched for everywhere by a scan of its own
    back: int  # characters before the trigger from which the match may begin; 0: at the trigger
    at: re.Pattern[str] | None  # what must stand at the trigger, for a match that begins before it
    after: re.Pattern[str] | None  # what must stand before the trigger
    unless: re.Pattern[str] | None  # what must not
    check: str  # the name of a further test, see CHECKS


@dataclass(frozen=True, slots=True)
class Field:
    """The name of a field ("patient name") and what its value is."""

    name: str
    label: Label
    value: re.Pattern[str]
    row: bool  # whether the name also counts in a heading of columns


# --- reading ---------------------------------------------------------------------------------------------------------

_KEYS = {
    "label",
    "looks_for",
    "regex",
    "score",
    "finds",
    "passes",
    "on",
    "back",
    "at",
    "after",
    "unless",
    "check",
    "case",
}
_FIELD_KEYS = {"label", "names", "value", "row"}
_TABLES = ("words", "parts", "values", "fields", "others")
_WORD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Rules:
    """Everything that the data files say."""

    patterns: tuple[Pattern, ...]
    fields: Mapping[str, tuple[Field, ...]]  # "signed" may come before a name or a date
    lists: "_Lists"


@dataclass(frozen=True, slots=True)
class _Lists:
    """What `{name}` in a regular expression stands for: a word list as an alternation, or a part written once."""

    words: Mapping[str, tuple[str, ...]]
    parts: Mapping[str, str]
    ours: bool = False  # the package's own expressions are proven by its tests, and not at every start

    def fill(self, regex: str, where: str) -> str:
        def put(match: re.Match[str]) -> str:
            if match[1].isdigit():
                return match[0]  # a repetition: {3}
            if match[1] in self.parts:
                return f"(?:{self.fill(self.parts[match[1]], where)})"
            if match[1] not in self.words:
                raise ConfigError(f"{where}: no word list '{match[1]}'; there are: {', '.join(sorted(self.words))}")
            longest = sorted(self.words[match[1]], key=lambda word: (-len(word), word))
            return "(?>" + "|".join(_phrase(word) for word in longest) + ")"

        return _WORD.sub(put, regex)


def _phrase(words: str) -> str:
    r"""A word or phrase as a regular expression: blanks may be any white space, a line's end too."""
    return r"[\s]{1,3}".join(re.escape(word) for word in words.split())


def load(paths: Iterable[Path]) -> Rules:
    """The package's rules and those of the user's own files, which may use the package's lists; whatever is wrong in
    the files is one clear ConfigError."""
    return _read([(str(path), _text(path)) for path in paths], rules())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"there is no pattern file {path}") from None
    except (UnicodeDecodeError, OSError):
        raise ConfigError(f"the pattern file {path} cannot be read as UTF-8 text") from None


@cache
def rules() -> Rules:
    """What the package's own files hold."""
    own = [entry for entry in files("deident.detect").iterdir() if re.fullmatch(r"patterns\w*\.toml", entry.name)]
    return _read([(file.name, file.read_text(encoding="utf-8")) for file in sorted(own, key=lambda file: file.name)])


def _read(sources: Sequence[tuple[str, str]], known: Rules | None = None) -> Rules:
    """The rules of some files beside those that are known."""
    tables: list[tuple[str, dict[str, Any]]] = []
    words: dict[str, tuple[str, ...]] = dict(known.lists.words if known else _shared_words())
    parts: dict[str, str] = dict(known.lists.parts if known else {})
    for where, text in sources:
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{where} is not TOML: {error}") from None
        for name, listed in _section(data, "words", where).items():
            words[name] = _strings(listed, f"{where}: words.{name}")
        parts |= {
            name: _string(part, f"{where}: parts.{name}") for name, part in _section(data, "parts", where).items()
        }
        tables.append((where, data))
    lists = _Lists(MappingProxyType(words), MappingProxyType(parts), known is None)
    found = {pattern.name: pattern for pattern in (known.patterns if known else ())}
    fields = dict(known.fields if known else {})
    for where, data in tables:
        values = {
            name: _compiled(regex, lists, f"{where}: values.{name}")
            for name, regex in _section(data, "values", where).items()
        }
        for name, entry in _section(data, "fields", where).items():
            for field in _fields(entry, values, f"{where}: fields.{name}"):
                fields[field.name] = (*fields.get(field.name, ()), field)
        for name in _strings(_section(data, "others", where).get("names", []), f"{where}: others.names"):
            fields[_field_key(name)] = ()
        for name, entry in data.items():
            if name in _TABLES:
                continue
            if name in found:
                raise ConfigError(f"{where}: there is already a pattern '{name}'")
            found[name] = _pattern(name, entry, lists, f"{where}: {name}")
    return Rules(tuple(found.values()), MappingProxyType(fields), lists)


@cache
def _shared_words() -> Mapping[str, tuple[str, ...]]:
    """Lists that the lexicons have: holidays, state codes, state names, what ends a street's name."""
    room = files("deident.lexicons")

    def lines(name: str) -> list[str]:
        read = room.joinpath(name).read_text(encoding="utf-8").splitlines()
        return [line for line in read if line and not line.startswith("#")]

    states = [line.split("|") for line in lines("states.txt")]
    names = [row[1] for row in states] + [other for row in states for other in row[2].split(",") if len(other) > 3]
    return {
        "holidays": tuple(_listed(lines("holidays.txt"))),
        "state_codes": tuple(row[0].lower() for row in states if len(row[0]) == 2),
        "state_names": tuple(name.strip(".").lower() for name in names if name),
        "street_suffixes": tuple(_listed(lines("street_suffixes.txt"))),
    }


def _listed(lines: Iterable[str]) -> list[str]:
    return [entry.strip().lower() for line in lines for entry in line.split(",") if entry.strip()]


def _strings(value: object, where: str) -> tuple[str, ...]:
    items = cast(list[object], value) if isinstance(value, list) else None
    if items is None or not all(isinstance(item, str) for item in items):
        raise ConfigError(f"{where} must be a list of strings")
    return tuple(cast(list[str], items))


def _string(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{where} must be a string")
    return value


def _section(data: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
    section = data.get(name, {})
    if not isinstance(section, dict):
        raise ConfigError(f"{where}: {name} must be a table")
    return cast(dict[str, Any], section)


def _table(entry: object, known: set[str], needed: set[str], where: str) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise ConfigError(f"{where} must be a table")
    table = cast(dict[str, Any], entry)
    for key in table:
        if key not in known:
            raise ConfigError(f"{where}: unknown key '{key}'; there are: {', '.join(sorted(known))}")
    for key in sorted(needed - set(table)):
        raise ConfigError(f"{where}: the key '{key}' is missing")
    return table


def _label(name: object, where: str) -> Label:
    try:
        return labels.parse(str(name))
    except UnknownNameError as error:
        raise ConfigError(f"{where}: {error}") from None


def _compiled(regex: object, lists: _Lists, where: str, flags: re.RegexFlag = re.IGNORECASE) -> re.Pattern[str]:
    """The expression, compiled, and proven linear where it is a user's."""
    filled = lists.fill(_string(regex, where), where)
    try:
        compiled = re.compile(filled, re.VERBOSE | re.ASCII | flags)
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(f"{where} is not a regular expression: {error}") from None
    if not lists.ours:
        proven(compiled, where)
    return compiled


def _pattern(name: str, entry: object, lists: _Lists, where: str) -> Pattern:
    table = _table(entry, _KEYS, {"label", "looks_for", "regex", "finds", "passes"}, where)
    flags = re.RegexFlag(0) if table.get("case") is True else re.IGNORECASE
    regex = _compiled(table["regex"], lists, where, flags)
    for group in set(regex.groupindex) - {"phi"}:
        if group.isupper():
            _label(group, where)
    score, back = table.get("score", 0.9), table.get("back", 0)
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        raise ConfigError(f"{where}: score must be a number from 0 to 1")
    if not isinstance(back, int) or not 0 <= back <= 80:
        raise ConfigError(f"{where}: back must be a whole number from 0 to 80")
    check = table.get("check", "")
    if check and check not in CHECKS:
        raise ConfigError(f"{where}: no check '{check}'; there are: {', '.join(CHECKS)}")
    after, unless = (
        _compiled(f"(?:{table[key]})\\Z", lists, f"{where}: {key}", flags) if key in table else None
        for key in ("after", "unless")
    )
    return Pattern(
        name,
        _label(table["label"], where),
        str(table["looks_for"]),
        regex,
        float(score),
        _strings(table["finds"], f"{where}: finds"),
        _strings(table["passes"], f"{where}: passes"),
        _triggers(table.get("on", []), lists, where),
        back,
        _compiled(table["at"], lists, f"{where}: at", flags) if "at" in table else None,
        after,
        unless,
        check,
    )


def _triggers(on: object, lists: _Lists, where: str) -> tuple[str, ...]:
    """The triggers, word lists written out: "{months}" its words, "~{months}" what is a typing error away from one."""
    found: list[str] = []
    for trigger in _strings(on, f"{where}: on"):
        match = re.fullmatch(r"(~?)\{(\w+)\}", trigger)
        if trigger in SIGNS or (match is None and trigger.isalpha()):
            found.append(trigger)
            continue
        if match is None or match[2] not in lists.words:
            known = ", ".join([*SIGNS, *(f"{{{name}}}" for name in sorted(lists.words))])
            raise ConfigError(f"{where}: no trigger '{trigger}'; there are: {known}, or any word")
        # a phrase is waited for by its first word, "d.o.b." by "d"
        firsts = {re.split(r"[^a-z]", word)[0] for word in lists.words[match[2]]} - {""}
        found += sorted(
            {typo for word in firsts if len(word) > 4 for typo in _typos(word)} - firsts if match[1] else firsts
        )
    return tuple(found)


def _typos(word: str) -> Iterator[str]:
    """What one slip makes of a word: a letter left out, doubled, swapped with the next, or another in its place."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    for place in range(len(word)):
        yield word[:place] + word[place + 1 :]
        yield from (word[:place] + letter + word[place + 1 :] for letter in letters)
        yield from (word[:place] + letter + word[place:] for letter in letters)
        if place + 1 < len(word):
            yield word[:place] + word[place + 1] + word[place] + word[place + 2 :]


def _fields(entry: object, values: Mapping[str, re.Pattern[str]], where: str) -> Iterator[Field]:
    table = _table(entry, _FIELD_KEYS, {"label", "names", "value"}, where)
    if table["value"] not in values:
        raise ConfigError(f"{where}: no value '{table['value']}'; there are: {', '.join(values)}")
    for name in _strings(table["names"], f"{where}: names"):
        yield Field(
            _field_key(name), _label(table["label"], where), values[table["value"]], bool(table.get("row", True))
        )


# --- the text as the patterns see it ---------------------------------------------------------------------------------

_BLANKS = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_PLAIN: dict[int, str] = (
    dict.fromkeys(map(ord, _BLANKS), " ")
    | dict.fromkeys(map(ord, "‐‑‒–—―−﹣－"), "-")
    | dict.fromkeys(map(ord, "‘’‚‛ʼ′`´"), "'")
    | dict.fromkeys(map(ord, "“”„‟″«»"), '"')
    | dict.fromkeys(map(ord, "\u0085\u2028\u2029\x0b\x0c\r"), "\n")
    | {ord("⁄"): "/", ord("∕"): "/", ord("|"): "|", ord("·"): "|", ord("•"): "|", ord("："): ":", ord("№"): "#"}
)


def plain(text: str) -> str:
    """The text in ASCII, character for character: accents dropped, every kind of blank, dash and quotation mark one."""
    if text.isascii():
        return text.translate(_PLAIN) if any(sign in text for sign in "\r\x0b\x0c") else text
    return text.translate(_AsciiTable())


class _AsciiTable(dict[int, str]):
    """What `str.translate` asks for each character that is not plain."""

    def __missing__(self, code: int) -> str:
        self[code] = found = _ascii(code)
        return found


@cache
def _ascii(code: int) -> str:
    char = chr(code)
    if code < 128:
        return _PLAIN.get(code, char)
    if code in _PLAIN:
        return _PLAIN[code]
    if char.isdecimal():
        return str(int(char))
    if char.isalpha():
        folded = lexicons.fold(char)[:1]
        letter = folded if folded.isascii() and folded.isalpha() else "x"
        return letter.upper() if char.isupper() else letter
    return " " if char.isspace() else "~"


# --- triggers --------------------------------------------------------------------------------------------------------

SIGNS: Mapping[str, str] = MappingProxyType(
    {
        "digit": "the first of a run of digits",
        "code": "up to six letters with a digit, or a hyphen and a digit, behind them",
        "ocr": "O, o, l, I or | where a number may begin",
        "@": "",
        "'": "an apostrophe before a digit",
        "//": "the slashes of a URL",
        "(": "a parenthesis before a digit",
        "+": "a plus before a digit",
        "hex": "a colon between hexadecimal digits",
        "#": "",
        "^": "a caret between letters",
        "[": "an opening bracket, <, or a slash before a small letter",
    }
)

_Places = NDArray[np.intp]
_Bools = NDArray[np.bool_]
_DIGIT, _UPPER, _LOWER, _LIKE_DIGIT, _SEPARATES, _HEX = (1 << bit for bit in range(6))
_LETTER = _UPPER | _LOWER
_HEX_SIGNS, _MARGIN = "0123456789abcdefABCDEF", 4


def _kinds() -> bytes:
    kinds = bytearray(256)
    for code in range(128):
        char = chr(code)
        kinds[code] = (
            _DIGIT * char.isdigit()
            | _UPPER * char.isupper()
            | _LOWER * char.islower()
            | _LIKE_DIGIT * (char in "OoIl|")
            | _SEPARATES * (char in ":=\t|>")
            | _HEX * (char in _HEX_SIGNS)
        )
    return bytes(kinds)


_KINDS = _kinds()
_LETTER_NUMBERS = bytes((code & 31) if chr(code).isalpha() and code < 128 else 0 for code in range(256))
_RUN = 9  # digits; longer runs count as so long
_BLOCK = 64  # patterns of one table
_KEPT = 1 << 15  # spellings of words
_DIGITS = bits(range(ord("0"), ord("9") + 1))


class _Text:
    """A text as arrays with a margin, so that neighbours are slices: `at(-1)` are the characters before."""

    def __init__(self, text: str) -> None:
        margin = b"\0" * _MARGIN
        raw = margin + text.encode("ascii") + margin
        self.size = len(text)
        self.raw = raw
        self.codes = np.frombuffer(raw, dtype=np.uint8)
        self.kinds = np.frombuffer(raw.translate(_KINDS), dtype=np.uint8)

    def at(self, offset: int) -> NDArray[np.uint8]:
        return self.codes[_MARGIN + offset : _MARGIN + offset + self.size]

    def are(self, kinds: int, offset: int = 0) -> _Bools:
        return (self.kinds[_MARGIN + offset : _MARGIN + offset + self.size] & kinds) != 0


def _chars(chars: int) -> list[int]:
    return [code for code in range(128) if chars >> code & 1]


def _places(mask: _Bools) -> list[int]:
    return np.flatnonzero(mask).tolist()


def _words(text: _Text) -> tuple[_Places, _Places]:
    """Where words begin and end. A word begins at a letter after none, at a capital after a small letter
    ("sinceMarch"), and at the last of some capitals before small ones ("ALMarital")."""
    letters = (text.kinds[_MARGIN - 1 : -_MARGIN + 1] & _LETTER) != 0
    begins, stops = letters[1:] > letters[:-1], letters[1:] < letters[:-1]
    # capitals with a letter before them, few of all characters
    inner = np.flatnonzero(text.are(_UPPER) & letters[:-2]) + _MARGIN
    kinds = text.kinds
    small = kinds[inner - 1] & _LOWER
    last = kinds[inner + 1] & kinds[inner + 2] & _LOWER
    # "jUNE" is one word: a single small letter and capitals
    inverted = small & ~((kinds[inner - 2] & _LETTER) * _LETTER) & ((kinds[inner + 1] & _UPPER) * _LETTER)
    glued = inner[((small & ~inverted) | last) != 0] - _MARGIN
    begins[glued] = stops[glued] = True
    return np.flatnonzero(begins), np.flatnonzero(stops)


_MARK = re.compile(rb"[@#^'/(+:\[<|]")
_MARKED = ("@", "#", "^", "'", "//", "(", "+", "hex", "[", "ocr")


def _signs(text: _Text, words: tuple[_Places, _Places]) -> dict[str, _Places]:
    """Where a pattern of each sign is tried, but for digits."""
    codes, kinds, raw = text.codes, text.kinds, text.raw
    starts, ends = words[0] + _MARGIN, words[1] + _MARGIN
    like = kinds[starts] & _LIKE_DIGIT & ~((kinds[starts - 1] & _DIGIT) * _LIKE_DIGIT)
    found: dict[str, list[int]] = {sign: [] for sign in _MARKED}
    for start in np.flatnonzero(like).tolist():
        place = int(starts[start])
        behind = raw[place + 1]
        if _KINDS[behind] & (_LIKE_DIGIT | _DIGIT) or behind == 47 or (behind == 32 and raw[place + 2] == 47):
            found["ocr"].append(place - _MARGIN)
    coded = (kinds[ends] | ((codes[ends] == 45) * kinds[ends + 1])) & _DIGIT
    for match in _MARK.finditer(raw):
        place = match.start()
        sign = _sign(raw, place)
        if sign:
            found[sign].append(place - _MARGIN)
    there = {sign: np.array(places, dtype=np.intp) for sign, places in found.items() if places}
    return there | {"code": words[0][(coded != 0) & (ends - starts <= 6)]}


def _sign(raw: bytes, place: int) -> str:
    """The name of the sign that stands here, if something may begin with it."""
    char = raw[place]
    before, after, second = _KINDS[raw[place - 1]], _KINDS[raw[place + 1]], _KINDS[raw[place + 2]]
    if raw[place + 1] != 32:
        second = 0
    match chr(char):
        case "@" | "#" as sign:
            return sign
        case "^":
            return "^" if before & _LETTER and after & _LETTER else ""
        case "'":
            return "'" if after & (_DIGIT | _LIKE_DIGIT) else ""
        case "(" | "+" as sign:
            return sign if (after | (second if sign == "(" else 0)) & _DIGIT else ""
        case ":":
            return "hex" if before & _HEX and (after & _HEX or raw[place + 1] == 58) else ""
        case "|":
            return "ocr" if after & (_LIKE_DIGIT | _DIGIT) and not before & (_LETTER | _DIGIT) else ""
        case "/" if raw[place + 1] == 47 and raw[place - 1] == 58:
            return "//"
        case _:
            return "[" if (after | second) & _LOWER else ""


def _separators(text: _Text) -> list[int]:
    """What may part a field's name from its value: ":", "=", tab, pipe, ">>", dot leaders, two blanks or more."""
    codes, before, after = text.at(0), text.at(-1), text.at(1)
    single = text.are(_SEPARATES)
    dots = (codes == 46) & (after == 46) & (before != 46)
    gap = (codes == 32) & (after == 32) & (before != 32) & (before != 10)
    return _places((single | dots | gap) & ~text.are(_SEPARATES, -1))


def _key(word: str) -> int:
    """The number of a word's first four letters."""
    key = 0
    for char in word[:4].ljust(4):
        key = key * 32 + (ord(char) & 31 if char.isalpha() else 0)
    return key


@dataclass(frozen=True, slots=True)
class _Digits:
    """Which of some patterns can match at a run of digits, by the two characters before it, its length and the two
    characters behind it: a bit a pattern."""

    patterns: tuple[Pattern, ...]
    before: NDArray[np.uint64]
    behind: NDArray[np.uint64]

    @classmethod
    def of(cls, patterns: Sequence[Pattern]) -> "_Digits":
        behind = np.zeros((_RUN + 1, 128, 128), dtype=np.uint64)
        every = [_openings(pattern) for pattern in patterns]
        for number, openings in enumerate(every):
            bit = np.uint64(1 << number)
            if openings is None:
                behind |= bit
                continue
            state = openings.start
            for run in range(1, 3 * _RUN):
                state = openings.step(state, _DIGITS)
                for chars, then in openings.ways(state, ALL & ~_DIGITS):
                    behind[np.ix_([min(run, _RUN)], _chars(chars), _chars(openings.next(then)))] |= bit
        return cls(tuple(patterns), _befores(every), behind)

    def places(self, text: _Text) -> Iterator[tuple[int, Pattern]]:
        """The runs at which a pattern is worth a try."""
        digit = text.kinds[_MARGIN - 1 : -_MARGIN + 1] & _DIGIT
        starts = np.flatnonzero(digit[1:] > digit[:-1])
        ends = np.flatnonzero(digit[1:] < digit[:-1])
        codes = text.codes
        masks = self.before[codes[starts + (_MARGIN - 1)], codes[starts + (_MARGIN - 2)]]
        masks &= self.behind[np.minimum(ends - starts, _RUN), codes[ends + _MARGIN], codes[ends + (_MARGIN + 1)]]
        return _worth(self.patterns, starts, masks)


@dataclass(frozen=True, slots=True)
class _Signs:
    """Which of some patterns can match at a sign, by the two characters before it and the first two of the match."""

    patterns: tuple[Pattern, ...]
    before: NDArray[np.uint64]
    ahead: NDArray[np.uint64]

    @classmethod
    def of(cls, patterns: Sequence[Pattern]) -> "_Signs":
        every = [_openings(pattern) for pattern in patterns]
        ahead = [_ANYTHING if openings is None else openings.ahead(openings.start) for openings in every]
        return cls(tuple(patterns), _befores(every), _of_pairs(ahead))

    def places(self, text: _Text, places: _Places) -> Iterator[tuple[int, Pattern]]:
        """The places at which a pattern is worth a try."""
        codes, places = text.codes, places + _MARGIN
        masks = self.before[codes[places - 1], codes[places - 2]] & self.ahead[codes[places], codes[places + 1]]
        return _worth(self.patterns, places - _MARGIN, masks)


def _blocks(patterns: Sequence[Pattern]) -> Iterator[Sequence[Pattern]]:
    return (patterns[first : first + _BLOCK] for first in range(0, len(patterns), _BLOCK))


def _worth(patterns: Sequence[Pattern], places: _Places, masks: NDArray[np.uint64]) -> Iterator[tuple[int, Pattern]]:
    worth = np.flatnonzero(masks)
    for place, mask in zip(places[worth].tolist(), masks[worth].tolist(), strict=True):
        while mask:
            lowest = mask & -mask
            yield place, patterns[lowest.bit_length() - 1]
            mask ^= lowest


_ANYTHING: Pairs = (ALL,) * 128


def _befores(every: Sequence[Openings | None]) -> NDArray[np.uint64]:
    return _of_pairs([_ANYTHING if openings is None else openings.before for openings in every])


def _of_pairs(pairs: Sequence[Pairs]) -> NDArray[np.uint64]:
    """Pairs of characters, a bit a pattern."""
    table = np.zeros((128, 128), dtype=np.uint64)
    for number, admitted in enumerate(pairs):
        packed = b"".join(others.to_bytes(16, "little") for others in admitted)
        rows = np.unpackbits(np.frombuffer(packed, dtype=np.uint8), bitorder="little").reshape(128, 128)
        table |= rows.astype(np.uint64) << np.uint64(number)
    return table


def _openings(pattern: Pattern) -> Openings | None:
    """How matches begin at the trigger, where that is known."""
    regex = pattern.at if pattern.back else pattern.regex
    return None if regex is None else Openings.of(regex, None if pattern.back else pattern.after)


class _Words(dict[str, tuple[tuple[Pattern, Pairs, Pairs], ...]]):
    """The patterns that wait for a word as it is written, each with what may stand before and behind the word."""

    def __init__(self, by_word: Mapping[str, Sequence[Pattern]]) -> None:
        super().__init__()
        self.by_word = by_word
        self._openings: dict[str, Openings | None] = {}  # by the pattern's name, worked out when a word asks for it
        self._met: dict[Pairs, Pairs] = {}  # so that those that are equal are one

    def __missing__(self, word: str) -> tuple[tuple[Pattern, Pairs, Pairs], ...]:
        found = tuple(self._admitted(word))
        if len(self) < _KEPT:
            self[word] = found
        return found

    def _admitted(self, word: str) -> Iterator[tuple[Pattern, Pairs, Pairs]]:
        for pattern in self.by_word.get(word.lower(), ()):
            if pattern.name not in self._openings:
                self._openings[pattern.name] = _openings(pattern)
            openings = self._openings[pattern.name]
            if openings is None:
                yield pattern, _ANYTHING, _ANYTHING
                continue
            state = openings.start
            for char in word:
                state = openings.step(state, 1 << ord(char))
            if state:
                ahead = openings.ahead(state)
                yield pattern, openings.before, self._met.setdefault(ahead, ahead)


@dataclass(frozen=True, slots=True)
class _Index:
    """The patterns by their triggers."""

    by_sign: Mapping[str, tuple[_Signs, ...]]
    digits: tuple[_Digits, ...]
    words: _Words
    everywhere: tuple[Pattern, ...]
    waited_for: NDArray[np.bool_]  # by the first four letters of a word
    fields: Mapping[str, tuple[Field, ...]]
    last_words: frozenset[str]  # of the fields' names

    @classmethod
    def of(cls, rules: Rules) -> "_Index":
        found = rules.patterns
        by_word: dict[str, list[Pattern]] = {}
        by_sign: dict[str, list[Pattern]] = {}
        for pattern in found:
            for trigger in dict.fromkeys(pattern.on):
                (by_sign if trigger in SIGNS else by_word).setdefault(trigger, []).append(pattern)
        waited_for = np.zeros(32**4, dtype=np.bool_)
        waited_for[[_key(word) for word in by_word]] = True
        digit = by_sign.pop("digit", [])
        return cls(
            {sign: tuple(map(_Signs.of, _blocks(row))) for sign, row in by_sign.items()},
            tuple(map(_Digits.of, _blocks(digit))),
            _Words(by_word),
            tuple(pattern for pattern in found if not pattern.on),
            waited_for,
            rules.fields,
            frozenset(name.split()[-1] for name in rules.fields),
        )

    def tries(self, text: str, seen: _Text) -> Iterator[tuple[int, Pattern]]:
        """The places at which a pattern is worth a try."""
        for digits in self.digits:
            yield from digits.places(seen)
        words = _words(seen)
        for sign, places in _signs(seen, words).items():
            for block in self.by_sign.get(sign, ()):
                yield from block.places(seen, places)
        codes, known = seen.raw, self.words
        for start, end in self._waited(seen, *words):
            for pattern, before, behind in known[text[start:end]]:
                place, stop = start + _MARGIN, end + _MARGIN
                if behind[codes[stop]] >> codes[stop + 1] & 1 and before[codes[place - 1]] >> codes[place - 2] & 1:
                    yield start, pattern

    def _waited(self, seen: _Text, starts: _Places, ends: _Places) -> Iterator[tuple[int, int]]:
        """The words whose first four letters are some trigger's."""
        numbers = np.frombuffer(seen.raw.translate(_LETTER_NUMBERS), dtype=np.uint8)
        last = numbers[starts + _MARGIN]
        key = last.astype(np.int32)
        for place in range(1, 4):
            last = numbers[starts + (_MARGIN + place)] * (last != 0)
            key <<= 5
            key |= last
        wanted = self.waited_for[key]
        # the key of a short word with another glued behind it runs on into that
        wanted |= (ends - starts < 4) & (numbers[ends + _MARGIN] != 0)
        return zip(starts[wanted].tolist(), ends[wanted].tolist(), strict=True)


# --- detecting -------------------------------------------------------------------------------------------------------

Found = tuple[int, int, Label]
_CITY = lexicons.Kind.CITY
_PLACE_WORD = re.compile(r"[A-Za-z][\w.'-]{0,30}")
_CREDENTIALS = {
    "MD",
    "PA",
    "MA",
    "MS",
    "DC",
    "DO",
    "PE",
    "MI",
    "MB",
    "SC",
    "ND",
    "CT",
    "GU",
    "VA",
    "CA",
    "BC",
    "NS",
    "NB",
}  # also behind a person's name
_SMALL_WORDS = {"IN", "OR", "ON", "ME", "HI", "OK", "AS", "OH", "LA", "DE", "AL", "ID", "CO"}


def _city(match: re.Match[str], start: int, end: int) -> tuple[int, int] | None:
    """The part of "… Medical Center, Omaha" before a state that is a city: the longest known name at the end of the
    words, or what stands alone after a comma or at the beginning of a line. A state's code that is a credential or
    a word too wants a known city or a ZIP code."""
    text = match.string
    words = [(start + found.start(), start + found.end()) for found in _PLACE_WORD.finditer(text[start:end])]
    state, coded = match["STATE"], match["ZIP"] is not None
    comma = "," in text[end : match.start("STATE")]
    for first, _ in words:
        if lexicons.phrases().get(text[first:end]) & _CITY:
            whole = first == start
            if coded or state not in _CREDENTIALS | _SMALL_WORDS:
                return first, end
            if state in _CREDENTIALS:
                return (first, end) if whole and not _after_name(text, first) else None
            return (first, end) if comma or not text[first:end].isupper() else None
    if state in _CREDENTIALS | _SMALL_WORDS and not coded:
        return None
    before = text[:start].rstrip(" ")[-1:] if start else "\n"
    alone = before in (",", "\n", "|", "\t", "-", "*", ";", "(", ":", "") and len(words) <= 3
    return (start, end) if words and ((alone and comma and not _everyday(text[start:end])) or coded) else None


def _after_name(text: str, start: int) -> bool:
    """Whether the word before is a title, an initial, or a name: "Dr. Long, MD"."""
    before = _PLACE_WORD.findall(text[max(0, start - CONTEXT) : start])
    if not before or text[:start].rstrip(" ")[-1:] in (",", "\n", ":", ";", "|", ")"):
        return False
    return before[-1].strip(".").lower() in ("dr", "mr", "mrs", "ms") or before[-1][0].isupper()


def _known_city(match: re.Match[str], start: int, end: int) -> tuple[int, int] | None:
    """The longest part of the words, up to their end, that is a city."""
    text = match.string
    for found in _PLACE_WORD.finditer(text[start:end]):
        first = start + found.start()
        if lexicons.phrases().get(text[first:end]) & _CITY:
            return first, end
    return None


def _given_name(match: re.Match[str], start: int, end: int) -> tuple[int, int] | None:
    """Words of which one is a first name."""
    rows = [lexicons.words().get(word) for word in _PLACE_WORD.findall(match.string[start:end].replace("^", " "))]
    return (start, end) if any(row.female + row.male > 500 and not row.clinical for row in rows) else None


_PARTED_WORD = re.compile(r"(?<=[A-Za-z])-\n[ ]{0,20}(?=[a-z])")  # "Moor-" at a line's end, "head" on the next


def _behind_city(match: re.Match[str], start: int, end: int) -> tuple[int, int] | None:
    """A number whose one to three words before it, on its line or the line above, are a city, if parted by a hyphen."""
    text = match.string
    before = _PARTED_WORD.sub("", text[max(0, start - CONTEXT) : start].rstrip(" ,-/\n."))
    words = [found.start() for found in _PLACE_WORD.finditer(before)]
    place = _CITY | lexicons.Kind.STATE
    known = any(lexicons.phrases().get(before[first:]) & place for first in words[-3:])
    return (start, end) if known else None


def _behind_name(match: re.Match[str], start: int, end: int) -> tuple[int, int] | None:
    """A number whose word before it is rather a person's name than anything else."""
    text = match.string
    words = _PLACE_WORD.findall(text[max(0, start - CONTEXT) : start])
    if not words:
        return None
    word = words[-1].strip(".'")
    if len(word) < 3:
        return None
    rows = [lexicons.words().get(part) for part in word.split("-")]
    known = any(row.name * 3 > row.english and not row.clinical for row in rows)
    unheard = word[0].isupper() and not any(row.english or row.clinical for row in rows)
    return (start, end) if known or unheard else None


def _no_word(match: re.Match[str], start: int, end: int) -> tuple[int, int] | None:
    """A user name is no word of English, nor a common name written small."""
    row = lexicons.words().get(match.string[start:end])
    return None if row.lower > 200 or row.clinical else (start, end)


_Check = Callable[[re.Match[str], int, int], tuple[int, int] | None]
CHECKS: Mapping[str, _Check] = MappingProxyType(
    {
        "city": _city,
        "known-city": _known_city,
        "behind-city": _behind_city,
        "given-name": _given_name,
        "behind-name": _behind_name,
        "no-word": _no_word,
    }
)


def _spans(pattern: Pattern, match: re.Match[str]) -> Iterator[Found]:
    groups = pattern.regex.groupindex
    named = False
    for group in groups:
        if match.start(group) >= 0 and (group == "phi" or group.isupper()):
            named = True
            yield *match.span(group), pattern.label if group == "phi" else labels.parse(group)
    if not named:
        yield *match.span(), pattern.label


def spans_of(pattern: Pattern, text: str, match: re.Match[str]) -> list[Found]:
    """The spans of a match, if it stands where it may and its check holds."""
    start = match.start()
    begin = max(0, start - CONTEXT)
    if pattern.after is not None and pattern.after.search(text, begin, start) is None:
        return []
    if pattern.unless is not None and pattern.unless.search(text, begin, start) is not None:
        return []
    spans: list[Found] = []
    for start, end, label in _spans(pattern, match):
        held: tuple[int, int] | None = (start, end)
        if pattern.check and label is pattern.label:
            held = CHECKS[pattern.check](match, start, end)
        if held is None:
            return []
        if held[0] < held[1]:
            spans.append((*held, label))
    return spans


def _back(pattern: Pattern, text: str, place: int) -> re.Match[str] | None:
    """The match around a trigger that begins at most `back` characters before it."""
    if pattern.at is not None and pattern.at.match(text, place) is None:
        return None
    for match in pattern.regex.finditer(text, max(0, place - pattern.back), place + 2 * CONTEXT):
        if match.start() > place:
            return None
        if match.end() > place:
            return match
    return None


def tries(text: str, index: _Index | None = None) -> Iterator[tuple[int, Pattern]]:
    """The places of a plain text at which a pattern is tried."""
    return (index or _indexed(())).tries(text, _Text(text))


def found(text: str, index: _Index) -> Iterator[Span]:
    """What the patterns and the fields of an index find, in no order."""
    text = plain(text)
    seen = _Text(text)
    for place, pattern in index.tries(text, seen):
        match = _back(pattern, text, place) if pattern.back else pattern.regex.match(text, place)
        if match is not None:
            yield from _made(pattern, spans_of(pattern, text, match))
    for pattern in index.everywhere:
        for match in pattern.regex.finditer(text):
            yield from _made(pattern, spans_of(pattern, text, match))
    for start, end, label in in_fields(text, _separators(seen), index):
        yield Span(start, end, label, "patterns:field", 0.92)


def _made(pattern: Pattern, spans: Iterable[Found]) -> Iterator[Span]:
    for start, end, label in spans:
        yield Span(start, end, label, f"patterns:{pattern.name}", pattern.score)


@dataclass(frozen=True, slots=True)
class Patterns:
    """The detector; `extra` are pattern files of the user's own."""

    extra: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        return "patterns"

    def detect(self, doc: Document) -> Iterator[Span]:
        """The spans by their beginnings; they may overlap, but none lies within another of the same pattern."""
        reached: dict[tuple[str, Label], int] = {}
        for span in sorted(found(mended(doc.text), _indexed(self.extra)), key=lambda span: (span.start, -span.end)):
            if reached.get((span.source, span.label), 0) < span.end:
                reached[span.source, span.label] = span.end
                yield span

    def why(self, span: Span) -> str:
        wanted = span.source.partition(":")[2]
        known = {pattern.name: pattern.looks_for for pattern in _rules(self.extra).patterns}
        return known.get(wanted, "the value of a field whose name says what it holds")


@cache
def _rules(extra: tuple[Path, ...]) -> Rules:
    return load(extra) if extra else rules()


@cache
def _indexed(extra: tuple[Path, ...]) -> _Index:
    return _Index.of(_rules(extra))


def detector(*, patterns: Iterable[str] = ()) -> Patterns:
    """The detector; `patterns` names files of the user's own, which are read, and refused, at once."""
    extra = tuple(Path(path) for path in patterns)
    _rules(extra)
    return Patterns(extra)


# --- fields ----------------------------------------------------------------------------------------------------------

_NAME_WIDTH = 44  # characters of the longest field name that is looked for
_NAME_WORDS = 5
_FIELD_WORD = re.compile(r"[a-z0-9]{1,20}")
_LAST_WIDTH = 24
_LAST_WORD = re.compile(r"[A-Za-z0-9]{1,20}+(?=[^A-Za-z0-9]{0,10}\Z)")
_CUT = re.compile(r"[\n\t|;:=>]|[ ]{2}|[.]{2}|[ ]-[ ]")
_SKIP = re.compile(r"[ \t.:=>|\]\[*_-]{0,60}+(?:\n[ \t]{0,20}+)?")
_SKIP_GAP = re.compile(r"[ ]{2,60}+")
# A value ends at the next field, two blanks, a tab, a pipe or the end of the line.
_END = re.compile(
    r"\n|\t|\||;|[ ]{2}|[ ]-[ ]|[ ]/[ ]|,?[ ](?=[A-Z][A-Za-z.#]{0,14}(?:[ ](?:[A-Za-z]{1,12}|\#)){0,2}[ ]?[:=])"
)
_LONGEST_VALUE = 90


_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")


def _field_key(name: str) -> str:
    """ "Patient's Name" and "PatientName" → "patient name" """
    name = _HUMP.sub(" ", name) if " " not in name else name
    return " ".join(_FIELD_WORD.findall(name.lower().replace("'s", "").replace(".", "")))


def in_fields(text: str, separators: Iterable[int], index: "_Index") -> Iterator[Found]:
    """The values of the fields whose names are known, and of the columns under a heading of such names."""
    known, last_words = index.fields, index.last_words
    for place in separators:
        last = _LAST_WORD.search(text, max(0, place - _LAST_WIDTH), place)
        if last is None or last[0].lower() not in last_words:
            continue
        gap = text[place] == " "
        name = text[max(0, place - _NAME_WIDTH) : place].rstrip(" .")
        cut = 0
        for match in _CUT.finditer(name):
            cut = match.end()
        words = _field_key(name[cut:]).split()
        if not words or len(words) > 12 or (len(name[cut:].strip()) == 1 and text[place] not in ":="):
            continue  # "F|" is the sex, "F:" may be the fax
        # a gap, tab or pipe ends only a name that fills its cell; a colon also one at the end of a sentence
        options = range(max(0, len(words) - _NAME_WORDS), len(words)) if text[place] in ":=." else (0,)
        for first in options:
            named = known.get(" ".join(words[first:]))
            if named is not None:
                for field in named:
                    yield from _value(text, place, field, gap=gap)
                break
    yield from _in_columns(text, known)


def _value(text: str, place: int, field: Field, *, gap: bool) -> Iterator[Found]:
    skipped = (_SKIP_GAP if gap else _SKIP).match(text, place)
    if skipped is None:
        return
    start = skipped.end()
    limit = min(len(text), start + _LONGEST_VALUE)
    stop = _END.search(text, start, limit)
    end = stop.start() if stop is not None else limit
    yield from _read_value(text, start, end, field)


def _read_value(text: str, start: int, end: int, field: Field, *, sure: bool = False) -> Iterator[Found]:
    """The value of a field; `sure` where it stands in a table, under the names of several fields."""
    match = field.value.match(text, start, end)
    if match is not None:
        group = "phi" if "phi" in field.value.groupindex and match.start("phi") >= 0 else 0
        span = match.span(group)
        name = field.label in (Label.PATIENT, Label.DOCTOR)
        tail = _GLUED_TAIL.search(text, *span) if name else None
        if tail is not None:
            span = span[0], tail.start()
        told = sure and text[span[0]].isupper()
        if sure and text[span[1] : span[1] + 1] == ":":
            return
        if span[0] < span[1] and (told or not (name and _everyday(text[span[0] : span[1]]))):
            yield *span, field.label


# The name of the next field, or a credential, glued to a name: "Fuqua, LelandMRN", "Dean R.MD"
_GLUED_TAIL = re.compile(
    r"(?<=[a-z.])(?:MRN|MR|DOB|Age|Sex|Marital|Middle|First|Last|Phone|Fax|Acct|Med|Rel|Status|Unit|Address|Home|"
    r"MD|DO|RN|NP|PA|PhD|LMSW|LICSW|LCSW|Attending|Printed|Signed|Date)(?![a-z])|(?<=[A-Z]{2})(?:Hosp|Med|Date)\b|"
    r"(?<=[A-Z]{3})(?:DOB|MRN)$"
)


def _everyday(words: str) -> bool:
    """Whether all the words are of everyday or of medicine: "Progressive memory loss" is nobody's name."""
    rows = [lexicons.words().get(word) for word in _PLACE_WORD.findall(words) if len(word) > 2]
    return bool(rows) and all(row.clinical and row.name * 5 < row.english for row in rows)


_Column = tuple[int, int, tuple[Field, ...]]  # where it stands in the heading, and what it holds
_CELL = re.compile(r"[^|\t\n]{1,200}+")
_CSV_CELL = re.compile(r'"[^"\n]{0,200}"|[^,\n"]{1,200}+|(?<=,)(?=,)')
_GAP_CELL = re.compile(r"\S{1,80}+(?:[ ]\S{1,80}+){0,12}+")
_NO_HEADING = re.compile(r"(?<![A-Za-z])[0-9]|[0-9][0-9]|:|\. ")  # values have digits, prose has sentences
_PARTED = re.compile(r"[|\t,]|[ ]{2}")
_ROWS = 200  # of a table under one heading


def _in_columns(text: str, known: Mapping[str, tuple[Field, ...]]) -> Iterator[Found]:
    """Under a line whose cells are names of fields, the cells of the lines that follow are their values."""
    place = 0
    heading: list[_Column] = []
    cell, rows = _CELL, 0
    for line in text.split("\n"):
        start, end = place, place + len(line)
        place = end + 1
        if _PARTED.search(line) is None or not line.strip():
            if heading and not line.strip(" |-+=_\t"):
                continue  # a rule, or a blank line, under the heading
            heading = []
            continue
        found_cell, found = _heading(text, start, end, known)
        if found:
            heading, cell, rows = found, found_cell, 0
        elif heading and rows < _ROWS:
            rows += 1
            yield from _row(text, start, end, heading, cell, known)


def _heading(
    text: str, start: int, end: int, known: Mapping[str, tuple[Field, ...]]
) -> tuple[re.Pattern[str], list[_Column]]:
    """The cells of a heading with their fields; at least two are known, and none looks like a value."""
    line = text[start:end]
    cell = _CELL if ("|" in line or "\t" in line) else _GAP_CELL if "  " in line.strip() else _CSV_CELL
    if len(line) > 400 or _NO_HEADING.search(line) is not None:
        return cell, []
    cells = [(match.start(), match.end()) for match in cell.finditer(text, start, end)]
    heading: list[_Column] = []
    for first, last in cells:
        named = known.get(_field_key(text[first:last]), ())
        heading.append((first - start, last - start, tuple(field for field in named if field.row)))
    held = [bool(named) for _, _, named in heading]
    others = sum(_field_key(text[first:last]) in known for first, last in cells) - sum(held)
    # "name|value|name|value" is no heading
    beside = any(left and right for left, right in pairwise(held))
    enough = sum(held) >= 2 and (beside or sum(held) * 2 > len(held))
    return cell, heading if enough or (sum(held) and others >= 2) else []


def _row(
    text: str,
    start: int,
    end: int,
    heading: list[_Column],
    cell: re.Pattern[str],
    known: Mapping[str, tuple[Field, ...]],
) -> Iterator[Found]:
    cells = [(match.start(), match.end()) for match in cell.finditer(text, start, end)]
    sure = sum(bool(named) for _, _, named in heading) > 2
    if sum(_field_key(text[first:last]) in known for first, last in cells) > 1:
        return  # another heading
    if cell is _GAP_CELL:  # a cell belongs to the name above it
        for first, last in cells:
            above = [named for left, right, named in heading if left < last - start and first - start < right]
            if len(above) == 1:
                for field in above[0]:
                    yield from _read_value(text, first, last, field, sure=sure)
        return
    for (first, last), (_, _, named) in zip(cells, heading, strict=False):
        if not sure and _field_key(text[first:last]) in known:
            continue  # a name beside its value under what looked like a heading
        inner = first + len(text[first:last]) - len(text[first:last].lstrip(' "'))
        for field in named:
            yield from _read_value(text, inner, last, field, sure=sure)
