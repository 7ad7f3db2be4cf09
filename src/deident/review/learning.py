"""What the machine says of a note, and how it learns from what was read.

Training is `deident train` in a process of its own, so that reading goes on; what it makes is a version, which is
compared with all others on the notes that were never learned from, and used only when somebody says so.
"""

import json
import math
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deident import evaluate, formats
from deident.config import Config
from deident.detect import Detector
from deident.document import Document, Record, Span
from deident.errors import DeidentError, ProcessingError, UsageError
from deident.pipeline import Pipeline, attempt
from deident.review import queue
from deident.review.marks import Mark
from deident.review.store import Found, Project

LEARNED = "learned"
_MOST_SCORED = 12  # versions that are compared
IMPORTED = "imported"


class Annotator:
    """What the pipeline of a version finds in a note, with all that detectors say of each place."""

    def __init__(self, config: Config, *, model: str = "") -> None:
        if model:
            names = config.detect.detectors
            named = names if LEARNED in names else (*names, LEARNED)
            config = replace(config, detect=replace(config.detect, detectors=named, model=model))
        self.pipeline = Pipeline.from_config(config)

    def find(self, doc: Document) -> Found:
        """Marks to be judged. Spans that came with the note count as the finds of another detector."""
        doc = self.pipeline.group(doc)
        own = tuple(replace(span, source=span.source or IMPORTED) for span in doc.spans)
        finds = [*own, *self.pipeline.find(doc)]
        spans = self.pipeline.join(doc, finds)
        marks: list[Mark] = []
        doubts: list[float] = []
        for number, span in enumerate(spans, 1):
            said = tuple(self._said(find) for find in finds if find.overlaps(span))
            marks.append(
                Mark(number, span.start, span.end, span.label, source=span.source, score=span.score, finds=said)
            )
            doubts.append(queue.doubt_of(span, said))
        return Found(tuple(marks), tuple(doubts))

    def _said(self, find: Span) -> dict[str, Any]:
        return {
            "source": find.source, "label": find.label.value, "start": find.start, "end": find.end,
            "score": round(find.score, 4), "why": self._why(find),
        }  # fmt: skip

    def _why(self, find: Span) -> str:
        name = find.source.split(":")[0]
        detector: Detector | None = next((each for each in self.pipeline.detectors if each.name == name), None)
        return detector.why(find) if detector is not None else "it came with the note"


def find_all(annotator: Annotator, documents: Iterable[Document]) -> tuple[list[tuple[Document, Found]], list[str]]:
    """Each note with what was found in it; and why those that failed did, by id."""
    done: list[tuple[Document, Found]] = []
    failed: list[str] = []
    for doc in documents:
        found: list[Found] = []

        def look(doc: Document, found: list[Found] = found) -> Document:
            found.append(annotator.find(doc))
            return doc

        result = attempt(look, doc)
        if isinstance(result, Document):
            done.append((doc, found[0]))
        else:
            failed.append(f"{result.id}: {result.reason}")
    return done, failed


@dataclass(slots=True)
class Progress:
    """Of the training that runs, or ran last."""

    state: str = "idle"  # idle, training, scoring, done, failed, stopped, applying
    part: float = 0.0
    message: str = ""
    losses: list[float] = field(default_factory=list[float])
    version: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "state": self.state, "part": round(self.part, 3), "message": self.message, "losses": self.losses,
            "version": self.version,
        }  # fmt: skip


class Learner:
    """Trains one version at a time; models lie in folders beside the project, which their owner alone may read."""

    def __init__(self, project: Project, config: Config, folder: Path) -> None:
        self._project = project
        self._config = config
        self._folder = folder
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None
        self.progress = Progress()

    def annotator(self) -> Annotator:
        """Of the version in use."""
        used = next(row for row in self._project.versions() if row["in_use"])
        return Annotator(self._config, model=used["folder"])

    def start(self) -> None:
        """Begin to train on all notes that are settled; an error where there is nothing, or one runs already."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                raise UsageError("a training runs already")
            read = [gold for gold, _ in self._project.settled(learn=True)]
            if not any(doc.spans for doc in read):
                raise UsageError("there is nothing to learn from yet: no note is settled that has an identifier")
            held = [gold for gold, _ in self._project.settled(learn=False)]
            self.progress = Progress("training", message=f"learning from {len(read)} notes")
            self._thread = threading.Thread(target=self._run, args=(read, held), name="deident-train", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End a training that runs; what it had made is thrown away."""
        process = self._process
        if process is not None:
            self.progress.state = "stopped"
            process.terminate()

    def wait(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def _run(self, read: Sequence[Document], held: Sequence[Document]) -> None:
        progress = self.progress
        try:
            folder = self._train(read, held)
            if folder is None:
                return
            progress.state, progress.message = "scoring", "comparing with the versions before"
            version = self._project.add_version(folder=str(folder), notes=len(read), scores={})
            self._score(held)
            progress.version, progress.part, progress.state = version, 1.0, "done"
            progress.message = f"version {version} has learned from {len(read)} notes"
        except DeidentError as error:
            progress.state, progress.message = "failed", str(error)
        except Exception as error:  # noqa: BLE001 (what it says may quote a note)
            progress.state = "failed"
            progress.message = str(ProcessingError(f"the training failed ({type(error).__name__})"))

    def _train(self, read: Sequence[Document], held: Sequence[Document]) -> Path | None:
        """The folder of the new model; None where it was stopped. The notes it reads are written for it and removed."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        number = 1 + max((row["id"] for row in self._project.versions()), default=0)
        folder = self._folder / f"version-{number}"
        notes = self._folder / f".notes-{number}"
        notes.mkdir(mode=0o700, exist_ok=True)
        try:
            _write(notes / "read.jsonl", read)
            command = [sys.executable, "-m", "deident", "train", str(notes / "read.jsonl"), "-o", str(folder)]
            command += ["--learner", self._config.review.learner, "--progress"]
            command += [part for name in self._config.review.adapt for part in ("--adapt", name)]
            if any(doc.spans for doc in held):
                _write(notes / "held.jsonl", held)
                command += ["--dev", str(notes / "held.jsonl")]
            return folder if self._watch(command) else None
        finally:
            shutil.rmtree(notes, ignore_errors=True)

    def _watch(self, command: Sequence[str]) -> bool:
        progress = self.progress
        last = ""
        with subprocess.Popen(  # noqa: S603 (our own command; no part of it comes from a request)
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as process:
            self._process = process
            try:
                assert process.stderr is not None
                for line in process.stderr:
                    try:
                        said = json.loads(line)
                        progress.losses.append(float(said["loss"]))
                        progress.part = 0.9 * said["pass"] / max(said["of"], said["pass"])
                    except (ValueError, KeyError, TypeError):
                        last = line.strip()
            finally:
                self._process = None
        if progress.state == "stopped":
            progress.message = "the training was stopped"
            return False
        if process.returncode:
            reason = last.removeprefix("deident: ") if last.startswith("deident: ") else "see the log of the server"
            raise ProcessingError(f"the training failed (exit code {process.returncode}): {reason}")
        return True

    def _score(self, held: Sequence[Document]) -> None:
        """Each version on the notes that none has learned from: the curve is drawn on one measure."""
        if not held:
            return
        for row in self._project.versions()[-_MOST_SCORED:]:
            annotator = Annotator(self._config, model=row["folder"])
            self._project.score_version(row["id"], score(annotator.pipeline, held))

    def use(self, version: int, told: Callable[[Annotator], None]) -> None:
        """Take a version into use: notes that nobody has begun are looked at anew. `told` gets what finds from now."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                raise UsageError("wait until the training that runs has ended")
            row = next((row for row in self._project.versions() if row["id"] == version), None)
            if row is None:
                raise UsageError("there is no such version")
            annotator = Annotator(self._config, model=row["folder"])
            self._project.use_version(version)
            self.progress = Progress("applying", message="looking at the notes that nobody has begun", version=version)
            self._thread = threading.Thread(target=self._apply, args=(annotator, version), daemon=True)
            self._thread.start()
        told(annotator)

    def _apply(self, annotator: Annotator, version: int) -> None:
        progress = self.progress
        unread = self._project.unread()
        failed = 0
        for done, note in enumerate(unread, 1):
            doc = self._project.document(note)
            found, reasons = find_all(annotator, [doc])
            failed += len(reasons)
            if found:
                self._project.found_again(note, found[0][1], version)
            progress.part = done / len(unread)
        self._project.requeue()
        progress.state, progress.part = "done", 1.0
        progress.message = f"version {version} is in use"
        if failed:
            progress.message += f"; {failed} notes could not be looked at and keep what was found before"


def score(pipeline: Pipeline, held: Sequence[Document]) -> dict[str, Any]:
    """The whole pipeline's figures on these notes; figures of which there are none are null."""
    gold = evaluate.by_id(held)
    plain = [replace(doc, spans=()) for doc in held]
    scores = evaluate.score(gold, evaluate.by_id([pipeline.detect(doc) for doc in plain]))
    rows: Mapping[str, Mapping[str, float]] = evaluate.headline(scores)
    leaks = scores.leaks
    figures: dict[str, Any] = {name: {key: _finite(value) for key, value in row.items()} for name, row in rows.items()}
    return figures | {"held": len(held), "clean": leaks.documents_clean, "leaked": leaks.leaked, "of": leaks.characters}


def _finite(value: float) -> float | None:
    return None if math.isnan(value) else value


def _write(file: Path, documents: Sequence[Document]) -> None:
    data = formats.load("jsonl").write(Record(tuple(documents)))[".jsonl"]
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
        stream.write(data)
