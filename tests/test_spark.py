"""A real local Spark: any partitioning gives the same, and what the executors are given is little."""

import os
import pickle
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import deident
from tests.required import require

pyspark = require("pyspark", "spark")

from deident import spark as ours  # noqa: E402

# of pyspark itself: nothing here goes through pandas
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

KEY = b"a key of sixteen or more bytes"
COUNT = 60
SOURCE = Path(__file__).parents[1] / "src"


def rows() -> list[tuple[int, str, str, str | None, float]]:
    return [
        (
            n,
            f"MR-{77130400 + n % 7}",
            f"ward {n % 3}",
            None if n == 13 else f"Call 303-555-0{n:03} on 3/{n % 27 + 1}/21.",
            n / 2,
        )
        for n in range(COUNT)
    ]


NAMES = ["note_id", "pid", "ward", "note", "weight"]


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    before = dict(os.environ)
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join([str(SOURCE), *sys.path])}
    made: Any = SparkSession.builder  # pyright: ignore[reportUnknownVariableType]
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.driver.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "8",
    }.items():
        made = made.config(name, value)
    session = made.master("local[2]").appName("deident").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    os.environ.clear()
    os.environ.update(before)


def frame(session: Any, given: list[Any], partitions: int) -> Any:
    return session.createDataFrame(given, NAMES).repartition(partitions)


def test_scrubbing_is_the_same_on_any_partitions_and_as_for_a_text_alone(session: Any) -> None:
    settings: dict[str, Any] = {"detectors": ["patterns"], "replace": "surrogate", "key": KEY}
    alone = deident.load(**settings)
    wanted = {n: None if note is None else alone.scrub(note, patient=pid) for n, pid, _, note, _ in rows()}
    shuffled = rows()
    random.Random(3).shuffle(shuffled)
    for given, partitions in ((rows(), 1), (shuffled, 3)):
        columns: dict[str, Any] = {"text": "note", "patient": "pid", "fields": {"pid": "MRN"}}
        clean = ours.scrub(frame(session, given, partitions), **columns, keep=["note_id", "ward"], **settings)
        assert clean.columns == ["note_id", "pid", "ward", "note"]
        assert [kind for _, kind in clean.dtypes] == ["bigint", "string", "string", "string"]
        found = {row.note_id: row for row in clean.collect()}
        assert {n: row.note for n, row in found.items()} == wanted
        numbers = {row.pid for row in found.values()}
        assert len(numbers) == 7
        assert not numbers & {pid for _, pid, *_ in rows()}
        assert found[5].ward == "ward 2"
    without = ours.scrub(frame(session, rows()[:4], 2), text="note", keep=["note_id"], **settings).collect()
    assert {row.note_id: row.note for row in without} == {n: alone.scrub(str(note)) for n, _, _, note, _ in rows()[:4]}


def test_detecting_gives_spans_and_a_row_that_fails_says_why(session: Any) -> None:
    alone = deident.load(detectors=["patterns"])
    given = frame(session, rows()[:20], 2)
    found = ours.detect(given, text="note", keep=["note_id"], detectors=["patterns"]).collect()
    for row in found:
        note = rows()[row.note_id][3]
        spans = None if row.note is None else [(s.start, s.end, s.label, s.score) for s in row.note]
        expected = None if note is None else [(s.start, s.end, s.label.value, s.score) for s in alone.detect(note)]
        assert spans == expected
    options: dict[str, Any] = {"text": "note", "fields": {"weight": "IDNUM"}, "detectors": ["patterns"]}
    told = ours.scrub(given, **options, keep=["note_id"], errors="null").orderBy("note_id").collect()
    assert (told[2].note, told[2].deident_error) == ("Call [PHONE] on [DATE].", None)
    assert (told[3].note, told[3].weight) == (None, None)
    assert told[3].deident_error == "the column 'weight' holds a float, which is no identifier"
    with pytest.raises(Exception, match="ProcessingError") as caught:
        ours.scrub(given, **options).collect()
    assert "303-555" not in str(caught.value)


def test_files_of_the_settings_reach_the_executors(session: Any, tmp_path: Path) -> None:
    patterns, roster, policy = tmp_path / "our.toml", tmp_path / "roster.csv", tmp_path / "site.toml"
    patterns.write_text(
        '[study]\nlabel = "IDNUM"\nlooks_for = "a study number"\non = ["treat"]\n'
        "regex = '''TREAT-\\d{4}(?!\\d)'''\nfinds = [\"as <TREAT-0412>.\"]\npasses = [\"we treat 4 of them\"]\n"
    )
    roster.write_text("patient_id,name\np1,Ada Lund\n")
    policy.write_text('extends = "keep-providers"\n[treat]\nSTATE = "tag"\n')
    given = session.createDataFrame([("p1", "Lund, TREAT-0412, call 303-555-0182.")], ["pid", "note"])
    clean = ours.scrub(
        given,
        text="note",
        patient="pid",
        detectors=["patterns", "known"],
        patterns=[str(patterns)],
        roster=str(roster),
        policy=str(policy),
    )
    assert clean.collect()[0].note == "[PATIENT], [IDNUM], call [PHONE]."


def test_what_cannot_be_is_said_by_the_driver(session: Any) -> None:
    given = frame(session, rows()[:2], 1)
    with pytest.raises(deident.UsageError, match="there is no column 'nota'"):
        ours.scrub(given, text="nota")
    with pytest.raises(deident.UsageError, match=r"the column 'note_id' is of type (bigint|long), not a text"):
        ours.scrub(given, text="note_id")
    with pytest.raises(deident.UsageError, match="no detector 'x'; there are"):
        ours.scrub(given, text="note", detectors=["x"])
    with pytest.raises(deident.UsageError, match="errors must be 'raise' or 'null'"):
        ours.scrub(given, text="note", errors="ignore")  # pyright: ignore[reportArgumentType]


def test_the_executors_are_given_little_and_no_key_is_shown() -> None:
    work = ours._Work(  # pyright: ignore[reportPrivateUsage]
        "scrub", deident.Config(), KEY, KEY, deident.tables.Columns.of("note"), ("note",), "raise"
    )
    assert len(pickle.dumps(work)) < 4000
    assert repr(KEY) not in repr(work)
