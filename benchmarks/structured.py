"""Structured fixtures scrubbed: identifiers left, references, and whether the output still parses.

    python -m benchmarks.structured --fixtures DIR --record

DIR holds `hl7v2`, `fhir` and `ccda`. They are scrubbed under `safe-harbor`, and once more with surrogates. A value
counts as left if a field held it, the policy changed it, and the output (files in base64 decoded) still shows it as a
word of its own; only counts are printed. `--detectors known` asks what is left where no model helps. A fragment of CDA
whose prefixes are declared elsewhere is given them first.
"""

import argparse
import base64
import binascii
import hashlib
import json
import platform
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks import RESULTS
from deident import formats
from deident.config import Config
from deident.document import Document, Kind, Record, Skeleton
from deident.errors import FormatError
from deident.pipeline import Pipeline, attempt_all

_LEAST = 5  # letters and digits of a value that is looked for
_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")


def _shown(data: bytes) -> str:
    """What somebody reads in the output, files inside it decoded."""
    text = data.decode("utf-8", "replace")
    found = [text]
    for blob in _BASE64.findall(text):
        try:
            found.append(base64.b64decode(blob, validate=True).decode("utf-8"))
        except (binascii.Error, ValueError):
            continue
    return "\n".join(found)


def _left(old: tuple[Document, ...], new: tuple[Document, ...], text: str) -> Iterator[tuple[str, bool]]:
    """Of every value of a field that the policy changed: its label, and whether the output shows it."""
    for before, after in zip(old, new, strict=True):
        is_field = before.place is not None and before.place.kind not in (Kind.PROSE, Kind.TERM)
        if not is_field or before.text == after.text or sum(map(str.isalnum, before.text)) < _LEAST:
            continue
        pattern = rf"(?<!\w){re.escape(before.text)}(?!\w)"
        yield before.spans[0].label.value, before.text in text and re.search(pattern, text) is not None


def _hl7_parses(data: bytes) -> bool:
    from hl7apy.consts import VALIDATION_LEVEL
    from hl7apy.exceptions import HL7apyException
    from hl7apy.parser import parse_message

    text = re.sub(r"\r\n|\n", "\r", data.decode("utf-8").lstrip("\ufeff")).strip()
    try:
        parse_message(text, validation_level=VALIDATION_LEVEL.TOLERANT)
    except (HL7apyException, ValueError, AttributeError, KeyError):
        return False
    return True


def _fhir_parses(data: bytes) -> bool:
    from fhir.resources.R4B import get_fhir_model_class

    found = json.loads(data)
    try:
        get_fhir_model_class(found["resourceType"]).model_validate(found)
    except ValueError:
        return False
    return True


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "reference" and isinstance(inner, str):
                yield inner
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def _targets(data: Any) -> list[int | None]:
    """Which entries the references of a bundle lead to, in their order."""
    places: dict[str, int] = {}
    for place, entry in enumerate(data.get("entry", [])):
        resource = entry.get("resource", {})
        places[entry.get("fullUrl", "")] = place
        places[f"{resource.get('resourceType')}/{resource.get('id')}"] = place
    return [places.get(found) for found in _references(data)]


def _cda_parses(data: bytes) -> bool:
    from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]  # compiled, and without types

    try:
        etree.fromstring(data)
    except etree.XMLSyntaxError:
        return False
    return True


def _pointers(data: bytes) -> list[int | None]:
    """Which of a document's ids its pointers lead to, by their order."""
    from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]  # compiled, and without types

    elements = list(etree.fromstring(data).iter("*"))
    ids = dict.fromkeys(found for found in (element.get("ID") for element in elements) if found)
    places = {found: place for place, found in enumerate(ids)}
    return [
        places.get(value.removeprefix("#"))
        for element in elements
        for name, value in element.attrib.items()
        if name in ("IDREF", "referencedObject") or (name in ("href", "value") and value.startswith("#"))
    ]


def _declared(data: bytes) -> bytes:
    """A fragment with the namespaces of the prefixes that it uses."""
    root = re.search(rb"<(?![?!])[^>\s/]+", data)
    if root is None:
        return data
    tag = data[root.start() : data.find(b">", root.start())]
    missing = b"".join(
        b' xmlns:%b="%b"' % (prefix, uri)
        for prefix, uri in _NAMESPACES.items()
        if b"xmlns:%b=" % prefix not in tag and re.search(rb"[\s<]%b:" % prefix, data)
    )
    return data[: root.end()] + missing + data[root.end() :]


_NAMESPACES = {b"xsi": b"http://www.w3.org/2001/XMLSchema-instance", b"sdtc": b"urn:hl7-org:sdtc"}


def _as_it_is(data: bytes) -> bytes:
    return data


@dataclass(frozen=True, slots=True)
class _Form:
    """A format's fixtures, and what is asked of its output."""

    name: str
    folder: str
    suffixes: tuple[str, ...]
    parses: Callable[[bytes], bool]
    targets: Callable[[bytes], list[int | None]] | None = None  # what its references lead to
    ready: Callable[[bytes], bytes] = _as_it_is

    def files(self, fixtures: Path) -> list[Path]:
        return sorted(path for path in (fixtures / self.folder).rglob("*") if path.suffix in self.suffixes)


_FORMS = (
    _Form("hl7", "hl7v2", (".hl7",), _hl7_parses),
    _Form("fhir", "fhir", (".json",), _fhir_parses, lambda data: _targets(json.loads(data))),
    _Form("cda", "ccda", (".xml", ".ccda"), _cda_parses, _pointers, _declared),
)


_GIVEN = "given the namespaces that they use"


class _Tally:
    """What became of a format's fixtures in one manner."""

    def __init__(self) -> None:
        self.counts = Counter[str]()
        self.labels = Counter[str]()
        self.leaks = Counter[str]()

    def add(self, form: _Form, data: bytes, record: Record, done: tuple[Document, ...]) -> None:
        frame = record.frame
        assert isinstance(frame, Skeleton)
        module = formats.load(form.name)
        out = module.write(Record(done, frame))[module.SUFFIXES[0]]
        for label, left in _left(record.documents, done, _shown(out)):
            self.labels[label] += 1
            self.leaks[label] += left
        for (what, _), count in frame.paths.items():
            self.counts[what] += count
        self.counts["written"] += 1
        was, still = form.parses(data), form.parses(out)
        self.counts["parsed before"] += was
        self.counts["parsed after"] += still
        self.counts["parsed no more"] += was and not still
        if form.targets is not None:
            before, after = form.targets(data), form.targets(out)
            self.counts["references"] += sum(place is not None for place in before)
            self.counts["files whose references lead elsewhere"] += before != after

    def lines(self) -> Iterator[str]:
        yield from (f"  {name}: {count:,}" for name, count in sorted(self.counts.items()) if count or name != _GIVEN)
        changed, left = self.labels.total(), self.leaks.total()
        yield f"  values of fields that the policy changed: {changed:,}, left in the output: {left:,}"
        for label, count in sorted(self.labels.items()):
            yield f"    {label}: {count:,}, left {self.leaks[label]:,}"


def _measure(form: _Form, files: list[Path], manners: Mapping[str, Pipeline]) -> dict[str, _Tally]:
    """What is found is the same in each manner, so it is looked for once."""
    finder, *_ = manners.values()
    module = formats.load(form.name)
    tallies = {manner: _Tally() for manner in manners}
    for path in files:
        read = path.read_bytes()
        data = form.ready(read)
        try:
            record = module.read({module.SUFFIXES[0]: data}, name=path.stem)
        except FormatError:
            for tally in tallies.values():
                tally.counts["refused"] += 1
            continue
        found, failures = attempt_all(finder.detect, record.documents)
        for manner, pipeline in manners.items():
            done, failed = attempt_all(pipeline.judged, found)
            tallies[manner].counts[_GIVEN] += data != read
            if failures or failed:
                tallies[manner].counts["failed"] += 1
            else:
                tallies[manner].add(form, data, record, done)
    return tallies


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.structured")
    parser.add_argument("--fixtures", type=Path, required=True)
    parser.add_argument("--record", action="store_true", help="write docs/results/")
    parser.add_argument("--detectors", default="", help="who looks in the prose, by commas; else those of the settings")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # of hl7apy, which writes them for versions it guesses
    config = Config()
    if arguments.detectors:
        config = replace(config, detect=replace(config.detect, detectors=tuple(arguments.detectors.split(","))))
    harbor = Pipeline.from_config(replace(config, scrub=replace(config.scrub, policy="safe-harbor")))
    surrogate = harbor.under(replace(config, scrub=replace(config.scrub, replace="surrogate")), run_key=bytes(32))
    files = {form.name: form.files(arguments.fixtures) for form in _FORMS}
    hashed = hashlib.sha256()
    for path in (path for paths in files.values() for path in paths):
        hashed.update(path.read_bytes())
    manners = {"safe-harbor": harbor, "surrogates": surrogate}
    measured = {form.name: _measure(form, files[form.name], manners) for form in _FORMS}
    lines: list[str] = []
    for manner in manners:
        for name, tallies in measured.items():
            lines += [f"{name}, {manner}: {len(files[name])} files", *tallies[manner].lines()]
    text = "\n".join(lines)
    print(text)
    if arguments.record:
        heading = "# structured: `python -m benchmarks.structured --fixtures DIR --record`\n\n"
        python, corpus = platform.python_version(), hashed.hexdigest()[:16]
        looking = ", ".join(config.detect.detectors)
        facts = f"{date.today()}, Python {python}; fixtures {corpus}; in the prose look: {looking}\n\n"
        (RESULTS / "structured.md").write_text(f"{heading}{facts}```\n{text}\n```\n", encoding="utf-8")


if __name__ == "__main__":
    main()
