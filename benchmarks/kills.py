"""kill -9 at random moments of a run with --resume, until it has ended: is its output that of a run nobody killed?

tests/crashes.py kills a small run at every step that touches the disk; this kills the program as users start it, with
workers, wherever it may be: loading, working, writing, going on.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import keep
from benchmarks.batch import digest, write_notes


def journal(folder: Path) -> int:
    """How many lines the journal of a run has."""
    path = folder / ".deident" / "journal"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def kills(given: Path, folder: Path, times: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    whole, killed = folder / "whole", folder / "killed"
    options = ["--workers", "2", "--resume", "--replace", "surrogate", "--key-file", str(folder / "study.key")]
    command = [sys.executable, "-m", "deident", "scrub", str(given), *options, "-o"]
    subprocess.run([sys.executable, "-m", "deident", "key", "new", str(folder / "study.key")], check=True)
    begin = time.perf_counter()
    subprocess.run([*command, str(whole)], check=True, capture_output=True)
    took = time.perf_counter() - begin
    lines = [f"  an unbroken run: {took:.0f} s"]
    died = 0
    while died < times:
        process = subprocess.Popen([*command, str(killed)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # so short that the run does not end before it has been killed so often
        waited = draw.uniform(0, 1.6 * took / times)
        try:
            process.wait(waited)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            died += 1
            lines.append(f"  killed after {waited:5.1f} s, {journal(killed)} lines of the journal written")
            continue
        break
    done = subprocess.run([*command, str(killed)], check=True, capture_output=True, text=True)
    same = "identical to" if digest(whole) == digest(killed) else "NOT the same as"
    said = done.stderr.strip().splitlines()[-1]
    return [f"kill -9 at {died} random points, then gone on with ({said}): output {same} an unbroken run's", *lines]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills")
    parser.add_argument("--carrier-dir", type=Path, required=True, help="where mtsamples/ lies")
    parser.add_argument("--notes", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", action="store_true", help="write docs/results/kills.md")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        words = write_notes(given.carrier_dir, folder / "notes.jsonl", given.notes)
        told = kills(folder / "notes.jsonl", folder, given.kills, given.seed)
    lines = [f"{given.notes:,} notes, {words:,} words, surrogates, two workers", *told]
    print("\n".join(lines))
    if given.record:
        options = f"--notes {given.notes} --kills {given.kills} --seed {given.seed}"
        keep(
            "kills",
            f"python -m benchmarks.kills --carrier-dir DIR {options} --record",
            f"{os.cpu_count()} cores",
            lines,
        )


if __name__ == "__main__":
    main()
