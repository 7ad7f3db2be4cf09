"""Spans and tags, tables against the trainers' own predictions, models on disk, what a trained model finds."""

import importlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deident import cli, corpus, detect
from deident.config import Detect
from deident.corpus import general, make
from deident.detect import learned
from deident.document import Document, Record, Span
from deident.errors import FormatError, UnknownNameError, UsageError
from deident.formats import jsonl
from deident.labels import Label
from deident.learn import bridge, pages, store, tagged, train
from deident.learn import columns as c
from deident.learn import tables as tables_
from deident.learn.bits import bits_at, bits_of_name
from deident.learn.columns import Page
from deident.learn.crf import CRF, Options, weights
from deident.learn.features import FeatureSet, TextUse, Use, feature_set
from deident.learn.tables import Tables, names_of, units
from deident.tokens import tokenize
from deident.view import view

pycrfsuite: Any = importlib.import_module("pycrfsuite")
QUICK = Options(passes=3, averaged=1, drop_feature=0.0, drop_words=0.0, drop_lists=0.0)


@cache
def notes() -> tuple[Document, ...]:
    return tuple(corpus.load("deident-open", split="train"))


def small(unit: str = "document") -> FeatureSet:
    """A set without rules, quick to train."""
    return FeatureSet(
        "small",
        words=(Use(c.lower, (-1, 0, 1)), Use(c.shape, (0,)), Use(c.kinds, (0, 1)), Use(c.known_form, (-2, 0, 2))),
        texts=(TextUse(c.gap, (0, 1)), TextUse(c.line_place, (0,)), TextUse(c.evidence, (0,))),
        pairs=feature_set("deident").pairs[:2],
        unit=unit,
    )


def page(text: str) -> Page:
    return Page(view(text))


# --- bridge ---


@st.composite
def texts_and_spans(draw: st.DrawFn) -> tuple[str, list[Span]]:
    text = draw(st.text(st.sampled_from("aB9 .\n-é"), max_size=40))
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=8)))
    labels = st.sampled_from((Label.DATE, Label.PATIENT))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    return text, [Span(start, end, draw(labels)) for start, end in pairs]


@given(texts_and_spans())
def test_tags_and_back_never_narrow_a_span(given_: tuple[str, list[Span]]) -> None:
    text, spans = given_
    tokens = tokenize(text)
    back = bridge.spans(tokens, bridge.tags(tokens, spans))
    covered = {place for span in back for place in range(span.start, span.end)}
    for span in spans:
        assert {place for place in range(span.start, span.end) if not text[place].isspace()} <= covered
    assert bridge.spans(tokens, bridge.tags(tokens, back)) == back


def test_aligned_spans_are_unchanged() -> None:
    for doc in notes()[:20]:
        tokens = tokenize(doc.text)
        starts, ends = set(tokens.starts.tolist()), set(tokens.ends.tolist())
        aligned = [span for span in doc.spans if span.start in starts and span.end in ends]
        assert bridge.spans(tokens, bridge.tags(tokens, aligned)) == aligned


def test_a_stray_inside_tag_begins_a_span() -> None:
    assert list(bridge.stretches(["O", "I-DATE", "I-DATE", "I-PHONE", "B-PHONE"])) == [
        (1, 3, Label.DATE),
        (3, 4, Label.PHONE),
        (4, 5, Label.PHONE),
    ]


@given(st.lists(st.sampled_from(["O", "B-DATE", "I-DATE", "B-PHONE", "I-PHONE"]), max_size=30))
def test_spans_of_a_path_are_those_of_its_tags(tags: list[str]) -> None:
    names = ("O", "B-DATE", "B-PHONE", "I-DATE", "I-PHONE")
    tokens = tokenize("word " * len(tags))
    path = np.array([names.index(tag) for tag in tags], dtype=np.uint8)
    likely = np.linspace(0, 1, len(tags), dtype=np.float32)
    found = bridge.spans_of_path(tokens, path, names, likely, source="s")
    told = bridge.spans(tokens, tags, source="s", scores=likely.tolist())
    assert found == told
    assert [(span.source, span.score) for span in found] == [(span.source, span.score) for span in told]


# --- columns ---


@settings(max_examples=60)
@given(st.text(max_size=60))
def test_every_column_speaks_of_every_token(text: str) -> None:
    shown = page(text)
    for use in feature_set("deident").texts:
        said = use.column(shown)
        assert len(said.codes) == len(shown.words)
        assert all(0 <= code < len(said.values) for code in said.codes.tolist())
    assert sum(map(len, names_of(shown, small()))) == len(shown.words)


def test_the_bits_of_a_name_are_those_of_its_parts() -> None:
    assert bits_of_name("lower[-1]=dr") == bits_at("lower=dr", -1)
    assert bits_of_name("lower[0]=a=b\nc") == bits_at("lower=a=b\nc", 0)
    assert len({bits_of_name(f"lower[{at}]=dr") for at in range(-4, 5)}) == 9


@pytest.mark.parametrize(
    ("text", "word", "said"),
    [
        ("seen by Dr. Vasquez. Later Vasquez left", "Vasquez", "title"),
        ("Attending: K. Osei, MD. Then Osei", "Osei", "credential"),
        ("he took a rose; Rose was there", "Rose", "lower"),
        ("and then Tamika came. TAMIKA", "Tamika", "capital"),
        ("bed bed", "bed", "again"),
    ],
)
def test_evidence(text: str, word: str, said: str) -> None:
    shown = page(text)
    codes = c.evidence(shown)
    place = max(at for at, found in enumerate(shown.words) if found == word)
    assert said in codes.values[codes.codes[place]]


# --- tables against the trainers ---


def crfsuite(features: FeatureSet, docs: list[Document], folder: Path) -> Any:
    trainer = pycrfsuite.Trainer("lbfgs", {"max_iterations": 12, "feature.minfreq": 3}, verbose=False)
    for doc in docs:
        shown = pages(features)(doc)
        tags = bridge.tags(shown.view.tokens, doc.spans)
        for unit, (start, end) in zip(names_of(shown, features), units(shown, features), strict=True):
            trainer.append(pycrfsuite.ItemSequence(unit), tags[start:end])
    trainer.train(str(folder / "model"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(folder / "model"))
    return tagger


@pytest.mark.parametrize("unit", ["document", "sentence"])
def test_tables_say_what_crfsuite_says(unit: str, tmp_path: Path) -> None:
    features = small(unit)
    tagger = crfsuite(features, list(notes()[:25]), tmp_path)
    info = tagger.info()
    learned_ = weights(info.state_features, info.transitions, info.labels)
    tables = Tables(learned_, features, free=True)
    tokens = 0
    for doc in (*notes(), *make.notes(140, seed=5)) if unit == "document" else notes()[:40]:
        shown = page(doc.text)
        found = tables.tag(shown)
        theirs = [tag for unit_ in names_of(shown, features) for tag in tagger.tag(unit_)]
        assert found.tags == theirs
        tokens += len(theirs)
    assert tokens > (100_000 if unit == "document" else 10_000)
    shown = page(notes()[3].text)
    found = tables.tag(shown)
    chances: list[float] = []
    for unit_ in names_of(shown, features):
        tagger.set(unit_)
        chances += [1 - tagger.marginal("O", at) for at in range(len(unit_))]
    assert np.allclose(found.chances, chances, atol=1e-4)


def test_tables_are_ten_times_as_fast_as_crfsuite(tmp_path: Path) -> None:
    """From pages to tags, with our own set, the features made in Python for one and looked up for the other."""
    features = feature_set("deident")
    docs = list(notes()[:12])
    tagger = crfsuite(features, docs[:4], tmp_path)
    info = tagger.info()
    tables = Tables(weights(info.state_features, info.transitions, info.labels), features, free=True)
    lay_out = pages(features)
    laid = [lay_out(doc) for doc in docs]
    took: dict[str, float] = {}
    for _ in range(3):
        for name in ("tables", "crfsuite"):
            fresh = [Page(shown.view, shown.hits) for shown in laid]
            begin = time.process_time()
            if name == "tables":
                tags = [tables.tag(shown).tags for shown in fresh]
            else:
                tags = [[tag for unit in names_of(shown, features) for tag in tagger.tag(unit)] for shown in fresh]
            took[name] = min(took.get(name, 1e9), time.process_time() - begin)
            assert sum(map(len, tags)) > 4_000
    assert took["tables"] * 10 < took["crfsuite"]


def test_adagrad_learns_and_its_features_are_those_of_the_names() -> None:
    losses: list[float] = []
    features = small()
    learner = CRF(features, options=QUICK, told=lambda _, loss: losses.append(loss))
    learner.fit(tagged(notes()[:30], features))
    assert losses[0] > losses[1] > losses[2]
    shown = page(notes()[0].text)
    tables = Tables(learner.weights_, features)
    total, _ = tables.scores(shown)
    held = learner.weights_
    place = {key: at for at, key in enumerate(held.keys.tolist())}
    for at, names in enumerate(names_of(shown, features)[0][:80]):
        row = np.zeros(len(held.labels), dtype=np.float32)
        for name in names:
            number = place.get(bits_of_name(name))
            if number is not None:
                chosen = slice(held.bounds[number], held.bounds[number + 1])
                row[held.labels_of[chosen]] += held.values[chosen]
        assert np.allclose(row, total[at], atol=1e-3)


def test_the_same_seed_gives_the_same_model() -> None:
    first, second = (CRF(small(), options=QUICK).fit(tagged(notes()[:8], small())).weights_ for _ in range(2))
    assert np.array_equal(first.keys, second.keys)
    assert np.array_equal(first.values, second.values)


def test_bio_is_kept_and_a_bias_finds_more() -> None:
    features = small()
    learner = CRF(features, options=QUICK).fit(tagged(notes()[:30], features))
    tables = Tables(learner.weights_, features)
    found: list[int] = []
    for bias in (-2.0, 0.0, 2.0, 4.0):
        count = 0
        for doc in notes()[30:40]:
            tags = tables.tag(page(doc.text), bias=bias).tags
            for before, after in zip(["O", *tags], tags, strict=False):
                assert not after.startswith("I-") or before[2:] == after[2:]
            count += sum(tag != "O" for tag in tags)
        found.append(count)
    assert found == sorted(found)
    assert found[-1] > found[0]


def test_an_unknown_algorithm_and_an_empty_corpus_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="adagrad, ap, l2sgd, lbfgs"):
        CRF(small(), Options(algorithm="newton")).fit([])
    with pytest.raises(UsageError, match="nothing to learn"):
        train.train([Document("a", "no one")])


# --- the model on disk ---


@pytest.fixture(scope="module")
def model() -> store.Model:
    return train.train(notes()[:40], options=QUICK)


def test_a_model_comes_back_from_disk(model: store.Model, tmp_path: Path) -> None:
    store.save(model, tmp_path / "m")
    again = store.load(tmp_path / "m")
    assert replace(again.manifest, options={}) == replace(model.manifest, options={})
    held = list(notes()[40:50])
    first = [doc.spans for doc in train.predict(model, held)]
    assert [doc.spans for doc in train.predict(again, held)] == first or _share(first, again, held) > 0.99


def _share(first: list[tuple[Span, ...]], again: store.Model, held: list[Document]) -> float:
    """Weights are kept in 16 bits: a rare tie may fall otherwise."""
    second = [doc.spans for doc in train.predict(again, held)]
    same = sum(len(set(a) & set(b)) for a, b in zip(first, second, strict=True))
    return same / max(1, sum(map(len, first)))


def test_a_model_folder_holds_no_word_of_a_note(model: store.Model, tmp_path: Path) -> None:
    store.save(model, tmp_path / "m")
    content = b"".join(path.read_bytes() for path in (tmp_path / "m").iterdir())
    with np.load(tmp_path / "m" / "weights.npz") as arrays:
        assert all(arrays[name].dtype.kind in "uif" for name in arrays.files)
    for doc in notes()[:40]:
        for span in doc.spans:
            written = doc.text[span.start : span.end]
            if len(written) > 7:
                assert written.encode() not in content


def test_broken_models_are_refused(model: store.Model, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no model"):
        store.load(tmp_path)
    store.save(model, tmp_path / "m")
    (tmp_path / "m" / "weights.npz").write_bytes(b"PK")
    with pytest.raises(FormatError, match="is not a model"):
        store.load(tmp_path / "m")
    (tmp_path / "m" / "manifest.json").write_text("{", encoding="utf-8")
    with pytest.raises(FormatError, match="is not a model"):
        store.load(tmp_path / "m")
    (tmp_path / "full").mkdir()
    with pytest.raises(UsageError, match="is no model"):
        store.save(model, tmp_path / "full")
    assert list((tmp_path / "full").iterdir()) == []


def test_a_trained_model_is_a_detector(model: store.Model) -> None:
    finder = learned.Learned(model)
    text = "Patient: Amina Yusuf\nDOB: 03/04/1961\nSeen by Dr. Petrov on March 4, 2019.\nMRN: 00412233\n"
    found = {(text[span.start : span.end], span.label) for span in finder.detect(Document("n", text))}
    assert ("03/04/1961", Label.DATE) in found
    assert ("Petrov", Label.DOCTOR) in found
    assert all(0 <= span.score <= 1 for span in finder.detect(Document("n", text)))
    assert list(finder.detect(Document("e", ""))) == []
    assert "learned" in finder.why(Span(0, 1, Label.DATE))


def test_the_detector_wants_a_model_that_is_there(model: store.Model, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="no engine 'slow'; there are: balanced, fast"):
        detect.load("learned", Detect(engine="slow"))
    with pytest.raises(UsageError, match="there is no model in"):
        detect.load("learned", Detect(model=str(tmp_path / "none")))
    store.save(model, tmp_path / "m")
    found = detect.load("learned", Detect(model=str(tmp_path / "m"))).detect(Document("n", "DOB: 03/04/1961"))
    assert [span.label for span in found] == [Label.DATE]


# --- the models that are shipped ---


@pytest.mark.parametrize("engine", ["fast", "balanced"])
def test_a_shipped_model_finds_names_and_leaves_medicine(engine: str) -> None:
    text = "Mrs. Adaeze Okonkwo, 67, of Dunmore was seen by Dr. Wieczorek on 3/4/21 for Graves disease; strength 4/5."
    found = detect.load("learned", Detect(engine=engine)).detect(Document("n", text))
    marked = {text[span.start : span.end]: span.label for span in found}
    assert marked == {
        "Adaeze Okonkwo": Label.PATIENT, "67": Label.AGE, "Dunmore": Label.CITY, "Wieczorek": Label.DOCTOR,
        "3/4/21": Label.DATE,
    }  # fmt: skip


@pytest.mark.parametrize("engine", ["fast", "balanced"])
def test_a_card_says_what_the_manifest_does(engine: str) -> None:
    folder = Path(str(files("deident") / "models" / engine))
    manifest = store.load(folder).manifest
    card = (folder / "CARD.md").read_text(encoding="utf-8")
    for name in ("recall", "precision", "patient_names_leaked"):
        shown = name.replace("_", " ")
        assert f"| {shown} | {manifest.scores['dev'][name]} | {manifest.scores['style'][name]} |" in card
    assert len(manifest.scores["curve"]) > 5
    raw, true = zip(*manifest.calibration, strict=True)
    assert list(raw) == sorted(raw)
    assert list(true) == sorted(true)


def test_a_wanted_recall_takes_its_setting_from_the_curve() -> None:
    plain, keen = (detect.load("learned", Detect(recall=wanted)) for wanted in (0.0, 0.99))
    assert isinstance(plain, learned.Learned)
    assert isinstance(keen, learned.Learned)
    manifest = keen.model.manifest
    first = min(bias for bias, found, _ in manifest.scores["curve"] if found >= 0.99)
    assert plain.bias == keen.bias == 0.0
    assert manifest.bias == first > plain.model.manifest.bias
    for label, more in manifest.lifts.items():
        assert 0 < more <= 2.0
        below = [
            found for bias, found in manifest.scores["curve_by_type"][label] if bias < min(first + more, first + 2)
        ]
        assert all(found < 0.99 for found in below)
    assert not plain.model.manifest.lifts
    for wanted, message in ((0.99999, "the model's curve ends at a recall of"), (1.5, "a share between 0 and 1")):
        with pytest.raises(UsageError, match=message):
            detect.load("learned", Detect(recall=wanted))


def test_lifts_find_more_of_their_type_and_calibration_changes_chances_only() -> None:
    text = "Maybe brighton said that hope left rosewood in may.\n" * 3
    plain = detect.load("learned", Detect())
    assert isinstance(plain, learned.Learned)

    def found(**more: Any) -> list[Span]:
        model = plain.model.described(replace(plain.model.manifest, **more))
        return list(learned.Learned(model).detect(Document("a", text)))

    few, many = found(calibration=()), found(calibration=(), lifts={"PATIENT": 8.0})
    assert sum(span.label is Label.PATIENT for span in many) > sum(span.label is Label.PATIENT for span in few)
    halved = found(calibration=((0.0, 0.0), (1.0, 0.5)), lifts={"PATIENT": 8.0})
    assert halved == many  # scores are no part of equality
    assert [span.score for span in halved] == pytest.approx([span.score / 2 for span in many], abs=1e-3)


def test_all_models_together_are_small() -> None:
    sizes = [file.stat().st_size for file in Path(str(files("deident") / "models")).rglob("*") if file.is_file()]
    assert sum(sizes) < 40e6


# --- cross-validation ---


def test_folds_keep_a_patients_notes_together() -> None:
    docs = list(notes())
    parts = train.folds(docs, 5)
    assert sorted(doc.id for part in parts for doc in part) == sorted(doc.id for doc in docs)
    where = {}
    for number, part in enumerate(parts):
        for doc in part:
            assert doc.patient is not None
            assert where.setdefault(doc.patient.id, number) == number
    with pytest.raises(UsageError, match="cannot be parted"):
        train.folds(docs[:3], 50)


def test_cross_validation_scores_every_note_once() -> None:
    docs = list(notes()[:12])

    def found() -> Iterator[Document]:
        for part in train.cross_validate(docs, 3, options=QUICK):
            yield from part

    assert sorted(doc.id for doc in found()) == sorted(doc.id for doc in docs)


def test_pages_hold_what_the_rules_found() -> None:
    shown = pages(feature_set("deident"))(Document("a", "mail ada.okoro@example.org"))
    said = c.rule(shown)
    assert "B-EMAIL" in {value for code in said.codes.tolist() for value in said.values[code]}


# --- caches ---


def test_words_that_were_dropped_come_back_the_same(model: store.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = list(notes()[:60])
    wanted = [doc.spans for doc in train.predict(model, docs)]
    for name, kept in (("_WORDS_KEPT", 300), ("_SLOTS_KEPT", 2000), ("_VALUES_KEPT", 70)):
        monkeypatch.setattr(tables_, name, kept)
    finder = model.finder()
    for _ in range(2):
        assert [tuple(spans) for spans in finder.find(docs)] == wanted
    words = finder._tables._words  # pyright: ignore
    assert len(words.number) <= 300 + max(len(set(view(doc.text).words)) for doc in docs)
    assert next(iter(words.number)) == c.OUTSIDE
    assert sorted(words.number.values()) == list(range(len(words.number)))


def test_chances_are_true_where_the_best_tag_cannot_follow() -> None:
    """Every token says "I-DATE" most strongly, which cannot stand at the start: other tags must be followed."""
    labels = ("O", "B-DATE", "I-DATE")
    features = FeatureSet("one", words=(Use(c.lower, (0,)),))
    keys = np.array([bits_at("lower=x", 0)], dtype=np.uint64)
    held = tables_.Weights(
        labels, keys, np.array([0, 1], dtype=np.int32), np.array([2], dtype=np.uint8),
        np.array([40], dtype=np.float32), np.zeros((3, 3), dtype=np.float32), np.zeros(3, dtype=np.float32),
    )  # fmt: skip
    found = Tables(held, features).tag(page("x x x"))
    assert found.tags == ["B-DATE", "I-DATE", "I-DATE"]
    assert found.chances == pytest.approx([1, 1, 1], abs=1e-5)
    assert Tables(held, features, free=True).tag(page("y x y")).chances == pytest.approx([2 / 3, 1, 2 / 3], abs=1e-5)


# --- held-out notes, options, learners ---


def test_learning_stops_when_held_out_notes_gain_no_more() -> None:
    told: list[float] = []
    options = replace(QUICK, passes=20, averaged=2)
    # the more is found in notes whose gold says that nothing is there, the greater the loss
    held = [Document(doc.id, doc.text) for doc in notes()[30:36]]
    train.train(notes()[:12], held=held, features="wideid", options=options, told=lambda _, loss: told.append(loss))
    best = told.index(min(told))
    assert best < 10
    assert len(told) == best + 1 + options.patience + options.averaged


def test_learners_are_the_modules_that_learn() -> None:
    assert {"crf", "svm"} <= set(train.learners())
    assert "tables" not in train.learners()
    for name in train.learners():
        module = train.load_learner(name)
        assert module.Options() == module.Options()
        assert callable(module.load)
    for name in ("newton", "tables"):
        with pytest.raises(UnknownNameError, match=f"no learner '{name}'; there are: .*crf"):
            train.load_learner(name)


def test_options_are_said_in_words() -> None:
    options = train.options_of("crf", {"passes": "3", "rate": "0.2", "costs": "O=0.5, DATE=2", "algorithm": "ap"})
    assert options == Options(passes=3, rate=0.2, costs=(("O", 0.5), ("DATE", 2.0)), algorithm="ap")
    with pytest.raises(UnknownNameError, match=r"no option of the learner crf 'pass'; there are: .*passes"):
        train.options_of("crf", {"pass": "3"})
    with pytest.raises(UsageError, match="'passes' must be a whole number"):
        train.options_of("crf", {"passes": "three"})
    with pytest.raises(UsageError, match="'costs' must be NAME=NUMBER"):
        train.options_of("crf", {"costs": "O"})


def test_a_cheap_mistake_on_no_phi_makes_for_recall() -> None:
    found: list[int] = []
    for costs in ((), (("O", 0.2),)):
        made = train.train(notes()[:30], features="wideid", options=replace(QUICK, costs=costs))
        found.append(sum(len(doc.spans) for doc in train.predict(made, notes()[30:50])))
    assert found[1] > found[0]
    with pytest.raises(UnknownNameError, match="no label in these notes 'SHOE'"):
        train.train(notes()[:8], features="wideid", options=replace(QUICK, costs=(("SHOE", 2.0),)))


def test_some_notes_are_held_out_by_patient() -> None:
    kept, held = train.parted(notes(), 0.2)
    assert sorted(doc.id for doc in (*kept, *held)) == sorted(doc.id for doc in notes())
    assert 0.2 <= len(held) / len(notes()) < 0.3
    assert not {doc.patient for doc in kept} & {doc.patient for doc in held}


# --- the command line ---


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "deident", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of notes with their spans."""
    path = tmp_path_factory.mktemp("gold") / "notes.jsonl"
    path.write_bytes(jsonl.write(Record(notes()[:24]))[".jsonl"])
    return path


def test_the_command_trains_a_model_that_scrubs(gold: Path, tmp_path: Path) -> None:
    done = run("train", gold, "-o", tmp_path / "m", "--hold", "0.2", "--set", "passes=4", "--bias", "0.5", "--json")
    assert done.returncode == 0, done.stderr
    scores = json.loads(done.stdout)
    assert set(scores) == {"strict", "token", "binary-hipaa"}
    assert 0.3 < scores["binary-hipaa"]["f"] <= 1
    manifest = store.load(tmp_path / "m").manifest
    assert manifest.scores == scores
    assert (manifest.bias, manifest.options["passes"]) == (0.5, 4)
    note = tmp_path / "n.txt"
    note.write_text("Seen on 03/04/2019.", encoding="utf-8")
    assert run("scrub", note, "-o", tmp_path / "o", "--detectors", "learned", "--model", tmp_path / "m").returncode == 0
    assert (tmp_path / "o" / "n.txt").read_text(encoding="utf-8") == "Seen on [DATE]."


def test_the_command_adapts_from_general_names_and_dumps(gold: Path, tmp_path: Path) -> None:
    (tmp_path / "g.conll").write_text("Ada\tB-PER\nsings\tO\n\nin\tO\nOslo\tB-LOC\n", encoding="utf-8")
    options = ("--adapt-ner", tmp_path / "g.conll", "--features", "wideid", "--learner", "svm", "--set", "most=3")
    done = run("train", gold, "-o", tmp_path / "m", "--dump-liblinear", tmp_path / "d", *options)
    assert done.returncode == 0, done.stderr
    assert store.load(tmp_path / "m").manifest.documents == 25
    assert sorted(path.name for path in (tmp_path / "d").iterdir()) == ["classes.tsv", "examples.txt", "features.tsv"]


def test_the_command_cross_validates(gold: Path, tmp_path: Path) -> None:
    options = ("--features", "wideid", "--set", "passes=2", "--set", "averaged=1")
    done = run("cv", gold, "--folds", "2", "-o", tmp_path / "s.jsonl", "--json", *options)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert list(rows) == ["fold 1", "fold 2", "all"]
    assert len((tmp_path / "s.jsonl").read_text().splitlines()) == 24
    scored = json.loads(run("evaluate", gold, tmp_path / "s.jsonl", "--json").stdout)
    assert scored["overall"]["strict"]["micro"]["f"] == rows["all"]["strict"]["f"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "m", "--learner", "newton"), "no learner 'newton'; there are: "),
        (("-o", "m", "--features", "newton"), "no feature set 'newton'; there are: "),
        (("-o", "m", "--set", "passes"), "--set takes NAME=VALUE"),
        ((), "say with -o where the model goes"),
        (("-o", "."), "exists and is no model"),
        (("-o", "m", "--adapt-ner", "none"), "there is no file or folder none"),
        (("-o", "m", "--adapt", "aci-phi"), "name the carrier file with --carrier"),
    ],
)
def test_mistakes_of_the_user_are_one_sentence(
    arguments: tuple[str, ...], message: str, gold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["deident", "train", str(gold), *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "m").exists()


# --- general-domain names ---


def test_general_names_are_read_from_columns(tmp_path: Path) -> None:
    (tmp_path / "a.conll").write_text("The I-ORG\nMad I-ORG\nsings O\nX B-MISC\n\nAda I-PER\nin O\nOslo I-LOC\n")
    (tmp_path / "b.iob2").write_text(
        "# newdoc id = 1\n# text = Ada Wong\n1\tAda\tB-PER\t-\n2\tWong\tI-PER\t-\n\n# newdoc id = 2\n1\tHi\tO\t-\n"
    )
    (tmp_path / "NOTES.md").write_text("no columns")
    first, second, third = general.read(tmp_path)
    assert [(first.text[span.start : span.end], span.label) for span in first.spans] == [
        ("The Mad", Label.ORGANIZATION), ("Ada", Label.PATIENT), ("Oslo", Label.LOCATION_OTHER)
    ]  # fmt: skip
    assert first.text == "The Mad sings X\nAda in Oslo\n"
    assert (second.text, [second.text[s.start : s.end] for s in second.spans]) == ("Ada Wong\n", ["Ada Wong"])
    assert (third.text, third.spans) == ("Hi\n", ())
    (tmp_path / "a.conll").write_text("Secret\n")
    with pytest.raises(FormatError, match="line 1: a line needs a token and a tag") as raised:
        general.read(tmp_path / "a.conll")
    assert "Secret" not in str(raised.value)
