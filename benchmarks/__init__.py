"""Benchmarks: each prints ratios measured in one run, and with --record writes them to docs/results/."""

import argparse
import platform
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"


def notes() -> list[str]:
    """The example notes: text to measure on, ours and in the repository."""
    return [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples" / "notes").glob("*.txt"))]


def report(name: str, lines: list[str], corpus: str) -> None:
    """Prints the lines; with --record on the command line keeps them too."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}")
    parser.add_argument("--record", action="store_true", help="write docs/results/")
    recorded = parser.parse_args().record
    text = "\n".join(lines)
    print(text)
    if recorded:
        RESULTS.mkdir(parents=True, exist_ok=True)
        heading = f"# {name}: `python -m benchmarks.{name} --record`\n\n"
        facts = f"{date.today()}, Python {platform.python_version()}, one core; corpus {corpus[:16]}\n\n"
        (RESULTS / f"{name}.md").write_text(f"{heading}{facts}```\n{text}\n```\n", encoding="utf-8")
