"""Runs what README.md and docs/ show, and sees whether it is still so.

    python -m scripts.snippets            says which pages show what is not so; exit code 1 if any does
    python -m scripts.snippets --write    puts what really comes out in place of what a page shows

Blocks fenced as `console` hold commands ("$ …") and what they print, those fenced as `python` code with assertions or
with `>>>`. The blocks of a page run in their order, in one folder that holds a copy of examples/. A line "…" stands for
any lines. A block under `<!-- not run: why -->` is not run. `py` shows a signature, which is nothing to run.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from deident import cli

ROOT = Path(__file__).parents[1]
_FENCE = re.compile(
    r"(<!-- not run: (?P<why>[^\n]+) -->\n+)?^```(?P<kind>console|python)\n(?P<text>.*?)^```$", re.M | re.S
)
# how far a long run is: said on a slow machine and not on a fast one
_PROGRESS = re.compile(r"^[a-z]+: [\d,]+ notes?\b.*%.*\n", re.M)


@dataclass(frozen=True, slots=True)
class Block:
    kind: str
    text: str
    start: int  # of the text in the page
    why_not: str | None = None  # it is not run


def pages() -> list[Path]:
    """Those that people wrote, and may hold snippets."""
    docs = ROOT / "docs"
    return [ROOT / "README.md", *(page for page in sorted(docs.rglob("*.md")) if page.parent.name != "results")]


def blocks(page: str) -> list[Block]:
    return [Block(found["kind"], found["text"], found.start("text"), found["why"]) for found in _FENCE.finditer(page)]


@dataclass(slots=True)
class Session:
    """The blocks of a page, run one after the other in a folder."""

    folder: Path
    names: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        shutil.copytree(ROOT / "examples", self.folder / "examples")

    def wrong(self, block: Block) -> str | None:
        """What the block really gives, where that is not what it shows."""
        with contextlib.chdir(self.folder):
            if block.kind == "python":
                return self._python(block.text)
            given = "".join(f"$ {command}\n{_printed(command)}" for command in _commands(block.text))
        return None if like(block.text, given) else given

    def _python(self, text: str) -> str | None:
        if not text.startswith(">>>"):
            exec(compile(text, "<page>", "exec"), self.names)
            return None
        said = io.StringIO()
        test = doctest.DocTestParser().get_doctest(text, self.names, "page", None, None)
        failed = doctest.DocTestRunner(verbose=False).run(test, out=said.write, clear_globs=False)
        return said.getvalue() if failed.failed else None


def _commands(text: str) -> Iterator[str]:
    for found in re.finditer(r"^\$ ((?:.*\\\n)*.*)$", text, re.M):
        yield found[1]


def _printed(command: str) -> str:
    """What a command prints: ours in this process, which has loaded everything; others, and what ours pipes to, by the
    shell."""
    ours, pipe, rest = command.replace("\\\n", " ").partition(" | ")
    if not ours.startswith("deident "):
        return _shell(command)
    said = _deident(shlex.split(ours))
    return _shell(rest, said) if pipe else said


def _shell(command: str, given: str = "") -> str:
    piped, both = given.encode(), subprocess.STDOUT
    done = subprocess.run(command, shell=True, input=piped, stdout=subprocess.PIPE, stderr=both, timeout=60)
    return done.stdout.decode()


def _deident(words: list[str]) -> str:
    kept = io.BytesIO()
    both = io.TextIOWrapper(kept, encoding="utf-8", write_through=True)
    with (
        mock.patch.object(sys, "argv", words),
        contextlib.redirect_stdout(both),
        contextlib.redirect_stderr(both),
        contextlib.suppress(SystemExit),
    ):
        cli.main()
    return _PROGRESS.sub("", kept.getvalue().decode())


def like(shown: str, given: str) -> bool:
    pattern = re.escape(_bare(shown)).replace("…\\\n", "(?:.*\\n)*?")
    return re.fullmatch(pattern, _bare(given)) is not None


def _bare(text: str) -> str:
    """Without blanks at the ends of lines, and empty lines at the end."""
    return re.sub(r"[ \t]+$", "", text, flags=re.M).rstrip("\n") + "\n"


def main() -> int:
    stale = 0
    for path in pages():
        page = new = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            session = Session(Path(folder))
            for block in blocks(page):
                given = None if block.why_not else session.wrong(block)
                if given is None:
                    continue
                stale += 1
                print(f"{path.relative_to(ROOT)}, line {page.count(os.linesep, 0, block.start)}:\n{given}")
                if block.kind == "console":
                    new = new.replace(f"```console\n{block.text}```", f"```console\n{_bare(given)}```")
        if "--write" in sys.argv[1:] and new != page:
            path.write_text(new, encoding="utf-8")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
