"""The search for known people in output, and that nothing of them is left in what the policies make."""

import json
from functools import cache
from pathlib import Path

import pytest

from deident import corpus, policy, replace
from deident.config import Config, Detect
from deident.document import Document, Patient
from deident.labels import Label
from deident.learn.features import RULES
from deident.lexicons import word_key
from deident.pipeline import Pipeline
from deident.policy import Action
from deident.resolve import resolve
from deident.verify import Verifier, verify
from tests.test_cli import run

ROSTER = (
    "note,patient_id,name,dob,mrn,phone\n"
    'n1,p1,"Okoro, Ada M.",1950-03-04,00-123-456,(303) 555-0182\n'
    'n2,p2,"Brandvold, Tobias",1961-05-06,00-998-877,\n'
)


@pytest.fixture
def roster(tmp_path: Path) -> Path:
    file = tmp_path / "roster.csv"
    file.write_text(ROSTER)
    return file


def found(roster: Path, text: str, *, name: str = "n1", policy_name: str | None = None) -> list[tuple[str, str, str]]:
    chosen = policy.load(policy_name) if policy_name else None
    hits = verify([Document(name, text)], roster, policy=chosen)
    return [("its name" if hit.in_name else text[hit.start : hit.end], hit.label.value, hit.how) for hit in hits]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Seen with Mrs. Okoro.", [("Okoro", "PATIENT", "part")]),
        ("OKORO, ADA M.", [("OKORO, ADA M.", "PATIENT", "exact")]),
        ("Okorro came alone", [("Okorro", "PATIENT", "typo")]),
        ("call 303.555.0182", [("303.555.0182", "PHONE", "exact")]),
        ("MRN 00123456", [("00123456", "MEDICALRECORD", "exact")]),
        ("born March 4, 1950", [("March 4, 1950", "DATE", "date")]),
        ("beside Tobias Brandvold", [("Tobias Brandvold", "PATIENT", "reordered")]),  # another row's person
        ("[PATIENT], [PATIENT-12], NULL_1, ****, 47 y/o", []),
        ("no name, no number", []),
    ],
)
def test_hits(roster: Path, text: str, expected: list[tuple[str, str, str]]) -> None:
    assert found(roster, text) == expected


def test_a_tag_is_no_address(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    file.write_text("note,name,city,address\nn1,Ada Okoro,Street,12 City Road\n")
    assert found(file, "of [STREET], [CITY]") == []


def test_what_a_policy_lets_stay_is_no_hit(roster: Path) -> None:
    assert found(roster, "DOB: 1950") == [("1950", "DATE", "date-part")]
    assert found(roster, "DOB: 1950", policy_name="safe-harbor") == []
    assert found(roster, "DOB: 3/4/1950", policy_name="safe-harbor") == [("3/4/1950", "DATE", "date")]
    assert found(roster, "DOB: 3/4/1950", policy_name="limited-data-set") == []
    assert found(roster, "Okoro, DOB: 3/4/1950", policy_name="limited-data-set") == [("Okoro", "PATIENT", "part")]


@pytest.mark.parametrize("name", ["OKORO_ADA", "ward/okoro-ada_1950", "AdaOkoro", "303-555-0182"])
def test_the_names_of_notes_are_searched(roster: Path, name: str) -> None:
    assert [hit[0] for hit in found(roster, "clean", name=name)] == ["its name"]


def test_the_command_names_places_and_nothing_else(tmp_path: Path, roster: Path) -> None:
    folder = tmp_path / "clean"
    folder.mkdir()
    (folder / "n1.txt").write_text("Mrs. Okoro, [DATE]")
    (folder / "OKORO_ADA.txt").write_text("nothing")
    done = run("verify", folder, "--roster", roster)
    assert done.returncode == 1
    assert done.stdout == "note 1  its name  PATIENT  exact\nn1  5..10  PATIENT  part\n"
    assert done.stderr == "verified 2 notes: 2 hits in 2 of them\n"
    rows = json.loads(run("verify", folder, "--roster", roster, "--json").stdout)
    assert rows["hits"][1] == {"id": "n1", "start": 5, "end": 10, "label": "PATIENT", "how": "part"}
    assert "koro" not in json.dumps(rows).lower()
    (folder / "OKORO_ADA.txt").unlink()
    (folder / "n1.txt").write_text("[PATIENT], [DATE]")
    clean = run("verify", folder, "--roster", roster)
    assert (clean.returncode, clean.stdout) == (0, "")
    missing = run("verify", folder, "--roster", tmp_path / "none.csv")
    assert (missing.returncode, missing.stderr.startswith("deident: there is no roster")) == (2, True)


# -- closure -----------------------------------------------------------------------------------------------------------

KNOWN = (Label.PATIENT, Label.PHONE, Label.SSN, Label.MEDICALRECORD, Label.IDNUM, Label.EMAIL, Label.HEALTHPLAN)
# Words of these notes that are a known person's name as well: "BP 88/50. Gray, …", "Mark on the form", "El Salvador".
WORDS = frozenset({"gray", "mark", "el"})


RULED = Config(detect=Detect(detectors=("known", *RULES)))


@cache
def _marked() -> tuple[tuple[Document, Document], ...]:
    """Notes with their gold spans, and with what is found besides."""
    pipeline = Pipeline.from_config(RULED)
    docs = list(corpus.load(corpus.OWN, split="train"))[:60]
    return tuple(
        (doc, doc.with_spans(resolve([*doc.spans, *pipeline.detect(Document(doc.id, doc.text)).spans]))) for doc in docs
    )


@pytest.mark.parametrize("manner", [Action.TAG, Action.RANDOM, Action.NUMBER])
def test_safe_harbor_closes(manner: Action, roster: Path) -> None:
    """Detectors and roster, run again on the output, find no original."""
    pipeline = Pipeline.from_config(RULED)
    chosen = policy.load("safe-harbor").shown_as(manner)
    treat = chosen.treatment(as_of=2025, run_key=bytes(range(32)))
    verifier = Verifier(roster)
    chance = stand_ins = 0  # a street may be called as somebody is
    for gold, doc in _marked():
        new = replace.apply(doc, treat)
        removed = {
            word_key(doc.text[span.start : span.end]) for span in doc.spans if chosen.action(span.label) is manner
        }
        entries = tuple((span.label, doc.text[span.start : span.end]) for span in gold.spans if span.label in KNOWN)
        for span in pipeline.detect(Document("again", new.text)).spans:
            key = word_key(new.text[span.start : span.end])
            assert len(key) < 3 or key not in removed or manner is Action.RANDOM, f"{doc.id} {span}"
        if entries:
            for hit in verifier.hits(Document("again", new.text, patient=Patient("p", entries))):
                inside = any(made.start < hit.end and hit.start < made.end for made in new.spans)
                if new.text[hit.start : hit.end].lower() not in WORDS:
                    chance += 1
                    assert inside, f"{doc.id} {hit}"
        stand_ins += len(new.spans)
    assert stand_ins > 2000
    assert chance <= (stand_ins / 500 if manner is Action.RANDOM else 0)


def test_a_verifier_finds_what_a_policy_did_not_remove(roster: Path) -> None:
    doc = Document("n1", "Ada Okoro, MRN 00-123-456, seen.")
    assert len(list(Verifier(roster).hits(doc))) == 2
