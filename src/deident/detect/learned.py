"""What a trained model finds. The model is a folder (`learn/store.py`), one of ours by default."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from threading import local

from deident.document import Document, Span
from deident.errors import UsageError
from deident.learn import store

SHIPPED = "crf"


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


def detector(*, model: str = "") -> Learned:
    """model: the folder of a trained model; none: the one that is shipped."""
    folder = Path(model) if model else Path(str(files("deident") / "models" / SHIPPED))
    if not model and not folder.is_dir():
        raise UsageError("no model is shipped with this version: name the folder of a trained one ([detect] model)")
    return Learned(store.load(folder))
