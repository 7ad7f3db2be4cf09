"""The language of layouts and banks: text with slots, choices and inclusions.

Dr. {doctor.full}{, {cred}|} called {on {date.weekday}|at {time}}.        slots, and choices between options
- <plan 2-4 lines>                                                        two to four lines of the bank `plan`
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from deident.errors import FormatError

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
        if text[at] == "{":
            flush()
            node, at = _braces(text, at + 1)
            nodes.append(node)
        elif text[at] == "<" and (match := _INCLUDE.match(text, at)):
            flush()
            least = int(match["least"])
            most = int(match["most"] or least)
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
    """A skeleton: its noise orders, and its lines."""

    name: str
    orders: tuple[str, ...]
    lines: tuple[Template, ...]


def _layout(name: str, text: str) -> Layout:
    lines = text.splitlines()
    orders: list[str] = []
    while lines and lines[0].startswith("%"):
        orders.append(lines.pop(0)[1:].strip())
    return Layout(name, tuple(orders), tuple(_line(line) for line in lines))


def _line(line: str) -> Template:
    """A line whose bullet goes to each line of an inclusion that stands behind it alone."""
    match = _BULLET.match(line)
    if match and match["prefix"] and (whole := _INCLUDE.fullmatch(line, match.end())) and whole["lines"]:
        (node,) = parse(whole[0])
        assert isinstance(node, Include)
        return (Include(node.bank, node.least, node.most, node.lines, match["prefix"]),)
    return parse(line)


@cache
def layouts() -> tuple[Layout, ...]:
    found = sorted((ROOM / "layouts").iterdir(), key=lambda file: file.name)
    return tuple(_layout(file.name.removesuffix(".txt"), file.read_text(encoding="utf-8")) for file in found)


@cache
def banks() -> Mapping[str, tuple[Template, ...]]:
    found = sorted((ROOM / "banks").iterdir(), key=lambda file: file.name)
    return {
        file.name.removesuffix(".txt"): tuple(
            parse(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()
        )
        for file in found
    }
