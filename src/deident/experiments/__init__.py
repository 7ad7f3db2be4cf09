"""The tables and figures of the five papers, each one function, run anew on notes that anyone can have.

    thesis        Tafvizi 2011, a heterogeneous feature set          wideid        He 2015, WI-deId
    scrubber      Kayaalp 2013, NLM Scrubber                         dernoncourt   Dernoncourt 2017, BiLSTM-CRF
    uthealth      Lee 2017, the hybrid for psychiatric notes         systems       every system, side by side

A module of this room is a paper; what `experiment` decorates in it is a table or a figure, known as MODULE-FUNCTION.
`docs/experiments.md` tells how to run them, and where our notes contradict the papers.
"""

import json
import platform
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from deident import __version__, plugins
from deident.batch import replacing
from deident.errors import DeidentError, UnknownNameError
from deident.experiments._lab import FAST, FULL, Data, Lab, Sizes
from deident.experiments._result import Experiment, Result, to_json, to_markdown

__all__ = ["FAST", "FULL", "Data", "Experiment", "Lab", "Outcome", "Sizes", "experiments", "index", "run"]


def experiments() -> dict[str, Experiment]:
    """All tables and figures by name, in the papers' order."""
    found: dict[str, Experiment] = {}
    for paper in plugins.names("experiments"):
        held: Iterable[object] = vars(plugins.load("experiments", paper)).values()
        found |= {value.name: value for value in held if isinstance(value, Experiment)}
    return found


def chosen(names: Iterable[str]) -> list[Experiment]:
    """The experiments of these names; "all" is all."""
    known = experiments()
    wanted = [name for given in names for name in (known if given == "all" else (given,))]
    for name in wanted:
        if name not in known:
            raise UnknownNameError("experiment", name, ("all", *known))
    return [known[name] for name in dict.fromkeys(wanted)]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an experiment: `reason` says why it was not run; `kept` that it was there already."""

    experiment: Experiment
    reason: str = ""
    kept: bool = False
    seconds: float = 0.0
    memory_mb: int = 0


def _silent(name: str) -> None:
    del name


def run(names: Iterable[str], lab: Lab, *, tell: Callable[[str], None] = _silent) -> Iterator[Outcome]:
    """Makes each table that the folder does not have, and writes NAME.md, NAME.json and the SVG of its figures."""
    for made in chosen(names):
        tell(made.name)
        yield _one(made, lab)


def _one(made: Experiment, lab: Lab) -> Outcome:
    page = lab.folder / f"{made.name}.json"
    held = _held(page)
    if held.get("key") == lab.key:
        return _kept(made, held)
    lab.remarks.clear()
    begin = time.process_time()
    try:
        result = made.work(lab)
    except DeidentError as error:
        return Outcome(made, str(error))
    except Exception as error:  # noqa: BLE001 (its message may quote a note; the other tables are made all the same)
        *_, last = traceback.extract_tb(error.__traceback__)
        where = f"{Path(last.filename).name}, line {last.lineno}"
        return Outcome(made, f"stopped by a {type(error).__name__} in {where}")
    outcome = Outcome(made, seconds=round(time.process_time() - begin, 1), memory_mb=_memory())
    _write(made, result, lab, outcome)
    return outcome


def _kept(made: Experiment, held: Mapping[str, Any]) -> Outcome:
    return Outcome(made, kept=True, seconds=held["seconds"], memory_mb=held["memory_mb"])


def _held(page: Path) -> dict[str, Any]:
    try:
        return json.loads(page.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}


def _memory() -> int:
    """The most that this process held so far, in megabytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit // 1_000_000


def _write(made: Experiment, result: Result, lab: Lab, outcome: Outcome) -> None:
    data = lab.data
    facts: dict[str, Any] = {
        "key": lab.key,
        "data": data.name,
        "corpus": data.hash,
        "notes": {part: len(getattr(data, part)) for part in ("train", "dev", "other", "test") if getattr(data, part)},
        "seed": lab.seed,
        "fast": lab.fast,
        "sizes": asdict(lab.sizes),
        "seconds": outcome.seconds,
        "memory_mb": outcome.memory_mb,
        "version": __version__,
        "python": platform.python_version(),
        "date": str(date.today()),
    }
    said = Result(result.tables, (*result.said, *lab.remarks), result.figures, result.paper)
    written: Mapping[str, str] = {
        **{f"{name}.svg": svg for name, svg in result.figures.items()},
        f"{made.name}.md": to_markdown(made, said, facts),
        f"{made.name}.json": to_json(made, said, facts),  # last: where it stands, the table is done
    }
    for name, text in written.items():
        with replacing(lab.folder / name) as stream:
            stream.write(text.encode("utf-8"))


def index(outcomes: Iterable[Outcome], lab: Lab) -> None:
    """Writes `index.md`: every table of the folder, what it took, and which were not run, and why."""
    done = {one.experiment.name: one for one in outcomes}
    for name, made in experiments().items():
        if name not in done and _held(page := lab.folder / f"{name}.json"):
            done[name] = _kept(made, _held(page))
    rows = [done[name] for name in experiments() if name in done]
    missing = sum(bool(one.reason) for one in rows)
    seconds, memory = sum(one.seconds for one in rows), max((one.memory_mb for one in rows), default=0)
    lines = [
        "# The papers, run anew",
        "",
        f"{len(rows) - missing} of {len(rows)} tables and figures; {seconds:.0f} s of processor time and {memory} MB "
        "at "
        f"most; corpus {lab.data.name} {lab.data.hash[:16]}, seed {lab.seed}, deident {__version__}. What a system "
        "found "
        "is kept, so the first table that asks for a system bears its cost.",
        "",
        "| | what | seconds | MB |",
        "|---|---|---:|---:|",
    ]
    for one in rows:
        name, title = one.experiment.name, one.experiment.title
        if one.reason:
            lines.append(f"| {name} | {title}: **not run**, {one.reason} | | |")
        else:
            lines.append(f"| [{name}]({name}.md) | {title} | {one.seconds} | {one.memory_mb} |")
    with replacing(lab.folder / "index.md") as stream:
        stream.write("\n".join([*lines, ""]).encode("utf-8"))
