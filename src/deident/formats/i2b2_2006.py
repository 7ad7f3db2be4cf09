"""i2b2-2006 XML (thesis, 4.1.1): many records in a file, the spans written into the text.

    <ROOT>
    <RECORD ID="7">
    <TEXT>Seen by Dr. <PHI TYPE="DOCTOR">Okoro</PHI>, <PHI TYPE="OTHER" SUBTYPE="PROFESSION">nurse</PHI>.</TEXT>
    </RECORD>
    </ROOT>

The record's element is RECORD in the files of the challenge and DOCUMENT in the thesis; both are read, and what was
read is written. TYPE is one of the eight classes. A label that is finer than its class, or that has none (PROFESSION,
OTHER), keeps its own name in SUBTYPE, so nothing is lost; a reader that knows only the classes may pass SUBTYPE over,
and meets TYPE="OTHER" where 2006 has no class. PHI elements may nest; spans that cross cannot be written.
Offsets count code points; a carriage return is written as `&#13;`.
"""

from typing import Any

from deident import labels
from deident.document import Document, Record, Span
from deident.errors import FormatError, SpanError
from deident.formats import Files, _shared, _xml, encode
from deident.labels import Label

SUFFIXES = (".xml",)
MANY = True
SCHEME = "i2b2-2006"
_RECORDS = ("RECORD", "DOCUMENT")


def sniff(suffix: str, head: bytes) -> bool:
    return suffix == ".xml" and b"<ROOT" in head and (b"<RECORD" in head or b"<DOCUMENT" in head)


def read(files: Files, *, name: str) -> Record:
    root = _xml.parse(files[".xml"])
    if root.tag != "ROOT":
        raise FormatError("the root element is not <ROOT>")
    records = [element for element in root if isinstance(element.tag, str) and element.tag in _RECORDS]
    if not records:
        raise FormatError("there is no <RECORD> or <DOCUMENT>")
    documents: list[Document] = []
    for number, element in enumerate(records, 1):
        body = element.find("TEXT")
        if body is None:
            raise FormatError(f"<{element.tag}> has no <TEXT>", line=element.sourceline)
        default = name if len(records) == 1 else f"{name}:{number}"
        documents.append(_document(body, element.get("ID") or default))
    return _shared.keep(__name__, files, documents, shape=[records[0].tag])


def _document(body: Any, name: str) -> Document:
    parts: list[str] = [body.text or ""]
    spans: list[Span] = []
    size = len(parts[0])

    def walk(parent: Any) -> None:
        nonlocal size
        for child in parent:
            if isinstance(child.tag, str):
                label, start, place = _label(child), size, len(spans)
                parts.append(child.text or "")
                size += len(parts[-1])
                walk(child)
                if size == start:
                    raise FormatError("an empty <PHI>", line=child.sourceline)
                spans.insert(place, Span(start, size, label))
            parts.append(child.tail or "")
            size += len(parts[-1])

    walk(body)
    return Document(name, "".join(parts), tuple(spans))


def _label(element: Any) -> Label:
    line = element.sourceline
    if element.tag != "PHI":
        raise FormatError("an element inside <TEXT> that is not <PHI>", line=line)
    kind, finer = element.get("TYPE"), element.get("SUBTYPE")
    if kind is None:
        raise FormatError("<PHI> has no TYPE", line=line)
    if finer is None:
        return Label.OTHER if kind == Label.OTHER else _shared.label_of(kind, scheme=SCHEME, line=line)
    label = _shared.label_of(finer, scheme="i2b2-2014", line=line)
    if _class(label) != kind:
        raise FormatError(f"the SUBTYPE is {label}, which is not of the TYPE", line=line)
    return label


def _class(label: Label) -> str:
    return labels.to_scheme(label, SCHEME) or Label.OTHER.value


def write(record: Record) -> dict[str, bytes]:
    original = _shared.untouched(record, __name__)
    if original is not None:
        return original
    element = (*_shared.shape(record, __name__), "RECORD")[0]
    rows = (
        f'<{element} ID="{_xml.attribute(doc.id)}">\n<TEXT>{_marked(doc)}</TEXT>\n</{element}>\n'
        for doc in record.documents
    )
    return {".xml": encode(f'<?xml version="1.0" encoding="UTF-8" ?>\n<ROOT>\n{"".join(rows)}</ROOT>\n')}


def _marked(doc: Document) -> str:
    """The text with its elements; `open_` holds the ends of those that are open, the outermost first."""
    _xml.check(doc.text)
    parts: list[str] = []
    open_: list[int] = []
    position = 0

    def copy(end: int) -> None:
        nonlocal position
        parts.append(_xml.escape(doc.text[position:end]))
        position = end

    for span in sorted(doc.spans, key=lambda span: (span.start, -span.end)):
        while open_ and open_[-1] <= span.start:
            copy(open_.pop())
            parts.append("</PHI>")
        if open_ and span.end > open_[-1]:
            raise SpanError(f"the span at {span.start} crosses one that ends at {open_[-1]}; XML cannot hold both")
        copy(span.start)
        parts.append(_open(span.label))
        open_.append(span.end)
    while open_:
        copy(open_.pop())
        parts.append("</PHI>")
    copy(len(doc.text))
    return "".join(parts)


def _open(label: Label) -> str:
    kind = _class(label)
    plain = label is Label.OTHER or labels.SCHEMES[SCHEME].get(kind) is label
    return f'<PHI TYPE="{kind}">' if plain else f'<PHI TYPE="{kind}" SUBTYPE="{label}">'
