"""What a run was: versions, settings, models, counts. No text, no name, no id, no path of a note.

Settings stand as they are, but for those that name files: a model or a pattern file is named by its SHA-256; of a
roster, a list of providers, a map of patients and a key only that there was one (a short list could be guessed from
its hash).
"""

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import UTC, date, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

from deident import __version__
from deident.batch._journal import digest
from deident.config import Config
from deident.replace import SURROGATES
from deident.surrogates import purpose_key

_SECTIONS = frozenset({"detect", "patients", "scrub", "limits"})
_PRIVATE = frozenset(
    {"roster", "providers", "key_file", "patient_map", "vault", "vault_key_file", "vault_passphrase_file"}
)
_PACKAGES = ("numpy", "numba", "lxml", "marisa-trie", "scikit-learn", "onnxruntime", "torch", "pyarrow")


def settings(config: Config) -> dict[str, Any]:
    """The settings as the manifest tells them."""
    return {section: {name: _told(name, value) for name, value in held.items()} for section, held in _plain(config)}


def _plain(config: Config) -> list[tuple[str, dict[str, Any]]]:
    return [(item.name, asdict(getattr(config, item.name))) for item in fields(config) if item.name in _SECTIONS]


def _told(name: str, value: object) -> object:
    if name in _PRIVATE:
        return bool(value)
    if isinstance(value, tuple | list):
        return [_told(name, item) for item in cast(tuple[object, ...], value)]
    if isinstance(value, str) and value and Path(value).exists():
        return f"sha256:{content_hash(Path(value))}"
    return value


def content_hash(path: Path) -> str:
    """SHA-256 of a file; of a folder, over the names and hashes of what lies below it."""
    if path.is_file():
        return str(digest(path)[1].hexdigest())
    hashed = hashlib.sha256()
    for inner in sorted(path.rglob("*")):
        if inner.is_file():
            hashed.update(f"{inner.relative_to(path).as_posix()}\0{content_hash(inner)}\n".encode())
    return hashed.hexdigest()


def fingerprint(key: bytes) -> str:
    """Names a key, and tells nothing of it."""
    return purpose_key(key, "fingerprint")[:8].hex()


def facts(config: Config, how: Mapping[str, object], key: bytes | None) -> dict[str, str]:
    """What a run that goes on must find unchanged: settings, and the files that they name by size and time."""
    told = [
        # a vault grows while the run goes on
        (section, name, value, [_stat(item) for item in cast(list[object], _listed(value)) if name != "vault"])
        for section, held in _plain(config)
        for name, value in sorted(held.items())
    ]
    year = config.scrub.as_of or date.today().year  # in which ages are told
    whole = json.dumps([told, year, sorted(how.items()), fingerprint(key) if key is not None else ""], default=str)
    return {
        "program": f"deident {__version__}",
        "settings": hashlib.sha256(whole.encode()).hexdigest(),
        "codes": "kept" if config.scrub.key_file and not for_names_alone(config, bool(how.get("renamed"))) else "drawn",
    }


def for_names_alone(config: Config, renamed: bool) -> bool:
    """Whether a key file is there for the names of files, and nothing else is drawn from it."""
    scrub = config.scrub
    return renamed and not scrub.policy and scrub.replace not in (*SURROGATES, "number")


def _listed(value: object) -> object:
    return value if isinstance(value, tuple | list) else [value]


def _stat(value: object) -> list[tuple[str, int, int]]:
    if not isinstance(value, str) or not value or not Path(value).exists():
        return []
    path = Path(value)
    files = [path] if path.is_file() else sorted(inner for inner in path.rglob("*") if inner.is_file())
    return [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]


def manifest(
    config: Config,
    how: Mapping[str, object],
    counts: Mapping[str, object],
    *,
    began: datetime,
    key: bytes | None = None,
) -> dict[str, Any]:
    """The manifest of a run that has ended now. `run` is the same for the same settings, key and counts."""
    told = settings(config)
    ended = datetime.now(UTC)
    whole = json.dumps([told, sorted(how.items()), sorted(counts.items())], default=str)
    return {
        "deident": __version__,
        "python": platform.python_version(),
        "packages": {name: found for name in _PACKAGES if (found := _version(name)) is not None},
        "run": hashlib.sha256(whole.encode()).hexdigest()[:16],
        "began": began.isoformat(timespec="seconds"),
        "ended": ended.isoformat(timespec="seconds"),
        "seconds": round((ended - began).total_seconds(), 1),
        "settings": told,
        "settings_sha256": hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest(),
        "key": fingerprint(key) if key is not None else None,
        **how,
        **counts,
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
