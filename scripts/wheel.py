"""Builds wheel and sdist, looks at what is in them, installs the wheel where nothing is, and scrubs the example notes.

    python -m scripts.wheel

CI runs it; sizes and times are printed. It needs the package `build`, and an index to install from.
"""

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
MOST = 50_000_000  # bytes of the wheel


def missing(names: Iterable[str]) -> set[str]:
    """What the wheel should have and has not: every file of src/deident that git knows."""
    done = subprocess.run(["git", "ls-files", "deident"], cwd=SOURCE, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()) - set(names)


def strange(names: Iterable[str]) -> Iterator[str]:
    """What is no part of the package: tests, results, compiled or hidden files."""
    for name in names:
        inside = name.startswith("deident/") and (SOURCE / name).is_file()
        about = re.fullmatch(
            r"deident-[^/]+\.dist-info/(METADATA|WHEEL|RECORD|entry_points\.txt|licenses/LICENSE)", name
        )
        if not (inside or about) or re.search(r"__pycache__|\.pyc$|/\.|^deident/tests|/results/", name):
            yield name


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        _timed("built", [sys.executable, "-m", "build", "--outdir", str(out), str(ROOT)])
        (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
        with zipfile.ZipFile(wheel) as held:
            names = held.namelist()
        wrong = [f"the wheel lacks {name}" for name in sorted(missing(names))]
        wrong += [f"the wheel should not hold {name}" for name in strange(names)]
        with tarfile.open(sdist) as held:
            wrong += [f"the sdist should not hold {name}" for name in held.getnames() if "/docs/results" in name]
        size = wheel.stat().st_size
        if size > MOST:
            wrong.append(f"the wheel has {size:,} bytes, more than {MOST:,}")
        print(f"wheel {size / 1e6:.1f} MB, {len(names)} files; sdist {sdist.stat().st_size / 1e6:.1f} MB")
        if wrong:
            print(*wrong, sep="\n", file=sys.stderr)
            return 1
        there = out / "there"
        _timed("made an empty environment", [sys.executable, "-m", "venv", str(there)])
        _timed("installed", [str(there / "bin" / "pip"), "install", "-q", str(wheel)])
        command = [str(there / "bin" / "deident"), "scrub", str(ROOT / "examples" / "notes"), "-o", str(out / "clean")]
        _timed("scrubbed the first time", command, cwd=out)
        _timed("scrubbed again", [*command[:-1], str(out / "again")], cwd=out)
        clean = (out / "clean" / "nursing-note.txt").read_text(encoding="utf-8")
        return 0 if "303-555-0147" not in clean and "[PHONE]" in clean else 1


def _timed(what: str, command: list[str], cwd: Path = ROOT) -> None:
    begin = time.perf_counter()
    # nothing of the sources may be found by chance
    around = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    subprocess.run(command, cwd=cwd, env=around, check=True, stdout=subprocess.DEVNULL)
    print(f"{what}: {time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    sys.exit(main())
