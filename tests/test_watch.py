"""Files that arrive in a folder: when they are taken, that each is done once, and what a kill leaves."""

import contextlib
import gc
import gzip
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from deident.batch import Forms, here
from deident.batch.watch import FOLDER, Done, Taking, Watch
from deident.document import Document, Span
from deident.errors import ProcessingError, UsageError
from deident.labels import Label
from tests.crashes import KILLED, Killer, tree

ROOT = Path(__file__).parents[1]
NOW = Taking(settle=0, every=0.05)


def work(doc: Document) -> Document:
    if "broken" in doc.text:
        raise ProcessingError("could not be processed")
    return Document(doc.id, doc.text.replace("Okonkwo", "[N]"), (Span(0, 1, Label.DATE),))


def watch(folder: Path, taking: Taking = NOW, form: str | None = None) -> Watch:
    return Watch(here(work), folder / "in", folder / "out", Forms(None, form), taking)


def look(folder: Path, taking: Taking = NOW, form: str | None = None) -> list[Done]:
    return list(watch(folder, taking, form).run(None))


def put(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / "in" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def outputs(folder: Path) -> dict[str, str]:
    found = (path for path in (folder / "out").rglob("*") if path.is_file() and FOLDER not in path.parts)
    return {path.relative_to(folder / "out").as_posix(): path.read_text() for path in found}


def rows(*texts: str) -> str:
    return "".join(json.dumps({"id": f"n{place}", "text": text}) + "\n" for place, text in enumerate(texts))


def test_each_file_is_done_once_and_again_when_it_is_changed(tmp_path: Path) -> None:
    note = put(tmp_path, "ward/a.txt", "Mrs Okonkwo")
    put(tmp_path, "b.jsonl.gz", gzip.compress(rows("Okonkwo", "well").encode()))
    assert [(done.id, done.notes, done.failures) for done in look(tmp_path)] == [
        ("b.jsonl.gz", 2, ()),
        ("ward/a.txt", 1, ()),
    ]
    assert (tmp_path / "out" / "ward" / "a.txt").read_text() == "Mrs [N]"
    assert "Okonkwo" not in gzip.decompress((tmp_path / "out" / "b.jsonl.gz").read_bytes()).decode()
    (tmp_path / "out" / "ward" / "a.txt").unlink()  # a consumer took it
    assert look(tmp_path) == []
    assert not (tmp_path / "out" / "ward" / "a.txt").exists()
    note.write_text("Mr Okonkwo, seen")
    assert [done.id for done in look(tmp_path)] == ["ward/a.txt"]
    assert (tmp_path / "out" / "ward" / "a.txt").read_text() == "Mr [N], seen"
    assert stat.S_IMODE((tmp_path / "out" / FOLDER / "journal").stat().st_mode) == 0o600


def test_a_file_is_taken_when_it_is_still(tmp_path: Path) -> None:
    growing, old = put(tmp_path, "growing.txt", "Okon"), put(tmp_path, "moved-in.txt", "Okonkwo")
    put(tmp_path, "half.txt.part", "Okonk")
    put(tmp_path, ".hidden.txt", "Okonk")
    os.utime(old, (time.time() - 60, time.time() - 60))
    watching = watch(tmp_path, Taking(settle=0.4, every=0.05))
    taken: list[str] = []
    looks = 0

    def wait(_: float) -> None:
        nonlocal looks
        looks += 1
        time.sleep(0.1)
        if looks < 6:
            with growing.open("a") as stream:
                stream.write("kwo" if looks == 1 else " and so on")
        if looks > 40:
            watching.stop()

    for done in watching.run(wait):
        taken.append(done.id)
        if done.id == "growing.txt":
            assert looks >= 8
            watching.stop()
    assert taken == ["moved-in.txt", "growing.txt"]
    assert outputs(tmp_path) == {"moved-in.txt": "[N]", "growing.txt": "[N]" + 4 * " and so on"}


def test_what_fails_stays_and_is_tried_again_when_it_is_changed(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", b"\xff\xfe\x00")
    put(tmp_path, "b.jsonl", rows("well", "broken Okonkwo"))
    put(tmp_path, "c.strange", "Okonkwo")
    put(tmp_path, "d.txt", "Okonkwo")
    taking = Taking(settle=0, moved=tmp_path / "done")
    done = {one.id: [failure.reason for failure in one.failures] for one in look(tmp_path, taking)}
    assert done["d.txt"] == []
    assert done["b.jsonl"] == ["could not be processed"]
    assert done["a.txt"] == ["UTF-16 text; save it as UTF-8"]
    assert "cannot tell the format" in done["c.strange"][0]
    assert {path.name for path in (tmp_path / "in").iterdir()} == {"a.txt", "b.jsonl", "c.strange"}
    assert sorted(outputs(tmp_path)) == ["b.jsonl", "d.txt"]
    assert look(tmp_path, taking) == []
    put(tmp_path, "b.jsonl", rows("well", "Okonkwo"))
    assert [(one.id, one.notes, one.failures) for one in look(tmp_path, taking)] == [("b.jsonl", 2, ())]
    assert (tmp_path / "done" / "b.jsonl").read_text() == rows("well", "Okonkwo")
    assert outputs(tmp_path)["b.jsonl"].count("\n") == 2


def test_a_name_that_comes_again_replaces_nothing(tmp_path: Path) -> None:
    taking = Taking(settle=0, moved=tmp_path / "done")
    for text in ("one Okonkwo", "two Okonkwo", "three"):
        put(tmp_path, "feed.txt", text)
        assert [one.failures for one in look(tmp_path, taking)] == [()]
    assert outputs(tmp_path) == {"feed.txt": "one [N]", "feed.2.txt": "two [N]", "feed.3.txt": "three"}
    kept = {path.name: path.read_text() for path in (tmp_path / "done").iterdir()}
    assert kept == {"feed.txt": "one Okonkwo", "feed.2.txt": "two Okonkwo", "feed.3.txt": "three"}
    assert not list((tmp_path / "in").iterdir())


def test_what_cannot_be_moved_is_told_and_done_once(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", "Okonkwo")
    (tmp_path / "done").write_text("a file where the folder should be")
    taking = Taking(settle=0, moved=tmp_path / "done")
    assert [failure.reason for one in look(tmp_path, taking) for failure in one.failures] == [
        "went through, but cannot be moved (File exists)"
    ]
    assert look(tmp_path, taking) == []
    (tmp_path / "done").unlink()
    assert look(tmp_path, taking) == []
    assert (tmp_path / "done" / "a.txt").read_text() == "Okonkwo"
    assert not list((tmp_path / "in").iterdir())


def test_outputs_of_others_stay(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.txt").write_text("another's")
    put(tmp_path, "a.txt", "Okonkwo")
    put(tmp_path, "b.jsonl", rows("first"))
    put(tmp_path, "c.jsonl", rows("second"))
    failed = {one.id: len(one.failures) for one in look(tmp_path, form="text")}
    assert failed == {"a.txt": 1, "b.jsonl": 0, "c.jsonl": 1}
    assert outputs(tmp_path) == {"a.txt": "another's", "n0.txt": "first"}


def test_the_halves_of_a_record_go_together(tmp_path: Path) -> None:
    put(tmp_path, "a.ann", "T1\tDATE 0 3\tOko\n")
    put(tmp_path, "a.txt", "Okonkwo")
    taking = Taking(settle=0, moved=tmp_path / "done")
    assert [(one.id, one.failures) for one in look(tmp_path, taking)] == [("a.ann", ())]
    assert sorted(outputs(tmp_path)) == ["a.ann", "a.txt"]
    assert sorted(path.name for path in (tmp_path / "done").iterdir()) == ["a.ann", "a.txt"]
    assert look(tmp_path, taking) == []


@pytest.mark.parametrize("out", ["in/clean", "in", "."])
def test_folders_within_each_other_are_refused(tmp_path: Path, out: str) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(UsageError, match="must not lie within each other"):
        Watch(here(work), tmp_path / "in", tmp_path / out)


def test_a_second_watch_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", "x")
    for _ in watch(tmp_path).run(None):
        with pytest.raises(UsageError, match="another run is writing into"):
            look(tmp_path)


# ---- kills -----------------------------------------------------------------------------------------------------------


def _arrivals(folder: Path) -> None:
    for place in range(4):
        put(folder, f"ward/{place}.txt", f"Okonkwo {place}")
    put(folder, "many.jsonl", rows("Okonkwo", "broken", "well"))
    put(folder, "pair.ann", "T1\tDATE 0 3\tOko\n")
    put(folder, "pair.txt", "Okonkwo")


def _forked(folder: Path, taking: Taking, steps: int) -> tuple[int, int]:
    """One look by a process that is killed after so many steps that touch the disk: its end, and the steps left."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        killer = Killer(steps)
        with contextlib.suppress(BaseException):
            list(watch(folder, taking).run(None))
            os.write(writer, str(killer.left).encode())
            os._exit(0)
        os._exit(3)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        told = stream.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), int(told or 0)


@pytest.mark.parametrize("moves", [False, True])
def test_a_kill_at_every_step_loses_and_doubles_nothing(tmp_path: Path, moves: bool) -> None:
    def taking(folder: Path) -> Taking:
        return Taking(settle=0, moved=folder / "done" if moves else None)

    whole = tmp_path / "whole"
    _arrivals(whole)
    look(whole, taking(whole))
    wanted = _result(whole)
    gc.freeze()
    counted = tmp_path / "counted"
    _arrivals(counted)
    code, left = _forked(counted, taking(counted), 10**6)
    assert code == 0
    steps = 10**6 - left
    assert steps > 20
    for step in range(steps):
        folder = tmp_path / str(step)
        _arrivals(folder)
        assert _forked(folder, taking(folder), step)[0] == KILLED
        named = outputs(folder)
        assert all(wanted["out"][name] == text.encode().hex() for name, text in named.items()), f"half at {step}"
        for name in list(named)[:1]:
            (folder / "out" / name).unlink()  # and a consumer takes one in between
        look(folder, taking(folder))
        again = _result(folder)
        for name in list(named)[:1]:
            assert name not in again["out"], f"doubled at {step}"
            again["out"][name] = wanted["out"][name]
        assert again == wanted, f"step {step}"
        assert look(folder, taking(folder)) == []


def _result(folder: Path) -> dict[str, dict[str, str]]:
    found = {name: tree(folder / name) for name in ("in", "out", "done") if (folder / name).exists()}
    found["out"] = {name: data for name, data in found["out"].items() if FOLDER not in name}
    assert not list((folder / "out" / FOLDER).glob("*.part"))
    return found


# ---- the command -----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _running(*arguments: str) -> Generator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "deident", "watch", *arguments],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _until(done: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(("number", "workers"), [(signal.SIGTERM, "0"), (signal.SIGINT, "1")])
def test_the_command_watches_until_it_is_stopped(tmp_path: Path, number: signal.Signals, workers: str) -> None:
    given, out, failed = tmp_path / "in", tmp_path / "out", tmp_path / "failed.jsonl"
    put(tmp_path, "a.txt", "Call 303-555-0182.")
    options = ["--detectors", "patterns", "--settle", "0", "--every", "0.05", "--quarantine", str(failed)]
    with _running(str(given), "-o", str(out), *options, "--workers", workers) as process:
        _until((out / "a.txt").exists)
        put(tmp_path, "bad.jsonl", '{"text": Okonkwo\n')
        _until(failed.exists)
        other = put(tmp_path, "b.txt.tmp", "Seen 3/4/2021.")
        other.rename(given / "b.txt")
        _until((out / "b.txt").exists)
        process.send_signal(number)
        _, told = process.communicate(timeout=30)
    assert process.returncode == 0, told
    assert (out / "a.txt").read_text() == "Call [PHONE]."
    assert (out / "b.txt").read_text() == "Seen [DATE]."
    assert "scrubbed 2 notes of 3 files, 1 failed" in told
    assert "Okonkwo" not in told + failed.read_text()
    assert [json.loads(line)["id"] for line in failed.read_text().splitlines()] == ["bad"]
    assert stat.S_IMODE(failed.stat().st_mode) == 0o600
    assert (given / "a.txt").read_text() == "Call 303-555-0182."


def test_once_says_by_its_code_that_something_failed(tmp_path: Path) -> None:
    put(tmp_path, "bad.txt", b"\xff\xff")
    with _running(str(tmp_path / "in"), "-o", str(tmp_path / "out"), "--once", "--settle", "0") as process:
        _, told = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "deident: bad: not UTF-8 at byte offset 0" in told
