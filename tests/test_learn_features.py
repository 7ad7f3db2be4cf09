"""The papers' feature sets: parts of speech, columns, and support vector machines on them."""

import importlib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deident import corpus
from deident.corpus import make
from deident.document import Document
from deident.errors import FormatError, MissingPackageError, UnknownNameError
from deident.learn import bridge, pages, pos, published, svm, vectors, wordnet
from deident.learn import columns as c
from deident.learn.columns import OUTSIDE, Page
from deident.learn.examples import read
from deident.learn.features import SETS, FeatureSet, Pair, TextUse, Use, feature_set
from deident.learn.svm import SVM, Options
from deident.learn.tables import Tables, names_of
from deident.view import view

sparse: Any = importlib.import_module("scipy.sparse")


@cache
def notes() -> tuple[Document, ...]:
    return tuple(corpus.load("deident-open", split="train"))


def page(text: str) -> Page:
    return Page(view(text))


def said_at(column: c.TextColumn, text: str, word: str) -> tuple[str, ...]:
    shown = page(text)
    said = column(shown)
    return said.values[said.codes[shown.words.index(word)]]


@pytest.fixture
def resources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A WordNet of three synsets and vectors of four words."""
    folder = tmp_path / "dict"
    folder.mkdir()
    data = {
        "noun": "00000010 03 n 01 woman 0 001 @ 00000061 n 0000 | a\n00000061 03 n 02 person 0 Somebody 0 000 | b\n",
        "verb": "00000010 30 v 01 see 0 000 | c\n",
    }
    index = {
        "noun": "  1 licence\nwoman n 1 1 @ 1 1 00000010\nperson n 1 0 1 1 00000061\n",
        "verb": "see v 1 0 1 1 00000010\n",
    }
    for kind in wordnet.KINDS:
        # offsets count bytes from the start of the file
        (folder / f"data.{kind}").write_text("#" * 9 + "\n" + data.get(kind, ""), encoding="utf-8")
        (folder / f"index.{kind}").write_text(index.get(kind, ""), encoding="utf-8")
        (folder / f"{kind}.exc").write_text("saw see\n" if kind == "verb" else "", encoding="utf-8")
    (tmp_path / "vectors.txt").write_text("a 1 -1\nb 3 -3\nc -2 0\nd 0.5 0.5\n", encoding="utf-8")
    monkeypatch.setenv("WNSEARCHDIR", str(folder))
    monkeypatch.setenv("DEIDENT_VECTORS", str(tmp_path / "vectors.txt"))
    _forget()


@pytest.fixture(autouse=True)
def _fresh() -> object:  # pyright: ignore[reportUnusedFunction] (a fixture)
    yield
    _forget()


def _forget() -> None:
    for kept in (wordnet._index, wordnet._data, wordnet._exceptions, wordnet._base, wordnet.senses, vectors._signs):  # pyright: ignore[reportPrivateUsage]
        kept.cache_clear()


# --- parts of speech ---


def test_parts_of_speech() -> None:
    text = "The patient was seen by Dr. Alvarez on Monday and denies pain."
    shown = page(text)
    tags = [pos.tags()[code] for code in shown.parts_of_speech.tolist()]
    assert dict(zip(shown.words, tags, strict=True)) == {
        "The": "DT", "patient": "NN", "was": "VBD", "seen": "VBN", "by": "IN", "Dr": "NNP", ".": ".",
        "Alvarez": "NNP", "on": "IN", "Monday": "NNP", "and": "CC", "denies": "VBZ", "pain": "NN",
    }  # fmt: skip


def test_parts_of_speech_do_not_depend_on_what_was_read_before() -> None:
    shown = page(notes()[2].text)
    first = pos.codes(shown.words, shown.sentences).tolist()
    for number in range(60):
        pos.codes([f"word{number}x{at}" for at in range(1000)], [(0, 1000)])
    assert pos.codes(shown.words, shown.sentences).tolist() == first


# --- columns ---


@pytest.mark.parametrize("name", sorted(SETS))
@pytest.mark.usefixtures("resources")
@settings(max_examples=15, deadline=None)
@given(text=st.text(max_size=50))
def test_every_set_speaks_of_every_text(name: str, text: str) -> None:
    features = feature_set(name)
    assert features.name == name
    shown = page(text)
    units = names_of(shown, features)
    assert sum(map(len, units)) == len(shown.words)
    for use in features.texts:
        said = use.column(shown)
        assert len(said.codes) == len(shown.words)
        assert all(0 <= code < len(said.values) for code in said.codes.tolist())
    for use in features.words:
        assert all(isinstance(value, str) for word in (*shown.words, OUTSIDE) for value in use.column(word))


@pytest.mark.parametrize("name", ["mega", "wideid", "dernoncourt", "uth"])
@pytest.mark.usefixtures("resources")
def test_numbers_and_names_of_features_agree(name: str) -> None:
    features = feature_set(name)
    lay_out = pages(features)
    laid = [lay_out(doc) for doc in notes()[:2]]
    data = read(((shown, ["O"] * len(shown.words)) for shown in laid), features, least=1)
    named = [row for shown in laid for unit in names_of(shown, features) for row in unit]
    assert [len(row) for row in named] == np.diff(data.bounds).tolist()
    assert len({name for row in named for name in row}) == len(data.keys)


@pytest.mark.parametrize(
    ("column", "word", "values"),
    [
        (published.capitalized, "Valdez", {"True"}),
        (published.dash_or_slash, "03/04-05", {"dash", "slash"}),
        (published.substrings, "ab", {"_", "_a", "_ab", "_ab_", "a", "ab", "ab_", "b", "b_"}),
        (published.word_type, "A12", {"first_capital", "alphanumeric"}),
        (published.first_four, "Valdez", {"vald"}),
        (published.last_four, "Valdez", {"ldez"}),
        (published.whole_shape, "Valdez", {"Xxxxxx"}),
        (published.wideid_tests, "Valdez", {"letter", "capital", "first_capital"}),
        (published.wideid_tests, "12.5", {"digit", "punctuation", "digits_and_punctuation"}),
        (published.wideid_dictionaries, "ohio", {"state"}),
        (published.morphology, "lists", {"ends_with_s", "alphabetic", "alphanumeric", "lower_case"}),
        (published.temporal, "Evening", {"time of day"}),
        (published.token_shape, "Lee12", {"Aaa##"}),
        (published.regex_shape, "1987", {"year", "four_digits"}),
        (published.profession_suffix, "librarian", {"ian"}),
    ],
)
def test_word_columns(column: c.WordColumn, word: str, values: set[str]) -> None:
    assert set(column(word)) == values


@pytest.mark.parametrize(
    ("column", "text", "word", "values"),
    [
        (published.mist_patterns, "call 617-555-0100, now", "0100", {"whole/phone_10", "word/four_digits"}),
        (published.left_words, "a b c d e f", "f", {"b", "c", "d", "e"}),
        (published.right_words, "a b c", "a", {"b", "c"}),
        (published.joined(c.lower, 3), "Seen By me", "By", {"by me \x02"}),
        (published.tag_grams(2), "He was seen", "was", {"VBD VBN"}),
        (published.tense, "He was seen", "was", {"past"}),
        (published.regexes, "a 62 y/o man, MRN: 4471820", "4471820", {"medical record number", "id number"}),
        (published.regexes, "a 62 y/o man, MRN: 4471820", "62", {"age"}),
        (published.sentence_length, "Stable. He went home with his wife.", "wife", {"6+"}),
        (published.sentence_shape, "Plan:\n2. Home.", "Home", {"enumerated"}),
        (published.mesh_id, "has diabetes mellitus now", "mellitus", {"D003920", "C18", "C19"}),
    ],
)
def test_text_columns(column: c.TextColumn, text: str, word: str, values: set[str]) -> None:
    assert values <= set(said_at(column, text, word))


# --- what stands outside the package ---


@pytest.mark.usefixtures("resources")
def test_wordnet_is_read_from_its_files() -> None:
    assert wordnet.lemma("women", "NNS") == "woman"
    assert wordnet.lemma("saw", "VBD") == "see"
    assert wordnet.lemma("saw", "NN") == "saw"
    assert wordnet.lemma("persons", "NNS") == "person"
    assert wordnet.senses("woman") == ("sense n10", "lemma woman", "above n61")
    assert set(wordnet.senses("person")) == {"sense n61", "lemma person", "lemma somebody"}
    assert wordnet.senses("zzz") == ()


@pytest.mark.usefixtures("resources")
def test_vectors_are_binarized() -> None:
    # means: 1.5 and -2 in the first dimension, 0.5 and -2 in the second
    assert [vectors.binarized(word) for word in "abcde"] == [(), ("+0", "-1"), ("-0",), ("+1",), ()]


def test_absent_resources_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path))
    monkeypatch.delenv("DEIDENT_VECTORS", raising=False)
    with pytest.raises(MissingPackageError, match="wordnet-base"):
        names_of(page("a b"), feature_set("dernoncourt"))
    with pytest.raises(MissingPackageError, match="DEIDENT_VECTORS"):
        names_of(page("a b"), feature_set("uth"))
    (tmp_path / "v").write_text("a 1 2\nb 1\n", encoding="utf-8")
    monkeypatch.setenv("DEIDENT_VECTORS", str(tmp_path / "v"))
    with pytest.raises(FormatError, match="line 2"):
        vectors.binarized("a")


# --- support vector machines ---


def small() -> FeatureSet:
    return FeatureSet(
        "small",
        words=(Use(c.lower, (-1, 0, 1)), Use(c.short_shape, (0,)), Use(c.kinds, (0,))),
        texts=(TextUse(c.part_of_speech, (0, 1)), TextUse(c.gap, (0,))),
        pairs=(Pair(c.lower, -1, c.lower, 0),),
        unit="sentence",
    )


def given_(docs: tuple[Document, ...]) -> list[tuple[Page, list[str]]]:
    shown = [(page(doc.text), doc) for doc in docs]
    return [(laid, bridge.tags(laid.view.tokens, doc.spans)) for laid, doc in shown]


def as_the_machine_sees(machine: SVM, laid: list[Page], features: FeatureSet) -> Any:
    data = read(((shown, ["O"] * len(shown.words)) for shown in laid), features, least=1)
    place = {key: at for at, key in enumerate(machine.keys_.tolist())}
    columns = np.array([place.get(key, -1) for key in data.keys.tolist()])
    cells = svm.matrix(data).tocoo()
    known = columns[cells.col] >= 0
    shape = (len(data.gold), len(place))
    return sparse.csr_matrix((cells.data[known], (cells.row[known], columns[cells.col[known]])), shape=shape)


@pytest.mark.parametrize("kind", svm.KINDS)
def test_tables_say_what_liblinear_says(kind: str) -> None:
    features = small()
    # LIBSVM's time grows with the square of the notes
    docs = notes()[: 3 if kind == "libsvm" else 12]
    machine = SVM(features, Options(kind=kind, most=15, classes="nine")).fit(given_(docs))
    tables = Tables(machine.weights_, features, free=True)
    many = kind == "crammer-singer"
    laid = [page(doc.text) for doc in (*notes(), *make.notes(150, seed=6))] if many else [page(notes()[20].text)]
    theirs = machine.machine_.predict(as_the_machine_sees(machine, laid, features)).tolist()
    ours = [tag for shown in laid for tag in tables.tag(shown, chances=False).tags]
    assert ours == [machine.weights_.labels[label] for label in theirs]
    assert len(set(ours)) > 5
    assert len(ours) > (100_000 if many else 300)


def test_classes_are_merged() -> None:
    labels = {
        name: set(SVM(small(), Options(classes=name, most=3)).fit(given_(notes()[:6])).weights_.labels)
        for name in svm.CLASSES
    }
    assert labels["two"] == {"O", "I-OTHER"}
    assert labels["nine"] <= {"O", *(f"I-{name}" for name in NINE)}
    assert "I-PROFESSION" in labels["all"]
    with pytest.raises(UnknownNameError, match="all, nine, two"):
        SVM(small(), Options(classes="three")).fit([])
    with pytest.raises(UnknownNameError, match="crammer-singer, libsvm, logistic, one-vs-rest"):
        SVM(small(), Options(kind="radial")).fit([])


NINE = ("PATIENT", "DOCTOR", "HOSPITAL", "IDNUM", "DATE", "LOCATION-OTHER", "PHONE", "AGE")


def test_dear_misses_make_for_recall() -> None:
    """Mistakes on "O" at a fifth of the cost (thesis 7.2.1)."""
    found: list[int] = []
    for costs in ((), (("O", 0.2),)):
        machine = SVM(small(), Options(classes="two", kind="one-vs-rest", costs=costs)).fit(given_(notes()[:12]))
        tables = Tables(machine.weights_, small(), free=True)
        tags = [tag for doc in notes()[40:60] for tag in tables.tag(page(doc.text), chances=False).tags]
        found.append(sum(tag != "O" for tag in tags))
    assert found[1] > found[0]


def test_equal_tokens_are_counted_not_repeated() -> None:
    features = FeatureSet("case", words=(Use(c.case, (0,)), Use(published.first_four, (0,))), unit="sentence")
    data = read(given_(notes()[:3]), features, least=1)
    chosen, weight = svm._different(data)  # pyright: ignore[reportPrivateUsage]
    rows = [
        (tuple(sorted(data.features[start:end].tolist())), label)
        for start, end, label in zip(data.bounds, data.bounds[1:], data.gold.tolist(), strict=False)
    ]
    counted = Counter(rows)
    assert {rows[at]: int(count) for at, count in zip(chosen, weight, strict=True)} == counted


def test_examples_as_liblinear_reads_them(tmp_path: Path) -> None:
    features = FeatureSet("tiny", words=(Use(c.lower, (0,)), Use(c.length, (0,))))
    svm.dump([(page("ab cd ab"), ["O", "B-DATE", "O"])], features, tmp_path)
    assert (tmp_path / "examples.txt").read_text() == "1 1:1 2:1\n2 2:1 3:1\n1 1:1 2:1\n"
    assert (tmp_path / "features.tsv").read_text() == "1\tlower[0]=ab\n2\tlength[0]=2\n3\tlower[0]=cd\n"
    assert (tmp_path / "classes.tsv").read_text() == "1\tO\n2\tB-DATE\n"
