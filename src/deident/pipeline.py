"""The natural path, on one screen: detect → resolve, with its steps → replace.

The command line, the batch runner and every other door call this and nothing else.
"""

import dataclasses
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from deident import detect, policy, replace, vault
from deident.config import Config, Scrub
from deident.detect import Detector
from deident.document import Document, Failure, Kind, Span
from deident.errors import DeidentError, ProcessingError, UsageError
from deident.labels import Label
from deident.patients import Grouping, grouping
from deident.plain import plain
from deident.resolve import Step, check_policy, resolve, step
from deident.structure import SECRET_BYTES, Announced, Structured, Sweep
from deident.surrogates import purpose_key, read_key

_Find = tuple[Span, detect.Detector]
Told = Callable[[Document, replace.Rewritten], None]  # is told of every note, before and after

_SURE = frozenset({"patterns", "known", Sweep.name})  # who does not guess


@cache
def _announcing() -> tuple[Detector, ...]:
    """Who looks in a term, whichever detectors were chosen."""
    return detect.load("patterns"), Announced(detect.load("nlm"))


def _fresh() -> bytes:
    return secrets.token_bytes(SECRET_BYTES)


def _as_it_is(doc: Document) -> Document:
    return doc


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Whose note it is, what finds, how the finds are joined, and what is done with them.

    hidden: labels whose spans the scrubbed document does not carry. record: is told of every note (`vault`). secret: of
    the codes that stand for the identifiers of structured records; the workers of a run share it.
    """

    detectors: tuple[Detector, ...]
    treatment: replace.Treatment
    steps: tuple[Step, ...] = ()
    policy: str = "longest"
    least: float = 0.0
    group: Grouping = _as_it_is
    hidden: frozenset[Label] = frozenset()
    record: Told | None = None
    secret: bytes = field(default_factory=_fresh, repr=False, compare=False)
    _structured: Structured = field(init=False, repr=False, compare=False)
    _in_records: tuple[Detector, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_structured", Structured(self.treatment, self.secret))
        named = {detector.name for detector in self.detectors}
        # what a record's fields say of people is looked for in its prose, whoever else looks there
        known = () if "known" in named else (detect.load("known"),)
        object.__setattr__(self, "_in_records", (*self.detectors, *known, Sweep()))

    @classmethod
    def from_config(cls, config: Config, *, key: bytes | None = None, run_key: bytes | None = None) -> "Pipeline":
        """key: in place of that of a key file. run_key: of what is drawn anew in each run, shared by its processes."""
        settings = config.detect
        if not settings.detectors:
            raise UsageError("no detector is named: nothing would be found, and everything would stay")
        # a pattern of the user's own always counts, whoever looks besides
        own = ("patterns",) if settings.patterns and "patterns" not in settings.detectors else ()
        return cls(
            tuple(detect.load(name, settings) for name in (*settings.detectors, *own)),
            policy.treatment(config.scrub, key=key, run_key=run_key),
            tuple(step(name) for name in settings.steps),
            check_policy(settings.overlaps),
            settings.least,
            grouping(config.patients),
            policy.hidden(config.scrub),
            _recorder(config.scrub),
            secret=_secret(config, key, run_key),
        )

    def under(self, config: Config, *, run_key: bytes) -> "Pipeline":
        """The same finders, but what `[scrub]` of these settings says is done with what they find."""
        return dataclasses.replace(
            self,
            treatment=policy.treatment(config.scrub, run_key=run_key),
            hidden=policy.hidden(config.scrub),
            secret=_secret(config, None, run_key),
        )

    def detect(self, doc: Document) -> Document:
        """The document with the spans that were found, disjoint, in place of those it had.

        The span of a structured field is known by its position, and its patient by its record.
        """
        if doc.place is None:
            doc = self.group(doc)
        elif doc.place.kind not in (Kind.PROSE, Kind.TERM):
            return doc
        return doc.with_spans(self.join(doc, self.find(doc)))

    def find(self, doc: Document) -> Iterator[Span]:
        """What each detector finds, as it finds it: in the text, and in what a reader sees where that is another."""
        yield from (span for span, _ in self._finds(doc) if span.score >= self.least)

    def explain(self, doc: Document) -> Iterator[tuple[Span, str]]:
        """The same, however sure, each with what its detector looked for."""
        yield from ((span, detector.why(span)) for span, detector in self._finds(doc))

    def _finds(self, doc: Document) -> Iterator[_Find]:
        read = plain(doc.text)
        shown = None if read is None else dataclasses.replace(doc, text=read.text, spans=())
        for detector in self._looking(doc):
            yield from ((span, detector) for span in detector.detect(doc))
            if read is not None and shown is not None:
                yield from ((read.in_source(span), detector) for span in detector.detect(shown))

    def _looking(self, doc: Document) -> Iterator[Detector]:
        if doc.place is None:
            yield from self.detectors
        elif doc.place.kind is not Kind.TERM:
            yield from self._in_records
        else:  # without context "White" is a surname to a model, and "Chronic Disease Hospital" a place
            yield from (detector for detector in self._in_records if detector.name in _SURE)
            yield from _announcing()

    def join(self, doc: Document, found: Iterable[Span]) -> tuple[Span, ...]:
        """One disjoint set of many finds."""
        spans = resolve(found, policy=self.policy)
        read = plain(doc.text)
        if read is None:
            return self._mended(doc, spans)
        there = resolve(filter(None, map(read.in_plain, spans)), policy=self.policy)
        mended = self._mended(dataclasses.replace(doc, text=read.text, spans=()), there)
        joined = resolve(map(read.in_source, mended), policy=self.policy)
        # what stands for nothing that a reader sees stays found, under the label that it had
        rest = (span for span in spans if not any(one.covers(span) for one in joined))
        return resolve((*joined, *rest), policy=self.policy)

    def _mended(self, doc: Document, spans: tuple[Span, ...]) -> tuple[Span, ...]:
        for mend in self.steps:
            spans = mend(doc, spans)
        return spans

    def scrub(self, doc: Document) -> Document:
        """A new document without the identifiers that were found."""
        return self.shown(self.rewrite(doc))

    def rewrite(self, doc: Document) -> Document:
        """The same with all spans, for those who count them."""
        return self._rewritten(self.detect(doc))

    def judged(self, doc: Document) -> Document:
        """A new document without what its own spans mark: somebody has judged them."""
        return self.shown(self._rewritten(self.group(doc)))

    def _rewritten(self, found: Document) -> Document:
        treat = self.treatment if found.place is None else self._structured
        if self.record is None:
            return replace.apply(found, treat)
        new = replace.rewritten(found, treat)
        self.record(found, new)
        return new.document

    def shown(self, doc: Document) -> Document:
        """A rewritten document with those of its spans that the output carries."""
        return doc.with_spans(span for span in doc.spans if span.label not in self.hidden) if self.hidden else doc


def _recorder(settings: Scrub) -> Told | None:
    if not settings.vault:
        if settings.vault_key_file or settings.vault_passphrase_file:
            raise UsageError("a key of a vault is given, but no vault")
        return None
    secret = vault.Secret.of_files(settings.vault_key_file, settings.vault_passphrase_file)
    return vault.opened(settings.vault, secret).record


def _secret(config: Config, key: bytes | None, run_key: bytes | None) -> bytes:
    """The same key gives the same codes; one that is forgotten with the run gives codes that nobody can undo, which is
    what Safe Harbor asks for (45 CFR 164.514(c)) and policies without a key get."""
    scrub = config.scrub
    if scrub.key_file:
        key = read_key(Path(scrub.key_file))
    elif scrub.policy and not policy.load(scrub.policy).keyed:
        key = run_key
    key = key if key is not None else run_key
    return _fresh() if key is None else purpose_key(key, "structure")


def attempt(work: Callable[[Document], Document], doc: Document) -> Document | Failure:
    """`work(doc)`, or a Failure that says what kind of thing went wrong, and never with which text."""
    try:
        return work(doc)
    except DeidentError as error:
        return Failure(doc.id, str(error))
    except Exception as error:  # noqa: BLE001 (whatever raises inside, its message may quote the text)
        return Failure(doc.id, str(ProcessingError(f"could not be processed ({type(error).__name__})")))


def attempt_all(
    work: Callable[[Document], Document], documents: Iterable[Document]
) -> tuple[tuple[Document, ...], tuple[Failure, ...]]:
    results = [attempt(work, doc) for doc in documents]
    return (
        tuple(result for result in results if isinstance(result, Document)),
        tuple(result for result in results if isinstance(result, Failure)),
    )
