"""A model as a folder: `manifest.json` says what it is and which learner made it; beside it lies what that one keeps.

No pickles, and no text of any note. The learner named in the manifest (`train.Learner`) reads its own files back.
"""

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, Self

from deident import plugins
from deident.document import Document, Span
from deident.errors import FormatError, UnknownNameError, UsageError
from deident.tokens import VERSION as TOKENIZER

VERSION = 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a model is, where it comes from, and how good it is."""

    learner: str
    features: str  # the feature set; "" where the learner has none
    labels: tuple[str, ...]
    corpus: str = ""  # `document.corpus_hash` of what it was trained on
    documents: int = 0
    tokens: int = 0
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    scores: Mapping[str, Any] = field(default_factory=dict[str, Any])
    bias: float = 0.0  # taken from the score of "O" in use
    lifts: Mapping[str, float] = field(default_factory=dict[str, float])  # given to a label's score in use, besides
    calibration: tuple[tuple[float, float], ...] = ()  # of chances: (as computed, as it turned out), in order
    tokenizer: int = TOKENIZER
    version: int = VERSION


class Finder(Protocol):
    """A model ready to read; its caches belong to one thread."""

    def find(self, documents: Iterable[Document], *, bias: float = 0.0) -> Iterator[list[Span]]:
        """The spans of each document, in turn. `bias` comes on top of the manifest's: more is found."""
        ...


class Model(Protocol):
    """What a learner makes, and reads back from its folder."""

    @property
    def manifest(self) -> Manifest: ...

    def finder(self) -> Finder: ...

    def write(self, folder: Path) -> None:
        """Everything but the manifest, into a folder that is there."""
        ...

    def described(self, manifest: Manifest) -> Self:
        """The same model under another manifest."""
        ...


def with_scores(model: Model, scores: Mapping[str, Any]) -> Model:
    return model.described(replace(model.manifest, scores=scores))


def save(model: Model, folder: Path) -> None:
    """Writes the folder whole or not at all; it must not exist, or be a model."""
    check_room(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    try:
        put(model, made)
        made.chmod(0o755)
        old = folder.with_name(f".{folder.name}.old")
        if folder.exists():
            folder.replace(old)
        made.replace(folder)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def put(model: Model, folder: Path) -> None:
    """Writes a model into a folder that is there: its own, or that of a model of which it is a part."""
    model.write(folder)
    manifest = json.dumps(asdict(model.manifest), indent=2, ensure_ascii=False)
    (folder / "manifest.json").write_text(manifest + "\n", encoding="utf-8")


def check_room(folder: Path) -> None:
    """Says so early where `save` could not write."""
    if folder.exists() and not (folder / "manifest.json").is_file():
        raise UsageError(f"{folder} exists and is no model: nothing was written")


def load(folder: Path) -> Model:
    """The model of a folder; one that was made for other tokens is refused."""
    manifest = _manifest(folder)
    if manifest.version != VERSION or manifest.tokenizer != TOKENIZER:
        raise UsageError(f"the model in {folder} was made by another version of deident: train it anew")
    try:
        learner = plugins.load("learn", manifest.learner)
    except UnknownNameError:
        raise UsageError(f"the model in {folder} is of a learner that is not there: '{manifest.learner}'") from None
    return learner.load(folder, manifest)


def _manifest(folder: Path) -> Manifest:
    try:
        stored = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        points = tuple((float(raw), float(true)) for raw, true in stored.get("calibration", ()))
        return Manifest(**(stored | {"labels": tuple(stored["labels"]), "calibration": points}))
    except FileNotFoundError:
        raise UsageError(f"there is no model in {folder}") from None
    except (ValueError, UnicodeDecodeError, TypeError, KeyError, AttributeError):
        raise unreadable(folder) from None


def unreadable(folder: Path) -> FormatError:
    return FormatError(f"{folder} is not a model: its manifest or its weights cannot be read")
