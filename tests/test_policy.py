"""Policies: what the built-in ones do, what a file may not, and what stays of dates, ages and ZIP codes."""

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deident
from deident import corpus, generalise, policy, replace
from deident.config import Scrub
from deident.document import Document, Patient, Span, gaps
from deident.errors import ConfigError, UnknownNameError, UsageError
from deident.labels import Label
from deident.policy import Action
from deident.resolve import resolve
from tests.strategies import documents

GOLDEN: Mapping[str, Any] = json.loads(
    (Path(__file__).parent / "golden" / "safe_harbor" / "zip3_restricted.json").read_text(encoding="utf-8")
)
KEY = bytes(range(32))
AS_OF = 2024


def marked(text: str, *, patient: str = "") -> Document:
    """ "Seen by <DOCTOR:Osei>" """
    plain = ""
    spans: list[Span] = []
    for part in text.split("<"):
        label, colon, rest = part.partition(":")
        content, end, after = rest.partition(">")
        if colon and end and label in set(Label):
            spans.append(Span(len(plain), len(plain) + len(content), Label(label)))
            plain += content + after
        else:
            plain += part
    return Document("n1", plain, tuple(spans), Patient(patient) if patient else None)


def scrubbed(text: str, name: str = "safe-harbor", **options: Any) -> str:
    found = policy.load(name)
    if found.keyed:
        options = {"key": KEY} | options
    return replace.apply(marked(text), found.treatment(as_of=AS_OF, **options)).text


NOTE = (
    "<PATIENT:Ada Lund>, <AGE:47> y/o, DOB <DATE:3/4/1977>, of <CITY:Columbus>, <STATE:OH> <ZIP:43215>. "
    "Seen <DATE:5/6/2019> by Dr. <DOCTOR:Osei> at <HOSPITAL:Mercy Hospital>."
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("safe-harbor", "[PATIENT], 47 y/o, DOB 1977, of [CITY], OH 432. Seen 2019 by Dr. [DOCTOR] at [HOSPITAL]."),
        ("strict", "[PATIENT], 47 y/o, DOB 1977, of [CITY], [STATE] [ZIP]. Seen 2019 by Dr. [DOCTOR] at [HOSPITAL]."),
        ("keep-providers", "[PATIENT], 47 y/o, DOB 1977, of [CITY], OH 432. Seen 2019 by Dr. Osei at [HOSPITAL]."),
        (
            "limited-data-set",
            "[PATIENT], 47 y/o, DOB 3/4/1977, of Columbus, OH 43215. Seen 5/6/2019 by Dr. [DOCTOR] at [HOSPITAL].",
        ),
    ],
)
def test_what_the_policies_do(name: str, expected: str) -> None:
    assert scrubbed(NOTE, name) == expected


def test_expert_determination_draws_and_shifts() -> None:
    text = scrubbed(NOTE, "expert-determination")
    for original in ("Ada", "Lund", "3/4/1977", "Columbus", "43215", "5/6/2019", "Osei", "Mercy"):
        assert original not in text
    assert "[" not in text
    assert "47 y/o" in text


@pytest.mark.parametrize(
    ("manner", "expected"),
    [
        ("number", "[PATIENT-1] and [PATIENT-2]; [PATIENT-1], seen 2019"),
        ("mask", "*** **** and ***; ****, seen 2019"),
        ("null", "NULL_1 NULL_1 and NULL_1; NULL_1, seen 2019"),
    ],
)
def test_replace_changes_how_removed_labels_are_shown(manner: str, expected: str) -> None:
    text = "<PATIENT:Ada Lund> and <PATIENT:Per>; <PATIENT:Lund>, seen <DATE:5/6/2019>"
    assert scrubbed(text, manner=manner) == expected


def test_random_stand_ins_are_others_each_time() -> None:
    text = "<PATIENT:Ada Lund>, MRN <MEDICALRECORD:00482913>, of <CITY:Toledo>, <STATE:OH>, on <DATE:5/6/2019>"
    treat = policy.load("safe-harbor").treatment(manner="random", as_of=AS_OF)
    twice = [replace.apply(marked(text), treat).text for _ in range(2)]
    assert twice[0] == twice[1]
    assert twice[0] != scrubbed(text, manner="random")
    assert "Lund" not in twice[0]
    assert twice[0].endswith(", OH, on 2019")


def test_dates_and_ages_that_a_file_removes_get_no_stand_ins(tmp_path: Path) -> None:
    file = tmp_path / "ours.toml"
    file.write_text('extends = "expert-determination"\n[treat]\nDATE = "tag"\nAGE = "mask"\n')
    treat = policy.load(file).treatment(key=KEY, manner="surrogate")
    new = replace.apply(marked("<PATIENT:Ada> <DATE:5/6/2019> <AGE:47>"), treat).text
    assert new.split(" ", 1)[1] == "[DATE] **"


@pytest.mark.parametrize("manner", ["surrogate", "syllables"])
def test_safe_harbor_refuses_keyed_stand_ins(manner: str) -> None:
    with pytest.raises(UsageError, match=r"does not allow.*164\.514\(c\) forbids"):
        policy.load("safe-harbor").treatment(key=KEY, manner=manner)


def test_a_policy_that_is_keyed_needs_a_key_and_another_refuses_one() -> None:
    with pytest.raises(UsageError, match="needs a key"):
        policy.load("expert-determination").treatment()
    with pytest.raises(UsageError, match="no use for a key"):
        policy.load("safe-harbor").treatment(key=KEY)
    with pytest.raises(UnknownNameError, match="no replacement 'blot'; there are: mask, null"):
        policy.load("safe-harbor").treatment(manner="blot")


def test_processes_of_one_run_draw_the_same_and_no_kept_key_is_taken_for_it() -> None:
    doc = marked("<PATIENT:Ada Lund>")
    settings = Scrub(policy="safe-harbor", replace="random")
    same = {replace.apply(doc, policy.treatment(settings, key=KEY)).text for _ in range(2)}
    assert len(same) == 1
    with pytest.raises(UsageError, match="no use for a key"):
        deident.load(policy="safe-harbor", replace="random", key=KEY)
    assert "Lund" not in deident.load(policy="expert-determination", key=KEY).scrub("Dr. Lund, MD")


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", policy.names())
def test_built_in_policies_say_what_becomes_of_every_label(name: str) -> None:
    found = policy.load(name)
    assert set(found.actions) == set(Label)
    assert found.title
    assert found.about
    assert set(found.to_json()["treat"]) == set(Label)
    assert found.keeps_staff == (found.action(Label.DOCTOR) is Action.KEEP)


def test_there_are_the_policies_that_are_documented() -> None:
    assert policy.names() == ["expert-determination", "keep-providers", "limited-data-set", "safe-harbor", "strict"]
    page = (Path(__file__).parents[1] / "docs" / "policies.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in policy.names())


def test_a_file_tightens_another_and_that_a_third(tmp_path: Path) -> None:
    (tmp_path / "ours.toml").write_text('extends = "keep-providers"\n[treat]\nSTATE = "tag"\n')
    (tmp_path / "theirs.toml").write_text('extends = "ours.toml"\nstaff = "remove"\nallows = ["mask", "tag"]\n')
    found = policy.load(tmp_path / "theirs.toml")
    assert found.extends == ("ours", "keep-providers")
    assert found.rule == "safe-harbor"
    assert (found.action(Label.STATE), found.action(Label.DOCTOR)) == (Action.TAG, Action.TAG)
    assert found.allows == (Action.MASK, Action.TAG)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('extends = "safe-harbor"\n[treat]\nDATE = "keep"\n', "DATE = 'keep' would weaken safe-harbor"),
        ('extends = "safe-harbor"\n[treat]\nDATE = "shift"\n', "DATE = 'shift' would weaken safe-harbor"),
        ('extends = "strict"\n[treat]\nZIP = "generalise"\n', "ZIP = 'generalise' would weaken strict"),
        ('extends = "safe-harbor"\nstaff = "keep"\n', "staff = 'keep' would weaken"),
        ('extends = "safe-harbor"\nallows = ["surrogate"]\n', "not among what it allows|would weaken"),
        ('extends = "safe-harbor"\nallows = ["tag", "surrogate"]\n', "allowing surrogate would weaken"),
        ('extends = "safe-harbor"\n[treat]\nPATIENT = "surrogate"\n', "not among what it allows"),
        ('extends = "safe-harbor"\n[treat]\nDOCTOR = "keep"\n', "staff is one switch"),
        ('extends = "limited-data-set"\nrule = "safe-harbor"\n', "its rule is 'limited-data-set'"),
        ('extends = "safe-harbor"\n[treat]\nCITY = "generalise"\n', "only DATE, AGE, ZIP can be generalised"),
        ('extends = "safe-harbor"\n[treat]\nAGE = "shift"\n', "only DATE can be shifted"),
        ('extends = "expert-determination"\n[treat]\nDATE = "surrogate"\n', "DATE has no stand-ins; say 'shift'"),
        ('extends = "safe-harbor"\n[treat]\nNAME = "tag"\n', "no label 'NAME'; there are: ACCOUNT, AGE"),
        ('extends = "safe-harbor"\n[treat]\nCITY = "blot"\n', "no treatment 'blot' for CITY; there are: keep"),
        ('extends = "safe-harbor"\ntreats = 3\n', "unknown key 'treats'; there are: extends"),
        ('extends = "safe-harbour"\n', "no policy 'safe-harbour' to extend"),
        ('extends = "mine.toml"\n', "it extends itself"),
        ('extends = "safe-harbor"\ncensus = 2000\n', "'census' must be 2010 or 2020"),
        ('extends = "safe-harbor"\nstaff = "some"\n', "'staff' is 'keep' or 'remove'"),
        ('extends = "safe-harbor"\nrule = "gdpr"\n', "no rule 'gdpr'"),
        ('allows = ["tag"]\nstaff = "remove"\n[treat]\nCITY = "tag"\n', "it says nothing of PATIENT, DOCTOR"),
        ('title = "x"\n', "'staff' is missing"),
        ("x = [\n", "is not TOML"),
    ],
)
def test_what_a_file_may_not(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(content)
    with pytest.raises(ConfigError, match=message):
        policy.load(file)


@pytest.mark.parametrize(
    ("rule", "label", "action"),
    [
        ("safe-harbor", "DATE", "keep"),
        ("safe-harbor", "CITY", "keep"),
        ("safe-harbor", "AGE", "keep"),
        ("limited-data-set", "STREET", "keep"),
        ("limited-data-set", "PATIENT", "keep"),
    ],
)
def test_a_file_that_names_a_rule_obeys_it(tmp_path: Path, rule: str, label: str, action: str) -> None:
    file = tmp_path / "mine.toml"
    treat = {each.value: "tag" for each in Label} | {label: action}
    lines = "".join(f'{name} = "{value}"\n' for name, value in treat.items())
    file.write_text(f'rule = "{rule}"\nstaff = "remove"\nallows = ["tag"]\n[treat]\n{lines}')
    with pytest.raises(ConfigError, match=f"{label} = '{action}' is less than 45 CFR 164.514"):
        policy.load(file)


def test_safe_harbor_by_name_or_rule_refuses_shifts_and_keys(tmp_path: Path) -> None:
    treat = dict.fromkeys(Label, "tag") | {Label.DATE: "shift"}
    lines = "".join(f'{name} = "{value}"\n' for name, value in treat.items())
    file = tmp_path / "mine.toml"
    file.write_text(f'rule = "safe-harbor"\nstaff = "remove"\nallows = ["tag"]\n[treat]\n{lines}')
    with pytest.raises(ConfigError, match="'shift' is not Safe Harbor"):
        policy.load(file)
    namesake = tmp_path / "safe-harbor.toml"
    namesake.write_text(file.read_text())
    with pytest.raises(ConfigError, match="the name of a built-in policy"):
        policy.load(namesake)
    with pytest.raises(UnknownNameError, match="no policy 'safe-harbour'; there are: expert"):
        policy.load("safe-harbour")
    with pytest.raises(ConfigError, match="there is no policy file"):
        policy.load(tmp_path / "none.toml")


def test_the_settings_choose(tmp_path: Path) -> None:
    doc = marked(NOTE)
    assert replace.apply(doc, policy.treatment(Scrub())).text.startswith("[PATIENT], [AGE] y/o, DOB [DATE]")
    assert replace.apply(doc, policy.treatment(Scrub(replace="mask"))).text.startswith("*** ****, ** y/o")
    chosen = policy.treatment(Scrub(policy="safe-harbor", replace="mask", as_of=AS_OF))
    assert replace.apply(doc, chosen).text.startswith("*** ****, 47 y/o, DOB 1977")


# -- dates, ages, ZIP codes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3/4/2019", "2019"),
        ("March 2019", "2019"),
        ("2019-03-04T12:30:00Z", "2019"),
        ("20190304", "2019"),
        ("04MAR2019", "2019"),
        ("12/30/18 - 1/2/19", "2018-2019"),
        ("3/4/2019-5/6/2019", "2019"),
        ("10/2017, 3/2018 and 7/2019", "2017, 2018, 2019"),
        ("Christmas 2019", "2019"),
        ("summer of 2019", "2019"),
        ("the 1980s", "1980s"),
        ("nineteen ninety-eight", "1998"),
        ("Monday", None),
        ("3/4", None),
        ("March", None),
        ("31/31/2019", None),
        ("after the war", None),
        ("3/4/1921", "on or before 1934"),
        ("1934", "on or before 1934"),
        ("1935", "1935"),
        ("the 1920s", "on or before 1934"),
        ("the 1930s", None),
        ("3/4/31", "on or before 1934"),
        ("expires 2031", "2031"),
        ("born 1915, married 1940", "on or before 1934-1940"),
    ],
)
def test_dates_to_the_year(text: str, expected: str | None) -> None:
    assert generalise.year(text, as_of=AS_OF) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("47", "47"), ("89 y/o", "89 y/o"), ("90", "90 or older"), ("93-year-old", "90 or older"),
        ("18 months", "18 months"),
        ("ninety-three", "90 or older"), ("her nineties", "90 or older"), ("90s", "90 or older"), ("80s", "80s"),
        ("centenarian", "90 or older"), ("93M", "90 or older"), ("47M", "47M"), ("9l", "90 or older"),
        ("1,100 months", "90 or older"), ("95 weeks", "95 weeks"), ("85 to 93", "85 to 90 or older"),
        ("newborn", "newborn"), ("late thirties", "late thirties"), ("XCIII", None), ("?", None),
    ],
)  # fmt: skip
def test_ages(text: str, expected: str | None) -> None:
    assert generalise.age(text) == expected


@given(st.integers(0, 130), st.sampled_from(["{}", "{}-year-old", "{} y/o", "{}yo", "aged {}", "{} years old", "{}F"]))
def test_no_age_over_89_stays(years: int, form: str) -> None:
    text = form.format(years)
    assert generalise.age(text) == ("90 or older" if years > 89 else text)


@given(st.dates(), st.sampled_from(["%m/%d/%Y", "%Y-%m-%d", "%B %d, %Y", "%d %b %Y", "%Y%m%d", "%A, %b %d %Y"]))
def test_of_a_date_nothing_but_the_year_stays(day: Any, form: str) -> None:
    if day.year < 1800:
        return
    shown = generalise.year(day.strftime(form), as_of=AS_OF)
    if day.year > 2199:
        assert shown is None or str(day.year) == shown
    else:
        assert shown == (str(day.year) if day.year > AS_OF - 90 else f"on or before {AS_OF - 90}")


@pytest.mark.parametrize("census", generalise.CENSUSES)
def test_zip_codes_by_the_golden_table(census: int) -> None:
    small = set(GOLDEN[f"census{census}"])
    unassigned = set(GOLDEN["prefixes_without_any_zcta_treat_as_000"])
    assert len(small) == 18
    assert len(unassigned) == 106
    assert generalise.restricted(census) == small | unassigned
    for number in range(1000):
        prefix = f"{number:03d}"
        expected = "000" if prefix in small | unassigned else prefix
        for text in (prefix, f"{prefix}15", f"{prefix}15-1234", f"{prefix}151234"):
            assert generalise.zip3(text, census=census) == expected
    assert set(GOLDEN["prefixes_with_a_zcta_2010_plus_PR"]) | unassigned == {f"{number:03d}" for number in range(1000)}


@pytest.mark.parametrize("text", ["K1A 0B1", "SW1A 1AA", "4321", "43", "", "OH", "４３２１５", "432156", "43215-12"])
def test_what_is_no_zip_code_is_tagged(text: str) -> None:
    assert generalise.zip3(text) is None
    if text:
        assert scrubbed(f"<ZIP:{text}>") == "[ZIP]"


def test_old_censuses_are_refused() -> None:
    with pytest.raises(UsageError, match="must be 2010 or 2020"):
        generalise.restricted(2000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DOB: <DATE:3/4/24>, seen <DATE:1/2/2019>", "DOB: [DATE], seen 2019"),  # 1924 or 2024?
        ("Last seen <DATE:3/4/24>", "Last seen 2024"),
        ("born on <DATE:3/4/21>", "born on [DATE]"),
        ("born <DATE:3/4/2075>, seen <DATE:1/2/2170>", "born on or before 2080, seen 2170"),  # dates shifted before
        ("born <DATE:3/4/1975>, seen <DATE:1/2/2017> and <DATE:2/3/2107>", "born 1975, seen 2017 and 2107"),
        ("a <AGE:93>-year-old", "a 90-or-older-year-old"),
    ],
)
def test_what_stands_beside_decides(text: str, expected: str) -> None:
    assert scrubbed(text) == expected


def test_a_generalised_text_is_its_own() -> None:
    for text in ("2019", "2018-2019", "on or before 1934", "1980s"):
        assert generalise.year(text, as_of=AS_OF) == text
    assert generalise.age("90 or older") == "90 or older"
    assert generalise.zip3("432") == "432"
    assert generalise.zip3("000") == "000"


# -- ways to show ------------------------------------------------------------------------------------------------------


def test_numbers_agree_in_all_notes_of_a_patient() -> None:
    treat = replace.numbers(KEY)
    one = replace.apply(marked("<PATIENT:Ada Lund> and <PATIENT:Per>", patient="p1"), treat).text
    two = replace.apply(marked("<PATIENT:Per>, then <PATIENT:LUND, Ada>", patient="p1"), treat).text
    other = replace.apply(marked("<PATIENT:Per>, then <PATIENT:LUND, Ada>", patient="p2"), treat).text
    first, second = one.split(" and ")
    assert two == f"{second}, then {first}"
    assert other != two
    assert first != second
    assert first.startswith("[PATIENT-")
    known = Document("n2", "Lund", (Span(0, 4, Label.PATIENT),), Patient("p1", ((Label.PATIENT, "Ada Lund"),)))
    assert replace.apply(known, treat).text == first


@given(documents(), st.sampled_from([*policy.names(), "number", "mask", "null"]))
def test_fixed_width_keeps_every_line(doc: Document, name: str) -> None:
    doc = doc.with_spans(resolve(doc.spans))
    if name in policy.names():
        found = policy.load(name)
        treat = found.treatment(key=KEY if found.keyed else None, as_of=AS_OF, fixed_width=True)
    else:
        treat = replace.fitted(replace.treatment(name))
    new = replace.apply(doc, treat)
    assert [len(line) for line in new.text.splitlines()] == [len(line) for line in doc.text.splitlines()]
    for start, end in gaps(doc.spans, len(doc.text)):
        assert new.text[start:end] == doc.text[start:end]


def test_fixed_width_pads_cuts_and_masks() -> None:
    text = "<PATIENT:Ada Lund>|<DATE:3/4/19>|<AGE:93 yo>|<CITY:Rye>|<DATE:3/4/1921>|"
    text += "<CITY:Ada\nLund-Oestergaard>|<PATIENT:Ada Lund of\nRye>|"
    assert (
        scrubbed(text, fixed_width=True) == "*** ****|2019  |90   |***|********|***\n****************|[PATIENT]  \n   |"
    )


def test_the_inventory_tells_what_stays_and_determines_nothing() -> None:
    found = policy.load("expert-determination").inventory([marked(NOTE), marked(NOTE)])
    assert found["determination"] is None
    assert found["retained"] == {"AGE": {"action": "generalise", "count": 2}}
    assert found["keyed"]["DATE"] == {"action": "shift", "count": 4}
    assert found["removed"] == 0
    kept = policy.load("safe-harbor").inventory([marked(NOTE)])
    assert kept["retained"]["STATE"] == {"action": "keep", "count": 1}
    assert kept["keyed"] == {}
    assert kept["removed"] == 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("RE: <DOCTOR:Ada Lund>. Dear Dr. <DOCTOR:Osei>, thanks.", "RE: [DOCTOR]. Dear Dr. Osei, thanks."),
        ("Dr. <DOCTOR:Osei> came; <DOCTOR:K. Osei> signed.", "Dr. Osei came; K. Osei signed."),
        ("<DOCTOR:Tomasz Wieczorek>, M.D.", "Tomasz Wieczorek, M.D."),
        (
            "Dr. <DOCTOR:Lund>, her son, and <PATIENT:Ada Lund>; <DOCTOR:Lund> fell",
            "Dr. Lund, her son, and [PATIENT]; [DOCTOR] fell",
        ),
    ],
)
def test_staff_stays_where_the_text_says_that_it_is_staff(text: str, expected: str) -> None:
    assert scrubbed(text, "keep-providers") == expected
    masked = scrubbed(text, "keep-providers", manner="mask")
    assert ("[" in masked, masked.count("Osei")) == (False, expected.count("Osei"))


# -- laws of what is drawn ---------------------------------------------------------------------------------------------

EXPERT = policy.load("expert-determination")


def _days(text: str) -> date:
    return date.fromisoformat(text)


@given(
    st.lists(st.dates(date(1930, 1, 1), date(2030, 12, 31)), min_size=2, max_size=6),
    st.text("abcdef", min_size=1, max_size=6),
    st.binary(min_size=16, max_size=32),
)
def test_intervals_survive_within_a_patient(days: list[date], patient: str, key: bytes) -> None:
    """Over all notes of a patient, in whatever order they come, and never by a whole number of years."""
    treat = EXPERT.treatment(key=key)
    moved = [_days(replace.apply(marked(f"<DATE:{day}>", patient=patient), treat).text) for day in reversed(days)][::-1]
    shifts = {new - old for old, new in zip(days, moved, strict=True)}
    assert len(shifts) == 1
    (shift,) = shifts
    assert shift.days % 7 == 0
    assert 31 <= abs(shift.days) % 365.25 <= 365.25 - 31


NAMES = st.sampled_from(["Ada Lund", "Tobias Brandvold", "OKORO, ADA", "Maria de la Cruz", "J. Chen"])
OTHERS = st.sampled_from(
    ["<CITY:Columbus>, <STATE:OH> <ZIP:43215>", "<PHONE:303-555-0182>", "<MEDICALRECORD:00-482-913>",
     "<HOSPITAL:Mercy Hospital>", "<STREET:12 Elm Street>", "<EMAIL:a.lund@mercy.org>", "<PROFESSION:welder>"]
)  # fmt: skip


@given(NAMES, OTHERS, st.text("xyz", min_size=1, max_size=4), st.sampled_from(["surrogate", "syllables", "number"]))
def test_a_patient_s_notes_agree_and_another_s_do_not(name: str, other: str, patient: str, manner: str) -> None:
    treat = EXPERT.treatment(key=KEY, manner=manner)
    text = f"<PATIENT:{name}>; {other}"
    one = replace.apply(marked(text, patient=patient), treat).text
    again = replace.apply(
        marked(f"{other}, then <PATIENT:{name}>", patient=patient), EXPERT.treatment(key=KEY, manner=manner)
    )
    assert again.text.rpartition(", then ")[2] == one.partition(";")[0]
    assert again.text.rpartition(", then ")[0] == one.partition("; ")[2]
    others = {replace.apply(marked(text, patient=f"{patient}{number}"), treat).text for number in range(12)}
    assert one not in others
    assert len(others) == 12  # nothing tells that the twelve bear one name
    project = EXPERT.treatment(key=KEY, manner=manner, project="another") if manner != "number" else None
    assert project is None or replace.apply(marked(text, patient=patient), project).text != one


@pytest.mark.parametrize("manner", ["surrogate", "syllables", "random", "number", "mask", "null", "tag"])
def test_no_original_stands_for_itself(manner: str) -> None:
    shown = EXPERT.shown_as(manner)
    treat = shown.treatment(key=KEY, run_key=KEY)
    for doc in list(corpus.load(corpus.OWN, split="train"))[:80]:
        for span in doc.spans:
            old = doc.text[span.start : span.end]
            if _removed(shown.action(span.label)) and any(map(str.isalnum, old)):
                assert treat(doc, span).casefold() != old.casefold(), f"{doc.id} {span}"


def _removed(action: Action) -> bool:
    return action not in (Action.KEEP, Action.GENERALISE, Action.SHIFT)
