"""The hybrid of Lee 2017 (3.3): two CRFs, rules, error correction, global reconciliation.

One CRF is for quantitative types (DATE, AGE, CONTACT), one for names (NAME, LOCATION, PROFESSION); rules, here the
detector `patterns`, find what has a distinct form or is rare, all IDs among it, and a rule's find goes before those of
the CRFs (3.3.4). Section headers, and the attributes that hold no PHI in any training note, are not learned from
(3.3.1). With `--features uth` the CRFs see what the paper's see; with another set both see that one.

Where there are columns of general-domain names to adapt from, `general=true` makes of them a tagger whose finds the
CRF for names sees, as the paper's sees those of Stanford NER (3.3.3).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deident import resolve
from deident.document import Document, Span
from deident.errors import UsageError
from deident.labels import Category, Label
from deident.learn import bridge, crf, linear, pages
from deident.learn import columns as c
from deident.learn.columns import Page
from deident.learn.examples import SKIPPED
from deident.learn.features import EARLIER, WITHOUT, FeatureSet, feature_set
from deident.learn.store import Manifest
from deident.learn.tables import Tables, Weights
from deident.learn.train import Task
from deident.view import view

RULES = "patterns"
QUANTITATIVE, NAMES, GENERAL = "quantitative", "names", "general"
TYPES = {
    QUANTITATIVE: frozenset({Category.DATE, Category.AGE, Category.CONTACT}),
    NAMES: frozenset({Category.NAME, Category.LOCATION, Category.PROFESSION}),
}
# what the rules find; the CRFs find some of it as well (3.3.2)
RULED = frozenset(label for label in Label if label.category in (Category.CONTACT, Category.ID, Category.AGE)) | {
    Label.DATE, Label.USERNAME, Label.STATE, Label.STREET, Label.ZIP,
}  # fmt: skip
_PUBLISHED = {"uth": {QUANTITATIVE: "uth-quantitative", NAMES: "uth-names"}}
_GENERAL_FEATURES = "wideid"


@dataclass(frozen=True, slots=True)
class Options(crf.Options):
    """Those of `crf`, for both CRFs; and which parts of the hybrid are at work."""

    filter: bool = True  # headers, and attributes without PHI, are not learned from
    rules: bool = True
    correct: bool = True
    reconcile: bool = True
    general: bool = False  # the sources make a tagger whose finds are features, instead of examples to adapt from


@dataclass(frozen=True, slots=True)
class Hybrid:
    manifest: Manifest
    parts: linear.Parts = field(repr=False)

    def finder(self) -> "Finder":
        return Finder(self)

    def described(self, manifest: Manifest) -> "Hybrid":
        return replace(self, manifest=manifest)

    def write(self, folder: Path) -> None:
        linear.write_parts(self.parts, folder)


class Finder:
    """The taggers' finds, merged, and mended over the whole note."""

    def __init__(self, model: Hybrid) -> None:
        self._bias = model.manifest.bias
        self._lay_out = pages(_ruled(feature_set(model.parts[NAMES].features)))
        self._tables = {name: part.tables() for name, part in model.parts.items()}
        self._options = model.manifest.options
        self._steps = [resolve.step(name) for name in ("correct", "reconcile") if self._options[name]]

    def find(self, documents: Iterable[Document], *, bias: float = 0.0) -> Iterator[list[Span]]:
        for doc in documents:
            page = _read_before(self._lay_out(doc), self._tables)
            rules = _rules(page) if self._options["rules"] else ()
            spans = [
                span
                for name in TYPES
                for span in linear.found(page, self._tables[name], bias=self._bias + bias)
                if not any(span.overlaps(rule) for rule in rules)
            ]
            found = resolve.resolve([*rules, *spans])
            for step in self._steps:
                found = step(doc, found)
            yield list(found)


def _ruled(features: FeatureSet) -> FeatureSet:
    """The set with the finds of the rules on its pages."""
    return replace(features, rules=tuple(dict.fromkeys((*features.rules, RULES))))


def _rules(page: Page) -> tuple[Span, ...]:
    return resolve.resolve(span for span in page.hits if span.label in RULED)


def _read_before(page: Page, tables: dict[str, Tables]) -> Page:
    if GENERAL not in tables:
        return page
    return replace(page, earlier=tuple(linear.found(page, tables[GENERAL], source=GENERAL)))


def learn(task: Task, options: Options) -> Hybrid:
    parts: dict[str, linear.Part] = {}
    general = options.general
    if general and not task.sources:
        raise UsageError("the option 'general' needs notes to adapt from: --adapt-ner")
    if general:
        features = feature_set(_GENERAL_FEATURES)
        texts = _tagged(task.every[len(task.documents) :], features)
        parts[GENERAL] = linear.Part(features.name, crf.CRF(features, options, task.told).fit(texts).weights_)
    tables = {name: part.tables() for name, part in parts.items()}
    domains = () if general else crf.domains(task)
    documents = task.documents if general else task.every
    empty = _attributes_without_phi(documents) if options.filter else frozenset[str]()
    for name, types in TYPES.items():
        whole, cut, left_out = task.features.partition(WITHOUT)
        known = _PUBLISHED.get(whole, {}).get(name, whole) + cut + left_out
        features = feature_set(known + EARLIER if general and name == NAMES else known)

        def examples(
            docs: Iterable[Document], features: FeatureSet = features, types: frozenset[Category] = types
        ) -> Iterator[tuple[Page, list[str]]]:
            for page, tags in _tagged(docs, features):
                own = [tag if tag == bridge.OUT or Label(tag[2:]).category in types else bridge.OUT for tag in tags]
                skipped = _skipped(page, empty) if options.filter else np.zeros(len(own), dtype=np.bool_)
                for place in np.flatnonzero(skipped).tolist():
                    own[place] = own[place] if own[place] != bridge.OUT else SKIPPED
                yield _read_before(page, tables), own

        learner = crf.CRF(features, options, task.told)
        weights: Weights = learner.fit(examples(documents), domains=domains, held=examples(task.held)).weights_
        parts[name] = linear.Part(features.name, weights)
    labels = (bridge.OUT, *sorted({tag for name in TYPES for tag in parts[name].weights.labels} - {bridge.OUT}))
    return Hybrid(task.manifest("hybrid", labels, options), parts)


def _tagged(documents: Iterable[Document], features: FeatureSet) -> Iterator[tuple[Page, list[str]]]:
    lay_out = pages(features)
    for doc in documents:
        page = lay_out(doc)
        yield page, bridge.tags(page.view.tokens, doc.spans)


def _attributes_without_phi(documents: Sequence[Document]) -> frozenset[str]:
    """The names of attributes whose values hold no PHI in any of these notes."""
    seen: set[str] = set()
    holding: set[str] = set()
    for doc in documents:
        page = Page(view(doc.text))
        said = c.attribute(page)
        tags = bridge.tags(page.view.tokens, doc.spans)
        seen |= {name for values in said.values for name in values}
        holding |= {
            name
            for code, tag in zip(said.codes.tolist(), tags, strict=True)
            if tag != bridge.OUT
            for name in said.values[code]
        }
    return frozenset(seen - holding)


def _skipped(page: Page, empty: frozenset[str]) -> NDArray[np.bool_]:
    """The tokens of headers, and of attributes that hold no PHI with their names."""
    tokens, layout = page.view.tokens, page.view.layout
    skipped = np.zeros(len(tokens), dtype=np.bool_)
    stretches = [(section.header_start, section.header_end) for section in layout.sections]
    stretches += [
        (pair.name_start, max(pair.name_end, pair.value_end))
        for pair in layout.attributes
        if c.plain(page.view.text[pair.name_start : pair.name_end]) in empty
    ]
    for start, end in stretches:
        first, last = tokens.touching(start, end)
        skipped[first:last] = True
    return skipped


def load(folder: Path, manifest: Manifest) -> Hybrid:
    return Hybrid(manifest, linear.read_parts(folder))
