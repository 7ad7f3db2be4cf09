"""Finding what can be plugged in: the file name is the registration, and others plug in by entry points.

A room is a package of ours (`formats`, `detect`, `surrogates` …). Every module in it whose name has no leading
underscore is a member of that name; hyphens and underscores are the same. Another distribution adds members by the
entry-point group `deident.<room>`. Nothing is imported until it is asked for by name. What is installed is looked up
once a process: the formats are asked for again for every file.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from deident.errors import UnknownNameError


def _canonical(name: str) -> str:
    return name.lower().replace("_", "-")


@cache
def _members(room: str) -> Mapping[str, EntryPoint | None]:
    """The members of a room by name; an entry point where another distribution brings it."""
    package = importlib.import_module(f"deident.{room}")
    own = {_canonical(module.name): None for module in pkgutil.iter_modules(package.__path__) if module.name[0] != "_"}
    return own | {_canonical(point.name): point for point in entry_points(group=f"deident.{room}")}


def names(room: str) -> list[str]:
    """The names of all members of a room, sorted."""
    return sorted(_members(room))


def load(room: str, name: str) -> Any:
    """The member itself: our module, or whatever the entry point names. An unknown name lists those there are."""
    wanted = _canonical(name)
    members = _members(room)
    if wanted not in members:
        raise UnknownNameError(room.removesuffix("s").replace("detect", "detector"), name, members)
    point = members[wanted]
    return importlib.import_module(f"deident.{room}.{wanted.replace('-', '_')}") if point is None else point.load()
