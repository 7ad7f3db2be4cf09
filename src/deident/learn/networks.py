"""What all networks share in use: notes as numbers for them, what is said beside a word, sessions, spans from scores.

Torch-free: training (`_descent.py`, `_*_net.py`) is imported only by `learn`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, Protocol

import numpy as np

from deident.document import Document, Span
from deident.errors import FormatError, MissingPackageError
from deident.learn import bridge, pages
from deident.learn.bits import Floats, Hashes
from deident.learn.columns import Page
from deident.learn.features import FeatureSet
from deident.learn.linear import read_weights
from deident.learn.store import Manifest, unreadable
from deident.learn.tables import Decoder, Tables, Weights

Examples = Iterable[tuple[Page, list[str]]]


def package(name: str, *, extra: str) -> Any:
    """A package that is imported when it is first needed; one that is missing is named with its extra."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingPackageError(name.split(".")[0], extra) from None


def training(name: str) -> Any:
    """A module of ours that needs torch."""
    package("torch", extra="train")
    return import_module(f"deident.learn.{name}")


def recased(documents: Sequence[Document], share: float, *, seed: int) -> list[Document]:
    """Copies of this share of the notes in capitals, and of as many others in lower case; their spans stay."""
    random = Random(seed)  # noqa: S311 (no secret is drawn)
    count = min(round(share * len(documents)), len(documents) // 2)
    drawn = random.sample(range(len(documents)), 2 * count)
    upper, lower = drawn[:count], drawn[count:]
    return [cased(documents[at], str.upper) for at in sorted(upper)] + [
        cased(documents[at], str.lower) for at in sorted(lower)
    ]


def cased(doc: Document, change: Callable[[str], str]) -> Document:
    """The note in capitals (`str.upper`) or small letters (`str.lower`), its spans where they were."""
    # a letter whose other case is longer ("ß") stays, so that no offset moves
    text = "".join(new if len(new := change(char)) == 1 else char for char in doc.text)
    return replace(doc, text=text)


def noted(examples: Examples, note: Callable[[Page], None]) -> Examples:
    """The examples as they come, each page shown to `note`."""
    for page, tags in examples:
        if page.words:
            note(page)
        yield page, tags


# --- what is said beside a word --------------------------------------------------------------------------------------


def said_weights(keys: Hashes, vectors: Floats) -> Weights:
    """Vectors of features as a table: `Tables.scores` gives their sum at each token."""
    order = np.argsort(keys)
    count, size = vectors.shape
    return Weights(
        tuple(map(str, range(size))),
        keys[order],
        (np.arange(count + 1) * size).astype(np.int32),
        np.tile(np.arange(size, dtype=np.uint8), count),
        vectors[order].astype(np.float16).astype(np.float32).ravel(),  # as they are kept on disk
        np.zeros((0, 0), dtype=np.float32),
        np.zeros(0, dtype=np.float32),
    )


def read_said(path: Path, manifest: Manifest) -> Weights | None:
    """What `linear.write_weights` wrote of `said_weights`; none where the model is told nothing beside the words."""
    size = int(manifest.options.get("beside", 0))
    return read_weights(path, tuple(map(str, range(size)))) if size else None


class Said:
    """The vector beside each token. Its caches belong to one thread."""

    def __init__(self, weights: Weights, features: FeatureSet) -> None:
        self._tables = Tables(weights, features, free=True)

    def of(self, page: Page) -> Floats:
        return self._tables.scores(page)[0]


# --- use -------------------------------------------------------------------------------------------------------------


class Scorer(Protocol):
    """A network ready to read: the score of each tag at each token, and the stretches that are decoded at once."""

    def scores(self, page: Page) -> tuple[Floats, list[tuple[int, int]]]: ...


class Finder:
    """Lays a document out, scores its tokens, and gives the spans. Each document is worked on by itself, so nothing
    depends on what came with it."""

    def __init__(self, manifest: Manifest, features: FeatureSet, scorer: Scorer, decoder: Decoder) -> None:
        self._bias, self._scorer, self._decoder = manifest.bias, scorer, decoder
        self._lay_out = pages(features)

    def find(self, documents: Iterable[Document], *, bias: float = 0.0) -> Iterator[list[Span]]:
        for doc in documents:
            page = self._lay_out(doc)
            scores, stretches = self._scorer.scores(page)
            tagged = self._decoder.decode(scores, stretches, quick=True, bias=self._bias + bias)
            yield bridge.spans_of_path(page.view.tokens, tagged.path, tagged.labels, tagged.likely, source="learned")

    def chances(self, doc: Document) -> Floats:
        """P(tag | text) of each tag at each token; the manifest's bias has no part in it."""
        return self._decoder.marginals(*self._scorer.scores(self._lay_out(doc)))


def files(folder: Path, *names: str) -> dict[str, bytes]:
    """The files of a model, whole."""
    try:
        return {name: (folder / name).read_bytes() for name in names}
    except OSError:
        raise unreadable(folder) from None


def session(graph: bytes) -> Any:
    """The graph ready to run, on one core: documents are what is worked on side by side."""
    runtime = package("onnxruntime", extra="neural")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception:  # noqa: BLE001 (the library raises many kinds)
        raise FormatError("the network of a model holds no graph that can be run") from None
