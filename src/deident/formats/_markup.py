"""Text with markup inside a record: FHIR's narrative, HTML attachments, the sections of a CDA document.

The text nodes are one prose, so that "Jo<b>hn</b>" and the cells of a row are read together; elements and attributes
that a dialect does not name are blocked with all they hold. Comments and processing instructions go.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from deident.document import Kind
from deident.errors import FormatError
from deident.formats import _xml
from deident.formats._structure import Builder, Either, Part, Parts, Slot, opaque, words
from deident.labels import Label

DEEPEST = 200
# Attributes of layout hold such words and no others; a class or a style of a site's own may be anything.
_LAYOUT = re.compile(
    r"(?:\d{1,4}(?:\.\d{1,3})?(?:%|px|pt|em|in|cm|mm|\*)?|left|right|center|justify|char|top|middle|bottom|baseline|"
    r"ltr|rtl|auto|row|col|rowgroup|colgroup|(?:un)?ordered|none|void|above|below|[hlrv]hs|[hv]sides|box|border|groups|"
    r"rows|cols|all|yes|no|disc|circle|square|[aAiI]|[a-z]{2}(?:-[A-Z]{2})?|insert|delete|bold|underline|italics|"
    r"emphasis|[lr]rule|(?:top|bot)rule|arabic|(?:little|big)(?:roman|alpha)|text/x-hl7-text\+xml)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """Which elements and attributes there are; `lines` part the text, `cells` part it less."""

    elements: frozenset[str]
    lines: frozenset[str]
    cells: frozenset[str]
    attributes: frozenset[str]  # of layout
    identifiers: frozenset[str]  # attributes that name an element
    references: frozenset[str]  # attributes that point to one: "#name", "name"
    namespace: str = ""

    def name(self, element: Any) -> str:
        """The local name of an element of this dialect, "" for another's."""
        tag = element.tag
        if not isinstance(tag, str):
            return ""
        space, _, local = tag.rpartition("}")
        return local if space[1:] in ("", self.namespace) else ""


XHTML = Dialect(
    elements=words(
        "div p h1 h2 h3 h4 h5 h6 ul ol li dl dt dd table caption thead tbody tfoot tr th td colgroup col blockquote "
        "pre hr br address body section article header footer main span a b i u em strong small big sub sup tt code q "
        "cite abbr acronym dfn samp kbd var ins del font center s strike mark"
    ),
    lines=words(
        "div p h1 h2 h3 h4 h5 h6 ul ol li dl dt dd table caption tr blockquote pre hr br address body section article "
        "header footer main"
    ),
    cells=words("td th a"),
    attributes=words(
        "align valign border width height colspan rowspan cellpadding cellspacing span start type dir lang "
        "{http://www.w3.org/XML/1998/namespace}lang"
    ),
    identifiers=words("id name"),
    references=words("href"),
    namespace="http://www.w3.org/1999/xhtml",
)

# The block structure of a section's text: CDA R2, 4.3.5.
CDA = Dialect(
    elements=words(
        "text content linkHtml sub sup br footnote footnoteRef renderMultiMedia paragraph list item table caption "
        "thead tbody tfoot tr th td colgroup col"
    ),
    lines=words("text br footnote paragraph list item table caption tr"),
    cells=words("td th linkHtml footnoteRef"),
    attributes=words(
        "styleCode listType border frame rules width align valign char charoff cellspacing cellpadding span colspan "
        "rowspan scope revised language mediaType"
    ),
    identifiers=words("ID name"),
    references=words("href IDREF referencedObject headers"),
    namespace="urn:hl7-org:v3",
)

# "<b>Jane</b><b>Doe</b>" are two words, "Jo<b>hn</b>" is one.
_JOINT = re.compile(r"[^\W\d_A-Z][A-Z]")

_EMPTY = words("br hr col img footnoteRef")


def parts(builder: Builder, root: Any, path: str, dialect: Dialect, opening: str | None = None) -> Parts:
    """The element and all in it. `opening` is what its own tag is written as, where that is decided elsewhere."""
    walk = _Walk(builder, path, dialect)
    walk.element(root, 0, opening)
    doc = builder.prose(walk.pieces, path) if walk.pieces else -1
    return tuple(Slot(doc, part, _xml.escape) if isinstance(part, int) else part for part in walk.parts)


class _Walk:
    def __init__(self, builder: Builder, path: str, dialect: Dialect) -> None:
        self.builder = builder
        self.path = path
        self.dialect = dialect
        self.parts: list[Part | int] = []
        self.pieces: list[tuple[str, str]] = []
        self.between = ""  # what parts the next piece from the last

    def element(self, element: Any, depth: int, opening: str | None = None) -> None:
        name = self.dialect.name(element)
        if depth > DEEPEST:
            raise FormatError("elements in elements too deep", line=element.sourceline)
        if not isinstance(element.tag, str):
            self.builder.block(f"{self.path} (comment)")
            return
        if name not in self.dialect.elements:
            self.builder.block(f"{self.path} (element)")
            return
        self._apart(name)
        if opening is not None:
            self.parts.append(opening)
        else:
            self.parts.append(f"<{name}")
            self.parts += self._attributes(element)
            if name in _EMPTY:
                self.parts.append("/>")
                self._apart(name)
                return
            self.parts.append(">")
        self._text(element.text)
        for child in element:
            self.element(child, depth + 1)
            self._text(child.tail)
        self.parts.append(f"</{name}>")
        self._apart(name)

    def _apart(self, name: str) -> None:
        if name in self.dialect.lines:
            self.between = "\n"
        elif name in self.dialect.cells and self.between != "\n":
            self.between = "\t"

    def _text(self, text: str | None) -> None:
        if not text:
            return
        if not text.strip():
            self.parts.append(_xml.escape(text))
            self.between = self.between or ("\n" if "\n" in text else " ")
            return
        if opaque(text):
            self.builder.block(self.path)
            return
        self.parts.append(len(self.pieces))
        if not self.between and self.pieces and _JOINT.fullmatch(self.pieces[-1][1][-1] + text[0]):
            self.between = " "
        self.pieces.append((self.between, text))
        self.between = ""

    def _attributes(self, element: Any) -> Iterator[Part]:
        for name, value in element.attrib.items():
            where = f"{self.path}@{name.rpartition('}')[2]}"
            written = f"xml:{name.rpartition('}')[2]}" if name.startswith("{") else name
            if name in self.dialect.attributes and all(map(_LAYOUT.fullmatch, value.split())):
                yield f' {written}="'
                yield self.builder.retained(value, where, _xml.attribute)
                yield '"'
            elif name in self.dialect.identifiers and value:
                yield from self._identifier(written, value, where, "")
            elif name in self.dialect.references and value[:1] == "#" and len(value) > 1:
                yield from self._identifier(written, value[1:], where, "#")
            elif name in self.dialect.references and name != "href" and value.strip():
                yield from self._several(written, value.split(), where)
            else:
                self.builder.block(where if name in _NAMED else f"{self.path}@?")

    def _several(self, name: str, values: list[str], where: str) -> Iterator[Part]:
        """An attribute that points to several elements."""
        yield f' {name}="'
        for place, value in enumerate(values):
            yield " " * bool(place)
            yield Slot(self.builder.field(value, Label.IDNUM, Kind.ID, where), form=_xml.attribute)
        yield '"'

    def _identifier(self, name: str, value: str, where: str, sign: str) -> Iterator[Part]:
        doc = self.builder.field(value, Label.IDNUM, Kind.ID, where)
        yield Either(doc, (f' {name}="{sign}', Slot(doc, form=_xml.attribute), '"'), ())


_NAMED = words("class style styleCode title alt src href summary abbr axis onclick target rel rev")
