"""Large runs: one worker beside two, memory and rate from the first thousand notes to the last, and kill -9 with
resume.

The notes are reports of the carrier, each a little different, in one file of JSON lines. Rate and memory are told for
each tenth of the run; the plot goes beside the table. Then a shorter run is killed at random moments until it has
ended, and its output compared with that of a run that nobody killed.
"""

import argparse
import json
import os
import platform
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from itertools import cycle, islice
from pathlib import Path

from benchmarks import RESULTS
from benchmarks.rules import CARRIERS
from deident import batch, corpus
from deident.config import Config

MEGABYTE = 1 << 20
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Point:
    """So many notes after so many seconds, and the memory of this process and of its largest worker, in megabytes."""

    notes: int
    seconds: float
    own: float
    worker: float


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
            worker = max(map(_memory, _children()), default=0.0)
            points.append(Point(progress.done + progress.failed, now - begin, _memory("self"), worker))
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


def kills(given: Path, folder: Path, times: int, seed: int) -> str:
    """A run killed so many times at random moments, then ended: whether it came to what an unbroken one comes to."""
    draw = random.Random(seed)
    whole, killed = folder / "whole", folder / "killed"
    command = [sys.executable, "-m", "deident", "scrub", str(given), "--workers", "2", "--resume", "-o"]
    begin = time.perf_counter()
    subprocess.run([*command, str(whole)], check=True, capture_output=True)
    took = time.perf_counter() - begin
    died = 0
    for _ in range(times):
        process = subprocess.Popen([*command, str(killed)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0, took))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            died += 1
        process.wait()
    subprocess.run([*command, str(killed)], check=True, capture_output=True)
    same = "identical to" if digest(whole) == digest(killed) else "NOT the same as"
    return f"kill -9 at {died} random points (of {times} tries), then resumed: output {same} an unbroken run's"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batch")
    parser.add_argument("--carrier-dir", type=Path, required=True, help="where mtsamples/ lies")
    parser.add_argument("--notes", type=int, default=100_000)
    parser.add_argument("--kill-notes", type=int, default=2_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--record", action="store_true", help="write docs/results/batch.md and batch.svg")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        words = write_notes(given.carrier_dir, folder / "notes.jsonl", given.notes)
        runs = {count: run(folder / "notes.jsonl", folder / f"out{count}", count) for count in (1, 2)}
        write_notes(given.carrier_dir, folder / "short.jsonl", given.kill_notes)
        one, two = runs[1], runs[2]
        first, last = ends(two)
        same = digest(folder / "out1") == digest(folder / "out2")
        lines = [
            f"{given.notes:,} notes, {words:,} words, file to file, the default detectors",
            f"  one worker {rate(one):,.1f} notes/s, two {rate(two):,.1f}: {rate(two) / rate(one):.2f} times; "
            f"outputs {'the same' if same else 'DIFFER'}",
            f"  two workers: first thousand {first:,.1f} notes/s, last thousand {last:,.1f}; largest worker "
            f"{max(p.worker for p in two):,.0f} MB, this process {max(p.own for p in two):,.0f} MB",
            *table(two),
            kills(folder / "short.jsonl", folder, given.kills, seed=1) + f" ({given.kill_notes:,} notes)",
        ]
        hashed = sha256((folder / "notes.jsonl").read_bytes()).hexdigest()
    text = "\n".join(lines)
    print(text)
    if given.record:
        RESULTS.mkdir(parents=True, exist_ok=True)
        command = f"python -m benchmarks.batch --carrier-dir DIR --notes {given.notes} --record"
        facts = f"{date.today()}, Python {platform.python_version()}, {os.cpu_count()} cores; notes {hashed[:16]}"
        plotted = "![rate and memory](batch.svg)"
        (RESULTS / "batch.svg").write_text(plot(two), encoding="utf-8")
        (RESULTS / "batch.md").write_text(
            f"# batch: `{command}`\n\n{facts}\n\n```\n{text}\n```\n\n{plotted}\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
