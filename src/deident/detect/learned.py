"""What a trained model finds. The model is a folder (`learn/store.py`), one of ours by default."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from threading import local

from deident.document import Document, Span
from deident.errors import UsageError
from deident.learn import Paged, bridge, pages, store
from deident.learn.tables import Tables

SHIPPED = "crf"


@dataclass
class Learned:
    """The detector of one model; `bias` is added to that of its manifest: more is found, rightly and wrongly."""

    model: store.Model
    bias: float = 0.0
    name: str = "learned"
    _held: local = field(default_factory=local, init=False, repr=False, compare=False)

    @cached_property
    def _pages(self) -> Paged:
        return pages(self.model.features)

    def _tables(self) -> Tables:
        if not hasattr(self._held, "tables"):
            self._held.tables = self.model.tables()
        return self._held.tables

    def detect(self, doc: Document) -> Iterator[Span]:
        page = self._pages(doc)
        tagged = self._tables().tag(page, bias=self.model.manifest.bias + self.bias)
        yield from bridge.spans(page.view.tokens, tagged.tags, source=self.name, scores=tagged.chances)

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
