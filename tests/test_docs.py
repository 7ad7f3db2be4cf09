"""The documentation: its references are up to date, its snippets run, its site is built and reads offline."""

import dataclasses
import inspect
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast

import pytest
import typer.main
from scripts import before_after, references, snippets

import deident
from deident import cli, config, formats
from deident.labels import Label
from tests.required import require

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
WRITTEN = (*references.PAGES,)
# snippets that cannot run here, by page, so that none joins them unseen
NOT_RUN = {"tutorial.md": 1, "spark.md": 1}


def _relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# --- what is read off the program ------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", references.PAGES)
def test_references_are_up_to_date(page: str) -> None:
    assert (DOCS / page).read_text(encoding="utf-8") == references.PAGES[page](), "python -m scripts.references"


def test_every_command_has_its_help() -> None:
    page = references.commands()
    for path in _commands():
        assert f"# {' '.join(('deident', *path))}\n" in page


def test_every_public_name_is_documented() -> None:
    page = references.names()
    for name in deident.__all__:
        value: Any = getattr(deident, name)
        assert f"## `deident.{name}`\n" in page
        assert inspect.getdoc(value), name
        for part, held in vars(value).items() if inspect.isclass(value) else ():
            if not part.startswith("_") and (inspect.isfunction(held) or isinstance(held, property | classmethod)):
                assert f"### `{name}.{part}`\n" in page
                assert inspect.getdoc(held), f"{name}.{part}"


def test_every_setting_is_documented() -> None:
    page = references.settings()
    for section in dataclasses.fields(config.Config):
        part = page.split(f"## `[{section.name}]`\n")[1].split("\n## ")[0]
        held = getattr(config.Config(), section.name)
        for setting in dataclasses.fields(held):
            row = re.search(rf"^\| `{setting.name}` \| `(.*)` \| (\w.*) \|$", part, re.M)
            assert row, f"{section.name}.{setting.name} needs a comment in config.py"
            shown = tomllib.loads(f"x = {row[1]}")["x"]
            read = config.build(type(held), {setting.name: shown}, where="docs/settings.md")
            assert read == held, setting.name


def test_every_format_has_a_section() -> None:
    page = (DOCS / "formats.md").read_text(encoding="utf-8")
    for name in formats.names():
        assert f"## `{name}`\n" in page, name


# --- what is shown ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", snippets.pages(), ids=_relative)
def test_snippets_say_the_truth(page: Path, tmp_path: Path) -> None:
    session = snippets.Session(tmp_path)
    for block in snippets.blocks(page.read_text(encoding="utf-8")):
        if block.why_not is None:
            assert session.wrong(block) is None, "python -m scripts.snippets --write, if what comes out is right"


def test_snippets_that_are_not_run_are_counted() -> None:
    found = {page.name: snippets.blocks(page.read_text(encoding="utf-8")) for page in snippets.pages()}
    skipped = {name: sum(block.why_not is not None for block in held) for name, held in found.items()}
    assert {name: count for name, count in skipped.items() if count} == NOT_RUN
    assert Counter(block.kind for held in found.values() for block in held) >= Counter(console=15, python=4)


@pytest.mark.parametrize(
    ("shown", "given", "like"),
    [
        ("$ a\nx\n", "$ a\nx  \n\n", True),
        ("$ a\nx\n", "$ a\ny\n", False),
        ("$ a\nx\n…\nz\n", "$ a\nx\n1\n2\nz\n", True),
        ("$ a\nx\n…\nz\n", "$ a\nx\n1\n2\n", False),
        ("$ a\nx\n", "$ a\nx\nmore\n", False),
    ],
)
def test_a_snippet_that_lies_is_seen(shown: str, given: str, like: bool) -> None:
    assert snippets.like(shown, given) is like


def test_a_page_that_lies_is_seen(tmp_path: Path) -> None:
    session = snippets.Session(tmp_path)
    page = "```console\n$ echo one\ntwo\n```\n\n```python\n>>> 1 + 1\n3\n```\n\n"
    page += "<!-- not run: why -->\n```python\n1 / 0\n```\n"
    first, second, third = snippets.blocks(page)
    assert session.wrong(first) == "$ echo one\none\n"
    assert "Expected" in (session.wrong(second) or "")
    assert third.why_not == "why"


def _commands() -> dict[tuple[str, ...], Any]:
    found: dict[tuple[str, ...], Any] = {}

    def walk(command: Any, path: tuple[str, ...]) -> None:
        found[path] = command
        for name, inner in getattr(command, "commands", {}).items():
            walk(inner, (*path, name))

    walk(cast(Any, typer.main.get_command(cli.app)), ())
    return found


def test_commands_that_are_shown_exist_with_their_options() -> None:
    """Those in indented blocks, too, which are not run: their notes are the reader's."""
    commands = _commands()
    seen = 0
    for page in [*snippets.pages(), *(ROOT / "src").rglob("CARD.md")]:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for line in re.findall(r"^(?:    +|\$ )(?:\S+/)?(deident .*)$", text, re.M):
            for command in re.split(r"\s[;|]\s", re.split(r"\s{2,}(?=[^-\s])", line)[0]):
                try:
                    words = shlex.split(command)
                except ValueError:
                    continue  # a sentence of a report
                if words[0] != "deident" or len(words) < 2 or not re.fullmatch(r"[a-z]+|--version|--help", words[1]):
                    continue
                path = tuple(words[1:3]) if tuple(words[1:3]) in commands else tuple(words[1:2])
                assert path in commands or words[1].startswith("--"), f"{_relative(page)}: {command}"
                options = {name for item in getattr(commands.get(path), "params", ()) for name in item.opts}
                options |= {name for item in getattr(commands.get(path), "params", ()) for name in item.secondary_opts}
                given = {word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)}
                assert given <= {*options, "--help", "--version"}, f"{_relative(page)}: {command}"
                seen += 1
    assert seen > 60


def test_gold_examples_are_the_notes() -> None:
    from deident.formats.inline import parse

    for gold in sorted((ROOT / "examples" / "gold").iterdir()):
        doc = parse(gold.read_text(encoding="utf-8"), name=gold.stem)
        assert doc.text == (ROOT / "examples" / "notes" / gold.name).read_text(encoding="utf-8")
        assert {span.label for span in doc.spans} > {Label.DATE}


def test_the_picture_is_what_comes_out() -> None:
    assert before_after.PICTURE.read_text(encoding="utf-8") == before_after.picture(), "python -m scripts.before_after"


# --- the site --------------------------------------------------------------------------------------------------------


class _Loads(HTMLParser):
    """What a page makes a browser load."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("script", "img", "iframe", "source", "video", "audio"):
            self.loaded.append(given.get("src") or "")
        elif tag == "link":
            self.loaded.append(given.get("href") or "")
        assert "mermaid" not in (given.get("class") or "")  # it would be fetched from elsewhere


def test_the_site_is_built_without_a_warning_and_reads_offline(tmp_path: Path) -> None:
    require("mkdocs", "docs")
    require("material", "docs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    assert not re.search(r"^(WARNING|ERROR)", done.stderr, re.M), done.stderr
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 25
    for page in pages:
        loads = _Loads()
        loads.feed(page.read_text(encoding="utf-8"))
        for address in loads.loaded:
            assert not re.match(r"(https?:)?//", address), f"{page.name} loads {address}"
            if address and not address.startswith("data:") and page.name != "404.html":
                assert (page.parent / address.split("?")[0]).resolve().exists(), f"{page.name} lacks {address}"
    for style in (tmp_path / "site").rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//|@import", style.read_text(encoding="utf-8")), style.name
