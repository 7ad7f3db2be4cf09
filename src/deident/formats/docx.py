"""Word documents (`.docx`, `.docm`), read only: what they say as plain text. Say `--to text`, or another format.

The text is the document as it would be printed with all changes accepted: insertions are in, deletions and the places
that text was moved from are out. Text boxes follow the paragraph they are anchored in. Behind it come, each under a
line of its own, what else a document says: `HEADER`, `FOOTER`, `FOOTNOTES`, `ENDNOTES`, `COMMENTS`, and `DELETED`
for deletions that somebody may still bring back. Hidden text is text. What is no text does not come along: properties
(author, company), alternative texts, field codes, pictures, embedded objects. A document that takes in another file's
content (`altChunk`) is refused, for part of the note would be missing.

ECMA-376 part 1, both namespaces (transitional and strict): elements are told by their local names.
"""

import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from deident.document import Document, Record
from deident.errors import FormatError
from deident.formats import Files, _xml

SUFFIXES = (".docx",)
_SUFFIXES = (".docx", ".docm", ".dotx", ".dotm")
_LARGEST = 256 * 1024 * 1024  # bytes of one part, unpacked

_SECTIONS = ("HEADER", "FOOTER", "FOOTNOTES", "ENDNOTES", "COMMENTS")
_RELATED = {kind.lower(): kind for kind in _SECTIONS}
_SIGNS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011"}
# what is not printed, and the old place of what was moved; names of properties end in "Pr"
_PASSED_OVER = frozenset({"instrText", "delInstrText", "fldData", "moveFrom"})


def sniff(suffix: str, head: bytes) -> bool:
    return suffix in _SUFFIXES and head.startswith(b"PK")


# what zipfile raises for a package that is cut, changed or locked; ValueError: offsets and names that cannot be
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, KeyError, ValueError)


def read(files: Files, *, name: str) -> Record:
    try:
        with zipfile.ZipFile(BytesIO(files[".docx"])) as package:
            text = _text(_Package(package))
    except _DAMAGED:
        raise FormatError("not a Word document, or a damaged or encrypted one") from None
    return Record((Document(name, text),))


@dataclass(frozen=True, slots=True)
class _Package:
    package: zipfile.ZipFile

    def part(self, name: str) -> Any:
        """The root element of a part."""
        facts = self.package.getinfo(name)
        if facts.file_size > _LARGEST:
            raise FormatError(f"a part of the document is over {_LARGEST} bytes")
        with self.package.open(facts) as stream:
            data = stream.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise FormatError(f"a part of the document is over {_LARGEST} bytes")
        return _xml.parse(data)

    def related(self, name: str) -> Iterator[tuple[str, str]]:
        """The kinds and names of the parts that a part is related to, in the order of their names."""
        folder, file = posixpath.split(name)
        relations = posixpath.join(folder, "_rels", f"{file}.rels")
        if relations not in self.package.namelist():
            return
        found: list[tuple[str, str]] = []
        for relation in self.part(relations):
            if isinstance(relation.tag, str) and relation.get("TargetMode") != "External":
                target = relation.get("Target", "")
                place = (
                    target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
                )
                found.append((relation.get("Type", "").rpartition("/")[2], place))
        yield from sorted(found)


def _text(package: _Package) -> str:
    main = next((name for kind, name in package.related("") if kind == "officeDocument"), None)
    root = package.part(main) if main is not None else None
    if main is None or _local(root) != "document":
        raise FormatError("not a Word document: it has no main part")
    deleted: list[str] = []
    body = _story(root, deleted)
    stories: dict[str, list[str]] = {section: [] for section in _SECTIONS}
    for kind, name in package.related(main):
        section = _RELATED.get(kind)
        if section is None:
            continue
        text = _story(package.part(name), deleted)
        if text and text not in stories[section]:  # first, even and other pages often say the same
            stories[section].append(text)
    stories["DELETED"] = deleted
    told = [body, *("\n".join((section, *texts)) for section, texts in stories.items() if texts)]
    return "\n\n".join(part for part in told if part) + "\n"


def _local(element: Any) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _story(root: Any, deleted: list[str]) -> str:
    """The text of one part; what was deleted in it is added to `deleted`."""
    parts: list[str] = []
    _walk(root, parts, parts, deleted)
    return "".join(parts).strip("\n")


def _walk(element: Any, parts: list[str], boxes: list[str], deleted: list[str]) -> None:
    """Adds what an element says. The parser refuses trees that are deeper than recursion can go.

    boxes: where the text boxes go, whole, so that they do not part the words of the paragraph that holds them.
    """
    for child in element:
        name = _local(child)
        if name in _PASSED_OVER or name.endswith("Pr") or _is_line_of_notes(child, name):
            continue
        match name:
            case "altChunk":
                raise FormatError("it takes in another file (altChunk), which cannot be read")
            case "t" | "delText":
                parts.append(_xml.content(child))
            case "sym":
                parts.append(_sign(child))
            case "p":
                below: list[str] = []
                _walk(child, parts, below, deleted)
                parts += ["\n", *below]
            case "del":
                gone: list[str] = []
                _walk(child, gone, gone, deleted)
                deleted += [text] if (text := "".join(gone).strip("\n")) else []
            case "txbxContent":
                box: list[str] = []
                _walk(child, box, box, deleted)
                boxes.append("".join(box))
            case "tc":
                cell: list[str] = []
                _walk(child, cell, cell, deleted)
                parts += ["".join(cell).strip("\n"), "\t"]
            case "tr":
                row: list[str] = []
                _walk(child, row, boxes, deleted)
                parts += ["".join(row).removesuffix("\t"), "\n"]
            case "AlternateContent":  # the same thing for newer and for older programs
                _walk(next(iter(child), ()), parts, boxes, deleted)
            case _ if name in _SIGNS:
                parts.append(_SIGNS[name])
            case _:
                _walk(child, parts, boxes, deleted)


def _is_line_of_notes(element: Any, name: str) -> bool:
    """Whether it is the line drawn between a page and its footnotes."""
    return name in ("footnote", "endnote") and (_attribute(element, "type") or "normal") != "normal"


def _attribute(element: Any, name: str) -> str | None:
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), None)


def _sign(element: Any) -> str:
    """A sign by its number in a font of signs; those of the private area are of the fonts' own making."""
    try:
        number = int(_attribute(element, "char") or "", 16)
    except ValueError:
        raise FormatError("a sign without its number", line=element.sourceline) from None
    return chr(number) if 0x20 <= number < 0xD800 else "\N{REPLACEMENT CHARACTER}"
