"""Kernels as machine code: made once, kept on disk, opened without numba."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from deident.learn import _compiled
from deident.learn._compiled import compiled

SOURCE = Path(__file__).parents[1] / "src" / "deident"
SCRUB = "import sys, deident; print(deident.load().scrub('Seen by Dr. Ada Okoro on 3/4/2021.'), 'numba' in sys.modules)"
SCRUBBED = "Seen by Dr. [DOCTOR] on [DATE]."


@compiled
def _add(rows: np.ndarray, weights: np.ndarray, times: int, share: float, whole: bool) -> float:
    total = 0.0
    for place in range(rows.shape[0]):
        for column in range(rows.shape[1]):
            total += rows[place, column] * weights[column] * times
            rows[place, column] = 0.0
    return total if whole else total * share


@compiled
def _makes(rows: np.ndarray) -> None:
    room = np.zeros(len(rows))
    rows[:] = room + 1


@pytest.fixture
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(_compiled, "_rooms", lambda source: [tmp_path])  # pyright: ignore[reportUnknownLambdaType]
    return tmp_path


@pytest.mark.parametrize(("whole", "share"), [(True, 0.5), (False, 0.25)])
def test_a_kernel_does_what_its_function_says(_in_folder: Path, whole: bool, share: float) -> None:
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    weights = np.arange(4, dtype=np.int64)
    wanted = _add.function(rows.copy(), weights, 3, share, whole)
    assert _add(rows, weights, 3, share, whole) == wanted > 0
    assert not rows.any()


def test_a_kernel_that_makes_arrays_is_refused(_in_folder: Path) -> None:
    with pytest.raises(TypeError, match="makes arrays or raises"):
        _makes(np.zeros(3))
    assert not list(_in_folder.iterdir())


def test_an_array_with_gaps_is_refused(_in_folder: Path) -> None:
    with pytest.raises(ValueError, match="one after the other"):
        _add(np.zeros((4, 4), dtype=np.float32)[:, ::2], np.zeros(2, dtype=np.int64), 1, 1.0, True)


def test_later_processes_open_what_was_kept_and_make_anew_what_is_damaged(tmp_path: Path) -> None:
    copied = shutil.copytree(SOURCE, tmp_path / "deident", ignore=shutil.ignore_patterns("__pycache__", "corpus"))

    def scrubbed() -> str:
        environment = os.environ | {"PYTHONPATH": str(copied.parent), "NUMBA_CACHE_DIR": str(tmp_path / "numba")}
        done = subprocess.run(
            [sys.executable, "-c", SCRUB], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    assert scrubbed() == f"{SCRUBBED} True"
    assert scrubbed() == f"{SCRUBBED} False"
    kept = sorted((copied / "learn" / "__pycache__").glob("*.o"))
    assert len(kept) > 5
    kept[0].write_bytes(kept[0].read_bytes()[:-10])
    assert scrubbed() == f"{SCRUBBED} True"
    assert scrubbed() == f"{SCRUBBED} False"
