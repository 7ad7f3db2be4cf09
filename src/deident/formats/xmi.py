"""UIMA CAS as XMI: one view, one document. Writing needs dkpro-cassis (`pip install 'deident[uima]'`).

What we write are `deident.Phi` annotations (label, score, source) and one `deident.DocumentId` a view, as declared in
`deident_typesystem.xml` beside this module. What we read are these, or, where a view has none, the annotations whose
type's short name is a label (`de.tudarmstadt…ner.type.Person` is a PATIENT). No type system is needed for reading.
Offsets are UTF-16 units in the file. Everything else in a CAS stays while the documents are as they were read, and is
not carried into a file whose documents have changed: tokens and lemmas would repeat what was replaced.
"""

from typing import Any

from deident.document import Record
from deident.errors import FormatError
from deident.formats import Files, _cas, _shared, _xml, encode

SUFFIXES = (".xmi",)
_XMI = "{http://www.omg.org/XMI}"
_CAS = "{http:///uima/cas.ecore}"


def sniff(suffix: str, head: bytes) -> bool:
    return suffix in {".xmi", ".xml"} and b"http://www.omg.org/XMI" in head


def views(data: bytes) -> dict[str, _cas.View]:
    """The texts and annotations of every view, whatever their types."""
    root = _xml.parse(data)
    if root.tag != f"{_XMI}XMI":
        raise FormatError("not an XMI file")
    sofas = {_id(element): _sofa(element) for element in root.findall(f"{_CAS}Sofa")}
    annotations: dict[int, tuple[int, _cas.Annotation]] = {}
    for element in root:
        if isinstance(element.tag, str) and all(element.get(key) is not None for key in ("sofa", "begin", "end")):
            name = _type_name(element)
            if _cas.is_annotation_type(name):
                annotations[_id(element)] = _annotation(element, name, sofas)
    members = {_xml.number(view, "sofa"): _members(view) for view in root.findall(f"{_CAS}View")}
    return _cas.views(sofas, annotations, members)


def _sofa(element: Any) -> _cas.Sofa:
    name = element.get("sofaID")
    if not name:
        raise FormatError("a <Sofa> without a name", line=element.sourceline)
    return _cas.Sofa.of(name, element.get("sofaString"))


def _annotation(element: Any, name: str, sofas: dict[int, _cas.Sofa]) -> tuple[int, _cas.Annotation]:
    number, begin, end = (_xml.number(element, key) for key in ("sofa", "begin", "end"))
    if number not in sofas:
        raise FormatError("an annotation of a view that is not there", line=element.sourceline)
    features = {key: element.get(key) for key in _cas.OUR_FEATURES.get(name, ())}
    return number, sofas[number].annotation(begin, end, name, features, line=element.sourceline)


def _members(view: Any) -> list[int]:
    members = view.get("members", "").split()
    if not all(member.isascii() and member.isdecimal() and len(member) < 19 for member in members):
        raise FormatError("the members of a <View> are not numbers", line=view.sourceline)
    return [int(member) for member in members]


def _type_name(element: Any) -> str:
    """`{http:///de/foo/type.ecore}Person` is the type `de.foo.type.Person`."""
    space, _, local = element.tag[1:].partition("}")
    if not space.startswith("http:///") or not space.endswith(".ecore"):
        raise FormatError("an element that is no feature structure", line=element.sourceline)
    package = space.removeprefix("http:///").removesuffix(".ecore").replace("/", ".")
    return local if package == "uima.noNamespace" else f"{package}.{local}"


def _id(element: Any) -> int:
    return _xml.number(element, f"{_XMI}id")


def read(files: Files, *, name: str) -> Record:
    return _cas.record(views(files[".xmi"]), __name__, files, name=name)


def write(record: Record) -> dict[str, bytes]:
    original = _shared.untouched(record, __name__)
    if original is not None:
        return original
    for doc in record.documents:
        _xml.check(doc.text)
        _xml.check(doc.id)
    return {".xmi": encode(_cas.build(record, __name__).to_xmi(pretty_print=True))}
