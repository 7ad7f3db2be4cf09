"""Kayaalp 2013: NLM Scrubber; tables 5 and 6, figure 6, the likelihood ratio, knowledge of names, risk.

Systems are compared on the tokens of gold, as the report does it. MIST is not packaged: a CRF over its features stands
for it. Names of providers are no PHI in the report; here they are a class of their own, and are among "PHI".
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np

from deident import lexicons, risk
from deident.config import Detect
from deident.detect.known import Known, Mode, Roster
from deident.detect.nlm import likelihood
from deident.document import Document, Patient
from deident.errors import UsageError
from deident.evaluate import Counts, View, aligned, per_document, plots, statistics
from deident.evaluate.scores import tokens
from deident.experiments._lab import Found, Lab, System
from deident.experiments._result import Result, Table, Value, beside, experiment
from deident.labels import Label
from deident.resolve import resolve
from deident.view import row_of

_SETTINGS = Detect()
NLM = System(detectors=("nlm",))
SYSTEMS = {
    "NLM Scrubber": NLM,
    "MIMIC rules": System(detectors=("mimic",)),
    "MIST features": System("crf", "mist"),
    "deident": System(detectors=_SETTINGS.detectors, steps=_SETTINGS.steps),
}
_SCHEME = "nlm"
_CLASSES = ("NAME", "PROVIDER", "ID", "ADDRESS", "DATE", "AGE", "EMPLOYER", aligned.ANY)
_TOOLS = (
    "NLM Scrubber and the MIMIC rules are our own, written after their papers; MIST is a CRF over its features, "
    "learned "
    "from train. `deident` is what this project ships, as it comes."
)


def _laid(docs: Found) -> dict[str, tuple[aligned.Tagged, ...]]:
    return {name: aligned.of_document(doc, scheme=_SCHEME) for name, doc in docs.items()}


def _compared(lab: Lab) -> aligned.Comparison:
    return aligned.compare(_laid(lab.dev), {name: _laid(lab.on_dev(system)) for name, system in SYSTEMS.items()})


def _units(cells: Mapping[str, aligned.Cells], gold: Found) -> statistics.Ints:
    """One row a patient: tp, fn, fp, tn."""
    summed: dict[str, aligned.Cells] = {}
    for name, one in cells.items():
        patient = gold[name].patient
        who = patient.id if patient is not None and patient.id else f"\0{name}"
        summed[who] = summed.get(who, aligned.Cells()) + one
    return np.array([[one.tp, one.fn, one.fp, one.tn] for one in summed.values()], dtype=np.int64)


def _share(part: int, rest: int) -> Callable[[statistics.Ints], statistics.Floats]:
    def of(sums: statistics.Ints) -> statistics.Floats:
        whole = (sums[..., part] + sums[..., rest]).astype(np.float64)
        return np.divide(sums[..., part], whole, out=np.ones_like(whole), where=whole > 0)

    return of


def _interval(lab: Lab, units: statistics.Ints, part: int, rest: int) -> tuple[float, float]:
    """BCa by patient; where that does not exist, by percentiles."""
    drawn = statistics.bootstrap(units, _share(part, rest), resamples=lab.sizes.resamples, seed=lab.seed)
    try:
        made = drawn.interval()
    except UsageError:
        made = drawn.interval(method="percentile")
    return made.low, made.high


def _percent(value: float, ends: tuple[float, float]) -> str:
    return "–" if math.isnan(value) else f"{value:.3f} ({ends[0]:.3f}, {ends[1]:.3f})"


@experiment("Table 5: systems on the tokens of gold, with BCa intervals")
def table5(lab: Lab) -> Result:
    compared = _compared(lab)
    rows: dict[str, tuple[Value, ...]] = {}
    said: list[str] = []
    for kind in _CLASSES:
        if kind not in compared.classes:
            continue
        for system, cells in compared.classes[kind].items():
            units = _units(compared.per_document[kind][system], lab.dev)
            rows[f"{kind}: {system}"] = (
                cells.tp, cells.fn, cells.fp,
                _percent(cells.sensitivity, _interval(lab, units, 0, 1)),
                _percent(cells.specificity, _interval(lab, units, 3, 2)),
                None if math.isnan(cells.accuracy) else cells.accuracy,
            )  # fmt: skip
        said.append(_leaders(compared, kind))
    heads = ("class: system", "tp", "fn", "fp", "sensitivity (95 %)", "specificity (95 %)", "accuracy")
    table, data = beside("scrubber-table5", heads, rows)
    about = (
        f"Intervals: BCa, {lab.sizes.resamples} resamples of patients; percentiles where all resamples lie on one "
        "side. "
        "The p-values are of Wilcoxon's signed ranks with Pratt's zeros, over the notes that have the class.",
    )
    return Result((table,), (*about, *filter(None, said), _TOOLS), paper=data)


def _leaders(compared: aligned.Comparison, kind: str) -> str:
    """The two systems that find most of a class, and whether they differ."""
    cells = compared.classes[kind]
    order = sorted(
        (name for name in cells if not math.isnan(cells[name].sensitivity)), key=lambda name: -cells[name].tp
    )
    if len(order) < 2:
        return ""
    rows = [compared.per_document[kind][name] for name in order[:2]]
    names = [name for name, one in rows[0].items() if one.tp + one.fn]
    pairs = [[row[name].sensitivity for name in names] for row in rows]
    if pairs[0] == pairs[1]:
        return f"{kind}: {order[0]} and {order[1]} find the same share in every note."
    p = statistics.wilcoxon(*pairs).p
    return f"{kind}: most is found by {order[0]}, then {order[1]}; sensitivities by note, p = {p:.4f}."


def _revealed(gold: Found, found: Found) -> dict[str, tuple[int, int]]:
    """By class, the tokens of gold and those that a system leaves readable, whatever label it might have given."""
    counts = {kind: [0, 0] for kind in _CLASSES}
    for name, row in _laid(gold).items():
        tagged = aligned.align(row, _laid({name: found[name]})[name])
        for token, theirs in zip(row, tagged, strict=True):
            for kind in (*token.tags, *((aligned.ANY,) if token.tags else ())):
                if kind in counts:
                    counts[kind][0] += 1
                    counts[kind][1] += not theirs
    return {kind: (whole, open_) for kind, (whole, open_) in counts.items()}


@experiment("Table 6: what stays readable, by class")
def table6(lab: Lab) -> Result:
    open_ = {name: _revealed(lab.dev, lab.on_dev(system)) for name, system in SYSTEMS.items()}
    rows: dict[str, tuple[Value, ...]] = {
        kind: (next(iter(open_.values()))[kind][0], *(counts[kind][1] for counts in open_.values()))
        for kind in _CLASSES
    }
    table, data = beside("scrubber-table6", ("class", "gold", *open_), rows)
    return Result((table,), ("Tokens under no span of the system, whatever its label.", _TOOLS), paper=data)


@experiment("Figure 6: how names are distributed over people")
def figure6(lab: Lab) -> Result:
    del lab
    words = lexicons.words()
    rows = [words.get(word) for word in words]
    counts = {
        "first names": np.sort(np.array([row.female + row.male for row in rows if row.female + row.male]))[::-1],
        "last names": np.sort(np.array([row.last for row in rows if row.last]))[::-1],
    }
    lines: list[plots.Line] = []
    cumulative: list[plots.Line] = []
    table: list[tuple[Value, ...]] = []
    for name, sizes in counts.items():
        shares = np.cumsum(sizes) / sizes.sum()
        at = np.unique(np.geomspace(1, len(sizes), 200).astype(np.int64)) - 1
        logs = [(math.log10(place + 1), math.log10(int(sizes[place]))) for place in at.tolist()]
        lines.append(plots.Line(name, logs))
        cumulative.append(
            plots.Line(name, [(x, float(shares[place])) for (x, _), place in zip(logs, at.tolist(), strict=True)])
        )
        half, most = (int(np.searchsorted(shares, share)) + 1 for share in (0.5, 0.9))
        table.append((name, len(sizes), int(sizes.sum()), half, most))

    def power(value: float) -> str:
        return f"{10**value:,.0f}"

    svgs = {
        "scrubber-figure6a": plots.standalone(
            plots.curve(lines, title="People by the rank of their name, both logarithmic", x_title="rank of the name",
                        y_title="people", x_text=power, y_text=power)
        ),
        "scrubber-figure6b": plots.standalone(
            plots.curve(cumulative, title="Share of people by the rank of their name", x_title="rank of the name",
                        y_title="share of people", x_text=power, y_range=(0.0, 1.0))
        ),
    }  # fmt: skip
    said = (
        "The report: half of the people have one of fewer than 300 first names, and of fewer than 3000 last names; the "
        "curve is no straight line. Its names are of applicants for a Social Security number; ours are lists of "
        "births, "
        "and of the census.",
    )
    heads = ("", "different", "people", "names of half of them", "of 90 %")
    return Result((Table(heads, tuple(table)),), said, svgs)


def _words(doc: Document, *, inside: bool) -> list[str]:
    """The words under the spans of a note, or the others; no numbers, no single letters."""
    found: list[str] = []
    for start, end in tokens(doc.text):
        word = doc.text[start:end]
        if word.isalpha() and len(word) > 1:
            marked = any(span.start < end and start < span.end for span in doc.spans)
            found += [word] if marked is inside else []
    return found


@experiment("The likelihood ratio alone: names and other words told apart")
def likelihood_ratio(lab: Lab) -> Result:
    def is_name(word: str) -> bool:
        return likelihood(row_of(word)) > 0

    names = [word for doc in lab.data.dev for word in dict.fromkeys(_words(_of_patients(doc), inside=True))]
    others = [word for doc in lab.data.dev for word in _words(doc, inside=False)]
    rows: dict[str, tuple[Value, ...]] = {
        "names taken for names": (_part(map(is_name, names)), len(names)),
        "other tokens taken for no names": (_part(not is_name(word) for word in others), len(others)),
        "other tokens, capitals alone taken for names": (
            _part(not (is_name(word) and word[0].isupper()) for word in others),
            len(others),
        ),
    }
    table, data = beside("scrubber-likelihood", ("", "share", "words"), rows)
    said = (
        "Names of patients, each word once a note, as in the report; all other words as often as they stand there. "
        "Single letters and numbers are left out. What is likelier among names than in English is taken for one.",
    )
    return Result((table,), said, paper=data)


def _of_patients(doc: Document) -> Document:
    return doc.with_spans(span for span in doc.spans if span.label is Label.PATIENT)


def _part(values: Iterable[bool]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else math.nan


@experiment("Three states of knowledge: no names, the patient's, all")
def knowledge(lab: Lab) -> Result:
    found = lab.on_dev(NLM)
    registered = [_registered(doc) for doc in lab.data.dev]
    staff = tuple(
        dict.fromkeys(
            (Label.DOCTOR, text)
            for doc in lab.data.dev
            for span in doc.spans
            if span.label is Label.DOCTOR and len((text := doc.text[span.start : span.end]).split()) > 1
        )
    )
    rows: list[tuple[Value, ...]] = []
    for mode in Mode:
        known = Known(roster=Roster(site=staff), mode=mode)
        docs = {doc.id: doc.with_spans(resolve([*found[doc.id].spans, *known.detect(doc)])) for doc in registered}
        cells: list[Value] = []
        for label in (Label.PATIENT, Label.DOCTOR):
            counts = _covered(lab.dev, docs, label)
            cells += [counts.tp + counts.fn, counts.fn, counts.r]
        binary = sum(per_document(lab.dev, docs, view=View.TOKEN_BINARY).values(), Counts())
        rows.append((str(mode), *cells, binary.p))
    heads = (
        "known", "patients' name tokens", "readable", "found, share", "doctors' name tokens", "readable",
        "found, share", "precision, all types",
    )  # fmt: skip
    said = (
        "NLM Scrubber with the names that are known beforehand. The patient's name is the longest that gold has in the "
        "note, as a record would give it; staff are all doctors whom gold names in full in any note, so an upper "
        "bound. "
        "The report used no such knowledge, but an earlier study of its authors did.",
    )
    return Result((Table(heads, tuple(rows)),), said)


def _registered(doc: Document) -> Document:
    """The note with its patient's name known, as a record would have it."""
    names = [doc.text[span.start : span.end] for span in doc.spans if span.label is Label.PATIENT]
    ident = doc.patient.id if doc.patient is not None else ""
    known = ((Label.PATIENT, " ".join(max(names, key=len).split())),) if names else ()
    return replace(doc, patient=Patient(ident, known))


def _covered(gold: Found, found: Found, label: Label) -> Counts:
    """Tokens of one label that anything covers."""
    return sum(
        (
            Counts(tp=len(there & open_), fn=len(there - open_))
            for name, doc in gold.items()
            for there, open_ in [(_places(doc, label), _places(found[name], None))]
        ),
        Counts(),
    )


def _places(doc: Document, label: Label | None) -> set[int]:
    spans = [span for span in doc.spans if label is None or span.label is label]
    return {start for start, end in tokens(doc.text) if any(span.start < end and start < span.end for span in spans)}


@experiment("Privacy risk of what stays readable: how many people share it")
def risks(lab: Lab) -> Result:
    tables: list[Table] = []
    rows: list[tuple[Value, ...]] = []
    for name, system in SYSTEMS.items():
        made = risk.analyse(lab.dev, lab.on_dev(system))
        least = min((note.together for note in made.leaking), default=None)
        rows.append((name, made.documents, len(made.leaking), least, made.mean))
        exposed = [(label.value, one.count, one.least, one.middle, one.small) for label, one in made.leaked.items()]
        heads = ("type", "readable", "people, least", "people, median", "shared by 20,000 or fewer")
        tables.append(Table(heads, tuple(exposed), title=name))
    heads = ("system", "notes", "notes that leak of the patient", "people who share all, least", "mean risk")
    said = (
        "People: by names in the lists of census and births, populations of places and ZIP areas, ages and days of "
        "birth; the mean risk is the chance that a guess by what stays is right, over all notes. The report's two "
        "missed name tokens were shared by 150,000 and 200,000.",
        _TOOLS,
    )
    return Result((Table(heads, tuple(rows)), *tables), said)
