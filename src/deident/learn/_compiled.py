"""The compiler behind the kernels."""

from typing import Any

import numba


def compiled(function: Any) -> Any:
    """The function as machine code, made at its first call and kept on disk."""
    return numba.njit(cache=True, nogil=True)(function)
