"""Spark's local[2] beside batch with two workers, on the same notes, from the file to the file, in one run.

Both load words and models in two processes; that is not counted: a few notes are done first, and the clock begins when
the workers are warm. Spark keeps its Python workers for the second job.
"""

import argparse
import os
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks import keep
from benchmarks.batch import write_notes
from deident import batch
from deident import spark as door
from deident.config import Config


def batched(warm: Path, given: Path, out: Path) -> float:
    """Seconds of batch for the notes."""
    with batch.runner(Config(), "scrub", 2) as runner:
        for file in (warm, given):
            begun = time.perf_counter()
            outcome = batch.Outcome()
            for _ in batch.to_folder(runner, [file], out / file.stem, outcome):
                pass
            if outcome.failures:
                raise SystemExit(f"{len(outcome.failures)} notes failed: {outcome.failures[0].reason}")
    return time.perf_counter() - begun


def sparked(warm: Path, given: Path, out: Path) -> float:
    """Seconds of Spark for the notes."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder: Any = SparkSession.builder
    session = (
        builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "100")
        .config("spark.sql.files.maxPartitionBytes", str(max(1 << 16, given.stat().st_size // 8)))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    begun = time.perf_counter()
    for file in (warm, given):
        notes = session.read.json(str(file)).repartition(8)
        begun = time.perf_counter()
        door.scrub(notes, text="text", patient="patient", keep=["id"]).write.json(str(out / file.stem))
    taken = time.perf_counter() - begun
    session.stop()
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark")
    parser.add_argument("--carrier-dir", type=Path, required=True, help="where mtsamples/ lies")
    parser.add_argument("--notes", type=int, default=5000)
    parser.add_argument("--record", action="store_true", help="write docs/results/spark.md")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        notes, warm = folder / "notes.jsonl", folder / "warm.jsonl"
        words = write_notes(given.carrier_dir, notes, given.notes)
        with notes.open("rb") as stream:
            warm.write_bytes(b"".join(islice(stream, max(16, given.notes // 50))))
        of_batch = batched(warm, notes, folder / "batch")
        of_spark = sparked(warm, notes, folder / "spark")
        rows = sum(path.read_bytes().count(b"\n") for path in (folder / "spark" / "notes").glob("*.json"))
    if rows != given.notes:
        raise SystemExit(f"Spark wrote {rows} of {given.notes} notes")
    lines = [
        f"{given.notes:,} notes, {words:,} words, two warm workers each",
        f"  batch        {given.notes / of_batch:8.1f} notes/s",
        f"  Spark local[2] {given.notes / of_spark:6.1f} notes/s: {of_spark / of_batch:.2f} times as long",
        f"  load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
    ]
    print("\n".join(lines))
    if given.record:
        command = f"python -m benchmarks.spark --carrier-dir DIR --notes {given.notes} --record"
        keep("spark", command, f"{os.cpu_count()} cores", lines)


if __name__ == "__main__":
    main()
