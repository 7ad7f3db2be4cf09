"""What an experiment comes to: tables, figures, sentences; as Markdown, JSON and SVG."""

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from deident.evaluate import plots
from deident.experiments._lab import Lab

Value = str | int | float | None
PAPER = "paper "  # what stands before the heading of a column with the paper's own figures


@dataclass(frozen=True, slots=True)
class Table:
    """A table; a figure of the paper stands in a column whose heading begins with `PAPER`."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    title: str = ""

    def markdown(self) -> list[str]:
        lines = [f"### {self.title}", ""] if self.title else []
        lines.append(f"| {' | '.join(self.heads)} |")
        lines.append("|---" + "|---:" * (len(self.heads) - 1) + "|")
        return [*lines, *(f"| {' | '.join(map(shown, row))} |" for row in self.rows), ""]

    def to_json(self) -> dict[str, Any]:
        return {"title": self.title, "heads": list(self.heads), "rows": [list(row) for row in self.rows]}


@dataclass(frozen=True, slots=True)
class Result:
    """said: sentences about the tables, the caption's first. figures: SVG by name; paper: what its data was."""

    tables: tuple[Table, ...] = ()
    said: tuple[str, ...] = ()
    figures: Mapping[str, str] = field(default_factory=dict[str, str])
    paper: str = ""


Work = Callable[[Lab], Result]


@dataclass(frozen=True, slots=True)
class Experiment:
    """One table or figure: its name, what it shows, and how it is made."""

    name: str
    title: str
    work: Work


def experiment(title: str) -> Callable[[Work], Experiment]:
    """Makes an experiment of a function; its name is that of its module with the function's behind it."""

    def made(work: Work) -> Experiment:
        name = f"{work.__module__.rpartition('.')[2]}-{work.__name__}".replace("_", "-")
        return Experiment(name, title, work)

    return made


def shown(value: Value) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return "–" if value != value else f"{value:.4f}"
    return str(value)


def bars(heads: Sequence[str], rows: Mapping[str, Sequence[float]], *, title: str) -> str:
    """Shares as bars: one row a name, one column a heading."""
    columns = [
        (head, [plots.Bar(row[at], f"{row[at]:.3f}", "") for row in rows.values()]) for at, head in enumerate(heads)
    ]
    return plots.standalone(plots.bars(list(rows), columns, title=title))


def named(rows: Mapping[str, Iterable[Value]]) -> tuple[tuple[Value, ...], ...]:
    """The rows of a table, each with its name before it."""
    return tuple((name, *row) for name, row in rows.items())


# --- the papers' own figures -----------------------------------------------------------------------------------------


@cache
def _published() -> Mapping[str, Any]:
    text = files("deident.experiments").joinpath("published.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def published(name: str) -> tuple[str, tuple[str, ...], Mapping[str, tuple[Value, ...]]]:
    """What data a table of a paper is on, its headings, its rows; names as in `published.toml`."""
    held = _published()[name]
    rows = {row: tuple(None if value == "" else value for value in values) for row, values in held["rows"].items()}
    return held["data"], tuple(held["heads"]), rows


def beside(
    name: str, heads: Sequence[str], rows: Mapping[str, Iterable[Value]], *, title: str = ""
) -> tuple[Table, str]:
    """Our rows with the paper's beside them where it has one of that name; and what the paper's data was."""
    data, theirs, known = published(name)
    nothing = (None,) * len(theirs)
    made = [(row, *values, *known.get(row, nothing)) for row, values in rows.items()]
    made += [(row, *(None,) * (len(heads) - 1), *values) for row, values in known.items() if row not in rows]
    return Table((*heads, *(PAPER + head for head in theirs)), tuple(made), title), data


def to_markdown(made: Experiment, result: Result, facts: Mapping[str, Any]) -> str:
    lines = [f"# {made.name}: {made.title}", ""]
    for sentence in result.said:
        lines += [sentence, ""]
    for table in result.tables:
        lines += table.markdown()
    for name in result.figures:
        lines += [f"![{made.title}]({name}.svg)", ""]
    if result.paper:
        lines += [f'Columns headed "paper" are the paper\'s own figures, measured on other data: {result.paper}.', ""]
    lines += [f"`deident experiment run {made.name}`: {_facts(facts)}", ""]
    return "\n".join(lines)


def _facts(facts: Mapping[str, Any]) -> str:
    sizes = ", ".join(f"{name} {size}" for name, size in facts["sizes"].items())
    notes = ", ".join(f"{name} {count}" for name, count in facts["notes"].items())
    return (
        f"corpus {facts['data']} {facts['corpus'][:16]} (notes: {notes}); seed {facts['seed']}; sizes: {sizes}; "
        f"{facts['seconds']} s of processor time, {facts['memory_mb']} MB at most, deident {facts['version']}, "
        f"{facts['date']}"
    )


def to_json(made: Experiment, result: Result, facts: Mapping[str, Any]) -> str:
    held = {
        "name": made.name,
        "title": made.title,
        "said": list(result.said),
        "tables": [table.to_json() for table in result.tables],
        "figures": list(result.figures),
        "paper": result.paper,
        **facts,
    }
    return json.dumps(held, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
