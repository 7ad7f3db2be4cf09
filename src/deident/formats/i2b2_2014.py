"""i2b2-2014 and N-GRID 2016 XML: the text in CDATA, the spans as elements after it.

    <deIdi2b2>
    <TEXT><![CDATA[Seen by Dr. Okoro.]]></TEXT>
    <TAGS>
    <NAME id="P0" start="12" end="17" text="Okoro" TYPE="DOCTOR" comment="" />
    </TAGS>
    </deIdi2b2>

Offsets count code points of the parsed text, in which a line end of the file (CRLF too) is one line feed. A text with
carriage returns of its own keeps them: they are written as `&#13;`. LOCATION-OTHER may also be written as TYPE OTHER
of a LOCATION element. Elements that are none of the eight categories are passed over, as by the official script.
What is not modelled (comments, other attributes, ids) stays while the document is as it was read.
"""

import re
from typing import Any

from deident.document import Document, Record, Span
from deident.errors import FormatError
from deident.formats import Files, _shared, _xml, encode
from deident.labels import Category, Label

SUFFIXES = (".xml",)
# An attribute that was written with a bare line end is read with a blank (XML 1.0, 3.3.3).
_BLANKS = re.compile("[\t\n\r]")


def sniff(suffix: str, head: bytes) -> bool:
    return suffix == ".xml" and b"<deIdi2b2" in head


def read(files: Files, *, name: str) -> Record:
    root = _xml.parse(files[".xml"])
    body = root.find("TEXT")
    if body is None:
        raise FormatError("there is no <TEXT>")
    text = _xml.content(body)
    spans = [
        _span(tag, text)
        for tags in root.findall("TAGS")
        for tag in tags
        if isinstance(tag.tag, str) and tag.tag in Category.__members__
    ]
    return _shared.keep(__name__, files, [Document(name, text, tuple(spans))])


def _span(tag: Any, text: str) -> Span:
    line = tag.sourceline
    kind = tag.get("TYPE")
    if kind is None:
        raise FormatError(f"<{tag.tag}> has no TYPE", line=line)
    if tag.tag == "LOCATION" and kind.strip().upper() == "OTHER":
        label = Label.LOCATION_OTHER
    else:
        label = _shared.label_of(kind, line=line)
    if label.category != tag.tag:
        raise FormatError(f"the TYPE is {label}, which is no {tag.tag}", line=line)
    span = _shared.span_of(_xml.number(tag, "start"), _xml.number(tag, "end"), label, len(text), line=line)
    quoted = tag.get("text")
    if quoted is not None and _BLANKS.sub(" ", quoted) != _BLANKS.sub(" ", text[span.start : span.end]):
        raise _shared.disagrees(span.start, span.end, line=line)
    return span


def write(record: Record) -> dict[str, bytes]:
    original = _shared.untouched(record, __name__)
    if original is not None:
        return original
    doc = _shared.single(record, "i2b2-2014 XML")
    tags = "".join(_tag(number, span, doc.text) for number, span in enumerate(doc.spans))
    return {
        ".xml": encode(
            f'<?xml version="1.0" encoding="UTF-8" ?>\n<deIdi2b2>\n<TEXT>{_xml.cdata(doc.text)}</TEXT>\n'
            f"<TAGS>\n{tags}</TAGS>\n</deIdi2b2>\n"
        )
    }


def _tag(number: int, span: Span, text: str) -> str:
    quoted = _xml.attribute(text[span.start : span.end])
    return (
        f'<{span.label.category} id="P{number}" start="{span.start}" end="{span.end}" text="{quoted}" '
        f'TYPE="{span.label}" comment="" />\n'
    )
