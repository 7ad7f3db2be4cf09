"""He 2015: WI-deId, a CRF over a window of two; tables 3 to 8, figures 2 and 3.

GENIA's tagger is not packaged: parts of speech are our own tagger's. CRF++ is our CRF, trained on the same features.
"""

from deident.evaluate import View, analyse, confusion, plots
from deident.evaluate.errors import ERRORS, Extent
from deident.experiments._figures import PRF, counted, groups, official, prf, randomized, spans_of, strict
from deident.experiments._lab import WHOLE_WORDS, Found, Lab, System
from deident.experiments._result import Result, Table, Value, bars, beside, experiment, named
from deident.labels import Category

WIDEID = System("crf", "wideid")
WITHOUT = System("crf", "wideid", reading=WHOLE_WORDS)
_DICTIONARY = "wideid_dictionaries"
_ORTHOGRAPHIC = ("whole_shape", "exact_length", "wideid_tests")
GROUPS = {
    "Lex": System("crf", f"wideid~{','.join((*_ORTHOGRAPHIC, _DICTIONARY))}"),
    "Lex+Ort": System("crf", f"wideid~{_DICTIONARY}"),
    "Lex+Ort+Dic": WIDEID,
}
_TOOLS = (
    "GENIA's tagger and CRF++ are not packaged: our own tagger of parts of speech, and our own CRF, stand for them."
)
_MAIN = (Category.NAME, Category.PROFESSION, Category.LOCATION, Category.AGE, Category.DATE, Category.CONTACT)
_VIEWS = ("Token", "Strict", "Relaxed", "HIPPA Token", "HIPAA Strict", "HIPAA Relaxed")


@experiment("Table 3: the system by the challenge's own script, without and with preprocessing")
def table3(lab: Lab) -> Result:
    left, right = (official(lab.dev, lab.on_dev(system), _VIEWS) for system in (WITHOUT, WIDEID))
    rows = {name: (left[name][2], *right[name]) for name in _VIEWS}
    table, data = beside("wideid-table3", ("view", "without F", *(f"with {head}" for head in PRF)), rows)
    said = (
        "The paper's official run had fewer features and no preprocessing; here only the preprocessing is left out. "
        "The names of the views are the script's own.",
        _TOOLS,
    )
    return Result((table,), said, paper=data)


@experiment("Table 4: each type, strict")
def table4(lab: Lab) -> Result:
    found = lab.on_dev(WIDEID)
    rows: dict[str, tuple[Value, ...]] = {}
    for name, labels in groups(lab.dev, found).items():
        rows[name] = (spans_of(lab.data.train, labels), *prf(counted(lab.dev, found, View.STRICT, labels)))
    table, data = beside("wideid-table4", ("type", "in train", *PRF), rows)
    return Result((table,), (_TOOLS,), paper=data)


@experiment("Table 5: what the preprocessing is worth, strict F")
def table5(lab: Lab) -> Result:
    without, with_ = lab.on_dev(WITHOUT), lab.on_dev(WIDEID)
    rows: dict[str, tuple[Value, ...]] = {name: _strict_of(lab, name, without, with_) for name in _MAIN}
    rows["total"] = strict(lab.dev, without).f, strict(lab.dev, with_).f
    table, data = beside("wideid-table5", ("category", "without F", "with F"), rows)
    p = randomized(lab.dev, with_, without, shuffles=lab.sizes.shuffles, seed=lab.seed)
    said = (
        'Without: a token is what stands between blanks, but for the signs at its ends ("Since6/03/04" is one). With: '
        "our tokens, which part what table 1 of the paper parts.",
        f"The totals differ with p = {p:.4f} (approximate randomization by note, {lab.sizes.shuffles} shuffles).",
    )
    return Result((table,), said, paper=data)


def _strict_of(lab: Lab, category: str, *systems: Found) -> tuple[float, ...]:
    labels = groups(lab.dev, systems[0]).get(category, frozenset())
    return tuple(counted(lab.dev, found, View.STRICT, labels).f for found in systems)


@experiment("Table 6: kinds of error")
def table6(lab: Lab) -> Result:
    analysis = analyse(lab.dev, lab.on_dev(WIDEID))
    rows: dict[str, tuple[Value, ...]] = {
        kind.value: (analysis.kinds[kind], analysis.shares.get(kind, 0.0)) for kind in ERRORS
    }
    table, data = beside("wideid-table6", ("error", "errors", "share"), rows)
    said = ('"both" is a wrong type and a wrong extent, which the paper has among its extent errors.',)
    return Result((table,), said, paper=data)


@experiment("Table 7: type errors, missing and spurious")
def table7(lab: Lab) -> Result:
    found = lab.on_dev(WIDEID)
    matrix = confusion(lab.dev, found)
    names = [label.value for label in matrix.labels]
    rows = [(label.value, *matrix.row(label)) for label in matrix.labels]
    rows.append(("spurious", *matrix.row(None)))
    said = (
        "Rows are gold, columns the system. The paper's matrix has 25 types of another corpus and is not set beside.",
    )
    svg = plots.heat_map(
        [*names, "spurious"],
        [*names, "missing"],
        [list(row[1:]) for row in rows],
        title="Gold types against the system's",
        row_title="gold",
        column_title="system",
    )
    return Result((Table(("gold", *names, "missing"), tuple(rows)),), said, {"wideid-table7": plots.standalone(svg)})


@experiment("Table 8: extent errors")
def table8(lab: Lab) -> Result:
    extents = analyse(lab.dev, lab.on_dev(WIDEID)).extents
    rows: dict[str, tuple[Value, ...]] = {
        label.value: tuple(row[extent] for extent in Extent) for label, row in extents.items()
    }
    rows["total"] = tuple(sum(row[extent] for row in extents.values()) for extent in Extent)
    table, data = beside("wideid-table8", ("type", *(extent.value for extent in Extent)), rows)
    return Result((table,), paper=data)


@experiment("Figure 2: main categories by groups of features")
def figure2(lab: Lab) -> Result:
    found = {name: lab.on_dev(system) for name, system in GROUPS.items()}
    every = [*_MAIN, Category.ID]
    rows = {name.value: _strict_of(lab, name, *found.values()) for name in every}
    svg = bars(list(found), rows, title="Strict F of the main categories by groups of features")
    table = Table(("category", *(f"{name} F" for name in found)), named(rows))
    said = (
        "The paper plots these and tells of gains by orthography of more than 5 points on LOCATION, 8 on CONTACT and 4 "
        "on ID, and of dictionaries helping LOCATION alone.",
        "The dictionaries are our lists of cities, states, streets, countries and dates, not those of its training "
        "notes.",
    )
    return Result((table,), said, {"wideid-figure2": svg})


@experiment("Figure 3: the whole by groups of features")
def figure3(lab: Lab) -> Result:
    found = {name: lab.on_dev(system) for name, system in GROUPS.items()}
    rows = {name: prf(strict(lab.dev, docs)) for name, docs in found.items()}
    svg = bars(PRF, rows, title="Strict, all types, by groups of features")
    last, before = found["Lex+Ort+Dic"], found["Lex+Ort"]
    p = [
        randomized(lab.dev, right, left, shuffles=lab.sizes.shuffles, seed=lab.seed)
        for left, right in ((found["Lex"], before), (before, last))
    ]
    said = (f"Orthography: p = {p[0]:.4f}; dictionaries on top: p = {p[1]:.4f} (approximate randomization).",)
    return Result(
        (Table(("features", *PRF), tuple((name, *row) for name, row in rows.items())),),
        said,
        {"wideid-figure3": svg},
    )
