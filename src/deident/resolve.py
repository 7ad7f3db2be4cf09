"""Many spans → one disjoint set, then the post-processing steps, in order.

`resolve` joins spans that overlap, directly or through others, into one over all of them: nothing that a detector
found is uncovered again. Its label, source and score are those of the strongest member, by a named policy.

The steps look at the whole note. None uncovers a character; they change labels and find more:

    correct     common errors of taggers mended by context: FAX and PHONE, HOSPITAL and ORGANIZATION, STATE (Lee 2017,
                3.3.4), PATIENT and DOCTOR by the title or credential beside the name
    trust       what was found with strong evidence is found everywhere in the note, in any case (Yang & Garibaldi 2015,
                "trusted terms"), a person's name also by its parts
    reconcile   mentions of the same text agree on a type: by a title beside one, else by count (Lee 2017, 3.3.4)
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType

from deident import lexicons
from deident.document import Document, Span
from deident.errors import UnknownNameError
from deident.labels import Category, Label
from deident.mending import mended
from deident.view import View, row_of, view

Strength = Callable[[Span], tuple[float, ...]]
Step = Callable[[Document, tuple[Span, ...]], tuple[Span, ...]]


def _longest(span: Span) -> tuple[float, ...]:
    return (span.label is not Label.OTHER, span.end - span.start, span.score, -span.start)


def _surest(span: Span) -> tuple[float, ...]:
    return (span.label is not Label.OTHER, span.score, span.end - span.start, -span.start)


POLICIES: Mapping[str, Strength] = MappingProxyType({"longest": _longest, "surest": _surest})


def check_policy(name: str) -> str:
    if name not in POLICIES:
        raise UnknownNameError("resolution policy", name, POLICIES)
    return name


def resolve(spans: Iterable[Span], *, policy: str = "longest") -> tuple[Span, ...]:
    """The disjoint, sorted, covering set; `resolve(resolve(s)) == resolve(s)`."""
    strength = POLICIES[check_policy(policy)]
    resolved: list[Span] = []
    cluster: list[Span] = []
    reach = 0
    for span in sorted(spans, key=lambda span: (span.start, span.end, span.label, span.source)):
        if cluster and span.start >= reach:
            resolved.append(_merged(cluster, strength))
            cluster = []
        cluster.append(span)
        reach = max(reach, span.end) if len(cluster) > 1 else span.end
    if cluster:
        resolved.append(_merged(cluster, strength))
    return tuple(resolved)


def _merged(cluster: list[Span], strength: Strength) -> Span:
    strongest = max(cluster, key=strength)
    return replace(strongest, start=cluster[0].start, end=max(span.end for span in cluster))


# --- correct ---------------------------------------------------------------------------------------------------------

_BEFORE, _AFTER = 24, 24  # characters of context that a correction looks at
_FAX = re.compile(r"(?i)\b(?:fax|facsimile|fx)\b[^\d\n]{0,12}$|(?i:\(f\)|\bf:)\s{0,2}$")
_PHONE = re.compile(r"(?i)\b(?:phone|ph|tel|telephone|cell|mobile|pager|beeper|call(?:ed|s)?|office)\b[^\d\n]{0,12}$")
_DOCTOR_BEFORE = re.compile(r"(?i)(?:\bdrs?\b\.?|\bdoctor|\bnurse|\bsurgeon:?|\battending:?|\bby:)\s{0,3}$")
_DOCTOR_AFTER = re.compile(
    r"\s{0,2},?\s{0,2}(?:M\.?D\b|D\.?O\b|R\.?N\b|N\.?P\b|P\.?A(?:-C)?\b|Ph\.?D\b|D\.?D\.?S\b|LCSW|LPN|CRNA|FNP|APRN|"
    r"DPM|PharmD|FACS|OTR|PT\b|RD\b|LPC|LMFT|MBBS|D\.?C\b)"
)
_PATIENT_BEFORE = re.compile(r"(?i)\b(?:mr|mrs|ms|miss|patient|pt|name)\b[.:]?\s{0,3}$")
_SCHOOL = re.compile(
    r"(?i)\b(?:stud(?:y|ied|ies|ent)|degree|senior|junior|graduat\w{0,6}|grade|major(?:ed)?|teach\w{0,4})\b"
)
_SCHOOL_NAME = re.compile(r"(?i)\b(?:school|college|university|academy|elementary|middle|high)\b")
_HOSPITAL_NAME = re.compile(
    r"(?i)\b(?:hospital|clinic|medical (?:center|centre|group)|infirmary|health (?:center|system))\b"
)


def correct(doc: Document, spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """Labels mended where the words beside a span, or in it, say plainly what it is."""
    whole = resolve(_whole_name(doc.text, span) for span in spans)
    return tuple(_corrected(doc.text, span) for span in whole)


# the initial behind a surname's comma ("Whitfield, D"), and the second half of a double name ("Two-Bulls")
_REST = re.compile(r",[ ]?[A-Z](?!\.?[ ]?\w\b|[\w-]|['’])|-[A-Z][a-z]+(?![\w-])")


def _whole_name(text: str, span: Span) -> Span:
    """The name with what plainly belongs to it behind it."""
    if span.label not in (Label.PATIENT, Label.DOCTOR) or not text[span.end - 1].isalpha():
        return span
    rest = _REST.match(text, span.end)
    if rest is None or (rest[0][0] == "," and "," in text[span.start : span.end]):
        return span
    return replace(span, end=rest.end(), source=f"{span.source}+correct")


def _corrected(text: str, span: Span) -> Span:
    label = span.label
    before = text[max(0, span.start - _BEFORE) : span.start]
    after = text[span.end : span.end + _AFTER]
    content = text[span.start : span.end]
    match label:
        case Label.PHONE if _FAX.search(before):
            label = Label.FAX
        case Label.FAX if _PHONE.search(before):
            label = Label.PHONE
        case Label.HOSPITAL if not _HOSPITAL_NAME.search(content) and (
            _SCHOOL_NAME.search(content) or _SCHOOL.search(before + after)
        ):
            label = Label.ORGANIZATION
        case Label.ORGANIZATION if _HOSPITAL_NAME.search(content) and not _SCHOOL_NAME.search(content):
            label = Label.HOSPITAL
        case Label.STATE if not _is_state(content):
            # the paper drops it; we keep it covered, as a place of another kind
            label = Label.LOCATION_OTHER
        case Label.PATIENT if _DOCTOR_BEFORE.search(before) or _DOCTOR_AFTER.match(after):
            label = Label.DOCTOR
        case Label.DOCTOR if _PATIENT_BEFORE.search(before) and not _DOCTOR_AFTER.match(after):
            label = Label.PATIENT
        case _:
            return span
    return span if label is span.label else replace(span, label=label, source=f"{span.source}+correct")


def _is_state(content: str) -> bool:
    state = lexicons.Kind.STATE | lexicons.Kind.STATE_CODE
    return bool((lexicons.phrases().get(content) | lexicons.words().get(content).kinds) & state)


# --- trust -----------------------------------------------------------------------------------------------------------

TRUSTED = 0.9  # the score from which a find is believed everywhere in its note
_REPEATED = frozenset(
    {Label.PATIENT, Label.DOCTOR, Label.HOSPITAL, Label.ORGANIZATION, Label.MEDICALRECORD, Label.ACCOUNT, Label.SSN}
    | {Label.IDNUM, Label.HEALTHPLAN, Label.USERNAME, Label.DEVICE, Label.LICENSE, Label.PHONE, Label.FAX}
)
_LEAST = 3  # letters of a part of a name that is looked for alone
_RARE = 100  # uses below which a word in lower case is hardly a word
_DIGITS = 5  # of a number that is looked for alone
_COMMON = 2000  # uses in 10⁹ words of English, in lower case, from which a word is a word and not only a name

_NO_NAME = (
    lexicons.Kind.MEDICAL | lexicons.Kind.DISEASE | lexicons.Kind.DRUG | lexicons.Kind.HONORIFIC
    | lexicons.Kind.CREDENTIAL | lexicons.Kind.DEPARTMENT | lexicons.Kind.HOSPITAL_WORD
)  # fmt: skip

Terms = dict[str, list[tuple[tuple[str, ...], Label, bool]]]


@lru_cache(maxsize=1 << 14)
def _is_common(word: str) -> bool:
    row = lexicons.words().get(word)
    return row.lower >= _COMMON or row.clinical > 0


def trust(doc: Document, spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """The spans, and the other mentions of what some of them found with strong evidence."""
    seen = view(mended(doc.text))
    terms = _terms(seen, spans)
    if not terms:
        return spans
    spelled = list(_spelled(doc.text, spans))
    words, folded = seen.words, seen.lower
    shouted = doc.text.isupper() or doc.text.islower()
    found: list[Span] = []
    for place in [place for place, word in enumerate(folded) if word in terms]:
        for term, label, common in terms[folded[place]]:
            stop = place + len(term)
            if tuple(folded[place:stop]) != term:
                continue
            if common and (shouted or not words[place][0].isupper() or _opens(doc.text, seen.starts[place])):
                continue
            if len(term) == 1 and not _is_believable(seen, place, shouted=shouted):
                continue
            found.append(Span(seen.starts[place], seen.ends[stop - 1], label, "trusted", TRUSTED - 0.01))
            break
    found += _misspelt(seen, terms)
    return resolve((*spans, *_uncovered([*found, *spelled], spans)), policy="surest")


_LONG = 6  # letters of a name that is looked for with a slip in it


def _misspelt(seen: View, terms: Terms) -> Iterator[Span]:
    """Words that no list knows and that are one slip away from a name: a letter more, less, another, or two changed
    about."""
    names = {
        first: label
        for first, row in terms.items()
        for term, label, common in row
        if len(term) == 1 and not common and len(first) >= _LONG and label.category is Category.NAME
    }
    if not names:
        return
    slips = {slip: name for name in names for slip in _slips(name)}
    held: dict[str, str | None] = {}
    for place, word in enumerate(seen.lower):
        if word not in held:
            held[word] = _meant(word, slips) if word not in terms else None
        name = held[word]
        if name is not None and not row_of(seen.words[place]).kinds & _NO_NAME:
            yield Span(seen.starts[place], seen.ends[place], names[name], "trusted", TRUSTED - 0.05)


def _slips(word: str) -> Iterator[str]:
    """The word, and the word without each of its letters: two words that share one of these are a slip apart."""
    yield word
    for place in range(1, len(word)):  # the first letter is seldom mistaken
        yield word[:place] + word[place + 1 :]


def _meant(word: str, slips: Mapping[str, str]) -> str | None:
    if len(word) < _LONG - 1 or not word.isalpha() or _is_known(word):
        return None
    return next((slips[slip] for slip in _slips(word) if slip in slips), None)


@lru_cache(maxsize=1 << 14)
def _is_known(word: str) -> bool:
    """Whether any list has the word: as English, in medicine, or as a name, which is then another one."""
    row = lexicons.words().get(word)
    return row.lower > 0 or row.clinical > 0 or bool(row.kinds)


# "P-R-I-C-E", "P. R. I. C. E."
_SPELLED = re.compile(r"(?<![\w-])[A-Za-z](?:(?:-|\.?[ ])[A-Za-z](?![A-Za-z])){2,14}")


def _spelled(text: str, spans: tuple[Span, ...]) -> Iterator[Span]:
    """Names that are spelled behind themselves: "Mrs. Price, P-R-I-C-E"."""
    for span in spans:
        if span.label.category is not Category.NAME:
            continue
        behind = _SPELLED.search(text, span.end, span.end + _NEAR)
        if behind is None:
            continue
        letters = "".join(filter(str.isalpha, behind[0])).lower()
        if letters in re.findall(r"[^\W\d_]+", text[span.start : span.end].lower()):
            yield Span(behind.start(), behind.end(), span.label, "trusted", TRUSTED - 0.01)


_NEAR = 60  # characters behind a name in which it is spelled


def _is_believable(seen: View, place: int, *, shouted: bool) -> bool:
    """Whether a single word may be the name again: not "Bell's palsy" beside Mrs. Bell, nor "moody" for Dr. Moody."""
    word = seen.words[place]
    row = row_of(word)
    if row.kinds & lexicons.Kind.EPONYM:
        return seen.lower[max(0, place - 2) : place][:1] in (["dr"], ["mr"], ["mrs"], ["ms"])
    return shouted or not word.islower() or row.lower < _RARE


def _terms(seen: View, spans: tuple[Span, ...]) -> Terms:
    """What to look for, by its first word: token sequence, label, and whether it is also a common word."""
    terms: Terms = {}
    known: set[tuple[str, ...]] = set()
    starts, ends = seen.starts, seen.ends
    for span in spans:
        if span.score < TRUSTED or span.label not in _REPEATED:
            continue
        first = bisect_left(starts, span.start)
        if first == len(starts) or starts[first] != span.start:
            continue
        content = tuple(seen.lower[first : bisect_right(ends, span.end, first)])
        for term in _looked_for(content, span.label):
            if term not in known:
                known.add(term)
                letters = [word for word in term if word.isalpha()]
                common = bool(letters) and all(map(_is_common, letters))
                terms.setdefault(term[0], []).append((term, span.label, common))
    for row in terms.values():
        row.sort(key=lambda entry: -len(entry[0]))
    return terms


def _looked_for(content: tuple[str, ...], label: Label) -> Iterator[tuple[str, ...]]:
    letters = sum(len(word) for word in content if word.isalnum())
    numeric = not any(word.isalpha() for word in content)
    if letters >= (_DIGITS if numeric else _LEAST):
        yield content
    if label.category is Category.NAME:
        for word in content:
            if word.isalpha() and len(word) >= _LEAST and not row_of(word).kinds & _NO_NAME:
                yield (word,)


def _opens(text: str, start: int) -> bool:
    """Whether a word stands where any word would have a capital: at the start of a line or a sentence."""
    before = text[:start].rstrip(" \t\"'(“*-•")
    return not before or before[-1] in ".!?:\n\r"


def _uncovered(found: Iterable[Span], spans: tuple[Span, ...]) -> Iterator[Span]:
    """The new spans that lie free: what a detector marked keeps the extent and the label it gave."""
    taken = sorted(spans)
    index = 0
    for span in sorted(found):
        while index < len(taken) and taken[index].end <= span.start:
            index += 1
        if index == len(taken) or not taken[index].overlaps(span):
            yield span


# --- reconcile -------------------------------------------------------------------------------------------------------

_AGREEING = frozenset(
    {Label.PATIENT, Label.DOCTOR, Label.HOSPITAL, Label.ORGANIZATION, Label.CITY, Label.LOCATION_OTHER}
    | {Label.MEDICALRECORD, Label.ACCOUNT, Label.IDNUM, Label.HEALTHPLAN, Label.PHONE, Label.FAX}
)
_OFTEN = 2  # mentions of one type from which it counts


def reconcile(doc: Document, spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """One type for one text: the type of a mention with a title beside it, else the commonest."""
    spans = _by_bearer(doc.text, spans)
    by_text: dict[str, list[Span]] = {}
    for span in spans:
        if span.label in _AGREEING:
            by_text.setdefault(" ".join(doc.text[span.start : span.end].lower().split()), []).append(span)
    changed: dict[Span, Span] = {}
    for mentions in by_text.values():
        if len({mention.label for mention in mentions}) < 2:
            continue
        label = _evident(doc.text, mentions) or _commonest(mentions)
        if label is not None:
            changed |= {mention: replace(mention, label=label) for mention in mentions if mention.label is not label}
    return tuple(changed.get(span, span) for span in spans)


_PERSONS = (Label.PATIENT, Label.DOCTOR)


def _by_bearer(text: str, spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """A name without a title has the type of those with one that share its surname: "Dr. Osei … signed by K. Osei"."""
    told: dict[str, set[Label]] = {}
    own: dict[Span, Label] = {}
    surnames: dict[Span, str] = {}
    for span in spans:
        if span.label in _PERSONS:
            surnames[span] = _surname(text[span.start : span.end])
            label = _titled(text, span)
            if label is not None:
                own[span] = label
                told.setdefault(surnames[span], set()).add(label)
    changed: dict[Span, Span] = {}
    for span, surname in surnames.items():
        labels = told.get(surname, set())
        if span not in own and len(labels) == 1 and surname and span.label not in labels:
            changed[span] = replace(span, label=next(iter(labels)))
    return tuple(changed.get(span, span) for span in spans)


def _surname(name: str) -> str:
    """ "Osei, K." and "K. Osei" → "osei" """
    first, comma, _ = name.partition(",")
    words = [word for word in re.findall(r"[^\W\d_]+", (first if comma else name).lower()) if len(word) > 1]
    return words[-1] if words else ""


def staff(doc: Document) -> frozenset[int]:
    """Where the DOCTORs begin of whom the text says so: by a title or a degree beside the name, or beside the same
    surname elsewhere in the note, if it is nowhere a patient's."""
    persons = [span for span in doc.spans if span.label in _PERSONS]
    surnames = {span: _surname(doc.text[span.start : span.end]) for span in persons}
    titled = {span for span in persons if _titled(doc.text, span) is Label.DOCTOR}
    known = {surnames[span] for span in titled} - {surnames[span] for span in persons if span.label is Label.PATIENT}
    return frozenset(
        span.start for span in persons if span.label is Label.DOCTOR and (span in titled or surnames[span] in known)
    )


def _titled(text: str, span: Span) -> Label | None:
    before = text[max(0, span.start - _BEFORE) : span.start]
    if _DOCTOR_BEFORE.search(before) or _DOCTOR_AFTER.match(text, span.end, span.end + _AFTER):
        return Label.DOCTOR
    return Label.PATIENT if _PATIENT_BEFORE.search(before) else None


def _evident(text: str, mentions: list[Span]) -> Label | None:
    for mention in mentions:
        before = text[max(0, mention.start - _BEFORE) : mention.start]
        if mention.label is Label.DOCTOR and (
            _DOCTOR_BEFORE.search(before) or _DOCTOR_AFTER.match(text, mention.end, mention.end + _AFTER)
        ):
            return Label.DOCTOR
    return None


def _commonest(mentions: list[Span]) -> Label | None:
    (first, count), *others = Counter(mention.label for mention in mentions).most_common()
    return first if count >= _OFTEN and all(number < count for _, number in others) else None


STEPS: Mapping[str, Step] = MappingProxyType({"correct": correct, "trust": trust, "reconcile": reconcile})


def step(name: str) -> Step:
    if name not in STEPS:
        raise UnknownNameError("step", name, STEPS)
    return STEPS[name]
