"""What may still identify: counts of people, classes of equal records, exact bounds, and a report without PHI."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deident import policy, risk
from deident.document import Document, Patient, Record, Span
from deident.errors import UsageError
from deident.formats import jsonl
from deident.labels import Label
from deident.risk import report
from deident.risk.people import POPULATION, sharing
from tests.test_cli import run
from tests.test_policy import marked


@pytest.mark.parametrize(
    ("text", "label", "least", "most", "how"),
    [
        ("Smith", Label.PATIENT, 2_000_000, 3_000_000, "names by their counts"),
        ("BARACK", Label.PATIENT, 100, 2_000, "names by their counts"),
        ("Mr. Smith, Jr.", Label.PATIENT, 2_000_000, 3_000_000, "names by their counts"),
        ("Maria Lopez", Label.PATIENT, 1_000, 20_000, "names by their counts and nicknames"),
        ("Peggy", Label.PATIENT, 500_000, 5_000_000, "nicknames"),  # all Margarets may be called so
        ("Smitgh", Label.PATIENT, 2_000_000, 4_000_000, "names within one edit"),
        ("Kwlzczyk", Label.PATIENT, 100, 20_000, "names within two edits"),  # Kowalczyk, twice slipped
        ("Xqzzvwq", Label.PATIENT, 1, 1, "names that no list has"),
        ("J.", Label.PATIENT, POPULATION // 26, POPULATION // 26, "initials"),
        ("Falls Church", Label.CITY, 12_000, 16_000, "populations of places"),  # 12,751 in seed 002
        ("Nowhereton", Label.CITY, 500, 500, "places that no list has"),
        ("OH", Label.STATE, 3_000_000, 12_000_000, "people in the cities of a state"),
        ("036", Label.ZIP, 13_759, 13_759, "populations of ZIP prefixes"),
        ("43215", Label.ZIP, 1_000, 60_000, "a ZIP code's part of its prefix"),
        ("1950", Label.DATE, 4_000_000, 4_200_000, "people born in a year"),
        ("on or before 1936", Label.DATE, 4_000_000, 4_200_000, "people born in a year"),
        ("3/4/1950", Label.DATE, 11_000, 12_000, "people born on a day"),
        ("March 4", Label.DATE, 900_000, 910_000, "people born on a day of any year"),
        ("47 y/o", Label.AGE, 2_000_000, 2_000_000, "people of an age"),
        ("101", Label.AGE, 20_000, 20_000, "people of an age"),
        ("303-555-0182", Label.PHONE, 1, 1, "numbers and addresses of one person"),
        ("12 Elm Street", Label.STREET, 3, 3, "a household"),
    ],
)
def test_people_who_share(text: str, label: Label, least: int, most: int, how: str) -> None:
    found = sharing(text, label)
    assert found.people is not None
    assert least <= found.people <= most
    assert found.how == how
    assert text not in repr(found)


def test_what_nobody_can_say_has_no_number() -> None:
    for text, label in (("welder", Label.PROFESSION), ("Mercy", Label.HOSPITAL), ("Monday", Label.DATE)):
        assert sharing(text, label).people is None


@given(st.integers(0, 12))
def test_a_number_in_part_has_ten_bearers_for_each_digit_that_is_hidden(hidden: int) -> None:
    assert sharing("0182", Label.PHONE, hidden=hidden).people == min(10**hidden, POPULATION)


# -- bounds ------------------------------------------------------------------------------------------------------------


def _tail(leaking: int, read: int, share: float) -> float:
    """The chance of so few leaking notes or fewer."""
    return sum(math.comb(read, k) * share**k * (1 - share) ** (read - k) for k in range(leaking + 1))


@given(st.integers(1, 400), st.data(), st.sampled_from([0.9, 0.95, 0.99]))
def test_the_bound_is_exact(read: int, data: st.DataObject, confidence: float) -> None:
    leaking = data.draw(st.integers(0, read - 1))
    assert _tail(leaking, read, risk.bound(leaking, read, confidence=confidence)) == pytest.approx(1 - confidence)


def test_bounds_that_books_have() -> None:
    assert risk.bound(0, 100) == pytest.approx(1 - 0.05 ** (1 / 100))
    assert 1000 * risk.bound(1, 200) == pytest.approx(23.498, abs=0.001)
    assert risk.bound(3, 3) == 1.0
    assert risk.sample_size(0.05) == 59  # log 0.05 / log 0.95
    assert risk.sample_size(0.01) == 299


@given(st.floats(0.001, 0.5), st.integers(0, 5))
def test_the_sample_is_as_small_as_can_be(wanted: float, leaking: int) -> None:
    size = risk.sample_size(wanted, leaking=leaking)
    assert risk.bound(leaking, size) <= wanted
    assert size == leaking + 1 or risk.bound(leaking, size - 1) > wanted


@pytest.mark.parametrize(("leaking", "read"), [(2, 1), (-1, 5), (0, 0)])
def test_what_is_no_sample_is_refused(leaking: int, read: int) -> None:
    with pytest.raises(UsageError, match="is no sample"):
        risk.bound(leaking, read)
    with pytest.raises(UsageError, match="between 0 and 1"):
        risk.sample_size(1.5)


# -- equal records -----------------------------------------------------------------------------------------------------


def test_classes_by_hand() -> None:
    rows = [{"age": "47", "sex": "f"}, {"age": "47", "sex": "f"}, {"age": "47", "sex": "m"}, {"age": "", "sex": "m"}]
    both = risk.equal(rows, ("age", "sex"))
    assert both is not None
    assert (both.records, both.classes, both.k, both.in_small) == (4, 3, 1, {2: 2, 5: 4, 11: 4})
    one = risk.equal(rows, ("sex",))
    assert one is not None
    assert (one.k, one.in_small[2]) == (2, 0)
    assert risk.equal([], ("age",)) is None


def test_sex_by_the_words() -> None:
    assert risk.sex("She is a 47-year-old woman with her husband.") == "f"
    assert risk.sex("Mr. Lund says he fell.") == "m"
    assert risk.sex("Seen today.") == ""


# -- the whole ---------------------------------------------------------------------------------------------------------

TEXTS = {
    "OKORO_ADA": "<PATIENT:Ada Zwierzchowska>, <AGE:47>, of <ZIP:43215>, seen <DATE:3/4/2019>; Zwierzchowska. She",
    "b": "<PATIENT:Ada Lund>, a woman of <AGE:47>, <ZIP:43299>, seen <DATE:5/6/2019>, <CITY:Rye>. She",
    "c": "<PATIENT:Per Lund>, <AGE:61>, of <ZIP:03601>, <DATE:May 2020>, MRN <MEDICALRECORD:0048-2913>. He",
}


def _gold() -> dict[str, Document]:
    made = {name: marked(text, patient=f"secret-{name}") for name, text in TEXTS.items()}
    return {name: Document(name, doc.text, doc.spans, Patient(f"secret-{name}")) for name, doc in made.items()}


def _system(gold: dict[str, Document]) -> dict[str, Document]:
    """Misses the name of the first and one half of the number of the third."""
    found = dict(gold)
    found["OKORO_ADA"] = gold["OKORO_ADA"].with_spans(s for s in gold["OKORO_ADA"].spans if s.label != "PATIENT")
    cut = [s if s.label != "MEDICALRECORD" else Span(s.start + 5, s.end, s.label) for s in gold["c"].spans]
    found["c"] = gold["c"].with_spans(cut)
    return found


def test_the_analysis() -> None:
    gold = _gold()
    found = risk.analyse(gold, _system(gold), policy=policy.load("safe-harbor"), as_of=2024)
    assert {label.value: row.count for label, row in found.leaked.items()} == {"PATIENT": 1, "MEDICALRECORD": 1}
    assert found.leaked[Label.MEDICALRECORD].least == 10_000  # four digits of eight are hidden
    assert found.leaked[Label.PATIENT].small == 1
    assert len(found.leaking) == 2
    assert {label.value: row.count for label, row in found.kept.items()} == {"ZIP": 3, "AGE": 3, "DATE": 3}
    assert found.kept[Label.ZIP].least == sharing("000", Label.ZIP).people  # 036 is small, and so 000
    by = {row.by: row for row in found.classes}
    assert by["age", "sex", "zip3", "year"].in_small[2] == 1
    assert by["age", "sex", "zip3", "year"].k == 1
    assert found.patients == 3
    assert found.inventory is not None
    assert found.inventory["determination"] is None
    assert 0 < found.mean < 1
    perfect = risk.analyse(gold, gold)
    assert (perfect.leaking, perfect.leaked, perfect.mean) == ((), {}, 0.0)


def test_a_patient_who_is_taken_for_what_the_policy_keeps_is_a_leak() -> None:
    gold = {"n": marked("Dr. <PATIENT:Zwierzchowska>, a <PROFESSION:welder> of <AGE:47>, in <CITY:Rye>")}
    wrong = gold["n"].with_spans(
        Span(s.start, s.end, Label.DOCTOR if s.label == "PATIENT" else Label.STATE if s.label == "CITY" else s.label)
        for s in gold["n"].spans
    )
    kept = risk.analyse(gold, {"n": wrong}, policy=policy.load("keep-providers"), as_of=2024)
    assert {label.value for label in kept.leaked} == {"PATIENT", "CITY"}
    removed = risk.analyse(gold, {"n": wrong}, policy=policy.load("strict"), as_of=2024)
    assert removed.leaked == {}
    assert risk.analyse(gold, {"n": gold["n"]}, policy=policy.load("keep-providers"), as_of=2024).leaked == {}


def test_what_a_note_says_thrice_tells_no_more() -> None:
    def together(text: str) -> int:
        gold = {"n": marked(text)}
        (note,) = risk.analyse(gold, {"n": gold["n"].with_spans(())}).leaking
        return note.together

    assert together("<PATIENT:Lund>, <PATIENT:LUND>, <PATIENT:Lund>") == together("<PATIENT:Lund>")
    assert together("<DATE:3/4/1950> <DATE:3/5/1951>") == together("<DATE:3/4/1950>")
    assert together("<CITY:Columbus>, <STATE:OH>") == together("<CITY:Columbus>")
    assert together("<PATIENT:Lund> <CITY:Columbus>") < together("<PATIENT:Lund>")


def test_report_and_json_hold_nothing_of_the_notes() -> None:
    gold = _gold()
    found = risk.analyse(gold, _system(gold), policy=policy.load("safe-harbor"), as_of=2024)
    page = report.render(
        found, sample=risk.Sample(200, 1), wanted=[0.01], manifest={"deident": "0.1.0", "settings": {}}
    )
    for shown in (page, json.dumps(found.to_json()), repr(found)):
        for secret in ("Zwierzchowska", "Lund", "Ada", "OKORO", "secret", "43215", "432", "0048", "2913", "Rye"):
            assert secret not in shown.replace("4320", "")
    assert "determination: null" in page
    assert "at most 23.5 per 1,000 notes" in page
    assert "<svg" in page
    assert "safe-harbor" in page
    assert "src=" not in page


def test_the_command(tmp_path: Path) -> None:
    gold = _gold()
    for name, docs in (("gold", gold), ("system", _system(gold))):
        (tmp_path / f"{name}.jsonl").write_bytes(jsonl.write(Record(tuple(docs.values())))[".jsonl"])
    files = [tmp_path / "gold.jsonl", tmp_path / "system.jsonl"]
    done = run("risk", *files, "--policy", "safe-harbor", "--html", tmp_path / "r.html", "--json", "--reviewed", "200")
    result = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert result["documents_leaking"] == 2
    assert result["sample"]["at_most"] == pytest.approx(1 - 0.05 ** (1 / 200))
    assert result["determination"] is None
    assert "Zwierzchowska" not in done.stdout + (tmp_path / "r.html").read_text()
    alone = run("risk", "--reviewed", "200", "--leaking", "1", "--want", "0.01")
    assert alone.stdout.splitlines() == [
        "200 notes read, 1 leaking: at most 23.5 per 1,000 notes, 95% confidence",
        "for at most 0.01: read 473 notes",
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["risk"], "nothing to tell"),
        (["risk", "gold"], "give both, or neither"),
        (["risk", "--want", "0.1", "--leaking", "3"], "--leaking is of --reviewed notes"),
        (["risk", "--reviewed", "3", "--leaking", "4"], "4 leaking notes of 3 read is no sample"),
        (["risk", "--reviewed", "3", "--manifest", "none.json"], "none.json is no manifest of a run"),
    ],
)
def test_mistakes(arguments: list[str], sentence: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
