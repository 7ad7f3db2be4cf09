"""UIMA CAS, in XMI and in JSON: one view that has a text, one document.

What is read of a CAS is little (the texts, and the places, types and our own features of the annotations that are in
a view), and is read without dkpro-cassis: no type system is needed beside the file, references to what we do not model
cannot fail, and no offset can fall inside a character, where cassis 0.12 warns and goes on. It also cannot load JSON
with two views. Files are written by dkpro-cassis, and the tests hold our reading against its own.
"""

import importlib.resources
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from deident import labels
from deident.document import Document, Record, Span
from deident.errors import FormatError, MissingPackageError, UnknownNameError
from deident.formats import Files, _shared
from deident.formats._offsets import points

PHI = "deident.Phi"
DOCUMENT_ID = "deident.DocumentId"
INITIAL_VIEW = "_InitialView"
OUR_FEATURES: Mapping[str, tuple[str, ...]] = {PHI: ("label", "score", "source"), DOCUMENT_ID: ("id",)}
_TYPE_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


@dataclass(frozen=True, slots=True)
class Annotation:
    """A place in a text, in code points, with its type; the features of our own types only."""

    begin: int
    end: int
    type: str
    features: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)


@dataclass(frozen=True, slots=True)
class View:
    text: str = field(repr=False)
    annotations: tuple[Annotation, ...]


@dataclass(frozen=True, slots=True)
class Sofa:
    """A view's text with its offsets; a view of a picture, or of a text elsewhere, has none."""

    name: str
    text: str | None = field(repr=False)
    at: Mapping[int, int] = field(repr=False)

    @classmethod
    def of(cls, name: str, text: str | None) -> "Sofa":
        return cls(name, text, points(text or ""))

    def annotation(
        self, begin: int, end: int, name: str, features: Mapping[str, Any], *, line: int | None = None
    ) -> Annotation:
        """An annotation by its offsets in the file; one outside the text, or inside a character, is refused."""
        if begin not in self.at or end not in self.at or end < begin:
            raise FormatError(f"an annotation at {begin}..{end} is outside its text or inside a character", line=line)
        return Annotation(self.at[begin], self.at[end], name, features)


def is_annotation_type(name: str) -> bool:
    """Whether an annotation can be of this type; the structures that UIMA itself is made of are none."""
    if not _TYPE_NAME.fullmatch(name):
        raise FormatError("a type whose name is no name")
    return not name.startswith("uima.cas.")


def views(
    sofas: Mapping[int, Sofa], annotations: Mapping[int, tuple[int, Annotation]], members: Mapping[int, Iterable[int]]
) -> dict[str, View]:
    """The views that have a text, by name, with the annotations that are in them; `members` and `annotations` say by
    which sofa and of which."""
    if len({sofa.name for sofa in sofas.values()}) < len(sofas):
        raise FormatError("two views of one name")
    found: dict[str, View] = {}
    for number, sofa in sofas.items():
        inside = [annotations[member] for member in members.get(number, ()) if member in annotations]
        if any(own != number for own, _ in inside):
            raise FormatError("an annotation in a view whose text is not its own")
        ordered = sorted((annotation for _, annotation in inside), key=lambda one: (one.begin, -one.end))
        if sofa.text is not None:
            found[sofa.name] = View(sofa.text, tuple(ordered))
    return found


def record(found: Mapping[str, View], form: str, files: Files, *, name: str) -> Record:
    """The documents of the views."""
    if not found:
        raise FormatError("there is no view with a text")
    documents: list[Document] = []
    for view, content in found.items():
        default = name if view == INITIAL_VIEW or len(found) == 1 else f"{name}:{view}"
        ids = [str(one.features.get("id") or "") for one in content.annotations if one.type == DOCUMENT_ID]
        documents.append(Document(next(filter(None, ids), default), content.text, tuple(sorted(_spans(content)))))
    return _shared.keep(form, files, documents, shape=found)


def _spans(view: View) -> Iterator[Span]:
    """Our own annotations, if there are any; otherwise those whose type has the name of a label."""
    size = len(view.text)
    ours = [one for one in view.annotations if one.type == PHI]
    for one in ours:
        where = f"{PHI} at {one.begin}"
        label = _shared.label_of(str(one.features.get("label") or ""), where=where)
        span = _shared.span_of(one.begin, one.end, label, size, where=where)
        score = _score(one.features.get("score"), where)
        yield Span(span.start, span.end, label, str(one.features.get("source") or ""), score)
    for one in () if ours else view.annotations:
        try:
            label = labels.parse(one.type.rpartition(".")[2])
        except UnknownNameError:
            continue
        yield _shared.span_of(one.begin, one.end, label, size)


def _score(value: object, where: str) -> float:
    """A number, or the digits of one, as XML has it."""
    if value is None:
        return 1.0
    if isinstance(value, str | int | float):
        try:
            return float(value)
        except ValueError:
            pass
    raise FormatError(f"{where}: the score is not a number")


def build(record: Record, form: str) -> Any:
    """A `cassis.Cas` of the documents, each in its view, with our types only."""
    try:
        import cassis  # an extra: importing deident does not need it
    except ModuleNotFoundError:
        raise MissingPackageError("dkpro-cassis", "uima") from None
    names = _shared.shape(record, form)
    if len(names) != len(record.documents):
        names = tuple(INITIAL_VIEW if not place else f"View{place + 1}" for place in range(len(record.documents)))
    description = importlib.resources.files("deident.formats").joinpath("deident_typesystem.xml")
    types = cassis.load_typesystem(description.read_text(encoding="utf-8"))
    phi: Any = types.get_type(PHI)
    document_id: Any = types.get_type(DOCUMENT_ID)
    cas = cassis.Cas(typesystem=types)
    for name, doc in zip(names, record.documents, strict=True):
        view = cas.get_view(INITIAL_VIEW) if name == INITIAL_VIEW else cas.create_view(name)
        view.sofa_string = doc.text
        view.sofa_mime = "text/plain"
        view.add(document_id(begin=0, end=len(doc.text), id=doc.id))
        for span in doc.spans:
            view.add(phi(begin=span.start, end=span.end, label=span.label.value, score=span.score, source=span.source))
    return cas
