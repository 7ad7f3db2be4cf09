"""GATE's XML: the text with a node at every offset that an annotation uses, the annotations after it, in sets.

    <GateDocument version="3">
    <TextWithNodes>Seen by Dr. <Node id="12"/>Okoro<Node id="17"/>.</TextWithNodes>
    <AnnotationSet>
    <Annotation Id="0" Type="DOCTOR" StartNode="12" EndNode="17">
    </Annotation>
    </AnnotationSet>
    </GateDocument>

A node's place in the text is its offset; its number is a name only (GATE writes the count of UTF-16 units). Spans are
the annotations of all sets whose type has the name of a label, the same one in two sets once; tokens, sentences and
the like are passed over. What is not modelled (features, other types) stays while the document is as it was read.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from deident import labels
from deident.document import Document, Record, Span
from deident.errors import FormatError, UnknownNameError
from deident.formats import Files, _offsets, _shared, _xml, encode

SUFFIXES = (".xml",)


@dataclass(frozen=True, slots=True)
class Annotation:
    start: int
    end: int
    type: str
    features: Mapping[str, object]


def sniff(suffix: str, head: bytes) -> bool:
    return suffix == ".xml" and b"<GateDocument" in head


def sets(data: bytes) -> tuple[str, dict[str, list[Annotation]]]:
    """The text, and the annotations of each set ("" is the one without a name)."""
    root = _xml.parse(data)
    body = root.find("TextWithNodes")
    if root.tag != "GateDocument" or body is None:
        raise FormatError("there is no <GateDocument> with <TextWithNodes>")
    parts = [body.text or ""]
    places: dict[str, int] = {}
    size = len(parts[0])
    for node in body:
        if isinstance(node.tag, str):
            if node.tag != "Node" or len(node) or node.text or node.get("id") is None:
                raise FormatError("something else than a <Node> within the text", line=node.sourceline)
            places[node.get("id")] = size
        parts.append(node.tail or "")
        size += len(parts[-1])
    found: dict[str, list[Annotation]] = {"": []}
    for group in root.findall("AnnotationSet"):
        found.setdefault(group.get("Name") or "", []).extend(
            _annotation(one, places) for one in group.findall("Annotation")
        )
    return "".join(parts), found


def _annotation(one: Any, places: Mapping[str, int]) -> Annotation:
    start, end, kind = one.get("StartNode"), one.get("EndNode"), one.get("Type")
    if start not in places or end not in places or kind is None:
        raise FormatError("an annotation without a type, or at a node outside the text", line=one.sourceline)
    features = {feature.findtext("Name") or "": feature.findtext("Value") or "" for feature in one.findall("Feature")}
    return Annotation(places[start], places[end], kind, features)


def spans(annotations: Iterable[Annotation], size: int) -> tuple[Span, ...]:
    """Those whose type has the name of a label, each once."""
    found: dict[Span, None] = {}
    for one in annotations:
        try:
            label = labels.parse(one.type)
        except UnknownNameError:
            continue
        found[_shared.span_of(one.start, one.end, label, size, where=f"an annotation at {one.start}")] = None
    return tuple(sorted(found))


def read(files: Files, *, name: str) -> Record:
    text, found = sets(files[".xml"])
    every = (one for group in found.values() for one in group)
    return _shared.keep(__name__, files, [Document(name, text, spans(every, len(text)))])


def write(record: Record) -> dict[str, bytes]:
    original = _shared.untouched(record, __name__)
    if original is not None:
        return original
    doc = _shared.single(record, "GATE XML")
    units = _offsets.units(doc.text)
    cuts = sorted({place for span in doc.spans for place in (span.start, span.end)})
    pieces = [_xml.escape(doc.text[: cuts[0] if cuts else None])]
    for cut, following in pairwise((*cuts, len(doc.text))):
        pieces += [f'<Node id="{units[cut]}"/>', _xml.escape(doc.text[cut:following])]
    annotations = "".join(
        f'<Annotation Id="{number}" Type="{span.label}" StartNode="{units[span.start]}" EndNode="{units[span.end]}">\n'
        "</Annotation>\n"
        for number, span in enumerate(doc.spans)
    )
    return {
        ".xml": encode(
            "<?xml version='1.0' encoding='UTF-8'?>\n"
            '<GateDocument version="3">\n<GateDocumentFeatures>\n</GateDocumentFeatures>\n'
            f"<TextWithNodes>{''.join(pieces)}</TextWithNodes>\n"
            f"<AnnotationSet>\n{annotations}</AnnotationSet>\n</GateDocument>\n"
        )
    }
