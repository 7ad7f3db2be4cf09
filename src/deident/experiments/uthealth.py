"""Lee 2017: the hybrid of UTHealth for psychiatric notes; tables 2 to 12.

The paper's first corpus (i2b2-2014) is our train and dev here, its second one (N-GRID 2016) the notes of another
institution where a table is about notes sight unseen; else all is learned on train and scored on dev. What it adapts
from (i2b2-2014) is synthetic notes here.
"""

from deident.evaluate import View, confusion, plots
from deident.experiments._figures import PRF, counted, groups, official, prf, randomized, spans_of, strict
from deident.experiments._lab import Found, Lab, System
from deident.experiments._result import Result, Table, Value, beside, experiment
from deident.labels import Category

BASELINE = System("crf", "uth-baseline")
HYBRID = System("hybrid", "uth")
TAGGERS = HYBRID.using(rules=False, correct=False, reconcile=False)
SIGNIFICANT = 0.1  # the paper's alpha (3.4)
_VIEWS = (
    "Token", "Strict", "Relaxed", "Binary Token", "Binary Strict", "HIPPA Token", "HIPAA Strict", "HIPAA Relaxed",
    "Binary HIPPA Token", "Binary HIPAA Strict",
)  # fmt: skip
_TOOLS = (
    "Stanford NER and SENNA are not open: their features are left out. Random indexing and word2vec clusters were "
    "built from MIMIC II; our Brown clusters are the one word representation of the baseline."
)
_EMBEDDING, _CLUSTERS = "embedding", "brown4_6_10_16"


def without(*columns: str) -> System:
    """The two CRFs alone, without columns of their sets."""
    return System("hybrid", f"uth~{','.join(columns)}", use=TAGGERS.use)


def _table(name: str, rows: dict[str, tuple[Value, ...]], *said: str, head: str = "strict") -> Result:
    table, data = beside(name, (head, *PRF), rows)
    return Result((table,), (*said, _TOOLS), paper=data)


@experiment("Table 2: the baseline, sight unseen, by the challenge's own script")
def table2(lab: Lab) -> Result:
    rows: dict[str, tuple[Value, ...]] = dict(official(lab.other, lab.on_other(BASELINE), _VIEWS))
    return _table(
        "uthealth-table2", rows, "Learned from train, scored on the notes of another institution.", head="view"
    )


@experiment("Table 3: the baseline by what it learned from and what it is scored on")
def table3(lab: Lab) -> Result:
    rows: dict[str, tuple[Value, ...]] = {
        "first → first": prf(strict(lab.dev, lab.on_dev(BASELINE))),
        "first → second": prf(strict(lab.other, lab.on_other(BASELINE))),
        "second → second": prf(strict(lab.other, lab.crossed(BASELINE, lab.data.other))),
    }
    said = (
        f"First: train and dev. Second: another institution, which has no split: its own is by {lab.sizes.folds} "
        "folds, "
        f"each learned from about {len(lab.data.other) * (lab.sizes.folds - 1) // lab.sizes.folds} notes."
    )
    return _table("uthealth-table3", rows, said)


@experiment("Table 4: the hybrid by the challenge's own script")
def table4(lab: Lab) -> Result:
    rows: dict[str, tuple[Value, ...]] = dict(official(lab.dev, lab.on_dev(HYBRID), _VIEWS))
    said = "Learned from train alone, scored on dev; the paper's learned from a second corpus as well (table 8)."
    return _table("uthealth-table4", rows, said, head="view")


def _by(lab: Lab, name: str, wanted: set[str]) -> Result:
    found = lab.on_dev(HYBRID)
    rows: dict[str, tuple[Value, ...]] = {
        kind: (*prf(counted(lab.dev, found, View.STRICT, labels)), spans_of(lab.data.train, labels))
        for kind, labels in groups(lab.dev, found).items()
        if kind in wanted
    }
    table, data = beside(name, ("strict", *PRF, "in train"), rows)
    return Result((table,), (_TOOLS,), paper=data)


@experiment("Table 5: the hybrid by category")
def table5(lab: Lab) -> Result:
    return _by(lab, "uthealth-table5", {category.value for category in Category})


@experiment("Table 6: the hybrid by type")
def table6(lab: Lab) -> Result:
    types = {label.value for labels in groups(lab.dev, lab.on_dev(HYBRID)).values() for label in labels}
    return _by(lab, "uthealth-table6", types)


def _steps(lab: Lab, steps: dict[str, Found]) -> tuple[dict[str, tuple[Value, ...]], str]:
    """Strict figures of each, and which differ from the one before."""
    rows: dict[str, tuple[Value, ...]] = {}
    tested: list[str] = []
    before: Found | None = None
    for name, found in steps.items():
        rows[name] = prf(strict(lab.dev, found))
        if before is not None:
            p = randomized(lab.dev, found, before, shuffles=lab.sizes.shuffles, seed=lab.seed)
            tested.append(f"{name}: p = {p:.4f}{' *' if p < SIGNIFICANT else ''}")
        before = found
    return rows, f"Against the row above: {'; '.join(tested)} (approximate randomization; * under {SIGNIFICANT})."


def _against_first(lab: Lab, rows: dict[str, Found]) -> tuple[dict[str, tuple[Value, ...]], str]:
    """Strict figures of each, and which differ from the first."""
    first, *rest = rows
    tested = [
        (name, randomized(lab.dev, rows[name], rows[first], shuffles=lab.sizes.shuffles, seed=lab.seed))
        for name in rest
    ]
    said = "; ".join(f"{name}: p = {p:.4f}{' *' if p < SIGNIFICANT else ''}" for name, p in tested)
    made: dict[str, tuple[Value, ...]] = {name: prf(strict(lab.dev, found)) for name, found in rows.items()}
    return made, f'Against "{first}": {said} (approximate randomization; * under {SIGNIFICANT}).'


@experiment("Table 7: the hybrid, step by step")
def table7(lab: Lab) -> Result:
    rows, tested = _steps(
        lab,
        {
            "CRF taggers": lab.on_dev(TAGGERS),
            "+ rule tagger": lab.on_dev(HYBRID.using(correct=False, reconcile=False)),
            "+ error correction": lab.on_dev(HYBRID.using(reconcile=False)),
            "+ global reconciliation": lab.on_dev(HYBRID),
        },
    )
    return _table("uthealth-table7", rows, tested)


@experiment("Table 8: a second corpus, by EasyAdapt and merely added")
def table8(lab: Lab) -> Result:
    data, source = lab.data, lab.source
    rows, tested = _against_first(
        lab,
        {
            "train alone": lab.on_dev(TAGGERS),
            "+ source, EasyAdapt": lab.found(TAGGERS, data.train, data.dev, sources=(source,)),
            "+ source, merely added": lab.found(TAGGERS, (*data.train, *source), data.dev),
        },
    )
    said = f"The source is {len(source)} synthetic notes; the two CRFs alone."
    return _table("uthealth-table8", rows, said, tested)


@experiment("Table 9: what the hybrid's new features are worth")
def table9(lab: Lab) -> Result:
    shapes = ("token_shape_2", "token_shape_3")
    found = {"all": lab.on_dev(TAGGERS)}
    if lab.fast:
        lab.remark("In this quick run there are no word embeddings to leave out.")
        attribute, shape = (f"{_EMBEDDING},{more}" for more in ("attribute", ",".join(shapes)))
    else:
        found["- open domain word embeddings"] = lab.on_dev(without(_EMBEDDING))
        attribute, shape = "attribute", ",".join(shapes)
    found["- attribute name"] = lab.on_dev(without(attribute))
    found["- token shape n-gram"] = lab.on_dev(without(shape))
    rows, tested = _against_first(lab, found)
    return _table("uthealth-table9", rows, tested, "The two CRFs alone.")


@experiment("Table 10: word representations")
def table10(lab: Lab) -> Result:
    found = {"no word representation": lab.on_dev(without(_EMBEDDING, _CLUSTERS))}
    found["clusters alone"] = lab.on_dev(without(_EMBEDDING))
    if lab.fast:
        lab.remark("In this quick run there are no word embeddings: the rows that have them are left out.")
    else:
        found["open-domain embeddings alone"] = lab.on_dev(without(_CLUSTERS))
        found["both"] = lab.on_dev(TAGGERS)
    rows, tested = _against_first(lab, found)
    said = (
        "The paper's medical embeddings are of MIMIC II and not open: in their rows stand our Brown clusters. The "
        "open-domain ones are GloVe's, made binary (Guo 2014). The two CRFs alone."
    )
    return _table("uthealth-table10", rows, said, tested)


@experiment("Table 11: global reconciliation")
def table11(lab: Lab) -> Result:
    rows, tested = _steps(
        lab,
        {
            "before reconciliation": lab.on_dev(HYBRID.using(reconcile=False)),
            "+ high-precision rules and type-counting": lab.on_dev(HYBRID),
        },
    )
    return _table("uthealth-table11", rows, tested, "Our step does both of the paper's at once.")


@experiment("Table 12: what is taken for what")
def table12(lab: Lab) -> Result:
    found = lab.on_dev(HYBRID)
    matrix = confusion(lab.dev, found)
    names = [label.value for label in matrix.labels]
    rows = [(label.value, *matrix.row(label)) for label in matrix.labels] + [("spurious", *matrix.row(None))]
    svg = plots.heat_map(
        [*names, "spurious"],
        [*names, "missing"],
        [list(row[1:]) for row in rows],
        title="Gold types against the hybrid's",
        row_title="gold",
        column_title="predicted",
    )
    said = ("Strict; rows are gold. The paper's matrix is of another corpus and is not set beside.", _TOOLS)
    return Result((Table(("gold", *names, "missing"), tuple(rows)),), said, {"uthealth-table12": plots.standalone(svg)})
