"""PDF, read only: the text of its pages, by pypdf (`pip install 'deident[office]'`). Say `--to text`, or another.

Pages are parted by form feeds. Behind them come `FORM`, what was filled in, and `ANNOTATIONS`, notes stuck on pages.
What is no text does not come along: properties, attachments, bookmarks, scripts. A page without text that shows a
picture is refused, for it may be a scan: its words would be missing, and nobody would know.
"""

import logging
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

from deident.document import Document, Record
from deident.errors import FormatError, MissingPackageError
from deident.formats import Files

SUFFIXES = (".pdf",)


_TRIPPED = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError, RecursionError, OSError
)  # fmt: skip


def sniff(suffix: str, head: bytes) -> bool:
    return suffix == ".pdf" and b"%PDF-" in head[:1024]


def read(files: Files, *, name: str) -> Record:
    with _quiet():
        return Record((Document(name, _text(files[".pdf"])),))


def _text(data: bytes) -> str:
    try:
        from pypdf import PdfReader
        from pypdf.errors import DependencyError, PyPdfError
    except ImportError:
        raise MissingPackageError("pypdf", "office") from None
    try:
        reader = PdfReader(BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise FormatError("it is encrypted: a password is needed")
        pages = [_page(page, number) for number, page in enumerate(reader.pages, 1)]
        told = ["\f".join(pages)]
        for section, texts in (("FORM", list(_form(reader))), ("ANNOTATIONS", list(_annotations(reader)))):
            if texts:
                told.append("\n".join((section, *texts)))
    except DependencyError:
        raise FormatError("it is encrypted in a way that cannot be read") from None
    except (PyPdfError, *_TRIPPED) as error:
        # what pypdf trips over in a damaged file is not always an error of its own, and may quote the text
        raise FormatError(f"not a PDF that can be read ({type(error).__name__})") from None
    return "\n\n".join(told) + "\n"


def _page(page: Any, number: int) -> str:
    text = page.extract_text().strip("\n")
    if not text.strip() and _shows_pictures(page.get("/Resources"), 0):
        raise FormatError(f"page {number} is a picture without text, a scan perhaps: it must be read by OCR first")
    return text


def _shows_pictures(resources: Any, depth: int) -> bool:
    """Whether a page, or a form on it, has pictures."""
    objects = (resources.get_object() if resources is not None else {}).get("/XObject")
    for found in (objects.get_object() if objects is not None else {}).values():
        item = found.get_object()
        kind = item.get("/Subtype")
        if kind == "/Image" or (kind == "/Form" and depth < 8 and _shows_pictures(item.get("/Resources"), depth + 1)):
            return True
    return False


def _form(reader: Any) -> Iterator[str]:
    for name, item in (reader.get_fields() or {}).items():
        value = item.get("/V")
        if isinstance(value, str) and value.strip() and not value.startswith("/"):
            yield f"{name}: {value}"


def _annotations(reader: Any) -> Iterator[str]:
    for page in reader.pages:
        found = page.get("/Annots")
        for one in found.get_object() if found is not None else ():
            note = one.get_object()
            said = note.get("/Contents")
            if isinstance(said, str) and said.strip() and note.get("/Subtype") not in ("/Link", "/Widget"):
                yield said


@contextmanager
def _quiet() -> Generator[None]:
    """What pypdf says of damaged files goes nowhere, since it may quote them."""
    logger = logging.getLogger("pypdf")  # whose level is that of all its modules
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)
