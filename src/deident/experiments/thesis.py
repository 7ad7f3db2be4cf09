"""Tafvizi 2011: one SVM over the features of five systems; tables A.1 to B.8, and what 7.2 leaves for later.

The authentic corpus is our notes as they are, the surrogate one the same notes after the thesis' own generation of
surrogates; the second corpus (obesity) is the notes of another institution. Figures are by token, in nine classes.
"""

import math
from dataclasses import dataclass, replace

from deident import labels
from deident.document import Document
from deident.evaluate import Counts, View, aligned, plots
from deident.evaluate.scores import by_id
from deident.experiments._figures import PRF, SUMMARY, counted, randomized, summary
from deident.experiments._lab import NORMAL, Found, Lab, System
from deident.experiments._result import Result, Table, Value, beside, experiment

# the thesis' name of a class, and i2b2-2006's
CLASSES = {
    "Patients": "PATIENT",
    "Doctors": "DOCTOR",
    "Locations": "LOCATION",
    "Hospitals": "HOSPITAL",
    "Dates": "DATE",
    "IDs": "ID",
    "Phone Numbers": "PHONE",
    "Ages": "AGE",
}
NON_PHI = "Non-PHI"
SIGNIFICANT = 1.96
_SCHEME = "i2b2-2006"


def machine(features: str) -> System:
    """The thesis' machine: Crammer and Singer's, nine classes (1.4, 3.1)."""
    return System("svm", features, (("classes", "nine"),))


MULTI = System("multi", "decisions", (("classes", "nine"),))
MEGA, STATDEID, STANFORD, MITRE, MIMIC = map(machine, ("mega", "statdeid", "stanford", "mist", "mimic"))


@dataclass(frozen=True, slots=True)
class Judged:
    """What a system found in gold notes, by class."""

    gold: Found
    found: Found

    @property
    def f(self) -> float:
        """Over all tokens of the eight classes."""
        return counted(_classed(self.gold), _classed(self.found), View.TOKEN).f

    @property
    def rows(self) -> dict[str, Counts]:
        """Counts of tokens, by the thesis' names; a token without an identifier is one of a class too."""

        def laid(docs: Found) -> dict[str, tuple[aligned.Tagged, ...]]:
            return {name: aligned.of_document(doc, scheme=_SCHEME) for name, doc in docs.items()}

        cells = aligned.compare(laid(self.gold), {"system": laid(self.found)}).classes
        any_ = cells[aligned.ANY]["system"]
        made = {NON_PHI: Counts(any_.tn, any_.fn, any_.fp)}
        for name, code in CLASSES.items():
            one = cells.get(code, {}).get("system", aligned.Cells())
            made[name] = Counts(one.tp, one.fp, one.fn)
        return made


def _classed(docs: Found) -> Found:
    """The spans with the thesis' classes as their labels, so that a city found as a location is right."""
    made: dict[str, Document] = {}
    for name, doc in docs.items():
        known = [(span, labels.to_scheme(span.label, _SCHEME)) for span in doc.spans]
        made[name] = doc.with_spans(
            replace(span, label=labels.parse(code, scheme=_SCHEME)) for span, code in known if code
        )
    return made


def z_of(first: float, first_size: int, second: float, second_size: int) -> float | None:
    """Equations 3.4 and 3.5 on two F-measures, as the thesis has it: the sizes are the tokens of the class in gold.

    F is no share of trials, so this z is only a rule of thumb; tables B.1 and B.2 give a randomization test beside it.
    """
    if not first_size or not second_size:
        return None
    pooled = (first_size * first + second_size * second) / (first_size + second_size)
    spread = math.sqrt(pooled * (1 - pooled) * (1 / first_size + 1 / second_size))
    return abs(first - second) / spread if spread else 0.0


def _f(counts: Counts) -> float:
    """As the thesis has it: 0 where there is nothing."""
    return 0.0 if counts.empty else counts.f


def _performance(name: str, judged: Judged, *said: str) -> Result:
    rows: dict[str, tuple[Value, ...]] = {}
    for kind, one in judged.rows.items():
        rows[kind] = (0.0, 0.0, 0.0, 0) if one.empty else (one.p, one.r, one.f, one.tp + one.fn)
    table, data = beside(name, ("tokens by class", *PRF, "tokens"), rows)
    return Result((table,), said, paper=data)


def _comparison(name: str, heads: tuple[str, str], first: Judged, second: Judged, *said: str) -> Result:
    left, right = first.rows, second.rows
    rows: dict[str, tuple[Value, ...]] = {}
    for kind in left:
        sizes = [one.tp + one.fn for one in (left[kind], right[kind])]
        values = _f(left[kind]), _f(right[kind])
        rows[kind] = (*values, z_of(values[0], sizes[0], values[1], sizes[1]))
    table, data = beside(name, ("F by class", *heads, "z"), rows)
    beyond = [kind for kind, row in rows.items() if isinstance(row[2], float) and row[2] > SIGNIFICANT]
    verdict = f"|z| is over {SIGNIFICANT} for: {', '.join(beyond) or 'no class'}."
    return Result((table,), (verdict, *said), paper=data)


# --- the systems' finds ----------------------------------------------------------------------------------------------


def _authentic(lab: Lab, system: System) -> Judged:
    return Judged(lab.dev, lab.on_dev(system))


def _surrogate(lab: Lab, system: System) -> Judged:
    data = lab.surrogate
    found = lab.found(system, data.train, (*data.dev, *data.other))
    return Judged(by_id(data.dev), {doc.id: found[doc.id] for doc in data.dev})


def _second(lab: Lab) -> Judged:
    """Learned and scored on the second corpus, as it is (A.12): by folds, since it has no split of its own."""
    return Judged(lab.other, lab.crossed(MEGA, lab.data.other))


def _second_surrogate(lab: Lab) -> Judged:
    return Judged(by_id(lab.surrogate.other), lab.crossed(MEGA, lab.surrogate.other)) if lab.other else _second(lab)


def _crossing(lab: Lab) -> Judged:
    """Learned on the first corpus, scored on the second, both with surrogates (A.13)."""
    data = lab.surrogate
    found = lab.found(MEGA, data.train, (*data.dev, *data.other))
    return Judged(by_id(data.other), {name: found[name] for name in lab.other})


def _folds(lab: Lab) -> Judged:
    return Judged(by_id(lab.surrogate.train), lab.crossed(MEGA, lab.surrogate.train))


# --- A ---------------------------------------------------------------------------------------------------------------

_WITHOUT_GRAMMAR = (
    "The syntactic bigrams of the Link Grammar Parser are left out, since it is not packaged; parts of speech are "
    "our own tagger's."
)


@experiment("Table A.1: surrogate notes, all features")
def a1(lab: Lab) -> Result:
    return _performance("thesis-a1", _surrogate(lab, MEGA), _WITHOUT_GRAMMAR)


@experiment("Table A.2: surrogate notes, Stat-De-id's features")
def a2(lab: Lab) -> Result:
    return _performance("thesis-a2", _surrogate(lab, STATDEID), _WITHOUT_GRAMMAR)


@experiment("Table A.3: surrogate notes, Stanford NER's features")
def a3(lab: Lab) -> Result:
    return _performance("thesis-a3", _surrogate(lab, STANFORD))


@experiment("Table A.4: surrogate notes, MIST's features")
def a4(lab: Lab) -> Result:
    return _performance("thesis-a4", _surrogate(lab, MITRE))


@experiment("Table A.5: surrogate notes, the MIMIC rules as features")
def a5(lab: Lab) -> Result:
    return _performance("thesis-a5", _surrogate(lab, MIMIC))


@experiment("Table A.6: authentic notes, all features")
def a6(lab: Lab) -> Result:
    return _performance("thesis-a6", _authentic(lab, MEGA), _WITHOUT_GRAMMAR)


@experiment("Table A.7: authentic notes, Stat-De-id's features")
def a7(lab: Lab) -> Result:
    return _performance("thesis-a7", _authentic(lab, STATDEID), _WITHOUT_GRAMMAR)


@experiment("Table A.8: authentic notes, Stanford NER's features")
def a8(lab: Lab) -> Result:
    return _performance("thesis-a8", _authentic(lab, STANFORD))


@experiment("Table A.9: authentic notes, MIST's features")
def a9(lab: Lab) -> Result:
    return _performance("thesis-a9", _authentic(lab, MITRE))


@experiment("Table A.10: authentic notes, the MIMIC rules as features")
def a10(lab: Lab) -> Result:
    return _performance("thesis-a10", _authentic(lab, MIMIC))


@experiment("Table A.11: surrogate notes of the second corpus, all features")
def a11(lab: Lab) -> Result:
    said = "The second corpus has no split of its own: learned and scored by folds within it."
    return _performance("thesis-a11", _second_surrogate(lab), said)


@experiment("Table A.12: authentic notes of the second corpus, all features")
def a12(lab: Lab) -> Result:
    said = "The second corpus has no split of its own: learned and scored by folds within it."
    return _performance("thesis-a12", _second(lab), said)


@experiment("Table A.13: learned on the first corpus, scored on the second, surrogates, all features")
def a13(lab: Lab) -> Result:
    return _performance("thesis-a13", _crossing(lab))


@experiment("Table A.14: cross-validation on surrogate notes, all features")
def a14(lab: Lab) -> Result:
    return _performance("thesis-a14", _folds(lab), f"{lab.sizes.folds} folds; the thesis has 10.")


@experiment("Table A.15: the multi-de-identifier, authentic notes")
def a15(lab: Lab) -> Result:
    return _performance("thesis-a15", _authentic(lab, MULTI), *_stacked(lab))


def _stacked(lab: Lab) -> tuple[str, ...]:
    return (
        "An SVM over what five systems decide: Stat-De-id's SVM, CRFs over the features of Stanford NER and of MIST, "
        "the two stages of the Illinois tagger, and the MIMIC rules. The thesis has the programs themselves; it does "
        "not say why its multi finds no patient at all.",
        f"It learns from what bases made of the other notes say of each of {lab.sizes.stack} parts.",
    )


# --- B ---------------------------------------------------------------------------------------------------------------


def _paired(lab: Lab, first: Judged, second: Judged) -> str:
    """What a test says that is made for two systems on the same notes."""
    p = _p(lab, first, second)
    f = [one.f for one in (first, second)]
    return (
        f"Over all tokens of the eight classes, F {f[0]:.4f} and {f[1]:.4f}; approximate randomization by "
        f"note, {lab.sizes.shuffles} shuffles: p = {p:.4f}."
    )


def _p(lab: Lab, first: Judged, second: Judged) -> float:
    docs = map(_classed, (first.gold, first.found, second.found))
    return randomized(*docs, shuffles=lab.sizes.shuffles, seed=lab.seed, view=View.TOKEN)


@experiment("Table B.1: all features against Stanford NER's, authentic notes")
def b1(lab: Lab) -> Result:
    both = _authentic(lab, MEGA), _authentic(lab, STANFORD)
    return _comparison("thesis-b1", ("all", "Stanford"), *both, _paired(lab, *both))


@experiment("Table B.2: all features against Stanford NER's, surrogate notes")
def b2(lab: Lab) -> Result:
    both = _surrogate(lab, MEGA), _surrogate(lab, STANFORD)
    return _comparison("thesis-b2", ("all", "Stanford"), *both, _paired(lab, *both))


@experiment("Table B.3: authentic against surrogate notes")
def b3(lab: Lab) -> Result:
    return _comparison("thesis-b3", ("authentic", "surrogate"), _authentic(lab, MEGA), _surrogate(lab, MEGA))


@experiment("Table B.4: the first against the second corpus, authentic")
def b4(lab: Lab) -> Result:
    return _comparison("thesis-b4", ("first", "second"), _authentic(lab, MEGA), _second(lab))


@experiment("Table B.5: authentic against surrogate notes of the second corpus")
def b5(lab: Lab) -> Result:
    return _comparison("thesis-b5", ("authentic", "surrogate"), _second(lab), _second_surrogate(lab))


@experiment("Table B.6: the first against the second corpus, surrogates")
def b6(lab: Lab) -> Result:
    return _comparison("thesis-b6", ("first", "second"), _surrogate(lab, MEGA), _second_surrogate(lab))


@experiment("Table B.7: cross-validation against the split, surrogates")
def b7(lab: Lab) -> Result:
    return _comparison("thesis-b7", ("folds", "split"), _folds(lab), _surrogate(lab, MEGA))


@experiment("Table B.8: mega against multi, authentic notes")
def b8(lab: Lab) -> Result:
    both = _authentic(lab, MEGA), _authentic(lab, MULTI)
    return _comparison("thesis-b8", ("mega", "multi"), *both, _paired(lab, *both), *_stacked(lab))


# --- the verdict -----------------------------------------------------------------------------------------------------


@experiment("The hypotheses of 6.1, judged on our notes")
def hypotheses(lab: Lab) -> Result:
    every = {
        "all": MEGA, "Stat-De-id": STATDEID, "Stanford": STANFORD, "MIST": MITRE, "MIMIC": MIMIC,
        "Illinois": machine("illinois"),
    }  # fmt: skip
    rows: list[tuple[Value, ...]] = []
    said: list[str] = []
    for notes, judge in (("authentic", _authentic), ("surrogate", _surrogate)):
        judged = {name: judge(lab, system) for name, system in every.items()}
        f = {name: one.f for name, one in judged.items()}
        best = max((name for name in f if name != "all"), key=f.__getitem__)
        p = _p(lab, judged["all"], judged[best])
        rows += [(f"{notes}: {name}", value) for name, value in f.items()]
        said.append(
            f"1, high dimensions, {notes} notes: all features reach F {f['all']:.4f}, the best single set ({best}) "
            f"{f[best]:.4f}, p = {p:.4f}: {_better(f['all'], f[best], p)}"
        )
    first, second, crossing = _surrogate(lab, MEGA), _second_surrogate(lab), _crossing(lab)
    values = [one.f for one in (first, second, crossing)]
    rows += list(zip(("first corpus", "second corpus", "first → second"), values, strict=True))
    said.append(
        f"2, universality: F {values[0]:.4f} within the first corpus (learned from {len(lab.data.train)} notes), "
        f"{values[1]:.4f} within the second (folds of {len(lab.data.other)} notes), {values[2]:.4f} from the first to "
        "the second. "
        + (
            "Not upheld across institutions: what is learned at one place is worth less at another, as in the thesis."
            if values[2] < values[0]
            else "Upheld here."
        )
    )
    folds = _folds(lab).f
    seen = lab.surrogate.train
    again = Judged(by_id(seen), lab.found(MEGA, seen, seen)).f
    rows += [("cross-validation", folds), ("the notes learned from", again)]
    said.append(
        f"3, over-fitting: F {folds:.4f} in cross-validation, {values[0]:.4f} on the split, and {again:.4f} on the "
        "very "
        f"notes it learned from. The thesis compares the first two alone, which tells of the split, not of "
        f"over-fitting; the third shows that the machine knows its notes by heart ({again - folds:+.4f})."
    )
    mega, multi = _authentic(lab, MEGA), _authentic(lab, MULTI)
    values = [mega.f, multi.f]
    rows += list(zip(("mega", "multi"), values, strict=True))
    p = _p(lab, mega, multi)
    said.append(
        f"4, mega against multi: {values[0]:.4f} and {values[1]:.4f}, p = {p:.4f}: "
        + (
            "no difference that the test sees."
            if p > 0.05
            else "mega does better: upheld, and against the thesis, whose multi did."
            if values[0] > values[1]
            else "multi does better: the hypothesis is refuted, as in the thesis."
        )
    )
    return Result((Table(("F by token, eight classes", "F"), tuple(rows)),), tuple(said))


def _better(all_: float, best: float, p: float) -> str:
    if p > 0.05:
        return "no difference that the test sees; more features do no harm, as the thesis says."
    return "upheld." if all_ > best else "refuted: the smaller set does better."


# --- 7.2 -------------------------------------------------------------------------------------------------------------

COSTS = (0.1, 0.25, 0.5, 1.0, 2.0)


@experiment("7.2.1: recall and precision by the cost of a false alarm")
def costs(lab: Lab) -> Result:
    rows: list[tuple[Value, ...]] = []
    points: list[tuple[float, float]] = []
    tried = (0.25, 1.0) if lab.fast else COSTS
    for cost in tried:
        system = MEGA if cost == 1.0 else MEGA.with_options(costs=f"O={cost}")
        found = lab.on_dev(system)
        binary = counted(lab.dev, found)
        leaked = _rows_leaked(lab, found)
        rows.append((f"{cost}", binary.p, binary.r, binary.f, *leaked))
        points.append((binary.p, binary.r))
    dots = [
        (p, r, f"cost {cost}: precision {p:.4f}, recall {r:.4f}") for (p, r), cost in zip(points, tried, strict=True)
    ]
    svg = plots.curve(
        [plots.Line("all features", sorted(points), dots)],
        title="Recall against precision, by the cost of taking what is none for an identifier",
        x_title="precision",
        y_title="recall",
    )
    said = (
        "`O` is the class without an identifier: at 0.25 a false alarm costs a quarter of a leak. The thesis proposes "
        "this and has no figures. Binary, by token, on dev.",
    )
    table = Table(("cost of O", *PRF, "non-PHI tokens taken, share"), tuple(rows))
    return Result((table,), said, {"thesis-costs": plots.standalone(svg)})


def _rows_leaked(lab: Lab, found: Found) -> tuple[float]:
    non = Judged(lab.dev, found).rows[NON_PHI]
    return (non.fn / max(1, non.tp + non.fn),)


@experiment("7.2.3: one stage and two, with the Illinois tagger's features")
def two_stage(lab: Lab) -> Result:
    one, two = System("crf", "illinois"), System("two-stage", "illinois")
    rows: list[tuple[Value, ...]] = []
    judged: dict[str, Judged] = {}
    for name, system in (("one stage", one), ("two stages", two)):
        judged[name] = _authentic(lab, system)
        rows.append((name, *summary(lab.dev, judged[name].found)))
    said = (
        "The second stage sees what the first says of the neighbours, and of the same word elsewhere in the note. "
        "Both are CRFs; the thesis has an SVM and leaves this for later.",
        _paired(lab, judged["two stages"], judged["one stage"]),
    )
    return Result((Table(("", *SUMMARY), tuple(rows)),), said)


@experiment("7.2.4: how many of all features are needed")
def selection(lab: Lab) -> Result:
    rows: list[tuple[Value, ...]] = []
    for most in (1000,) if lab.fast else (1000, 30_000):
        found = lab.on_dev(MEGA.with_options(select=most))
        rows.append((f"{most:,} features", *(_f(one) for one in Judged(lab.dev, found).rows.values())))
    rows.append(("all", *(_f(one) for one in _authentic(lab, MEGA).rows.values())))
    said = ("The features that tell most of the class (mutual information) are kept; F by class, on dev.",)
    return Result((Table(("", NON_PHI, *CLASSES), tuple(rows)),), said)


@experiment("7.2.2: words as they are written, and normalised")
def normalisation(lab: Lab) -> Result:
    rows: list[tuple[Value, ...]] = []
    judged: dict[str, Judged] = {}
    plain = machine("statdeid")
    for name, system in (
        ("as written", plain),
        ("normalised", System("svm", "statdeid", plain.options, reading=NORMAL)),
    ):
        judged[name] = _authentic(lab, system)
        rows.append((name, *(_f(one) for one in judged[name].rows.values())))
    said = (
        "Normalised: accents gone, lower case, every digit a zero, before any feature is drawn. Stat-De-id's features; "
        "F by class, on dev.",
        _paired(lab, judged["normalised"], judged["as written"]),
    )
    return Result((Table(("", NON_PHI, *CLASSES), tuple(rows)),), said)
