"""The label scheme as one table: the 30 types of i2b2-2014 in their categories, and the maps to other schemes.

A row says, for one label: its category, the Safe Harbor item that names it (45 CFR 164.514(b)(2)(i)(A)–(R), "" where
none does, which is the HIPAA flag), and what i2b2-2006 (thesis, table 5.1), MIMIC (thesis 2.5), N-GRID 2016 and
NLM Scrubber (its annotation classes) call it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from deident.errors import UnknownNameError


class Category(StrEnum):
    """The eight categories of i2b2-2014."""

    NAME = "NAME"
    PROFESSION = "PROFESSION"
    LOCATION = "LOCATION"
    AGE = "AGE"
    DATE = "DATE"
    CONTACT = "CONTACT"
    ID = "ID"
    OTHER = "OTHER"


class Label(StrEnum):
    """What a span is. The 30 types, and OTHER for "an identifier of no stated type"."""

    PATIENT = "PATIENT"
    DOCTOR = "DOCTOR"
    USERNAME = "USERNAME"
    PROFESSION = "PROFESSION"
    HOSPITAL = "HOSPITAL"
    DEPARTMENT = "DEPARTMENT"
    ROOM = "ROOM"
    ORGANIZATION = "ORGANIZATION"
    STREET = "STREET"
    CITY = "CITY"
    STATE = "STATE"
    COUNTRY = "COUNTRY"
    ZIP = "ZIP"
    LOCATION_OTHER = "LOCATION-OTHER"
    AGE = "AGE"
    DATE = "DATE"
    PHONE = "PHONE"
    FAX = "FAX"
    EMAIL = "EMAIL"
    URL = "URL"
    IPADDR = "IPADDR"
    SSN = "SSN"
    MEDICALRECORD = "MEDICALRECORD"
    HEALTHPLAN = "HEALTHPLAN"
    ACCOUNT = "ACCOUNT"
    LICENSE = "LICENSE"
    VEHICLE = "VEHICLE"
    DEVICE = "DEVICE"
    BIOID = "BIOID"
    IDNUM = "IDNUM"
    OTHER = "OTHER"

    @property
    def category(self) -> Category:
        """The one of the eight to which the type belongs."""
        return TABLE[self].category

    @property
    def hipaa(self) -> bool:
        """Whether the Safe Harbor rule names the type (ages: those over 89). The official i2b2-2014 script filters
        otherwise; its list stands in `evaluate/i2b2.py`."""
        return TABLE[self].safe_harbor != ""

    @property
    def safe_harbor(self) -> str:
        """The letter of the Safe Harbor item, or "" where the rule does not name the type."""
        return TABLE[self].safe_harbor


@dataclass(frozen=True, slots=True)
class Row:
    category: Category
    safe_harbor: str
    i2b2_2006: str
    mimic: str
    ngrid: str
    nlm: str


_N, _P, _L, _A, _D, _C, _I, _O = Category

TABLE: Mapping[Label, Row] = MappingProxyType(
    {
        #                         category item i2b2-2006   MIMIC        N-GRID 2016     NLM Scrubber
        Label.PATIENT:        Row(_N, "A", "PATIENT",  "NAME",      "PATIENT",      "NAME"),
        Label.DOCTOR:         Row(_N, "",  "DOCTOR",   "NAME",      "DOCTOR",       "PROVIDER"),
        Label.USERNAME:       Row(_N, "",  "ID",       "ID",        "USERNAME",     "ID"),
        Label.PROFESSION:     Row(_P, "",  "",         "",          "PROFESSION",   "EMPLOYER"),
        Label.HOSPITAL:       Row(_L, "",  "HOSPITAL", "HOSPITAL",  "HOSPITAL",     "ADDRESS"),
        Label.DEPARTMENT:     Row(_L, "",  "HOSPITAL", "HOSPITAL",  "DEPARTMENT",   "ADDRESS"),
        Label.ROOM:           Row(_L, "",  "LOCATION", "LOCATION",  "ROOM",         "ADDRESS"),
        Label.ORGANIZATION:   Row(_L, "A", "LOCATION", "LOCATION",  "ORGANIZATION", "EMPLOYER"),
        Label.STREET:         Row(_L, "B", "LOCATION", "LOCATION",  "STREET",       "ADDRESS"),
        Label.CITY:           Row(_L, "B", "LOCATION", "LOCATION",  "CITY",         "ADDRESS"),
        Label.STATE:          Row(_L, "",  "LOCATION", "LOCATION",  "STATE",        "ADDRESS"),
        Label.COUNTRY:        Row(_L, "",  "LOCATION", "LOCATION",  "COUNTRY",      "ADDRESS"),
        Label.ZIP:            Row(_L, "B", "LOCATION", "LOCATION",  "ZIP",          "ADDRESS"),
        Label.LOCATION_OTHER: Row(_L, "B", "LOCATION", "LOCATION",  "OTHER",        "ADDRESS"),
        Label.AGE:            Row(_A, "C", "AGE",      "AGE",       "AGE",          "AGE"),
        Label.DATE:           Row(_D, "C", "DATE",     "DATE",      "DATE",         "DATE"),
        Label.PHONE:          Row(_C, "D", "PHONE",    "PHONE",     "PHONE",        "ID"),
        Label.FAX:            Row(_C, "E", "PHONE",    "PHONE",     "FAX",          "ID"),
        Label.EMAIL:          Row(_C, "F", "ID",       "ID",        "EMAIL",        "ID"),
        Label.URL:            Row(_C, "N", "ID",       "ID",        "URL",          "ID"),
        Label.IPADDR:         Row(_C, "O", "ID",       "ID",        "IPADDR",       "ID"),
        Label.SSN:            Row(_I, "G", "ID",       "SSN",       "SSN",          "ID"),
        Label.MEDICALRECORD:  Row(_I, "H", "ID",       "ID",        "MEDICALRECORD", "ID"),
        Label.HEALTHPLAN:     Row(_I, "I", "ID",       "ID",        "HEALTHPLAN",   "ID"),
        Label.ACCOUNT:        Row(_I, "J", "ID",       "ID",        "ACCOUNT",      "ID"),
        Label.LICENSE:        Row(_I, "K", "ID",       "ID",        "LICENSE",      "ID"),
        Label.VEHICLE:        Row(_I, "L", "ID",       "ID",        "VEHICLE",      "ID"),
        Label.DEVICE:         Row(_I, "M", "ID",       "ID",        "DEVICE",       "ID"),
        Label.BIOID:          Row(_I, "P", "ID",       "ID",        "BIOID",        "ID"),
        Label.IDNUM:          Row(_I, "R", "ID",       "ID",        "IDNUM",        "ID"),
        Label.OTHER:          Row(_O, "R", "",         "",          "OTHER",        "PII"),
    }
)  # fmt: skip

TYPES: tuple[Label, ...] = tuple(label for label in Label if label is not Label.OTHER)

# What a name in another scheme means here. Where a scheme is coarser than ours, the commonest of its members stands
# for it; the map back (`to_scheme`) is exact.
SCHEMES: Mapping[str, Mapping[str, Label]] = MappingProxyType(
    {
        "i2b2-2014": {label.value: label for label in Label},
        "i2b2-2006": {
            "PATIENT": Label.PATIENT, "DOCTOR": Label.DOCTOR, "HOSPITAL": Label.HOSPITAL, "ID": Label.IDNUM,
            "DATE": Label.DATE, "LOCATION": Label.LOCATION_OTHER, "PHONE": Label.PHONE, "AGE": Label.AGE,
        },
        "mimic": {
            "NAME": Label.PATIENT, "DATE": Label.DATE, "LOCATION": Label.LOCATION_OTHER, "HOSPITAL": Label.HOSPITAL,
            "PHONE": Label.PHONE, "SSN": Label.SSN, "AGE": Label.AGE, "ID": Label.IDNUM,
        },
        "ngrid": {label.value: label for label in Label} | {"OTHER": Label.LOCATION_OTHER},
        "nlm": {
            "NAME": Label.PATIENT, "PROVIDER": Label.DOCTOR, "ID": Label.IDNUM, "ADDRESS": Label.LOCATION_OTHER,
            "DATE": Label.DATE, "AGE": Label.AGE, "EMPLOYER": Label.ORGANIZATION, "PII": Label.OTHER,
        },
        "category": {
            "NAME": Label.PATIENT, "PROFESSION": Label.PROFESSION, "LOCATION": Label.LOCATION_OTHER, "AGE": Label.AGE,
            "DATE": Label.DATE, "CONTACT": Label.PHONE, "ID": Label.IDNUM, "OTHER": Label.OTHER,
        },
        "ner": {  # the four classes of CoNLL, the six of WNUT 2017 and the commoner of OntoNotes
            "PER": Label.PATIENT, "PERSON": Label.PATIENT, "ORG": Label.ORGANIZATION, "GPE": Label.CITY,
            "LOC": Label.LOCATION_OTHER, "LOCATION": Label.LOCATION_OTHER, "FAC": Label.LOCATION_OTHER,
            "ORGANIZATION": Label.ORGANIZATION, "DATE": Label.DATE, "MISC": Label.OTHER,
            "CORPORATION": Label.ORGANIZATION, "GROUP": Label.ORGANIZATION, "PRODUCT": Label.OTHER,
            "CREATIVE-WORK": Label.OTHER,
        },
    }
)  # fmt: skip

# Spellings of our own types that other people's files use (PhysioNet-like exports, older guides, UIMA type names).
_SPELLINGS: Mapping[str, Label] = {
    "IPADDRESS": Label.IPADDR, "IP": Label.IPADDR, "MRN": Label.MEDICALRECORD, "MEDICAL-RECORD": Label.MEDICALRECORD,
    "HEALTH-PLAN": Label.HEALTHPLAN, "LICENCE": Label.LICENSE, "PAGER": Label.PHONE, "TELEPHONE": Label.PHONE,
    "LOCATIONOTHER": Label.LOCATION_OTHER, "ZIPCODE": Label.ZIP, "ORGANISATION": Label.ORGANIZATION,
}  # fmt: skip


def parse(name: str, *, scheme: str | None = None) -> Label:
    """The label that `name` means: in `scheme`, or else by our names, their spellings, then the coarser schemes."""
    key = name.strip().upper().replace("_", "-").replace(" ", "-")
    if scheme is not None:
        if scheme not in SCHEMES:
            raise UnknownNameError("label scheme", scheme, SCHEMES)
        found = SCHEMES[scheme].get(key)
        if found is None:
            raise UnknownNameError(f"label of {scheme}", name, SCHEMES[scheme])
        return found
    for table in (SCHEMES["i2b2-2014"], _SPELLINGS, SCHEMES["category"], SCHEMES["ner"], SCHEMES["nlm"]):
        if key in table:
            return table[key]
    raise UnknownNameError("label", name, (label.value for label in Label))


def to_scheme(label: Label, scheme: str) -> str:
    """What `scheme` calls this label; "" where it has no name for it (a PROFESSION in i2b2-2006)."""
    row = TABLE[label]
    match scheme:
        case "i2b2-2014" | "ner":
            return label.value
        case "i2b2-2006":
            return row.i2b2_2006
        case "mimic":
            return row.mimic
        case "ngrid":
            return row.ngrid
        case "nlm":
            return row.nlm
        case "category":
            return row.category.value
        case _:
            raise UnknownNameError("label scheme", scheme, SCHEMES)
