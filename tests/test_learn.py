"""Spans and tags, tables against the trainers' own predictions, models on disk, what a trained model finds."""

import importlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deident import corpus, detect
from deident.config import Detect
from deident.corpus import make
from deident.detect import learned
from deident.document import Document, Span
from deident.errors import FormatError, UnknownNameError, UsageError
from deident.labels import Label
from deident.learn import bridge, pages, store, tagged, train
from deident.learn import columns as c
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
        shown = page(doc.text)
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
    for doc in (*notes(), *make.notes(60 if unit == "document" else 0, seed=5)):
        shown = page(doc.text)
        found = tables.tag(shown)
        theirs = [tag for unit_ in names_of(shown, features) for tag in tagger.tag(unit_)]
        assert found.tags == theirs
        tokens += len(theirs)
    assert tokens > (60_000 if unit == "document" else 40_000)
    shown = page(notes()[3].text)
    found = tables.tag(shown)
    chances: list[float] = []
    for unit_ in names_of(shown, features):
        tagger.set(unit_)
        chances += [1 - tagger.marginal("O", at) for at in range(len(unit_))]
    assert np.allclose(found.chances, chances, atol=1e-4)


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
        CRF(small(), "newton").fit([])
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


def test_the_detector_wants_a_model_that_is_there(
    model: store.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learned, "SHIPPED", "no such model")
    with pytest.raises(UsageError, match="no model is shipped"):
        detect.load("learned")
    with pytest.raises(UsageError, match="there is no model in"):
        detect.load("learned", Detect(model=str(tmp_path / "none")))
    store.save(model, tmp_path / "m")
    found = detect.load("learned", Detect(model=str(tmp_path / "m"))).detect(Document("n", "DOB: 03/04/1961"))
    assert [span.label for span in found] == [Label.DATE]


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
