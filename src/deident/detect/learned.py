"""What a trained model finds: one of those shipped in `models/`, or that of a folder (`learn/store.py`)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from threading import local

from deident.document import Document, Span
from deident.errors import UnknownNameError, UsageError
from deident.learn import store


@dataclass
class Learned:
    """The detector of one model; `bias` is added to that of its manifest: more is found, rightly and wrongly."""

    model: store.Model
    bias: float = 0.0
    name: str = "learned"
    _held: local = field(default_factory=local, init=False, repr=False, compare=False)

    def _finder(self) -> store.Finder:
        if not hasattr(self._held, "finder"):
            self._held.finder = self.model.finder()
        return self._held.finder

    def detect(self, doc: Document) -> Iterator[Span]:
        yield from next(self._finder().find((doc,), bias=self.bias))

    def why(self, span: Span) -> str:
        manifest = self.model.manifest
        return (
            f"a {manifest.learner.upper()} learned that such words in such places are {span.label} ({span.score:.2f})"
        )


def detector(*, model: str = "", engine: str = "balanced", recall: float = 0.0) -> Learned:
    """model: the folder of a trained model; none: the one shipped under the engine's name.
    recall: the share of each type's identifiers wanted found; the model must know a setting that found as many on notes
    unseen.
    """
    shipped = Path(str(files("deident") / "models"))
    names = sorted(folder.name for folder in shipped.iterdir() if (folder / "manifest.json").is_file())
    if not model and engine not in names:
        raise UnknownNameError("engine", engine, names)
    loaded = store.load(Path(model) if model else shipped / engine)
    return Learned(_keen(loaded, recall) if recall else loaded)


_FURTHER = 2.0  # what a type that is hard to find gets at most beyond the others


def _keen(model: store.Model, recall: float) -> store.Model:
    """The model set for this recall, by the curves measured when it was made: all types get what the whole needs, and
    those that are found less often what they need besides."""
    manifest = model.manifest
    curve: list[tuple[float, float, float]] = [tuple(point) for point in manifest.scores.get("curve", ())]
    if not 0.0 < recall < 1.0:
        raise UsageError("the wanted recall is a share between 0 and 1, as 0.99")
    if not curve:
        raise UsageError("the model has no curve, so no recall can be wanted of it: leave the recall out")
    best = max(found for _, found, _ in curve)
    if recall > best:
        raise UsageError(f"the model's curve ends at a recall of {best:.4f}: ask for no more")
    bias = min(bias for bias, found, _ in curve if found >= recall)
    by_type: dict[str, list[tuple[float, float]]] = manifest.scores.get("curve_by_type", {})
    lifts = {label: min(max(0.0, _needed(points, recall) - bias), _FURTHER) for label, points in by_type.items()}
    return model.described(replace(manifest, bias=bias, lifts={name: more for name, more in lifts.items() if more}))


def _needed(points: Sequence[tuple[float, float]], recall: float) -> float:
    """The least bias that finds so much of a type, or as much as is ever found."""
    best = max(found for _, found in points)
    return min(bias for bias, found in points if found >= min(recall, best))
