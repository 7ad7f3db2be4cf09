"""What deident depends on and ships: `docs/licences.md`, a bill of materials (CycloneDX 1.5, JSON), the models' pins.

    python scripts/sbom.py licences            writes docs/licences.md
    python scripts/sbom.py bom > sbom.json     of the packages installed here that deident needs, with its extras

    python scripts/sbom.py pins                writes the SHA-256 of every file of the shipped models, after a new one

The first two follow the requirements in pyproject.toml, and theirs, through what is installed; run them where all
extras are.
"""

import argparse
import hashlib
import json
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from uuid import uuid4

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "licences.md"
MODELS = ROOT / "src" / "deident" / "models"
PINS = "SHA256SUMS"
FOR_TESTS = "test"  # of the extras the one that no user installs
RUN_TIME = "run time"


@dataclass(frozen=True, slots=True)
class Used:
    """A package that is needed, directly or by another, and for what: run time, or which extras."""

    name: str
    version: str
    licence: str
    uses: tuple[str, ...]
    direct: bool


def declared() -> dict[str, list[Requirement]]:
    """What pyproject.toml asks for, by extra; an extra that takes in another holds its requirements too."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups: dict[str, list[str]] = {RUN_TIME: project["dependencies"], **project["optional-dependencies"]}

    def of(group: str) -> Iterator[Requirement]:
        for text in groups[group]:
            asked = Requirement(text)
            if canonicalize_name(asked.name) != project["name"]:
                yield asked
                continue
            for extra in sorted(asked.extras):
                yield from of(extra)

    return {group: list(of(group)) for group in groups}


def licence_of(package: Distribution) -> str:
    """What a package says of its licence: its expression, else its classifiers, else the first line of what it says."""
    facts: Any = package.metadata  # a Message, though its type does not say so
    expression: str | None = facts.get("License-Expression")
    if expression:
        return expression
    named = [
        text.rpartition(" :: ")[2]
        for text in facts.get_all("Classifier") or ()
        if text.startswith("License :: ") and not text.endswith("OSI Approved")
    ]
    said = (facts.get("License") or "").strip().splitlines()
    return ", ".join(named) or (said[0][:60] if said else "")


def needed(group: Iterable[Requirement]) -> Iterator[tuple[str, Distribution, bool]]:
    """The packages of a group and all that they need in turn, each once, and whether it was asked for itself."""
    seen: set[str] = set()
    waiting = [(asked, True) for asked in group]
    while waiting:
        asked, direct = waiting.pop(0)
        name = canonicalize_name(asked.name)
        if name in seen or (asked.marker is not None and not asked.marker.evaluate({"extra": ""})):
            continue
        seen.add(name)
        try:
            package = distribution(asked.name)
        except PackageNotFoundError:
            raise SystemExit(f"{asked.name} is not installed: install the extras first") from None
        yield name, package, direct
        for text in package.requires or ():
            inner = Requirement(text)
            extras = asked.extras or {""}
            if inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in extras):
                inner.marker = None
                waiting.append((inner, False))


def used(groups: Collection[str] = ()) -> list[Used]:
    """Every package that these groups need, or any but the tests', in order of name."""
    uses: dict[str, list[str]] = {}
    direct: set[str] = set()
    found: dict[str, Distribution] = {}
    for group, asked in declared().items():
        if group == FOR_TESTS or (groups and group not in groups):
            continue
        for name, package, by_us in needed(asked):
            uses.setdefault(name, []).append(group)
            found[name] = package
            if by_us:
                direct.add(name)
    return [
        Used(
            name,
            found[name].version,
            licence_of(found[name]),
            (RUN_TIME,) if RUN_TIME in uses[name] else tuple(uses[name]),
            name in direct,
        )
        for name in sorted(found)
    ]


def page(packages: list[Used]) -> str:
    """The licences as a page. No versions: they change from day to day, and the bill of materials has them."""
    rows: Mapping[bool, list[str]] = {
        asked: [
            f"| {each.name} | {each.licence} | {', '.join(each.uses)} |" for each in packages if each.direct is asked
        ]
        for asked in (True, False)
    }
    head = ["| package | licence, as it says | needed for |", "|---|---|---|"]
    return "\n".join(
        [
            "# Licences of what deident depends on",
            "",
            "Written by `python scripts/sbom.py licences`; a test asks that every dependency of ours is listed.",
            "deident itself is under Apache-2.0 (`LICENSE`); what its word lists were made from stands in",
            "`src/deident/lexicons/SOURCES.md`. What only tests need is left out. `python scripts/sbom.py bom` writes",
            "a bill of materials (CycloneDX, JSON) of an installation, with versions.",
            "",
            "## Asked for by deident",
            "",
            *head,
            *rows[True],
            "",
            "## Asked for by those",
            "",
            *head,
            *rows[False],
            "",
        ]
    )


def bom(packages: list[Used]) -> dict[str, Any]:
    """The bill of materials: https://cyclonedx.org/docs/1.5/json/."""
    ours = distribution("deident")
    own = f"pkg:pypi/deident@{ours.version}"
    parts = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{each.name}@{each.version}",
            "name": each.name,
            "version": each.version,
            "purl": f"pkg:pypi/{each.name}@{each.version}",
            "scope": "required" if each.uses == (RUN_TIME,) else "optional",
            "licenses": [{"license": {"name": each.licence or "not stated"}}],
            "properties": [{"name": "deident:needed-for", "value": ", ".join(each.uses)}],
        }
        for each in packages
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid4()}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": "deident",
                "version": ours.version,
                "purl": own,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            },
        },
        "components": parts,
        "dependencies": [
            {"ref": own, "dependsOn": [part["purl"] for part, each in zip(parts, packages, strict=True) if each.direct]}
        ],
    }


def listed(text: str) -> dict[str, str]:
    """The packages of a page of licences, each with its licence."""
    rows = re.findall(r"^\| ([a-z0-9-]+) \| (.*?) \| .*? \|$", text, re.MULTILINE)
    return {name: licence for name, licence in rows if name != "package"}


def pins(folder: Path) -> str:
    """The hashes of the models' files, as `sha256sum -c SHA256SUMS` reads them."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.name != PINS)
    rows = [(hashlib.sha256(file.read_bytes()).hexdigest(), file.relative_to(folder).as_posix()) for file in files]
    return "".join(f"{digest}  {name}\n" for digest, name in rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python scripts/sbom.py")
    parser.add_argument("what", choices=("licences", "bom", "pins"))
    match parser.parse_args().what:
        case "licences":
            PAGE.write_text(page(used()), encoding="utf-8")
        case "pins":
            (MODELS / PINS).write_text(pins(MODELS), encoding="utf-8")
        case _:
            print(json.dumps(bom(used()), indent=2))


if __name__ == "__main__":
    main()
