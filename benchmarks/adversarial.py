"""What is still found of identifiers that somebody, or some export, has hidden from machines: by the way of hiding.

python -m benchmarks.adversarial --carrier-dir DIR [--record]

Every gold span of the dev notes is hidden in the same way, and its offsets are carried along. A gold token counts as
found where all its letters and digits, as they stand now, are marked. `clean` is the recall of the same tokens as they
were written, `off` that of the detectors and steps reading the text as it stands, `on` that of the whole path, which
reads what a reader would see as well (`plain.py`).
"""

import argparse
import base64
import platform
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from random import Random

from benchmarks import RESULTS
from benchmarks.rules import CARRIERS, gold
from deident import corpus
from deident.config import Config
from deident.document import Document, Span, corpus_hash
from deident.lexicons import lookalikes
from deident.pipeline import Pipeline
from deident.resolve import resolve
from deident.tokens import tokenize

ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Hidden:
    """A hidden text, and where each character of the text now stands in it."""

    text: str
    places: tuple[tuple[int, int], ...]


Hide = Callable[[str, Random], Hidden]


# --- ways of hiding ---------------------------------------------------------------------------------------------------


def pieces(text: str, made: list[str]) -> Hidden:
    """Each character has become a piece of the new text; pieces beyond are nobody's."""
    places: list[tuple[int, int]] = []
    at = 0
    for piece in made:
        places.append((at, at + len(piece)))
        at += len(piece)
    return Hidden("".join(made), tuple(places[: len(text)]))


def each(change: Callable[[str], str]) -> Hide:
    return lambda text, _: pieces(text, [change(sign) for sign in text])


def some(change: Callable[[str], str], share: float) -> Hide:
    """The change of a share of the characters, and of one at least where it changes any."""

    def hide(text: str, random: Random) -> Hidden:
        able = [place for place, sign in enumerate(text) if change(sign) != sign]
        chosen = set(random.sample(able, min(len(able), max(1, round(share * len(able))))))
        return pieces(text, [change(sign) if place in chosen else sign for place, sign in enumerate(text)])

    return hide


def inside(*signs: str) -> Hide:
    """One of the signs between two letters or digits: after each, or in a third of the places."""

    def hide(text: str, random: Random) -> Hidden:
        made = list(text)
        for place in range(len(text) - 1):
            if text[place].isalnum() and text[place + 1].isalnum() and random.random() < 0.5:
                made[place] += random.choice(signs)
        return pieces(text, made)

    return hide


def around(opening: str, closing: str) -> Hide:
    """One or two letters of every word in markup: "<b>Jo</b>hn"."""

    def hide(text: str, random: Random) -> Hidden:
        made = list(text)
        before = [0] * len(text)
        for token in tokenize(text):
            size = token.end - token.start
            if size > 2 and text[token.start].isalnum():
                first = token.start + random.randrange(size - 1)
                last = random.randrange(first, min(token.end - 1, first + 2))
                made[first] = opening + made[first]
                before[first] = len(opening)
                made[last] += closing
        hidden = pieces(text, made)  # the markup itself is nobody's name
        starts = [start + size for (start, _), size in zip(hidden.places, before, strict=True)]
        return Hidden(hidden.text, tuple((start, start + 1) for start in starts))

    return hide


def whole(change: Callable[[str], str]) -> Hide:
    def hide(text: str, _: Random) -> Hidden:
        new = change(text)
        return Hidden(new, ((0, len(new)),) * len(text))

    return hide


def apart(by: str, *, words: str) -> Hide:
    def hide(text: str, _: Random) -> Hidden:
        made = [words if sign == " " else sign for sign in text]
        for place in range(len(text) - 1):
            if not text[place].isspace() and not text[place + 1].isspace():
                made[place] += by
        return pieces(text, made)

    return hide


def from_the_end(text: str, _: Random) -> Hidden:
    size = len(text)
    return Hidden(text[::-1], tuple((size - 1 - place, size - place) for place in range(size)))


def overridden(text: str, random: Random) -> Hidden:
    turned = from_the_end(text, random)
    return Hidden(f"\u202e{turned.text}\u202c", tuple((start + 1, end + 1) for start, end in turned.places))


def other_order(text: str, _: Random) -> Hidden:
    """ "John Smith" → "Smith John"."""
    words = text.split(" ")
    sizes = [len(word) for word in words]
    places: list[tuple[int, int]] = []
    for number in range(len(words)):
        start = sum(sizes[number + 1 :]) + len(words) - 1 - number
        places += [(start + at, start + at + 1) for at in range(sizes[number])]
        places.append((start, start))  # the blank is nobody's
    return Hidden(" ".join(reversed(words)), tuple(places[: len(text)]))


def broken(text: str, random: Random) -> Hidden:
    made = list(text)
    for token in tokenize(text):
        size = token.end - token.start
        if size > 4 and text[token.start : token.end].isalpha():
            made[token.start + random.randrange(1, size - 2)] += "-\n"
    return pieces(text, made)


def shown_as(name: str) -> Callable[[str], str]:
    """The form of a letter or digit that Unicode gives this name."""

    def change(sign: str) -> str:
        if not (sign.isascii() and sign.isalnum()):
            return sign
        what = unicodedata.name(sign).replace("LATIN ", "").replace("LETTER ", "")
        for wording in (name.format(what), name.format(what.replace("CAPITAL", "CAPITAL LETTER")
                        .replace("SMALL", "SMALL LETTER")).replace("FULLWIDTH ", "FULLWIDTH LATIN ")):  # fmt: skip
            try:
                return unicodedata.lookup(wording.replace("LATIN DIGIT", "DIGIT"))
            except KeyError:
                continue
        return sign

    return change


def by_table(table: Mapping[str, str]) -> Callable[[str], str]:
    return lambda sign: table.get(sign, sign)


def _lookalike(first: str, last: str) -> dict[str, str]:
    return {letter: sign for sign, letter in lookalikes().items() if first <= sign <= last}


def _small_capitals() -> dict[str, str]:
    named = {sign: unicodedata.name(sign) for sign in lookalikes()}
    return {name[-1].lower(): sign for sign, name in named.items() if name.startswith("LATIN LETTER SMALL CAPITAL ")}


LEET = {"o": "0", "O": "0", "i": "1", "l": "1", "e": "3", "E": "3", "a": "4", "A": "4", "s": "5", "S": "5", "t": "7"}
WAYS: Mapping[str, Hide] = {
    "zero-width characters": inside("\u200b", "\u200c", "\u200d", "\u2060", "\ufeff"),
    "soft hyphens": inside("\u00ad"),
    "Cyrillic look-alikes, a third": some(by_table(_lookalike("\u0400", "\u052f")), 0.34),
    "Cyrillic look-alikes, all": each(by_table(_lookalike("\u0400", "\u052f"))),
    "Greek look-alikes": each(by_table(_lookalike("\u0370", "\u03ff"))),
    "small capitals": each(by_table(_small_capitals())),
    "full-width": each(shown_as("FULLWIDTH {}")),
    "mathematical": each(shown_as("MATHEMATICAL BOLD {}")),
    "circled": each(shown_as("CIRCLED LATIN {}")),
    "accents (NFD)": some(lambda sign: sign + "\u0301" if sign.isascii() and sign.isalpha() else sign, 0.34),
    "struck out (U+0336)": each(lambda sign: sign + "\u0336" if sign.isalnum() else sign),
    "no-break and odd blanks": lambda text, random: pieces(
        text, [random.choice("\u00a0\u2009\u202f\u3000") if sign == " " else sign for sign in text]
    ),
    "letters apart by blanks": apart(" ", words="   "),
    "letters apart by stops": apart(".", words=" "),
    "letters from the end": from_the_end,
    "the same, shown by override": overridden,
    "words from the end": other_order,
    "tags": around("<b>", "</b>"),
    "Markdown": around("**", "**"),
    "RTF": around("{\\b ", "}"),
    "entities, decimal": each(lambda sign: f"&#{ord(sign)};" if sign.isalnum() else sign),
    "entities, hexadecimal": some(lambda sign: f"&#x{ord(sign):X};" if sign.isalnum() else sign, 0.34),
    "percent-encoded": some(lambda sign: f"%{ord(sign):02X}" if sign.isascii() else sign, 0.34),
    "quoted-printable": some(lambda sign: f"={ord(sign):02X}" if sign.isascii() and sign != "\n" else sign, 0.34),
    "quoted-printable, broken lines": inside("=\n"),
    "base64": whole(lambda text: base64.b64encode(text.encode()).decode()),
    "broken by hyphens": broken,
    "letters as digits": some(by_table(LEET), 0.5),
    "digits as letters": some(by_table({"0": "O", "1": "l"}), 0.67),
}


# --- measuring --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Planted:
    """A note with its gold hidden, and the gold tokens that changed: where each stood, where its characters stand."""

    doc: Document
    tokens: tuple[tuple[tuple[int, int], tuple[tuple[int, int], ...]], ...]


def planted(doc: Document, hide: Hide, random: Random) -> Planted:
    """The spans of a note hidden; `doc.spans` go along."""
    parts: list[str] = []
    spans: list[Span] = []
    tokens: list[tuple[tuple[int, int], tuple[tuple[int, int], ...]]] = []
    done = size = 0
    for span in doc.spans:
        old = doc.text[span.start : span.end]
        new = hide(old, random)
        parts += (doc.text[done : span.start], new.text)
        size += span.start - done
        spans.append(Span(size, size + len(new.text), span.label))
        if new.text != old:
            for token in tokenize(old):
                if any(sign.isalnum() for sign in old[token.start : token.end]):
                    places = new.places[token.start : token.end]
                    here = tuple((size + start, size + end) for start, end in places)
                    tokens.append(((span.start + token.start, span.start + token.end), here))
        size += len(new.text)
        done = span.end
    parts.append(doc.text[done:])
    return Planted(Document(doc.id, "".join(parts), tuple(spans)), tuple(tokens))


def covered(text: str, spans: tuple[Span, ...]) -> list[bool]:
    """For each character whether it is marked; what is neither letter nor digit need not be."""
    marked = [not sign.isalnum() for sign in text]
    for span in spans:
        marked[span.start : span.end] = [True] * (span.end - span.start)
    return marked


def as_it_stands(pipeline: Pipeline, doc: Document) -> tuple[Span, ...]:
    """What the detectors and the steps find in the text alone, without the plain one."""
    spans = resolve(
        (span for each in pipeline.detectors for span in each.detect(doc) if span.score >= pipeline.least),
        policy=pipeline.policy,
    )
    for step in pipeline.steps:
        spans = step(doc, spans)
    return spans


@dataclass(slots=True)
class Tally:
    """Gold tokens and those found; tokens outside gold, by what marks them."""

    gold: int = 0
    clean: int = 0
    off: int = 0
    on: int = 0
    wrong_off: int = 0
    wrong_on: int = 0


def measured(
    pipeline: Pipeline, notes: list[Document], before: Mapping[str, list[bool]], hide: Hide, seed: int
) -> Tally:
    """before: what of each note is covered as it was written."""
    tally = Tally()
    for doc in notes:
        plant = planted(doc, hide, Random(f"{seed} {doc.id}"))
        bare = Document(doc.id, plant.doc.text)
        clean = before[doc.id]
        off, on = as_it_stands(pipeline, bare), pipeline.detect(bare).spans
        marked_off, marked_on = covered(bare.text, off), covered(bare.text, on)
        for (start, end), now in plant.tokens:
            tally.gold += 1
            tally.clean += all(clean[start:end])
            tally.off += all(all(marked_off[here[0] : here[1]]) for here in now)
            tally.on += all(all(marked_on[here[0] : here[1]]) for here in now)
        tally.wrong_off += sum(1 for _ in outside(plant.doc, off))
        tally.wrong_on += sum(1 for _ in outside(plant.doc, on))
    return tally


def outside(doc: Document, spans: tuple[Span, ...]) -> Iterator[int]:
    """The tokens outside gold that are marked."""
    tokens = tokenize(doc.text)
    true = {place for span in doc.spans for place in range(*tokens.touching(span.start, span.end))}
    for span in spans:
        for place in range(*tokens.touching(span.start, span.end)):
            word = doc.text[int(tokens.starts[place]) : int(tokens.ends[place])]
            if place not in true and word.isalnum():
                yield place


def speed(pipeline: Pipeline, notes: list[Document]) -> str:
    """The time of the whole path beside that of the same without the plain reading, on notes as they are."""
    best = {"off": float("inf"), "on": float("inf")}
    for _ in range(ROUNDS):
        for name in best:
            begin = time.process_time()
            for doc in notes:
                if name == "on":
                    pipeline.detect(doc)
                else:
                    as_it_stands(pipeline, doc)
            best[name] = min(best[name], time.process_time() - begin)
    words = sum(len(doc.text.split()) for doc in notes)
    ratio = best["on"] / best["off"]
    return f"{words:,} words, processor time, best of {ROUNDS} rounds: on takes {ratio:.4f} of the time of off"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adversarial")
    parser.add_argument("--carrier-dir", type=Path, required=True, help="where mtsamples/ and aci_bench/ lie")
    parser.add_argument("--ways", help="parts of names of ways, with commas; all if left out")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--record", action="store_true", help="write docs/results/adversarial.md")
    given = parser.parse_args()
    notes = gold(given.carrier_dir, "dev")
    pipeline = Pipeline.from_config(Config())
    found = {doc.id: pipeline.detect(Document(doc.id, doc.text)).spans for doc in notes}
    same = sum(as_it_stands(pipeline, Document(doc.id, doc.text)) == found[doc.id] for doc in notes)
    wrong = sum(1 for doc in notes for _ in outside(doc, found[doc.id]))
    before = {doc.id: covered(doc.text, found[doc.id]) for doc in notes}
    lines = [
        f"{len(notes)} dev notes, balanced: recall of the tokens hidden; tokens marked outside gold ({wrong} in",
        f"the notes as they were). As they were, {same} of {len(notes)} notes have the same finds with it on and off.",
        "",
        f"{'':32} tokens   clean     off      on   outside: off    on",
    ]
    for name, hide in WAYS.items():
        if given.ways and not any(part in name for part in given.ways.split(",")):
            continue
        tally = measured(pipeline, notes, before, hide, given.seed)
        shares = "  ".join(f"{part / tally.gold:.4f}" for part in (tally.clean, tally.off, tally.on))
        lines.append(f"{name:32} {tally.gold:6}  {shares}  {tally.wrong_off:13} {tally.wrong_on:5}")
        print(lines[-1], flush=True)
    carrier = corpus.carrier_texts(given.carrier_dir / CARRIERS["mtsamples-phi"], corpus.STANDOFF["mtsamples-phi"])
    if not given.ways:
        lines += ["", speed(pipeline, [Document(name, text) for name, text in list(carrier.items())[:600]])]
    text = "\n".join(lines)
    print(text)
    if given.record:
        facts = f"{date.today()}, Python {platform.python_version()}, one core; corpus {corpus_hash(notes)[:16]}"
        command = "python -m benchmarks.adversarial --carrier-dir DIR --record"
        page = f"# adversarial: `{command}`\n\n{facts}\n\n```\n{text}\n```\n"
        (RESULTS / "adversarial.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
