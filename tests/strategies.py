"""Generated texts, spans and documents for the properties."""

from hypothesis import strategies as st

from deident.document import Document, Span
from deident.labels import Label

# pieces that clinical text is made of, and those that break careless code
_PIECES = (
    "Dr. ", "McDonald", "SMITH, ", "J.", "seen ", "pain.", "The", "Since6/03/04", "x76221", "ALMarital", " ", "  ",
    "\n", "\r\n", "\t", "|", "3/4/2021", "303-555-0182", "98.6", "1,200", "---", "José", "Jose\u0301", "O’Brien", "🥳",
    "\u00a0",
    "\u200b", "\u00ad", "👩🏽‍⚕️", "Ａ１", "٣٤", "漢字", "Name: ", "PLAN:", "- ", "1. ", "(", ")", "&<>\"'", "]]>",
    "ǅ", "½",
)  # fmt: skip

texts = st.lists(
    st.one_of(st.sampled_from(_PIECES), st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=6)),
    max_size=30,
).map("".join)

any_text = st.text(max_size=60)


@st.composite
def spans_of(draw: st.DrawFn, size: int, *, most: int = 8) -> tuple[Span, ...]:
    """Any spans of a text of `size` characters, overlapping or not."""
    if size == 0:
        return ()
    found: list[Span] = []
    for _ in range(draw(st.integers(0, most))):
        start = draw(st.integers(0, size - 1))
        end = draw(st.integers(start + 1, min(size, start + 12)))
        score = draw(st.floats(0, 1, allow_nan=False))
        found.append(Span(start, end, draw(st.sampled_from(list(Label))), draw(st.sampled_from("abc")), score))
    return tuple(found)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    text = draw(texts)
    return Document(draw(st.from_regex(r"[a-z]{1,4}[0-9]{1,3}", fullmatch=True)), text, draw(spans_of(len(text))))
