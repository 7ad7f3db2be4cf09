"""Learners of several parts: the hybrid, two stages; selected features; tokens that are not learned from."""

import itertools
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deident import corpus, evaluate
from deident.document import Document, Span
from deident.errors import FormatError, UsageError
from deident.labels import Label
from deident.learn import blend, bridge, crf, examples, hybrid, linear, multi, pages, store, tagged, train, two_stage
from deident.learn import columns as c
from deident.learn.bits import bits_of_name
from deident.learn.columns import Page
from deident.learn.features import FeatureSet, TextUse, Use, feature_set
from deident.learn.tables import (
    Decoder,
    _around,  # pyright: ignore[reportPrivateUsage]
    names_of,
)
from deident.view import view


@cache
def notes() -> tuple[Document, ...]:
    return tuple(corpus.load("deident-open", split="train"))


QUICK = {"passes": "4", "averaged": "1"}


def _quick(name: str) -> dict[str, str]:
    return {"passes": QUICK["passes"]} if name == "multi" else QUICK


@pytest.fixture(scope="module")
def made() -> dict[str, store.Model]:
    """A model of each learner, of the same few notes."""
    return {
        name: train.train(
            notes()[:30],
            features="wideid",
            learner=name,
            options=train.options_of(name, _quick(name) | more),
            sources=sources,
        )
        for name, more, sources in (
            ("hybrid", {"general": "true"}, [general()]),
            ("two-stage", {"parts": "2"}, ()),
            ("multi", {"parts": "2", "bases": "svm:statdeid,crf:mist"}, ()),
        )
    }


def general() -> list[Document]:
    text = "Amara Obi lives in Lagos .\nKofi Mensah went to Accra .\n"
    names = [("Amara Obi", Label.PATIENT), ("Lagos", Label.LOCATION_OTHER), ("Kofi Mensah", Label.PATIENT)]
    return [Document("g", text, tuple(Span(text.index(n), text.index(n) + len(n), label) for n, label in names))] * 3


@pytest.mark.parametrize("name", ["hybrid", "two-stage", "multi"])
def test_models_of_parts_come_back_from_disk(name: str, made: dict[str, store.Model], tmp_path: Path) -> None:
    model = made[name]
    store.save(model, tmp_path / "m")
    again = store.load(tmp_path / "m")
    assert again.manifest.learner == name
    docs = [Document(doc.id, doc.text) for doc in notes()[30:40]]
    first, second = (list(train.predict(model_, docs)) for model_ in (model, again))
    assert sum(len(doc.spans) for doc in first) > 30
    same = sum(len(set(a.spans) & set(b.spans)) for a, b in zip(first, second, strict=True))
    assert same > 0.98 * sum(len(doc.spans) for doc in first)  # weights are kept in 16 bits
    inner = tmp_path / "m" / ("crf-mist/manifest.json" if name == "multi" else "parts.json")
    inner.write_text("[]", encoding="utf-8")
    with pytest.raises(FormatError, match="is not a model"):
        store.load(tmp_path / "m")


# --- the hybrid ---


def test_each_crf_has_its_types_and_rules_have_the_ids(made: dict[str, store.Model]) -> None:
    model = made["hybrid"]
    assert isinstance(model, hybrid.Hybrid)
    for name, types in hybrid.TYPES.items():
        labels = {Label(tag[2:]) for tag in model.parts[name].weights.labels if tag != bridge.OUT}
        assert labels
        assert {label.category for label in labels} <= types
    assert model.parts[hybrid.NAMES].features == "wideid+earlier"
    text = "MRN: 00412233\nSSN: 219-09-9999\n"
    (found,) = model.finder().find([Document("a", text)])
    assert {(text[span.start : span.end], span.label) for span in found} >= {("00412233", Label.MEDICALRECORD)}


def test_what_is_at_work_in_the_hybrid(made: dict[str, store.Model]) -> None:
    model = made["hybrid"]
    docs = [Document(doc.id, doc.text) for doc in notes()[40:60]]
    found: dict[str, set[tuple[str, Span, str]]] = {}
    for off in ("rules", "correct", "reconcile", ""):
        options = dict(model.manifest.options) | ({off: False} if off else {})
        other = model.described(store.replace(model.manifest, options=options))
        found[off] = {(doc.id, span, span.source) for doc in train.predict(other, docs) for span in doc.spans}
    assert {source.split("+")[0] for _, _, source in found["rules"]} == {"learned"}
    assert {source.split("+")[0] for _, _, source in found[""]} > {"learned"}
    assert any(source.endswith("+correct") for _, _, source in found[""])
    assert not any(source.endswith("+correct") for _, _, source in found["correct"])
    assert found["reconcile"] != found[""]


def test_headers_and_attributes_without_phi_are_not_learned_from() -> None:
    text = "ALLERGIES:\nnone\nSmoking: never\nName: Ada Okoro\n"
    doc = Document("a", text, (Span(text.index("Ada"), text.index("Ada") + 9, Label.PATIENT),))
    empty = hybrid._attributes_without_phi([doc])  # pyright: ignore[reportPrivateUsage]
    assert empty == {"smoking"}
    page = Page(view(text))
    skipped = hybrid._skipped(page, empty)  # pyright: ignore[reportPrivateUsage]
    assert [word for word, is_skipped in zip(page.words, skipped.tolist(), strict=True) if is_skipped] == [
        "ALLERGIES", ":", "Smoking", ":", "never"
    ]  # fmt: skip


def test_the_general_tagger_needs_sources() -> None:
    with pytest.raises(UsageError, match="--adapt-ner"):
        train.train(notes()[:4], learner="hybrid", features="wideid", options=hybrid.Options(general=True))
    with pytest.raises(UsageError, match="does not adapt"):
        train.train(notes()[:4], learner="two-stage", features="wideid", sources=[general()])


# --- two stages ---


def earlier(text: str, *found: tuple[str, Label]) -> Page:
    spans = tuple(Span(text.index(what), text.index(what) + len(what), label, "first") for what, label in found)
    return Page(view(text), earlier=spans)


def values(column: c.TextColumn, page: Page, place: int) -> set[str]:
    said = column(page)
    return set(said.values[said.codes[place]])


def test_the_second_stage_sees_what_the_first_found() -> None:
    page = earlier("Mr. Ada Okoro came. Okoro left Okoro", ("Ada Okoro", Label.PATIENT))
    assert page.words[2:4] == ["Ada", "Okoro"]
    assert values(c.earlier, page, 2) == {"first B-PATIENT", "first NAME"}
    assert values(c.earlier, page, 3) == {"first I-PATIENT", "first NAME"}
    assert values(c.earlier, page, 4) == set()
    assert values(c.earlier_near, page, 0) == {"first behind PATIENT"}
    assert values(c.earlier_near, page, 4) == {"first before PATIENT"}
    assert values(c.earlier_near, page, 2) == set()
    # the same word elsewhere: found there once, and not told of itself
    assert values(c.earlier_elsewhere, page, 6) == {"first PATIENT"}
    assert values(c.earlier_elsewhere, page, 3) == {"none"}
    assert values(c.earlier_elsewhere, page, 2) == set()


def test_the_second_stage_learns_to_trust_the_first(made: dict[str, store.Model]) -> None:
    model = made["two-stage"]
    assert isinstance(model, two_stage.TwoStage)
    second = model.parts[two_stage.SECOND]
    assert second.features == "wideid+earlier"
    held = set(second.weights.keys.tolist())
    page = earlier("Seen 3/4/2019", ("3/4/2019", Label.DATE))
    only = FeatureSet("only", words=(Use(c.lower, (0,)),), texts=(TextUse(c.earlier, (0,)),))
    names = [name for name in names_of(page, only)[0][1] if name.startswith("earlier")]
    assert names
    assert any(c_bits in held for c_bits in map(bits, names))


def bits(name: str) -> int:
    from deident.learn.bits import bits_of_name

    return bits_of_name(name)


def test_illinois_in_two_stages() -> None:
    assert feature_set("illinois+earlier").texts[-1].column is c.earlier_elsewhere
    assert len(feature_set("illinois+earlier").texts) == len(feature_set("illinois").texts) + 3


# --- examples ---


def small() -> FeatureSet:
    return FeatureSet("small", words=(Use(c.lower, (-1, 0, 1)), Use(c.shape, (0,))))


def test_skipped_tokens_are_seen_but_not_learned() -> None:
    page = Page(view("Name: Ada Okoro, here"))
    whole = examples.read([(page, ["O", "O", "B-PATIENT", "I-PATIENT", "O", "O"])], small(), least=1)
    cut = examples.read([(page, ["", "", "B-PATIENT", "I-PATIENT", "", "O"])], small(), least=1)
    assert cut.units.tolist() == [0, 2, 3]
    assert [cut.labels[at] for at in cut.gold.tolist()] == ["B-PATIENT", "I-PATIENT", "O"]
    # the features of "Ada" are the same: those of the colon before it among them
    rows = [
        {int(data.keys[at]) for at in data.features[data.bounds[place] : data.bounds[place + 1]].tolist()}
        for data, place in ((whole, 2), (cut, 0))
    ]
    assert rows[0] == rows[1]


def test_features_that_tell_most_are_kept() -> None:
    data = examples.read(tagged(notes()[:10], small()), small(), least=1)
    told = examples.information(data)
    # by hand, for one feature
    place = int(np.argmax(told))
    present = np.zeros(len(data.gold), dtype=bool)
    owners = np.repeat(np.arange(len(data.gold)), np.diff(data.bounds))
    present[owners[data.features == place]] = True
    by_hand = 0.0
    for label in range(len(data.labels)):
        for is_there in (True, False):
            both = float(((data.gold == label) & (present == is_there)).mean())
            if both:
                by_hand += both * np.log2(
                    both / (float((data.gold == label).mean()) * float((present == is_there).mean()))
                )
    assert told[place] == pytest.approx(by_hand)
    kept = examples.selected(data, 50)
    assert len(kept.keys) == 50
    assert set(kept.keys.tolist()) == set(data.keys[np.argsort(-told, kind="stable")[:50]].tolist())
    assert examples.selected(data, 0) is data
    model = crf.CRF(small(), crf.Options(passes=2, averaged=1, select=50, prune=0.0)).fit(tagged(notes()[:10], small()))
    assert len(model.weights_.keys) <= 50


def test_every_feature_is_once_for_all_domains_and_once_for_its_own() -> None:
    """EasyAdapt: ⟨x, x, 0⟩ for the source, ⟨x, 0, x⟩ for the target."""
    one = FeatureSet("one", words=(Use(c.lower, (0,)),))
    texts = ["ada came", "ada left", "came late"]
    given = [(Page(view(text)), ["O", "B-DATE"]) for text in texts]
    data = examples.read(given, one, least=1)
    made = examples.adapted(data, [0, 1, 1])
    assert len(data.keys) == 4
    # "ada" and "came" are in the target; "ada", "left", "came", "late" in the source
    assert made.own == 6
    rows = [made.features[start:end].tolist() for start, end in zip(made.bounds, made.bounds[1:], strict=False)]
    general = [row[0] for row in rows]
    assert general == data.features.tolist()
    assert rows[0][1] != rows[2][1]  # "ada" of either domain
    assert [made.target[row[0]] == row[1] for row in rows] == [True, True, False, False, False, False]
    assert sorted({row[1] for row in rows}) == [4, 5, 6, 7, 8, 9]
    values = np.arange(10, dtype=np.float32)[:, None]
    wanted = [key + (own if own >= 0 else 0) for key, own in enumerate(made.target.tolist())]
    assert examples.folded(values, made)[:, 0].tolist() == wanted


# --- systems above systems ---


def test_the_multi_de_identifier_judges_decisions_alone(made: dict[str, store.Model]) -> None:
    model = made["multi"]
    assert isinstance(model, multi.Multi)
    assert set(model.bases) == {"svm:statdeid", "crf:mist"}
    assert model.manifest.features == "decisions"
    keys = set(model.weights.keys.tolist())
    for place in (0,):
        for said in ("svm:statdeid B-DATE", "svm:statdeid DATE", "crf:mist DATE"):
            assert bits_of_name(f"earlier[{place}]={said}") in keys
    docs = [Document(doc.id, doc.text) for doc in notes()[30:50]]
    alone = {name: list(train.predict(base, docs)) for name, base in model.bases.items()}
    found = list(train.predict(model, docs))
    gold = evaluate.by_id(notes()[30:50])

    def f(docs: list[Document]) -> float:
        return evaluate.headline(evaluate.score(gold, evaluate.by_id(docs)))["binary-hipaa"]["f"]

    assert f(found) > min(f(docs) for docs in alone.values())


def test_a_multi_of_two_classes() -> None:
    options = multi.Options(bases="crf:mist", parts=2, classes="two", passes=4)
    model = train.train(notes()[:20], learner="multi", options=options)
    assert model.manifest.labels == ("O", "I-OTHER")


def test_unusable_bases_are_named() -> None:
    for bases, what in (("crf:nothing", "feature set"), ("oracle:mist", "learner"), (" ,", "needs a base")):
        with pytest.raises(UsageError, match=what):
            train.train(notes()[:4], learner="multi", options=multi.Options(bases=bases))
    with pytest.raises(UsageError, match="does not adapt"):
        train.train(notes()[:4], learner="multi", sources=[general()])


@pytest.fixture(scope="module")
def pair() -> tuple[store.Model, store.Model]:
    """Two taggers of some of the notes, which know different features."""
    quick = train.options_of("crf", QUICK)
    one, two = (train.train(notes()[:25], features=name, options=quick) for name in ("wideid", "mist"))
    return one, two


def covered(docs: Iterable[Document]) -> set[tuple[str, int]]:
    return {(doc.id, at) for doc in docs for span in doc.spans for at in range(span.start, span.end)}


def test_blends_join_what_their_members_find(pair: tuple[store.Model, store.Model]) -> None:
    docs = [Document(doc.id, doc.text) for doc in notes()[30:50]]
    alone = [covered(train.predict(model, docs)) for model in pair]
    found = {
        how: covered(train.predict(blend.of([*pair, pair[0]] if how == "vote" else pair, how=how), docs))
        for how in blend.WAYS
    }
    assert found["union"] == alone[0] | alone[1]
    assert found["vote"] == alone[0]  # two votes of three
    assert found["average"] not in alone
    assert found["average"] >= alone[0] & alone[1] or len(found["average"]) > len(alone[0] & alone[1])
    same = covered(train.predict(blend.of([pair[0], pair[0]]), docs))
    # the best path is not always that of the best tag of each token
    assert len(same & alone[0]) > 0.9 * len(same | alone[0])


def test_an_average_follows_its_weights_and_its_bias(pair: tuple[store.Model, store.Model]) -> None:
    docs = [Document(doc.id, doc.text) for doc in notes()[30:40]]
    first = covered(train.predict(blend.of(pair, weights=(1e6, 1.0)), docs))
    second = covered(train.predict(blend.of(pair, weights=(1.0, 1e6)), docs))
    assert first != second
    whole = blend.of(pair)
    sizes = [len(covered(train.predict(train.biased(whole, bias), docs))) for bias in (-2.0, 0.0, 2.0)]
    assert sizes[0] < sizes[1] < sizes[2]


def test_a_blend_comes_back_from_disk(pair: tuple[store.Model, store.Model], tmp_path: Path) -> None:
    docs = [Document(doc.id, doc.text) for doc in notes()[30:36]]
    store.save(pair[0], tmp_path / "one")
    made = blend.of(pair, places=("../one", "two"))
    store.save(made, tmp_path / "both")
    assert sorted(path.name for path in (tmp_path / "both").iterdir()) == ["manifest.json", "two"]
    again = covered(train.predict(store.load(tmp_path / "both"), docs))
    first = covered(train.predict(made, docs))
    assert len(first & again) > 0.99 * len(first | again)  # weights are kept in 16 bits
    manifest = json.loads((tmp_path / "both" / "manifest.json").read_text(encoding="utf-8"))
    for members in (["/etc", "two"], ["../../one", "two"], ["two"], "two", [".", "two"], ["../..", "two"]):
        manifest["options"]["members"] = members
        (tmp_path / "both" / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        with pytest.raises(FormatError, match="is not a model"):
            store.load(tmp_path / "both")


def test_blends_that_make_no_sense_are_refused(pair: tuple[store.Model, store.Model]) -> None:
    senseless: list[dict[str, Any]] = [
        {"how": "best"}, {"weights": (1.0,)}, {"weights": (1.0, -1.0)}, {"least": 2}, {"how": "vote", "least": 3}
    ]  # fmt: skip
    for more in senseless:
        with pytest.raises(UsageError):
            blend.of(pair, **more)
    with pytest.raises(UsageError, match="two models"):
        blend.of(pair[:1])
    with pytest.raises(UsageError, match="no chances"):
        blend.of([pair[0], blend.of(pair, how="vote")]).finder()


def test_the_chances_of_all_tags_are_those_of_enumeration(pair: tuple[store.Model, store.Model]) -> None:
    random = np.random.default_rng(3)
    labels = ("O", "B-DATE", "I-DATE")
    moves, first = (random.normal(size=size).astype(np.float32) for size in ((3, 3), (3,)))
    decoder = Decoder(labels, moves, first)
    scores = random.normal(size=(5, 3)).astype(np.float32) * 2
    expected = np.zeros((5, 3))
    for path in itertools.product(range(3), repeat=5):
        legal = all(now != 2 or (at > 0 and path[at - 1] in (1, 2)) for at, now in enumerate(path))
        if legal:
            value = first[path[0]] + sum(scores[at, now] for at, now in enumerate(path))
            value += sum(moves[a, b] for a, b in itertools.pairwise(path))
            for at, now in enumerate(path):
                expected[at, now] += np.exp(value)
    expected /= expected.sum(axis=1, keepdims=True)
    assert np.allclose(decoder.marginals(scores.copy(), [(0, 5)]), expected, atol=1e-5)


def test_quick_chances_are_those_of_all_tokens(pair: tuple[store.Model, store.Model]) -> None:
    assert isinstance(pair[0], linear.Linear)
    tables, lay_out = pair[0].tables(), pages(pair[0].features)
    for text in ["", "Ada", "Seen 3/4/21 by Dr. Lund.", *(doc.text for doc in notes()[30:40])]:
        page = lay_out(Document("a", text))
        slow, quick = tables.tag(page), tables.tag(page, quick=True)
        assert (slow.path == quick.path).all()
        found = slow.path != slow.labels.index(bridge.OUT)
        assert np.allclose(slow.likely[found], quick.likely[found], atol=0.02)


@given(st.lists(st.booleans(), max_size=40), st.integers(0, 5))
def test_what_lies_around(marked: list[bool], distance: int) -> None:
    around = _around(np.array(marked, dtype=np.bool_), distance)
    assert around.tolist() == [
        any(marked[max(0, place - distance) : place + distance + 1]) for place in range(len(marked))
    ]
