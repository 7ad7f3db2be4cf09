"""CDA R2 with C-CDA's extensions: a clinical document in XML, or an element cut from one.

`cda.toml` says of every element and attribute what becomes of it. Ids of the document, of people and of elements go
through one map, so that a reference into a section's text still leads there; what the header tells of people is looked
for in the text of the sections. Comments go, and processing instructions but for the stylesheet everybody uses.

Elements are told by their name and namespace, whatever prefix a sender has; they are written with HL7's namespace as
the default one, and the prefixes `sdtc`, `pharm` and `xsi`.
"""

import codecs
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files as resources
from typing import Any

from deident.document import Kind, Record
from deident.errors import FormatError
from deident.formats import Files, _attachments, _markup, _xml
from deident.formats._structure import (
    CODE,
    COUNTRY,
    MIME,
    NUMBER,
    UNIT,
    YEARS,
    Builder,
    Either,
    Encode,
    Part,
    Parts,
    Slot,
    is_affix,
    opaque,
    public,
    words,
    written,
)
from deident.labels import Category, Label

SUFFIXES = (".xml",)
ALSO = (".cda", ".ccda")
STRUCTURED = True

DEEPEST = 100
SPACE = "urn:hl7-org:v3"
_SCHEMA = "http://www.w3.org/2001/XMLSchema-instance"
_PREFIXES: Mapping[str, str] = {"urn:hl7-org:sdtc": "sdtc", "urn:hl7-org:pharm": "pharm", _SCHEMA: "xsi"}
_ROOT = "ClinicalDocument"
# Types of files that may be text: one in base64 may be mislabelled, and is judged by what is in it.
_TEXTS = re.compile(r"$|text/|application/(?:xml|xhtml\+xml|cda\+xml)\b")
_MARKED = re.compile(r"(?!image/|audio/|video/)")
_STYLESHEET = re.compile(r"""type=["']text/xsl["']\s+href=["'](?:C?CDA|c?cda)\.xsl["']\s*""")
# The first tag, behind the declaration, stylesheets and comments.
_FIRST = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*)*+<(?:[A-Za-z0-9_-]+:)?([A-Za-z]+)(?:\s[^>]*)?(?:>|\Z)",
    re.DOTALL,
)

# A code of HL7 in capitals; a telecom or an address may have several uses.
_FLAG = re.compile(r"[A-Z][A-Z0-9]{0,13}|true|false|[01]|b64")
_USES = words(
    "H HP HV WP DIR PUB BAD TMP AS EC MC PG L C A I P R SRCH SNDX PHON SYL IDE ABC OR OLD CONF ASGN PHYS PST HPL"
)
_VERSION = re.compile(r"POCD_HD000040|\d{4}-\d\d-\d\d|\d+(?:\.\d+)*")
_DIGITS = re.compile(r"-?\d{1,9}(?:\.\d{1,9})?(?: -?\d{1,9}(?:\.\d{1,9})?)*")
_AGE = re.compile(r"\d+(?:\.\d+)?")
# Codes of observations whose value is an age, in years where it has no unit (SNOMED CT, LOINC).
_AGES = words("445518008 397659008 424144002 30525-0 21612-7 29553-5 63932-8 39016-1 35659-2")
_OLD = 90  # years: 45 CFR 164.514(b)(2)(i)(C)
_IN_A_YEAR = {"mo": 12, "wk": 52, "d": 365, "h": 8760, "min": 525_600}
_SCHEME = re.compile(r"(tel|fax|mailto|sms|https?|ftp|sip|xmpp|x-text-fax|modem|mllp|file|nfs|telnet):", re.IGNORECASE)
_SCHEMES: Mapping[str, Label] = {
    "fax": Label.FAX, "x-text-fax": Label.FAX, "mailto": Label.EMAIL, "xmpp": Label.EMAIL, "sip": Label.EMAIL,
    "tel": Label.PHONE, "sms": Label.PHONE, "modem": Label.PHONE,
}  # fmt: skip
_SSN = "2.16.840.1.113883.4.1"
_LICENCES = "2.16.840.1.113883.4.3."  # of drivers, by state
_PLANS = words("2.16.840.1.113883.4.572 2.16.840.1.113883.4.927 2.16.840.1.113883.4.338")  # Medicare's numbers
# What an entity is, by its classCode: a substance or a device, a place, an organization; anybody else is a person.
_SUBSTANCES = words("MMAT MAT MANU DEV FOOD CHEM HOLD CER MODDV CONT ACCESS")
_PLACES = words("PLC CITY COUNTRY COUNTY PROVINCE")
_ORGANIZATIONS = words("ORG PUB STATE NAT RGRP")


@dataclass(frozen=True, slots=True)
class Rule:
    how: str
    label: Label | None = None


@dataclass(frozen=True, slots=True)
class Table:
    elements: Mapping[str, Mapping[str, Rule]]  # by table, then by the name of a child, @attribute or #text
    types: Mapping[str, str]  # xsi:type → table


_ANY = "*"


@cache
def table() -> Table:
    """What `cda.toml` says."""
    data: Mapping[str, Mapping[str, str]] = tomllib.loads(
        (resources("deident.formats") / "cda.toml").read_text(encoding="utf-8")
    )
    elements: dict[str, dict[str, Rule]] = {}
    for name, rows in data.items():
        own = elements.setdefault(name, {})
        for said, members in rows.items():
            how, _, label = said.partition(" ")
            own |= dict.fromkeys(members.split(), Rule(how, Label(label) if label else None))
    types = {kind: rule.how for kind, rule in elements.pop("types").items()}
    everywhere = elements[_ANY]
    return Table({name: {**everywhere, **rows} for name, rows in elements.items()}, types)


# -- files -------------------------------------------------------------------------------------------------------------


def sniff(suffix: str, head: bytes) -> bool:
    """By the first element, behind comments and stylesheets: a note in another format may speak of CDA."""
    first = _FIRST.match(head) if suffix in (".xml", *ALSO) else None
    return first is not None and (first[1] == _ROOT.encode() or SPACE.encode() in first[0])


def read(files: Files, *, name: str) -> Record:
    data = files[".xml"]
    if not data.strip():
        raise FormatError("the file is empty")
    root = _xml.parse(data)
    builder = Builder("cda", name)
    parts = _document(builder, root, "")
    if parts is None:
        raise FormatError("not a CDA document, nor an element of one that is listed")
    declared = data.removeprefix(codecs.BOM_UTF8).startswith((b"<?xml", codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return builder.record(['<?xml version="1.0" encoding="UTF-8"?>\n' * declared, *parts])


def write(record: Record) -> dict[str, bytes]:
    return {".xml": written(record, "cda")}


def embedded(builder: Builder, text: str, path: str) -> Parts | None:
    """The parts of a document inside another record; None for what is no CDA document."""
    try:
        root = _xml.parse(re.sub(r"^\s*<\?xml[^>]*\?>", "", text).encode("utf-8", "surrogatepass"))
    except FormatError:
        return None
    return _document(builder, root, f"{path}/") if root.tag == f"{{{SPACE}}}{_ROOT}" else None


def _document(builder: Builder, root: Any, path: str) -> Parts | None:
    """The root with what stands before and after it."""
    walk = _Walk(builder, root)
    name = walk.name(root)
    rules = walk.rules.elements
    own = name if name in rules and name != _ANY and not name.isupper() else _of_every(name)
    if own is None:
        return None
    outer, builder.scope = builder.scope, builder.scope or _patient(root)
    before = [part for node in root.itersiblings(preceding=True) for part in reversed(_beside(builder, node))]
    made = walk.element(root, Rule(own), _At(root, name, f"{path}{name}", None, 0))
    after = [part for node in root.itersiblings() for part in _beside(builder, node)]
    builder.scope = outer
    return (*reversed(before), *made, *after)


def _of_every(name: str) -> str | None:
    """The data type that an element has wherever it may stand: `addr` is an address."""
    found = {rows[name].how for rows in table().elements.values() if name in rows}
    return found.pop() if len(found) == 1 and found <= {*table().elements} else None


def _beside(builder: Builder, node: Any) -> list[str]:
    """A comment or a processing instruction beside the root: the one that names the usual stylesheet stays."""
    if getattr(node, "target", None) == "xml-stylesheet" and _STYLESHEET.fullmatch(node.text or ""):
        return [f"<?xml-stylesheet {node.text}?>", "\n"]
    builder.block("(processing instruction)" if hasattr(node, "target") else "(comment)")
    return []


def _patient(root: Any) -> str:
    """Whose a document is: the first number of its first patient that is no social security number, or else that."""
    space = root.tag.rpartition("}")[0].removeprefix("{")
    at = f"{{{space}}}" if space else ""
    role = next(root.iter(f"{at}patientRole"), None)
    numbers = role.iter(f"{at}id") if role is not None else ()
    ids = [(item.get("root", ""), item.get("extension", "")) for item in numbers]
    own = [extension or oid for oid, extension in ids if oid != _SSN]
    return next(filter(None, [*own, *(extension for _, extension in ids)]), "")


# -- walking -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _At:
    """Where a value stands: its element, the label around it, how deep it is, how a value is written there."""

    element: Any
    name: str
    path: str
    label: Label | None
    depth: int
    form: Encode = _xml.attribute


Leaf = Callable[[str, _At], Parts | None]  # None for what is blocked


class _Walk:
    """One document on its way into parts."""

    def __init__(self, builder: Builder, root: Any) -> None:
        self.builder = builder
        self.rules = table()
        self.space = SPACE if root.tag.startswith(f"{{{SPACE}}}") else ""
        self.root = root
        self.leaves: Mapping[str, Leaf] = {
            "flag": self._flag, "code": self._code, "unit": self._unit, "number": self._number,
            "quantity": self._quantity, "system": self._system, "sysname": self._system_name, "term": self._term,
            "table": self._table, "root": self._root, "extension": self._extension, "version": self._version,
            "id": self._id, "link": self._link, "telecom": self._telecom, "date": self._date, "birth": self._birth,
            "text": self._text, "name": self._name, "affix": self._affix, "country": self._country,
            "mime": self._mime, "types": self._types, "prose": self._prose,
        }  # fmt: skip

    def name(self, node: Any) -> str:
        """The name that tables have for an element, "" for those of other namespaces."""
        return self._named(node.tag) if isinstance(node.tag, str) else ""

    def _named(self, tag: str) -> str:
        space, _, local = tag.rpartition("}")
        space = space.removeprefix("{")
        if space == self.space:
            return local
        return f"{_PREFIXES[space]}:{local}" if space in _PREFIXES else ""

    # -- elements --------------------------------------------------------------------------------------------------

    def element(self, element: Any, rule: Rule, at: _At) -> Parts:
        """An element that is listed, with all in it that is."""
        if at.depth > DEEPEST:
            raise FormatError("elements in elements too deep", line=element.sourceline)
        match rule.how:
            case "narrative":
                return _markup.parts(self.builder, element, at.path, _markup.CDA)
            case "file":
                return self._file(element, at)
            case "any":
                rule = self._typed(element)
            case "entity":
                rule = _entity(element.getparent())
            case _:
                pass
        if rule.how == "ED" and _is_base64(element):
            return self._file(element, at)
        rows = self.rules.elements.get(rule.how) or self.rules.elements[_ANY]
        at = replace(at, label=rule.label or at.label)
        if rule.how == "PN":
            self._learn_name(element, at.label or Label.PATIENT)
        return self._written(element, at, self._attributes(element, rows, at), self._content(element, rows, at))

    def _written(self, element: Any, at: _At, attributes: list[Part], content: list[Part]) -> Parts:
        opening: list[Part] = [f"<{at.name}", *(self._declared() if element is self.root else ()), *attributes]
        return (*opening, ">", *content, f"</{at.name}>") if content else (*opening, "/>")

    def _declared(self) -> Iterator[str]:
        """The namespaces of the document; no others are written, and no prefix of the sender's."""
        used = set(self.root.nsmap.values())
        for node in self.root.iter("*"):
            used |= {tag.rpartition("}")[0].removeprefix("{") for tag in (node.tag, *node.attrib)}
        if self.space:
            yield f' xmlns="{self.space}"'
        for uri, prefix in _PREFIXES.items():
            if uri in used:
                yield f' xmlns:{prefix}="{uri}"'

    def _typed(self, element: Any) -> Rule:
        """What an element of any type is, by its xsi:type; of an unknown type it has nothing that can be judged."""
        kind = element.get(f"{{{_SCHEMA}}}type", "").rpartition(":")[2]
        name = self.rules.types.get(kind, "")
        return Rule(name, {"ON": Label.ORGANIZATION, "PN": Label.PATIENT}.get(name))

    def _content(self, element: Any, rows: Mapping[str, Rule], at: _At) -> list[Part]:
        texts = _Texts(self, rows.get("#text"), replace(at, form=_xml.escape), _texts(element))
        parts = texts.next()
        for child in element:
            parts += self._child(child, rows, at)
            parts += texts.next()
        return parts

    def _child(self, child: Any, rows: Mapping[str, Rule], at: _At) -> Parts:
        if not isinstance(child.tag, str):
            self.builder.block("(processing instruction)" if hasattr(child, "target") else "(comment)")
            return ()
        name = self.name(child)
        rule = rows.get(name)
        if rule is None or rule.how == "block":
            self.builder.block(f"{at.path}/{name if rule is not None else '?'}")
            return ()
        told = Rule(name, rule.label) if rule.how == "own" else rule
        return self.element(child, told, _At(child, name, f"{at.path}/{name}", at.label, at.depth + 1))

    def _attributes(self, element: Any, rows: Mapping[str, Rule], at: _At) -> list[Part]:
        parts: list[Part] = []
        for tag, value in element.attrib.items():
            name = self._named(tag) if tag.startswith("{") else tag
            if tag.startswith("{") and ":" not in name:  # in HL7's namespace there are no attributes
                name = ""
            rule = rows.get(f"@{name}")
            where = replace(at, path=f"{at.path}@{name if rule is not None else '?'}", label=_label(rule, at))
            leaf = self.leaves.get(rule.how) if rule is not None and value.strip() else None
            made = leaf(value, where) if leaf is not None else None
            if made is None:
                if value.strip():
                    self.builder.block(where.path)
            elif len(made) == 1 and isinstance(made[0], Either):  # a date may be nothing in the end
                masked = () if "nullFlavor" in element.attrib else (' nullFlavor="MSK"',)
                parts.append(Either(made[0].doc, (f' {name}="', *made[0].there, '"'), masked))
            else:
                parts += [f' {name}="', *made, '"']
        return parts

    def _file(self, element: Any, at: _At) -> Parts:
        """A file in base64, or as it is: scrubbed if it is text, HTML or a CDA document; else it leaves a mark."""
        text = "".join(_texts(element))
        kind = "base64" if _is_base64(element) else ""
        made = None
        opened = _MARKED if kind else _TEXTS
        if text.strip() and element.get("compression") is None and opened.match(element.get("mediaType", "")):
            made = _attachments.embedded(self.builder, text, kind, at.path, form=_xml.escape)
        elif not text.strip():
            made = ()
        if made is None:
            self.builder.block(at.path)
        for child in element:
            self._child(child, {}, at)  # a reference to a file elsewhere, a thumbnail
        attributes = self._attributes(element, self.rules.elements["ED"], at)
        if not made and "nullFlavor" not in element.attrib:
            attributes.append(' nullFlavor="MSK"')
        return self._written(element, at, attributes, [made] if made else [])

    # -- what stays ------------------------------------------------------------------------------------------------

    def _if(self, stays: bool, value: str, at: _At) -> Parts | None:
        return (self.builder.retained(value, at.path, at.form),) if stays else self._prose(value, at)

    def _flag(self, value: str, at: _At) -> Parts | None:
        if _FLAG.fullmatch(value) or _USES.issuperset(value.split()):
            return (self.builder.retained(value, at.path, at.form),)
        return None

    def _types(self, value: str, at: _At) -> Parts | None:
        kind = value.rpartition(":")[2]
        return (self.builder.number(kind, at.path),) if kind in self.rules.types else None

    def _code(self, value: str, at: _At) -> Parts | None:
        return self._if(CODE.fullmatch(value) is not None, value, at)

    def _unit(self, value: str, at: _At) -> Parts | None:
        return self._if(UNIT.fullmatch(value) is not None, value, at)

    def _mime(self, value: str, at: _At) -> Parts | None:
        return (self.builder.retained(value, at.path, at.form),) if MIME.fullmatch(value) else None

    def _number(self, value: str, at: _At) -> Parts | None:
        return (self.builder.retained(value, at.path, at.form),) if _DIGITS.fullmatch(value) else None

    def _quantity(self, value: str, at: _At) -> Parts | None:
        if not NUMBER.fullmatch(value):
            return None
        unit = at.element.get("unit", "").casefold()
        is_age = _AGE.fullmatch(value) is not None and self._is_age(at.element)
        if _AGE.fullmatch(value) and (unit in YEARS or (not unit and is_age)):
            return (Slot(self.builder.field(value, Label.AGE, Kind.AGE, at.path), form=at.form),)
        if is_age and float(value) >= _OLD * _IN_A_YEAR.get(unit, 1):
            return None
        return (self.builder.retained(value, at.path, at.form),)

    def _is_age(self, element: Any) -> bool:
        """Whether the observation that an element is in asks for an age."""
        for outer in (element.getparent(), *element.iterancestors()):
            if outer is not None and self.name(outer) == "observation":
                codes = (child.get("code") for child in outer if self.name(child) == "code")
                return any(code in _AGES for code in codes)
        return False

    def _version(self, value: str, at: _At) -> Parts | None:
        if public(at.element.get("root", "")) and _VERSION.fullmatch(value):
            return (self.builder.retained(value, at.path, at.form),)
        return self._identifier(value, Label.IDNUM, at)

    # -- systems, identifiers --------------------------------------------------------------------------------------

    def _system(self, value: str, at: _At) -> Parts | None:
        if public(value):
            return (self.builder.retained(value, at.path, at.form),)
        return self._identifier(value, Label.IDNUM, at)

    def _system_name(self, value: str, at: _At) -> Parts | None:
        if public(at.element.get("codeSystem", "")):
            return self._term(value, at)
        return self._text(value, replace(at, label=Label.ORGANIZATION))

    def _term(self, value: str, at: _At) -> Parts | None:
        return self._table(value, at) if public(at.element.get("codeSystem", "")) else self._prose(value, at)

    def _table(self, value: str, at: _At) -> Parts | None:
        if opaque(value):
            return None
        return (Slot(self.builder.term(value, at.path), form=at.form),)

    def _root(self, value: str, at: _At) -> Parts | None:
        if at.element.get("extension"):
            return self._system(value, at)
        if public(value):
            return (self.builder.retained(value, at.path, at.form),)
        self.builder.know(_numbered(at.label), value)
        return self._identifier(value, _numbered(at.label), at)

    def _extension(self, value: str, at: _At) -> Parts | None:
        oid = at.element.get("root", "")
        label = _numbered(at.label)
        if oid == _SSN:
            label = Label.SSN
        elif oid.startswith(_LICENCES):
            label = Label.LICENSE
        elif oid in _PLANS:
            label = Label.HEALTHPLAN
        self.builder.know(label, value)
        return self._identifier(value, label, at)

    def _identifier(self, value: str, label: Label, at: _At) -> Parts:
        return (Slot(self.builder.field(value, label, Kind.ID, at.path), form=at.form),)

    def _id(self, value: str, at: _At) -> Parts:
        return self._identifier(value, Label.IDNUM, at)

    def _link(self, value: str, at: _At) -> Parts | None:
        if value.startswith("#") and len(value) > 1:
            return ("#", *self._identifier(value[1:], Label.IDNUM, at))
        return (Slot(self.builder.field(value, Label.URL, Kind.URI, at.path), form=at.form),)

    def _telecom(self, value: str, at: _At) -> Parts | None:
        found = _SCHEME.match(value)
        scheme = found[1] if found is not None else ""
        label = _SCHEMES.get(scheme.casefold())
        if label is None and scheme:
            return self._link(value, at)
        bare = value[len(scheme) + 1 :] if scheme else value
        label = label or (Label.EMAIL if "@" in value else Label.PHONE)
        if not bare.strip():
            return None
        self.builder.know(label, bare)
        doc = self.builder.field(bare, label, Kind.TEXT, at.path)
        return (f"{scheme}:" * bool(scheme), Slot(doc, form=at.form))

    # -- names, places, dates, prose -------------------------------------------------------------------------------

    def _text(self, value: str, at: _At) -> Parts | None:
        label = at.label or Label.OTHER
        self.builder.know(label, value)
        return (Slot(self.builder.field(value, label, Kind.TEXT, at.path), form=at.form),)

    def _name(self, value: str, at: _At) -> Parts | None:
        label = at.label if at.label is not None and at.label.category is Category.NAME else Label.PATIENT
        return (Slot(self.builder.field(value, label, Kind.TEXT, at.path), form=at.form),)

    def _affix(self, value: str, at: _At) -> Parts | None:
        return self._if(True, value, at) if is_affix(value) else self._name(value, at)

    def _country(self, value: str, at: _At) -> Parts | None:
        stays = COUNTRY.fullmatch(value) is not None
        return self._if(True, value, at) if stays else self._text(value, replace(at, label=Label.COUNTRY))

    def _date(self, value: str, at: _At) -> Parts:
        doc = self.builder.field(value, Label.DATE, Kind.DATE, at.path)
        return (Either(doc, (Slot(doc, form=at.form),), ()),)

    def _birth(self, value: str, at: _At) -> Parts:
        self.builder.know(Label.DATE, "-".join(filter(None, (value[:4], value[4:6], value[6:8]))))
        return self._date(value, at)

    def _prose(self, value: str, at: _At) -> Parts | None:
        if opaque(value):
            return None
        return (Slot(self.builder.prose([("", value)], at.path), form=at.form),)

    def _learn_name(self, element: Any, label: Label) -> None:
        """The name that the parts of a name make together."""
        parts = [(self.name(child), "".join(_texts(child)).strip()) for child in element if self.name(child)]
        given = " ".join(text for name, text in parts if name == "given" and text)
        families = [text for name, text in parts if name == "family" and text]
        whole = " ".join(_texts(element)).strip()
        for family in families:
            self.builder.know(label, f"{family}, {given}" if given else family)
        if given and not families:
            self.builder.know(label, given)
        if whole:
            self.builder.know(label, whole)


class _Texts:
    """The text nodes of an element, one after the other. Those of prose are read as one text."""

    def __init__(self, walk: _Walk, rule: Rule | None, at: _At, texts: list[str]) -> None:
        self.walk = walk
        self.rule = rule
        self.at = replace(at, label=_label(rule, at))
        self.texts = texts
        self.place = 0
        self.doc: int | None = None
        self.pieces: dict[int, int] = {}
        if rule is not None and rule.how == "prose":
            said = {place: text for place, text in enumerate(texts) if text.strip() and not opaque(text)}
            self.pieces = {place: number for number, place in enumerate(said)}
            self.doc = walk.builder.prose([("", text) for text in said.values()], self.at.path) if said else None

    def next(self) -> list[Part]:
        place, self.place = self.place, self.place + 1
        text = self.texts[place]
        if not text.strip():
            return [_xml.escape(text)] if text else []
        if self.doc is not None and place in self.pieces:
            return [Slot(self.doc, self.pieces[place], self.at.form)]
        leaf = self.walk.leaves.get(self.rule.how) if self.rule is not None and self.rule.how != "prose" else None
        made = leaf(text.strip(), self.at) if leaf is not None else None
        if made is None:
            self.walk.builder.block(f"{self.at.path} (text)")
            return []
        start, end = len(text) - len(text.lstrip()), len(text.rstrip())
        return [text[:start], *made, text[end:]]


def _texts(element: Any) -> list[str]:
    """The text before the first child of an element, and that behind each of them."""
    return [element.text or "", *(child.tail or "" for child in element)]


def _is_base64(element: Any) -> bool:
    return element.get("representation", "").upper() == "B64"


def _label(rule: Rule | None, at: _At) -> Label | None:
    return rule.label if rule is not None and rule.label is not None else at.label


def _numbered(label: Label | None) -> Label:
    """The label of an identifier, where that of a name stands around it."""
    return label if label is not None and label.category is Category.ID else Label.IDNUM


def _entity(entity: Any) -> Rule:
    """What the name of an entity is; where nobody says, the role it plays tells."""
    role = entity.getparent()
    played = role.get("classCode", "") if role is not None else ""
    kind = entity.get("classCode") or {"SDLOC": "PLC", "MANU": "MMAT", "ACCESS": "MMAT"}.get(played, "")
    if kind in _SUBSTANCES:
        return Rule("ED")
    if kind in _PLACES:
        return Rule("ON", Label.HOSPITAL)
    return Rule("ON", Label.ORGANIZATION) if kind in _ORGANIZATIONS else Rule("PN", Label.PATIENT)
