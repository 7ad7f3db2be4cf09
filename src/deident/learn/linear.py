"""The model of all linear learners: weights by feature, read into tables; `weights.npz` holds numbers only.

A feature is known by 64 bits drawn from its name, so not even a word stands in the folder.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from deident.document import Document, Span
from deident.learn import bridge, pages
from deident.learn.bits import Floats
from deident.learn.columns import Page
from deident.learn.features import FeatureSet, feature_set
from deident.learn.store import Manifest, unreadable
from deident.learn.tables import Tables, Weights


@dataclass(frozen=True, slots=True)
class Linear:
    """The weights of a CRF, or of a machine that judges each token by itself."""

    manifest: Manifest
    weights: Weights = field(repr=False)

    @property
    def features(self) -> FeatureSet:
        return feature_set(self.manifest.features)

    def tables(self) -> Tables:
        # a machine that judges each token by itself knows no order of tags
        said = self.manifest
        free = said.learner == "svm"
        return Tables(self.weights, self.features, free=free, lifts=said.lifts, calibration=said.calibration)

    def finder(self) -> "Finder":
        return Finder(self)

    def described(self, manifest: Manifest) -> "Linear":
        return replace(self, manifest=manifest)

    def write(self, folder: Path) -> None:
        write_weights(self.weights, folder / "weights.npz", small=True)


@dataclass(frozen=True, slots=True)
class Part:
    """One of several taggers of a model: its feature set and its weights."""

    features: str
    weights: Weights = field(repr=False)

    def tables(self) -> Tables:
        return Tables(self.weights, feature_set(self.features))


Parts = Mapping[str, Part]


def write_parts(parts: Parts, folder: Path) -> None:
    """`NAME.npz` of each, and `parts.json`, which names their feature sets and labels."""
    told = {name: {"features": part.features, "labels": part.weights.labels} for name, part in parts.items()}
    (folder / "parts.json").write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    for name, part in parts.items():
        write_weights(part.weights, folder / f"{name}.npz")


def read_parts(folder: Path) -> Parts:
    try:
        told = json.loads((folder / "parts.json").read_text(encoding="utf-8"))
        named = [(name, part["features"], tuple(part["labels"])) for name, part in told.items()]
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError, AttributeError):
        raise unreadable(folder) from None
    return {name: Part(features, read_weights(folder / f"{name}.npz", tags)) for name, features, tags in named}


def found(page: Page, tables: Tables, *, bias: float = 0.0, source: str = "learned") -> list[Span]:
    """The spans that a tagger finds on a page."""
    tagged = tables.tag(page, quick=True, bias=bias)
    return bridge.spans_of_path(page.view.tokens, tagged.path, tagged.labels, tagged.likely, source=source)


class Finder:
    """Lays a document out, tags it, and gives the spans."""

    def __init__(self, model: Linear) -> None:
        self._bias = model.manifest.bias
        self._lay_out = pages(model.features)
        self._tables = model.tables()

    def find(self, documents: Iterable[Document], *, bias: float = 0.0) -> Iterator[list[Span]]:
        for doc in documents:
            yield found(self._lay_out(doc), self._tables, bias=self._bias + bias)

    def chances(self, doc: Document) -> Floats:
        """P(tag | text) of each tag at each token; the manifest's bias has no part in it."""
        scores, units = self._tables.scores(self._lay_out(doc))
        return self._tables.decoder.marginals(scores, units)


def load(folder: Path, manifest: Manifest) -> Linear:
    return Linear(manifest, read_weights(folder / "weights.npz", manifest.labels))


def write_weights(weights: Weights, path: Path, *, small: bool = False) -> None:
    """small: values in eight bits instead of sixteen, by their square roots, so that small ones are told finely."""
    values: dict[str, Any] = {"values": weights.values.astype(np.float16)}
    if small:
        top = float(np.abs(weights.values).max(initial=1e-6))
        roots = np.sign(weights.values) * np.sqrt(np.abs(weights.values) / top)
        values = {"roots": np.rint(roots * _LEVELS).astype(np.int8), "top": np.array(top, dtype=np.float32)}
    np.savez_compressed(
        path,
        # keys are in order, and so many that the steps between them have a quarter fewer bits
        steps=np.diff(weights.keys, prepend=np.uint64(0)),
        sizes=np.diff(weights.bounds).astype(np.uint8),
        labels_of=weights.labels_of,
        **values,
        moves=weights.moves,
        first=weights.first,
    )


_LEVELS = 127


def _values(w: Mapping[str, NDArray[Any]]) -> Floats:
    if "roots" not in w:
        return w["values"].astype(np.float32)
    roots = w["roots"].astype(np.float32) / _LEVELS
    return (roots * np.abs(roots) * w["top"]).astype(np.float32)


def read_weights(path: Path, labels: tuple[str, ...]) -> Weights:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            w = {name: arrays[name] for name in arrays.files}
        bounds = np.concatenate([[0], np.cumsum(w["sizes"], dtype=np.int64)]).astype(np.int32)
        return Weights(
            labels,
            np.cumsum(w["steps"], dtype=np.uint64),
            bounds,
            w["labels_of"],
            _values(w),
            w["moves"],
            w["first"],
        )
    except (KeyError, ValueError, OSError, BadZipFile):
        raise unreadable(path.parent) from None
