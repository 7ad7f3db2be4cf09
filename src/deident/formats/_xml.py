"""Reading and writing XML safely: no document type, no entities, no network, and no content in an error."""

import re
from typing import Any
from xml.parsers import expat

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]  # compiled, and without types

from deident.errors import FormatError

# What XML 1.0 can hold: https://www.w3.org/TR/xml/#charsets
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_REFUSAL = "declares entities: refused"


class _RootReachedError(Exception):
    """Stops the look ahead at the first element."""


def parse(data: bytes) -> Any:
    """The root element. A file with a document type (where entities are declared) is refused before it is parsed."""
    _refuse_document_type(data)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise FormatError("not well-formed XML", line=error.lineno) from None
    if root.getroottree().docinfo.doctype or any(True for _ in root.iter(etree.Entity)):
        raise FormatError(_REFUSAL)
    return root


def _refuse_document_type(data: bytes) -> None:
    """Look at the prolog only: libxml2 would expand entities in attributes whatever its options say."""
    scanner = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise FormatError(_REFUSAL)

    def stop(*_: object) -> None:
        raise _RootReachedError

    scanner.StartDoctypeDeclHandler = refuse
    scanner.StartElementHandler = stop
    try:
        scanner.Parse(data, True)
    except (_RootReachedError, expat.ExpatError, LookupError, ValueError):
        return  # the root was reached, or the parser proper says what is wrong and on which line


def content(element: Any) -> str:
    """The text of an element that holds text only."""
    if any(isinstance(child.tag, str) for child in element):
        raise FormatError("an element where only text may be", line=element.sourceline)
    parts = [element.text or "", *(child.tail or "" for child in element)]
    return "".join(parts)


def number(element: Any, name: str) -> int:
    """An attribute that is a whole number."""
    value = element.get(name)
    if value is None or not re.fullmatch(r"[0-9]{1,18}", value):
        raise FormatError(f"an element needs a whole number '{name.rpartition('}')[2]}'", line=element.sourceline)
    return int(value)


def check(text: str) -> str:
    """The text, if XML can hold it."""
    found = _FORBIDDEN.search(text)
    if found is not None:
        raise FormatError(f"the character at offset {found.start()} cannot be written in XML")
    return text


def escape(text: str) -> str:
    """Character data; a carriage return needs its number, for parsers turn a bare one into a line feed."""
    return re.sub("[&<>\r]", lambda match: _ESCAPES[match[0]], check(text))


def attribute(value: str) -> str:
    """An attribute value between double quotes."""
    return re.sub('[&<>"\t\n\r]', lambda match: _ESCAPES[match[0]], check(value))


def cdata(text: str) -> str:
    """CDATA that any parser reads as exactly this text: cut inside `]]>`, and around a carriage return."""
    cut = check(text).replace("]]>", "]]]]><![CDATA[>").replace("\r", "]]>&#13;<![CDATA[")
    return f"<![CDATA[{cut}]]>"
