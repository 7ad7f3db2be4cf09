"""A model as a folder: `manifest.json` says what it is, `weights.npz` holds numbers. No pickles, no text of any note.

A feature is known by 64 bits drawn from its name, so not even a word stands in the folder.
"""

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from deident.errors import FormatError, UsageError
from deident.learn.features import FeatureSet, feature_set
from deident.learn.tables import Tables, Weights
from deident.tokens import VERSION as TOKENIZER

VERSION = 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a model is, where it comes from, and how good it is."""

    learner: str
    features: str
    labels: tuple[str, ...]
    corpus: str = ""  # `document.corpus_hash` of what it was trained on
    documents: int = 0
    tokens: int = 0
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    scores: Mapping[str, Any] = field(default_factory=dict[str, Any])
    bias: float = 0.0  # taken from the score of "O" in use
    tokenizer: int = TOKENIZER
    version: int = VERSION


@dataclass(frozen=True, slots=True)
class Model:
    manifest: Manifest
    weights: Weights = field(repr=False)

    @property
    def features(self) -> FeatureSet:
        return feature_set(self.manifest.features)

    def tables(self) -> Tables:
        # a machine that judges each token by itself knows no order of tags
        return Tables(self.weights, self.features, free=self.manifest.learner == "svm")


def save(model: Model, folder: Path) -> None:
    """Writes the folder whole or not at all; it must not exist, or be a model."""
    if folder.exists() and not (folder / "manifest.json").is_file():
        raise UsageError(f"{folder} exists and is no model: nothing was written")
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    w = model.weights
    np.savez_compressed(
        made / "weights.npz",
        keys=w.keys,
        sizes=np.diff(w.bounds).astype(np.uint8),
        labels_of=w.labels_of,
        values=w.values.astype(np.float16),
        moves=w.moves,
        first=w.first,
    )
    manifest = json.dumps(asdict(model.manifest), indent=2, ensure_ascii=False)
    (made / "manifest.json").write_text(manifest + "\n", encoding="utf-8")
    made.chmod(0o755)
    old = folder.with_name(f".{folder.name}.old")
    if folder.exists():
        folder.replace(old)
    made.replace(folder)
    shutil.rmtree(old, ignore_errors=True)


def load(folder: Path) -> Model:
    """The model of a folder; one that was made for other tokens is refused."""
    try:
        stored = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        manifest = Manifest(**(stored | {"labels": tuple(stored["labels"])}))
        with np.load(folder / "weights.npz", allow_pickle=False) as arrays:
            w = {name: arrays[name] for name in arrays.files}
    except FileNotFoundError:
        raise UsageError(f"there is no model in {folder}") from None
    except (json.JSONDecodeError, UnicodeDecodeError, TypeError, KeyError, ValueError, OSError, BadZipFile):
        raise FormatError(f"{folder} is not a model: its manifest or its weights cannot be read") from None
    if manifest.version != VERSION or manifest.tokenizer != TOKENIZER:
        raise UsageError(f"the model in {folder} was made by another version of deident: train it anew")
    bounds = np.concatenate([[0], np.cumsum(w["sizes"], dtype=np.int64)]).astype(np.int32)
    weights = Weights(
        manifest.labels,
        w["keys"],
        bounds,
        w["labels_of"],
        w["values"].astype(np.float32),
        w["moves"],
        w["first"],
    )
    return Model(manifest, weights)
