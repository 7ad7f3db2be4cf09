"""What is shipped and what is depended on: pinned, listed, and under a licence that users can live with."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer
from scripts import sbom

from deident import cli

ROOT = Path(__file__).parents[1]
# beside these: LGPL for the driver of PostgreSQL, which is an extra and linked to nothing of ours
PERMISSIVE = re.compile(r"(?i)MIT|BSD|Apache|ISC|PSF|0BSD|Zlib|MPL|UNLICENSE|Python")
COPYLEFT = {"psycopg", "psycopg-binary"}


def test_the_models_are_those_that_were_pinned() -> None:
    """After a new model: python scripts/sbom.py pins. In an installation `sha256sum -c SHA256SUMS` checks them."""
    pinned = (sbom.MODELS / sbom.PINS).read_text(encoding="utf-8")
    assert pinned == sbom.pins(sbom.MODELS)
    assert "balanced/weights.npz" in pinned


def test_a_file_changed_added_or_gone_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "weights").write_bytes(b"1")
    first = sbom.pins(tmp_path)
    assert first == hashlib.sha256(b"1").hexdigest() + "  a/weights\n"
    (tmp_path / "a" / "weights").write_bytes(b"2")
    assert sbom.pins(tmp_path) != first
    (tmp_path / "b").write_bytes(b"")
    assert len(sbom.pins(tmp_path).splitlines()) == 2


def test_every_dependency_is_listed_with_its_licence() -> None:
    """After a new dependency: python scripts/sbom.py licences, where all extras are installed."""
    listed = sbom.listed((ROOT / "docs" / "licences.md").read_text(encoding="utf-8"))
    asked = {
        sbom.canonicalize_name(each.name)
        for group, names in sbom.declared().items()
        if group != sbom.FOR_TESTS
        for each in names
    }
    assert asked - set(listed) == set()
    for name, licence in listed.items():
        assert PERMISSIVE.search(licence) or name in COPYLEFT, f"{name} is under {licence or 'no licence that it says'}"


def test_the_bill_of_materials_names_what_every_user_installs() -> None:
    made: dict[str, Any] = json.loads(json.dumps(sbom.bom(sbom.used((sbom.RUN_TIME,)))))
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.5")
    names = {part["name"]: part for part in made["components"]}
    assert {"numpy", "typer", "lxml", "marisa-trie", "numba", "llvmlite"} <= set(names)
    references = {part["bom-ref"] for part in made["components"]}
    assert len(references) == len(made["components"])
    assert set(made["dependencies"][0]["dependsOn"]) <= references
    assert all(part["version"] and part["licenses"][0]["license"]["name"] for part in made["components"])


def commands(app: typer.Typer) -> Iterator[Callable[..., Any]]:
    yield from (each.callback for each in app.registered_commands if each.callback is not None)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            yield from commands(group.typer_instance)


def test_no_secret_is_given_on_the_command_line() -> None:
    """Other users of a machine see command lines: keys, passphrases and tokens come from files alone."""
    secret = re.compile(r"(?:^|_)(?:keys?|secret|pass(?:word|phrase)|tokens?)(?:_|$)")
    found: list[str] = []
    for command in commands(cli.app):
        for name, kind in get_type_hints(command).items():
            if secret.search(name):
                found.append(name)
                parts = set(get_args(kind) or (kind,)) - {type(None)}
                assert parts <= {Path, bool}, f"{command.__name__} takes {name} as a word"
    assert {"key_file", "vault_passphrase"} <= set(found), "they have other names now: mend this test"
