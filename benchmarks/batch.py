"""Large runs: one worker beside two, memory and rate from the first thousand notes to the last.

The notes are reports of the carrier, each a little different, in one file of JSON lines. Rate and memory are told for
each tenth of the run; the plot goes beside the table. Rates by the clock are those of the machine as it is; the
processor time of a note is not changed by what else runs there, and that of this process, which reads, writes and
counts while the workers work, bounds how many workers it can keep busy. `benchmarks.kills` kills such runs.
"""

import argparse
import json
import os
import tempfile
import time
from dataclasses import dataclass
from hashlib import sha256
from itertools import cycle, islice
from pathlib import Path

from benchmarks import RESULTS, keep
from benchmarks.rules import CARRIERS
from deident import batch, corpus
from deident.config import Config

MEGABYTE = 1 << 20
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Point:
    """So many notes after so many seconds; the memory of this process and of its largest worker, in megabytes, and
    the processor time of this process and of all workers."""

    notes: int
    seconds: float
    own: float
    worker: float
    own_cpu: float
    workers_cpu: float


def write_notes(carriers: Path, file: Path, count: int) -> int:
    """The notes of one run; how many words they have."""
    texts = corpus.carrier_texts(carriers / CARRIERS["mtsamples-phi"], corpus.STANDOFF["mtsamples-phi"])
    words = 0
    with file.open("w", encoding="utf-8") as stream:
        for number, text in enumerate(islice(cycle(texts.values()), count)):
            words += len(text.split())
            row = {"id": f"n{number}", "text": f"Report {number}\n{text}", "patient": f"p{number % 1000}"}
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    return words


def _memory(process: int | str) -> float:
    try:
        return int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]) * PAGE / MEGABYTE
    except FileNotFoundError:
        return 0.0


def _processor(process: int) -> float:
    """Seconds that a process has worked."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _children() -> list[int]:
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        found += map(int, (task / "children").read_text(encoding="ascii").split())
    return found


def run(given: Path, out: Path, workers: int) -> list[Point]:
    """The points of one run, from its first chunk on: starting the workers does not count."""
    config = Config()
    outcome = batch.Outcome()
    points: list[Point] = []
    with batch.runner(config, "scrub", workers) as runner:
        begin = 0.0
        for progress in batch.to_folder(runner, [given], out, outcome):
            now = time.perf_counter()
            begin = begin or now
            workers_ = _children()
            worker = max(map(_memory, workers_), default=0.0)
            cpu = time.process_time(), sum(map(_processor, workers_))
            points.append(Point(progress.done + progress.failed, now - begin, _memory("self"), worker, *cpu))
    if outcome.failures:
        raise SystemExit(f"{len(outcome.failures)} notes failed: {outcome.failures[0].reason}")
    return points


def rate(points: list[Point]) -> float:
    return (points[-1].notes - points[0].notes) / (points[-1].seconds - points[0].seconds)


def tenths(points: list[Point]) -> list[list[Point]]:
    size = points[-1].notes / 10
    return [[p for p in points if part * size <= p.notes <= (part + 1) * size] for part in range(10)]


def table(points: list[Point]) -> list[str]:
    lines = ["  notes        notes/s   largest worker   this process"]
    for part in tenths(points):
        if len(part) > 1:
            own, worker = max(p.own for p in part), max(p.worker for p in part)
            lines.append(f"  {part[-1].notes:8,}  {rate(part):9,.1f}  {worker:10,.0f} MB  {own:10,.0f} MB")
    return lines


def ends(points: list[Point]) -> tuple[float, float]:
    """The rate over the first thousand notes, and over the last."""
    last = points[-1].notes
    first = [p for p in points if p.notes <= max(1000, points[1].notes)]
    final = [p for p in points if p.notes >= min(last - 1000, points[-2].notes)]
    return rate(first), rate(final)


def plot(points: list[Point]) -> str:
    """Rate (line) and memory of the largest worker (dashes) over the notes, as SVG."""
    parts = [part for part in tenths(points) if len(part) > 1]
    rates = [rate(part) for part in parts]
    memory = [max(p.worker for p in part) for part in parts]

    def line(values: list[float]) -> str:
        step = 500 / max(1, len(values) - 1)
        return " ".join(f"{50 + step * n:.0f},{220 - 180 * v / max(values):.0f}" for n, v in enumerate(values))

    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 260" font-family="sans-serif" font-size="12">'
        '<path d="M50 20V220H560" fill="none" stroke="#888"/>'
        f'<polyline points="{line(rates)}" fill="none" stroke="#06c"/>'
        f'<polyline points="{line(memory)}" fill="none" stroke="#c60" stroke-dasharray="4"/>'
        f'<text x="60" y="16" fill="#06c">notes a second, at most {max(rates):.0f}</text>'
        f'<text x="300" y="16" fill="#c60">memory of a worker, at most {max(memory):.0f} MB</text>'
        f'<text x="50" y="245">0</text><text x="500" y="245">{points[-1].notes:,} notes</text></svg>\n'
    )


def digest(folder: Path) -> str:
    hashed = sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and ".deident" not in path.parts:
            hashed.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return hashed.hexdigest()


def processor(points: list[Point]) -> tuple[float, float]:
    """Milliseconds of a note: of the workers, and of this process."""
    first, last = points[0], points[-1]
    notes = last.notes - first.notes
    return 1000 * (last.workers_cpu - first.workers_cpu) / notes, 1000 * (last.own_cpu - first.own_cpu) / notes


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batch")
    parser.add_argument("--carrier-dir", type=Path, required=True, help="where mtsamples/ lies")
    parser.add_argument("--notes", type=int, default=100_000)
    parser.add_argument("--record", action="store_true", help="write docs/results/batch.md and batch.svg")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        words = write_notes(given.carrier_dir, folder / "notes.jsonl", given.notes)
        load = os.getloadavg()[0]
        runs = {count: run(folder / "notes.jsonl", folder / f"out{count}", count) for count in (1, 2)}
        one, two = runs[1], runs[2]
        first, last = ends(two)
        same = digest(folder / "out1") == digest(folder / "out2")
        working, own = processor(two)
        lines = [
            f"{given.notes:,} notes, {words:,} words, file to file, the default detectors",
            f"  one worker {rate(one):,.1f} notes/s, two {rate(two):,.1f}: {rate(two) / rate(one):.2f} times; "
            f"outputs {'the same' if same else 'DIFFER'}",
            f"  processor time of a note: workers {working:.1f} ms ({1000 / working:,.0f} notes/s on a whole core; "
            f"with one worker {processor(one)[0]:.1f} ms), this process {own:.2f} ms",
            f"  two workers: first thousand {first:,.1f} notes/s, last thousand {last:,.1f}; largest worker "
            f"{max(p.worker for p in two):,.0f} MB, this process {max(p.own for p in two):,.0f} MB",
            f"  load of the machine: {load:.1f} before, {os.getloadavg()[0]:.1f} after, on {os.cpu_count()} cores",
            *table(two),
        ]
        hashed = sha256((folder / "notes.jsonl").read_bytes()).hexdigest()
    text = "\n".join(lines)
    print(text)
    if given.record:
        command = f"python -m benchmarks.batch --carrier-dir DIR --notes {given.notes} --record"
        keep("batch", command, f"{os.cpu_count()} cores; notes {hashed[:16]}", lines)
        (RESULTS / "batch.svg").write_text(plot(two), encoding="utf-8")
        with (RESULTS / "batch.md").open("a", encoding="utf-8") as page:
            page.write("\n![rate and memory](batch.svg)\n")


if __name__ == "__main__":
    main()
