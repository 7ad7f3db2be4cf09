"""What the experiments work with: notes, sizes, systems. What a system found is kept, so that tables share it."""

import hashlib
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from deident import __version__, evaluate, labels, lexicons
from deident.batch import replacing
from deident.config import Config, Detect
from deident.document import Document, Span, corpus_hash
from deident.errors import UnknownNameError, UsageError
from deident.learn import bridge, crf, features, linear, store, svm, train
from deident.learn.columns import Page
from deident.learn.tables import Tables
from deident.pipeline import Pipeline
from deident.replace import apply, treatment
from deident.resolve import resolve
from deident.tokens import Tokens
from deident.view import View, of_tokens, view

Notes = tuple[Document, ...]
Found = Mapping[str, Document]  # by id, with the spans that a system found


@dataclass(frozen=True, slots=True)
class Data:
    """Gold notes: to learn from, to report on, of another institution, and those that are opened once."""

    name: str
    train: Notes = field(repr=False)
    dev: Notes = field(repr=False)
    other: Notes = field(default=(), repr=False)
    test: Notes = field(default=(), repr=False)

    @property
    def hash(self) -> str:
        return corpus_hash((*self.train, *self.dev, *self.other, *self.test))

    def cut(self, sizes: "Sizes") -> "Data":
        """So many notes of each part, evenly from all of it."""

        def some(notes: Notes, most: int) -> Notes:
            if not 0 < most < len(notes):
                return notes
            return tuple(notes[at * len(notes) // most] for at in range(most))

        kept = (some(getattr(self, part), getattr(sizes, part)) for part in ("train", "dev", "other", "test"))
        return Data(self.name, *kept)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large the experiments are; 0 notes are all.

    folds: of a cross-validation. passes, epochs: over the notes, by the CRFs and by the networks. source: synthetic
    notes to adapt from. stack: parts in which the bases of a stacked system read its notes. network, network_epochs:
    notes and epochs of the networks of an ablation. words, hidden: sizes of the networks' vectors and layers.
    """

    train: int = 0
    dev: int = 0
    other: int = 0
    test: int = 0
    folds: int = 10
    passes: int = 12
    epochs: int = 20
    source: int = 300
    stack: int = 4
    network: int = 200
    network_epochs: int = 10
    words: int = 100
    hidden: int = 100
    resamples: int = 1000
    shuffles: int = 9999

    def changed(self, said: Mapping[str, str]) -> "Sizes":
        """With some of them said in words: {"folds": "10"}."""
        known = [item.name for item in fields(self)]
        for name, value in said.items():
            if name not in known:
                raise UnknownNameError("size", name, known)
            if not value.isdecimal():
                raise UsageError(f"the size '{name}' must be a whole number")
        return replace(self, **{name: int(value) for name, value in said.items()})


FULL = Sizes()
FAST = Sizes(
    train=14, dev=5, other=5, test=5, folds=2, passes=2, epochs=1, source=6, stack=2, network=8, network_epochs=1,
    words=8, hidden=8, resamples=99, shuffles=99,
)  # fmt: skip

WHOLE_WORDS, NORMAL = "whole words", "normal"
# one token from white space to white space, but for the signs at its ends: "Since6/03/04", "2106-02-12"
_WHOLE = re.compile(r"\w+(?:[^\w\s]+\w+)*|[^\w\s]")


@dataclass(frozen=True, slots=True)
class System:
    """What finds: a learner with a feature set and options, or rules.

    use: options of the finished model, which only change how it is used. bias: taken from the score of "no identifier".
    reading: how words are cut or written before they are learned from, where not as everywhere else. epochs: whether
    it is a network.
    """

    learner: str = ""
    features: str = ""
    options: tuple[tuple[str, str], ...] = ()
    use: tuple[tuple[str, bool], ...] = ()
    bias: float = 0.0
    reading: str = ""
    detectors: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()

    def with_options(self, **options: object) -> "System":
        said = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}
        return replace(self, options=tuple((dict(self.options) | said).items()))

    def using(self, **use: bool) -> "System":
        return replace(self, use=tuple((dict(self.use) | use).items()))

    @property
    def lesson(self) -> "System":
        """The system as far as learning is concerned."""
        return replace(self, use=(), bias=0.0)


# what stands in for a set that needs a resource, where all must be quick: the set without the column that needs it
QUICK = {
    "dernoncourt": ("dernoncourt~lemma,senses", "WordNet"),
    "uth": ("uth~embedding", "word vectors"),
}


class Lab:
    """One run of experiments: its notes, and what systems found in them so far."""

    def __init__(self, data: Data, sizes: Sizes, folder: Path, *, seed: int = 1, fast: bool = False) -> None:
        self.data = data.cut(sizes)
        self.sizes, self.seed, self.fast, self.folder = sizes, seed, fast, folder
        self.remarks: dict[str, None] = {}  # what a caption must say of the table that is being made
        self._last: tuple[str, store.Model] | None = None

    @property
    def key(self) -> str:
        """What a finished table was made from."""
        return _hash([__version__, self.data.hash, asdict(self.sizes), self.seed, self.fast])

    def remark(self, said: str) -> None:
        self.remarks[said] = None

    @property
    def dev(self) -> Found:
        return evaluate.by_id(self.data.dev)

    @property
    def other(self) -> Found:
        if not self.data.other:
            raise UsageError("there are no notes of another institution: name them with --other")
        return evaluate.by_id(self.data.other)

    @cached_property
    def surrogate(self) -> Data:
        """The notes with made-up identifiers in place of the gold ones, by shuffled syllables and random digits
        (Tafvizi 2011, 5.1.1)."""
        key = hashlib.sha256(f"surrogates {self.seed}".encode()).digest()
        treat = treatment("syllables", key=key)

        def anew(notes: Notes) -> Notes:
            return tuple(replace(apply(doc, treat), patient=doc.patient, meta=doc.meta) for doc in notes)

        data = self.data
        return Data(f"{data.name}, surrogates", anew(data.train), anew(data.dev), anew(data.other))

    @cached_property
    def source(self) -> Notes:
        """Notes of another kind with the same labels: synthetic ones."""
        from deident.corpus import make

        return tuple(make.notes(self.sizes.source, seed=self.seed))

    # --- finding ------------------------------------------------------------------------------------------------------

    def on_dev(self, system: System) -> Found:
        """What the system, learned from train, finds in dev."""
        return self._reported(system, self.data.dev)

    def on_other(self, system: System) -> Found:
        """What the system, learned from train, finds in the notes of another institution, sight unseen."""
        return self._reported(system, tuple(self.other.values()))

    def _reported(self, system: System, wanted: Notes) -> Found:
        # dev and other at once, so that whatever asks next for the other one need not learn again
        found = self.found(system, self.data.train, (*self.data.dev, *self.data.other))
        return {doc.id: found[doc.id] for doc in wanted}

    def crossed(self, system: System, notes: Notes) -> Found:
        """The notes, each fold read by a system that learned from the others."""
        found: dict[str, Document] = {}
        parts = train.folds(notes, self.sizes.folds, seed=self.seed)
        for place, part in enumerate(parts):
            rest = [doc for other, docs in enumerate(parts) if other != place for doc in docs]
            found |= self.found(system, rest, part)
        return found

    def found(
        self,
        system: System,
        learn: Sequence[Document],
        read: Sequence[Document],
        *,
        sources: Sequence[Sequence[Document]] = (),
    ) -> dict[str, Document]:
        """What the system finds, from the folder where it found the same already."""
        system = self._quick(system)
        system = self._sized(system)
        lesson = [system.lesson, corpus_hash(learn), *map(corpus_hash, sources)] if system.learner else []
        key = _hash([__version__, asdict(system), [str(part) for part in lesson], corpus_hash(read), self.seed])
        path = self.folder / "spans" / f"{key}.jsonl"
        if path.is_file():
            return _with_spans(path, read)
        begin = time.process_time()
        found = list(self._find(system, learn, read, sources))
        head = {"system": asdict(system), "notes": len(learn), "seconds": round(time.process_time() - begin, 1)}
        _keep(path, head, found)
        return evaluate.by_id(found)

    def _find(
        self, system: System, learn: Sequence[Document], read: Sequence[Document], sources: Sequence[Sequence[Document]]
    ) -> Iterator[Document]:
        if not system.learner:
            pipeline = Pipeline.from_config(Config(detect=Detect(detectors=system.detectors, steps=system.steps)))
            yield from map(pipeline.detect, read)
        elif system.reading:
            yield from _read_otherwise(system, learn, read)
        else:
            model = self._model(system, learn, sources)
            if system.use:
                options = {**model.manifest.options, **dict(system.use)}
                model = model.described(replace(model.manifest, options=options))
            yield from train.predict(model, read, bias=system.bias)

    def _model(self, system: System, learn: Sequence[Document], sources: Sequence[Sequence[Document]]) -> store.Model:
        """The system after learning; the last one is kept, for those that only use it in another way."""
        lesson = system.lesson
        key = _hash([asdict(lesson), corpus_hash(learn), *map(corpus_hash, sources)])
        if self._last is not None and self._last[0] == key:
            return self._last[1]
        self._last = None
        held: list[Document] = []
        if lesson.learner == "bilstm":  # which stops when it does no more good on notes held out
            learn, held = train.parted(learn, 0.1, seed=self.seed)
        options = train.options_of(lesson.learner, dict(lesson.options))
        model = train.train(
            learn, sources=sources, held=held, learner=lesson.learner, features=lesson.features, options=options
        )
        self._last = key, model
        return model

    def _quick(self, system: System) -> System:
        if self.fast and system.features in QUICK:
            instead, needs = QUICK[system.features]
            self.remark(f"The set `{system.features}` needs {needs}; in this quick run `{instead}` stands in for it.")
            return replace(system, features=instead)
        if self.fast and system.learner == "bilstm" and dict(system.options).get("vectors", "env"):
            self.remark("In this quick run the networks begin without word vectors.")
            return system.with_options(vectors="")
        return system

    def _sized(self, system: System) -> System:
        said = dict(system.options)
        if system.learner in ("crf", "hybrid", "two-stage"):
            return system.with_options(passes=said.get("passes", self.sizes.passes), seed=self.seed)
        if system.learner == "multi":
            return system.with_options(passes=self.sizes.passes, parts=self.sizes.stack, seed=self.seed)
        if system.learner == "svm":
            return system.with_options(seed=self.seed)
        if system.learner == "bilstm":
            sizes = {name: said.get(name, getattr(self.sizes, name)) for name in ("words", "hidden")}
            return system.with_options(
                passes=said.get("passes", self.sizes.epochs), lstm=self.sizes.hidden, seed=self.seed, **sizes
            )
        return system


def joined(*systems: Found) -> Found:
    """What any of them found (Dernoncourt 2017: a token is an identifier if either model says so)."""
    first = systems[0]
    return {
        name: doc.with_spans(resolve([span for found in systems for span in found[name].spans]))
        for name, doc in first.items()
    }


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:24]


def _keep(path: Path, head: Mapping[str, Any], found: Iterable[Document]) -> None:
    """Offsets and labels by id: no text. The ids may be identifiers, so the file is its owner's alone."""
    with replacing(path, private=True) as stream:
        stream.write(json.dumps(head).encode() + b"\n")
        for doc in found:
            spans = [(span.start, span.end, span.label.value, span.score) for span in doc.spans]
            stream.write(json.dumps({"id": doc.id, "spans": spans}).encode() + b"\n")


def _with_spans(path: Path, read: Sequence[Document]) -> dict[str, Document]:
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    rows = {row["id"]: row["spans"] for row in map(json.loads, lines)}
    return {
        doc.id: doc.with_spans(
            Span(start, end, labels.parse(label), score=score) for start, end, label, score in rows[doc.id]
        )
        for doc in read
    }


# --- reading otherwise -----------------------------------------------------------------------------------------------


def _read_otherwise(system: System, learn: Sequence[Document], read: Sequence[Document]) -> Iterator[Document]:
    """A CRF or an SVM over words that are cut, or written, in another way than everywhere else."""
    chosen = features.feature_set(system.features)
    options = train.options_of(system.learner, dict(system.options))
    lay_out = {WHOLE_WORDS: _whole_words, NORMAL: _normal}[system.reading]
    machine = {"crf": crf.CRF, "svm": svm.SVM}[system.learner](chosen, options)

    def examples() -> Iterator[tuple[Page, list[str]]]:
        for doc in learn:
            page = Page(lay_out(doc.text))
            yield page, bridge.tags(page.view.tokens, doc.spans)

    weights = machine.fit(examples()).weights_
    tables = Tables(weights, chosen, free=system.learner == "svm")
    for doc in read:
        yield doc.with_spans(linear.found(Page(lay_out(doc.text)), tables, bias=system.bias))


def _whole_words(text: str) -> View:
    """The words as they stand, nothing split but the signs at their ends (He 2015, table 5: no preprocessing)."""
    places = np.array([match.span() for match in _WHOLE.finditer(text)], dtype=np.int64).reshape(-1, 2)
    return of_tokens(Tokens(text, places[:, 0].copy(), places[:, 1].copy()))


def _normal(text: str) -> View:
    """Accents gone, lower case, each digit a zero (Tafvizi 2011, 7.2.2)."""
    return of_tokens(view(text).tokens, _plain)


_DIGIT = re.compile(r"\d")


def _plain(word: str) -> str:
    return _DIGIT.sub("0", lexicons.fold(word)) or word
