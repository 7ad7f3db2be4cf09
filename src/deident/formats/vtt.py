"""NLM Visual Tagging Tool: the text as it is, then the tags there are, then the spans.

    #<Text Content>
    Seen by Dr. Okoro.
    #<Tags Configuration>
    Text/Clear||false|false|false|true|255|255|255|0|51|153|Monospaced|12
    DOCTOR|NAME|true|false|false|true|255|255|255|255|0|0|Monospaced|+0
    #<MarkUps Information>
    12|5|DOCTOR|NAME||Okoro

Layout and rules are those of NLM's own reader (class VttDocument, V-2010): a header is a whole line; any line end
ends a line; the first tag is Text/Clear; a markup whose tag (name and category) is not declared is an error. A tag is
named by our label and its category is ours. The names of the NLM Scrubber paper (figures 2 and 3) are read too; its
`npii`, which says that a token is no identifier, is passed over.

Offsets count UTF-16 units. Line ends are read as, and written as, line feeds. A line end counts one unit, or two where
the texts quoted in a file with CRLF show that it was saved so. The tool cannot hold a text without a line end at its
end: a comment among the tags, which the tool passes over, says so. A text line that equals a header is refused.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from deident.document import Document, Record, Span
from deident.errors import FormatError
from deident.formats import Files, _shared, decode, encode
from deident.formats._offsets import points, units, with_line_feeds
from deident.labels import Category, Label

SUFFIXES = (".vtt",)
SEPARATOR = f"#<{'-' * 70}>"
META = "#<Meta Data>"
META_FIELDS = (
    "#<Tags file|confirmation|path of default tags file>",
    "#<File History|VTT file format version|User name|Time stamp>",
)
TEXT = "#<Text Content>"
TAGS = "#<Tags Configuration>"
TAG_FIELDS = "#<Name|Category|Bold|Italic|Underline|Display|FR|FG|FB|BR|BG|BB|FontFamily|FontSize>"
MARKUPS = "#<MarkUps Information>"
MARKUP_FIELDS = "#<Offset|Length|TagName|TagCategory|Annotation|TagText>"
HEADERS = frozenset({SEPARATOR, META, *META_FIELDS, TEXT, TAGS, TAG_FIELDS, MARKUPS, MARKUP_FIELDS})
CLEAR = "Text/Clear||false|false|false|true|255|255|255|0|51|153|Monospaced|12"
NO_LAST_NEWLINE = "#<deident: the text has no line end at its end>"

# bold|italic|underline|display, then foreground and background: the looks of figure 1, one a category
_LOOKS: Mapping[Category, str] = {
    Category.NAME: "true|false|false|true|255|255|255|255|0|0",
    Category.PROFESSION: "true|false|false|true|0|0|0|204|153|255",
    Category.LOCATION: "true|false|false|true|255|255|255|0|102|255",
    Category.AGE: "false|false|true|true|255|255|255|0|102|51",
    Category.DATE: "false|false|true|true|0|0|0|255|255|102",
    Category.CONTACT: "false|true|false|true|0|0|0|255|204|153",
    Category.ID: "false|true|false|true|0|0|0|255|192|203",
    Category.OTHER: "true|false|false|true|0|0|0|231|226|228",
}
_SCRUBBER: Mapping[str, Label] = {
    "PERSONALNAME": Label.PATIENT,
    "ALPHANUMERICID": Label.IDNUM,
    "AGE-PII": Label.AGE,
}
_NO_IDENTIFIER = "NPII"


@dataclass(frozen=True, slots=True)
class Markup:
    """One line of the last section, its offsets as they stand in the file."""

    offset: int
    length: int
    tag: str
    category: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Sections:
    text: str
    markups: tuple[Markup, ...]


def sniff(suffix: str, head: bytes) -> bool:
    return suffix == ".vtt" and not head.startswith(b"WEBVTT")  # subtitles have the same suffix


def sections(raw: str) -> Sections:
    """The text, with line feeds, and the markups of a file. A file without headers is all text, as in the tool."""
    body: list[str] = []
    tags: list[tuple[str, str]] = []
    markups: list[Markup] = []
    last_newline = True
    mode = TEXT
    lines = re.split("\r\n|\r|\n", raw)
    if lines[-1] == "":
        lines.pop()
    for number, line in enumerate(lines, 1):
        if line in HEADERS:
            mode = line if line in {META, TEXT, TAGS, MARKUPS} else mode
        elif mode == TEXT:
            body.append(f"{line}\n")
        elif line == NO_LAST_NEWLINE and mode == TAGS:
            last_newline = False
        elif mode == META or line == "" or line.startswith("#"):
            continue
        elif mode == TAGS:
            tags.append(_tag(line, first=not tags, line_number=number))
        else:
            markups.append(_markup(line, frozenset(tags), number))
    if tags and MARKUPS not in lines:  # a spoilt header would turn its markups into tags
        raise FormatError(f"tags, but no line '{MARKUPS}'")
    text = "".join(body)
    return Sections(text if last_newline else text[:-1], tuple(markups))


def _tag(line: str, *, first: bool, line_number: int) -> tuple[str, str]:
    fields = line.split("|")
    if len(fields) < 2:
        raise FormatError("not a tag: it needs a name and a category", line=line_number)
    if first and fields[0] != "Text/Clear":
        raise FormatError("the first tag must be Text/Clear", line=line_number)
    return fields[0].strip(), fields[1].strip()


def _markup(line: str, tags: frozenset[tuple[str, str]], number: int) -> Markup:
    fields = line.split("|", 5)
    offset, length = fields[0].strip(), fields[1].strip() if len(fields) > 1 else ""
    if len(fields) < 4 or not re.fullmatch(r"\d{1,18}", offset) or not re.fullmatch(r"\d{1,18}", length):
        raise FormatError("not a markup: it needs an offset, a length, a tag name and a category", line=number)
    tag, category = fields[2].strip(), fields[3].strip()
    if (tag, category) not in tags:
        raise FormatError("a markup whose tag is not declared", line=number)
    return Markup(int(offset), int(length), tag, category, fields[5] if len(fields) > 5 else "", number)


def read(files: Files, *, name: str) -> Record:
    raw = decode(files[".vtt"])
    found = sections(raw)
    at = points(found.text)
    if "\r\n" in raw and not _agree(found, at):
        wide = points(found.text, newline=2)
        at = wide if _agree(found, wide) else at
    spans: list[Span] = []
    for markup in found.markups:
        label = _label(markup)
        if label is None:
            continue
        start, end = at.get(markup.offset), at.get(markup.offset + markup.length)
        if start is None or end is None or start == end:
            what = f"{markup.offset}+{markup.length} is empty, outside the text, or inside a character"
            raise FormatError(what, line=markup.line)
        if not _quotes(markup, found.text[start:end]):
            raise _shared.disagrees(start, end, line=markup.line)
        spans.append(Span(start, end, label))
    return _shared.keep(__name__, files, [Document(name, found.text, tuple(spans))])


def _agree(found: Sections, at: Mapping[int, int]) -> bool:
    places = ((at.get(markup.offset), at.get(markup.offset + markup.length)) for markup in found.markups)
    return all(
        start is not None and end is not None and _quotes(markup, found.text[start:end])
        for markup, (start, end) in zip(found.markups, places, strict=True)
    )


def _quotes(markup: Markup, text: str) -> bool:
    """Whether the markup's own text is this one; it may be left out, and its blanks may be changed."""
    return markup.text.strip() == "" or markup.text.split() == text.split()


def _label(markup: Markup) -> Label | None:
    name = markup.tag.upper()
    if name == _NO_IDENTIFIER:
        return None
    if name in _SCRUBBER:
        return Label.DOCTOR if markup.category.upper() == "PROVIDER" else _SCRUBBER[name]
    return _shared.label_of(markup.tag, line=markup.line)


def write(record: Record) -> dict[str, bytes]:
    original = _shared.untouched(record, __name__)
    if original is not None:
        return original
    doc = with_line_feeds(_shared.single(record, "VTT"))
    lines = doc.text.split("\n")
    for number, line in enumerate(lines, 1):
        if line in HEADERS:
            raise FormatError(f"line {number} of the text is a header of VTT, which cannot hold it")
    unended = lines[-1] != ""
    before = [*_section(META, *META_FIELDS), *_section(TEXT)]
    tags = [f"{label}|{label.category}|{_LOOKS[label.category]}|Monospaced|+0" for label in Label]
    after = [*_section(TAGS, TAG_FIELDS), *([NO_LAST_NEWLINE] if unended else []), CLEAR, *tags]
    after += [*_section(MARKUPS, MARKUP_FIELDS), *_rows(doc)]
    body = doc.text + ("\n" if unended else "")
    return {".vtt": encode("\n".join(before) + "\n" + body + "\n".join(after) + "\n")}


def _section(*heads: str) -> tuple[str, ...]:
    return (SEPARATOR, *heads, SEPARATOR)


def _rows(doc: Document) -> list[str]:
    at = units(doc.text)
    return [
        f"{at[span.start]}|{at[span.end] - at[span.start]}|{span.label}|{span.label.category}||"
        + doc.text[span.start : span.end].replace("\n", " ")
        for span in doc.spans
    ]
