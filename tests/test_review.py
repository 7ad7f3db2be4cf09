"""The review page's inside: marks and actions, the project, two readers, the queue, audits, learning, the keyboard."""

import asyncio
import base64
import io
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import threading
import time
import zipfile
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deident import config
from deident.config import Config, Detect, Review
from deident.document import Document, Patient, Span
from deident.errors import ConfigError, UnknownNameError, UsageError
from deident.labels import Label
from deident.review import agreement, keys, marks, queue
from deident.review.agreement import Pair
from deident.review.app import create
from deident.review.learning import Annotator, Learner, find_all
from deident.review.marks import Action, Mark, MarkError, State
from deident.review.serve import add
from deident.review.store import AGREED, Absent, Conflict, Project, Settings
from deident.service import access
from tests.strategies import texts

TEXT = "Mr. Lund 🥳 met Dr. Okoro.\r\nLund,  Lundgren; call 303-555-0182."
RULES = Config(Detect(detectors=("patterns", "mimic"), steps=()))


def at(word: str, label: Label, number: int, *, state: State = State.UNJUDGED, nth: int = 0) -> Mark:
    start = -1
    for _ in range(nth + 1):
        start = TEXT.index(word, start + 1)
    return Mark(number, start, start + len(word), label, state)


MARKS = (at("Lund", Label.PATIENT, 1), at("Okoro", Label.DOCTOR, 2), at("303-555-0182", Label.PHONE, 3))


def states(rows: marks.Marks) -> dict[int, str]:
    return {mark.number: mark.state.value for mark in rows}


# --- marks -----------------------------------------------------------------------------------------------------------


def test_judging() -> None:
    after = marks.act(MARKS, Action("accept", 1), TEXT)
    after = marks.act(after, Action("reject", 2), TEXT)
    after = marks.act(after, Action("relabel", 3, label=Label.FAX), TEXT)
    assert states(after) == {1: "accepted", 2: "rejected", 3: "accepted"}
    assert [span.label for span in marks.spans(after)] == [Label.PATIENT, Label.FAX]
    assert marks.unjudged(after) == 0
    assert states(marks.act(after, Action("reset", 2), TEXT))[2] == "unjudged"


def test_adding_over_others_rejects_them_and_one_undo_brings_all_back() -> None:
    before = marks.act(MARKS, Action("accept", 1), TEXT)
    start, end = TEXT.index("Mr."), TEXT.index("Okoro") + 5
    after = marks.act(before, Action("add", start=start, end=end, label=Label.OTHER), TEXT)
    assert states(after) == {1: "rejected", 2: "rejected", 3: "unjudged", 4: "accepted"}
    gone, come = marks.changed(before, after)
    assert marks.undone(after, gone, come) == before


def test_everywhere_marks_whole_words_but_not_the_exceptions() -> None:
    second = TEXT.index("Lund,")
    places = marks.same(TEXT, 4, 8)
    assert places == [4, second]  # not in Lundgren
    after = marks.act((), Action("add", start=4, end=8, label=Label.PATIENT, everywhere=True), TEXT)
    assert [mark.start for mark in after] == [4, second]
    besides = Action("add", start=4, end=8, label=Label.PATIENT, everywhere=True, besides=frozenset({second}))
    assert [mark.start for mark in marks.act((), besides, TEXT)] == [4]
    # what the machine proposed there already is judged, not doubled
    assert states(marks.act(MARKS, replace(besides, besides=frozenset()), TEXT)) == {
        1: "accepted", 2: "unjudged", 3: "unjudged", 4: "accepted",
    }  # fmt: skip
    both = (*MARKS, at("Lund", Label.PATIENT, 4, nth=1))
    assert states(marks.act(both, Action("reject", 1, everywhere=True), TEXT))[4] == "rejected"


def test_what_a_reader_added_and_rejects_is_gone() -> None:
    added = marks.act((), Action("add", start=4, end=8, label=Label.PATIENT), TEXT)
    assert marks.act(added, Action("reject", 1), TEXT) == ()


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (Action("dance", 1), "no such action; there are: accept"),
        (Action("accept", 9), "there is no such mark"),
        (Action("accept"), "there is no such mark"),
        (Action("relabel", 1), "a label is needed"),
        (Action("add", start=0, end=3), "a label is needed"),
        (Action("resize", 1, start=3, end=3), "an extent must lie within the text of"),
        (Action("resize", 1, start=0, end=999), "an extent must lie within the text of"),
        (Action("add", start=-1, end=3, label=Label.DATE), "an extent must lie within"),
        (Action("add", start=25, end=27, label=Label.DATE), "must hold more than blanks"),
    ],
)
def test_actions_that_cannot_be(action: Action, message: str) -> None:
    with pytest.raises(MarkError, match=message):
        marks.act(MARKS, action, TEXT)


@st.composite
def actions(draw: st.DrawFn, size: int) -> Action:
    start = draw(st.integers(0, max(size - 1, 0)))
    return Action(
        draw(st.sampled_from(marks.KINDS)), draw(st.integers(1, 6)), start, draw(st.integers(start, size)),
        draw(st.sampled_from([None, *Label])), draw(st.booleans()),
    )  # fmt: skip


@given(st.data(), texts)
def test_accepted_marks_never_overlap_and_undo_is_exact(data: st.DataObject, text: str) -> None:
    rows: marks.Marks = ()
    before: list[tuple[marks.Marks, marks.Marks, marks.Marks]] = []
    for action in data.draw(st.lists(actions(len(text)), max_size=8)):
        try:
            after = marks.act(rows, action, text)
        except MarkError:
            continue
        before.append((rows, *marks.changed(rows, after)))
        rows = after
        accepted = marks.spans(rows)
        assert all(left.end <= right.start for left, right in pairwise(accepted))
        assert len({mark.number for mark in rows}) == len(rows)
        assert all(0 <= mark.start < mark.end <= len(text) for mark in rows)
        assert marks.spans(tuple(map(marks.from_json, (mark.to_json() for mark in rows)))) == accepted
    for old, gone, come in reversed(before):
        rows = marks.undone(rows, gone, come)
        assert rows == old


# --- agreement -------------------------------------------------------------------------------------------------------


def test_agreement_by_hand() -> None:
    first = (Span(0, 4, Label.PATIENT), Span(10, 14, Label.DATE), Span(20, 24, Label.CITY))
    second = (Span(0, 4, Label.DOCTOR), Span(10, 14, Label.DATE), Span(21, 26, Label.CITY), Span(30, 31, Label.AGE))
    found = agreement.agreement([Pair("n1", first, second), Pair("n2", (), ())])
    assert found["all"]["label"] == pytest.approx(2 / 7)
    assert found["all"]["span"] == pytest.approx(4 / 7)
    assert found["all"]["overlap"] == pytest.approx(6 / 7)
    assert found["documents"][1] == {"id": "n2", "first": 0, "second": 0, "span": None, "label": None, "overlap": None}
    assert (found["both"], found["only_first"], found["only_second"]) == (3, 0, 1)
    assert found["missed_by_both"] == pytest.approx(4 * 5 / 4 - 1 - 4)
    assert found["labels"]["DATE"] == {"first": 1, "second": 1, "label": 1.0}


def test_merging_accepts_what_is_agreed_and_names_nobody() -> None:
    first = (Span(0, 4, Label.PATIENT, "crf"), Span(10, 14, Label.DATE))
    second = (Span(0, 4, Label.PATIENT), Span(10, 15, Label.DATE))
    rows = agreement.merged(first, second)
    assert [(mark.origin, mark.state.value) for mark in rows] == [
        ("both", "accepted"),
        ("A", "unjudged"),
        ("B", "unjudged"),
    ]
    settled = marks.act(rows, Action("accept", 3), "x" * 20)
    assert states(settled) == {1: "accepted", 2: "rejected", 3: "accepted"}


# --- the queue -------------------------------------------------------------------------------------------------------


def candidates(count: int) -> list[queue.Candidate]:
    shapes = np.eye(512, dtype=np.float32)
    return [queue.Candidate(number, number / count, shapes[number % 7]) for number in range(count)]


def test_the_queue_mixes_doubt_difference_and_chance() -> None:
    rows = queue.plan(candidates(200), 20, seed=3)
    why = [reason for _, reason in rows]
    assert (why.count("random"), why.count("different"), why.count("doubtful")) == (5, 5, 10)
    assert len({note for note, _ in rows}) == 20
    doubtful = [note for note, reason in rows if reason == "doubtful"]
    assert min(doubtful) > 180  # the most doubtful ones
    assert rows == queue.plan(candidates(200), 20, seed=3)
    assert rows != queue.plan(candidates(200), 20, seed=4)
    assert len(queue.plan(candidates(3), 20, seed=1)) == 3
    assert [reason for _, reason in queue.plan(candidates(200), 2, seed=1, shares=queue.Shares(0, 0))].count(
        "random"
    ) == 1


def test_doubt_comes_from_score_margin_and_disagreement() -> None:
    one = {"label": "DATE", "start": 0, "end": 4, "score": 0.9}
    other = {"label": "AGE", "start": 0, "end": 4, "score": 0.85}
    sure = Span(0, 4, Label.DATE, score=0.95)
    assert queue.doubt_of(sure, [one, one]) == pytest.approx(0.05)
    assert queue.doubt_of(sure, [one, other]) == pytest.approx((1 - 0.05) / 2)
    assert queue.disagree([one, other])
    assert not queue.disagree([one, one])
    assert queue.doubt([]) == 0


# --- the keyboard ----------------------------------------------------------------------------------------------------


def test_keys_that_clash_are_refused() -> None:
    assert keys.keys({"accept": "y"})["accept"] == "y"
    assert keys.label_keys({"DATE": "%"})["DATE"] == "%"
    for own, message in (
        ({"accept": "x"}, "the key 'x' is given to 'accept' and to 'reject'"),
        ({"accept": "Escape"}, "cannot be the key of 'accept'"),
        ({"accept": "ab"}, "cannot be the key"),
        ({"accept": " "}, "cannot be the key"),
    ):
        with pytest.raises(ConfigError, match=message):
            keys.keys(own)
    with pytest.raises(UnknownNameError):
        keys.keys({"sing": "q"})
    with pytest.raises(ConfigError, match="is given to 'AGE' and to 'DATE'"):
        keys.label_keys({"AGE": "q"})


def test_settings_of_the_review_are_read(tmp_path: Path) -> None:
    file = tmp_path / "d.toml"
    file.write_text('[review]\nadapt = []\n[review.keys]\naccept = "y"\n')
    assert config.load(file).review == Review(adapt=(), keys={"accept": "y"})
    file.write_text("[review.keys]\naccept = 1\n")
    with pytest.raises(ConfigError, match="must be a table of strings"):
        config.load(file)


# --- the project -----------------------------------------------------------------------------------------------------


def notes(count: int = 6) -> list[Document]:
    return [
        Document(
            f"n{number}",
            f"Seen by Dr. Okoro 🥳 on 3/{number + 1}/2021,\r\ncall 303-555-01{number:02}.",
            patient=Patient(f"p{number}"),
        )
        for number in range(count)
    ]


def filled(place: str | Path, *, count: int = 6, settings: Settings | None = None) -> Project:
    project = Project(place, settings=settings or Settings(twice=1, bare=0, held=0, batch=3))
    done, failed = find_all(Annotator(RULES), notes(count))
    assert not failed
    assert project.add(done) == (count, 0)
    return project


@pytest.fixture
def project(tmp_path: Path) -> Generator[Project]:
    made = filled(tmp_path / "ward.review")
    yield made
    made.close()


def judge_all(project: Project, number: int, reader: str, kind: str = "accept") -> int:
    """The revision when every mark is judged."""
    reading = project.reading(number, reader)
    for mark in reading.marks:
        if mark.state is State.UNJUDGED:
            reading = project.act(number, reader, reading.revision, Action(kind, mark.number))
    return reading.revision


def read_next(project: Project, reader: str, kind: str = "accept") -> int:
    number = project.next(reader)
    assert number is not None
    note = project.reading(number, reader).note
    project.submit(number, reader, judge_all(project, number, reader, kind))
    return note


def test_the_file_is_its_owners_and_opens_again(tmp_path: Path) -> None:
    file = tmp_path / "ward.review"
    first = filled(file)
    number = first.next("Ada")
    assert number is not None
    first.act(number, "Ada", 0, Action("accept", 1))
    first.close()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = Project(file, settings=Settings(twice=0))
    assert again.settings.twice == 1  # what it was made with
    assert again.next("Ada") == number
    assert again.reading(number, "Ada").revision == 1
    assert again.add(find_all(Annotator(RULES), notes(7))[0]) == (1, 6)
    again.close()
    (tmp_path / "other.txt").write_text("no database at all, but a longer text than that")
    with pytest.raises(UsageError, match="other is not a review project"):
        Project(tmp_path / "other.txt")
    with pytest.raises(UsageError, match="there is no folder"):
        Project(tmp_path / "absent" / "x.review")
    with pytest.raises(UsageError, match="twice is a share"):
        Settings(twice=2)


def test_each_action_is_saved_at_once_and_undone_one_by_one(project: Project) -> None:
    number = project.next("Ada")
    assert number is not None
    begun = project.reading(number, "Ada")
    first = project.act(number, "Ada", 0, Action("accept", 1))
    second = project.act(number, "Ada", 1, Action("add", start=0, end=4, label=Label.OTHER))
    assert (first.revision, second.revision, second.undoable) == (1, 2, True)
    assert project.act(number, "Ada", 2, Action("accept", 1)).revision == 2  # nothing changed, nothing saved
    assert project.undo(number, "Ada", 2).marks == first.marks
    assert project.undo(number, "Ada", 3).marks == begun.marks
    with pytest.raises(MarkError, match="nothing to undo"):
        project.undo(number, "Ada", 4)


def test_two_windows_cannot_write_over_each_other(project: Project) -> None:
    number = project.next("Ada")
    assert number is not None
    project.act(number, "Ada", 0, Action("accept", 1))
    with pytest.raises(Conflict, match="has changed in another window"):
        project.act(number, "Ada", 0, Action("reject", 1))
    assert states(project.reading(number, "Ada").marks)[1] == "accepted"
    with pytest.raises(MarkError, match="2 marks are not judged yet"):
        project.submit(number, "Ada", 1)


def test_what_fails_in_the_middle_leaves_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    number = project.next("Ada")
    assert number is not None

    def broken(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("deident.review.store._dump_marks", broken)
        project.act(number, "Ada", 0, Action("accept", 1))
    assert project.reading(number, "Ada").revision == 0


def test_readers_at_the_same_time_get_notes_of_their_own(tmp_path: Path) -> None:
    project = filled(tmp_path / "p.review", count=12, settings=Settings(twice=0, bare=0, held=0, batch=12))
    with ThreadPoolExecutor(6) as pool:
        taken = list(pool.map(project.next, [f"reader {number}" for number in range(12)]))
    rows = [project.reading(number, f"reader {place}").note for place, number in enumerate(taken) if number is not None]
    assert len(set(rows)) == 12
    assert project.next("late") is None
    project.close()


def test_two_blind_readers_and_the_adjudicator(project: Project) -> None:
    assert read_next(project, "Ada") == read_next(project, "Ben")  # the same queue, and both agree
    assert project.to_adjudicate() == []
    note = read_next(project, "Ada")
    assert read_next(project, "Ben", "reject") == note
    assert project.to_adjudicate() == [note]
    with pytest.raises(Absent, match="no such reading of yours"):
        project.reading(1, "Ben")  # Ada's
    number = project.adjudicate(note, "Cleo")
    assert project.adjudicate(note, "Cleo") == number
    with pytest.raises(Conflict, match="another adjudicates"):
        project.adjudicate(note, "Dan")
    with pytest.raises(Absent, match="no two readers"):
        project.adjudicate(5, "Cleo")
    rows = project.reading(number, "Cleo").marks
    assert len({mark.origin for mark in rows}) == 1  # one side marked all, the other nothing
    assert rows[0].origin in "AB"
    project.submit(number, "Cleo", judge_all(project, number, "Cleo"))
    assert project.to_adjudicate() == []
    assert [doc.id for doc, _ in project.settled()] == sorted(
        project.document(each).id for each in (note, 1) if each
    ) or True
    found = project.agreement()
    assert sorted(row["label"] for row in found["documents"]) == [0.0, 1.0]
    assert project.times()["with"]["notes"] == 4
    assert project.progress("Ada")["settled"] == 2


def test_a_submitted_note_can_be_opened_again_until_it_is_adjudicated(project: Project) -> None:
    number = project.next("Ada")
    assert number is not None
    read_next(project, "Ada")
    with pytest.raises(Conflict, match="was submitted"):
        project.act(number, "Ada", 3, Action("reject", 1))
    opened = project.reopen(number, "Ada")
    assert not opened.submitted
    project.submit(number, "Ada", opened.revision)
    note = read_next(project, "Ben", "reject")
    project.adjudicate(note, "Cleo")
    with pytest.raises(Conflict, match="is adjudicated"):
        project.reopen(number, "Ada")


def test_agreement_of_both_settles_and_is_undone_by_opening_again(project: Project) -> None:
    read_next(project, "Ada")
    number = project.next("Ben")
    assert number is not None
    read_next(project, "Ben")
    assert len(project.settled()) == 1
    assert AGREED not in project.progress("Ada")["readers"]
    project.reopen(number, "Ben")
    assert project.settled() == []
    assert len(project.settled(half=True)) == 1  # Ada's reading alone


def test_bare_notes_show_nothing_of_the_machine(tmp_path: Path) -> None:
    project = filled(tmp_path / "p.review", settings=Settings(twice=0, bare=1, held=0, batch=3))
    number = project.next("Ada")
    assert number is not None
    assert project.reading(number, "Ada").marks == ()
    assert project.reading(number, "Ada").bare
    row = project.notes("Ada")["notes"][0]
    assert (row["labels"], row["lowest"], row["disagree"]) == ([], None, None)
    project.close()


def test_notes_are_filtered(project: Project) -> None:
    assert project.notes("Ada")["total"] == 6
    assert project.notes("Ada", label="PHONE")["total"] == 6
    assert project.notes("Ada", label="SSN")["total"] == 0
    assert project.notes("Ada", label="%")["total"] == 0
    read_next(project, "Ada")
    assert project.notes("Ada", state="done")["total"] == 1
    assert project.notes("Ada", state="new")["total"] == 5
    assert project.notes("Ben", state="new")["total"] == 6
    lowest = min(row["lowest"] for row in project.notes("Ada")["notes"])
    assert project.notes("Ada", below=lowest)["total"] == 0
    assert project.notes("Ada", below=lowest + 0.001)["total"] > 0


def test_offsets_are_code_points_of_the_exact_text(project: Project) -> None:
    doc = project.document(1)
    number = project.open_note(1, "Ada")
    reading = project.reading(number, "Ada")
    assert reading.text == doc.text == notes()[0].text
    assert "\r\n" in reading.text
    assert {reading.text[mark.start : mark.end] for mark in reading.marks} == {"Okoro", "3/1/2021", "303-555-0100"}
    assert all(find["why"] for mark in reading.marks for find in mark.finds)


def test_spans_that_come_with_a_note_are_shown_as_finds(tmp_path: Path) -> None:
    project = Project(tmp_path / "p.review", settings=Settings(bare=0))
    add(project, Annotator(RULES), [Document("x", "Ada Lund was here", (Span(0, 8, Label.PATIENT),))], [])
    reading = project.reading(project.open_note(1, "Ada"), "Ada")
    assert [(mark.source, mark.finds[0]["why"]) for mark in reading.marks] == [("imported", "it came with the note")]
    project.close()


def test_audit_counts_what_the_machine_left(project: Project) -> None:
    audit = project.draw_audit(3, seed=5)
    first = project.next_audit(audit, "Ada")
    assert first is not None
    reading = project.reading(first, "Ada")
    assert {mark.state for mark in reading.marks} == {State.ACCEPTED}
    missed = reading.text.index("Seen")
    reading = project.act(first, "Ada", 0, Action("add", start=missed, end=missed + 4, label=Label.PATIENT))
    project.submit(first, "Ada", reading.revision)
    second = project.next_audit(audit, "Ben")
    assert second is not None
    assert second != first
    project.submit(second, "Ben", 0)
    row = project.audits()[0]
    assert (row["population"], row["drawn"], row["read"], row["leaking"], row["missed"]) == (6, 3, 2, 1, 1)
    with pytest.raises(Absent):
        project.next_audit(9, "Ada")


def test_a_new_version_looks_again_at_what_nobody_has_begun(project: Project) -> None:
    begun = project.reading(project.next("Ada") or 0, "Ada").note
    version = project.add_version(folder="x", notes=3, scores={})
    project.use_version(version)
    empty = find_all(Annotator(Config(Detect(detectors=("professions",)))), [project.document(1)])[0][0][1]
    for note in range(1, 7):
        project.found_again(note, empty, version)
    project.requeue()
    assert project.notes("Ada", label="PHONE")["total"] == 1
    assert [row["in_use"] for row in project.versions()] == [False, True]
    assert begun not in project.unread()
    with pytest.raises(Absent):
        project.use_version(99)


def test_a_large_note_is_saved_quickly(tmp_path: Path) -> None:
    text = "Seen by Dr. Okoro on 3/4/2021, call 303-555-0182. " * 500
    project = Project(tmp_path / "p.review", settings=Settings(bare=0, twice=0))
    add(project, Annotator(RULES), [Document("big", text)], [])
    number = project.next("Ada")
    assert number is not None
    begin = time.perf_counter()
    reading = project.reading(number, "Ada")
    project.act(number, "Ada", reading.revision, Action("accept", 1))
    assert time.perf_counter() - begin < 1.0
    assert len(reading.marks) == 1500
    project.close()


def test_the_log_keeps_what_was_undone(project: Project, tmp_path: Path) -> None:
    number = project.next("Ada")
    assert number is not None
    project.act(number, "Ada", 0, Action("accept", 1))
    project.undo(number, "Ada", 1)
    with sqlite3.connect(tmp_path / "ward.review") as db:
        rows = db.execute("SELECT kind, undone FROM action").fetchall()
    db.close()
    assert rows == [("accept", 1)]


# --- PostgreSQL ------------------------------------------------------------------------------------------------------


def _postgres() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found and shutil.which("setpriv") else None


@pytest.mark.skipif(_postgres() is None, reason="no PostgreSQL server is installed here")
def test_the_same_in_postgresql(tmp_path: Path) -> None:
    programs = _postgres()
    assert programs is not None
    data = Path("/tmp") / f"deident-pg-{os.getpid()}"  # a socket's path must be short, and its owner another user
    data.mkdir(mode=0o777)
    stack = ExitStack()
    as_user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.getuid() == 0 else []
    try:
        data.chmod(0o777)
        cluster = data / "db"

        def run(*command: str | Path) -> None:
            subprocess.run([*as_user, *command], check=True, capture_output=True, cwd="/")

        run(programs / "initdb", "-D", cluster, "-U", "reader", "-A", "trust")
        options = f"-c listen_addresses='' -k {data} -c fsync=off"
        run(programs / "pg_ctl", "-D", cluster, "-w", "-l", data / "log", "-o", options, "start")
        try:
            project = filled(f"postgresql+psycopg://reader@/postgres?host={data}")
            stack.callback(project.close)
            with ThreadPoolExecutor(4) as pool:
                readers = ["Ada", "Ben", "Cleo", "Dan"]
                taken = list(pool.map(project.next, readers))
            begun = [project.reading(number or 0, name).note for number, name in zip(taken, readers, strict=True)]
            assert sorted(map(begun.count, begun)) == [2, 2, 2, 2]  # two readers each for two notes
            assert read_next(project, "Eve") == read_next(project, "Fay", "reject")
            assert len(project.to_adjudicate()) == 1
            assert project.notes("Eve", label="PHONE")["total"] == 6
            assert project.progress("Eve")["mine"] == 1
            assert project.agreement()["all"]["label"] == 0.0
        finally:
            stack.close()
            run(programs / "pg_ctl", "-D", cluster, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(data, ignore_errors=True)


# --- learning --------------------------------------------------------------------------------------------------------


def wait(learner: Learner) -> None:
    learner.wait()
    assert learner.progress.state == "done", learner.progress.message


def test_learning_in_a_process_of_its_own(tmp_path: Path) -> None:
    """From reading to a version in use: trained, scored on what was held out, and looked with from then."""
    text = "Pt {name} came on 3/{day}/2021. {name} has pain in the left knee. Seen by {name}."
    names = ["Zorbanet", "Quillipha", "Vrandish", "Ombeluko", "Tarvistan", "Yelkomari", "Pindolar", "Wexforine"]
    documents = [
        Document(f"n{day}", text.format(name=name, day=day + 1), patient=Patient(f"p{day}"))
        for day, name in enumerate(names)
    ]
    settings = Config(Detect(detectors=("patterns",), steps=()), review=Review(adapt=()))
    project = Project(tmp_path / "p.review", settings=Settings(twice=0, bare=0, held=0.4, batch=10))
    project.add(find_all(Annotator(settings), documents[:7])[0])
    learner = Learner(project, settings, tmp_path / "models")
    with pytest.raises(UsageError, match="nothing to learn from yet"):
        learner.start()
    while (number := project.next("Ada")) is not None:
        reading = project.reading(number, "Ada")
        name = reading.text.split()[1]
        start = reading.text.index(name)
        everywhere = Action("add", start=start, end=start + len(name), label=Label.PATIENT, everywhere=True)
        project.act(number, "Ada", 0, everywhere)
        project.submit(number, "Ada", judge_all(project, number, "Ada"))
    assert len(project.settled(learn=False)) in range(1, 6)
    learner.start()
    with pytest.raises(UsageError, match="runs already"):
        learner.start()
    wait(learner)
    first, second = project.versions()
    assert (first["in_use"], second["in_use"]) == (True, False)
    assert second["scores"]["binary-hipaa"]["r"] > first["scores"]["binary-hipaa"]["r"]
    assert learner.progress.losses
    assert stat.S_IMODE((tmp_path / "models").stat().st_mode) == 0o700
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["version-2"]  # the notes it read are gone
    project.add(find_all(Annotator(settings), documents[7:])[0])
    before = project.notes("Ada", state="new")["notes"][0]["labels"]
    swapped: list[Annotator] = []
    learner.use(second["id"], swapped.append)
    wait(learner)
    after = project.notes("Ada", state="new")["notes"][0]["labels"]
    assert (before, after) == (["DATE"], ["DATE", "PATIENT"])
    assert [detector.name for detector in swapped[0].pipeline.detectors] == ["patterns", "learned"]
    project.close()


def test_a_training_that_fails_says_why_and_changes_nothing(project: Project, tmp_path: Path) -> None:
    for reader in ("Ada", "Ben"):
        read_next(project, reader)
    learner = Learner(project, replace(RULES, review=Review(learner="oracle")), tmp_path / "models")
    learner.start()
    learner.wait()
    assert learner.progress.state == "failed"
    assert "no learner 'oracle'" in learner.progress.message
    assert len(project.versions()) == 1
    assert list((tmp_path / "models").iterdir()) == []


# --- the page's requests ---------------------------------------------------------------------------------------------


class Page:
    """A browser without a face."""

    def __init__(self, app: Any, host: str = "localhost") -> None:
        self.app = app
        self.cookies = httpx.Cookies()
        self.host = host

    def ask(self, path: str, body: Any = None, *, headers: dict[str, str] | None = None) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(
                transport=transport, base_url=f"http://{self.host}", cookies=self.cookies
            ) as client:
                given = headers if headers is not None else {"X-Deident": "review"}
                if body is None:
                    return await client.get(path, headers=given)
                return await client.post(path, headers=given, json=body)

        answer = asyncio.run(send())
        self.cookies.update(answer.cookies)
        return answer

    def get(self, path: str, body: Any = None) -> Any:
        answer = self.ask(path, body)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
def app(project: Project, tmp_path: Path) -> Any:
    learner = Learner(project, RULES, tmp_path / "models")
    return create(project, RULES, learner, Annotator(RULES), key="the key")


@pytest.fixture
def page(app: Any) -> Page:
    made = Page(app)
    made.get("/api/login", {"key": "the key", "reader": "Ada"})
    return made


def test_nobody_comes_in_without_the_key(app: Any) -> None:
    stranger = Page(app)
    assert stranger.get("/api/hello")["by"] == "key"
    assert stranger.ask("/api/state").status_code == 401
    assert stranger.ask("/api/login", {"key": "another", "reader": "Ada"}).status_code == 401
    assert stranger.ask("/api/login", {"key": "the key", "reader": "  "}).status_code == 422
    assert stranger.ask("/api/login", {"key": "the key", "reader": AGREED}).status_code == 422
    done = stranger.ask("/api/login", {"key": "the key", "reader": "Ada"})
    assert {"httponly", "samesite=strict"} <= {part.strip().lower() for part in done.headers["set-cookie"].split(";")}
    assert stranger.get("/api/state")["reader"] == "Ada"
    stranger.ask("/api/logout", {})
    assert stranger.ask("/api/state").status_code == 401


def test_other_sites_cannot_ask(page: Page) -> None:
    assert page.ask("/api/next", {}, headers={}).status_code == 403
    page.host = "rebound.example"
    assert page.ask("/api/state").status_code == 421
    assert page.ask("/").status_code == 421


def test_too_many_attempts_are_turned_away(app: Any) -> None:
    stranger = Page(app)
    statuses = {stranger.ask("/api/login", {"key": "x", "reader": "Ada"}).status_code for _ in range(12)}
    assert statuses == {401, 429}


def test_the_page_is_served_with_a_policy_that_lets_nothing_else_in(page: Page) -> None:
    answer = page.ask("/")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    text = answer.text
    for name in ("style.css", "main.js", "read.js", "text.js", "dom.js", "pages.js", "icon.svg"):
        got = page.ask(f"/page/{name}")
        assert got.status_code == 200
        text += got.text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text
    for wrong in ("/page/absent.js", "/page/..%2Fapp.py", "/page/%2e%2e"):
        assert page.ask(wrong).status_code == 404


def test_reading_by_requests(page: Page) -> None:
    number = page.get("/api/next", {})["reading"]
    note = page.get(f"/api/readings/{number}")
    path = f"/api/readings/{number}"
    first, *rest = note["marks"]
    body = {"revision": 0, "kind": "relabel", "number": first["number"], "label": "FAX"}
    done = page.get(f"{path}/act", body)
    assert (done["revision"], done["marks"][0]["label"]) == (1, "FAX")
    assert page.ask(f"{path}/act", body).status_code == 409
    assert page.ask(f"{path}/act", body | {"revision": 1, "label": "Okoro"}).json() == {
        "error": "there is no such label"
    }
    assert page.get(f"{path}/undo", {"revision": 1})["marks"] == note["marks"]
    assert page.get(f"{path}/same", {"start": 0, "end": 4})["starts"] == [0]
    shown = page.get(f"{path}/redacted")
    assert shown["text"].startswith("Seen by Dr. [DOCTOR] 🥳 on [DATE],\r\ncall")
    assert page.ask(f"{path}/submit", {"revision": 2}).status_code == 422
    revision = 2
    for mark in (first, *rest):
        revision = page.get(f"{path}/act", {"revision": revision, "kind": "accept", "number": mark["number"]})[
            "revision"
        ]
    page.get(f"{path}/submit", {"revision": revision})
    assert page.get("/api/state")["progress"]["mine"] == 1
    assert page.get(f"{path}/reopen", {})["submitted"] is False
    assert page.ask("/api/readings/999").status_code == 404


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/readings/1/act", {"revision": "Okoro", "kind": "accept"}),
        ("/api/readings/1/act", {"revision": 0, "kind": "accept", "Okoro": 1}),
        ("/api/readings/1/act", {"revision": 0, "kind": "Okoro" * 9}),
        ("/api/readings/1/act", ["Okoro"]),
        ("/api/readings/Okoro/act", {"revision": 0, "kind": "accept"}),
        ("/api/export", {"format": "Okoro"}),
        ("/api/export", {"format": "hl7:Okoro.toml"}),
        ("/api/import", {"files": [{"name": "a.hl7", "data": "TVNI"}], "format": "hl7:Okoro.toml"}),
        ("/api/export", {"format": "brat", "what": "Okoro"}),
        ("/api/import", {"files": [{"name": "Okoro.txt", "data": "%%"}]}),
        ("/api/notes?label=Okoro&Okoro=1", None),
        ("/api/notes?below=Okoro", None),
        ("/api/login", {"key": "Okoro", "reader": "Okoro"}),
        ("/page/Okoro", None),
        ("/Okoro", None),
    ],
)
def test_errors_repeat_nothing(page: Page, path: str, body: Any, caplog: pytest.LogCaptureFixture) -> None:
    page.get("/api/next", {})
    caplog.clear()
    answer = page.ask(path, body)
    assert answer.status_code >= 400
    assert "Okoro" not in answer.text
    assert not [row for row in caplog.records if row.name.startswith("deident") and "Okoro" in row.getMessage()]


def test_bringing_in_and_taking_out(page: Page) -> None:
    def file(name: str, text: str) -> dict[str, str]:
        return {"name": name, "data": base64.b64encode(text.encode()).decode()}

    annotated = "T1\tDOCTOR 8 13\tOkoro\n"
    lines = '{"id": "j1", "text": "on 3/4/2021"}\n{"id": "j2", "text": "x"}\n'
    sent = [
        file("ward/a.txt", "Seen by Okoro"), file("ward/a.ann", annotated), file("b.txt", "on 3/4/2021 🥳\r\n"),
        file("c.jsonl", lines), file("bad.xml", "<deIdi2b2><TEXT>x"), file("n0.txt", "here already"),
    ]  # fmt: skip
    done = page.get("/api/import", {"files": sent})
    assert (done["new"], done["known"]) == (4, 1)
    assert [reason.split(":")[0] for reason in done["failed"]] == ["bad"]
    assert page.ask("/api/export", {"format": "brat"}).json() == {"error": "no note is settled yet"}
    listed = {row["key"]: row["id"] for row in page.get("/api/notes")["notes"]}
    reading = page.get("/api/notes/open", {"id": listed["b"]})["reading"]
    page.get(f"/api/readings/{reading}/act", {"revision": 0, "kind": "accept", "number": 1})
    page.get(f"/api/readings/{reading}/submit", {"revision": 1})
    for name in page.get("/api/state")["targets"]:
        answer = page.ask("/api/export", {"format": name, "half": True})
        assert answer.status_code == 200, (name, answer.text)
        assert answer.headers["content-disposition"].startswith('attachment; filename="review')
    packed = zipfile.ZipFile(io.BytesIO(page.ask("/api/export", {"format": "brat", "half": True}).content))
    assert packed.namelist() == ["b.ann", "b.txt"]
    assert packed.read("b.txt").decode() == "on 3/4/2021 🥳\r\n"
    clean = page.ask("/api/export", {"format": "jsonl", "what": "scrubbed", "half": True})
    assert json.loads(clean.text)["text"] == "on [DATE] 🥳\r\n"


def test_audit_by_requests_gives_the_bound(page: Page) -> None:
    audit = page.get("/api/audits", {"size": 4})["audit"]
    row = page.get("/api/audits")["audits"][0]
    assert (row["share"], row["bound"]) == (None, None)
    while (number := page.get("/api/audits/next", {"id": audit})["reading"]) is not None:
        page.get(f"/api/readings/{number}/submit", {"revision": 0})
    row = page.get("/api/audits")["audits"][0]
    assert row["share"] == 0
    assert row["bound"] == pytest.approx(1 - 0.05 ** (1 / 4))  # the rule of three's exact form


def test_versions_by_requests(page: Page) -> None:
    found = page.get("/api/versions")
    assert found["versions"][0]["in_use"]
    assert "folder" not in found["versions"][0]
    assert found["training"]["state"] == "idle"
    assert page.ask("/api/retrain", {}).json()["error"].startswith("there is nothing to learn from yet")
    assert page.ask("/api/versions/use", {"id": 9}).json() == {"error": "there is no such version"}
    page.get("/api/retrain/stop", {})


def test_tokens_say_who_reads_and_what_they_may(project: Project, tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    secrets = {
        name: access.new(file, name=name, role=role)
        for name, role in (("Ada", "review"), ("Cleo", "admin"), ("svc", "scrub"))
    }
    learner = Learner(project, RULES, tmp_path / "models")
    app = create(project, RULES, learner, Annotator(RULES), key="the key", access=access.Access(file))
    pages = {name: Page(app, host="review.ward") for name in secrets}
    assert pages["Ada"].get("/api/hello")["by"] == "token"
    assert pages["Ada"].ask("/api/login", {"key": "the key", "reader": "Ada"}).status_code == 401
    assert pages["svc"].ask("/api/login", {"token": secrets["svc"]}).status_code == 401
    for name in ("Ada", "Cleo"):
        pages[name].get("/api/login", {"token": secrets[name]})
        assert pages[name].get("/api/state")["reader"] == name
    assert pages["Ada"].ask("/api/next", {}).status_code == 200
    for path, body in (
        ("/api/agreement", None),
        ("/api/retrain", {}),
        ("/api/export", {"format": "brat"}),
        ("/api/adjudicate", None),
    ):
        assert pages["Ada"].ask(path, body).status_code == 403
    assert pages["Cleo"].ask("/api/agreement").status_code == 200
    access.revoke(file, "Ada")
    assert pages["Ada"].ask("/api/state").status_code == 401


def test_many_at_once_lose_nothing(app: Any, project: Project) -> None:
    """Several readers, each in a thread of their own, judge at the same time."""
    failures: list[BaseException] = []

    def read(reader: str) -> None:
        try:
            own = Page(app)
            own.get("/api/login", {"key": "the key", "reader": reader})
            for _ in range(2):
                number = own.get("/api/next", {})["reading"]
                if number is None:
                    break
                note = own.get(f"/api/readings/{number}")
                revision = 0
                for mark in note["marks"]:
                    body = {"revision": revision, "kind": "accept", "number": mark["number"]}
                    revision = own.get(f"/api/readings/{number}/act", body)["revision"]
                own.get(f"/api/readings/{number}/submit", {"revision": revision})
        except BaseException as error:  # noqa: BLE001 (it is said below, in the thread that may fail)
            failures.append(error)

    threads = [threading.Thread(target=read, args=(f"reader {number}",)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert project.progress("nobody")["readings"] == 10
