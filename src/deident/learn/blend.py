"""Several models read as one, each as it was made: nothing is learned.

    average   the chances of each tag, averaged with weights, then the best order of tags
    vote      a token is marked where enough members mark it, with the label of most of them
    union     whatever any member marks (Dernoncourt 2017, 4: the union of network and CRF had the best recall)

A member is a folder inside the blend's own, or one beside it ("../balanced"), so that a model is kept once.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, Protocol, cast

import numpy as np

from deident.document import Document, Span
from deident.errors import UnknownNameError, UsageError
from deident.learn import bridge, store
from deident.learn.bits import Floats
from deident.learn.store import Manifest
from deident.learn.tables import Decoder
from deident.resolve import resolve
from deident.view import view

WAYS = ("average", "vote", "union")
_LEAST = 1e-6  # a tag that no member gives any chance is as unlikely as this


@dataclass(frozen=True, slots=True)
class Blend:
    """Models side by side; `manifest.options` says how they are joined, and where each lies."""

    manifest: Manifest
    members: tuple[store.Model, ...] = field(repr=False)

    def finder(self) -> "Finder":
        return Finder(self)

    def described(self, manifest: Manifest) -> "Blend":
        return replace(self, manifest=manifest)

    def write(self, folder: Path) -> None:
        for place, member in zip(_places(self.manifest), self.members, strict=True):
            if not _beside(place):
                (folder / place).mkdir()
                store.put(member, folder / place)


def of(
    members: Sequence[store.Model],
    *,
    how: str = "average",
    weights: Sequence[float] = (),
    least: int = 0,
    places: Sequence[str] = (),
) -> Blend:
    """The blend of these models.

    weights: of the members' chances (average); all alike by default. least: how many must mark a token (vote); more
    than half by default. places: where each member is kept; "../NAME" is a model beside the blend, which stays there.
    """
    if how not in WAYS:
        raise UnknownNameError("way to blend", how, WAYS)
    if len(members) < 2:
        raise UsageError("a blend needs two models or more")
    if weights and (how != "average" or len(weights) != len(members) or min(weights) <= 0):
        raise UsageError("weights are for averages: one above zero for each model")
    if least and (how != "vote" or not 1 <= least <= len(members)):
        raise UsageError(f"how many must agree is for votes: a number from 1 to {len(members)}")
    kept = tuple(places) or tuple(f"member{number}" for number in range(1, len(members) + 1))
    options: dict[str, Any] = {"how": how, "members": kept}
    if how == "average":
        options["weights"] = tuple(weights) or (1.0,) * len(members)
    elif how == "vote":
        options["least"] = least or len(members) // 2 + 1
    tags = {tag for member in members for tag in member.manifest.labels} - {bridge.OUT}
    # those that go on come after all others (`tables.Decoder`)
    labels = (bridge.OUT, *sorted(tags, key=lambda tag: (tag.startswith("I-"), tag)))
    said = [member.manifest for member in members]
    manifest = Manifest(
        "blend", "", labels, corpus="+".join(dict.fromkeys(one.corpus for one in said)),
        documents=max(one.documents for one in said), tokens=max(one.tokens for one in said), options=options,
    )  # fmt: skip
    return Blend(manifest, tuple(members))


def load(folder: Path, manifest: Manifest) -> Blend:
    try:
        places = _places(manifest)
        known = manifest.options["how"] in WAYS and len(places) > 1
    except (KeyError, TypeError):
        known, places = False, ()
    if not known:
        raise store.unreadable(folder)
    return Blend(manifest, tuple(store.load(folder / place) for place in places))


def _places(manifest: Manifest) -> tuple[str, ...]:
    named: Any = manifest.options["members"]
    if isinstance(named, str):
        raise TypeError("the members are a list")
    places = tuple(str(place) for place in named)
    for place in places:
        parts = PurePosixPath(place).parts
        if len(parts) != (2 if _beside(place) else 1) or ".." in parts[1:] or place in ("", ".", "/"):
            raise TypeError("a member lies in the blend's folder, or beside it")
    return places


def _beside(place: str) -> bool:
    return place.startswith("../")


class Judge(Protocol):
    """The finder of a model that tells the chances of its tags; those of one tagger do."""

    def chances(self, doc: Document) -> Floats: ...


class Finder:
    """Has every member read the document, and joins what they say."""

    def __init__(self, model: Blend) -> None:
        self._manifest = model.manifest
        self._finders = [member.finder() for member in model.members]
        if model.manifest.options["how"] == "average":
            for member, finder in zip(model.members, self._finders, strict=True):
                if not hasattr(finder, "chances"):
                    raise UsageError(f"a model of the learner '{member.manifest.learner}' has no chances to average")
            labels = model.manifest.labels
            size = len(labels)
            still = np.zeros((size, size), dtype=np.float32)
            said = model.manifest
            self._decoder = Decoder(labels, still, still[0], lifts=said.lifts, calibration=said.calibration)
            # a linear machine may know fewer tags than the others: its columns are put where theirs are
            self._columns = [[labels.index(tag) for tag in member.manifest.labels] for member in model.members]
            weights = np.array(model.manifest.options["weights"], dtype=np.float32)
            self._weights = weights / weights.sum()

    def find(self, documents: Iterable[Document], *, bias: float = 0.0) -> Iterator[list[Span]]:
        how = self._manifest.options["how"]
        for doc in documents:
            if how == "average":
                yield self._average(doc, self._manifest.bias + bias)
            elif how == "union":
                yield list(resolve(span for spans in self._each(doc, bias) for span in spans))
            else:
                yield self._vote(doc, bias)

    def _each(self, doc: Document, bias: float) -> list[list[Span]]:
        return [next(finder.find((doc,), bias=self._manifest.bias + bias)) for finder in self._finders]

    def _average(self, doc: Document, bias: float) -> list[Span]:
        tokens = view(doc.text).tokens
        if not len(tokens):
            return []
        mean = np.full((len(tokens), len(self._manifest.labels)), _LEAST, dtype=np.float32)
        for finder, columns, weight in zip(self._finders, self._columns, self._weights, strict=True):
            mean[:, columns] += weight * cast(Judge, finder).chances(doc)
        tagged = self._decoder.decode(np.log(mean), [(0, len(tokens))], bias=bias)
        return bridge.spans_of_path(tokens, tagged.path, tagged.labels, tagged.likely, source="learned")

    def _vote(self, doc: Document, bias: float) -> list[Span]:
        tokens = view(doc.text).tokens
        each = [bridge.tags(tokens, spans) for spans in self._each(doc, bias)]
        tags = [self._elected(said) for said in zip(*each, strict=True)]
        shares = [sum(tag != bridge.OUT for tag in said) / len(each) for said in zip(*each, strict=True)]
        return bridge.spans(tokens, tags, source="learned", scores=shares)

    def _elected(self, said: tuple[str, ...]) -> str:
        votes = [tag for tag in said if tag != bridge.OUT]
        if len(votes) < self._manifest.options["least"]:
            return bridge.OUT
        label = Counter(tag[2:] for tag in votes).most_common(1)[0][0]
        return next(tag for tag in votes if tag[2:] == label)
