"""Plots as SVG text, without a plotting library: bars, heat map, curve.

Each is a pure function that returns one `<svg>` to be put into an HTML page whose style sheet holds `STYLE`. Colours
are named in `THEME` (light, dark, print), so a plot looks like the page around it. No plot tells anything by colour
alone: bars and cells carry their numbers, lines their dashes and names, and every mark a title to point at.
"""

import html
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# The text classes are those of the page as well: `--ink` on `--surface` and `--dim` on `--surface` are at least 4.5:1.
_LIGHT = """color-scheme: light;
--page: #f5f6f8; --surface: #ffffff; --ink: #1b2330; --dim: #566072; --line: #dbe0e8; --soft: #eef1f5;
--first: #2a6fc4; --second: #0d8275; --third: #8a4fbf; --bad: #b93c0b; --warn-surface: #fff4e5; --warn-line: #d98a1f;
--heat-good: #3d8be0; --heat-bad: #ec7a41; --mark: #ffdf8a; --mark-ink: #1b2330;"""
_DARK = """color-scheme: dark;
--page: #10151f; --surface: #181f2c; --ink: #e7ecf4; --dim: #a6b1c4; --line: #303a4c; --soft: #212a3a;
--first: #6ea8fe; --second: #45c4ae; --third: #c79bf2; --bad: #ff9a6e; --warn-surface: #33270f; --warn-line: #d99a35;
--heat-good: #2c6bc9; --heat-bad: #b4491c; --mark: #7a5a00; --mark-ink: #fff6dc;"""
THEME = f""":root {{ {_LIGHT} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {_DARK} }} }}
"""
STYLE = """.plot { display: block; font: 12px system-ui, sans-serif; max-width: none; }
.plot text { fill: var(--ink); font-variant-numeric: tabular-nums; }
.plot .dim { fill: var(--dim); }
.plot .head { font-weight: 600; }
.plot .end { text-anchor: end; }
.plot .middle { text-anchor: middle; }
.plot .small { font-size: 10px; }
.plot .track { fill: var(--soft); }
.plot .grid { stroke: var(--line); fill: none; }
.plot .axis { stroke: var(--dim); fill: none; }
.plot .right { stroke: var(--ink); stroke-width: 1.5; }
.plot .heat-good { fill: var(--heat-good); }
.plot .heat-bad { fill: var(--heat-bad); }
.plot .empty { fill: none; stroke: var(--line); }
.plot .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.plot .bar0, .plot .dot0 { fill: var(--first); }
.plot .bar1, .plot .dot1 { fill: var(--second); }
.plot .bar2, .plot .dot2 { fill: var(--third); }
.plot .line0 { stroke: var(--first); }
.plot .line1 { stroke: var(--second); stroke-dasharray: 7 3; }
.plot .line2 { stroke: var(--third); stroke-dasharray: 2 3; }
@media print { .plot { max-width: 100%; height: auto; print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""
SERIES = 3  # that STYLE tells apart; one more begins again

# What HTML cannot hold or nobody can see: control characters, lone surrogates, noncharacters.
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def escape(text: str) -> str:
    """Text as it may stand in an element or in a quoted attribute; what HTML cannot hold becomes U+FFFD.

    >>> escape('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return html.escape(_UNSEEN.sub("\ufffd", text), quote=True)


@dataclass(frozen=True, slots=True)
class Bar:
    """A share between 0 and 1, and what is written behind it (the figure, the counts)."""

    value: float
    figure: str
    counts: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.value <= 1:
            raise ValueError(f"a bar shows a share between 0 and 1, not {self.value}")


def bars(names: Sequence[str], columns: Sequence[tuple[str, Sequence[Bar]]], *, title: str) -> str:
    """One row a name, and beside it one bar for each column; the columns stand side by side on the same scale.

    >>> svg = bars(["DATE"], [("recall", [Bar(0.5, "50 %", "1 / 2")])], title="Recall by type")
    >>> "DATE: recall 50 % (1 / 2)" in svg
    True
    """
    row, top, length, behind = 24, 26, 270, 72
    left = _width(names) + 12
    counts = max((_width([bar.counts]) for _, column in columns for bar in column), default=0.0) + 12
    step = length + behind + counts + 16
    parts: list[str] = []
    for at, (heading, column) in enumerate(columns):
        x = left + at * step
        parts.append(f'<text class="head" x="{_n(x)}" y="14">{escape(heading)}</text>')
        for line, (name, bar) in enumerate(zip(names, column, strict=True)):
            y = top + line * row
            said = f"{name}: {heading} {bar.figure}" + (f" ({bar.counts})" if bar.counts else "")
            parts.append(
                f"<g><title>{escape(said)}</title>"
                f'<rect class="track" x="{_n(x)}" y="{y + 4}" width="{length}" height="{row - 10}" rx="3"/>'
                f'<rect class="bar{at % SERIES}" x="{_n(x)}" y="{y + 4}" width="{_n(bar.value * length)}" '
                f'height="{row - 10}" rx="3"/>'
                f'<text class="end" x="{_n(x + length + behind - 4)}" y="{y + 15}">{escape(bar.figure)}</text>'
                f'<text class="dim" x="{_n(x + length + behind + 6)}" y="{y + 15}">{escape(bar.counts)}</text></g>'
            )
    for line, name in enumerate(names):
        parts.append(f'<text class="end" x="{_n(left - 10)}" y="{top + line * row + 15}">{escape(name)}</text>')
    return _svg(left + step * len(columns), top + row * len(names) + 4, title, parts)


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[int]],
    *,
    title: str,
    row_title: str,
    column_title: str,
    none: str | None = None,
) -> str:
    """Counts, shaded by their share of the row. A row and a column of the same name meet in a framed cell.

    `none` is the name of "nothing there": where it meets a name, and where two different names meet, the shade is that
    of an error.
    """
    wide = len(columns) <= 18
    digits = max((len(str(count)) for row in cells for count in row), default=1)
    width, height = (max(46.0, digits * 8 + 8), 27) if wide else (max(31.0, digits * 6.6 + 4), 24)
    small = "" if wide else " small"
    left, top = _width([*rows, row_title]) + 14, _width(columns) * 0.82 + 34
    parts = [
        f'<text class="dim end" x="{_n(left - 8)}" y="{_n(top - 8)}">{escape(row_title)} ↓</text>',
        f'<text class="dim" x="{_n(left)}" y="14">{escape(column_title)} →</text>',
    ]
    for at, name in enumerate(columns):
        x = left + at * width + width / 2
        parts.append(
            f'<text transform="translate({_n(x)} {_n(top - 8)}) rotate(-52)"{_bold(name == none)}>{escape(name)}</text>'
        )
    for line, (name, row) in enumerate(zip(rows, cells, strict=True)):
        y = top + line * height
        total = sum(row)
        parts.append(
            f'<text x="{_n(left - 8)}" y="{_n(y + height / 2 + 4)}" '
            f'class="end{" head" if name == none else ""}">{escape(name)}</text>'
        )
        for at, (other, count) in enumerate(zip(columns, row, strict=True)):
            x = left + at * width
            box = f'x="{_n(x + 1)}" y="{_n(y + 1)}" width="{_n(width - 2)}" height="{height - 2}" rx="3"'
            right = name == other != none
            if not count:
                parts.append(f'<rect class="empty{" right" if right else ""}" {box}/>')
                continue
            share = count / total
            said = f"{row_title} {name}, {column_title} {other}: {count:,} ({share:.1%} of the row)"
            shade = f'fill-opacity="{_n(0.14 + 0.48 * share)}"'
            parts.append(
                f"<g><title>{escape(said)}</title>"
                f'<rect class="{"heat-good right" if right else "heat-bad"}" {shade} {box}/>'
                f'<text class="middle{small}" x="{_n(x + width / 2)}" y="{_n(y + height / 2 + 4)}">{count}</text></g>'
            )
    slant = _width(columns[-1:]) * 0.62  # the last heading leans over the edge
    return _svg(left + width * len(columns) + slant, top + height * len(rows) + 4, title, parts)


def _bold(wanted: bool) -> str:
    return ' class="head"' if wanted else ""


@dataclass(frozen=True, slots=True)
class Line:
    """A named run of points (x, y), and those of them that get a dot and a title of their own."""

    name: str
    points: Sequence[tuple[float, float]]
    dots: Sequence[tuple[float, float, str]] = ()


def percent_of(value: float) -> str:
    """The text of an axis of shares: 0.25 → "25 %"."""
    return f"{value * 100:.6g} %"


def curve(
    lines: Sequence[Line],
    *,
    title: str,
    x_title: str,
    y_title: str,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    x_text: Callable[[float], str] = percent_of,
    y_text: Callable[[float], str] = percent_of,
) -> str:
    """Lines in one frame. A range that is not given is that of the points; points outside a given one are refused."""
    width, height, left, top, right, bottom = 540, 360, 66, 14, 26, 48
    x_low, x_high = x_range or _extent([x for line in lines for x, _ in line.points])
    y_low, y_high = y_range or _extent([y for line in lines for _, y in line.points])
    for line in lines:
        if any(not (x_low <= x <= x_high and y_low <= y <= y_high) for x, y in line.points):
            raise ValueError(f"the line '{line.name}' leaves the frame")

    def place(x: float, y: float) -> tuple[str, str]:
        across = left + (x - x_low) / (x_high - x_low) * (width - left - right)
        down = height - bottom - (y - y_low) / (y_high - y_low) * (height - top - bottom)
        return _n(across), _n(down)

    parts: list[str] = []
    for value in ticks(x_low, x_high):
        x, _ = place(value, y_low)
        parts.append(f'<path class="grid" d="M{x} {top}V{height - bottom}"/>')
        parts.append(f'<text class="dim middle" x="{x}" y="{height - bottom + 17}">{escape(x_text(value))}</text>')
    for value in ticks(y_low, y_high):
        _, y = place(x_low, value)
        parts.append(f'<path class="grid" d="M{left} {y}H{width - right}"/>')
        parts.append(f'<text class="dim end" x="{left - 7}" y="{y}" dy="4">{escape(y_text(value))}</text>')
    parts.append(f'<path class="axis" d="M{left} {top}V{height - bottom}H{width - right}"/>')
    middle = (top + height - bottom) / 2
    parts.append(f'<text class="middle" x="{(left + width - right) / 2}" y="{height - 8}">{escape(x_title)}</text>')
    parts.append(f'<text class="middle" transform="translate(14 {_n(middle)}) rotate(-90)">{escape(y_title)}</text>')
    for at, line in enumerate(lines):
        series = at % SERIES
        # points that fall on the same tenth of a pixel are one: a model has as many thresholds as spans
        places = list(dict.fromkeys(place(x, y) for x, y in line.points))
        if places:
            steps = " ".join(f"{x} {y}" for x, y in places)
            parts.append(f'<path class="line line{series}" d="M{steps}"/>')
        for x_value, y_value, said in line.dots:
            x, y = place(x_value, y_value)
            parts.append(f'<circle class="dot{series}" cx="{x}" cy="{y}" r="4"><title>{escape(said)}</title></circle>')
    bottom_of_all = height
    if len(lines) > 1:
        for at, line in enumerate(lines):
            y = height + 6 + at * 18
            parts.append(f'<path class="line line{at % SERIES}" d="M{left} {y}h34"/>')
            parts.append(f'<text x="{left + 42}" y="{y + 4}">{escape(line.name)}</text>')
        bottom_of_all = height + 18 * len(lines)
    return _svg(width, bottom_of_all, title, parts)


def standalone(svg: str) -> str:
    """A plot as a file of its own, with the styles that a page would bring."""
    head, title, rest = svg.partition("</title>")
    ground = '<rect width="100%" height="100%" fill="var(--surface)"/>'
    named = head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return f"{named}{title}<style>{THEME}{STYLE}</style>{ground}{rest}\n"


def _extent(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values, default=0.0), max(values, default=1.0)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def ticks(low: float, high: float, *, about: int = 5) -> list[float]:
    """Round values between two, about so many: steps of 1, 2 or 5 times a power of ten.

    >>> ticks(0, 1)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = min((factor * power for factor in (1, 2, 5, 10)), key=lambda size: abs(math.log(size / raw)))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(at * step, 12) for at in range(first, last + 1)]


def _width(texts: Sequence[str]) -> float:
    """How much room the longest takes in the font of `.plot`, without measuring: capitals are about 8.2 wide."""
    return max((sum(8.2 if c.isupper() else 6.6 for c in text) for text in texts), default=0.0)


def _n(value: float) -> str:
    """A number with the digits that can be seen."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg class="plot" role="img" width="{_n(width)}" height="{_n(height)}" '
        f'viewBox="0 0 {_n(width)} {_n(height)}"><title>{escape(title)}</title>{"".join(parts)}</svg>'
    )
