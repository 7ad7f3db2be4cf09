"""Reports of other people that nobody annotated, as templates for training notes.

Their blanked slots ("Dr. X", "ABC Hospital", "MM/DD/YYYY"), dates and ages become slots, which `make` fills with
made-up values. Everything else must surely hold no identifier, for nobody will tag it: a sentence is left out at the
least doubt. Reports that an annotated corpus holds, and sentences that stand in one of its reports, are not used.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from deident import corpus, lexicons
from deident.corpus.templates import Node, Slot, Template
from deident.errors import FormatError, UsageError
from deident.tokens import sentences as split_sentences
from deident.tokens import tokenize


@dataclass(frozen=True, slots=True)
class Report:
    """What of one report may be used: its sentences in order, with the white space before each."""

    id: str
    female: bool | None  # whom its pronouns speak of, where they say so
    sentences: tuple[Template, ...]
    blanks: tuple[str, ...]  # what stands before each sentence

    @property
    def template(self) -> Template:
        pairs = zip(self.blanks, self.sentences, strict=True)
        return tuple(node for blank, sentence in pairs for node in (blank, *sentence))


# --- slots -----------------------------------------------------------------------------------------------------------

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?"
)
_YEAR = r"(?:19[3-9]\d|20[0-2]\d)"
_BLANKED = r"(?:X{1,6}|Y{1,4}|XYZ|ABCD?|DEF|JKL|[A-Z])"
_INSTITUTION = (
    r"(?:(?:General|Medical|Memorial|Community|Regional|University|County|Surgery|Urgent Care|Rehab|Rehabilitation) )*"
    r"(?:Hospitals?|Medical Center|Center|Med\b)"
)

# What is known of a slot by its form alone. The order matters: the first that fits at a place is taken. A dot behind a
# blank is the sentence's unless a small letter follows.
_SLOTS = re.compile(
    "|".join(
        f"(?P<{name}>{pattern})"
        for name, pattern in {
            "doctor": rf"\bDr\. ?{_BLANKED}\b(?:\.(?= [a-z]))?",
            "mister": rf"\b(?:Mr|Mrs|Ms|Miss)\.? {_BLANKED}\b(?:\.(?= [a-z]))?",
            "hospital": rf"\b(?:ABCD?|XYZ|XXXX?) {_INSTITUTION}",
            "clinic": r"\b(?:ABCD?|XYZ|XXXX?) (?:[A-Z][a-z]+ )?(?:Clinic|Radiology|Imaging|Orthopa?edics|Pediatrics)\b",
            "short": r"\bABCD(?='s preoperative| preoperative| Preoperative| Emergency Room| emergency)",
            "employer": r"\b(?:ABCD?|XYZ|XXXX?) (?:Company|Corporation|Inc\b\.?|Services|Industries)",
            "date": r"\b(?:Month DD, YYYY|[Mm]{2}/[Dd]{2}/[Yy]{2,4})\b"
            rf"|(?<![\d/.-])(?:0?[1-9]|1[0-2])(?P<sep>[/-])(?:0?[1-9]|[12]\d|3[01])(?P=sep)(?:{_YEAR}|\d\d)(?![\d/-]|\.\d)"
            rf"|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? {_YEAR}\b"
            rf"|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)\b(?!,? \d)",
            "month": rf"\b{_MONTH},? (?:of )?{_YEAR}\b",
            "weekday": r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day(?!s)\b",
            "year": rf"\b(?<=[Ii]n ){_YEAR}\b(?![-/\d%]|s\b)|\b(?<=[Ss]ince ){_YEAR}\b(?![-/\d%]|s\b)",
            "age": r"\b\d{1,3}(?=(?:-| )(?:years?|yr)(?:-| )old\b| ?y/?o\b| years of age\b|-year-old)",
            "then": r"\b(?<=at age )\d{1,3}\b|\b(?<=age of )\d{1,3}\b|\b(?<=[Aa]t the age of )\d{1,3}\b",
        }.items()
    )
)


@dataclass(slots=True)
class _People:
    """Which slot stands for which blank of one report: "Dr. X" and "Dr. Y" are two persons."""

    doctors: dict[str, str]
    misters: dict[str, str]
    aged: bool = False  # the first age is the patient's, another one mostly somebody else's

    def doctor(self, blank: str) -> tuple[Node, ...]:
        place = len(self.doctors) % 5 + 1
        return "Dr. ", Slot(self.doctors.setdefault(blank, f"doctor{place}" if place > 1 else "doctor"))

    def mister(self, title: str, blank: str) -> tuple[Node, ...]:
        return f"{title} ", Slot(self.misters.setdefault(blank, "kin.last" if self.misters else "patient.last"))

    def age(self) -> Slot:
        first, self.aged = not self.aged, True
        return Slot("age" if first else "kinage")


def _nodes(match: re.Match[str], people: _People) -> tuple[Node, ...]:
    text = match[0]
    match match.lastgroup:
        case "doctor":
            return people.doctor(text.removeprefix("Dr.").strip(" ."))
        case "mister":
            title, _, blank = text.partition(" ")
            return people.mister(title, blank.rstrip("."))
        case "age":
            return (people.age(),)
        case kind:
            return (Slot(_NAMED[kind or ""]),)


_NAMED: Mapping[str, str] = {
    "hospital": "hospital", "clinic": "clinic", "short": "hospital.short", "employer": "employer", "date": "date",
    "month": "date.monthyear", "weekday": "date.weekday", "year": "date.year", "then": "age.past",
}  # fmt: skip


def _filled(sentence: str, people: _People) -> tuple[Template, str]:
    """The sentence with its slots, and what is left of it beside them."""
    nodes: list[Node] = []
    rest: list[str] = []
    at = 0
    for match in _SLOTS.finditer(sentence):
        before = sentence[at : match.start()]
        nodes += [before, *_nodes(match, people)]
        rest.append(before)
        at = match.end()
    nodes.append(sentence[at:])
    rest.append(sentence[at:])
    return tuple(node for node in nodes if node != ""), " ".join(rest)


# --- doubts ----------------------------------------------------------------------------------------------------------

_BLANK = re.compile(r"\b(?:[XYZ]{1,5}|ABCD?|XYZ|DEF|MM|DD|YYYY)\b|_{2,}|\*{2,}")
_TITLED = re.compile(r"\b(?:Dr|Drs|Mr|Mrs|Ms|Miss|Prof|Rev|Nurse)\b\.? ?[A-Z]|\b(?:M\.?D|D\.?O|R\.?N|Ph\.?D|PA-C|NP)\b")
_DATED = re.compile(
    r"\b(?:19|20)\d\d\b|\d{1,2}[/-]\d{1,2}[/-]\d{2,4}|\b\d{1,2}/\d{1,3}\b(?! ?(?:mm|strength))|\d{5,}|'\d\d\b"
)
_NUMBER = (
    r"(?:\d{1,3}|(?:(?:twen|thir|for|fif|six|seven|eigh|nine)ty[- ]?)?(?:one|two|three|four|five|six|seven|eight|nine)"
    r"|ten|eleven|twelve|\w+teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty)"
)
_AGED = re.compile(
    rf"(?i)\b{_NUMBER}[- ]?(?:years?|yrs?|y\.?/?o)\b|\bage[ds]?\b(?:\W+\w+){{0,3}}?\W+{_NUMBER}\b"
    rf"|\b(?:died|dead|deceased|when s?he was|sons?|daughters?|children)(?:,| at| about| of)* ?{_NUMBER}\b"
    r"|\bpatient, \d|\b[1-9]0'?s\b|\bborn\b|\bbirth(?:day|date| date)\b"
    r"|\b(?:teen|twent|thirt|fort|fift|sixt|sevent|eight|ninet)(?:ies|s|ager?s?)\b"
)
# years that are no ages: how long ago, how long, how much was smoked
_SPANS_OF_TIME = re.compile(
    rf"(?i)\b(?:{_NUMBER}[- ](?:to|or|and)[- ])?{_NUMBER}[- ]years? "
    r"(?:ago|earlier|prior|later|before|history|duration)\b"
    rf"|\b(?:for|over|in|every|last|past|next|about|approximately|at least|than) (?:the |last |past |next )*"
    rf"(?:{_NUMBER}[- ](?:to|or)[- ])?{_NUMBER} years\b|\b{_NUMBER}[- ]pack[- ]years?\b"
)
_STRENGTH = re.compile(r"(?i)\b(?:strength|motor|muscle|power|grip|reflex\w*)\b[^.]{0,80}?\b[0-5][+-]?/[45]\b")
_WORKED = re.compile(
    r"(?i)\b(?:work(?:s|ed|ing|er)?|employ\w*|jobs?|retired|occupation|profession|career|taught|teach\w*|business"
    r"|position as|(?:fixe|repair|run|own|sell|drive|build)s (?:a|an|the|his|her|computers|cars|houses|trucks?)) ?\b"
)
_REACHED = re.compile(  # telephones, rooms, decades, hospitals of a common name
    r"\b\d{3}[-.) ]{1,2}\d{3}[-. ]?\d{4}\b|\b\d{3}-\d{4}\b|\b(?:19|20)\d0'?s\b"
    r"|(?i:\b(?:room|suite|bed|unit|OR|floor) ?(?:#|no\.?|number)? ?\d)"
    r"|\b(?:Children|Women|Veteran)'?s'? (?:Hospital|Clinic|Medical)"
)
_TELLING = (
    lexicons.Kind.CITY | lexicons.Kind.STATE | lexicons.Kind.COUNTRY | lexicons.Kind.COUNTY | lexicons.Kind.HOSPITAL
    | lexicons.Kind.SCHOOL | lexicons.Kind.COMPANY | lexicons.Kind.ORGANIZATION | lexicons.Kind.PROFESSION
    | lexicons.Kind.HOLIDAY | lexicons.Kind.SEASON | lexicons.Kind.WEEKDAY | lexicons.Kind.MONTH
    | lexicons.Kind.LANDMARK | lexicons.Kind.STREET
)  # fmt: skip
_CLINICAL = (
    lexicons.Kind.MEDICAL | lexicons.Kind.DISEASE | lexicons.Kind.DRUG | lexicons.Kind.EPONYM
    | lexicons.Kind.ABBREVIATION
)  # fmt: skip
_KNOWN_CAPITAL = 50  # uses in clinical text from which a capital is no name
_WHO = frozenset({"by", "from", "per", "see", "saw", "sees", "with", "to", "consult"})  # a name may stand behind these
_WRITTEN = (  # places and firms are written with capitals; a season and a trade are not
    _TELLING & ~(lexicons.Kind.SEASON | lexicons.Kind.PROFESSION | lexicons.Kind.HOLIDAY | lexicons.Kind.WEEKDAY)
)


def _holds_nothing(rest: str) -> bool:
    """Whether the words beside the slots surely identify nobody; a name that is an eponym or a word is a doubt too."""
    if any(pattern.search(rest) for pattern in (_BLANK, _TITLED, _WORKED, _REACHED)):
        return False
    if _DATED.search(_STRENGTH.sub(" ", rest)) or _AGED.search(_SPANS_OF_TIME.sub(" ", rest)):
        return False
    words = tokenize(rest).words()
    capitals = rest.isupper()
    before = ["", *words]
    return not any(
        _telling(words[first:stop], kind) for first, stop, kind in lexicons.phrases().match(words, _TELLING)
    ) and all(
        _known(word, unsaid=capitals or not place, who=before[place].lower() in _WHO)
        for place, word in enumerate(words)
    )


def _telling(words: list[str], kind: lexicons.Kind) -> bool:
    """Whether a match is a doubt: not where one word in small letters is no more than a place or a firm."""
    (*others, word) = words
    plain = word.islower() and not kind & ~_WRITTEN
    return bool(others) or not (plain or word in _things())


@cache
def _things() -> frozenset[str]:
    """Words with a capital that are nobody's name there."""
    lines = corpus.data_file("carrier_words.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))


@cache
def _known(word: str, *, unsaid: bool, who: bool) -> bool:
    """`unsaid`: its case says nothing, at the beginning of a sentence and among capitals; `who`: a name may follow."""
    row = lexicons.words().get(word)
    clinical = bool(row.kinds & _CLINICAL) or row.clinical > 0
    if not word[0].isupper() or len(word) == 1:
        return clinical or not word.isalpha() or row.lower > 0 or not row.name
    if row.kinds & (lexicons.Kind.MONTH | lexicons.Kind.WEEKDAY):
        return False
    if word in _things():
        return not (who and row.name)
    if unsaid:  # only a word that reports write in small letters passes, or one that is nobody's name
        return clinical or (row.lower > 0 and not row.name)
    if row.clinical > _KNOWN_CAPITAL:
        return True
    return bool(row.kinds & _CLINICAL) and not (who and row.last)


# --- reports ---------------------------------------------------------------------------------------------------------

_LEAST, _MOST = 3, 600  # characters of a sentence
_LEAST_SENTENCES = 6
_LEAST_SHARE = 0.4  # of a report's sentences: with fewer left it is no report any more
_FEMALE, _MALE = (
    re.compile(r"(?i)\b(?:she|hers?|female|woman|lady|girl)\b"),
    re.compile(r"(?i)\b(?:he|his|him|male|man|gentleman|boy)\b"),
)


def _carrier(path: Path) -> tuple[str, dict[str, str]]:
    """The annotated corpus of this carrier, and its reports: mtsamples keeps them under `text`, ACI-BENCH `note`."""
    line: int | None = None
    for name, key in corpus.STANDOFF.items():
        try:
            return name, corpus.carrier_texts(path, key)
        except FormatError as error:
            line = error.line
    keys = " or ".join(f'"{key}"' for key in corpus.STANDOFF.values())
    raise FormatError(f'{path} has no object with "id" and {keys}', line=line)


def reports(path: Path) -> tuple[Report, ...]:
    """The usable reports of a carrier that no annotated corpus holds."""
    name, texts = _carrier(path)
    annotated = corpus.standoff_entries(name)
    held = {
        _flat(text[start:end])
        for identifier, text in texts.items()
        if identifier in annotated
        for start, end in split_sentences(text)
    }
    found = (
        _report(identifier, text, held.__contains__)
        for identifier, text in texts.items()
        if identifier not in annotated
    )
    kept = tuple(report for report in found if report is not None)
    if not kept:
        raise UsageError(f"no report of {path} can be used: all are annotated, or may hold identifiers")
    return kept


def _flat(text: str) -> str:
    return " ".join(text.split())


def _report(identifier: str, text: str, held: Callable[[str], bool]) -> Report | None:
    people = _People({}, {})
    sentences: list[Template] = []
    blanks: list[str] = []
    blank, position, seen, ours = "", 0, 0, 0
    for start, end in split_sentences(text):
        blank = _joined(blank, text[position:start])
        position = end
        sentence = text[start:end]
        seen += 1
        ours += held(_flat(sentence))
        if held(_flat(sentence)) or not _LEAST <= len(sentence) <= _MOST:
            continue
        template, rest = _filled(sentence, people)
        if _holds_nothing(rest):
            sentences.append(template)
            blanks.append(blank if blanks else "")
            blank = ""
    # a report of which an annotated one has the most is a copy of it
    if len(sentences) < max(_LEAST_SENTENCES, _LEAST_SHARE * seen) or ours > seen / 2:
        return None
    counts = Counter(female=len(_FEMALE.findall(text)), male=len(_MALE.findall(text)))
    female = None if counts["female"] == counts["male"] else counts["female"] > counts["male"]
    return Report(identifier, female, tuple(sentences), tuple(blanks))


def _joined(before: str, blank: str) -> str:
    """The white space around a sentence that is left out: its lines stay lines, and blanks are not doubled."""
    return max((before, blank), key=lambda space: (space.count("\n"), len(space)))


def sentences(found: Sequence[Report]) -> tuple[Template, ...]:
    """The whole sentences of the reports, each once, on one line: what is mixed into notes of other making."""
    return tuple(dict.fromkeys(_flattened(found)))


_LEAST_WHOLE, _MOST_WHOLE = 20, 400


def _flattened(found: Sequence[Report]) -> Iterator[Template]:
    for report in found:
        for sentence in report.sentences:
            template = tuple(re.sub(r"\s+", " ", node) if isinstance(node, str) else node for node in sentence)
            size = sum(len(node) for node in template if isinstance(node, str))
            if _LEAST_WHOLE <= size <= _MOST_WHOLE:
                yield template
