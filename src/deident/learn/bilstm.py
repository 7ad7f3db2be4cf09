"""The network of Dernoncourt 2017: letters and words → a bidirectional LSTM → tags in their order.

The options' defaults are the paper's (2.2 and 3.3). What it adds in practice is switched on by options: `columns` tells
it of case, lists and rules, `optimizer` and `batch` learn faster, `unit` reads over line breaks. In use the letters are
read once for each different word, and the rest is one graph that onnxruntime computes.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from deident.document import corpus_hash
from deident.errors import UsageError
from deident.learn import networks, tagged, vectors
from deident.learn._graphs import Graph, eight_bits
from deident.learn.bits import Floats, Hashes, Ints, bits_of_values
from deident.learn.columns import Page, digits_as_zero
from deident.learn.examples import read
from deident.learn.features import FeatureSet, feature_set
from deident.learn.linear import write_weights
from deident.learn.store import Manifest, unreadable
from deident.learn.tables import Decoder, Weights
from deident.learn.train import Task

_LETTERS = 40  # of a word that are read: longer ones are rules and codes


@dataclass(frozen=True, slots=True)
class Options:
    """How it is built and how it learns.

    letters, letters_lstm: sizes of a letter's vector and of its LSTM; letters=0: words by themselves only.
    words: the size of a word's vector; 0: words by their letters only.
    vectors: the file that word vectors begin with, "env" for the one that DEIDENT_VECTORS names; "": they are drawn.
    vocabulary: how many of the file's first words are kept.
    lstm, hidden: sizes of the LSTM over words and of the layer between it and the tags.
    coupled: the LSTM of the paper; else the one that everybody has since.
    sequence: whether the order of tags is learned (2.2.4), or each tag judged by itself.
    columns, beside: the feature set of what is told beside a word, and the size of the vector that tells it.
    unit: what is read at once: a sentence, or a document; stretch: how much of it at once while it learns.
    optimizer: sgd or adam. batch: tokens in a step (1: one sentence).
    drop_*: how often a feature, all that the lists say of a token, a word's vector are hidden while it learns.
    recased: the share of the notes that are read once more in capitals, and as many in lower case.
    patience: how many passes without gain on the notes held out end it. int8: word vectors are kept in eight bits.
    checkpoint: a file that a training which was interrupted goes on from, written every `every` steps.
    """

    letters: int = 25
    letters_lstm: int = 25
    words: int = 100
    vectors: str = "env"
    vocabulary: int = 60_000
    lstm: int = 100
    hidden: int = 100
    coupled: bool = True
    sequence: bool = True
    columns: str = "none"
    beside: int = 32
    least: int = 3
    unit: str = "sentence"
    stretch: int = 200
    dropout: float = 0.5
    drop_features: float = 0.1
    drop_lists: float = 0.1
    drop_words: float = 0.0
    recased: float = 0.0
    optimizer: str = "sgd"
    rate: float = 0.005
    batch: int = 1
    clip: float = 5.0
    passes: int = 100
    patience: int = 10
    int8: bool = True
    threads: int = 1
    seed: int = 1
    checkpoint: str = ""
    every: int = 2000


# --- words and letters as numbers ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Which row of the vectors a word has, by 64 bits drawn from it; row 0 is that of the unknown word."""

    keys: Hashes = field(repr=False)  # in order; row i + 1 belongs to the i-th
    alphabet: NDArray[np.uint32] = field(repr=False)  # the letters known, by code point, in order; letter 0 is unknown

    def row(self, word: str) -> int:
        """As it stands in lower case, or else with its digits as zeros."""
        lower = word.lower()
        for key in bits_of_values([lower, *digits_as_zero(word)]):
            at = int(np.searchsorted(self.keys, key))
            if at < len(self.keys) and self.keys[at] == key:
                return at + 1
        return 0

    def letters(self, word: str) -> NDArray[np.int64]:
        points = np.array([ord(char) for char in word[:_LETTERS]], dtype=np.uint32)
        at = np.minimum(np.searchsorted(self.alphabet, points), max(0, len(self.alphabet) - 1))
        known = self.alphabet[at] == points if len(self.alphabet) else np.zeros(len(points), dtype=np.bool_)
        return np.where(known, at + 1, 0).astype(np.int64)


def lexicon(counts: Mapping[str, int], options: Options) -> tuple[Lexicon, Floats]:
    """Words with a vector of the file, and those seen twice; their first vectors.

    A vector that the file does not have is drawn, as in the paper's test without pretraining all are.
    """
    random = np.random.default_rng(options.seed)
    forms: dict[str, int] = {}
    for word, count in counts.items():
        forms[word.lower()] = forms.get(word.lower(), 0) + count
    brought: dict[str, int] = {}
    table = np.zeros((0, options.words), dtype=np.float32)
    if options.words and options.vectors:
        named = "" if options.vectors == "env" else options.vectors
        brought, table = vectors.read(vectors.file(named), most=options.vocabulary)
        if table.shape[1] != options.words:
            raise UsageError(f"the file's vectors have {table.shape[1]} numbers, not {options.words} (option 'words')")
    chosen = sorted({*brought, *(form for form, count in forms.items() if count > 1)}) if options.words else []
    keys = bits_of_values(chosen)
    order = np.argsort(keys)
    rows = random.uniform(-1, 1, (len(chosen) + 1, options.words)).astype(np.float32) * np.float32(
        np.sqrt(3 / max(1, options.words))
    )
    for place, at in enumerate(order.tolist(), 1):
        if (number := brought.get(chosen[at])) is not None:
            rows[place] = table[number]
    letters = sorted({ord(char) for word in counts for char in word[:_LETTERS]})
    return Lexicon(keys[order], np.array(letters, dtype=np.uint32)), rows


# --- the network as graphs -------------------------------------------------------------------------------------------


def graphs(arrays: Mapping[str, Floats], options: Mapping[str, Any]) -> tuple[bytes, bytes | None]:
    """What the trained network computes: of a stretch of tokens the scores of their tags, from vectors of their words
    and what stands beside them; and of a word's letters its vector (none where it reads no letters)."""
    g = Graph()
    size = int(options["lstm"])
    inputs = arrays["read.inputs"].shape[1] if options["coupled"] else arrays["read.lstm.weight_ih_l0"].shape[1]
    tokens = g.takes("tokens", "FLOAT", ["length", 1, inputs])
    steps, _ = g.lstm(tokens, "read", arrays, size)
    turned = {name: a.T if name.endswith(".weight") else a for name, a in arrays.items()}
    inner = g.add("Tanh", g.linear(g.reshape(steps, -1, 2 * size), "inner", turned))
    scores = g.linear(inner, "tags", turned)
    if "tags_beside.weight" in turned:
        whole = g.reshape(tokens, -1, inputs)
        ends = [g.number(np.array([at]), np.int64) for at in (inputs - len(turned["tags_beside.weight"]), inputs, 1)]
        scores = g.add("Add", scores, g.product(g.add("Slice", whole, *ends), "tags_beside", turned))
    network = g.finished(scores, ["length", len(arrays["tags.bias"])])
    if not options["letters"]:
        return network, None
    g = Graph()
    size = int(options["letters_lstm"])
    vector = g.add("Gather", g.holds("letters", arrays["letters.weight"]), g.takes("spelled", "INT64", ["length", 1]))
    _, last = g.lstm(vector, "spell", arrays, size)
    return network, g.finished(g.reshape(last, 2 * size), [2 * size])


# --- the model -------------------------------------------------------------------------------------------------------

_NETWORK, _SPELLING, _WORDS, _SAID = "network.onnx", "letters.onnx", "words.npz", "beside.npz"


@dataclass(frozen=True)
class BiLSTM:
    """A trained network: its graphs, its words by their bits, how tags follow each other."""

    manifest: Manifest
    network: bytes = field(repr=False)
    spelling: bytes | None = field(repr=False)
    lexicon: Lexicon = field(repr=False)
    vectors: Floats = field(repr=False)
    moves: Floats = field(repr=False)
    first: Floats = field(repr=False)
    said: Weights | None = field(repr=False)

    @property
    def features(self) -> FeatureSet:
        return feature_set(self.manifest.features)

    @cached_property
    def sessions(self) -> tuple[Any, Any]:
        spelling = networks.session(self.spelling) if self.spelling is not None else None
        return networks.session(self.network), spelling

    def finder(self) -> networks.Finder:
        # without an order of tags the best of each is taken, whatever stands before
        free = not self.manifest.options["sequence"]
        said = self.manifest
        decoder = Decoder(
            said.labels, self.moves, self.first, free=free, lifts=said.lifts, calibration=said.calibration
        )
        return networks.Finder(self.manifest, self.features, Scorer(self), decoder)

    def described(self, manifest: Manifest) -> "BiLSTM":
        return replace(self, manifest=manifest)

    def write(self, folder: Path) -> None:
        (folder / _NETWORK).write_bytes(self.network)
        if self.spelling is not None:
            (folder / _SPELLING).write_bytes(self.spelling)
        if self.said is not None:
            write_weights(self.said, folder / _SAID)
        kept: dict[str, NDArray[Any]] = {"vectors": self.vectors}
        if self.manifest.options["int8"]:
            whole, factors = eight_bits(self.vectors, axis=1, steps=127)
            kept = {"vectors": whole, "factors": factors}
        np.savez_compressed(
            folder / _WORDS,
            allow_pickle=False,
            keys=self.lexicon.keys,
            alphabet=self.lexicon.alphabet,
            moves=self.moves,
            first=self.first,
            **kept,
        )


def load(folder: Path, manifest: Manifest) -> BiLSTM:
    networks.package("onnxruntime", extra="neural")
    network = networks.files(folder, _NETWORK)[_NETWORK]
    spelling = networks.files(folder, _SPELLING)[_SPELLING] if manifest.options.get("letters") else None
    said = networks.read_said(folder / _SAID, manifest)
    try:
        with np.load(folder / _WORDS, allow_pickle=False) as arrays:
            held = {name: arrays[name] for name in arrays.files}
        table = held["vectors"].astype(np.float32) * held.get("factors", np.float32(1))
        known = Lexicon(held["keys"], held["alphabet"])
        return BiLSTM(manifest, network, spelling, known, table, held["moves"], held["first"], said)
    except (KeyError, ValueError, OSError, BadZipFile):
        raise unreadable(folder) from None


class Scorer:
    """The model ready to read. Its caches belong to one thread; the sessions are shared."""

    _KEPT = 1 << 15  # words whose vectors are kept; then the cache begins anew, so that memory stays bounded

    def __init__(self, model: BiLSTM) -> None:
        self._model = model
        self._network, self._spelling = model.sessions
        self._said = networks.Said(model.said, model.features) if model.said is not None else None
        options = model.manifest.options
        self._by_sentence = options["unit"] == "sentence"
        self._tags = len(model.manifest.labels)
        self._spelled = 2 * int(options["letters_lstm"]) if options["letters"] else 0
        self._forget()

    def _forget(self) -> None:
        self._known: dict[str, int] = {}
        self._rows = np.zeros((1024, self._model.vectors.shape[1] + self._spelled), dtype=np.float32)

    def _meet(self, word: str) -> int:
        number = len(self._known)
        if number == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._known[word] = number
        model = self._model
        own = model.vectors.shape[1]
        self._rows[number, :own] = model.vectors[model.lexicon.row(word)]
        if self._spelling is not None:
            self._rows[number, own:] = self._spelling.run(None, {"spelled": model.lexicon.letters(word)[:, None]})[0]
        return number

    def scores(self, page: Page) -> tuple[Floats, list[tuple[int, int]]]:
        count = len(page.words)
        found = np.empty((count, self._tags), dtype=np.float32)
        if not count:
            return found, []
        if len(self._known) > self._KEPT:
            self._forget()
        known = self._known
        different, inverse = page.distinct
        numbers = np.array([known[word] if word in known else self._meet(word) for word in different])
        tokens = self._rows[numbers[inverse]]
        if self._said is not None:
            tokens = np.concatenate([tokens, self._said.of(page)], axis=1)
        stretches = page.sentences if self._by_sentence else [(0, count)]
        for first, last in stretches:
            found[first:last] = self._network.run(None, {"tokens": tokens[first:last, None]})[0]
        return found, stretches


# --- learning --------------------------------------------------------------------------------------------------------


def learn(task: Task, options: Options) -> BiLSTM:
    """Trains the network; `task.held` is what it stops by."""
    _check(options)
    net = networks.training("_bilstm_net")
    notes, known = numbers(task, options)
    arrays = net.train(notes, options, name=name_of(task, options), told=task.told)
    kept = replace(described(options), beside=options.beside if len(notes.data.keys) else 0)
    manifest = task.manifest("bilstm", notes.data.labels, kept, features=options.columns)
    network, spelling = graphs(arrays, asdict(kept))
    table = arrays.get("vectors.weight", np.zeros((len(known.keys) + 1, 0), dtype=np.float32))
    if options.int8:
        whole, factors = eight_bits(table, axis=1, steps=127)
        table = whole * factors
    tags = len(notes.data.labels)
    none = np.zeros((tags, tags), dtype=np.float32)
    return BiLSTM(
        manifest,
        network,
        spelling,
        known,
        table,
        arrays.get("moves", none),
        arrays.get("first", none[0]),
        networks.said_weights(notes.data.keys, arrays["said"]) if "said" in arrays else None,
    )


def _check(options: Options) -> None:
    if options.unit not in ("sentence", "document"):
        raise UsageError("the option 'unit' must be sentence or document")
    if options.optimizer not in ("sgd", "adam"):
        raise UsageError("the option 'optimizer' must be sgd or adam")
    if not options.letters and not options.words:
        raise UsageError("without letters and words there is nothing to read: one of the two options must not be 0")


def numbers(task: Task, options: Options) -> tuple[Any, Lexicon]:
    """The notes as the network learns from them (`_bilstm_net.Notes`), and its words."""
    net = networks.training("_bilstm_net")
    features = feature_set(options.columns)
    every = [*task.every, *networks.recased(task.every, options.recased, seed=options.seed)]
    types: dict[str, int] = {}
    counts: list[int] = []
    found: list[Ints] = []
    bounds: list[int] = [0]
    ended: list[int] = []  # units so far, after each page
    learning = True

    def note(page: Page) -> None:
        different, inverse = page.distinct
        numbers = [types.setdefault(word, len(types)) for word in different]
        counts.extend([0] * (len(types) - len(counts)))
        if learning:
            for number, count in zip(numbers, np.bincount(inverse).tolist(), strict=True):
                counts[number] += count
        found.append(np.array(numbers, dtype=np.int32)[inverse])
        begun = bounds[-1]
        stretches = page.sentences if options.unit == "sentence" else [(0, len(page.words))]
        bounds.extend(begun + last for _, last in stretches)
        ended.append(len(bounds) - 1)

    def held_out() -> networks.Examples:
        nonlocal learning
        learning = False
        yield from networks.noted(tagged(task.held, features), note)

    data = read(networks.noted(tagged(every, features), note), features, least=options.least, held=held_out())
    learned = ended[len(ended) - data.held - 1]
    known, rows = lexicon({word: count for word, count in zip(types, counts, strict=True) if count}, options)
    letters = [known.letters(word) for word in types]
    table = np.zeros((len(letters), max(map(len, letters))), dtype=np.uint16)
    for place, row in enumerate(letters):
        table[place, : len(row)] = row
    notes = net.Notes(
        data,
        np.array(bounds, dtype=np.int64),
        learned,
        np.concatenate(found),
        np.array([known.row(word) for word in types], dtype=np.int32),
        table,
        np.array([len(row) for row in letters], dtype=np.int32),
        rows,
        len(known.alphabet) + 1,
    )
    return notes, known


def described(options: Options) -> Options:
    """The options as they are written down: what is no matter of the result, or a path of this machine, is left out."""
    named = Path(options.vectors).name if options.vectors else ""
    return replace(options, vectors=named, threads=1, checkpoint="", every=0)


def name_of(task: Task, options: Options) -> str:
    """Names a training: the same notes, learned in the same way."""
    said = json.dumps(
        [asdict(replace(described(options), int8=False)), corpus_hash(task.every), corpus_hash(task.held)]
    )
    return sha256(said.encode("utf-8")).hexdigest()
