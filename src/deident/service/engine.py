"""Bytes of a format in, bytes of a format out: what the routes ask for, without HTTP.

Everything that fails becomes a `Refused`, whose sentence names kinds, lines and offsets, and nothing that was sent.
"""

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from deident import formats, policy
from deident.config import Config
from deident.document import Document, Failure, Record
from deident.errors import (
    FormatError,
    MissingPackageError,
    ProcessingError,
    SpanError,
    UnknownNameError,
    UsageError,
)
from deident.formats import jsonl
from deident.labels import Label
from deident.pipeline import Pipeline, attempt_all
from deident.replace import SURROGATES, Treatment

# What a body is by its media type; `?format=` says it otherwise.
FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "text/plain": "text",
        "application/json": "jsonl",
        "application/x-ndjson": "jsonl",
        "application/jsonl": "jsonl",
        "application/fhir+json": "fhir",
        "application/hl7-v2": "hl7",
        "x-application/hl7-v2+er7": "hl7",
    }
)
_MEDIA_BY_FORMAT = {
    "text": "text/plain; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "fhir": "application/fhir+json",
}
_MEDIA_BY_SUFFIX = {".json": "application/json", ".xml": "application/xml", ".xmi": "application/xml"}
NAME = "text"  # the id of a document that brings none


class Refused(Exception):  # noqa: N818 (what it says of the request)
    """A request that gets no result: its HTTP status, and why, in a sentence without text of the request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Done:
    """The documents of one request, worked on and written."""

    body: bytes = field(repr=False)
    media: str
    documents: int
    characters: int
    labels: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """Under which policy, and how what is removed is to be shown; None: as the service is set."""

    policy: str | None = None
    manner: str | None = None


class Engine:
    """The pipelines of a configuration, loaded: the same detectors under each policy, in each manner that it allows.

    A service with a policy of its own offers that one alone; what callers ask for can never weaken it.
    """

    def __init__(self, config: Config) -> None:
        scrub = config.scrub
        chosen = scrub.replace or scrub.policy or policy.Action.TAG
        if chosen == policy.Action.RANDOM:
            raise UsageError(
                "random stand-ins are drawn anew for every run, and the workers of a service would disagree"
            )
        if chosen in (*SURROGATES, policy.Action.NUMBER) and not scrub.key_file:
            raise UsageError("a service that draws surrogates needs a key, or its workers disagree: deident key new")
        self._config = config
        self._pipeline = Pipeline.from_config(config)
        self._by_policy: dict[str, dict[str, Pipeline]] = {}
        own = policy.load(scrub.policy).name if scrub.policy else ""
        self._own = own
        for name in (own,) if own else ("", *policy.names()):
            settings = plain = scrub
            if name != own:
                settings = plain = replace(scrub, policy=name, replace="")
                keyed = policy.load(name).keyed
                if keyed and not scrub.key_file:
                    continue
                if not keyed:
                    plain = replace(settings, key_file="")
            made = {manner: self._with(treat) for manner, treat in policy.offered(settings).items()}
            self._by_policy[name] = made | {"": self._with(policy.treatment(plain))}

    def _with(self, treat: Treatment) -> Pipeline:
        return replace(self._pipeline, treatment=treat)

    def warm(self) -> None:
        """Everything that loads when first used is loaded: word lists, kernels."""
        self._pipeline.scrub(Document(NAME, "Seen by Dr. Ada Lund on 3/4/2021, call 303-555-0182."))

    def models(self) -> dict[str, Any]:
        """Who looks for identifiers here, and how their finds are joined."""
        settings = self._config.detect
        rows: list[dict[str, Any]] = []
        for detector in self._pipeline.detectors:
            row: dict[str, Any] = {"name": detector.name}
            manifest = getattr(getattr(detector, "model", None), "manifest", None)
            for key in ("learner", "features", "labels", "corpus", "documents", "tokens", "scores", "version"):
                if hasattr(manifest, key):
                    row[key] = getattr(manifest, key)
            rows.append(row)
        return {"detectors": rows, "steps": list(settings.steps), "joined_by": settings.overlaps}

    def policies(self) -> dict[str, Any]:
        """The policies under which this service scrubs, each with the manners that callers may choose."""
        rows = [
            policy.load(name if name != self._own else self._config.scrub.policy).to_json()
            | {"manners": sorted(filter(None, manners))}
            for name, manners in self._by_policy.items()
            if name
        ]
        return {
            "default": self._own or None,
            "policies": rows,
            "without": sorted(filter(None, self._by_policy.get("", ()))),
        }

    def pipeline(self, asked: Asked) -> Pipeline:
        """The pipeline of what a caller asks for."""
        name = self._own if asked.policy is None else asked.policy
        if name not in self._by_policy or asked.policy == "":
            there_are = ", ".join(sorted(filter(None, self._by_policy)))
            raise Refused(422, f"no such policy; there are: {there_are}{self._keyless}")
        manners = self._by_policy[name]
        if asked.manner is not None and (asked.manner not in manners or not asked.manner):
            there_are = ", ".join(sorted(filter(None, manners)))
            raise Refused(422, f"no such replacement; there are: {there_are}{self._keyless}")
        return manners[asked.manner or ""]

    @property
    def _keyless(self) -> str:
        return "" if self._config.scrub.key_file else "; this service has no key to draw surrogates from"

    def scrub(self, data: bytes, *, read_as: str, write_as: str, asked: Asked) -> Done:
        """The body of a request without the identifiers that were found, all of it or an error."""
        pipeline = self.pipeline(asked)
        documents = _documents(data, read_as)
        done = _all_done(*attempt_all(pipeline.scrub, documents))
        return _written(done, write_as)

    def detect(self, data: bytes, *, read_as: str, write_as: str) -> Done:
        """The body's documents with what was found, in a format that holds spans."""
        done = _all_done(*attempt_all(self._pipeline.detect, _documents(data, read_as)))
        return _written(done, write_as)

    def one(self, data: bytes, *, read_as: str, asked: Asked, scrub: bool) -> Done:
        """One document as JSON: {"id", "spans"} of what was found, or the scrubbed document with its text."""
        work = self.pipeline(asked).scrub if scrub else self._pipeline.detect
        documents = (_object(data),) if read_as == "jsonl" else _documents(data, read_as)
        done = _all_done(*attempt_all(work, documents))
        rows = [jsonl.to_object(doc, text=scrub) for doc in done]
        value = rows[0] if len(rows) == 1 else {"documents": rows}
        return _counted(done, encode(value), "application/json")

    def lines(
        self, rows: Sequence[tuple[int, bytes | None]], *, asked: Asked, scrub: bool
    ) -> tuple[bytes, list[Done], int]:
        """JSON lines, each its object or an error with its number: one that fails does not stop the others.

        None stands for a line that was too long to be kept.
        """
        done: list[Done] = []
        answers: list[bytes] = []
        for number, row in rows:
            try:
                if row is None:
                    raise Refused(413, "the line is longer than this service reads")
                worked = self.one(row, read_as="jsonl", asked=asked, scrub=scrub)
            except Refused as error:
                answers.append(encode({"line": number, "error": str(error)}))
            else:
                done.append(worked)
                answers.append(worked.body)
        return b"".join(answers), done, len(rows) - len(done)


def said(error: Exception) -> Refused:
    """What may be told of an error: only the messages that are known to carry no text."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, UnknownNameError):
        return Refused(422, error.unnamed)
    if isinstance(error, MissingPackageError):
        return Refused(501, str(error))
    if isinstance(error, FormatError | SpanError | ProcessingError):
        return Refused(422, str(error))
    return Refused(500, f"the request could not be processed ({type(error).__name__})")


@contextmanager
def _telling() -> Generator[None]:
    try:
        yield
    except Exception as error:  # noqa: BLE001 (whatever it says may quote the text)
        raise said(error) from None


def format_of(name: str) -> str:
    """A format that fits in one body."""
    try:
        form = formats.load(name)
    except UnknownNameError as error:
        raise Refused(415, error.unnamed) from None
    if len(form.SUFFIXES) > 1:
        raise Refused(415, "a record of this format is several files, and a request has one body")
    return name


def encode(value: object) -> bytes:
    """One line of JSON."""
    return (json.dumps(value, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def _object(data: bytes) -> Document:
    with _telling():
        return jsonl.document({"id": NAME} | jsonl.parse_object(formats.decode(data)))


def _documents(data: bytes, read_as: str) -> tuple[Document, ...]:
    form = formats.load(read_as)
    with _telling():
        return form.read({form.SUFFIXES[0]: data}, name=NAME).documents


def _all_done(done: tuple[Document, ...], failures: tuple[Failure, ...]) -> tuple[Document, ...]:
    if failures:
        raise Refused(422, failures[0].reason)
    return done


def _written(done: tuple[Document, ...], write_as: str) -> Done:
    form = formats.load(write_as)
    try:
        formats.check_target(write_as)
    except UsageError as error:
        raise Refused(415, str(error)) from None
    with _telling():
        files = form.write(Record(done))
    (suffix, body), *others = files.items()
    if others:
        raise Refused(415, "the result is several files, and an answer has one body; choose another format")
    media = _MEDIA_BY_FORMAT.get(write_as) or _MEDIA_BY_SUFFIX.get(suffix, "application/octet-stream")
    return _counted(done, body, media)


def _counted(done: tuple[Document, ...], body: bytes, media: str) -> Done:
    labels = tuple(span.label for doc in done for span in doc.spans)
    return Done(body, media, len(done), sum(len(doc.text) for doc in done), labels)
