"""The language of layouts and banks: text with slots, choices and inclusions.

Dr. {doctor.full}{, {cred}|} called {on {date.weekday}|at {time}}.        slots, and choices between options
- <plan 2-4 lines>                                                        two to four lines of the bank `plan`
\\{"id": "{mrn}"\\}                                                          braces that are braces

A layout may begin with orders: `%caps`, `%wrap 66` … (its noise), `%home uk` (the country it comes from).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from deident.errors import FormatError, UsageError

ROOM = files("deident.corpus") / "data" / "synthetic"


@dataclass(frozen=True, slots=True)
class Slot:
    name: str


@dataclass(frozen=True, slots=True)
class Choice:
    options: tuple["Template", ...]


@dataclass(frozen=True, slots=True)
class Include:
    """So many lines of a bank; `prefix` is repeated before each where they stand on lines of their own."""

    bank: str
    least: int
    most: int
    lines: bool
    prefix: str = ""


Node = str | Slot | Choice | Include
Template = tuple[Node, ...]

_INCLUDE = re.compile(r"<(?P<bank>[a-z_]+) (?P<least>\d+)(?:-(?P<most>\d+))?(?P<lines> lines)?>")
_BULLET = re.compile(r"(?P<prefix>[ \t]*(?:[-*•·>+]|\d{1,2}[.)])?[ \t]*)(?=<)")


def parse(text: str) -> Template:
    """A template as nodes: `"Dr. {doctor}{, {cred}|}"` → a text, a slot, a choice of two."""
    nodes, rest = _parse(text, 0, closing="")
    if rest != len(text):
        raise FormatError(f"a brace at offset {rest} that closes nothing")
    return nodes


def _parse(text: str, start: int, *, closing: str) -> tuple[Template, int]:
    nodes: list[Node] = []
    plain: list[str] = []
    at = start

    def flush() -> None:
        if plain:
            nodes.append("".join(plain))
            plain.clear()

    while at < len(text) and text[at] not in closing and text[at] != "}":
        if text[at : at + 2] in ("\\{", "\\}"):
            plain.append(text[at + 1])
            at += 2
        elif text[at] == "{":
            flush()
            node, at = _braces(text, at + 1)
            nodes.append(node)
        elif text[at] == "<" and (match := _INCLUDE.match(text, at)):
            flush()
            least = int(match["least"])
            most = int(match["most"] or least)
            if most < least:
                raise FormatError(f"an inclusion of {least} to {most} lines")
            nodes.append(Include(match["bank"], least, most, match["lines"] is not None))
            at = match.end()
        else:
            plain.append(text[at])
            at += 1
    flush()
    return tuple(nodes), at


_SLOT = re.compile(r"[A-Za-z0-9.]+(?=\})")


def _braces(text: str, at: int) -> tuple[Node, int]:
    """What stands behind an opening brace: a slot's name, or options parted by bars."""
    match = _SLOT.match(text, at)
    if match:
        return Slot(match[0]), match.end() + 1
    options: list[Template] = []
    while True:
        option, at = _parse(text, at, closing="|")
        options.append(option)
        if at >= len(text):
            raise FormatError("a brace that is not closed")
        at += 1
        if text[at - 1] == "}":
            return Choice(tuple(options)), at


@dataclass(frozen=True, slots=True)
class Layout:
    """A skeleton: its noise orders, the country it comes from if not the US, and its lines."""

    name: str
    orders: tuple[str, ...]
    lines: tuple[Template, ...]
    home: str | None = None


ORDERS = frozenset({
    "caps", "lower", "swapcase", "upnames", "lownames", "glue", "typos", "ocr", "nopunct", "blanks", "tabs", "hyphens",
    "smart", "nbsp", "crlf", "wrap",
})  # fmt: skip
HOMES = ("uk", "ireland", "canada", "australia", "india", "nigeria")  # sections of values.toml


def layout(name: str, text: str) -> Layout:
    """A layout from its file; whatever is wrong in it is told with file and line."""
    orders: list[str] = []
    home: str | None = None
    templates: list[Template] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("%") or templates:
            templates.append(_read(_line, line, f"layouts/{name}.txt", number))
            continue
        kind, _, value = line[1:].strip().partition(" ")
        if kind == "home" and value in HOMES:
            home = value
        elif kind in ORDERS and bool(value) == (kind == "wrap"):
            orders.append(f"{kind} {value}".rstrip())
        else:
            raise FormatError(f"layouts/{name}.txt: an order {line} that does not exist", line=number)
    return Layout(name, tuple(orders), tuple(templates), home)


def _read(how: Callable[[str], Template], line: str, file: str, number: int) -> Template:
    try:
        return how(line)
    except FormatError as error:
        raise FormatError(f"{file}: {error.reason}", line=number) from None


def _line(line: str) -> Template:
    """A line whose bullet goes to each line of an inclusion that stands behind it alone."""
    match = _BULLET.match(line)
    if match and match["prefix"] and (whole := _INCLUDE.fullmatch(line, match.end())) and whole["lines"]:
        (node,) = parse(whole[0])
        assert isinstance(node, Include)
        return (Include(node.bank, node.least, node.most, node.lines, match["prefix"]),)
    return parse(line)


def bank(name: str, text: str) -> tuple[Template, ...]:
    """A bank from its file: a template a line, empty lines left out."""
    lines = enumerate(text.splitlines(), 1)
    return tuple(_read(parse, line, f"banks/{name}.txt", number) for number, line in lines if line.strip())


def _texts(folder: str) -> Iterator[tuple[str, str]]:
    found = ROOM / folder
    if not found.is_dir():
        raise UsageError(f"the corpus folder synthetic/{folder} is missing from the installation")
    for file in sorted(found.iterdir(), key=lambda file: file.name):
        yield file.name.removesuffix(".txt"), file.read_text(encoding="utf-8")


@cache
def layouts() -> tuple[Layout, ...]:
    return tuple(layout(name, text) for name, text in _texts("layouts"))


@cache
def banks() -> Mapping[str, tuple[Template, ...]]:
    return {name: bank(name, text) for name, text in _texts("banks")}
