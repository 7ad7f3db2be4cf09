"""The vault: what goes in comes out, for its key alone; whatever is changed in the file is found out."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deident import vault
from deident.config import Config, Detect, Scrub
from deident.document import Document
from deident.errors import UsageError, VaultError
from deident.pipeline import Pipeline
from deident.surrogates import make_key
from deident.vault import Entry, Secret, Vault
from tests.test_cli import run

KEY = Secret(bytes(range(32)))
OTHER = Secret(bytes(range(1, 33)))
WORDS = Secret.of_passphrase("a ferret in the attic")
ENTRIES = [
    Entry("n1", "p1", "PATIENT", 0, 11, "Ada Okonkwo", "[PATIENT-1]"),
    Entry("n1", "p1", "DATE", 20, 24, "3/4/2019", "2019"),
    Entry("n2", "p1", "PATIENT", 5, 16, "Okonkwo, Zoë\n\ud83e", "[PATIENT-1]"),
]


@pytest.fixture
def full(tmp_path: Path) -> Path:
    path = tmp_path / "v"
    assert Vault.make(path, KEY).add(ENTRIES) == 3
    return path


def test_what_goes_in_comes_out(full: Path) -> None:
    opened = Vault(full, KEY)
    assert opened.export() == ENTRIES
    assert opened.lookup(stand_in="[PATIENT-1]") == [ENTRIES[0], ENTRIES[2]]
    assert opened.lookup(stand_in="[PATIENT-1]", note="n2") == [ENTRIES[2]]
    assert opened.lookup(note="n1") == ENTRIES[:2]
    assert opened.lookup(note="n3") == []
    assert opened.add(ENTRIES) == 0  # a run that is done twice
    assert full.stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="say what to look up"):
        opened.lookup()


@pytest.mark.parametrize("secret", [KEY, WORDS], ids=["key", "passphrase"])
def test_no_byte_of_the_file_tells(tmp_path: Path, secret: Secret) -> None:
    path = tmp_path / "v"
    Vault.make(path, secret).add(ENTRIES)
    Vault(path, secret).lookup(note="n1")
    data = path.read_bytes()
    for text in ("Okonkwo", "Ada", "PATIENT", "3/4/2019", "p1"):
        assert text.encode() not in data
    assert secret.value not in data
    assert "Okonkwo" not in repr(ENTRIES[0]) + repr(secret)


@pytest.mark.parametrize("wrong", [OTHER, Secret(KEY.value[:16])])
def test_a_wrong_key_is_one_sentence(full: Path, wrong: Secret) -> None:
    with pytest.raises(VaultError, match="this key does not open the vault"):
        Vault(full, wrong)
    with pytest.raises(VaultError, match="is opened by a key file"):
        Vault(full, WORDS)


def test_a_passphrase_opens_its_own(tmp_path: Path) -> None:
    path = tmp_path / "v"
    Vault.make(path, WORDS).add(ENTRIES)
    assert Vault(path, WORDS).export() == ENTRIES
    with pytest.raises(VaultError, match="does not open"):
        Vault(path, Secret.of_passphrase("a ferret in the cellar"))
    with pytest.raises(VaultError, match="is opened by a passphrase"):
        Vault(path, KEY)
    with pytest.raises(UsageError, match="12 characters or more"):
        Secret.of_passphrase("ferret")


CHANGES = [
    "UPDATE entries SET sealed = zeroblob(40) WHERE number = 2",
    "UPDATE entries SET sealed = (SELECT sealed FROM entries WHERE number = 1), "
    "nonce = (SELECT nonce FROM entries WHERE number = 1) WHERE number = 2",
    "UPDATE entries SET note = zeroblob(32) WHERE number = 1",
    "UPDATE entries SET stand_in = (SELECT stand_in FROM entries WHERE number = 2) WHERE number = 1",
    "UPDATE entries SET nonce = zeroblob(12) WHERE number = 3",
    "UPDATE entries SET chain = zeroblob(32) WHERE number = 3",
    "UPDATE entries SET number = 9 WHERE number = 3",
    "UPDATE entries SET nonce = 'text' WHERE number = 1",
    "DELETE FROM entries WHERE number = 1",
    "DELETE FROM entries WHERE number = 3",
    "DELETE FROM entries",
    "INSERT INTO entries SELECT 4, nonce, sealed, zeroblob(32), note, stand_in, chain FROM entries WHERE number = 1",
    "DELETE FROM log",
    "DELETE FROM log WHERE number = 2",
    "UPDATE log SET user = 'nobody' WHERE number = 1",
    "UPDATE log SET entries = 0 WHERE number = 1",
    "UPDATE log SET time = '2001-01-01' WHERE number = 2",
    "DELETE FROM about WHERE name = 'head entries'",
    "UPDATE about SET value = zeroblob(32) WHERE name = 'head log'",
]


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_found_out(full: Path, change: str) -> None:
    opened = Vault(full, KEY)
    opened.lookup(note="n1")
    opened.lookup(note="n2")
    with closing(sqlite3.connect(full)) as base, base:
        assert base.execute(change).rowcount
    for ask in (opened.export, opened.log, lambda: opened.lookup(note="n2")):
        with pytest.raises(VaultError, match=r"was changed by something else|is damaged") as caught:
            ask()
        assert "Okonkwo" not in str(caught.value)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_changed_byte_never_gives_another_answer(full: Path, data: st.DataObject) -> None:
    whole = full.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    damaged = full.with_name("damaged")
    damaged.write_bytes(whole[:place] + bytes([whole[place] ^ data.draw(st.integers(1, 255))]) + whole[place + 1 :])
    try:
        assert Vault(damaged, KEY).export() == ENTRIES  # bytes that nobody reads
    except VaultError:
        pass
    finally:
        damaged.unlink()


def test_what_is_no_vault_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "v"
    with pytest.raises(UsageError, match="there is no vault"):
        Vault(path, KEY)
    for content in (b"", b"Okonkwo" * 500, b"SQLite format 3\0" + bytes(200)):
        path.write_bytes(content)
        with pytest.raises(VaultError, match="is no vault, or") as caught:
            Vault(path, KEY)
        assert "Okonkwo" not in str(caught.value)
    with pytest.raises(UsageError, match="exists already"):
        Vault.make(path, KEY)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["v"]


def test_rotation_closes_the_old_door(full: Path) -> None:
    opened = Vault(full, KEY)
    opened.lookup(note="n1")
    before = full.read_bytes()
    assert opened.rotate(OTHER) == 3
    assert opened.export() == Vault(full, OTHER).export() == ENTRIES
    with pytest.raises(VaultError, match="does not open"):
        Vault(full, KEY)
    assert [row[2] for row in Vault(full, OTHER).log()[1]] == ["lookup", "rotate", "export", "export"]
    after = full.read_bytes()
    with closing(sqlite3.connect(f"file:{full}?mode=ro", uri=True)) as base:
        sealed = [bytes(row[0]) for row in base.execute("SELECT sealed FROM entries")]
    assert all(one in after and one not in before for one in sealed)
    Vault(full, OTHER).rotate(WORDS)
    assert Vault(full, WORDS).export() == ENTRIES


def test_the_log_tells_who_and_how_many_and_nothing_more(full: Path) -> None:
    opened = Vault(full, KEY)
    opened.lookup(stand_in="[PATIENT-1]")
    count, rows = opened.log()
    assert count == 3
    ((time, user, what, entries),) = rows
    assert (what, entries) == ("lookup", 2)
    assert time.endswith("+00:00")
    assert user
    assert "PATIENT" not in str(rows)


def test_a_run_fills_it_and_it_undoes_the_run(tmp_path: Path) -> None:
    make_key(tmp_path / "k")
    scrub = Scrub(policy="safe-harbor", replace="number", vault=str(tmp_path / "v"), vault_key_file=str(tmp_path / "k"))
    made = Pipeline.from_config(Config(Detect(detectors=("patterns",)), scrub))
    text = "Call 303-555-0182 or x@y.org on 3/4/2019; 303-555-0182."
    new = made.scrub(Document("n1", text)).text
    made.scrub(Document("n1", text))
    assert new == "Call [PHONE-1] or [EMAIL-1] on 2019; [PHONE-1]."
    found = vault.opened(tmp_path / "v", Secret.of_files(tmp_path / "k")).lookup(note="n1")
    for entry in reversed(found):
        assert new[entry.start : entry.end] == entry.stand_in
        new = new[: entry.start] + entry.original + new[entry.end :]
    assert new == text
    with pytest.raises(UsageError, match="but no vault"):
        Pipeline.from_config(Config(scrub=Scrub(vault_key_file=str(tmp_path / "k"))))
    with pytest.raises(UsageError, match="name one of the two"):
        Pipeline.from_config(Config(scrub=Scrub(vault=str(tmp_path / "v"))))


def test_the_commands(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.txt").write_text("Mail x@y.org")
    (tmp_path / "words").write_text("a ferret in the attic\n")
    make_key(tmp_path / "k")
    key: list[Any] = ["--key-file", tmp_path / "k"]
    kept = tmp_path / "v"
    done = run("scrub", notes, "-o", tmp_path / "out", "--workers", "2", "--vault", kept, "--vault-key", tmp_path / "k")
    assert (done.returncode, done.stderr) == (0, "scrubbed 1 note\n")
    found = run("vault", "lookup", kept, "[EMAIL]", *key)
    assert (found.returncode, found.stdout) == (0, "a  5..12  EMAIL  [EMAIL]  ← x@y.org  (patient unknown)\n")
    assert run("vault", "lookup", kept, "[PHONE]", *key).returncode == 1
    wrong = run("vault", "lookup", kept, "[EMAIL]", "--passphrase-file", tmp_path / "words")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr == f"deident: the vault {kept} is opened by a key file\n"
    assert run("vault", "rotate", kept, *key, "--new-passphrase-file", tmp_path / "words").returncode == 0
    assert run("vault", "export", kept, "-o", tmp_path / "m", "--passphrase-file", tmp_path / "words").returncode == 0
    assert json.loads((tmp_path / "m").read_text())["original"] == "x@y.org"
    assert (tmp_path / "m").stat().st_mode & 0o777 == 0o600
    log = json.loads(run("vault", "log", kept, "--passphrase-file", tmp_path / "words", "--json").stdout)
    assert [row["what"] for row in log["log"]] == ["lookup", "lookup", "rotate", "export"]
