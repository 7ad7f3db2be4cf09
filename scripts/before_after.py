"""Draws docs/images/before-after.svg: an example note, and what the program makes of it.

python -m scripts.before_after
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

import deident
from deident.document import Document, Span

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "before-after.svg"
NOTE = ROOT / "examples" / "notes" / "nursing-note.txt"
KEY = ROOT / "examples" / "demo.key"

CHARACTER, LINE, SIZE = 7.2, 19, 12  # width and height of a character's place, and its font size
WIDE = 42  # characters of a line
EDGE, GAP, HEAD = 14, 14, 34

STYLE = """
  .card { fill: #ffffff; stroke: #cfd8dc }
  text { fill: #263238; font: 12px ui-monospace, 'DejaVu Sans Mono', monospace }
  .head { font: 600 12px system-ui, 'DejaVu Sans', sans-serif; fill: #455a64 }
  .told { fill: #ffe0b2 } .gone { fill: #b2dfdb }
  @media (prefers-color-scheme: dark) {
    .card { fill: #1e272c; stroke: #455a64 } text { fill: #eceff1 } .head { fill: #b0bec5 }
    .told { fill: #8d4e00 } .gone { fill: #00564d }
  }
"""


@dataclass(frozen=True, slots=True)
class Panel:
    head: str
    kind: str
    text: str
    spans: tuple[Span, ...]


def panels() -> list[Panel]:
    """The note, and what the command line makes of it by default and under a policy with stand-ins."""
    doc = Document(NOTE.stem, NOTE.read_text(encoding="utf-8"))
    tags = deident.load().pipeline
    drawn = deident.load(policy="expert-determination", key_file=str(KEY)).pipeline
    tagged, moved = tags.rewrite(doc), drawn.rewrite(doc)
    return [
        Panel("examples/notes/nursing-note.txt", "told", doc.text, tags.detect(doc).spans),
        Panel("deident scrub", "gone", tagged.text, tagged.spans),
        Panel("… --policy expert-determination", "gone", moved.text, moved.spans),
    ]


def picture() -> str:
    """The picture as SVG; by its own style readable on light and dark."""
    drawn = panels()
    rows = max(len(list(_lines(panel.text))) for panel in drawn)
    wide = WIDE * CHARACTER + 2 * EDGE
    high = HEAD + rows * LINE + EDGE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {len(drawn) * (wide + GAP) - GAP:g} {high:g}" role="img"'
        ' aria-label="A nursing note; the same note with tags; the same note with stand-ins">',
        f"<style>{STYLE}</style>",
    ]
    for place, panel in enumerate(drawn):
        left = place * (wide + GAP)
        parts.append(
            f'<rect class="card" x="{left + 0.5:g}" y="0.5" width="{wide - 1:g}" height="{high - 1:g}" rx="6"/>'
        )
        parts.append(f'<text class="head" x="{left + EDGE:g}" y="22">{escape(panel.head)}</text>')
        for row, (start, end) in enumerate(_lines(panel.text)):
            parts += _line(panel, start, end, left=left + EDGE, base=HEAD + row * LINE + SIZE)
    return "\n".join([*parts, "</svg>", ""])


def _line(panel: Panel, start: int, end: int, *, left: float, base: float) -> Iterator[str]:
    for span in panel.spans:
        first, last = max(span.start, start), min(span.end, end)
        if first < last:
            x, width = left + (first - start) * CHARACTER - 1, (last - first) * CHARACTER + 2
            yield f'<rect class="{panel.kind}" x="{x:g}" y="{base - 12:g}" width="{width:g}" height="16" rx="2"/>'
    shown = escape(panel.text[start:end])
    length = (end - start) * CHARACTER
    yield f'<text x="{left:g}" y="{base:g}" xml:space="preserve" textLength="{length:g}">{shown}</text>'


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Where the lines of a panel begin and end: at blanks, and at the note's own line ends."""
    for line in re.finditer(r"[^\n]+", text):
        start = line.start()
        while line.end() - start > WIDE:
            cut = text.rfind(" ", start, start + WIDE + 1)
            yield start, cut
            start = cut + 1
        yield start, line.end()


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
