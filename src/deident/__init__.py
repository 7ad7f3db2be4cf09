"""deident: find and remove, or replace, the identifiers of people in clinical free text.

    import deident

    d = deident.load(replace="surrogate", key_file="study.key")
    d.scrub("Seen by Dr. Okoro on 3/4/21.", patient="p7")
    df["note"] = d.scrub(df["note"], patient=df["pid"])

Nothing is imported before it is asked for.
"""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deident.api import Deidentifier, load
    from deident.config import Config
    from deident.document import Document, Failure, Patient, Record, Span
    from deident.errors import DeidentError, ProcessingError, UsageError
    from deident.labels import Category, Label
    from deident.pipeline import Pipeline

__version__ = "0.1.0"

__all__ = [
    "Category",
    "Config",
    "DeidentError",
    "Deidentifier",
    "Document",
    "Failure",
    "Label",
    "Patient",
    "Pipeline",
    "ProcessingError",
    "Record",
    "Span",
    "UsageError",
    "load",
]

_ROOMS: Mapping[str, tuple[str, ...]] = {
    "api": ("Deidentifier", "load"),
    "config": ("Config",),
    "document": ("Document", "Failure", "Patient", "Record", "Span"),
    "errors": ("DeidentError", "ProcessingError", "UsageError"),
    "labels": ("Category", "Label"),
    "pipeline": ("Pipeline",),
}
_WHERE = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'deident' has no attribute '{name}'")
    return getattr(importlib.import_module(f"deident.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
