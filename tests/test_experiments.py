"""The papers' tables: all of them are made, quickly, by the command; what they rest on is right."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deident import corpus, evaluate, experiments
from deident.document import Document, Record
from deident.errors import MissingPackageError, UnknownNameError, UsageError
from deident.experiments import _lab, _result, thesis
from deident.experiments._lab import System
from deident.formats import i2b2_2014
from deident.learn import _graphs, features, vectors

EXPERIMENTS = experiments.experiments()


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    whole = [sys.executable, "-W", "error", "-m", "deident", "experiment", *map(str, arguments)]
    return subprocess.run(whole, capture_output=True, text=True, timeout=1500)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of `run all --fast` on deident-open, as a user runs it."""
    folder = tmp_path_factory.mktemp("papers")
    done = command("run", "all", "--fast", "-o", folder)
    assert done.returncode == 0, done.stderr
    assert f"{len(EXPERIMENTS)} of {len(EXPERIMENTS)} made" in done.stderr
    return folder


@pytest.fixture(scope="module")
def few() -> experiments.Data:
    def some(split: str, most: int) -> tuple[Document, ...]:
        return tuple(corpus.load(corpus.OWN, split=split))[:most]

    return experiments.Data("a few", some("train", 6), some("dev", 3), some("style", 3))


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_every_table_is_made_and_says_what_it_is_of(made: Path, name: str) -> None:
    held = json.loads((made / f"{name}.json").read_text(encoding="utf-8"))
    page = (made / f"{name}.md").read_text(encoding="utf-8")
    assert held["tables"]
    assert all(table["rows"] and {*map(len, table["rows"])} == {len(table["heads"])} for table in held["tables"])
    assert held["corpus"][:16] in page and "seed 1" in page and f"folds {held['sizes']['folds']}" in page
    assert held["notes"] == {"train": 14, "dev": 5, "other": 5}  # the test split stays shut
    papers = [head for table in held["tables"] for head in table["heads"] if head.startswith(_result.PAPER)]
    assert bool(papers) == bool(held["paper"]) == ("measured on other data" in page)
    for figure in held["figures"]:
        assert ElementTree.fromstring((made / f"{figure}.svg").read_text(encoding="utf-8")).tag.endswith("svg")
        assert f"({figure}.svg)" in page


def test_what_is_finished_is_not_made_again(made: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in made.iterdir() if path.name != "index.md"}
    done = command("run", "thesis-a1", "uthealth-table7", "--fast", "-o", made)
    assert (done.returncode, done.stderr.count("there already")) == (0, 2)
    assert {path: path.stat().st_mtime_ns for path in made.iterdir() if path.name != "index.md"} == before
    index = (made / "index.md").read_text(encoding="utf-8")
    assert all(f"[{name}]" in index for name in EXPERIMENTS)


def test_another_seed_makes_a_table_anew(few: experiments.Data, tmp_path: Path) -> None:
    def run(seed: int) -> experiments.Outcome:
        (outcome,) = experiments.run(["thesis-a6"], experiments.Lab(few, experiments.FAST, tmp_path, seed=seed))
        return outcome

    assert [run(seed).kept for seed in (1, 1, 2)] == [False, True, False]


def test_no_name_of_a_note_is_in_what_is_written(made: Path) -> None:
    notes = [doc for split in ("train", "dev", "style") for doc in corpus.load(corpus.OWN, split=split)]
    names = {
        doc.text[span.start : span.end]
        for doc in notes
        for span in doc.spans
        if span.label in ("PATIENT", "DOCTOR", "MEDICALRECORD", "STREET") and span.end - span.start > 8
    }
    assert len(names) > 100
    for path in made.rglob("*"):
        written = path.read_text(encoding="utf-8") if path.is_file() else ""
        assert not [name for name in names if name in written], path.name


def test_what_systems_found_is_its_owners_alone(made: Path) -> None:
    kept = list((made / "spans").iterdir())
    assert kept
    assert {path.stat().st_mode & 0o077 for path in kept} == {0}


def test_the_hybrid_grows_by_its_steps_and_the_systems_differ(made: Path) -> None:
    """A table of copies of one system would look as tidy."""
    held = json.loads((made / "systems-every.json").read_text(encoding="utf-8"))
    assert len({tuple(row[1:]) for row in held["tables"][0]["rows"]}) > 10
    steps = json.loads((made / "uthealth-table7.json").read_text(encoding="utf-8"))["tables"][0]["rows"]
    assert steps[0][3] < steps[1][3]  # the rules help two CRFs that learned from a few notes


def test_figures_are_those_of_evaluate(few: experiments.Data, tmp_path: Path) -> None:
    lab = experiments.Lab(few, experiments.FAST, tmp_path)
    result = EXPERIMENTS["scrubber-table6"].work(lab)
    nlm = lab.on_dev(_lab.System(detectors=("nlm",)))
    counts = evaluate.score(lab.dev, nlm).overall[evaluate.View.TOKEN_BINARY].micro
    whole = next(row for row in result.tables[0].rows if row[0] == "PHI")
    assert whole[1:3] == (counts.tp + counts.fn, counts.fn)


# the tokens of each class in the thesis' test sets (tables 5.1, 5.2)
CHALLENGE = {"Non-PHI": 133623, "Patients": 402, "Doctors": 2097, "Hospitals": 1602, "Dates": 2161, "IDs": 1198}
OBESITY = {"Non-PHI": 570174, "Patients": 904, "Doctors": 7492, "Hospitals": 2850, "Dates": 7016, "IDs": 3491}


@pytest.mark.parametrize(
    ("table", "first", "second"), [("b1", CHALLENGE, CHALLENGE), ("b4", CHALLENGE, OBESITY), ("b5", OBESITY, OBESITY)]
)
def test_z_is_the_thesis_own(table: str, first: dict[str, int], second: dict[str, int]) -> None:
    """Equation 3.4 on the published F-measures gives the published z, but for what rounding and a few tokens change."""
    _, _, rows = _result.published(f"thesis-{table}")
    for kind in first:
        left, right, z = rows[kind]
        assert isinstance(left, float) and isinstance(right, float)
        assert thesis.z_of(left, first[kind], right, second[kind]) == pytest.approx(z, rel=0.02, abs=0.02), kind


def test_papers_tables_have_their_columns() -> None:
    for name in _result._published():  # pyright: ignore[reportPrivateUsage]
        data, heads, rows = _result.published(name)
        assert data and {*map(len, rows.values())} == {len(heads)}, name


def test_surrogates_keep_the_gold_and_change_the_names(few: experiments.Data, tmp_path: Path) -> None:
    lab = experiments.Lab(few, experiments.FAST, tmp_path)
    for old, new in zip(few.train, lab.surrogate.train, strict=True):
        assert [span.label for span in old.spans] == [span.label for span in new.spans]
        names = {old.text[span.start : span.end] for span in old.spans if span.label == "MEDICALRECORD"}
        assert not names & {new.text[span.start : span.end] for span in new.spans}


@given(st.text())
def test_whole_words_hold_every_character_once(text: str) -> None:
    tokens = _lab._whole_words(text).tokens  # pyright: ignore[reportPrivateUsage]
    inside = [place for start, end in tokens.spans() for place in range(start, end)]
    assert inside == sorted(set(inside))
    assert {place for place, char in enumerate(text) if not char.isspace()} <= {*inside}
    normal = _lab._normal(text)  # pyright: ignore[reportPrivateUsage]
    assert normal.text == text
    assert all(normal.words)


def test_a_date_stays_whole_without_preprocessing() -> None:
    assert _lab._whole_words("Since6/03/04, 2106-02-12.").words == ["Since6/03/04", ",", "2106-02-12", "."]  # pyright: ignore[reportPrivateUsage]


def test_a_set_without_a_column() -> None:
    whole, cut = features.feature_set("uth"), features.feature_set("uth~embedding,attribute")
    names = [{use.name for use in (*one.words, *one.texts)} for one in (whole, cut)]
    assert names[0] - names[1] == {"embedding", "attribute"}
    assert cut.name == "uth~embedding,attribute"
    with pytest.raises(UnknownNameError, match="no column of the feature set uth 'shoes'; there are: attribute"):
        features.feature_set("uth~shoes")


def test_a_hybrid_without_a_column_is_two_crfs_without_it(few: experiments.Data, tmp_path: Path) -> None:
    lab = experiments.Lab(few, experiments.FAST, tmp_path)
    found = lab.on_dev(System("hybrid", "uth~embedding"))
    assert found.keys() == lab.dev.keys()


def test_what_is_missing_is_named_and_not_skipped(
    few: experiments.Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(vectors.VARIABLE, raising=False)
    lab = experiments.Lab(few, experiments.FAST, tmp_path)  # small, but not the quick run that does without
    with pytest.raises(MissingPackageError, match="word vectors"):
        EXPERIMENTS["uthealth-table4"].work(lab)
    (outcome,) = experiments.run(["uthealth-table4"], lab)
    assert "word vectors" in outcome.reason
    assert not (tmp_path / "uthealth-table4.json").exists()
    experiments.index([outcome], lab)
    assert "**not run**, this needs word vectors" in (tmp_path / "index.md").read_text(encoding="utf-8")


def test_a_crash_in_one_table_is_told_without_text(few: experiments.Data, tmp_path: Path) -> None:
    lab = experiments.Lab(replace(few, dev=()), experiments.FAST, tmp_path)
    outcomes = list(experiments.run(["dernoncourt-figure4", "scrubber-figure6"], lab))
    assert outcomes[0].reason
    assert not outcomes[1].reason


def test_gold_of_ones_own_in_another_format(few: experiments.Data, tmp_path: Path) -> None:
    for part in ("train", "dev"):
        for doc in getattr(few, part):
            path = tmp_path / "gold" / part / f"{doc.id}.xml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(i2b2_2014.write(Record((doc,)))[".xml"])
    done = command("run", "thesis-a6", "thesis-a12", "--fast", "--corpus", tmp_path / "gold", "-o", tmp_path / "out")
    assert done.returncode == 1
    assert "thesis-a12: not run, there are no notes of another institution: name them with --other" in done.stderr
    held = json.loads((tmp_path / "out" / "thesis-a6.json").read_text(encoding="utf-8"))
    assert held["notes"] == {"train": 6, "dev": 3}
    assert held["data"] == "gold"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("thesis-z9",), "no experiment 'thesis-z9'; there are: all, dernoncourt-a1"),
        (("all", "--set", "fold=3"), "no size 'fold'; there are: dev, epochs, folds"),
        (("all", "--set", "folds=many"), "the size 'folds' must be a whole number"),
        (("all", "--corpus", "nowhere"), "there is no folder nowhere"),
    ],
)
def test_mistakes_are_one_sentence(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = command("run", *arguments, "--fast", "-o", tmp_path / "out")
    assert done.returncode == 2
    assert done.stderr.startswith(f"deident: {said}")
    assert not (tmp_path / "out").exists()


def test_list_names_all() -> None:
    done = command("list", "--json")
    assert json.loads(done.stdout) == {name: made.title for name, made in EXPERIMENTS.items()}
    assert {name.split("-")[0] for name in EXPERIMENTS} == {
        "thesis", "wideid", "scrubber", "dernoncourt", "uthealth", "systems",
    }  # fmt: skip


def test_the_network_of_no_words_can_be_kept() -> None:
    whole, factors = _graphs.eight_bits(np.zeros((3, 0), dtype=np.float32), axis=1, steps=127)
    assert whole.shape == (3, 0) and factors.shape == (3, 1)


def test_folds_of_too_few_patients_are_refused(few: experiments.Data, tmp_path: Path) -> None:
    lab = experiments.Lab(few, replace(experiments.FAST, folds=50), tmp_path)
    with pytest.raises(UsageError, match="cannot be parted into 50 folds"):
        lab.crossed(System("svm", "mist"), few.train)
