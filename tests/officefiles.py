"""Small office files, made here: what Word, WordPad and printers write, reduced to what matters."""

import zipfile
from collections.abc import Callable, Mapping
from io import BytesIO
from xml.sax.saxutils import escape

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r>'


def paragraph(*runs: str) -> str:
    return f"<w:p>{''.join(runs)}</w:p>"


def relations(related: Mapping[str, str]) -> str:
    rows = (
        f'<Relationship Id="r{number}" Type="{_KINDS}/{kind}" Target="{target}"/>'
        for number, (target, kind) in enumerate(related.items())
    )
    return f'<Relationships xmlns="{_RELATIONS}">{"".join(rows)}</Relationships>'


def docx(body: str, parts: Mapping[str, tuple[str, str]] | None = None, *, strict: bool = False) -> bytes:
    """A document of this body; parts: by file name, the kind of relation and the whole content of the part."""
    space = _STRICT if strict else _W
    whole = f'<w:document xmlns:w="{space}" {_SPACES}><w:body>{body}</w:body></w:document>'
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("_rels/.rels", relations({"word/document.xml": "officeDocument"}))
        package.writestr("word/document.xml", f'<?xml version="1.0" encoding="UTF-8"?>{whole}')
        package.writestr("word/_rels/document.xml.rels", relations({n: kind for n, (kind, _) in (parts or {}).items()}))
        for name, (_, content) in (parts or {}).items():
            package.writestr(f"word/{name}", content)
    return stream.getvalue()


_SPACES = (
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:v="urn:schemas-microsoft-com:vml"'
)


def part(root: str, content: str) -> str:
    return f'<w:{root} xmlns:w="{_W}" {_SPACES}>{content}</w:{root}>'


def rtf(text: str) -> bytes:
    signs = (f"\\u{number - 0x10000 if number > 0x7FFF else number}?" for number in _units(text))
    return b"{\\rtf1\\ansi\\ansicpg1252\\deff0{\\fonttbl{\\f0 Arial;}}\\f0 " + "".join(signs).encode() + b"\\par}"


def _units(text: str) -> list[int]:
    data = text.encode("utf-16-le")
    return [int.from_bytes(data[place : place + 2], "little") for place in range(0, len(data), 2)]


def pdf(*pages: str, extra: Mapping[int, bytes] | None = None) -> bytes:
    """A PDF of one line a page; extra: further objects by number. A page beginning with `/` names a picture."""
    objects: dict[int, bytes] = {1: b"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[90 0 R]>>>>"}
    kids = " ".join(f"{10 + 2 * number} 0 R" for number in range(len(pages)))
    objects[2] = f"<</Type/Pages/Count {len(pages)}/Kids[{kids}]>>".encode()
    objects[3] = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
    for number, text in enumerate(pages):
        shown = b"q /Im Do Q" if text == "/picture" else b"BT /F 12 Tf 50 700 Td (" + _string(text) + b") Tj ET"
        resources = b"<</XObject<</Im 4 0 R>>>>" if text == "/picture" else b"<</Font<</F 3 0 R>>>>"
        page = (
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents {11 + 2 * number} 0 R/Annots[91 0 R]/Resources "
        )
        objects[10 + 2 * number] = page.encode() + resources + b">>"
        objects[11 + 2 * number] = b"<</Length %d>>stream\n%s\nendstream" % (len(shown), shown)
    objects[4] = (
        b"<</Type/XObject/Subtype/Image/Width 1/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray/Length 1>>"
        b"stream\n0\nendstream"
    )
    objects[90] = b"<</FT/Tx/T(name)/V()>>"
    objects[91] = b"<</Type/Annot/Subtype/Link/Rect[0 0 1 1]>>"
    objects |= extra or {}
    data = b"%PDF-1.7\n"
    places: dict[int, int] = {}
    for number, content in sorted(objects.items()):
        places[number] = len(data)
        data += b"%d 0 obj%s endobj\n" % (number, content)
    start = len(data)
    data += b"xref\n0 1\n0000000000 65535 f \n"
    for number, place in places.items():
        data += b"%d 1\n%010d 00000 n \n" % (number, place)
    return data + b"trailer<</Root 1 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF" % (max(objects) + 1, start)


def _string(text: str) -> bytes:
    return text.encode("cp1252", "replace").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


OFFICE: Mapping[str, Callable[[str], bytes]] = {
    "docx": lambda text: docx("".join(paragraph(run(line)) for line in text.split("\n"))),
    "rtf": rtf,
    "pdf": lambda text: pdf(*text.split("\n")),
}
