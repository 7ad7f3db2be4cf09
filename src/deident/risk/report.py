"""The report for a study's files, as one page: what ran, figures with plots, and what the figures do not say.

It has the build of `evaluate/report.py` (nothing is loaded, nothing is sent) and holds no text, no id and no offset of
any note.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from deident.evaluate import plots
from deident.evaluate.plots import escape
from deident.evaluate.report import UNSAID, Cell, Run, count_cell, page, percent, table, text_cell, tile
from deident.labels import Label
from deident.risk import LIMITS, SMALL, SMALL_CELLS, Analysis, Exposed, Sample, bound, sample_size

_READ = (50, 100, 200, 300, 500, 1000, 2000, 5000)


def render(
    found: Analysis | None,
    *,
    title: str = "Residual risk",
    sample: Sample | None = None,
    wanted: Sequence[float] = (),
    manifest: Mapping[str, Any] | None = None,
    run: Run = UNSAID,
) -> str:
    """The page. found: of notes that are annotated; sample: of output that somebody has read; wanted: bounds for which
    the size of a sample is asked; manifest: of the run that made the output."""
    confidence = sample.confidence if sample is not None else 0.95
    sections: list[tuple[str, str, str]] = [("ran", "What ran", _ran(found, manifest))]
    if found is not None:
        sections += [
            (
                "leaks",
                "Leaks",
                _exposed("leaked", "Leaks by type", found.leaked, "No identifier leaks in these notes."),
            ),
            ("notes", "Notes", _notes(found)),
            ("stays", "What the policy lets stay", _stays(found)),
            ("classes", "Equal records", _classes(found)),
        ]
    sections.append(("bounds", "Bounds from reading a sample", _bounds(sample, wanted, confidence)))
    sections.append(("limits", "What this does not say", _LIMITS))
    banner = (
        '<p class="banner calm"><strong>Contains no text, id or place of any note.</strong> '
        "It gives figures to the person who judges the risk, and no judgement: determination: null.</p>"
    )
    return page(title, banner=banner, tiles=_tiles(found, sample), sections=sections, run=run)


def _people(count: int | None) -> str:
    return "–" if count is None else f"{count:,}"


def _tiles(found: Analysis | None, sample: Sample | None) -> str:
    tiles: list[str] = []
    if found is not None:
        clean = found.documents - len(found.leaking)
        least = min((note.together for note in found.leaking), default=None)
        alone = found.spread(found.leaking)["1 person"]
        tiles += [
            tile(
                "clean",
                "Notes that leak nothing of the patient",
                percent(clean / found.documents) if found.documents else "–",
                f"{clean:,} of {found.documents:,}",
                bad=clean < found.documents,
            ),
            tile("alone", "Notes whose leaks fit one person", f"{alone:,}", "by all tokens together", bad=alone > 0),
            tile("least", "People, in the worst note", _people(least), "who share all that leaks there"),
            tile("mean", "Mean risk", f"{found.mean:.4f}", "one over the people, over all notes"),
        ]
        smallest = min((row.k for row in found.classes), default=None)
        tiles.append(tile("k", "Smallest class of equal records", _people(smallest), "k over all quasi-identifiers"))
    if sample is not None:
        tiles.append(
            tile(
                "bound",
                "Leaking notes, at most",
                f"{1000 * sample.bound:.1f} per 1,000",
                f"{sample.leaking:,} of {sample.read:,} read, {sample.confidence:.0%} confidence",
            )
        )
    shown = "".join(tiles)
    return f'<section id="summary" aria-label="Summary"><div class="tiles">{shown}</div></section>' if tiles else ""


def _ran(found: Analysis | None, manifest: Mapping[str, Any] | None) -> str:
    rows: list[tuple[str, str]] = []
    if found is not None:
        policy = found.policy
        rows += [("Annotated notes", f"{found.documents:,}"), ("Corpus hash", found.corpus)]
        rows.append(
            ("Policy", f"{policy.name}: {policy.title}" if policy is not None else "none: all that is found goes")
        )
        if policy is not None and policy.extends:
            rows.append(("which tightens", ", ".join(policy.extends)))
    for name, value in _flat(manifest or {}):
        rows.append((name, value))
    if not rows:
        return '<p class="note">No annotated notes and no manifest were given; only bounds are reported.</p>'
    body = [[text_cell(name), text_cell(value)] for name, value in rows]
    return table("facts", "Notes, policy, and the run that made the output", [("", ("what", "value"))], body)


# of a manifest, what a report needs: no path and no counts by note
_TOLD = ("deident", "python", "packages", "run", "began", "settings", "settings_sha256", "key", "notes", "failed")


def _flat(manifest: Mapping[str, Any], before: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, value in manifest.items():
        if (not before and name not in _TOLD) or value in ("", [], None):
            continue
        if isinstance(value, Mapping):
            found += _flat(value, f"{before}{name} ")  # pyright: ignore[reportUnknownArgumentType]
        else:
            found.append((f"{before}{name}", ", ".join(map(str, value)) if isinstance(value, list) else str(value)))
    return found


def _exposed(name: str, caption: str, rows: Mapping[Label, Exposed], nothing: str) -> str:
    if not rows:
        return f'<p class="note">{escape(nothing)}</p>'
    body: list[list[Cell]] = []
    for label, row in rows.items():
        how = "; ".join(sorted(row.how, key=lambda way: -row.how[way])[:2]) + ("; …" if len(row.how) > 2 else "")
        people = [Cell(_people(value), str(value or 0)) for value in (row.least, row.middle)]
        body.append([text_cell(label.value), count_cell(row.count), *people, count_cell(row.small), text_cell(how)])
    heads = ("type", "tokens", "people, least", "people, median", f"shared by {SMALL:,} or fewer", "how estimated")
    shares = [
        plots.Bar(row.small / row.estimated if row.estimated else 0.0, str(row.small), f"of {row.estimated} estimated")
        for row in rows.values()
    ]
    heading = f"shared by {SMALL:,} people or fewer"
    bars = plots.bars([label.value for label in rows], [(heading, shares)], title=f"{caption}: {heading}")
    return table(name, caption, [("", heads)], body) + f'<div class="wide">{bars}</div>'


def _notes(found: Analysis) -> str:
    leaking, showing = found.spread(found.leaking), found.spread(found.showing)
    whole = max(found.documents, 1)
    columns = [
        (heading, [plots.Bar(count / whole, f"{count:,}", percent(count / whole)) for count in spread.values()])
        for heading, spread in (("notes, by leaks", leaking), ("notes, by leaks and what stays", showing))
    ]
    title = "Notes by the number of people who share what they show"
    return (
        f'<div class="wide">{plots.bars(list(leaking), columns, title=title)}</div>'
        f'<p class="note">The people who share all tokens of a note together, if one token says nothing of another. '
        f"A note that shows nothing is in no row. The bound of {LIMITS[-1]:,} is that of the rule for ZIP codes.</p>"
    )


def _stays(found: Analysis) -> str:
    if found.policy is None:
        return '<p class="note">No policy was named, so all that is found goes.</p>'
    parts = _exposed("kept", "Kept or generalised, by type", found.kept, "The policy lets nothing stay of these spans.")
    inventory = found.inventory or {}
    rows = [
        [text_cell(kind), text_cell(label), text_cell(row["action"]), count_cell(row["count"])]
        for kind in ("retained", "keyed")
        for label, row in inventory.get(kind, {}).items()
    ]
    if rows:
        heads = ("inventory", "type", "treatment", "spans")
        parts += table("inventory", "Residual inventory; determination: null", [("", heads)], rows)
    return parts


def _classes(found: Analysis) -> str:
    if not found.classes:
        return '<p class="note">Nothing stays by which records could be compared.</p>'
    body = [
        [
            text_cell(", ".join(row.by)),
            count_cell(row.records),
            count_cell(row.classes),
            count_cell(row.k),
            *(count_cell(row.in_small[size]) for size in SMALL_CELLS),
        ]
        for row in found.classes
    ]
    heads = ("equal in", "records", "classes", "k", "alone", *(f"in classes under {size}" for size in SMALL_CELLS[1:]))
    whole = found.classes[-1]
    shares = [
        plots.Bar(row.in_small[2] / row.records, percent(row.in_small[2] / row.records), str(row.in_small[2]))
        for row in found.classes
    ]
    names = [", ".join(row.by) for row in found.classes]
    bars = plots.bars(names, [("records that are alone", shares)], title="Records that no other equals, by combination")
    return (
        table("equal", f"k-anonymity of what stays, over {whole.records:,} records", [("", heads)], body)
        + f'<div class="wide">{bars}</div>'
        + '<p class="note">A record is a patient, or a note without one. Sex is told from words of the note; year is '
        "the last that stays. A record that is alone in these notes need not be alone in the population.</p>"
    )


def _bounds(sample: Sample | None, wanted: Sequence[float], confidence: float) -> str:
    parts = ""
    if sample is not None:
        parts += (
            f"<p><strong>{sample.read:,} notes read, {sample.leaking:,} leaking: at most {1000 * sample.bound:.1f} per "
            f"1,000 notes</strong> leak, with {sample.confidence:.0%} confidence (Clopper and Pearson, one-sided, "
            "exact; the notes drawn at random from the output).</p>"
        )
    if wanted:
        rows = [
            [text_cell(f"{1000 * share:g} per 1,000")]
            + [count_cell(sample_size(share, leaking=leaking, confidence=confidence)) for leaking in range(4)]
            for share in wanted
        ]
        heads = ("wanted bound", *(f"{leaking} leaking" for leaking in range(4)))
        parts += table("sizes", f"Notes to read for a bound, {confidence:.0%} confidence", [("", heads)], rows)
    lines = [
        plots.Line(
            f"{leaking} leaking", [(read, bound(leaking, read, confidence=confidence)) for read in _READ if read > 20]
        )
        for leaking in (0, 1, 3)
    ]
    curve = plots.curve(
        lines,
        title=f"Upper bounds of the share of leaking notes, {confidence:.0%} confidence",
        x_title="notes read",
        y_title="leaking notes, at most",
        x_range=(0, _READ[-1]),
        y_range=(0, 0.16),
        x_text=lambda value: f"{value:,.0f}",
    )
    return parts + f'<div class="wide">{curve}</div>'


_LIMITS = """<ul>
<li>Leaks are counted in annotated notes only; what the annotators missed is in no figure. The bound from a sample
needs none of them, and holds for the notes from which the sample was drawn.</li>
<li>Numbers of people are estimates for the United States: names by the Census and the Social Security Administration
(off by at most 4 % of the lists), places by GeoNames, ZIP prefixes by the census of 2010, ages by coarse assumptions.
Elsewhere they do not hold.</li>
<li>Tokens are taken as independent. A rare illness, a date of treatment known from a newspaper, or a family's story may
identify without any of them: no figure here sees that.</li>
<li>k is that of these notes. In a larger set classes grow.</li>
<li>Professions, departments, hospitals and organizations are listed without a number, for nobody can say it.</li>
</ul>"""
