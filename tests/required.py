"""What a test needs and a machine may lack: skipped there, but not where everything must run (CI)."""

import importlib
import os
from typing import Any

import pytest

EVERYTHING = "DEIDENT_TEST_ALL"


def lacking(what: str) -> None:
    """Skips the module or test; with DEIDENT_TEST_ALL in the environment it fails instead."""
    if os.environ.get(EVERYTHING):
        pytest.fail(f"{what} is not there, and {EVERYTHING} says that everything must run", pytrace=False)
    pytest.skip(f"{what} is not there", allow_module_level=True)


def require(module: str, extra: str) -> Any:
    """The module; it comes with an extra."""
    try:
        return importlib.import_module(module)
    except ImportError:
        lacking(f"{module} (pip install 'deident[{extra}]')")
