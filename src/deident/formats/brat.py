"""brat standoff: `.ann` beside `.txt`.

    T1<TAB>PATIENT 12 21<TAB>Ada Okoro
    T2<TAB>DATE 30 35;40 44<TAB>March 2071

Offsets count code points of the `.txt` as it is, carriage returns included. Each fragment of a discontinuous span is
a span of its own. A line end or tab inside a span is quoted as a blank. The trigger of an event is a span only if its
type is one of our labels. Relations, events, attributes, notes and the original lines stay, byte for byte, while the
document is as it was read; a fresh `.ann` has T lines only.
"""

import re
from dataclasses import dataclass

from deident.document import Document, Record, Span
from deident.errors import FormatError
from deident.formats import Files, _shared, decode, encode

SUFFIXES = (".ann", ".txt")
_TEXTBOUND = re.compile(r"(T\S+)\t(\S+) (\d{1,18} \d{1,18}(?:;\d{1,18} \d{1,18})*)\t(.*)", re.DOTALL)
_RELATION = re.compile(r"(R\S+)\t(\S+) [^\s:]+:(\S+) [^\s:]+:(\S+)\s*")
_EVENT = re.compile(r"(E\S+)\t([^\s:]+):(\S+)((?: [^\s:]+:\S+)*)\s*")
_ATTRIBUTE = re.compile(r"([AM]\S+)\t(\S+) (\S+)(?: (\S.*?))?\s*")
_KEPT = re.compile(r"\*\t\S+ .+|N\S+\t.+|#\S*\t.*")  # equivalences, normalisations and notes
_BLANKS = re.compile("[\t\n\r]")


@dataclass(frozen=True, slots=True)
class Textbound:
    id: str
    type: str
    fragments: tuple[tuple[int, int], ...]
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Annotations:
    """The lines of an `.ann` by their kinds, in order; the numbers, from 1, of the lines that are none of them."""

    textbounds: tuple[Textbound, ...]
    relations: tuple[tuple[str, str, str, str], ...]
    events: tuple[tuple[str, str, str, tuple[tuple[str, str], ...]], ...]
    attributes: tuple[tuple[str, str, str, str | bool], ...]
    failed_lines: tuple[int, ...]


def sniff(suffix: str, _head: bytes) -> bool:
    return suffix == ".ann"


def parse_ann(text: str) -> Annotations:
    """The annotations of an `.ann` as they stand, whatever their types and wherever they point."""
    textbounds: list[Textbound] = []
    relations: list[tuple[str, str, str, str]] = []
    events: list[tuple[str, str, str, tuple[tuple[str, str], ...]]] = []
    attributes: list[tuple[str, str, str, str | bool]] = []
    failed: list[int] = []
    for number, ended in enumerate(text.split("\n"), 1):
        line = ended.removesuffix("\r")
        if match := _TEXTBOUND.fullmatch(line):
            pairs = [pair.split(" ") for pair in match[3].split(";")]
            fragments = tuple((int(start), int(end)) for start, end in pairs)
            textbounds.append(Textbound(match[1], match[2], fragments, match[4], number))
        elif match := _RELATION.fullmatch(line):
            relations.append((match[1], match[2], match[3], match[4]))
        elif match := _EVENT.fullmatch(line):
            arguments = [argument.split(":", 1) for argument in match[4].split()]
            events.append((match[1], match[2], match[3], tuple((role, filler) for role, filler in arguments)))
        elif match := _ATTRIBUTE.fullmatch(line):
            attributes.append((match[1], match[2], match[3], match[4] or True))
        elif line.strip() and not _KEPT.fullmatch(line):
            failed.append(number)
    return Annotations(tuple(textbounds), tuple(relations), tuple(events), tuple(attributes), tuple(failed))


def read(files: Files, *, name: str) -> Record:
    if ".txt" not in files:
        raise FormatError("the .txt beside the .ann is missing")
    text = decode(files[".txt"], keep_mark=True)  # brat counts a byte-order mark as a character
    found = parse_ann(decode(files[".ann"]) if files[".ann"] else "")
    if found.failed_lines:
        raise FormatError("not a line of brat", line=found.failed_lines[0])
    triggers = {trigger for _, _, trigger, _ in found.events}
    spans: list[Span] = []
    for bound in found.textbounds:
        spans += _spans(bound, text, trigger=bound.id in triggers)
    return _shared.keep(__name__, files, [Document(name, text, tuple(spans))])


def _spans(bound: Textbound, text: str, *, trigger: bool) -> list[Span]:
    try:
        label = _shared.label_of(bound.type, line=bound.line)
    except FormatError:
        if trigger:
            return []
        raise
    spans = [_shared.span_of(start, end, label, len(text), line=bound.line) for start, end in bound.fragments]
    if _BLANKS.sub(" ", bound.text) != _quoted(text, spans):
        raise _shared.disagrees(spans[0].start, spans[-1].end, line=bound.line)
    return spans


def _quoted(text: str, spans: list[Span]) -> str:
    return _BLANKS.sub(" ", " ".join(text[span.start : span.end] for span in spans))


def write(record: Record) -> dict[str, bytes]:
    original = _shared.untouched(record, __name__)
    if original is not None:
        return original
    doc = _shared.single(record, "brat")
    rows = (
        f"T{number}\t{span.label} {span.start} {span.end}\t{_quoted(doc.text, [span])}\n"
        for number, span in enumerate(doc.spans, 1)
    )
    return {".ann": encode("".join(rows)), ".txt": encode(doc.text)}
