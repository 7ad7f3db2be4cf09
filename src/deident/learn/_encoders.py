"""Encoders as Hugging Face keeps them in a folder: configuration, weights, tokenizer; read without their library.

BERT and its kin of the same build (RoBERTa, XLM-RoBERTa, CamemBERT, ELECTRA, DistilBERT) differ in what they call the
same arrays. They come out as one `Encoder`, whose arrays have our names.
"""

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np

from deident.errors import FormatError, MissingPackageError, UsageError
from deident.learn.bits import Floats

Arrays = Mapping[str, Floats]
ACTIVATIONS: Mapping[str, str] = {"gelu": "none", "gelu_new": "tanh", "gelu_pytorch_tanh": "tanh", "relu": "relu"}


@dataclass(frozen=True, slots=True)
class Shape:
    """How an encoder is built. `most` is how many word pieces it can read at once."""

    hidden: int
    layers: int
    heads: int
    activation: str
    epsilon: float
    most: int


@dataclass(frozen=True, slots=True)
class Encoder:
    """Its arrays: words, places (with the type of the first sentence), norm.*, project.* and layer.N.*.

    Matrices are (in, out), as x @ matrix has it.
    """

    shape: Shape
    arrays: Arrays = field(repr=False)


_BERT = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "out": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "norm2": "output.LayerNorm",
}
_DISTILBERT = {
    "query": "attention.q_lin",
    "key": "attention.k_lin",
    "value": "attention.v_lin",
    "out": "attention.out_lin",
    "norm1": "sa_layer_norm",
    "up": "ffn.lin1",
    "down": "ffn.lin2",
    "norm2": "output_layer_norm",
}
_FAMILIES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "bert": ("encoder.layer", _BERT),
    "roberta": ("encoder.layer", _BERT),
    "xlm-roberta": ("encoder.layer", _BERT),
    "camembert": ("encoder.layer", _BERT),
    "electra": ("encoder.layer", _BERT),
    "distilbert": ("transformer.layer", _DISTILBERT),
}


def read(folder: Path, *, layers: int = 0) -> Encoder:
    """The encoder of a folder; of its layers only the first ones, where `layers` says how many."""
    config = _config(folder)
    family = str(config.get("model_type", ""))
    if family not in _FAMILIES:
        raise UsageError(f"an encoder of the type '{family}' is not read; those of {', '.join(_FAMILIES)} are")
    activation = str(config.get("hidden_act", config.get("activation", "gelu")))
    if activation not in ACTIVATIONS:
        raise UsageError(f"an encoder with the activation '{activation}' is not read")
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise UsageError("an encoder with relative places is not read")
    stack, names = _FAMILIES[family]
    held = _weights(folder)
    of = _Named(held)
    # RoBERTa and its kin count places from behind that of the padding
    begin = int(config.get("pad_token_id", 1)) + 1 if "roberta" in family or family == "camembert" else 0
    places = of("embeddings.position_embeddings.weight")[begin:]
    if of.has("embeddings.token_type_embeddings.weight"):
        places = places + of("embeddings.token_type_embeddings.weight")[0]
    arrays = {"words": of("embeddings.word_embeddings.weight"), "places": places}
    arrays |= of.norm("norm", "embeddings.LayerNorm")
    if of.has("embeddings_project.weight"):
        arrays |= of.linear("project", "embeddings_project")
    count = int(config.get("num_hidden_layers", config.get("n_layers", 0)))
    kept = min(count, layers) if layers else count
    for number in range(kept):
        for ours, theirs in names.items():
            part = of.norm if ours.startswith("norm") else of.linear
            arrays |= part(f"layer.{number}.{ours}", f"{stack}.{number}.{theirs}")
    shape = Shape(
        int(config.get("hidden_size", config.get("dim", 0))),
        kept,
        int(config.get("num_attention_heads", config.get("n_heads", 0))),
        activation,
        float(config.get("layer_norm_eps", 1e-12)),
        len(places),
    )
    return Encoder(shape, arrays)


def _config(folder: Path) -> dict[str, Any]:
    try:
        return json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"there is no encoder in {folder}: it has no config.json") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise FormatError(f"{folder} is no encoder: its config.json cannot be read") from None


class _Named:
    """Arrays by the names of BERT's parts, with or without what the file puts before them ("roberta.")."""

    def __init__(self, held: Mapping[str, Callable[[], Floats]]) -> None:
        words = "embeddings.word_embeddings.weight"
        found = [name for name in held if name.endswith(words)]
        if not found:
            raise FormatError("this is no encoder: its weights have no word embeddings")
        self._held = held
        self._before = min(found, key=len).removesuffix(words)

    def has(self, name: str) -> bool:
        return self._before + name in self._held

    def __call__(self, name: str) -> Floats:
        if not self.has(name):
            raise FormatError(f"this is no encoder that can be read: its weights have no {name}")
        return self._held[self._before + name]()

    def linear(self, ours: str, theirs: str) -> dict[str, Floats]:
        matrix = np.ascontiguousarray(self(f"{theirs}.weight").T)
        return {f"{ours}.weight": matrix, f"{ours}.bias": self(f"{theirs}.bias")}

    def norm(self, ours: str, theirs: str) -> dict[str, Floats]:
        # files of the first years call them gamma and beta
        old = self.has(f"{theirs}.gamma")
        weight, bias = ("gamma", "beta") if old else ("weight", "bias")
        return {f"{ours}.weight": self(f"{theirs}.{weight}"), f"{ours}.bias": self(f"{theirs}.{bias}")}


# --- files -----------------------------------------------------------------------------------------------------------


def _weights(folder: Path) -> Mapping[str, Callable[[], Floats]]:
    if (folder / "model.safetensors").is_file():
        return _safetensors(folder / "model.safetensors")
    if (folder / "pytorch_model.bin").is_file():
        return _by_torch(folder / "pytorch_model.bin")
    raise UsageError(f"there is no encoder in {folder}: it has no model.safetensors (nor pytorch_model.bin)")


_KINDS: Mapping[str, str] = {"F32": "<f4", "F16": "<f2", "F64": "<f8", "BF16": "<u2"}


def _safetensors(path: Path) -> Mapping[str, Callable[[], Floats]]:
    """Eight bytes say how long the table of contents is, then comes that (JSON), then the numbers as they are."""
    try:
        with path.open("rb") as stream:
            (size,) = struct.unpack("<Q", stream.read(8))
            contents: dict[str, Any] = json.loads(stream.read(size))
    except (struct.error, json.JSONDecodeError, UnicodeDecodeError, OverflowError, MemoryError):
        raise FormatError(f"{path} is not in the format safetensors") from None
    held = np.memmap(path, dtype=np.uint8, mode="r", offset=8 + size)

    def reader(entry: Mapping[str, Any]) -> Callable[[], Floats]:
        def array() -> Floats:
            start, end = entry["data_offsets"]
            raw = np.frombuffer(held[start:end].tobytes(), dtype=_KINDS[entry["dtype"]]).reshape(entry["shape"])
            if entry["dtype"] == "BF16":
                return (raw.astype(np.uint32) << 16).view(np.float32)
            return raw.astype(np.float32)

        return array

    return {name: reader(entry) for name, entry in contents.items() if entry.get("dtype") in _KINDS}


def _by_torch(path: Path) -> Mapping[str, Callable[[], Floats]]:
    """Of torch's own format only tensors are read (`weights_only`), nothing is run."""
    try:
        torch: Any = import_module("torch")
    except ImportError:
        raise MissingPackageError("torch", "train") from None
    try:
        held: Mapping[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except (UnpicklingError, RuntimeError, EOFError):
        raise FormatError(f"{path} holds no weights, or more than weights") from None

    def reader(tensor: Any) -> Callable[[], Floats]:
        return lambda: tensor.float().numpy()

    return {name: reader(tensor) for name, tensor in held.items() if tensor.is_floating_point()}
