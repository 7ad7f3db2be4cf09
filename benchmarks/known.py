"""What is known of a patient and a site, searched for in train and dev of all corpora: leaks, false alarms, speed.

Each note gets what a registration record would hold, taken from its gold: the legal name once ("Last, First Middle",
no nickname), and the first medical record number, date of birth, telephone, SSN, street and city. Then every PATIENT
mention of the gold is looked at. It is a *variant* if it shares a part with the registered name, or holds a nickname, a
short form, the initials, a slip of one or two letters, or a part glued to something; those must be covered. All others
name somebody else (i2b2's PATIENT is family too), whom the record does not know. The same notes are tried again in
capitals and in small letters.

The corpora that are stored without their carriers' sentences take part if --carrier-dir says where those lie.
"""

import argparse
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks import notes, report
from benchmarks.rules import CARRIERS, TOKEN, gold, seconds
from deident import corpus, lexicons
from deident.detect import _identifiers as ids
from deident.detect.known import Known, Roster
from deident.document import Document, Patient, Span
from deident.labels import Category, Label

PROVIDERS = 20_000
SIGNED = re.compile(r"[/:]|-\w+$(?<=^\w{3}-\w{3})")
_LETTERS = re.compile(r"[^\W_]*[^\W\d_][^\W_]*")
_QUOTED = re.compile(r"[\"“(][^\"”)]*[\"”)]")
_BORN = re.compile(r"(?i)\b(?:dob|d\.o\.b|birth\w*|born)\b[^\n]{0,12}$")


# --- the registration record -----------------------------------------------------------------------------------------


def pieces(text: str) -> list[str]:
    return [lexicons.fold(piece) for piece in _LETTERS.findall(text)]


def legal_name(mentions: list[str]) -> str:
    """The first mention with the most parts of the surname-and-name kind, without its nickname, surname first."""
    plain = [" ".join(_QUOTED.sub(" ", mention).split()) for mention in mentions]
    full = [name for name in plain if len([piece for piece in pieces(name) if len(piece) > 1]) > 1]
    if not full:
        return max(plain, key=len, default="")
    first = full[0]
    own = {piece for piece in pieces(first) if len(piece) > 1}
    alike = [name for name in full if len(own & set(pieces(name))) > 1]
    name = max(alike or [first], key=lambda name: len("".join(pieces(name))))  # "Mu Mu" is like none
    if "," in name:
        return name
    words = name.split()
    suffix = [words.pop()] if lexicons.word_key(words[-1]) in ids.SUFFIXES and len(words) > 2 else []
    place = len(words) - 1
    while place > 1 and lexicons.fold(words[place - 1]) in ids.PARTICLES:
        place -= 1
    return f"{' '.join(words[place:] + suffix)}, {' '.join(words[:place])}"


def record(doc: Document) -> tuple[tuple[Label, str], ...]:
    """What the registration of the note's patient would hold."""

    def texts(label: Label) -> list[str]:
        return [" ".join(doc.text[span.start : span.end].split()) for span in doc.spans if span.label is label]

    entries: list[tuple[Label, str]] = []
    name = legal_name(texts(Label.PATIENT))
    if name:
        entries.append((Label.PATIENT, name))
    for label in (Label.MEDICALRECORD, Label.PHONE, Label.SSN, Label.STREET, Label.CITY, Label.ACCOUNT):
        entries += [(label, text) for text in texts(label)[:1]]
    for span in doc.spans:
        if span.label is Label.DATE and _BORN.search(doc.text[max(0, span.start - 24) : span.start]):
            entries.append((Label.DATE, " ".join(doc.text[span.start : span.end].split())))
            break
    return tuple(entries)


# --- the mentions ----------------------------------------------------------------------------------------------------


SHORTEST = 3  # letters of a short form ("Zyg" for Zygmunt), or of what is glued to another word


def related(piece: str, registered: list[str], given: list[str]) -> bool:
    """Whether a part of a mention is a part of the registered name, a form of one, or a slip of one.

    The detector's own thresholds are not asked: two edits in five letters or more count, whatever else the word is.
    """
    if len(piece) < 2 or piece in ids.PARTICLES or piece in ids.SUFFIXES:
        return False
    for part in registered:
        if piece == part or (len(part) > 1 and piece in ids.others(part)):
            return True
        if min(len(part), len(piece)) > 4 and ids.distance(piece, part, 2) <= 2:
            return True
        if part in given and len(piece) >= SHORTEST and part.startswith(piece):
            return True
        if len(part) > SHORTEST and part in piece:
            return True
    return False


def is_initials(text: str, registered: list[str]) -> bool:
    """Whether a mention is nothing but two or more capitals that begin parts of the registered name."""
    letters = [char.lower() for char in text if char.isalnum()]
    first = [part[0] for part in registered]
    alone = all(len(word) == 1 for word in pieces(text)) or (text.isupper() and len(pieces(text)) == 1)
    return 1 < len(letters) <= 4 and alone and not Counter(letters) - Counter(first)


@dataclass(frozen=True, slots=True)
class Mentions:
    """The gold mentions of one label, counted."""

    tried: int = 0
    leaked: int = 0
    partly: int = 0  # of those tried, covered where they share something, but not from end to end
    others: int = 0


def compare(doc: Document, name: str, found: list[Span]) -> tuple[Mentions, list[Span]]:
    registered = [piece for piece in pieces(name) if piece not in ids.SUFFIXES]
    given = pieces(name.partition(",")[2] or name)
    covered = {place for span in found for place in range(span.start, span.end)}
    tried = partly = others = 0
    leaked: list[Span] = []
    for span in doc.spans:
        if span.label is not Label.PATIENT:
            continue
        text = doc.text[span.start : span.end]
        shared = [match for match in _LETTERS.finditer(text) if related(lexicons.fold(match[0]), registered, given)]
        if not shared and is_initials(text, registered):
            shared = list(_LETTERS.finditer(text))
        if not shared:
            others += 1
            continue
        tried += 1
        if any(
            span.start + match.start() not in covered or span.start + match.end() - 1 not in covered for match in shared
        ):
            leaked.append(span)
        elif any(place not in covered for place in range(span.start, span.end) if doc.text[place].isalnum()):
            partly += 1
    return Mentions(tried, len(leaked), partly, others), leaked


def repeated(doc: Document, entries: tuple[tuple[Label, str], ...]) -> Iterator[Span]:
    """The gold spans of numbers and addresses that say the same as an entry."""
    keys = {(label.category, lexicons.word_key(text)) for label, text in entries if label is not Label.PATIENT}
    for span in doc.spans:
        if (span.label.category, lexicons.word_key(doc.text[span.start : span.end])) in keys:
            yield span


def covered_by(text: str, span: Span, found: list[Span]) -> bool:
    """Whether every letter and digit of the span is covered."""
    covered = {place for other in found for place in range(other.start, other.end)}
    return all(place in covered for place in range(span.start, span.end) if text[place].isalnum())


# --- the report ------------------------------------------------------------------------------------------------------


def providers(count: int) -> tuple[tuple[Label, str], ...]:
    """Invented providers, from the pools of names, the same every time."""
    draw = random.Random(4)
    first = [entry.text for entry in (*lexicons.pool("first_female"), *lexicons.pool("first_male"))]
    last = [entry.text for entry in lexicons.pool("last")]
    made = (f"{draw.choice(last)}, {draw.choice(first)} {draw.choice('ABCDEFGHJKLMNPRSTW')}" for _ in range(3 * count))
    return tuple((Label.DOCTOR, name) for name in list(dict.fromkeys(made))[:count])


def gathered(folder: Path | None) -> list[Document]:
    """The notes of train and dev: of all corpora, or of our own where the carriers of the others are not there."""
    if folder is None:
        return [doc for split in ("train", "dev") for doc in corpus.load(corpus.OWN, split=split)]
    return [doc for split in ("train", "dev") for doc in gold(folder, split)]


CASES: dict[str, Callable[[str], str]] = {"as written": str, "in capitals": str.upper, "in small letters": str.lower}


def _cased(doc: Document, case: Callable[[str], str]) -> Document | None:
    """The note in another case; None where a letter has no counterpart of one letter."""
    text = case(doc.text)
    return replace(doc, text=text) if len(text) == len(doc.text) else None


@dataclass
class Tally:
    """What was tried and found, over all notes in one case."""

    counts: Counter[str] = field(default_factory=Counter[str])
    found: Counter[str] = field(default_factory=Counter[str])  # by how
    false: Counter[str] = field(default_factory=Counter[str])

    def lines(self, title: str) -> list[str]:
        count = self.counts
        precision = 1 - self.false.total() / max(1, self.found.total())
        classes = ", ".join(f"{how} {self.found[how]} ({self.false[how]})" for how in sorted(self.found))
        return [
            f"{title}: {count['notes']} notes, {count['named']} with a registered name",
            f"  mentions that are variants of the registered name: {count['tried']}, leaked: {count['leaked']}"
            f" (of the covered, {count['partly']} hold another part that the record does not know)",
            f"  mentions that name somebody else: {count['others']}",
            f"  repeats of registered numbers, dates and addresses: {count['numbers']}, missed: {count['missed']}",
            f"  spans found: {self.found.total()}, outside gold: {self.false.total()}, precision {precision:.4f};"
            f" on gold of another category: {count['other']}",
            f"  found (outside gold) by: {classes}",
        ]


def _proof(documents: list[Document], show: bool) -> list[str]:
    detector = Known()
    lines: list[str] = []
    for title, case in CASES.items():
        tally = Tally()
        for doc in documents:
            cased = _cased(doc, case)
            if cased is not None:
                # registration does not shout because a note does
                _try(tally, detector, cased, record(doc), show)
        lines += tally.lines(title)
    return lines


def _try(tally: Tally, detector: Known, doc: Document, entries: tuple[tuple[Label, str], ...], show: bool) -> None:
    found = list(detector.detect(replace(doc, patient=Patient("", entries))))
    name = next((text for label, text in entries if label is Label.PATIENT), "")
    mentions, leaked = compare(doc, name, found)
    same = list(repeated(doc, entries))
    missed = [span for span in same if not covered_by(doc.text, span, found)]
    tally.counts.update(
        notes=1, named=bool(name), tried=mentions.tried, leaked=mentions.leaked, partly=mentions.partly,
        others=mentions.others, numbers=len(same), missed=len(missed),
    )  # fmt: skip
    for span in found:
        how = span.source.partition(":")[2]
        tally.found[how] += 1
        touching = [other for other in doc.spans if other.overlaps(span)]
        if not touching:
            tally.false[how] += 1
            _shown(show, "FALSE", doc, span)
        tally.counts["other"] += bool(touching) and all(
            other.label.category is not span.label.category for other in touching
        )
    for kind, spans in (("LEAK", leaked), ("MISS", missed)):
        for span in spans:
            _shown(show, kind, doc, span)


def _shown(show: bool, kind: str, doc: Document, span: Span) -> None:
    if show:
        print(kind, doc.id, span.source or span.label, repr(doc.text[max(0, span.start - 30) : span.end + 20]))


def _site(documents: list[Document], show: bool) -> list[str]:
    """A site's list: the notes' own doctors among twenty thousand invented ones."""
    full = {
        text
        for doc in documents
        for span in doc.spans
        if span.label is Label.DOCTOR and _is_full(text := doc.text[span.start : span.end])
    }
    lines: list[str] = []
    words = sum(len(re.findall(r"\w+", doc.text)) for doc in documents)
    for title, own in (("with the notes' own", sorted(full)), ("without the notes' own", [])):
        detector = Known(roster=Roster((*((Label.DOCTOR, name) for name in own), *providers(PROVIDERS))))
        count = Counter[str]()
        for doc in documents:
            spans = list(detector.detect(replace(doc, patient=None)))
            for span in doc.spans:
                if span.label is Label.DOCTOR and doc.text[span.start : span.end] in full:
                    covered = covered_by(doc.text, span, spans)
                    count.update(wanted=1, covered=covered)
                    _shown(show and bool(own) and not covered, "MISSED DOCTOR", doc, span)
            for span in spans:
                touching = {other.label.category for other in doc.spans if other.overlaps(span)}
                count["on names" if Category.NAME in touching else "on other" if touching else "false"] += 1
                _shown(show and bool(own) and not touching, "FALSE SITE", doc, span)
        lines.append(
            f"{PROVIDERS:,} providers {title}: doctors written in full covered {count['covered']} of"
            f" {count['wanted']}; spans on names {count['on names']}, on other gold {count['on other']}, outside gold"
            f" {count['false']} ({1000 * count['false'] / words:.2f} in 1000 words)"
        )
    return lines


def _is_full(name: str) -> bool:
    """Whether a name could stand in a provider list: not "MKD/ojs", who dictated."""
    return sum(len(piece) > 2 for piece in pieces(name)) > 1 and SIGNED.search(name) is None


EIGHT = (
    (Label.PATIENT, "Marchetti-Okoro, Adelina Rose"),
    (Label.MEDICALRECORD, "00 12-345"),
    (Label.DATE, "1950-03-04"),
    (Label.PHONE, "(303) 555-0182"),
    (Label.SSN, "514-22-9087"),
    (Label.STREET, "1420 Laurel Street, Apt 3"),
    (Label.CITY, "Fort Collins"),
    (Label.EMAIL, "ada.okoro@st-brigid.example.org"),
)


def _speed(texts: list[str], what: str) -> list[str]:
    """Each of these knowledges alone and together, beside `re.findall` tokenizing, in one run."""
    words = sum(len(TOKEN.findall(text)) for text in texts)
    site = Roster(providers(PROVIDERS))
    known: dict[str, tuple[Known, Patient | None]] = {
        f"{len(EIGHT)} identifiers of the patient": (Known(), Patient("p", EIGHT)),
        f"{PROVIDERS:,} providers": (Known(roster=site), None),
        "both": (Known(roster=site), Patient("p", EIGHT)),
    }
    plain = seconds(lambda doc: TOKEN.findall(doc.text), [Document("", text) for text in texts])
    lines = [f"{what}: {words:,} tokens of {len(texts):,} notes, best of three rounds, one core"]
    lines.append(f"  {'re.findall tokenizing':34} {words / plain / 1e3:6.0f} thousand tokens/s")
    for name, (detector, patient) in known.items():
        documents = [Document("", text, patient=patient) for text in texts]
        took = seconds(lambda doc, detector=detector: list(detector.detect(doc)), documents)
        lines.append(f"  {name:34} {words / took / 1e3:6.0f} thousand tokens/s, {took / plain:.1f} times re.findall")
    return lines


def _building() -> str:
    begin = time.process_time()
    Known(roster=Roster(providers(PROVIDERS)))
    built = time.process_time() - begin
    begin = time.process_time()
    for _ in range(200):
        ids.Index(EIGHT)
    index = (time.process_time() - begin) / 200
    return f"index of {PROVIDERS:,} providers built in {built:.2f} s, of a patient in {1000 * index:.2f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.known")
    parser.add_argument("--carrier-dir", type=Path, help="where mtsamples/ and aci_bench/ lie")
    parser.add_argument("--show", action="store_true", help="print leaks and false alarms (they quote the corpora)")
    parser.add_argument("--no-speed", action="store_true", help="leave the timing out")
    options, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    documents = gathered(options.carrier_dir)
    lines = _proof(documents, options.show) + _site(documents, options.show)
    if not options.no_speed:
        lines += _speed([doc.text for doc in notes()], "our own notes, dense with identifiers")
        if options.carrier_dir is not None:
            carrier = options.carrier_dir / CARRIERS["mtsamples-phi"]
            texts = list(corpus.carrier_texts(carrier, corpus.STANDOFF["mtsamples-phi"]).values())[:1000]
            lines += _speed(texts, "ordinary reports")
        lines.append(_building())
    report("known", lines, documents)


if __name__ == "__main__":
    main()
