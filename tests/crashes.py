"""Kills a run at every step that touches the disk, lets it go on, and compares what came of it with an unbroken run.

    python -m tests.crashes FOLDER FORM STRIDE

A killed process is a fork that leaves by `os._exit`, so that nothing is tidied up behind it; bytes that were not yet
synced are cut off by a few, as a power cut may. Prints one JSON object: steps of an unbroken run, and what differed.
"""

import gc
import json
import os
import re
import stat
import sys
from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

from deident import batch, formats
from deident.document import Document, Span
from deident.errors import ProcessingError
from deident.labels import Label

KILLED = 9
LOST = 3  # bytes


def work(doc: Document) -> Document:
    if "broken" in doc.text:
        raise ProcessingError("could not be processed")
    return Document(doc.id, re.sub(r"\d+", "[N]", doc.text), (Span(0, 1, Label.DATE),))


class Killer:
    """Lets so many steps happen, and then nothing more."""

    def __init__(self, steps: int) -> None:
        self.left = steps
        for module, name in ((os, "fsync"), (os, "truncate"), (Path, "replace"), (Path, "unlink"), (Path, "mkdir")):
            setattr(module, name, self._counted(getattr(module, name)))

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                self._die(function.__name__, arguments)
            return function(*arguments, **named)

        return step

    @staticmethod
    def _die(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "fsync" and stat.S_ISREG(os.fstat(arguments[0]).st_mode):
            os.ftruncate(arguments[0], max(0, os.fstat(arguments[0]).st_size - LOST))
        os._exit(KILLED)


def once(given: Path, out: Path, form: str | None, steps: int | None) -> tuple[int, dict[str, Any]]:
    """One run in a process of its own: how it ended, and what it counted."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        killer = Killer(steps if steps is not None else 10**9)
        outcome = batch.Outcome()
        forms = batch.Forms(None, form)
        for _ in batch.to_folder(batch.here(work), [given], out, outcome, forms=forms, resume={"settings": "s"}):
            pass
        failures = sorted((failure.id, failure.reason) for failure in outcome.failures)
        used = 10**9 - killer.left
        told = {
            "done": outcome.done,
            "failures": failures,
            "labels": dict(outcome.labels),
            "steps": used,
            "ended": outcome.ended_before,
        }
        os.write(writer, json.dumps(told).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        told = stream.read()
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), json.loads(told) if told else {}


def tree(folder: Path) -> dict[str, str]:
    inside = [path for path in folder.rglob("*") if path.is_file() and path.parent.name != ".deident"]
    return {path.relative_to(folder).as_posix(): path.read_bytes().hex() for path in inside}


def main() -> None:
    folder, form = Path(sys.argv[1]), sys.argv[2] if sys.argv[2] != "-" else None
    given = folder / "in"
    batch.CHUNK_TASKS = 3
    for name in formats.names():
        formats.load(name)  # once, and not in every process
    gc.freeze()
    code, whole = once(given, folder / "whole", form, None)
    assert code == 0
    wanted = tree(folder / "whole")
    differing: list[str] = []
    for step in range(0, whole["steps"], int(sys.argv[3])):
        out = folder / f"killed-{step}"
        code, _ = once(given, out, form, step)
        killed = [code]
        if step % 3 == 0:  # and again, a little later
            killed.append(once(given, out, form, step // 2 + 2)[0])
        code, told = once(given, out, form, None)
        if set(killed) - {KILLED, 0} or code != 0:
            differing.append(f"step {step}: ended with {killed}, then {code}")
        elif told["ended"]:  # and only its last sync was missing: it tells no failures again
            if (told["done"], len(told["failures"])) != (whole["done"], 1):
                differing.append(f"step {step}: other counts at the end")
        elif (told["done"], told["failures"], told["labels"]) != (whole["done"], whole["failures"], whole["labels"]):
            differing.append(f"step {step}: other counts")
        if tree(out) != wanted:
            differing.append(f"step {step}: other output")
        if any(path.name.endswith(".part") or path.name.startswith(".deident-") for path in out.rglob("*")):
            differing.append(f"step {step}: pieces left behind")
    print(json.dumps({"steps": whole["steps"], "files": len(wanted), "differing": differing}))


if __name__ == "__main__":
    with redirect_stderr(StringIO()):
        main()
