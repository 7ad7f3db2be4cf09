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


def written(folder: Path) -> int:
    """How many bytes of output a run has made so far."""
    files = (path for path in folder.rglob("*") if path.suffix in (".part", ".jsonl"))
    try:
        return sum(path.stat().st_size for path in files)
    except FileNotFoundError:  # it has just got its name
        return written(folder)


def kills(given: Path, folder: Path, times: int, workers: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    whole, killed = folder / "whole", folder / "killed"
    options = ["--workers", str(workers), "--resume", "--replace", "surrogate", "--key-file", str(folder / "study.key")]
    command = [sys.executable, "-m", "deident", "scrub", str(given), *options, "-o"]
    subprocess.run([sys.executable, "-m", "deident", "key", "new", str(folder / "study.key")], check=True)
    subprocess.run([*command, str(whole)], check=True, capture_output=True)
    size = written(whole)
    lines: list[str] = []
    # points of the output, not of time: however fast the machine is, they lie all over the run
    for point in sorted(draw.uniform(0, 1) for _ in range(times)):
        process = subprocess.Popen([*command, str(killed)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and written(killed) < point * size:
            time.sleep(0.002)
        time.sleep(draw.uniform(0, 0.5))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            lines.append(f"  killed with {written(killed) / size:4.0%} of the output written")
        process.wait()
    done = subprocess.run([*command, str(killed)], check=True, capture_output=True, text=True)
    same = "identical to" if digest(whole) == digest(killed) else "NOT the same as"
    said = done.stderr.strip().splitlines()[-1]
    first = f"kill -9 at {len(lines)} random points, then gone on with ({said}): output {same} an unbroken run's"
    return [first, *lines]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills")
    parser.add_argument("--carrier-dir", type=Path, required=True, help="where mtsamples/ lies")
    parser.add_argument("--notes", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", action="store_true", help="write docs/results/kills.md")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        words = write_notes(given.carrier_dir, folder / "notes.jsonl", given.notes)
        told = kills(folder / "notes.jsonl", folder, given.kills, given.workers, given.seed)
    lines = [f"{given.notes:,} notes, {words:,} words, surrogates, workers: {given.workers}", *told]
    print("\n".join(lines))
    if given.record:
        options = f"--notes {given.notes} --kills {given.kills} --workers {given.workers} --seed {given.seed}"
        keep(
            "kills",
            f"python -m benchmarks.kills --carrier-dir DIR {options} --record",
            f"{os.cpu_count()} cores",
            lines,
        )


if __name__ == "__main__":
    main()
