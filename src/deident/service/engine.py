"""Bytes of a format in, bytes of a format out: what the routes ask for, without HTTP.

Everything that fails becomes a `Refused`, whose sentence names kinds, lines and offsets, and nothing that was sent.
"""

import json
import secrets
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import BytesIO
from types import MappingProxyType
from typing import Any, cast

from deident import formats, policy
from deident.config import Config
from deident.document import Document, Failure, Record, Skeleton
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
from deident.replace import SURROGATES

# What a body is by its media type; `?format=` says it otherwise.
FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "text/plain": "text",
        "application/json": "jsonl",
        "application/x-ndjson": "jsonl",
        "application/jsonl": "jsonl",
        "application/fhir+json": "fhir",
        "application/cda+xml": "cda",
        "application/hl7-v2": "hl7",
        "x-application/hl7-v2+er7": "hl7",
    }
)
_MEDIA_BY_FORMAT = {
    "text": "text/plain; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "fhir": "application/fhir+json",
    "hl7": "x-application/hl7-v2+er7",
    "cda": "application/cda+xml",
}
_MEDIA_BY_SUFFIX = {".json": "application/json", ".xml": "application/xml", ".xmi": "application/xml"}
# What DARTS calls policies.
POLICY_CODES: Mapping[str, str] = MappingProxyType(
    {
        "HHS_SAFE_HARBOR_DETERMINISTIC_METHOD": "safe-harbor",
        "HHS_EXPERT_DETERMINATION_METHOD": "expert-determination",
    }
)
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

    def __init__(self, config: Config, *, run_key: bytes | None = None) -> None:
        """run_key: of what is drawn anew in each run (codes of structured records); all workers share it."""
        scrub = config.scrub
        chosen = scrub.replace or scrub.policy or policy.Action.TAG
        if chosen == policy.Action.RANDOM:
            raise UsageError(
                "random stand-ins are drawn anew for every run, and the workers of a service would disagree"
            )
        if chosen in (*SURROGATES, policy.Action.NUMBER) and not scrub.key_file:
            raise UsageError("a service that draws surrogates needs a key, or its workers disagree: deident key new")
        self._config = config
        self._formats = _formats(config.service.formats)
        run_key = run_key if run_key is not None else secrets.token_bytes(32)
        self._pipeline = Pipeline.from_config(config, run_key=run_key)
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
            self._by_policy[name] = {
                manner: self._pipeline.under(replace(config, scrub=chosen), run_key=run_key)
                for manner, chosen in {**policy.offered(settings), "": plain}.items()
            }

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

    def format(self, name: str, *, target: bool = False) -> str:
        """A format by its name, as this service has it set, that fits in one body. A caller's word is no more than a
        name: what stands behind a colon is a file of the server."""
        known = sorted(self._formats)
        canonical = name.lower().replace("_", "-")
        if canonical not in self._formats:
            raise Refused(415, f"no such format; there are: {', '.join(known)}")
        if len(formats.load(canonical).SUFFIXES) > 1:
            raise Refused(415, "a record of this format is several files, and a request has one body")
        if target:
            try:
                formats.check_target(canonical)
            except UsageError as error:
                raise Refused(415, str(error)) from None
        return canonical

    def _load(self, name: str) -> formats.Format:
        return formats.load(self._formats[name])

    def scrub(self, data: bytes, *, read_as: str, write_as: str, asked: Asked) -> Done:
        """The body of a request without the identifiers that were found, all of it or an error."""
        pipeline = self.pipeline(asked)
        return self._worked(data, pipeline.rewrite, pipeline.shown, read_as=read_as, write_as=write_as)

    def de_identify(self, data: bytes, asked: Asked) -> Done:
        """FHIR's operation (HL7 DARTS), of a resource, or of Parameters that hold it and a policy; answered in kind."""
        try:
            given: Any = json.loads(data)
        except (ValueError, RecursionError):
            raise Refused(422, "the body is not JSON") from None
        if not isinstance(given, dict) or cast(dict[str, Any], given).get("resourceType") != "Parameters":
            return self.scrub(data, read_as="fhir", write_as="fhir", asked=asked)
        parts = cast(dict[str, Any], given).get("parameter")
        named: dict[str, dict[str, Any]] = {}
        for part in cast(list[Any], parts) if isinstance(parts, list) else []:
            name = cast(dict[str, Any], part).get("name") if isinstance(part, dict) else None
            if name not in ("policy", "identifiableData") or name in named:
                raise Refused(422, "the parameters are one policy and one identifiableData; files by URL are not read")
            named[name] = part
        chosen = named.get("policy", {})
        policy_name = chosen.get("valueString", chosen.get("valueCode"))
        resource = named.get("identifiableData", {}).get("resource")
        if not isinstance(policy_name, str) or not isinstance(resource, dict):
            raise Refused(422, "the parameters must hold policy (a string) and identifiableData (a resource)")
        asked = Asked(POLICY_CODES.get(policy_name, policy_name), asked.manner)
        done = self.scrub(json.dumps(resource).encode(), read_as="fhir", write_as="fhir", asked=asked)
        answer = {"name": "de-identifiedData", "resource": json.loads(done.body)}
        body = json.dumps({"resourceType": "Parameters", "parameter": [answer]}, ensure_ascii=False).encode()
        return replace(done, body=body)

    def detect(self, data: bytes, *, read_as: str, write_as: str) -> Done:
        """The body's documents with what was found, in a format that holds spans."""
        return self._worked(data, self._pipeline.detect, lambda doc: doc, read_as=read_as, write_as=write_as)

    def _worked(
        self,
        data: bytes,
        work: Callable[[Document], Document],
        shown: Callable[[Document], Document],
        *,
        read_as: str,
        write_as: str,
    ) -> Done:
        records: list[Record] = []
        done: list[Document] = []
        for record in self._records(data, read_as):
            worked = _all_done(*attempt_all(work, record.documents))
            done += worked
            structured = isinstance(record.frame, Skeleton)
            if structured and write_as != read_as:
                raise Refused(415, "a structured record can be written in its own format only")
            # other frames may hold pieces of the input that no detector has seen
            records.append(Record(tuple(map(shown, worked)), record.frame if structured else None))
        if write_as != read_as:
            records = [Record(tuple(doc for record in records for doc in record.documents))]
        bodies: list[bytes] = []
        suffix = ""
        for record in records:
            with _telling():
                (suffix, body), *others = self._load(write_as).write(record).items()
            if others:
                raise Refused(415, "the result is several files, and an answer has one body; choose another format")
            bodies.append(body)
        media = _MEDIA_BY_FORMAT.get(write_as) or _MEDIA_BY_SUFFIX.get(suffix, "application/octet-stream")
        return _counted(done, b"".join(bodies), media)

    def _records(self, data: bytes, read_as: str) -> list[Record]:
        """The records of a body: of a format that holds many one after the other, each by itself."""
        form = self._load(read_as)
        main = form.SUFFIXES[0]
        pieces: formats.Pieces | None = getattr(form, "pieces", None)
        with _telling():
            if pieces is None:
                return [form.read({main: data}, name=NAME)]
            if not data:
                raise FormatError("the file is empty")
            return [form.read({main: piece}, name=f"{NAME}:{line}") for line, piece in pieces(BytesIO(data))]

    def one(self, data: bytes, *, read_as: str, asked: Asked, scrub: bool) -> Done:
        """One document as JSON: {"id", "spans"} of what was found, or the scrubbed document with its text."""
        pipeline = self.pipeline(asked)
        if read_as == "jsonl":
            documents = [_object(data)]
        else:
            documents = [doc for record in self._records(data, read_as) for doc in record.documents]
        done = _all_done(*attempt_all(pipeline.rewrite if scrub else self._pipeline.detect, documents))
        rows = [jsonl.to_object(pipeline.shown(doc) if scrub else doc, text=scrub) for doc in done]
        for row, doc in zip(rows, documents, strict=True):
            if doc.place is not None:
                row["path"] = doc.place.path
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


def _formats(own: tuple[str, ...]) -> dict[str, str]:
    """The formats there are, each as it is set: `hl7` may be `hl7:site.toml`."""
    known = {name: name for name in formats.names()}
    for given in own:
        formats.load(given)
        known[given.partition(":")[0].lower().replace("_", "-")] = given
    return known


def encode(value: object) -> bytes:
    """One line of JSON."""
    return (json.dumps(value, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def _object(data: bytes) -> Document:
    with _telling():
        return jsonl.document({"id": NAME} | jsonl.parse_object(formats.decode(data)))


def _all_done(done: tuple[Document, ...], failures: tuple[Failure, ...]) -> tuple[Document, ...]:
    if failures:
        raise Refused(422, failures[0].reason)
    return done


def _counted(done: Sequence[Document], body: bytes, media: str) -> Done:
    labels = tuple(span.label for doc in done for span in doc.spans)
    return Done(body, media, len(done), sum(len(doc.text) for doc in done), labels)
