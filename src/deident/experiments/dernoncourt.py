"""Dernoncourt 2017: a BiLSTM-CRF with letters (ANN) against a CRF; table 4, A1, A2, figures 2 to 5, significance.

MIST is a CRF over MIST's features here, since the program is not packaged; Stanford CoreNLP's tokens are ours. The
network takes steps of many sentences, since one sentence at a time takes days, and few epochs.
"""

import numpy as np
from numpy.typing import NDArray

from deident.document import Document
from deident.evaluate import View, plots
from deident.evaluate.scores import HIPAA
from deident.experiments._figures import PRF, binary_hipaa, counted, groups, prf, randomized, spans_of
from deident.experiments._lab import Found, Lab, System, joined
from deident.experiments._result import Result, Table, Value, bars, beside, experiment, named
from deident.labels import Category, Label

MIST = System("crf", "mist")
CRF = System("crf", "dernoncourt")
ANN = System("bilstm", "none").with_options(optimizer="adam", rate=0.004, batch=400, patience=3)
_PARTS = {
    "ANN": ANN,
    "- seq opt": ANN.with_options(sequence=False),
    "- pre-train": ANN.with_options(vectors=""),
    "- token emb": ANN.with_options(words=0, vectors=""),
    "- character emb": ANN.with_options(letters=0),
}
_TOOLS = (
    "MIST is not packaged: a CRF over its features stands for it. Nottingham's system is not open. The network begins "
    "with GloVe's vectors, as the paper's does."
)


def _found(lab: Lab, *, other: bool = False) -> dict[str, Found]:
    read = lab.on_other if other else lab.on_dev
    crf, ann = read(CRF), read(ANN)
    return {"MIST features": read(MIST), "CRF": crf, "ANN": ann, "CRF + ANN": joined(crf, ann)}


def _size(lab: Lab) -> str:
    return f"The network went over its notes {lab.sizes.epochs} times at most; the paper's 100 times."


@experiment("Table 4: binary, HIPAA types, by token")
def table4(lab: Lab) -> Result:
    dev, other = _found(lab), _found(lab, other=True)
    rows: dict[str, tuple[Value, ...]] = {
        name: (*prf(binary_hipaa(lab.dev, dev[name])), *prf(binary_hipaa(lab.other, other[name]))) for name in dev
    }
    heads = ("", *(f"dev {head}" for head in PRF), *(f"other {head}" for head in PRF))
    table, data = beside("dernoncourt-table4", heads, rows)
    said = (
        "The second corpus (MIMIC in the paper, which learned from it) is the notes of another institution here, sight "
        "unseen.",
        _size(lab),
        _TOOLS,
    )
    return Result((table,), said, paper=data)


@experiment("Significance of CRF against ANN, approximate randomization (3.4)")
def significance(lab: Lab) -> Result:
    rows: dict[str, tuple[Value, ...]] = {}
    for name, kind in (("precision", "p"), ("recall", "r"), ("f", "f")):
        values: list[float] = []
        for gold, read in ((lab.dev, lab.on_dev), (lab.other, lab.on_other)):
            values.append(
                randomized(
                    gold, read(ANN), read(CRF), shuffles=lab.sizes.shuffles, seed=lab.seed,
                    figure=kind,  # pyright: ignore[reportArgumentType]
                    view=View.TOKEN_BINARY, labels=HIPAA,
                )
            )  # fmt: skip
        rows[name] = tuple(values)
    table, data = beside("dernoncourt-significance", ("", "p of dev", "p of other"), rows)
    said = (f"{lab.sizes.shuffles} shuffles, by note; binary, HIPAA types, by token.",)
    return Result((table,), said, paper=data)


def _by_type(lab: Lab, name: str, gold: Found, found: dict[str, Found]) -> Result:
    systems = [found[kind] for kind in ("CRF", "ANN", "CRF + ANN")]
    rows: dict[str, tuple[Value, ...]] = {}
    for kind, labels in {**groups(gold, found["CRF + ANN"]), "all": frozenset(Label)}.items():
        crf, ann, both = (counted(gold, docs, View.TOKEN_BINARY, labels) for docs in systems)
        rows[kind] = (*prf(crf), *prf(ann), both.f, crf.tp + crf.fn)
    heads = ("type", *(f"CRF {head}" for head in PRF), *(f"ANN {head}" for head in PRF), "both F", "tokens")
    table, data = beside(name, heads, rows)
    return Result((table,), (_size(lab), _TOOLS), paper=data)


@experiment("Table A1: every type, binary, by token")
def a1(lab: Lab) -> Result:
    return _by_type(lab, "dernoncourt-a1", lab.dev, _found(lab))


@experiment("Table A2: every type on the second corpus, binary, by token")
def a2(lab: Lab) -> Result:
    return _by_type(lab, "dernoncourt-a2", lab.other, _found(lab, other=True))


@experiment("Figure 2: F by category")
def figure2(lab: Lab) -> Result:
    found = _found(lab)
    there = groups(lab.dev, found["CRF + ANN"])
    names = [category.value for category in Category if category.value in there]
    rows = {
        name: [counted(lab.dev, docs, View.TOKEN_BINARY, there[name]).f for docs in found.values()] for name in names
    }
    svg = bars(list(found), rows, title="Binary F by token, by category")
    table = Table(("category", *(f"{name} F" for name in found)), named(rows))
    return Result((table,), (_size(lab), _TOOLS), {"dernoncourt-figure2": svg})


@experiment("Figure 3: how much more notes are worth")
def figure3(lab: Lab) -> Result:
    shares = (0.5, 1.0) if lab.fast else (0.1, 0.3, 1.0)
    rows: list[tuple[Value, ...]] = []
    lines: dict[str, list[tuple[float, float]]] = {"CRF": [], "ANN": [], "CRF + ANN": []}
    for share in shares:
        some = _some(lab.data.train, share)
        if share == 1.0:
            crf, ann = lab.on_dev(CRF), lab.on_dev(ANN)
        else:
            crf, ann = (lab.found(system, some, lab.data.dev) for system in (CRF, ANN))
        values = [binary_hipaa(lab.dev, docs).f for docs in (crf, ann, joined(crf, ann))]
        rows.append((f"{share:.0%}", len(some), *values))
        for name, value in zip(lines, values, strict=True):
            lines[name].append((share, value))
    svg = plots.curve(
        [plots.Line(name, points, [(x, y, f"{name}: {y:.4f}") for x, y in points]) for name, points in lines.items()],
        title="Binary HIPAA F by token, by the share of train that is learned from",
        x_title="share of train",
        y_title="F",
    )
    table = Table(("share", "notes", *(f"{name} F" for name in lines)), tuple(rows))
    said = (
        "The paper plots this on MIMIC: the CRF is ahead with few notes, the network with many.",
        _size(lab),
    )
    return Result((table,), said, {"dernoncourt-figure3": plots.standalone(svg)})


def _some(notes: tuple[Document, ...], share: float) -> tuple[Document, ...]:
    count = max(2, round(share * len(notes)))
    return tuple(notes[at * len(notes) // count] for at in range(count))


@experiment("Figure 4: F of a type by how often it is in train")
def figure4(lab: Lab) -> Result:
    found = lab.on_dev(ANN)
    rows: list[tuple[Value, ...]] = []
    for name, labels in groups(lab.dev, found).items():
        if len(labels) == 1:
            counts = counted(lab.dev, found, View.TOKEN_BINARY, labels)
            rows.append((name, spans_of(lab.data.train, labels), counts.f))
    rows.sort(key=lambda row: -int(row[1] or 0))
    most = max(int(row[1] or 0) for row in rows)
    dots = [(float(row[1] or 0), float(row[2] or 0), f"{row[0]}: {row[1]} in train, F {row[2]:.4f}") for row in rows]
    svg = plots.curve(
        [plots.Line("types", (), dots)],
        title="Binary F by token of each type, by its spans in train",
        x_title="spans in train",
        y_title="F",
        x_range=(0.0, float(max(1, most))),
        y_range=(0.0, 1.0),
        x_text=lambda value: f"{value:.0f}",
    )
    said = (f"Spearman's rank correlation of the two: {_spearman(rows):.2f}.", _size(lab))
    return Result(
        (Table(("type", "in train", "ANN F"), tuple(rows)),), said, {"dernoncourt-figure4": plots.standalone(svg)}
    )


def _spearman(rows: list[tuple[Value, ...]]) -> float:
    def ranks(values: list[float]) -> NDArray[np.float64]:
        array = np.array(values)
        return np.array([(array < value).sum() + ((array == value).sum() - 1) / 2 for value in array])

    if len(rows) < 2:
        return 0.0
    left, right = (ranks([float(row[at] or 0) for row in rows]) for at in (1, 2))
    return float(np.corrcoef(left, right)[0, 1]) if left.std() and right.std() else 0.0


@experiment("Figure 5: what each part of the network is worth")
def figure5(lab: Lab) -> Result:
    some = _some(lab.data.train, min(1.0, lab.sizes.network / len(lab.data.train)) if lab.sizes.network else 1.0)
    rows: dict[str, tuple[float, float, float]] = {}
    for name, system in _PARTS.items():
        if lab.fast and name == "- pre-train":
            continue
        system = system.with_options(passes=lab.sizes.network_epochs)
        rows[name] = prf(binary_hipaa(lab.dev, lab.found(system, some, lab.data.dev)))
    svg = bars(PRF, rows, title="The network without one of its parts, binary HIPAA")
    said = (
        f"Learned from {len(some)} notes, {lab.sizes.network_epochs} epochs at most, so below table 4; dev, binary, "
        "HIPAA, by token.",
        "The paper's figure: every part helps a little, letters more than words.",
    )
    return Result((Table(("", *PRF), named(rows)),), said, {"dernoncourt-figure5": svg})
