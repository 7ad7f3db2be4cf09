"""Tables of files and databases: named columns out, rows that fail left out and told, all of it or nothing."""

import csv
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from pyarrow import parquet
from sqlalchemy import exc

from deident.batch import tables
from deident.batch.tables import Told
from deident.config import Config, Detect, Scrub
from deident.errors import FormatError, UsageError
from deident.surrogates import make_key
from deident.tables import Columns
from tests.required import lacking

SECRET = "Okonkwo"
COLUMNS = Columns.of("note", patient="mrn", id="id", fields={"mrn": "MRN"}, keep=["ward"])
NAMES = ["id", "mrn", "ward", "note", "phone"]
CONFIG = Config(detect=Detect(("patterns",)))


def rows(count: int = 150) -> list[tuple[int, str, str, str, str]]:
    return [
        (n, f"MR-{77130400 + n % 7}", f"ward {n % 3}", f'Line one\nCall 303-555-0{n:03}, "on" 3/4/21.', SECRET)
        for n in range(count)
    ]


def keyed(tmp_path: Path) -> Config:
    if not (tmp_path / "k").exists():
        make_key(tmp_path / "k")
    return Config(detect=CONFIG.detect, scrub=Scrub(replace="surrogate", key_file=str(tmp_path / "k")))


def written(path: Path, delimiter: str = ",", count: int = 150) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        out = csv.writer(stream, delimiter=delimiter)
        out.writerow(NAMES)
        out.writerows(rows(count))
    return path


def scrub(path: Path, out: Path, config: Config = CONFIG, columns: Columns = COLUMNS, workers: int = 0) -> Told:
    told = Told()
    for _ in tables.scrub_file(path, out, columns, config, told, workers=workers):
        pass
    return told


def read(path: Path, delimiter: str = ",") -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream, delimiter=delimiter))


@pytest.mark.parametrize(("suffix", "delimiter"), [(".csv", ","), (".tsv", "\t")])
def test_delimited_text(tmp_path: Path, suffix: str, delimiter: str) -> None:
    told = scrub(written(tmp_path / f"in{suffix}", delimiter), tmp_path / f"out{suffix}")
    head, *made = read(tmp_path / f"out{suffix}", delimiter)
    assert (told.outcome.done, told.outcome.failures, told.blocked) == (150, [], ["phone"])
    assert head == ["mrn", "ward", "note"]
    assert {row[2] for row in made} == {'Line one\nCall [PHONE], "on" [DATE].'}
    assert [row[1] for row in made] == [row[2] for row in rows()]
    assert len({row[0] for row in made}) == 7
    assert SECRET not in (tmp_path / f"out{suffix}").read_text()


def test_files_of_all_kinds_and_any_workers_agree(tmp_path: Path) -> None:
    config = keyed(tmp_path)
    given = written(tmp_path / "in.csv")
    parquet.write_table(pa.table(dict(zip(NAMES, zip(*rows(), strict=True), strict=True))), tmp_path / "in.parquet")
    for workers in (0, 2):
        scrub(given, tmp_path / f"out{workers}.csv", config, workers=workers)
        scrub(tmp_path / "in.parquet", tmp_path / f"out{workers}.parquet", config, workers=workers)
    assert (tmp_path / "out0.csv").read_bytes() == (tmp_path / "out2.csv").read_bytes()
    _, *made = read(tmp_path / "out0.csv")
    for workers in (0, 2):
        table: Any = parquet.read_table(tmp_path / f"out{workers}.parquet")
        assert table.column_names == ["mrn", "ward", "note"]
        assert [list(row.values()) for row in table.to_pylist()] == made


def test_rows_that_fail_are_left_out_and_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f'id,mrn,ward,note,phone\n1,2,3,x,4\n{SECRET}\n5,6,7,y,8\n9,1,2,"{SECRET},\n')
    told = scrub(tmp_path / "a.csv", tmp_path / "out.csv")
    assert told.outcome.done == 2
    assert [failure.reason for failure in told.outcome.failures] == [
        "row 2: 1 cells, where the head has 5",
        "behind row 4: not delimited text, or a cell over the limit",
    ]
    assert [row[2] for row in read(tmp_path / "out.csv")] == ["note", "x", "y"]
    data = {"note": ["On 3/4/21.", "x", None], "code": [1.0, 1.5, None], "kept": [1, 2, 3]}
    parquet.write_table(pa.table(data), tmp_path / "a.parquet")
    columns = Columns.of("note", fields={"code": "IDNUM"}, keep=["kept"])
    told = scrub(tmp_path / "a.parquet", tmp_path / "out.parquet", columns=columns)
    assert [f.reason for f in told.outcome.failures] == [
        "row 1: the column 'code' holds a float, which is no identifier"
    ]
    made: Any = parquet.read_table(tmp_path / "out.parquet").to_pydict()
    assert (made["note"], made["kept"]) == (["On [DATE].", None], [1, 3])


def test_what_cannot_be_leaves_nothing(tmp_path: Path) -> None:
    given = written(tmp_path / "in.csv", count=3)
    for path, columns, message in (
        (given, Columns.of("nota"), "there is no column 'nota'"),
        (tmp_path / "none.csv", COLUMNS, "there is no file"),
        (written(tmp_path / "in.txt", count=1), COLUMNS, "is no table that can be read"),
    ):
        with pytest.raises(UsageError, match=message):
            scrub(path, tmp_path / "out.csv", columns=columns)
    with pytest.raises(UsageError, match="the output would overwrite the input"):
        scrub(given, given)
    (tmp_path / "bad.parquet").write_bytes(b"PAR1" + SECRET.encode())
    with pytest.raises(FormatError, match="is not Parquet, or is damaged"):
        scrub(tmp_path / "bad.parquet", tmp_path / "out.csv")
    (tmp_path / "bad.csv").write_bytes(b"id,note\n1,caf\xe9\n")
    with pytest.raises(FormatError, match="not UTF-8"):
        scrub(tmp_path / "bad.csv", tmp_path / "out.csv", columns=Columns.of("note"))
    assert not (tmp_path / "out.csv").exists()


# ---- databases -----------------------------------------------------------------------------------------------------


def fill(url: str) -> None:
    engine = sa.create_engine(url)
    kinds = {"id": sa.Integer(), "mrn": sa.Text(), "ward": sa.Text(), "note": sa.Text(), "phone": sa.Text()}
    columns = [sa.Column(name, kind, primary_key=name == "id") for name, kind in kinds.items()]
    table = sa.Table("notes", sa.MetaData(), *columns)
    with engine.begin() as connection:
        table.create(connection)
        given = rows()
        given[20] = (*given[20][:3], "\0 has no place in it" if "sqlite" in url else "Well.", SECRET)
        connection.execute(sa.insert(table), [dict(zip(NAMES, row, strict=True)) for row in reversed(given)])
    engine.dispose()


def run_sql(url: str, out_url: str, config: Config, out_table: str = "clean", columns: Columns = COLUMNS) -> Told:
    told = Told()
    for _ in tables.scrub_sql(url, "notes", out_url, out_table, columns, config, told):
        pass
    return told


def selected(url: str, table: str = "clean") -> list[tuple[Any, ...]]:
    engine = sa.create_engine(url)
    try:
        with engine.connect() as connection:
            return [tuple(row) for row in connection.execute(sa.text(f"select * from {table}"))]
    finally:
        engine.dispose()


def check_database(url: str, tmp_path: Path) -> None:
    fill(url)
    config = keyed(tmp_path)
    told = run_sql(url, url, config)
    assert (told.outcome.done, told.blocked, told.outcome.failures) == (150, ["phone"], [])
    made = selected(url)
    elsewhere = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    run_sql(url, elsewhere, config, "other")
    assert selected(elsewhere, "other") == made
    scrub(written(tmp_path / "in.csv"), tmp_path / "out.csv", config)
    wanted = [tuple(row) for row in read(tmp_path / "out.csv")[1:]]
    assert [row for place, row in enumerate(made) if place != 20] == [r for p, r in enumerate(wanted) if p != 20]
    with pytest.raises(UsageError, match="there is a table 'clean' already"):
        run_sql(url, url, config)
    with pytest.raises(UsageError, match="there is no column 'nota'"):
        run_sql(url, url, config, "third", Columns.of("nota"))
    half = tables.scrub_sql(url, "notes", url, "third", COLUMNS, config, Told())
    next(half)
    half.close()  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(exc.SQLAlchemyError):
        selected(url, "third")


def test_sqlite(tmp_path: Path) -> None:
    check_database(f"sqlite:///{tmp_path / 'notes.db'}", tmp_path)
    with pytest.raises(UsageError, match="that is no address of a database"):
        run_sql("nothing at all", "x", CONFIG)
    with pytest.raises(FormatError, match="the database refused it"):
        run_sql(f"sqlite:///{tmp_path}/no/such/folder.db", "sqlite://", CONFIG)


def binaries() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    named = shutil.which("initdb")
    if not found and named is None:
        lacking("a PostgreSQL server (apt-get install postgresql)")
    return found[-1].parent if found else Path(str(named)).resolve().parent


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """A server of its own, in a folder of its own, on a socket there; never as root, which it refuses."""
    programs = binaries()
    folder = Path(tempfile.mkdtemp(prefix="deident-pg-"))
    user: str | None = None
    if os.getuid() == 0:
        names = {entry.pw_name for entry in pwd.getpwall()}
        user = "postgres" if "postgres" in names else "nobody"
        shutil.chown(folder, user)
    as_user: dict[str, Any] = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}
    data = folder / "data"
    made = [str(programs / "initdb"), "-D", str(data), "-U", "deident", "-A", "trust", "--no-sync", "-E", "UTF8"]
    subprocess.run(
        made, check=True, capture_output=True, cwd=folder, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}, **as_user
    )
    options = ["-k", str(folder), "-c", "listen_addresses=", "-c", "fsync=off"]
    server = subprocess.Popen(
        [str(programs / "postgres"), "-D", str(data), *options], cwd=folder, stderr=subprocess.DEVNULL, **as_user
    )
    url = f"postgresql+psycopg://deident@/postgres?host={folder}"
    try:
        for _ in range(300):
            assert server.poll() is None
            engine = sa.create_engine(url)
            try:
                with engine.connect():
                    break
            except exc.OperationalError:
                time.sleep(0.2)
            finally:
                engine.dispose()
        yield url
    finally:
        server.send_signal(signal.SIGINT)  # a fast end, whoever is still connected
        server.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def test_postgresql(postgres: str, tmp_path: Path) -> None:
    check_database(postgres, tmp_path)


def test_the_command(tmp_path: Path) -> None:
    written(tmp_path / "in.csv", count=5)
    (tmp_path / "d.toml").write_text('[detect]\ndetectors = ["patterns"]\n')
    line = [sys.executable, "-W", "error", "-m", "deident", "table", str(tmp_path / "in.csv"), "--config"]
    line += [str(tmp_path / "d.toml"), "-o", str(tmp_path / "out.csv"), "--text", "note", "--patient", "mrn"]
    done = subprocess.run([*line, "--field", "mrn=MRN", "--keep", "ward"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "left out, for nobody named them: id, phone\nscrubbed 5 notes\n"
    refused = subprocess.run([*line, "--field", "mrn"], capture_output=True, text=True, timeout=120)
    assert (refused.returncode, refused.stderr) == (2, "deident: a field is written as NAME=LABEL, not 'mrn'\n")
