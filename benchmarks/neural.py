"""The networks: made, scored beside the CRF and in union with it, timed.

    make      trains one as it is shipped, and writes its folder (and for the transformer one in 32 bits beside it)
    scores    dev and style, unions, speed, memory, what eight bits lose, torch against onnxruntime

What each part of the published network is worth, and more notes, is asked by `deident experiment run
dernoncourt-figure5 dernoncourt-figure3`.
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks import RESULTS
from benchmarks.rules import CARRIERS, gold
from deident import corpus
from deident.corpus import make
from deident.document import Document, corpus_hash
from deident.evaluate import View, by_id, score
from deident.learn import bilstm, store, train, transformer
from deident.resolve import resolve

SEED = 11
SYNTHETIC = 1500
REPEATED = 2  # how often the gold notes stand among the synthetic ones
TRANSFORMER = transformer.Options(
    half=True, judged=200, patience=6, passes=1, recased=0.05, window_learned=128, every=50, int8=False
)
BILSTM = bilstm.Options(
    coupled=False, optimizer="adam", rate=2e-3, batch=1200, columns="beside", unit="document", stretch=100, passes=4,
    patience=3, recased=0.05, drop_words=0.02,
)  # fmt: skip


def lesson(carriers: Path, repeated: int) -> list[Document]:
    return [*(gold(carriers, "train") * repeated), *make.notes(SYNTHETIC, seed=SEED)]


def told(number: int, loss: float) -> None:
    print(f"  {number}: loss {loss:.4f}, {time.process_time():.0f} s", file=sys.stderr, flush=True)


def figures(notes: Sequence[Document], found: Sequence[Document]) -> list[str]:
    scores = score(by_id(notes), by_id(found))
    cells: list[str] = []
    for group in (scores.overall, scores.hipaa):
        micro = group[View.TOKEN_BINARY].micro
        cells += [f"{micro.p:.4f}", f"{micro.r:.4f}", f"{micro.f:.4f}"]
    return cells


def rows(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    return [
        "| " + " | ".join(heads) + " |",
        "|" + "---|" * len(heads),
        *("| " + " | ".join(line) + " |" for line in lines),
    ]


HEADS = ("P", "R", "F", "HIPAA P", "HIPAA R", "HIPAA F")


def made(given: argparse.Namespace) -> None:
    checkpoint = str(given.checkpoint) if given.checkpoint else ""
    documents, held = lesson(given.carrier_dir, REPEATED), gold(given.carrier_dir, "dev")
    options: Any = replace(BILSTM, vectors=str(given.vectors), checkpoint=checkpoint)
    if given.learner == "transformer":
        options = replace(TRANSFORMER, encoder=str(given.encoder), checkpoint=checkpoint)
    model = train.train(documents, held=held, learner=given.learner, options=options, told=told)
    if isinstance(model, transformer.Transformer):
        store.save(model, given.out.with_name(given.out.name + "-float"))
        model = transformer.in_eight_bits(model)
    store.save(model, given.out)


def measured(given: argparse.Namespace) -> list[str]:
    folders = dict(pair.split("=", 1) for pair in given.model)
    lines: list[str] = []
    for split in ("dev", "style"):
        notes = gold(given.carrier_dir, split)
        found = {name: list(train.predict(store.load(Path(folder)), notes)) for name, folder in folders.items()}
        table = [[name, *figures(notes, docs)] for name, docs in found.items()]
        names = list(found)
        for place, left in enumerate(names):
            for right in names[place + 1 :]:
                both = [
                    a.with_spans(resolve([*a.spans, *b.spans])) for a, b in zip(found[left], found[right], strict=True)
                ]
                table.append([f"{left} ∪ {right}", *figures(notes, both)])
        lines += ["", f"## {split} ({len(notes)} notes, {corpus_hash(notes)[:16]})", ""]
        lines += rows((split, *HEADS), table)
    speeds = [[name, *speed(Path(folder), given.carrier_dir)] for name, folder in folders.items()]
    return [*lines, "", "## Speed, one core", "", *rows(("model", "words/s", "peak RSS MB", "folder MB"), speeds)]


_TIMED = """
import json, resource, sys, time
from pathlib import Path
from deident.document import Document
from deident.learn import store
texts = json.loads(sys.stdin.read())
finder = store.load(Path(sys.argv[1])).finder()
notes = [Document(str(at), text) for at, text in enumerate(texts)]
list(finder.find(notes[:50]))
begin = time.process_time()
list(finder.find(notes[50:]))
took = time.process_time() - begin
words = sum(len(note.text.split()) for note in notes[50:])
print(words / took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def speed(folder: Path, carriers: Path) -> list[str]:
    """Words by white space a second of processor time, and the greatest memory, of a process with this model alone."""
    texts = list(corpus.carrier_texts(carriers / CARRIERS["mtsamples-phi"], corpus.STANDOFF["mtsamples-phi"]).values())
    command = [sys.executable, "-c", _TIMED, str(folder)]
    done = subprocess.run(command, input=json.dumps(texts[:350]), capture_output=True, text=True, check=True)
    words, memory = map(float, done.stdout.split())
    size = sum(file.stat().st_size for file in folder.iterdir())
    return [f"{words:,.0f}", f"{memory:.0f}", f"{size / 1e6:.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.neural")
    parser.add_argument("--carrier-dir", type=Path, required=True, help="where mtsamples/ and aci_bench/ lie")
    parser.add_argument("--record", action="store_true", help="write docs/results/")
    parts = parser.add_subparsers(dest="part", required=True)
    making = parts.add_parser("make")
    making.add_argument("learner", choices=["bilstm", "transformer"])
    making.add_argument("--encoder", type=Path, default=Path())
    making.add_argument("--vectors", default="env")
    making.add_argument("--checkpoint", type=Path)
    making.add_argument("--out", type=Path, required=True)
    scoring = parts.add_parser("scores")
    scoring.add_argument("--model", action="append", required=True, help="NAME=FOLDER, once for each")
    given = parser.parse_args()
    if given.part == "make":
        made(given)
        return
    lines = measured(given)
    print("\n".join(lines))
    if given.record:
        command = "python -m benchmarks.neural --carrier-dir DIR --record scores"
        facts = f"{date.today()}, Python {platform.python_version()}, one core"
        RESULTS.mkdir(parents=True, exist_ok=True)
        text = "\n".join([f"# neural: `{command}`", "", facts, *lines, ""])
        (RESULTS / "neural.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
