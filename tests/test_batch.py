"""Files in, files out: what is written where, what is refused, and that the rest is still done."""

import errno
import io
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from deident import batch, formats
from deident.batch import Outcome
from deident.document import Document, Failure, Span
from deident.errors import MissingPackageError, UsageError
from deident.formats import STANDARD
from deident.labels import Label


def same(doc: Document) -> Document:
    return doc


def found(doc: Document) -> Document:
    return doc.with_spans([Span(0, 2, Label.DATE)])


def lay(folder: Path, files: Mapping[str, str]) -> Path:
    for name, content in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content, encoding="utf-8")
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def lines(*documents: Mapping[str, object]) -> str:
    return "".join(json.dumps(doc) + "\n" for doc in documents)


def to_folder(paths: list[Path], out: Path, *, write_as: str | None = None) -> Outcome:
    outcome = Outcome()
    for _ in batch.to_folder(batch.here(found), paths, out, outcome, forms=batch.Forms(write_as=write_as)):
        pass
    return outcome


def reasons(outcome: Outcome) -> dict[str, str]:
    return {failure.id: failure.reason for failure in outcome.failures}


# ---- what is read --------------------------------------------------------------------------------------------------


def test_a_folder_of_brat_is_told_without_being_named(tmp_path: Path) -> None:
    lay(tmp_path, {"a.ann": "T1\tDATE 5 11\t3/4/21\n", "a.txt": "Seen 3/4/21", "b.txt": "alone"})
    told = [item if isinstance(item, Failure) else (item[0].id, item[1]) for item in batch.inputs([tmp_path], None)]
    assert told == [("a", "brat"), ("b", "text")]


def test_what_cannot_be_told_fails_alone(tmp_path: Path) -> None:
    notes = lay(tmp_path / "notes", {"a.txt": "one", "README.md": "two", "b.txt": "three"})
    outcome = to_folder([notes], tmp_path / "out")
    assert outcome.done == 2
    assert reasons(outcome)["README"].startswith("cannot tell the format of ")


def test_of_two_files_of_one_id_the_second_fails(tmp_path: Path) -> None:
    lay(tmp_path, {"one/a.txt": "first", "one/a.TXT": "third", "two/a.txt": "second", "two/b.txt": "fourth"})
    given = [tmp_path / "one" / "a.txt", tmp_path / "one" / "a.TXT", tmp_path / "two"]
    outcome = to_folder(given, tmp_path / "out")
    assert (outcome.done, [failure.id for failure in outcome.failures]) == (2, ["a", "a"])
    assert "has the same id as" in outcome.failures[0].reason
    assert (tmp_path / "out" / "a.txt").read_text() == "first"
    assert names(tmp_path / "out") == ["a.txt", "b.txt"]


def test_a_pipe_must_be_named(tmp_path: Path) -> None:
    """Its first bytes, read to tell the format, would be lost to the reader."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="which is no regular file; say --from"):
        formats.guess(formats.Source(tmp_path / "pipe", "pipe"))


def test_a_name_that_is_not_utf_8_fails_alone(tmp_path: Path) -> None:
    lay(tmp_path, {"a.txt": "one"})
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/b\xff.txt")).write_text("two")
    read = list(batch.documents([tmp_path]))
    assert read == [Document("a", "one"), Failure("'b\\udcff'", "the name of the file is not UTF-8")]


def test_predictions_may_lack_text_and_failures_are_told(tmp_path: Path) -> None:
    gold = {"a": Document("a", "Seen 3/4/21")}
    span = {"start": 5, "end": 11, "label": "DATE"}
    rows = lines({"id": "a", "spans": [span]}, {"id": "b", "spans": []}, {"id": "a", "spans": [span | {"end": 99}]})
    lay(tmp_path / "folder", {"s.jsonl": rows, "empty.jsonl": ""})
    read = list(batch.predictions(tmp_path / "folder", gold, "jsonl"))
    assert read == [
        Failure("empty", "the file is empty"),
        Document("a", "Seen 3/4/21", (Span(5, 11, Label.DATE),)),
        Failure("b", "not a document of gold"),
        Failure("s", "line 3: spans[0]: 5..99 is outside the text of 11 characters"),
    ]


# ---- where it is written -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["text", "brat", "i2b2-2014", "inline", "vtt"])
def test_many_notes_of_a_file_become_a_file_each(tmp_path: Path, form: str) -> None:
    rows = [{"id": f"n{number}", "text": f"note {number}"} for number in range(3)]
    lay(tmp_path, {"notes.jsonl": lines(*rows)})
    outcome = to_folder([tmp_path / "notes.jsonl"], tmp_path / "out", write_as=form)
    assert (outcome.done, outcome.failures) == (3, [])
    suffix = formats.load(form).SUFFIXES[0]
    assert [name for name in names(tmp_path / "out") if name.endswith(suffix)] == [f"n{n}{suffix}" for n in range(3)]


def test_many_notes_of_a_file_stay_together_where_a_format_holds_many(tmp_path: Path) -> None:
    rows = [{"id": "n1", "text": "a note"}, {"id": "n2", "text": "a\0b"}, {"id": "n3", "text": "another"}]
    lay(tmp_path, {"notes.jsonl": lines(*rows)})
    outcome = to_folder([tmp_path / "notes.jsonl"], tmp_path / "out", write_as="i2b2-2006")
    reason = "cannot be written as i2b2-2006: the character at offset 1 cannot be written in XML"
    assert (outcome.done, reasons(outcome)) == (2, {"n2": reason})
    assert [doc.id for doc in batch.documents([tmp_path / "out"]) if isinstance(doc, Document)] == ["n1", "n3"]


def test_no_note_replaces_another_and_none_leaves_the_folder(tmp_path: Path) -> None:
    rows = [{"id": name, "text": text} for name, text in (("a", "first"), ("a", "second"), ("../x", "y"), ("b", "z"))]
    lay(tmp_path, {"notes.jsonl": lines(*rows)})
    outcome = Outcome()
    done = batch.results(same, batch.documents([tmp_path / "notes.jsonl"]), outcome)
    batch.write_as(done, "text", tmp_path / "out", outcome)
    assert outcome.done == 2
    assert reasons(outcome) == {
        "a": "cannot be written as text: another note of this run has its id, and so its file",
        "../x": "cannot be written as text: its id cannot be the name of a file below the output folder",
    }
    assert (tmp_path / "out" / "a.txt").read_text() == "first"
    assert names(tmp_path) == ["notes.jsonl", "out/a.txt", "out/b.txt"]


def test_what_one_file_cannot_hold_is_left_out_of_it(tmp_path: Path) -> None:
    crossing = (Span(0, 3, Label.DATE), Span(2, 5, Label.CITY))
    docs = [Document("a", "abcdef", crossing), Document("b", "abcdef", crossing[:1])]
    outcome = Outcome()
    batch.write_as(batch.results(same, docs, outcome), "conll", tmp_path / "o.conll", outcome)
    assert (outcome.done, list(reasons(outcome))) == (1, ["a"])
    assert [doc.id for doc in batch.documents([tmp_path / "o.conll"]) if isinstance(doc, Document)] == ["b"]


@pytest.mark.parametrize("form", ["text", "brat"])
def test_no_output_replaces_an_input(tmp_path: Path, form: str) -> None:
    """brat's second file has the name of the text it was made of."""
    lay(tmp_path, {"a.txt": "Okonkwo"})
    with pytest.raises(UsageError, match="the output folder would overwrite the input"):
        to_folder([tmp_path], tmp_path, write_as=form)
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "Okonkwo"


def test_a_file_is_no_folder_and_a_folder_no_file(tmp_path: Path) -> None:
    lay(tmp_path, {"a.txt": "one", "b.txt": "two"})
    with pytest.raises(UsageError, match="the output must be a folder"):
        to_folder([tmp_path / "a.txt"], tmp_path / "b.txt")
    with pytest.raises(UsageError, match="jsonl holds many notes in one file"):
        batch.write_as([], "jsonl", tmp_path, Outcome())


def test_a_package_that_is_missing_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cassis", None)
    lay(tmp_path / "in", {"a.txt": "one", "b.txt": "two"})
    with pytest.raises(MissingPackageError, match="this needs dkpro-cassis"):
        to_folder([tmp_path / "in"], tmp_path / "out", write_as="xmi")
    assert names(tmp_path) == ["in/a.txt", "in/b.txt"]


def test_a_full_disk_is_named_and_leaves_no_half_of_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []

    def full(handle: int) -> None:
        synced.append(handle)
        if len(synced) == 2:  # the second file of the first record
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    lay(tmp_path / "in", {"a.txt": "one", "b.txt": "two"})
    monkeypatch.setattr(os, "fsync", full)
    outcome = to_folder([tmp_path / "in"], tmp_path / "out", write_as="brat")
    assert reasons(outcome) == {"a": "cannot be written (No space left on device)"}
    assert (outcome.done, names(tmp_path / "out")) == (1, ["b.ann", "b.txt"])
    synced.clear()
    synced.append(0)
    with pytest.raises(OSError, match="No space left") as caught, batch.replacing(tmp_path / "x.txt") as stream:
        stream.write(b"half")
    assert caught.value.filename == str(tmp_path / "x.txt")
    assert not (tmp_path / "x.txt").exists()


# ---- standard input and output -------------------------------------------------------------------------------------


def given(monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(content.encode())))
    monkeypatch.setattr(sys, "stdin", stream)


@pytest.mark.parametrize(
    ("content", "form", "written"),
    [
        ("on Sunday", None, "on Sunday"),
        ('{"id": "n1", "text": "on Sunday"}\n', None, "DATE"),
        ("on Sunday", "jsonl", "DATE"),
        ('<?xml version="1.0"?><deIdi2b2><TEXT>on Sunday</TEXT><TAGS/></deIdi2b2>', None, "<DATE "),
    ],
)
def test_standard_input_is_told_by_its_first_bytes(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], content: str, form: str, written: str
) -> None:
    given(monkeypatch, content)
    outcome = to_folder([STANDARD], STANDARD, write_as=form)
    assert (outcome.done, outcome.failures) == (1, [])
    assert written.encode() in capfdbinary.readouterr().out


def test_standard_input_is_empty_too_large_or_of_no_known_format(monkeypatch: pytest.MonkeyPatch) -> None:
    for content, reason in (
        ("", "the file is empty"),
        ("x" * 11, "the file has more than 10 bytes, over the limit of 10; raise it with --max-bytes"),
        ("<html>", "cannot tell the format of standard input; say --from"),
    ):
        given(monkeypatch, content)
        (failure,) = batch.documents([STANDARD], limit=10)
        assert isinstance(failure, Failure)
        assert failure.id == "stdin"
        assert failure.reason.startswith(reason)


def test_standard_output_has_room_for_one_file(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    lay(tmp_path, {"a.txt": "one", "b.txt": "two"})
    outcome = to_folder([tmp_path], STANDARD)
    assert (outcome.done, list(reasons(outcome))) == (1, ["b"])
    assert capfdbinary.readouterr().out == b"one"
    assert list(reasons(to_folder([tmp_path / "a.txt"], STANDARD, write_as="brat"))) == ["a"]
    assert capfdbinary.readouterr().out == b""
    assert to_folder([tmp_path], STANDARD, write_as="jsonl").done == 2
    assert len(capfdbinary.readouterr().out.splitlines()) == 2
