"""Finding what can be plugged in: the file name is the registration, and others plug in by entry points.

A room is a package of ours (`formats`, `detect`, `surrogates` …). Every module in it whose name has no leading
underscore is a member of that name; hyphens and underscores are the same. Another distribution adds members by the
entry-point group `deident.<room>`. Nothing is imported until it is asked for by name.
"""

import importlib
import pkgutil
from importlib.metadata import entry_points
from typing import Any

from deident.errors import UnknownNameError


def _canonical(name: str) -> str:
    return name.lower().replace("_", "-")


def names(room: str) -> list[str]:
    """The names of all members of a room, sorted."""
    package = importlib.import_module(f"deident.{room}")
    own = {_canonical(module.name) for module in pkgutil.iter_modules(package.__path__) if module.name[0] != "_"}
    return sorted(own | {_canonical(point.name) for point in entry_points(group=f"deident.{room}")})


def load(room: str, name: str) -> Any:
    """The member itself: our module, or whatever the entry point names. An unknown name lists those there are."""
    wanted = _canonical(name)
    known = names(room)
    if wanted not in known:
        raise UnknownNameError(room.removesuffix("s").replace("detect", "detector"), name, known)
    for point in entry_points(group=f"deident.{room}"):
        if _canonical(point.name) == wanted:
            return point.load()
    return importlib.import_module(f"deident.{room}.{wanted.replace('-', '_')}")
