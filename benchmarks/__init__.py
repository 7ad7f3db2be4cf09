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
    text = "\n".join(lines)
    print(text)
    if recorded:
        RESULTS.mkdir(parents=True, exist_ok=True)
        heading = f"# {name}: `python -m benchmarks.{name} --record`\n\n"
        facts = f"{date.today()}, Python {platform.python_version()}, one core; corpus {corpus_hash(measured)[:16]}\n\n"
        (RESULTS / f"{name}.md").write_text(f"{heading}{facts}```\n{text}\n```\n", encoding="utf-8")
