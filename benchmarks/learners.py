"""Linear learners on the project's gold: learned from `train`, scored on `dev`, and on `style`, which is sight unseen.

    speed    tokens → labels by tables, beside python-crfsuite with features made in Python, in the same run
    sets     every feature set with the CRF and with the SVM
    parts    the hybrid, step by step, two stages, EasyAdapt with general-domain names: with and without
    curve    what a part of the training notes is worth
    select   what a part of the features is worth

Each part is a page of its own in docs/results/. Every row is printed as soon as it is there.
"""

import argparse
import importlib
import platform
import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks import RESULTS
from benchmarks.rules import gold
from deident import evaluate
from deident.corpus import general
from deident.document import Document, corpus_hash
from deident.errors import MissingPackageError
from deident.learn import bridge, crf, features, linear, pages, store, train
from deident.learn.columns import Page
from deident.learn.tables import Tables, names_of
from deident.view import view

GENERAL = ("wikigold", "wnut17", "btc", "uner_ewt")
HEADS = "dev strict, token, binary HIPAA | style likewise"
Splits = Mapping[str, list[Document]]


def scored(model: store.Model, splits: Splits) -> str:
    cells: list[str] = []
    for name in ("dev", "style"):
        found = evaluate.by_id(train.predict(model, splits[name]))
        figures = evaluate.headline(evaluate.score(evaluate.by_id(splits[name]), found))
        shown = ("strict", "token", "binary-hipaa")
        cells.append("  ".join(" ".join(f"{figures[view_][key]:.3f}" for key in "prf") for view_ in shown))
    return " | ".join(cells)


def learned(splits: Splits, learner: str, set_: str, said: Mapping[str, str], **more: Any) -> tuple[store.Model, float]:
    begin = time.process_time()
    options = train.options_of(learner, said)
    model = train.train(splits["train"], learner=learner, features=set_, options=options, **more)
    return model, time.process_time() - begin


def row(name: str, model: store.Model, took: float, splits: Splits) -> str:
    return f"{name:34}  {scored(model, splits)}  {took:5.0f} s"


def sets(splits: Splits, _: Path | None) -> Iterator[str]:
    yield f"P R F of: {HEADS}; seconds of processor time to learn"
    for name, made in features.SETS.items():
        if name in ("beside", "decisions") or not (made().words or made().texts):
            continue  # what a network sees beside its words, and what an SVM sees of other systems, are no sets alone
        for learner in ("svm", "crf"):
            try:
                yield row(f"{name} {learner}", *learned(splits, learner, name, {}), splits)
            except MissingPackageError as error:
                yield f"{name} {learner}: not run, {error}"


def parts(splits: Splits, folder: Path | None) -> Iterator[str]:
    yield f"P R F of: {HEADS}; seconds of processor time to learn"
    yield row("crf deident", *learned(splits, "crf", "deident", {}), splits)
    model, took = learned(splits, "hybrid", "deident", {})
    for name, off in (
        ("hybrid: the two CRFs alone", ("rules", "correct", "reconcile")),
        ("+ rules", ("correct", "reconcile")),
        ("+ error correction", ("reconcile",)),
        ("+ global reconciliation", ()),
    ):
        options = {**model.manifest.options, **dict.fromkeys(off, False)}
        manifest = replace(model.manifest, options=options)
        yield row(name, model.described(manifest), took, splits)
    yield row("hybrid, headers learned from", *learned(splits, "hybrid", "deident", {"filter": "false"}), splits)
    yield row("two-stage deident", *learned(splits, "two-stage", "deident", {}), splits)
    yield row("two-stage illinois", *learned(splits, "two-stage", "illinois", {}), splits)
    for name, said in (("multi", {}), ("multi, our CRF among the bases", {"ours": "true"})):
        yield row(name, *learned(splits, "multi", "decisions", said), splits)
    if folder is None:
        yield "EasyAdapt: not run, --general-dir was not given"
        return
    sources = [general.read(folder / name) for name in GENERAL]
    yield row("crf + EasyAdapt, four domains", *learned(splits, "crf", "deident", {}, sources=sources), splits)
    merged = [doc for source in sources for doc in source]
    together = {**splits, "train": [*splits["train"], *merged]}
    yield row("crf, the same notes merely added", *learned(together, "crf", "deident", {}), splits)
    made = learned(splits, "hybrid", "deident", {"general": "true"}, sources=sources)
    yield row("hybrid, general names as features", *made, splits)


def curve(splits: Splits, _: Path | None) -> Iterator[str]:
    yield f"P R F of: {HEADS}; seconds of processor time to learn"
    order = sorted(splits["train"], key=lambda doc: doc.id)
    Random(1).shuffle(order)
    for share in (1, 5, 10, 25, 50, 100):
        some = order[: max(1, len(order) * share // 100)]
        made, took = learned({**splits, "train": some}, "crf", "deident", {})
        yield row(f"{share} %, {len(some)} notes", made, took, splits)


def select(splits: Splits, _: Path | None) -> Iterator[str]:
    yield f"P R F of: {HEADS}; seconds of processor time to learn"
    for most in (1_000, 5_000, 20_000, 80_000, 0):
        made, took = learned(splits, "crf", "deident", {"select": str(most)})
        assert isinstance(made, linear.Linear)
        name = f"{most:,} features" if most else "all features"
        yield row(f"{name}, {len(made.weights.keys):,} kept", made, took, splits)


def speed(splits: Splits, _: Path | None) -> Iterator[str]:
    """Processor time, so that what else the machine does counts little."""
    pycrfsuite: Any = importlib.import_module("pycrfsuite")
    begin = time.process_time()
    model, _took = learned(splits, "crf", "deident", {})
    assert isinstance(model, linear.Linear)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    seconds = time.process_time() - begin
    yield f"learning from all {len(splits['train'])} notes: {seconds:.0f} s, {memory:.1f} GB at most"
    lay_out = pages(model.features)
    dev = splits["dev"]
    laid = [lay_out(doc) for doc in dev]
    tokens = sum(len(page.words) for page in laid)
    tables = model.tables()

    def fresh() -> list[Page]:
        return [Page(page.view, page.hits) for page in laid]

    def run() -> None:
        for page in fresh():
            tables.tag(page)

    def whole() -> None:
        for doc in dev:
            view.cache_clear()
            list(finder.find([doc]))

    first = best(run, rounds=1)
    ours = best(run)
    finder = model.finder()
    whole()
    end_to_end = best(whole)
    yield f"{tokens:,} tokens of {len(dev)} notes (dev), processor time, one core"
    yield f"  tokens → labels and their chances, tables: {tokens / ours / 1e3:8.0f} thousand tokens/s"
    yield f"  the same, no word met before:              {tokens / first / 1e3:8.0f}"
    yield f"  text → spans, rules of the set included:   {tokens / end_to_end / 1e3:8.0f}"
    crfsuite = crf.CRF(model.features, crf.Options(algorithm="lbfgs", crfsuite=(("max_iterations", 5),)))
    theirs, tagger = _crfsuite(pycrfsuite, crfsuite, splits["train"][:40], lay_out)
    same = Tables(theirs, model.features, free=True)
    for page in fresh():
        same.tag(page)
    table_time = best(lambda: [same.tag(page) for page in fresh()])
    suite_time = best(
        lambda: [tagger.tag(unit) for page in fresh() for unit in names_of(page, model.features)], rounds=1
    )
    equal = all(
        same.tag(page).tags == [tag for unit in names_of(page, model.features) for tag in tagger.tag(unit)]
        for page in fresh()
    )
    yield f"  one CRFsuite model, by tables:             {tokens / table_time / 1e3:8.0f}"
    yield f"  one CRFsuite model, by python-crfsuite:    {tokens / suite_time / 1e3:8.0f}"
    yield f"  tables are {suite_time / table_time:.0f} times as fast; tags equal: {equal}"


def _crfsuite(module: Any, learner: crf.CRF, docs: Sequence[Document], lay_out: Callable[[Document], Page]) -> Any:
    """The weights of a CRFsuite model, and its own tagger."""
    import tempfile

    trainer = module.Trainer(algorithm="lbfgs", params=dict(learner.options.crfsuite), verbose=False)
    for doc in docs:
        page = lay_out(doc)
        tags = bridge.tags(page.view.tokens, doc.spans)
        trainer.append(module.ItemSequence(names_of(page, learner.features)[0]), tags)
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(f"{folder}/model")
        tagger = module.Tagger()
        tagger.open(f"{folder}/model")
    info = tagger.info()
    return crf.weights(info.state_features, info.transitions, info.labels), tagger


def best(work: Callable[[], object], *, rounds: int = 5) -> float:
    took: list[float] = []
    for _ in range(rounds):
        begin = time.process_time()
        work()
        took.append(time.process_time() - begin)
    return min(took)


PARTS: Mapping[str, Callable[[Splits, Path | None], Iterator[str]]] = {
    "speed": speed, "parts": parts, "sets": sets, "curve": curve, "select": select
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learners")
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--carrier-dir", type=Path, required=True, help="where mtsamples/ and aci_bench/ lie")
    parser.add_argument("--general-dir", type=Path, help="where wikigold/, wnut17/, btc/, uner_ewt/ lie")
    parser.add_argument("--record", action="store_true", help="write docs/results/learners-PART.md")
    given = parser.parse_args()
    splits = {name: gold(given.carrier_dir, name) for name in ("train", "dev", "style")}
    lines: list[str] = []
    for line in PARTS[given.part](splits, given.general_dir):
        print(line, flush=True)
        lines.append(line)
    if given.record:
        command = f"python -m benchmarks.learners {given.part} --carrier-dir DIR --record"
        hashes = ", ".join(f"{name} {corpus_hash(docs)[:16]}" for name, docs in splits.items())
        facts = f"{date.today()}, Python {platform.python_version()}, numpy {np.__version__}; corpora {hashes}"
        text = "\n".join([f"# learners: `{command}`", "", facts, "", "```", *lines, "```", ""])
        (RESULTS / f"learners-{given.part}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
