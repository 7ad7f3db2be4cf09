"""The keyboard: one key for each thing that can be done, and one for each label once labels are asked for.

A site's own keys, in the `[review.keys]` and `[review.label_keys]` tables of the configuration, go before these. A key
that would mean two things is refused when the project is opened, not found out while reading.
"""

from collections.abc import Mapping
from types import MappingProxyType

from deident.errors import ConfigError, UnknownNameError
from deident.labels import Label

KEYS: Mapping[str, str] = MappingProxyType(
    {
        "next": "j",
        "previous": "k",
        "accept": "a",
        "reject": "x",
        "relabel": "r",
        "reset": "g",
        "accept-all-same": "A",
        "reject-all-same": "X",
        "grow-end": "e",
        "shrink-end": "E",
        "grow-start": "s",
        "shrink-start": "S",
        "fit": "b",
        "add": "n",
        "add-everywhere": "N",
        "undo": "u",
        "submit": "Enter",
        "redacted": "v",
        "filter": "f",
        "find": "/",
        "help": "?",
    }
)

LABEL_KEYS: Mapping[Label, str] = MappingProxyType(
    {
        Label.PATIENT: "p", Label.DOCTOR: "d", Label.USERNAME: "u", Label.PROFESSION: "j", Label.HOSPITAL: "h",
        Label.DEPARTMENT: "e", Label.ROOM: "r", Label.ORGANIZATION: "o", Label.STREET: "s", Label.CITY: "c",
        Label.STATE: "t", Label.COUNTRY: "y", Label.ZIP: "z", Label.LOCATION_OTHER: "l", Label.AGE: "a",
        Label.DATE: "q", Label.PHONE: "f", Label.FAX: "x", Label.EMAIL: "m", Label.URL: "w", Label.IPADDR: "i",
        Label.SSN: "n", Label.MEDICALRECORD: "k", Label.HEALTHPLAN: "b", Label.ACCOUNT: "g", Label.LICENSE: "v",
        Label.VEHICLE: "1", Label.DEVICE: "2", Label.BIOID: "3", Label.IDNUM: "4", Label.OTHER: "0",
    }
)  # fmt: skip

# What the page does by itself with these, whatever else they are given.
RESERVED = frozenset(
    {"Escape", "Tab", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown", " "}
)


def keys(own: Mapping[str, str]) -> dict[str, str]:
    """What each thing is done with."""
    for name in own:
        if name not in KEYS:
            raise UnknownNameError("thing to do with a key", name, KEYS)
    return _checked({**KEYS, **own})


def label_keys(own: Mapping[str, str]) -> dict[str, str]:
    """What each label is chosen with."""
    names = {label.value: key for label, key in LABEL_KEYS.items()}
    for name in own:
        if name not in names:
            raise UnknownNameError("label", name, names)
    return _checked({**names, **own})


def _checked(chosen: dict[str, str]) -> dict[str, str]:
    by_key: dict[str, str] = {}
    for name, key in chosen.items():
        if key in RESERVED or (len(key) != 1 and key != "Enter") or key.isspace():
            raise ConfigError(f"'{key}' cannot be the key of '{name}': take one character, or Enter")
        if key in by_key:
            raise ConfigError(f"the key '{key}' is given to '{by_key[key]}' and to '{name}'")
        by_key[key] = name
    return chosen
