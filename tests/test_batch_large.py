"""Runs too large for one process or one sitting: workers, kills, journals, packed files, names, manifests."""

import gzip
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deident import batch
from deident.batch import Outcome, Progress
from deident.batch import _names as names
from deident.batch._pool import Here, Pool
from deident.config import Config, Detect, Scrub
from deident.document import Document, Patient
from deident.errors import DeidentError, UsageError
from deident.surrogates import make_key
from tests.test_batch import lay, lines, reasons
from tests.test_batch import names as files_of

ROOT = Path(__file__).parents[1]
CONFIG = Config(detect=Detect(("patterns",)))
SECRET = "Okonkwo"


# ---- processes -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Numbers:
    """A chunk of nothing but numbers."""

    values: tuple[int, ...]

    def parts(self) -> "Sequence[Numbers]":
        return [Numbers((value,)) for value in self.values]

    def died(self, reason: str) -> tuple[str, ...]:
        return tuple(f"{value}: {reason}" for value in self.values)


def doubling(mode: str) -> Callable[[Numbers], tuple[object, ...]]:
    """What is called in the worker; `mode` says how it misbehaves at 13."""
    if mode == "unusable":
        raise UsageError("there is no model")

    def work(chunk: Numbers) -> tuple[object, ...]:
        if 13 in chunk.values:
            if mode == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            if mode == "exits":
                os._exit(3)
            if mode == "sleeps":
                time.sleep(60)
            if mode == "raises":
                raise ValueError(SECRET)
            if mode == "usage":
                raise UsageError("one clear sentence")
        if mode == "prints":
            print(SECRET)
        return tuple((2 * value, os.getpid()) for value in chunk.values)

    return work


def chunks(count: int = 20, size: int = 3) -> list[Numbers]:
    return [Numbers(tuple(range(start, min(start + size, count)))) for start in range(0, count, size)]


def run(mode: str, workers: int = 2, *, seconds: float | None = None) -> list[Any]:
    with Pool(partial(doubling, mode), workers, seconds=seconds) as pool:
        return [one for _, made in pool.run(chunks()) for one in made]


def test_workers_answer_in_order_and_side_by_side() -> None:
    made = run("prints")
    assert [value for value, _ in made] == [2 * number for number in range(20)]
    others = {process for _, process in made}
    assert len(others) == 2
    assert os.getpid() not in others
    for process in others:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


@pytest.mark.parametrize(
    ("mode", "seconds", "reason"),
    [
        ("killed", None, "the process that worked on it was ended by signal 9 (SIGKILL)"),
        ("exits", None, "the process that worked on it ended with code 3"),
        ("sleeps", 0.7, "it took too long"),
    ],
)
def test_what_kills_a_worker_fails_alone(mode: str, seconds: float | None, reason: str) -> None:
    made = run(mode, 1, seconds=seconds)
    assert made[13] == f"13: {reason}"
    assert [one[0] for place, one in enumerate(made) if place != 13] == [2 * n for n in range(20) if n != 13]


@pytest.mark.parametrize(
    ("mode", "error", "message"),
    [
        ("unusable", UsageError, "there is no model"),
        ("usage", UsageError, "one clear sentence"),
        ("raises", DeidentError, r"could not be processed \(ValueError\)"),
    ],
)
def test_what_stops_a_worker_stops_the_run(mode: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{message}$"):
        run(mode, 1)


def test_chunks_are_asked_for_when_they_are_needed() -> None:
    asked: list[int] = []

    def many() -> Any:
        for chunk in chunks(300):
            asked.append(chunk.values[0])
            yield chunk

    with Pool(partial(doubling, ""), 2) as pool:
        done = pool.run(many())
        next(done)
        assert len(asked) <= 7  # three under way for each
    assert Here(doubling("")).workers == 0


def notes(folder: Path, count: int = 90) -> Path:
    rows = [
        {"id": f"{SECRET}-{n}", "text": f"Seen 3/{n % 27 + 1}/21, call 303-555-0{n:03}.", "patient": f"p{n % 5}"}
        for n in range(count)
    ]
    lay(folder, {"many.jsonl": lines(*rows), "ward/one.txt": "On 3/4/21.", f"{SECRET}.txt": "On 5/6/21, x@y.org."})
    (folder / "bad.jsonl").write_text('{"id": "b", "text": "On 3/4/21."}\n{broken\n')
    with gzip.open(folder / "packed.jsonl.gz", "wb") as stream:
        stream.write(lines(*rows).encode())
    return folder


def scrub(given: Path, out: Path, workers: int, config: Config, **named: Any) -> Outcome:
    outcome = Outcome()
    keys = named.pop("keys", None) or batch.run_keys(config, rename=named.pop("renamed", False))
    with batch.runner(config, "scrub", workers, keys=keys) as runner:
        for _ in batch.to_folder(runner, [given], out, outcome, rename=keys.names, **named):
            pass
    return outcome


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in files_of(folder)}


def test_the_output_does_not_know_how_many_workers_made_it(tmp_path: Path) -> None:
    given = notes(tmp_path / "in")
    config = Config(detect=CONFIG.detect, scrub=Scrub(replace="surrogate"))
    key = bytes(range(32))
    keys = batch.Keys(key)
    made = {workers: scrub(given, tmp_path / f"out{workers}", workers, config, keys=keys) for workers in (0, 1, 2)}
    here = contents(tmp_path / "out0")
    assert len(here) == 5
    assert here == contents(tmp_path / "out1") == contents(tmp_path / "out2")
    assert made[0] == made[1] == made[2]
    assert (made[0].done, len(made[0].failures)) == (183, 1)
    assert gzip.decompress(here["packed.jsonl.gz"]) == here["many.jsonl"]
    # bulk is single: each note by itself gives the same
    from deident.pipeline import Pipeline

    pipeline = Pipeline.from_config(config, key=key)
    for row in here["many.jsonl"].decode().splitlines():
        data = json.loads(row)
        number = int(data["id"].rpartition("-")[2])
        text = f"Seen 3/{number % 27 + 1}/21, call 303-555-0{number:03}."
        alone = pipeline.scrub(Document(data["id"], text, patient=Patient(f"p{number % 5}")))
        assert alone.text == data["text"] != text


def test_documents_come_from_workers_in_order(tmp_path: Path) -> None:
    given = notes(tmp_path / "in", 40)
    found: dict[int, list[Document]] = {}
    for workers in (0, 2):
        outcome = Outcome()
        with batch.runner(CONFIG, "detect", workers) as runner:
            found[workers] = list(batch.worked(runner, [given], outcome))
        assert (outcome.done, reasons(outcome)) == (83, {"bad": "line 2: not JSON at column 2"})
    assert found[0] == found[2]
    assert all(doc.spans for doc in found[2])


def test_one_process_has_no_clock() -> None:
    with pytest.raises(UsageError, match="--timeout needs --workers"), batch.runner(CONFIG, "scrub", seconds=1.0):
        pass


# ---- packed files --------------------------------------------------------------------------------------------------


def test_packed_files_stay_packed_and_what_is_cut_off_is_told(tmp_path: Path) -> None:
    row = lines({"id": "a", "text": "On 3/4/21."})
    packed = gzip.compress(b"".join(row.replace('"a"', f'"{n}"').encode() for n in range(2000)))
    given = lay(tmp_path / "in", {})
    given.mkdir()
    (given / "cut.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    (given / "damaged.txt.gz").write_bytes(packed[:20] + b"\0\0\0\0" + packed[24:])
    (given / "no.txt.gz").write_bytes(b"not packed at all")
    (given / "note.txt.gz").write_bytes(gzip.compress(b"On 3/4/21."))
    (given / "large.txt.gz").write_bytes(gzip.compress(b" " * 200_000))
    (given / "second.ann.gz").write_bytes(gzip.compress(b"T1\tDATE 3 9\t3/4/21\n"))
    (given / "second.txt.gz").write_bytes(gzip.compress(b"On 3/4/21."))
    outcome = scrub(given, tmp_path / "out", 0, CONFIG, forms=batch.Forms(limit=100_000))
    assert reasons(outcome) == {
        "cut": "the compressed file is cut off",
        "damaged": "the compressed file is damaged",
        "no": "the compressed file is damaged",
        "large": "the file has more than 100000 bytes, over the limit of 100000; raise it with --max-bytes",
    }
    out = contents(tmp_path / "out")
    assert set(out) == {"cut.jsonl.gz", "note.txt.gz", "second.ann.gz", "second.txt.gz"}
    assert gzip.decompress(out["note.txt.gz"]) == gzip.decompress(out["second.txt.gz"]) == b"On [DATE]."
    whole = gzip.decompress(out["cut.jsonl.gz"]).splitlines()  # all that could be read before the cut
    assert 0 < len(whole) < 2000
    assert all(json.loads(line)["text"] == "On [DATE]." for line in whole)


# ---- names ---------------------------------------------------------------------------------------------------------


def test_names_and_ids_are_keyed(tmp_path: Path) -> None:
    given = notes(tmp_path / "in")
    make_key(tmp_path / "k")
    config = Config(detect=CONFIG.detect, scrub=Scrub(replace="tag", key_file=str(tmp_path / "k")))
    for workers in (0, 1):
        scrub(given, tmp_path / f"out{workers}", workers, config, renamed=True)
    out = contents(tmp_path / "out0")
    assert out == contents(tmp_path / "out1")
    assert SECRET.encode() not in b"".join(out.values()) + repr(sorted(out)).encode()
    key = batch.run_keys(config, rename=True).names
    assert key is not None
    assert f"{names.renamed(SECRET, key)}.txt" in out
    assert f"{names.renamed('ward', key)}/{names.renamed('ward/one', key).rpartition('/')[2]}.txt" in out
    ids = [json.loads(row)["id"] for row in out[f"{names.renamed('many', key)}.jsonl"].splitlines()]
    assert ids == [names.renamed(f"{SECRET}-{n}", key) for n in range(90)]
    scrub(given, tmp_path / "fresh", 0, CONFIG, renamed=True)
    assert not set(files_of(tmp_path / "fresh")) & set(out)
    outcome = Outcome()
    keys = batch.run_keys(config, rename=True)
    with batch.runner(config, "scrub", keys=keys) as runner:
        forms = batch.Forms(write_as="text")
        for _ in batch.to_folder(runner, [given], tmp_path / "single", outcome, forms=forms, rename=keys.names):
            pass
    assert f"{names.renamed(f'{SECRET}-7', key)}.txt" in files_of(tmp_path / "single")
    assert SECRET not in repr(files_of(tmp_path / "single"))


# ---- kills ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("form", "stride"), [("-", 1), ("text", 7), ("conll", 3)])
def test_a_run_killed_at_any_step_goes_on_as_if_it_had_not_been(tmp_path: Path, form: str, stride: int) -> None:
    given = tmp_path / "in"
    rows = [{"id": f"n{n}", "text": "broken" if n % 7 == 3 else f"note {n} of 3/4/21"} for n in range(10)]
    text = lines(*rows[:4]) + "{not json\n" + lines(*rows[4:])
    lay(given, {"b.jsonl": text, "sub/t0.txt": "text 0", "sub/t1.txt": "broken", "sub/t2.txt": "text 2", "z.what": "?"})
    (given / "c.jsonl.gz").write_bytes(gzip.compress(text.replace('"n', '"g').encode()))
    command = [sys.executable, "-W", "error", "-m", "tests.crashes", str(tmp_path), form, str(stride)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    told = json.loads(done.stdout)
    assert told["differing"] == []
    assert told["steps"] > 15
    assert told["files"] == (20 if form == "text" else 4)


def journaled(given: Path, out: Path, settings: str = "s") -> Outcome:
    return scrub(given, out, 0, CONFIG, resume={"settings": settings})


def test_what_changed_in_between_is_refused(tmp_path: Path) -> None:
    given, out = notes(tmp_path / "in"), tmp_path / "out"
    first = journaled(given, out)
    assert (first.done, first.ended_before) == (183, False)
    again = journaled(given, out)
    assert (again.done, again.ended_before, len(again.failures)) == (183, True, 1)
    assert again.labels == first.labels
    with pytest.raises(UsageError, match=r"^the settings changed since the run into .*: give what it had, or remove "):
        journaled(given, out, "other")
    (out / f"{SECRET}.txt").write_text("changed")
    with pytest.raises(UsageError, match="is gone, or was changed, since this run wrote it"):
        journaled(given, out)
    (given / "new.txt").write_text("more")
    with pytest.raises(UsageError, match=r"^the inputs changed since the run"):
        journaled(given, out)


def test_the_journal_holds_no_value_and_is_its_owners(tmp_path: Path) -> None:
    given, out = tmp_path / "in", tmp_path / "out"
    lay(given, {"n.jsonl": lines({"id": f"{SECRET}-id", "text": f"{SECRET}\0 on 3/4/21"}), "a.txt": f"{SECRET} 3/4/21"})
    killed = Outcome()
    with batch.runner(CONFIG, "scrub") as runner:
        run = batch.to_folder(runner, [given], out, killed, resume={})
        next(run)
        run.close()
    journal = out / ".deident" / "journal"
    assert SECRET not in journal.read_text()
    assert "3/4/21" not in journal.read_text()
    assert stat.S_IMODE(journal.stat().st_mode) == 0o600
    assert stat.S_IMODE(journal.parent.stat().st_mode) == 0o700
    data = journal.read_bytes()
    journal.write_bytes(data.replace(b'{"number"', b'{number"', 1) + b"\n")
    with pytest.raises(UsageError, match=r"line 2 of .*journal is damaged; remove "):
        journaled(given, out)


def test_two_runs_do_not_write_into_one_folder(tmp_path: Path) -> None:
    given, out = notes(tmp_path / "in"), tmp_path / "out"
    with batch.runner(CONFIG, "scrub") as runner:
        first = batch.to_folder(runner, [given], out, Outcome(), resume={})
        next(first)
        with pytest.raises(UsageError, match="another run is writing into"):
            journaled(given, out)
        first.close()


def test_a_full_disk_stops_a_run_that_can_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, out = notes(tmp_path / "in"), tmp_path / "out"
    real = os.fsync
    calls: list[int] = []

    def full(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 6:
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        journaled(given, out)
    monkeypatch.undo()
    outcome = journaled(given, out)
    whole = scrub(given, tmp_path / "whole", 0, CONFIG)
    assert (outcome.done, outcome.failures) == (whole.done, whole.failures)
    assert {k: v for k, v in contents(out).items() if not k.startswith(".")} == contents(tmp_path / "whole")


# ---- the command ---------------------------------------------------------------------------------------------------


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-W", "error", "-m", "deident", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, timeout=120)


def test_the_command_writes_a_manifest_and_a_quarantine_without_values(tmp_path: Path) -> None:
    given = notes(tmp_path / "in")
    make_key(tmp_path / "study.key")
    settings = tmp_path / "d.toml"
    settings.write_text('[detect]\ndetectors = ["patterns"]\n')
    options = ["--config", settings, "--replace", "surrogate", "--key-file", tmp_path / "study.key", "--workers", "1"]
    report = ["--manifest", tmp_path / "m.json", "--quarantine", tmp_path / "q.jsonl", "--rename", "--resume"]
    done = command("scrub", given, "-o", tmp_path / "out", *options, *report)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, "scrubbed 183 notes, 1 failed")
    told = json.loads((tmp_path / "m.json").read_text())
    assert (told["files"], told["notes"], told["failed"], told["workers"]) == (5, 183, 1, 1)
    assert told["replaced"] == {"DATE": 183, "EMAIL": 1, "PHONE": 180}
    assert told["settings"]["scrub"]["replace"] == "surrogate"
    assert told["settings"]["scrub"]["key_file"] is True
    assert len(told["settings_sha256"]) == 64
    assert len(told["key"]) == 16
    written = (tmp_path / "m.json").read_text()
    assert not [word for word in (SECRET, str(tmp_path), "3/4", "303-555", "ward") if word in written]
    assert (tmp_path / "study.key").read_text().strip() not in written
    row = json.loads((tmp_path / "q.jsonl").read_text())
    assert row == {"id": "bad", "reason": "line 2: not JSON at column 2"}
    assert stat.S_IMODE((tmp_path / "q.jsonl").stat().st_mode) == 0o600
    again = command("scrub", given, "-o", tmp_path / "out", *options, "--rename", "--resume")
    assert again.stderr.splitlines()[-1] == "had already scrubbed 183 notes, 1 failed"
    refused = command("scrub", given, "-o", tmp_path / "new", "--replace", "surrogate", "--resume")
    assert refused.returncode == 2
    assert "--resume needs a key file" in refused.stderr


def test_a_pipe_is_worked_through_by_workers(tmp_path: Path) -> None:
    rows = lines(*({"id": str(n), "text": f"On 3/{n % 28 + 1}/21."} for n in range(70))).encode()
    settings = tmp_path / "d.toml"
    settings.write_text('[detect]\ndetectors = ["patterns"]\n')
    line = [sys.executable, "-m", "deident", "scrub", "-", "-o", "-", "--config", str(settings), "--workers", "2"]
    done = subprocess.run(line, input=rows, capture_output=True, timeout=120)
    made = [json.loads(row) for row in done.stdout.splitlines()]
    assert [row["id"] for row in made] == [str(n) for n in range(70)]
    assert {row["text"] for row in made} == {"On [DATE]."}
    assert done.stderr.decode() == "scrubbed 70 notes\n"
    refused = subprocess.run([*line, "--resume"], input=rows, capture_output=True, timeout=120)
    assert (refused.returncode, b"not from or to a pipe" in refused.stderr) == (2, True)


def test_progress_in_words() -> None:
    start = Progress(100, 0, 1000, 10_000)
    assert Progress(1300, 2, 4000, 10_000).line(start, 6.0) == "1,300 notes, 2 failed, 200 notes/s, 40%, 0:12 left"
    assert Progress(1300, 0, 0, 0).line(start, 6.0) == "1,300 notes, 200 notes/s"
    assert Progress(200, 0, 1001, 10_000_000).line(start, 3.0).endswith(", 8332:29:57 left")


def test_progress_of_a_run_counts_bytes(tmp_path: Path) -> None:
    given = notes(tmp_path / "in")
    with batch.runner(CONFIG, "scrub") as runner:
        told = list(batch.to_folder(runner, [given], tmp_path / "out", Outcome()))
    total = sum(path.stat().st_size for path in given.rglob("*") if path.is_file())
    assert [progress.total for progress in told] == [total] * len(told)
    assert told[-1].read == total
    assert [progress.read for progress in told] == sorted(progress.read for progress in told)
