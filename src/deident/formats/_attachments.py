"""Files inside a record: text and HTML are read, scrubbed with the record and put back; others are blocked."""

import base64
import binascii
import re
from typing import Any

from lxml import etree, html  # pyright: ignore[reportAttributeAccessIssue]  # compiled, and without types

from deident.errors import FormatError
from deident.formats import _markup, _shared, _xml
from deident.formats._structure import Builder, Embedded, Encode, Parts, Slot, opaque, plain

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\ufffe\uffff]")
_HTML = re.compile(r"<(?:!doctype\s+html|html|body|div|p|table|h[1-6]|span|pre)\b", re.IGNORECASE)
_MESSAGE = re.compile(r"\s*(?:MSH|FHS|BHS)[^A-Za-z0-9\s]{4}")


def embedded(builder: Builder, text: str, encoding: str, path: str, *, form: Encode = plain) -> Embedded | None:
    """A file by its text in the record (base64, hexadecimal, or as it is); None where it must be blocked."""
    data = _decoded(text, encoding.casefold())
    inner = contents(builder, data, path) if data is not None else None
    if inner is None:
        return None
    return Embedded(inner, {"base64": "base64", "hex": "hexadecimal"}.get(encoding.casefold(), "plain"), form)


def _decoded(text: str, encoding: str) -> str | None:
    try:
        match encoding:
            case "base64":
                data = base64.b64decode("".join(text.split()), validate=True)
            case "hex":
                data = bytes.fromhex(text)
            case "a" | "":
                return text
            case _:
                return None
        return data.decode("utf-8-sig")
    except (binascii.Error, ValueError):  # UnicodeDecodeError is one
        return None


def contents(builder: Builder, text: str, path: str) -> Parts | None:
    """The parts of a file's text; None where it is none that can be read."""
    if not text.strip() or _CONTROL.search(text) or opaque(text):
        return None
    start = text.lstrip()
    if start.startswith(("%PDF", "{\\rtf")) or _MESSAGE.match(start):
        return None
    if start.startswith("<"):
        return _marked(builder, start, path)
    if start[0] in "{[" and _is_json(start):
        return None
    return (Slot(builder.prose([("", text)], path)),)


def _marked(builder: Builder, text: str, path: str) -> Parts | None:
    if _cda(text):
        from deident.formats import cda  # which has files in it, too

        return cda.embedded(builder, text, path)
    if not _HTML.search(text[:4096]):
        return None
    root = _html(text)
    return ("<html>", *_markup.parts(builder, root, path, _markup.XHTML), "</html>") if root is not None else None


def _cda(text: str) -> bool:
    return "urn:hl7-org:v3" in text[:4096]


def _html(text: str) -> Any:
    """The body of an HTML page, or of a piece of one."""
    try:
        _xml.check(text)
        root = html.document_fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text))
    except (FormatError, etree.LxmlError, ValueError):
        return None
    body = root.find("body")
    return body if body is not None else None


def _is_json(text: str) -> bool:
    try:
        _shared.parse_json(text)
    except FormatError:
        return False
    return True
