"""Benchmarks: each prints ratios measured in one run, and with --record writes them to docs/results/."""

import argparse
import platform
from datetime import date
from pathlib import Path

from deident import corpus
from deident.document import Document, corpus_hash

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"


def notes() -> list[Document]:
    """The notes of deident-open, all layouts: text to measure on that everybody has."""
    return list(corpus.load(corpus.OWN))


def report(name: str, lines: list[str], measured: list[Document]) -> None:
    """Prints the lines; with --record on the command line keeps them too."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}")
    parser.add_argument("--record", action="store_true", help="write docs/results/")
    recorded = parser.parse_args().record
    print("\n".join(lines))
    if recorded:
        keep(name, f"python -m benchmarks.{name} --record", f"one core; corpus {corpus_hash(measured)[:16]}", lines)


def keep(name: str, command: str, facts: str, lines: list[str]) -> None:
    """Writes the page of a benchmark: its command, when and on what it ran, what it printed."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    when = f"{date.today()}, Python {platform.python_version()}, {facts}"
    text = "\n".join(lines)
    (RESULTS / f"{name}.md").write_text(f"# {name}: `{command}`\n\n{when}\n\n```\n{text}\n```\n", encoding="utf-8")
