"""CoNLL columns: a token a line with its tag, a blank line between sentences, many documents a file.

    # global.columns = TOKEN START END TAG
    # id = "n1"
    # text = "Seen by Dr. Okoro."
    Seen<TAB>0<TAB>4<TAB>O
    by<TAB>5<TAB>7<TAB>O
    Dr<TAB>8<TAB>10<TAB>O
    .<TAB>10<TAB>11<TAB>O
    Okoro<TAB>12<TAB>17<TAB>B-DOCTOR
    .<TAB>17<TAB>18<TAB>O

That is what is written: the text and the id are JSON strings, the offsets count code points, the tags are BIO; the
token column repeats the text for the reader, its blanks as `_`. Tokens are cut at the borders of spans, so no span is
narrowed. Spans that overlap cannot be written.

Files without that first line are other people's: the first column is the token and the last the tag, in IOB1, IOB2,
BIOES or BILOU, between tabs or blanks; `-DOCSTART-`, `# id = …` or `# newdoc id = …` begins a document. Their text is
made by joining tokens with a blank and sentences with a line feed, so offsets are those of that text.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from deident.document import Document, Record, Span, first_overlap, gaps
from deident.errors import FormatError, SpanError
from deident.formats import Files, _shared, decode, encode
from deident.labels import Label

SUFFIXES = (".conll",)
MANY = True
COLUMNS = "# global.columns = TOKEN START END TAG"
_TOKEN = re.compile(r"\w+|[^\w\s]")
_ID = re.compile(r"#\s*(?:newdoc\s+)?id\s*=\s*(.*)")
_TAG = re.compile(r"O|([BIESLU])-(\S+)")


def sniff(suffix: str, _head: bytes) -> bool:
    return suffix in {".conll", ".bio", ".iob", ".iob2", ".bioes"}


@dataclass(slots=True)
class _Open:
    """The spans of a document while its lines are read; `label` is that of the chunk still open."""

    spans: list[tuple[int, int, Label]] = field(default_factory=list[tuple[int, int, Label]])
    label: Label | None = None

    def add(self, start: int, end: int, tag: str, line: int) -> None:
        """Add a token. A chunk begins at B, S or U, and at any tag that does not go on with the label before it."""
        match = _TAG.fullmatch(tag)
        if match is None:
            raise FormatError("the last column is no tag: O, or a letter of BIOES and a label", line=line)
        if match[1] is None:
            self.label = None
            return
        label = _shared.label_of(match[2], line=line)
        if match[1] in "BSU" or label is not self.label:
            self.spans.append((start, end, label))
        else:
            self.spans[-1] = (self.spans[-1][0], end, label)
        self.label = None if match[1] in "ESLU" else label


def read(files: Files, *, name: str) -> Record:
    lines = [line.removesuffix("\r") for line in decode(files[".conll"]).split("\n")]
    documents = list(_ours(lines) if lines[0] == COLUMNS else _foreign(lines, name))
    if not documents:
        raise FormatError("there is no token in the file")
    return _shared.keep(__name__, files, documents)


def _ours(lines: list[str]) -> Iterator[Document]:
    heads = [number for number, line in enumerate(lines) if line.startswith("# id = ")]
    if not heads or any(lines[1 : heads[0]]):
        raise FormatError("'# id = ' is missing", line=2)
    for head, following in zip(heads, [*heads[1:], len(lines)], strict=True):
        name = _string(lines, head, "# id = ")
        text = _string(lines, head + 1, "# text = ")
        chunks = _Open()
        for number in range(head + 2, following):
            if lines[number]:
                _our_row(lines[number], text, chunks, number + 1)
            else:
                chunks.label = None
        yield Document(name, text, tuple(Span(*chunk) for chunk in chunks.spans))


def _string(lines: list[str], number: int, prefix: str) -> str:
    line = lines[number] if number < len(lines) else ""
    if not line.startswith(prefix):
        raise FormatError(f"'{prefix}' is missing", line=number + 1)
    try:
        return _shared.text_in(_shared.parse_json(line.removeprefix(prefix)), "the header")
    except FormatError as error:
        raise FormatError(error.reason, line=number + 1) from None


def _our_row(line: str, text: str, chunks: _Open, number: int) -> None:
    fields = line.split("\t")
    if len(fields) != 4 or not all(re.fullmatch(r"\d{1,18}", place) for place in fields[1:3]):
        raise FormatError("not a token, a start, an end and a tag", line=number)
    start, end = int(fields[1]), int(fields[2])
    _shared.span_of(start, end, Label.OTHER, len(text), line=number)
    if fields[0] != _shown(text[start:end]):
        raise _shared.disagrees(start, end, line=number)
    chunks.add(start, end, fields[3], number)


@dataclass(slots=True)
class _Joined(_Open):
    """A document of somebody else's, whose text is joined while it is read."""

    id: str | None = None
    parts: list[str] = field(default_factory=list[str])
    size: int = 0
    between: str = ""

    def token(self, token: str, tag: str, line: int) -> None:
        start = self.size + len(self.between)
        self.add(start, start + len(token), tag, line)
        self.parts += [self.between, token]
        self.size = start + len(token)
        self.between = " "

    def sentence(self) -> None:
        self.label = None
        self.between = "\n" if self.parts else ""


def _foreign(lines: list[str], name: str) -> Iterator[Document]:
    found: list[_Joined] = [_Joined()]
    for number, line in enumerate(lines, 1):
        fields = line.split("\t") if "\t" in line else line.split()
        if not line.strip():
            found[-1].sentence()
        elif fields[0] == "-DOCSTART-":
            found.append(_Joined())
        elif (named := _ID.fullmatch(line)) is not None:
            if found[-1].parts or found[-1].id is not None:
                found.append(_Joined())
            found[-1].id = named[1].strip() or None
        elif line.startswith("# ") and not _TAG.fullmatch(fields[-1]):
            continue  # a comment; "# O" is a token
        elif len(fields) < 2 or not fields[0]:
            raise FormatError("a line needs a token and a tag", line=number)
        else:
            found[-1].token(fields[0], fields[-1].strip(), number)
    full = [joined for joined in found if joined.parts]
    for place, joined in enumerate(full, 1):
        default = name if len(full) == 1 else f"{name}:{place}"
        yield Document(joined.id or default, "".join(joined.parts), tuple(Span(*chunk) for chunk in joined.spans))


def write(record: Record) -> dict[str, bytes]:
    original = _shared.untouched(record, __name__)
    if original is not None:
        return original
    blocks = "\n".join(_block(doc) for doc in record.documents)
    return {".conll": encode(f"{COLUMNS}\n{blocks}")}


def _block(doc: Document) -> str:
    overlap = first_overlap(doc.spans)
    if overlap is not None:
        raise SpanError(f"spans at {overlap[0].start} and {overlap[1].start} overlap; CoNLL columns cannot hold both")
    rows = [f"# id = {json.dumps(doc.id, ensure_ascii=False)}", f"# text = {json.dumps(doc.text, ensure_ascii=False)}"]
    position = 0
    for start, end, tag in sorted(_tokens(doc)):
        if "\n" in doc.text[position:start] and not tag.startswith("I-") and position:
            rows.append("")
        rows.append(f"{_shown(doc.text[start:end])}\t{start}\t{end}\t{tag}")
        position = end
    return "".join(f"{row}\n" for row in rows)


def _tokens(doc: Document) -> Iterator[tuple[int, int, str]]:
    """The tokens between the spans, and those of each span, stretched to its borders."""
    for start, end in gaps(doc.spans, len(doc.text)):
        for match in _TOKEN.finditer(doc.text, start, end):
            yield match.start(), match.end(), "O"
    for span in doc.spans:
        starts = [match.start() for match in _TOKEN.finditer(doc.text, span.start, span.end)] or [span.start]
        ends = [match.end() for match in _TOKEN.finditer(doc.text, span.start, span.end)] or [span.end]
        starts[0], ends[-1] = span.start, span.end
        for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
            yield start, end, f"{'I' if place else 'B'}-{span.label}"


def _shown(token: str) -> str:
    return re.sub(r"\s", "_", token)
