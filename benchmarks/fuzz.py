"""A million damaged inputs: readers, writers and the path from end to end either do their work or say what is wrong.

python -m benchmarks.fuzz [--inputs 1000000] [--formats hl7,fhir] [--record]

A small valid file of each format is damaged in one to six places (bytes turned, cut, doubled, moved, or replaced by
what parsers stumble over), is read, and where it could be read is written again; one in so many goes through the rules
and is scrubbed as well. A fault is an error that is none of deident's own, one whose message holds text of the input,
a log line that does, or more than the seconds that one input may take.
"""

import argparse
import logging
import platform
import re
import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from random import Random
from types import FrameType

from tests.officefiles import OFFICE

from benchmarks import RESULTS
from deident import formats
from deident.config import Config, Detect
from deident.document import Document, Record, Span
from deident.errors import DeidentError
from deident.labels import Label
from deident.pipeline import Pipeline, attempt

SECONDS = 5.0  # of processor time that one input may take
SCRUBBED = 200  # one in so many that could be read goes through the path
WORDS = ("Zebulonius", "Quaxvantor", "884719635")
TEXT = f"Seen by Dr. {WORDS[0]} {WORDS[1]} on 3/4/2021.\nMRN {WORDS[2]}, José, 😀.\n"
NAME = "input"

HL7 = (
    f"MSH|^~\\&|LAB|SITE|EHR|SITE|202103041011||ORU^R01|{WORDS[2]}|P|2.5\r"
    f"PID|1||{WORDS[2]}^^^SITE^MR||{WORDS[0]}^{WORDS[1]}||19500304|F|||1 Elm St^^Utica^NY^13501||3035550182\r"
    f"OBX|1|TX|11506-3^Note||Seen by Dr. {WORDS[0]}\\.br\\on 3/4/2021 \\T\\ later||||||F\r"
)
FHIR = (
    f'{{"resourceType":"Patient","id":"p1","identifier":[{{"system":"urn:x","value":"{WORDS[2]}"}}],"name":[{{"family":'
    f'"{WORDS[0]}","given":["{WORDS[1]}"]}}],"birthDate":"1950-03-04","address":[{{"city":"Utica"}}],"text":{{"status":'
    f'"generated","div":"<div xmlns=\\"http://www.w3.org/1999/xhtml\\">Seen by Dr. {WORDS[0]}</div>"}}}}\n'
)
CDA = (
    f'<ClinicalDocument xmlns="urn:hl7-org:v3"><id root="2.16.840.1.113883.19" extension="{WORDS[2]}"/><recordTarget>'
    f"<patientRole><patient><name>{WORDS[0]}</name></patient></patientRole></recordTarget><component><structuredBody>"
    f"<component><section><text>Seen by Dr. {WORDS[1]}</text></section></component></structuredBody></component>"
    "</ClinicalDocument>"
)
RTF = f"{{\\rtf1\\ansi\\ansicpg1252 {{\\b Seen}} by Dr. {WORDS[0]} {WORDS[1]}, Jos\\'e9 \\u8364?.\\par MRN}}"


def seeds(name: str) -> dict[str, bytes]:
    """A small valid file of the format, by its suffixes."""
    made: Mapping[str, Callable[[], bytes]] = {
        "hl7": HL7.encode,
        "fhir": FHIR.encode,
        "cda": CDA.encode,
        "rtf": RTF.encode,
        **{suffix: partial(write, TEXT) for suffix, write in OFFICE.items() if suffix != "rtf"},
    }
    form = formats.load(name)
    if name in made:
        return {form.SUFFIXES[0]: made[name]()}
    first = TEXT.index(WORDS[0])
    spans = (Span(first, first + len(WORDS[0]), Label.DOCTOR), Span(TEXT.index("3/"), TEXT.index("3/") + 8, Label.DATE))
    text = TEXT.replace("[", "")
    return form.write(Record((Document("note", text, spans if name != "text" else ()),)))


# --- damage -----------------------------------------------------------------------------------------------------------

STUMBLES = (
    b"", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800", b"\xf0\x9f\x98\x80", b"\r", b"\n",
    b"\r\n", b"\t", b"<", b">", b"</", b"/>", b"&", b"&#0;", b"&#x110000;", b"&lt;", b"&x;",
    b"<!DOCTYPE x [<!ENTITY x 'y'>]>", b"<![CDATA[", b"]]>", b"{", b"}", b"[", b"]", b"[" * 3000,
    b'{"a":' * 2000, b"{" * 3000, b"<a>" * 2000, b'"', b"'", b"\\", b",", b":", b"null", b"true", b"NaN",
    b"1e999", b"-1", b"0", b"99999999999999999999", b"1.5", b"[]", b"{}", b'""', b"|", b"^", b"~", b"||||||||",
    b"[[DATE:", b"]]", b"\\bin9999999 ", b"\\u-1?", b"\\'", b"\\.br\\", b"\\X", b"T1\tDATE 5 3\tx",
    b"xml:space",
)  # fmt: skip
NUMBER = re.compile(rb"\d+")


def damaged(data: bytes, random: Random) -> bytes:
    """A copy with one to six things wrong."""
    out = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        size = len(out)
        at = random.randrange(size + 1)
        till = min(size, at + random.choice((1, 1, 2, 4, 16, 64)))
        match random.randrange(8):
            case 0:
                out[at:till] = bytes(random.randrange(256) for _ in range(till - at))
            case 1:
                del out[at:till]
            case 2:
                out[at:at] = out[at:till] * random.choice((1, 1, 2, 40))
            case 3 | 4:
                out[at:at] = random.choice(STUMBLES)
            case 5:
                out[at:till] = random.choice(STUMBLES)
            case 6:
                numbers = list(NUMBER.finditer(out))
                if numbers:
                    match = random.choice(numbers)
                    out[match.start() : match.end()] = str(
                        random.choice((0, 1, -1, 7, 10**6, 2**31, 2**63, 10**30))
                    ).encode()
            case _:
                piece = out[at:till]
                del out[at:till]
                to = random.randrange(len(out) + 1)
                out[to:to] = piece
    return bytes(out)


# --- trying -----------------------------------------------------------------------------------------------------------


class TooLong(BaseException):
    """One input took more than its time; no handler of errors catches it."""


@contextmanager
def limited(seconds: float) -> Generator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TooLong

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


class Heard(logging.Handler):
    """Every log line, since the last time that somebody asked."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


# digits are left out: those of the number may become an offset, which messages tell
PARTS = tuple(word[at : at + 5] for word in WORDS if word.isalpha() for at in range(len(word) - 4))


def tells(message: str) -> bool:
    """Whether a message holds text of the input."""
    return any(part in message for part in PARTS)


@dataclass(slots=True)
class Tally:
    """What became of the inputs of one format."""

    inputs: int = 0
    read: int = 0
    scrubbed: int = 0
    refused: int = 0
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter[str])


@dataclass(slots=True)
class Bench:
    """What inputs are tried with."""

    pipeline: Pipeline
    heard: Heard
    keep: Callable[[str, str, Mapping[str, bytes]], None]

    def tried(self, name: str, files: Mapping[str, bytes], tally: Tally) -> None:
        form = formats.load(name)
        tally.inputs += 1
        fault = ""
        try:
            with limited(SECONDS):
                record = form.read(files, name=NAME)
                tally.read += 1
                self._used(form, record, tally)
        except DeidentError as error:
            tally.refused += 1
            fault = "text in a message" if tells(f"{error!r} {error}") else ""
        except TooLong:
            fault = "too long"
        except Exception as error:  # noqa: BLE001 (whatever it is, it is the fault that is looked for)
            fault = f"{type(error).__name__}"
        if any(map(tells, self.heard.lines)):
            fault = "text in a log"
        self.heard.lines.clear()
        if fault:
            tally.faults[fault] += 1
            self.keep(name, fault, files)

    def _used(self, form: formats.Format, record: Record, tally: Tally) -> None:
        if tally.read % SCRUBBED == 0:
            done = [attempt(self.pipeline.scrub, doc) for doc in record.documents]
            tally.scrubbed += 1
            for each in done:
                if not isinstance(each, Document) and tells(each.reason):
                    raise AssertionError("text in a failure")
            record = record.with_documents(each for each in done if isinstance(each, Document))
            if len(record.documents) < len(done):
                return
        if hasattr(form, "write"):
            form.write(record)


def fuzzed(name: str, count: int, seed: int, bench: Bench) -> Tally:
    tally = Tally()
    whole = seeds(name)
    begin = time.process_time()
    bench.tried(name, whole, tally)
    if tally.read != 1 or tally.faults:
        raise SystemExit(f"the undamaged file of {name} could not be read: {dict(tally.faults)}")
    random = Random(f"{seed} {name}")
    for _ in range(count - 1):
        files = {suffix: damaged(data, random) for suffix, data in whole.items()}
        bench.tried(name, files, tally)
    tally.seconds = time.process_time() - begin
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz")
    parser.add_argument("--inputs", type=int, default=1_000_000, help="of all formats together")
    parser.add_argument("--formats", help="names, with commas; all if left out")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--keep", type=Path, help="a folder for the inputs that showed a fault")
    parser.add_argument("--record", action="store_true", help="write docs/results/fuzz.md")
    given = parser.parse_args()
    names = given.formats.split(",") if given.formats else formats.names()
    warnings.simplefilter("ignore")
    heard = Heard()
    logging.getLogger().addHandler(heard)
    logging.getLogger().setLevel(logging.DEBUG)
    kept: Counter[str] = Counter()

    def keep(name: str, fault: str, files: Mapping[str, bytes]) -> None:
        kept[f"{name} {fault}"] += 1
        if given.keep is not None and kept[f"{name} {fault}"] <= 3:
            given.keep.mkdir(parents=True, exist_ok=True)
            for suffix, data in files.items():
                (given.keep / f"{name}-{fault.replace(' ', '-')}-{kept[f'{name} {fault}']}{suffix}").write_bytes(data)

    pipeline = Pipeline.from_config(Config(detect=Detect(detectors=("patterns", "nlm"))))
    bench = Bench(pipeline, heard, keep)
    slow = {name: 10 if name in ("pdf", "docx", "xmi", "cas-json") else 1 for name in names}  # fewer of what takes long
    parts = {name: 10 // slow[name] for name in names}
    lines = [f"{'':14} {'inputs':>9} {'read':>9} {'refused':>9} {'scrubbed':>9} {'µs each':>8}  faults"]
    print(lines[0])
    total: Counter[str] = Counter()
    for name in names:
        count = -(-given.inputs * parts[name] // sum(parts.values()))
        tally = fuzzed(name, count, given.seed, bench)
        faults = ", ".join(f"{fault} {number}" for fault, number in tally.faults.most_common()) or "none"
        each = 1e6 * tally.seconds / tally.inputs
        lines.append(
            f"{name:14} {tally.inputs:9,} {tally.read:9,} {tally.refused:9,} {tally.scrubbed:9,} {each:8,.0f}  {faults}"
        )
        print(lines[-1], flush=True)
        total.update(inputs=tally.inputs, read=tally.read, refused=tally.refused, scrubbed=tally.scrubbed)
        total.update(faults=sum(tally.faults.values()))
    lines.append(
        f"{'all':14} {total['inputs']:9,} {total['read']:9,} {total['refused']:9,} {total['scrubbed']:9,} {'':8}  "
        f"{total['faults'] or 'none'}"
    )
    print(lines[-1])
    if given.record:
        facts = (
            f"{date.today()}, Python {platform.python_version()}, one core; {SECONDS:g} s of processor time an input"
        )
        text = "\n".join(lines)
        page = f"# fuzz: `python -m benchmarks.fuzz --inputs {given.inputs} --record`\n\n{facts}\n\n```\n{text}\n```\n"
        (RESULTS / "fuzz.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
