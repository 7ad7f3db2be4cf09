"""A pretrained encoder with a layer of tags, fine-tuned on notes; in use a graph that onnxruntime computes.

The encoder is any folder of BERT's build (`_encoders.py`). It reads word pieces in windows that overlap; a token's tag
is that of its first piece, so spans keep our tokens' offsets. What the encoder does not see (case, line breaks, lists,
rules) is added to its pieces from columns, the feature set `beside`.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import numpy as np

from deident.document import corpus_hash
from deident.errors import UsageError
from deident.learn import _encoders, networks, tagged
from deident.learn._encoders import ACTIVATIONS, Shape
from deident.learn._graphs import Graph, arrays_of
from deident.learn._pieces import Pieces, of_folder, windows
from deident.learn.bits import Floats, Ints
from deident.learn.columns import Page
from deident.learn.examples import read
from deident.learn.features import FeatureSet, feature_set
from deident.learn.linear import write_weights
from deident.learn.store import Manifest
from deident.learn.tables import Decoder, Weights
from deident.learn.train import Task


@dataclass(frozen=True, slots=True)
class Options:
    """How it learns.

    encoder: the folder of a pretrained encoder.
    layers: how many of its first layers are kept; 0: all.
    columns: the feature set of what is said beside the words; beside: the size of the vector that says it.
    window, overlap: word pieces read at once in use, and those that two windows share.
    window_learned: word pieces read at once while it learns.
    recased: the share of the notes that are read once more in capitals, and as many in lower case.
    batch: word pieces in a step. rate: the encoder's; rate_fresh: that of what it did not bring.
    tune_words: whether the vectors of the word pieces are learned, too.
    drop_*: how often a feature, all that lists say of a token, a token's pieces are hidden while it learns.
    judged: steps between judgements on the notes held out (0: after each pass); patience: how many without gain end it.
    int8: whether the finished weights are kept in eight bits. half: whether it learns in bfloat16.
    checkpoint: a file that a training which was interrupted goes on from, written every `every` steps.
    """

    encoder: str = ""
    layers: int = 0
    columns: str = "beside"
    beside: int = 64
    least: int = 3
    window: int = 256
    overlap: int = 64
    window_learned: int = 160
    recased: float = 0.0
    passes: int = 4
    batch: int = 2048
    rate: float = 2e-4
    rate_fresh: float = 1e-3
    decay: float = 0.01
    warmup: float = 0.06
    clip: float = 1.0
    tune_words: bool = False
    dropout: float = 0.1
    drop_features: float = 0.1
    drop_lists: float = 0.1
    drop_words: float = 0.03
    judged: int = 0
    patience: int = 3
    int8: bool = True
    half: bool = False
    threads: int = 1
    seed: int = 1
    checkpoint: str = ""
    every: int = 200


# --- the network as a graph ------------------------------------------------------------------------------------------


def graph(arrays: Mapping[str, Floats], shape: Shape, *, int8: bool) -> bytes:
    """What the trained network computes, over one window: word pieces → the scores of its tokens' tags.

    pieces [length]; firsts [tokens]: where each token's first piece stands; owner [length]: whose piece it is, counted
    from 1; beside [1 + tokens, size]: what is said beside each token, from 1; row 0 is nothing.
    """
    g = Graph()
    pieces = g.takes("pieces", "INT64", ["length"])
    firsts = g.takes("firsts", "INT64", ["tokens"])
    x = g.rows(pieces, "words", arrays["words"], int8=int8)
    length = g.add("Shape", pieces)
    zero = g.number(np.array([0]), np.int64)
    x = g.add("Add", x, g.add("Slice", g.holds("places", arrays["places"]), zero, length))
    x = g.norm(x, "norm", arrays, shape.epsilon)
    if "project.weight" in arrays:
        x = g.linear(x, "project", arrays)
    beside = ""
    if "into.weight" in arrays:
        beside = g.takes("beside", "FLOAT", ["1 + tokens", arrays["into.weight"].shape[0]])
        owner = g.takes("owner", "INT64", ["length"])
        x = g.add("Add", x, g.add("Gather", g.product(beside, "into", arrays), owner))
    for number in range(shape.layers):
        x = _layer(g, x, f"layer.{number}", arrays, shape, int8=int8)
    scores = g.linear(g.add("Gather", x, firsts), "tags", arrays)
    if beside:
        own = g.add("Slice", beside, g.number(np.array([1]), np.int64), g.number(np.array([1 << 30]), np.int64))
        scores = g.add("Add", scores, g.product(own, "tags_beside", arrays))
    return g.finished(scores, ["tokens", arrays["tags.weight"].shape[1]])


def _layer(g: Graph, x: str, name: str, arrays: Mapping[str, Floats], shape: Shape, *, int8: bool) -> str:
    heads, size = shape.heads, shape.hidden // shape.heads

    def linear(x: str, part: str) -> str:
        return g.linear(x, f"{name}.{part}", arrays, int8=int8)

    def by_head(part: str, *order: int) -> str:
        return g.add("Transpose", g.reshape(linear(x, part), -1, heads, size), perm=list(order))

    query = g.add("Mul", by_head("query", 1, 0, 2), g.number(size**-0.5))
    seen = g.add("Softmax", g.add("MatMul", query, by_head("key", 1, 2, 0)), axis=-1)
    told = g.add("Transpose", g.add("MatMul", seen, by_head("value", 1, 0, 2)), perm=[1, 0, 2])
    told = linear(g.reshape(told, -1, shape.hidden), "out")
    x = g.norm(g.add("Add", x, told), f"{name}.norm1", arrays, shape.epsilon)
    kind = ACTIVATIONS[shape.activation]
    up = linear(x, "up")
    inner = g.add("Relu", up) if kind == "relu" else g.add("Gelu", up, approximate=kind)
    return g.norm(g.add("Add", x, linear(inner, "down")), f"{name}.norm2", arrays, shape.epsilon)


# --- the model -------------------------------------------------------------------------------------------------------

_GRAPH, _SAID, _TOKENIZER = "network.onnx", "beside.npz", "tokenizer.json"


@dataclass(frozen=True)
class Transformer:
    """A fine-tuned encoder: the graph, what its columns mean, its tokenizer."""

    manifest: Manifest
    network: bytes = field(repr=False)
    said: Weights | None = field(repr=False)
    tokenizer: bytes = field(repr=False)

    @property
    def features(self) -> FeatureSet:
        return feature_set(self.manifest.features)

    @cached_property
    def session(self) -> Any:
        return networks.session(self.network)

    def finder(self) -> networks.Finder:
        size = len(self.manifest.labels)
        still = np.zeros((size, size), dtype=np.float32)
        said = self.manifest
        decoder = Decoder(said.labels, still, still[0], lifts=said.lifts, calibration=said.calibration)
        return networks.Finder(self.manifest, self.features, Scorer(self), decoder)

    def described(self, manifest: Manifest) -> "Transformer":
        return replace(self, manifest=manifest)

    def write(self, folder: Path) -> None:
        (folder / _GRAPH).write_bytes(self.network)
        (folder / _TOKENIZER).write_bytes(self.tokenizer)
        if self.said is not None:
            write_weights(self.said, folder / _SAID)


def load(folder: Path, manifest: Manifest) -> Transformer:
    networks.package("onnxruntime", extra="neural")
    held = networks.files(folder, _GRAPH, _TOKENIZER)
    said = networks.read_said(folder / _SAID, manifest)
    return Transformer(manifest, held[_GRAPH], said, held[_TOKENIZER])


class Scorer:
    """The model ready to read. Its caches belong to one thread; the session is shared."""

    def __init__(self, model: Transformer) -> None:
        self._session = model.session
        self._pieces = Pieces(model.tokenizer)
        self._said = networks.Said(model.said, model.features) if model.said is not None else None
        options = model.manifest.options
        self._room, self._overlap = int(options["window"]) - 2, int(options["overlap"])
        self._tags = len(model.manifest.labels)

    def scores(self, page: Page) -> tuple[Floats, list[tuple[int, int]]]:
        count = len(page.words)
        found = np.empty((count, self._tags), dtype=np.float32)
        if not count:
            return found, []
        pieces, sizes = self._pieces.of(page)
        ends = np.cumsum(sizes, dtype=np.int64)
        beside = self._said.of(page) if self._said is not None else None
        for window in windows(sizes, self._room, self._overlap):
            first, last = window.first, window.last
            begin = int(ends[first] - sizes[first])
            own = sizes[first:last]
            given: dict[str, Any] = {
                "pieces": np.concatenate(
                    [[self._pieces.begin], pieces[begin : ends[last - 1]], [self._pieces.end]]
                ).astype(np.int64),
                "firsts": ends[first:last] - own - begin + 1,
            }
            if beside is not None:
                given["owner"] = np.concatenate([[0], np.repeat(np.arange(1, last - first + 1), own), [0]])
                given["beside"] = np.concatenate([np.zeros((1, beside.shape[1]), np.float32), beside[first:last]])
            scores: Floats = self._session.run(None, given)[0]
            found[window.kept_first : window.kept_last] = scores[window.kept_first - first : window.kept_last - first]
        return found, [(0, count)]


# --- learning --------------------------------------------------------------------------------------------------------


def learn(task: Task, options: Options) -> Transformer:
    """Fine-tunes the encoder; `task.held` is what it stops by."""
    if not options.encoder:
        raise UsageError("a transformer learns from a pretrained encoder: name its folder (option 'encoder')")
    net = networks.training("_transformer_net")
    encoder = _encoders.read(Path(options.encoder), layers=options.layers)
    most = max(options.window, options.window_learned)
    if most > encoder.shape.most:
        raise UsageError(f"a window of {most} is too long: this encoder reads {encoder.shape.most} word pieces at once")
    pieces = of_folder(Path(options.encoder))
    notes = numbers(task, options, pieces)
    arrays = net.train(notes, encoder, options, name=name_of(task, options), told=task.told)
    kept = replace(described(options), beside=options.beside if len(notes.data.keys) else 0)
    manifest = task.manifest("transformer", notes.data.labels, kept, features=options.columns)
    said = networks.said_weights(notes.data.keys, arrays["said"]) if "said" in arrays else None
    manifest = replace(manifest, options={**manifest.options, "shape": asdict(encoder.shape)})
    return Transformer(manifest, graph(arrays, encoder.shape, int8=options.int8), said, pieces.written())


def shape_of(manifest: Manifest) -> Shape:
    return Shape(**cast("dict[str, Any]", manifest.options["shape"]))


def in_eight_bits(model: Transformer) -> Transformer:
    """The same model with its weights in eight bits; it must have been kept in thirty-two."""
    arrays = arrays_of(model.network)
    if "words" not in arrays:
        raise UsageError("this model is in eight bits already")
    options = {**model.manifest.options, "int8": True}
    network = graph(arrays, shape_of(model.manifest), int8=True)
    return replace(model, manifest=replace(model.manifest, options=options), network=network)


def numbers(task: Task, options: Options, pieces: Pieces) -> Any:
    """The notes as the network learns from them (`_transformer_net.Notes`)."""
    net = networks.training("_transformer_net")
    features = feature_set(options.columns)
    found: list[tuple[Ints, Ints]] = []

    def note(page: Page) -> None:
        found.append(pieces.of(page))

    every = [*task.every, *networks.recased(task.every, options.recased, seed=options.seed)]
    data = read(
        networks.noted(tagged(every, features), note),
        features,
        least=options.least,
        held=networks.noted(tagged(task.held, features), note),
    )
    sizes = np.concatenate([row for _, row in found])
    flat = np.concatenate([row for row, _ in found])
    return net.Notes(
        data, flat, sizes, np.cumsum(sizes, dtype=np.int64), pieces.begin, pieces.end, pieces.unknown, pieces.mask
    )


def described(options: Options) -> Options:
    """The options as they are written down: what is no matter of the result, or a path of this machine, is left out."""
    return replace(options, encoder=Path(options.encoder).name, threads=1, checkpoint="", every=0)


def name_of(task: Task, options: Options) -> str:
    """Names a training: the same notes, learned in the same way."""
    used = replace(described(options), window=0, overlap=0, int8=False)
    said = json.dumps([asdict(used), corpus_hash(task.every), corpus_hash(task.held)])
    return sha256(said.encode("utf-8")).hexdigest()
