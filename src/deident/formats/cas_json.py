"""UIMA CAS as JSON (version 0.4 of the format): as `xmi`, in another dress.

    {"%TYPES": {…}, "%VIEWS": {"_InitialView": {"%SOFA": 1, "%MEMBERS": [2]}},
     "%FEATURE_STRUCTURES": [{"%ID": 1, "%TYPE": "uima.cas.Sofa", "sofaID": "_InitialView", "sofaString": "…"},
      {"%ID": 2, "%TYPE": "deident.Phi", "@sofa": 1, "begin": 12, "end": 17, "label": "DOCTOR"}]}

What is read and written, and what stays, is what `xmi` says. Offsets are UTF-16 units in the file.
"""

from collections.abc import Mapping
from typing import Any, cast

from deident.document import Record
from deident.errors import FormatError
from deident.formats import Files, _cas, _shared, decode, encode

SUFFIXES = (".json",)
_SOFA = "uima.cas.Sofa"


def sniff(suffix: str, head: bytes) -> bool:
    return suffix == ".json" and any(key in head for key in (b'"%TYPES"', b'"%FEATURE_STRUCTURES"', b'"%VIEWS"'))


def views(data: bytes) -> dict[str, _cas.View]:
    """The texts and annotations of every view, whatever their types."""
    value = _object(_shared.parse_json(decode(data)), "the file")
    structures = _structures(value.get("%FEATURE_STRUCTURES"))
    sofas = {key: _sofa(fs) for key, fs in structures.items() if fs.get("%TYPE") == _SOFA}
    annotations = {key: one for key, fs in structures.items() if (one := _annotation(fs, sofas)) is not None}
    return _cas.views(sofas, annotations, _members(value.get("%VIEWS"), sofas))


def read(files: Files, *, name: str) -> Record:
    return _cas.record(views(files[".json"]), __name__, files, name=name)


def _object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FormatError(f"{what} must be an object")
    return cast(dict[str, Any], value)


def _structures(value: object) -> dict[int, dict[str, Any]]:
    """The feature structures by their numbers; a list of them, or an object with the numbers as keys."""
    if isinstance(value, dict):
        items = [
            _object(fs, "a feature structure") | {"%ID": key} for key, fs in cast(dict[str, object], value).items()
        ]
    elif isinstance(value, list):
        items = [_object(fs, "a feature structure") for fs in cast(list[object], value)]
    else:
        raise FormatError('there are no "%FEATURE_STRUCTURES"')
    found: dict[int, dict[str, Any]] = {}
    for item in items:
        key = item.get("%ID")
        if isinstance(key, str) and key.isdecimal() and len(key) < 19:
            key = int(key)
        if type(key) is not int or key in found:
            raise FormatError("a feature structure without a number of its own")
        found[key] = item | {"%ID": key}
    return found


def _sofa(fs: dict[str, Any]) -> _cas.Sofa:
    name, text = fs.get("sofaID"), fs.get("sofaString")
    if not isinstance(name, str) or not name:
        raise FormatError("a view without a name")
    return _cas.Sofa.of(name, None if text is None else _shared.text_in(text, "a sofaString"))


def _annotation(fs: dict[str, Any], sofas: Mapping[int, _cas.Sofa]) -> tuple[int, _cas.Annotation] | None:
    """The sofa and the place of an annotation; None for what is no annotation."""
    name, sofa, begin, end = (fs.get(key) for key in ("%TYPE", "@sofa", "begin", "end"))
    if sofa is None or begin is None or end is None:
        return None
    if not isinstance(name, str) or type(begin) is not int or type(end) is not int or type(sofa) is not int:
        raise FormatError("an annotation needs a type and whole numbers begin, end and @sofa")
    if not _cas.is_annotation_type(name):
        return None
    if sofa not in sofas:
        raise FormatError("an annotation of a view that is not there")
    features = {key: fs.get(key) for key in _cas.OUR_FEATURES.get(name, ())}
    for key in {"id", "label", "source"} & {key for key, feature in features.items() if feature is not None}:
        _shared.text_in(features[key], f'"{key}"')
    return sofa, sofas[sofa].annotation(begin, end, name, features)


def _members(value: object, sofas: Mapping[int, _cas.Sofa]) -> dict[int, list[int]]:
    """The members of the views by their sofas; a view without one has no text."""
    by_name = _object(value, '"%VIEWS"')
    found: dict[int, list[int]] = {}
    for number, sofa in sofas.items():
        members: object = _object(by_name.get(sofa.name, {}), "a view").get("%MEMBERS", [])
        if not isinstance(members, list):
            raise FormatError("the members of a view must be a list")
        listed = cast(list[object], members)
        if not all(type(member) is int for member in listed):
            raise FormatError("the members of a view must be whole numbers")
        found[number] = cast(list[int], listed)
    return found


def write(record: Record) -> dict[str, bytes]:
    original = _shared.untouched(record, __name__)
    if original is not None:
        return original
    for doc in record.documents:
        encode(doc.text)
    return {".json": encode(_cas.build(record, __name__).to_json(pretty_print=True))}
