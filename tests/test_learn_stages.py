"""Learners of several parts: the hybrid, two stages; selected features; tokens that are not learned from."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from deident import corpus
from deident.document import Document, Span
from deident.errors import FormatError, UsageError
from deident.labels import Label
from deident.learn import bridge, crf, examples, hybrid, store, tagged, train, two_stage
from deident.learn import columns as c
from deident.learn.columns import Page
from deident.learn.features import FeatureSet, TextUse, Use, feature_set
from deident.learn.tables import names_of
from deident.view import view


@cache
def notes() -> tuple[Document, ...]:
    return tuple(corpus.load("deident-open", split="train"))


QUICK = {"passes": "4", "averaged": "1"}


@pytest.fixture(scope="module")
def made() -> dict[str, store.Model]:
    """A model of each learner, of the same few notes."""
    return {
        name: train.train(
            notes()[:30], features="wideid", learner=name, options=train.options_of(name, QUICK | more), sources=sources
        )
        for name, more, sources in (
            ("hybrid", {"general": "true"}, [general()]),
            ("two-stage", {"parts": "2"}, ()),
        )
    }


def general() -> list[Document]:
    text = "Amara Obi lives in Lagos .\nKofi Mensah went to Accra .\n"
    names = [("Amara Obi", Label.PATIENT), ("Lagos", Label.LOCATION_OTHER), ("Kofi Mensah", Label.PATIENT)]
    return [Document("g", text, tuple(Span(text.index(n), text.index(n) + len(n), label) for n, label in names))] * 3


@pytest.mark.parametrize("name", ["hybrid", "two-stage"])
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
    (tmp_path / "m" / "parts.json").write_text("[]", encoding="utf-8")
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
