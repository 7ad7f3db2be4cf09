"""The MIMIC de-identifier as the thesis describes it (section 2.5, tables 2.2–2.6): word lists, titles and patterns.

What stands for the lists that the paper names:

    names of the Census Report    words that the censuses or the birth records count as a surname or a first name
    unambiguous locations         cities of `_MAJOR` people or more, states, countries and landmarks that are hardly a
                                  surname, a common word or a medical term; those that scores, tubes and germs are
                                  called after (`_SCALES`, eponyms) only behind "in", "from" … or before a state
    ambiguous locations           every city, state, country, county, landmark, and what known streets are called
    local hospitals               the hospitals, clinics and nursing homes of the phrase list: whoever runs this has no
                                  list of one hospital
    wards of the hospital         a ward's own designation ("Ward 6B", "4 West"), for the same reason; "radiology" and
                                  "ICU" are words of every hospital and stay
    names of medical events       diseases, operations by their endings, and `_EVENTS`

Where the paper can be read in two ways: the last rows of table 2.2 are read as `dd month, yy(yy)`; `month dd` with or
without its year; and a bare `(yy)yy`, which alone needs the medical event. Nine plain digits are a number of the form
that table 2.4 prints with eight; both are marked. nnnnn-nnnn is marked though a ZIP+4 looks the same.

Where it is silent. Case: a title's name may be in capitals or lower case, and must then be commoner as a name than as a
word. Signs: blanks, dots, slashes and hyphens may stand for each other where nothing else has the form. Extent: a name
runs on over further listed words, a hospital's name over all of its words, a place has its cue word with it. A number
with a unit behind it is a measure.

Scores: 0.9 and more for a rule that stands alone, 0.6 for one whose list or form is ambiguous.
"""

import re
from collections.abc import Iterator, Mapping
from enum import IntFlag, auto
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from deident import lexicons
from deident.document import Document, Span
from deident.labels import Label
from deident.lexicons import Kind
from deident.mending import mended
from deident.view import Marks, View, row_of, view

SURE, LIKELY = 0.95, 0.6

RULES = MappingProxyType(
    {
        "name-title": "a listed name behind a title",
        "date-mdy": "mm/dd/(yy)yy",
        "date-dmy": "dd/mm/(yy)yy",
        "date-ydm": "(yy)yy/dd/mm",
        "date-ymd": "(yy)yy/mm/dd",
        "date-day-month": "dd month, yy(yy)",
        "date-month-day": "month dd, with or without its year",
        "date-year": "a year beside a medical event",
        "location": "an unambiguous location",
        "location-before": "an ambiguous location behind cape, fort, lake, mount or los",
        "location-after": "an ambiguous location before street, parkway, town, ville or harbor",
        "hospital-listed": "a listed hospital",
        "hospital-word": "a name before hospital, rehab center or the like",
        "ward": "the designation of a ward",
        "phone-area": "(nnn) nnn-nnnn",
        "phone-ten": "nnn-nnn-nnnn or nnn nnn nnnn",
        "phone-seven": "nnn-nnnn or nnn nnnn",
        "ssn": "nnn-nn-nnnn",
        "ssn-parted": "nnn-nnnnnn or nnnnn-nnnn",
        "ssn-plain": "eight or nine digits",
        "age-before": "a number from 90 to 125 behind age, he is, she is, patient is",
        "age-after": "a number from 90 to 125 before years old or the like",
    }
)


class _Is(IntFlag):
    """What a word alone may be the beginning of; most words are nothing and are passed over."""

    NUMBER = auto()
    MONTH = auto()
    TITLE = auto()
    PLACE = auto()  # may begin a listed place or hospital
    BEFORE = auto()  # "cape"
    AFTER = auto()  # "street"
    SUFFIXED = auto()  # "Knoxville"
    HOSPITAL = auto()  # "hospital", the "center" of "rehab center"
    WARD = auto()


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# --- words -----------------------------------------------------------------------------------------------------------

# "Mr.", "Mrs.", "Dr.", etc. (2.5.1): True where the title is also an everyday word or a measure and so is weaker
_TITLES: Mapping[str, bool] = MappingProxyType(
    dict.fromkeys(_set("mr mrs mister missus dr drs doctor prof professor messrs mme mlle sra dra"), False)
    | dict.fromkeys(_set("ms miss mx rev reverend sister brother father pastor rabbi imam deacon chaplain"), True)
    | dict.fromkeys(_set("capt captain lt sgt sergeant officer detective judge nurse señor señora senor senora"), True)
)
_DOCTORS = _set("dr drs doctor prof professor dra nurse")
_MONTHS = _set(
    """
    january february march april may june july august september october november december jan feb mar apr jun jul
    aug sep sept oct nov dec
    """
)
_VERBAL = frozenset(("may", "march", "mar"))  # in lower case and without a year they are no month

_BEFORE = _set("cape fort ft lake mount mt los")
_AFTER = _set("street parkway pkwy town ville harbor harbour")
_SUFFIX = re.compile(r"(.{3,40})(?:ville|town|harbor)")
_STREETS = _set("street parkway pkwy")

_PLACES = Kind.CITY | Kind.STATE | Kind.COUNTRY | Kind.LANDMARK
_LISTED = _PLACES | Kind.COUNTY
# a longer phrase of these kinds over a place is no place: "Lyme disease", "New York Heart Association", "Boston brace"
_OTHERWISE = Kind.MEDICAL | Kind.DISEASE | Kind.DRUG | Kind.COMPANY | Kind.SCHOOL | Kind.ORGANIZATION | Kind.STREET
_NO_PLACE = (
    Kind.MEDICAL | Kind.DISEASE | Kind.DRUG | Kind.ABBREVIATION | Kind.SAFE | Kind.MONTH | Kind.WEEKDAY
    | Kind.DEPARTMENT | Kind.HONORIFIC | Kind.CREDENTIAL | Kind.PARTICLE | Kind.NICKNAME
)  # fmt: skip
_OPENERS = _set(
    """
    new st saint san santa los las el la le fort ft mount mt port north south east west lake cape little big grand
    great salt long rio palm cedar iowa kansas college santo des baton virginia state good children university
    veterans mercy united
    """
)
_MAJOR = 5_000
_COMMON = 20_000  # uses in 10⁹ words, in lower case, from which a word is everybody's

# Words before "hospital" that name none, and words that every hospital's name may have
_NO_NAME = _set(
    """
    a an the this that these any our your his her their its my each every another other outside local same nearby
    area and or of at in for to by on from with via per no not non was is were be been has had have after before
    during since when while which who prior previous first last initial brief current recent day night acute long
    short term admitted discharged transferred referring receiving admitting primary post pre mental inpatient
    patient course patient's he she pt patients doctor see seen date name new old private public large small main
    free walk i we they follow up followup please call contact visit clinic clinics center centre facility hospital
    hospitals room status plan phone fax address location mr mrs ms dr
    """
)
_DULL = _set(
    """
    hospital hospitals hosp clinic clinics medical med center centre ctr health healthcare care hospice nursing home
    homes rehabilitation rehab dialysis surgery surgical outpatient ambulatory psychiatric convalescent institute
    campus system service services specialty physicians associates group practice family eye ear nose throat cancer
    cardiac heart orthopedic orthopaedic maternity urgent pain wound sleep skilled assisted living trauma teaching
    tertiary acute burn cardiology oncology diabetes vascular fertility imaging birth women womens dental retirement
    day stroke breast spine coumadin anticoagulation infusion emergency weight recovery treatment detox substance
    abuse
    """
)
_BROAD = _set("general regional community university children childrens veterans county memorial national")
_HEADS = _set("hospital hospitals hosp infirmary clinic clinics polyclinic sanatorium sanitarium vamc hospice")
_TAILS = _set("center centre ctr home homes facility institute pavilion")  # behind one of the next
_WEAK_HEADS = _set("regional memorial rehab pediatrics dialysis imaging manor vamc oncology orthopaedics")
_QUALIFIERS = _set(
    """
    rehab rehabilitation medical med health nursing care surgery surgical cancer dialysis heart trauma convalescent
    children childrens rehabilitative living healthcare
    """
)
_NOT_OF = _set("course day days stay admission admissions bed discharge records record visit visits number no")

_EVENTS = _set(
    """
    surgery operation procedure mi cabg stroke cva tia infarction infarct bypass transplant transplantation stent
    stenting fracture biopsy diagnosed diagnosis admission admitted hospitalization hospitalized arrest repair
    replacement accident chemotherapy radiation resection ablation catheterization cath mva injury bleed hemorrhage
    seizure dvt pe pneumonia delivery pregnancy miscarriage colonoscopy angioplasty ptca pci tkr thr tah bso turp
    cancer tumor surgeries onset dx
    """
)
_OPERATION = re.compile(r".{2,40}(?:ectomy|plasty|otomy|ostomy|oscopy|graphy|pexy|desis)")
_WARDS = _set("ward wing tower pavilion")
_WINDS = _set("north south east west")
_ROADS = _set("highway hwy route rt rte road rd interstate us exit cr sr")


def _roles(word: str) -> int:
    """What the word may begin; a function of the word alone."""
    if word[0].isdigit():
        return int(_Is.NUMBER)
    if not word[0].isalpha():
        return 0
    lower = word.lower()
    roles = _Is(0)
    if lower in _MONTHS:
        roles |= _Is.MONTH
    if lower in _TITLES:
        roles |= _Is.TITLE
    if lower in _BEFORE:
        roles |= _Is.BEFORE
    if lower in _AFTER:
        roles |= _Is.AFTER
    if lower in _HEADS or lower in _TAILS or lower in _WEAK_HEADS:
        roles |= _Is.HOSPITAL
    if lower in _WARDS or lower in _WINDS:
        roles |= _Is.WARD
    row = row_of(word)
    if _suffixed(lower, row):
        roles |= _Is.SUFFIXED
    # a place begins with a word that is not everybody's, whatever the case of the note
    if len(lower) > 1 and (lower in _OPENERS or _opens(row, capital=word[0].isupper())):
        roles |= _Is.PLACE
    return int(roles)


def _rare(row: lexicons.WordRow) -> bool:
    return bool(row.english or row.name or row.kinds) and row.lower < _COMMON and Kind.SAFE not in row.kinds


def _opens(row: lexicons.WordRow, *, capital: bool) -> bool:
    if not _rare(row):
        return False
    if row.kinds & _LISTED:
        return True
    if row.kinds & (Kind.MEDICAL | Kind.DISEASE | Kind.DRUG | Kind.ABBREVIATION):
        return False
    # "Baton", "Chula": the other words that begin a place are names, or none that English writes small
    return row.name > row.lower if capital else row.name > 0 and row.lower < 1000


def _suffixed(lower: str, row: lexicons.WordRow) -> bool:
    """ "Georgetown": an ambiguous location with "town" behind it, in one word that is no everyday word."""
    match = _SUFFIX.fullmatch(lower)
    if match is None or row.lower > 500:
        return False
    stem = row_of(match[1])
    return bool(row.kinds & _LISTED) or bool(stem.kinds & _LISTED and row.english == 0)


def _is_title_case(word: str) -> bool:
    return word[0].isupper() and (len(word) == 1 or not word.isupper())


@lru_cache(maxsize=1 << 14)
def _is_name(word: str, *, first: bool) -> bool:
    """Whether a census list has the word, and it is meant as a name: in Title case, or more a name than a word."""
    row = row_of(word)
    if not row.name or len(word) < 2:
        return False
    if _is_title_case(word):
        return row.name >= row.lower * (0.02 if first else 0.1)
    return row.name >= row.lower * (0.25 if first else 1.0)


@lru_cache(maxsize=1 << 14)
def _is_event(word: str) -> bool:
    lower = word.lower()
    return (
        lower in _EVENTS
        or _OPERATION.fullmatch(lower) is not None
        or (Kind.DISEASE in row_of(word).kinds and len(word) > 3)
    )


# --- names (2.5.1) ---------------------------------------------------------------------------------------------------

_HYPHENS = frozenset("-‐‑'’")
_PARTS = 5  # words of one name


def _names(seen: View, at: int) -> Iterator[Span]:
    words, text = seen.words, seen.text
    title = words[at].lower()
    weak = _TITLES[title]
    if at > 1 and title == "dr" and words[at - 1].istitle() and words[at - 2].isdigit():
        return  # "88 Willow Dr Covington": the street is a drive
    place, count = at + 1, len(words)
    stopped = False
    if place < count and words[place] == ".":
        place, stopped = place + 1, True
    if place + 1 < count and words[place].lower() in ("and", "&") and words[place + 1].lower() in _TITLES:
        return  # "Mr. and Mrs. Smith": the second title has the name
    if place >= count or text.count("\n", seen.ends[at], seen.starts[place]) > 1:
        return
    if weak and not stopped and not _is_title_case(words[at]) and not (words[at].isupper() and words[place].isupper()):
        return  # "the nurse will", "miss doses"
    if weak and words[place].isupper() and Kind.ABBREVIATION in row_of(words[place]).kinds:
        return  # "FATHER MI AT 49"
    if weak and lexicons.phrases().get(f"{title} {words[place]}") & (Kind.DRUG | Kind.MEDICAL):
        return  # "MS CONTIN"
    first, last = _name(seen, place)
    if last <= first:
        return
    label = Label.DOCTOR if title in _DOCTORS else Label.PATIENT
    sure = not weak or (stopped and title == "ms")
    yield Span(seen.starts[first], seen.ends[last - 1], label, "mimic:name-title", SURE if sure else LIKELY)


def _name(seen: View, place: int) -> tuple[int, int]:
    """The tokens of the name that begins here, up to its last listed word; empty where there is none."""
    words, starts, ends = seen.words, seen.starts, seen.ends
    begin = stop = place
    listed = 0
    while place < len(words) and listed < _PARTS:
        if place > begin and "\n" in seen.text[ends[place - 1] : starts[place]] and not _wraps(words, place, listed):
            break
        word = words[place]
        if place > begin and (word in _HYPHENS or (word == "." and len(words[place - 1]) == 1)):
            place += 1
            continue
        glued = place > begin and words[place - 1] in _HYPHENS and ends[place - 1] == starts[place]
        if glued and not (word[0].isalpha() and len(word) > 1):
            break  # "Smith's"
        if _is_name(word, first=not listed) or (glued and _is_title_case(word)) or (listed and _is_strange(word)):
            listed += 1
            stop = place + 1
            # one part of a double name in the list is enough: "Smith-Ngubanezi"
        elif not (len(word) == 1 and word.isalpha() and word.isupper()) and not _is_particle(word):
            if not (place + 1 < len(words) and words[place + 1] in "-‐‑" and ends[place] == starts[place + 1]):
                break
            if not word[0].isupper():
                break
        place += 1
        if place - begin > 4 * _PARTS:
            break
    return (begin, stop) if listed else (begin, begin)


@lru_cache(maxsize=1 << 14)
def _is_strange(word: str) -> bool:
    """A capitalised word that English hardly has: the unlisted rest of a name, "Precious Nkomo"."""
    row = row_of(word)
    known = Kind.MEDICAL | Kind.DISEASE | Kind.DRUG | Kind.ABBREVIATION | Kind.SAFE
    return len(word) > 2 and _is_title_case(word) and row.english < 300 and not (row.kinds & known or row.clinical)


def _wraps(words: list[str], place: int, listed: int) -> bool:
    """Whether a surname may stand on the next line: there is one given name so far, and a surname comes."""
    given, surname = row_of(words[place - 1]), row_of(words[place])
    return listed == 1 and given.female + given.male > given.last and surname.last > 10 * surname.english


@lru_cache(maxsize=1 << 12)
def _is_particle(word: str) -> bool:
    return Kind.PARTICLE in row_of(word).kinds


# --- numbers: dates, phones, SSNs, ages (2.5.2, 2.5.5–2.5.7) ---------------------------------------------------------

_MONTH = (
    r"(?>jan(?:uary|\.)?|feb(?:ruary|\.)?|mar(?:ch|\.)?|apr(?:il|\.)?|may|june?\.?|july?\.?|aug(?:ust|\.)?|"
    r"sept?(?:ember|\.)?|oct(?:ober|\.)?|nov(?:ember|\.)?|dec(?:ember|\.)?)(?![a-z])"
)
_UNIT = (
    r"\s?(?:%|mg|mcg|ml|mls|cc|cm|mm|kg|g|gm|lbs?|pounds?|units?|tabs?|tablets?|times|meq|bpm|beats|degrees|inches|feet|"
    r"percent|-?k?cal(?:orie)?s?|hours|hrs|minutes|mins?|weeks?|days|months|x|liters?|l)(?![a-z])"
)
_MM, _DD, _YY = r"(?:1[0-2]|0?[1-9])", r"(?:3[01]|[12]\d|0?[1-9])", r"(?:\d{4}|\d{2})"
# matched at the first digit of a number only; groups in the order of tables 2.2, 2.3 and 2.4
_NUMBER = re.compile(
    rf"""(?<!\d[/.-]) (?<![$/])
    (?: (?P<mdy>  {_MM} (?P<s1>[ ]?/[ ]?|-) {_DD} (?P=s1) {_YY} | {_MM} \. {_DD} \. \d{{4}} )
      | (?P<dmy>  {_DD} (?P<s2>[ ]?/[ ]?|-) {_MM} (?P=s2) {_YY} | {_DD} \. {_MM} \. \d{{4}} )
      | (?P<ydm>  (?:\d{{4}} (?P<s3>/|-) {_DD} (?P=s3) {_MM} | \d\d (?P<s4>/|-) {_DD} (?P=s4) {_MM} (?<=\d\d.\d\d)) )
      | (?P<ymd>  \d{{4}} (?P<s5>[/.-]) {_MM} (?P=s5) {_DD} | \d\d (?P<s6>/|-) {_MM} (?P=s6) {_DD} (?<=\d\d.\d\d) )
    ) (?! \d | [/.-]\d | \s?(?:ml|mg|mcg|cm|mm)(?![a-z]) )
    | (?P<day>   (?<![\d/.:-]) {_DD} (?:st|nd|rd|th)? [ /-]? (?:of[ ])? {_MONTH} [ ]?[,./-]?[ ]? (?:\d{{4}}|'?\d\d) )
      (?! \d | [/.:]\d | {_UNIT} )
    | (?P<ten>   (?:1[- .])? \d{{3}} [- ./‐‑–] \d{{3}} [- .‐‑–] \d{{4}} ) (?! \d | [-/]\d | {_UNIT} )
    | (?P<ssn>   (?<!\d-) \d{{3}} (?P<s7>[- ‐‑–]) \d\d (?P=s7) \d{{4}} ) (?! \d | [-/.]\d )
    | (?P<seven> (?<![\d.]-) (?<!\d[ ]) \d{{3}} (?:[-‐‑–]|[ ](?![ ])) \d{{4}} ) (?! \d | [-/.:]\d | [ ]\d | {_UNIT} )
    | (?P<parted> (?<!\d-) (?: \d{{3}}-\d{{6}} | \d{{5}}-\d{{4}} ) ) (?! \d | [-/.]\d )
    | (?P<plain> (?<![\d.,/-]) (?<!\brs) (?<!NCT) (?<!PMID) (?<!PMID[ ]) (?<!PMID:[ ]) \d{{8,9}} )
      (?! \d | [-/.,]\d | {_UNIT} )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_AREA = re.compile(r"\(\d{3}\)[ ]?\d{3}[-‐‑– .]?\d{4}(?!\d|[-/]\d)")
_FOUND = MappingProxyType(
    {
        "mdy": ("date-mdy", Label.DATE, SURE), "dmy": ("date-dmy", Label.DATE, SURE),
        "ydm": ("date-ydm", Label.DATE, 0.9), "ymd": ("date-ymd", Label.DATE, SURE),
        "day": ("date-day-month", Label.DATE, SURE), "ten": ("phone-ten", Label.PHONE, SURE),
        "seven": ("phone-seven", Label.PHONE, LIKELY), "ssn": ("ssn", Label.SSN, SURE),
        "parted": ("ssn-parted", Label.SSN, LIKELY), "plain": ("ssn-plain", Label.SSN, LIKELY),
    }
)  # fmt: skip
_MONTH_DAY = re.compile(
    rf"""(?<![a-z]) {_MONTH} [ .]?[ -]{{0,2}} {_DD} (?:st|nd|rd|th)? (?! \d | [./:%-]\d | {_UNIT} | [a-z] )
    (?P<year> (?:[ ]?,[ ]?|[ -]{{1,2}}) (?:\d{{4}}|'?\d\d) (?! \d | [./:%-]\d | ,\d | {_UNIT} | [a-z] ) )?""",
    re.VERBOSE | re.IGNORECASE,
)
_YEAR = re.compile(
    r"(?<![\d.,/:#$-])(?<!\bat )(?:19|20)\d\d(?!\d|[.,/:%-]\d|\s?h\b|-[a-z]|" + _UNIT + ")", re.IGNORECASE
)
_SHORT_YEAR = re.compile(r"(?:(?<=['’`])|(?<=\bin )|(?<=\bsince ))\d\d(?!\d|[.,/:%-]\d|-|\s?[a-z%])", re.IGNORECASE)
_NEAR = 6  # words before and behind a year in which its event stands

_AGED = re.compile(
    r"(?:\b(?P<age>age[ds]?(?:\s{0,2}[:=-]|\sof|\sis)?)|\b(?:he|she|patient|pt|pt\.)\s{1,2}is)\s{0,2}$", re.IGNORECASE
)
_OLD = re.compile(
    r"(?:\s|\s?-\s?)?(?:years?|yrs?\.?|yo)(?:\s|\s?-\s?)old\b|(?:\s|-)?(?:years?|yrs?\.?)\sof\sage\b"
    r"|(?:\s|-)?y\.?/?\s?o\b",
    re.IGNORECASE,
)
_MEASURED = re.compile(rf"{_UNIT}|\s?/|[.,:%-]\d|-", re.IGNORECASE)
_LONGEST_CUE = 20


_MAY_FOLLOW = frozenset("0123456789/jfmasondJFMASOND")  # behind a number and a blank: digits, a slash, "of", a month


def _goes_on(text: str, end: int, word: str) -> bool:
    """Whether what follows a short number can make it a date or a telephone number; most numbers are told by that."""
    if len(word) > 4:
        return True
    follower = text[end : end + 1]
    if follower == " ":
        return text[end + 1 : end + 2] in _MAY_FOLLOW
    return follower in "/-.‐‑–" or follower.isalpha()


def _numbers(seen: View, at: int) -> Iterator[Span]:
    text, start = seen.text, seen.starts[at]
    if start and text[start - 1] == "(" and (area := _AREA.match(text, start - 1)) is not None:
        yield Span(*area.span(), Label.PHONE, "mimic:phone-area", SURE)
        return
    found = _NUMBER.match(text, start) if _goes_on(text, seen.ends[at], seen.words[at]) else None
    if found is not None:
        # the last group that closed is the outer one: separators close inside it
        rule, label, score = _FOUND[found.lastgroup or ""]
        yield Span(start, found.end(), label, f"mimic:{rule}", score)
        return
    word = seen.words[at]
    if word.isascii() and word.isdigit() and len(word) < 5:
        yield from _ages(text, start, word)
        yield from _years(seen, at)


def _months(seen: View, at: int) -> Iterator[Span]:
    found = _MONTH_DAY.match(seen.text, seen.starts[at])
    if found is None:
        return
    word = seen.words[at]
    verbal = word.lower() in _VERBAL and found["year"] is None
    if verbal and word.islower():
        return
    score = LIKELY if verbal and word.isupper() else SURE
    yield Span(found.start(), found.end(), Label.DATE, "mimic:date-month-day", score)


def _years(seen: View, at: int) -> Iterator[Span]:
    text, start = seen.text, seen.starts[at]
    word = seen.words[at]
    if len(word) == 4:
        found = _YEAR.match(text, start)
    elif len(word) == 2 and at and (text[start - 1] in "'’`" or seen.words[at - 1].lower() in ("in", "since")):
        found = _SHORT_YEAR.match(text, start)
    else:
        return
    if found is None:
        return
    near = seen.words[max(0, at - _NEAR) : at + _NEAR + 1]
    if any(_is_event(word) for word in near):
        yield Span(start, found.end(), Label.DATE, "mimic:date-year", LIKELY)


def _ages(text: str, start: int, word: str) -> Iterator[Span]:
    if not 90 <= int(word) <= 125 or (start and text[start - 1] in "./,:"):
        return
    end = start + len(word)
    if _OLD.match(text, end) is not None:
        yield Span(start, end, Label.AGE, "mimic:age-after", SURE)
        return
    cue = _AGED.search(text[max(0, start - _LONGEST_CUE) : start])
    if cue is not None and _MEASURED.match(text, end) is None:
        yield Span(start, end, Label.AGE, "mimic:age-before", SURE if cue["age"] else LIKELY)


# --- locations (2.5.3) -----------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 14)
def _unambiguous(phrase: str, kinds: int) -> bool:
    """Whether a place is hardly anything else: no medical term, no common word, few people of that name."""
    people = lexicons.phrases().population(phrase)
    parts = [row_of(part) for part in phrase.split(" ") if part]
    if len(parts) > 1:
        return people >= _MAJOR or any(_rare(row) and not row.kinds & Kind.MEDICAL for row in parts)
    row = parts[0]
    if row.kinds & _NO_PLACE or row.clinical or len(phrase) < 4 or row.lower > row.english / 8:
        return False
    if kinds & (Kind.STATE | Kind.COUNTRY | Kind.LANDMARK):
        return row.name < 2 * row.english
    return people >= max(_MAJOR, 10 * row.name)


def _place_label(phrase: str, kinds: Kind) -> Label:
    if Kind.CITY in kinds and (
        not kinds & (Kind.STATE | Kind.COUNTRY) or lexicons.phrases().population(phrase) >= 500_000
    ):
        return Label.CITY
    if Kind.STATE in kinds:
        return Label.STATE
    return Label.COUNTRY if Kind.COUNTRY in kinds else Label.LOCATION_OTHER


_WANTED = int(_PLACES | Kind.HOSPITAL)
_WINDOW = 4  # words that a phrase may have from its first


def _phrases(seen: View, openers: NDArray[np.intp]) -> Iterator[Span]:
    """Listed places and hospitals, searched for in each stretch of text that may hold some."""
    phrases = lexicons.phrases()
    for first, last, found in phrases.match_from(seen.words, openers, _PLACES | Kind.HOSPITAL | _OTHERWISE, _WINDOW):
        if int(found) & _WANTED:
            yield from _listed(seen, first, last, found)


def _listed(seen: View, first: int, last: int, kinds: Kind) -> Iterator[Span]:
    start, end = seen.starts[first], seen.ends[last - 1]
    phrase = " ".join(word.lower() for word in seen.words[first:last] if word[0].isalnum())
    if Kind.HOSPITAL in kinds:
        # "St. Jude" is a maker as well, unless the name says hospital or the note says where
        if _names_hospital(phrase) and (_says_hospital(phrase) or _is_where(seen, first)):
            yield Span(start, end, Label.HOSPITAL, "mimic:hospital-listed", SURE)
    elif last - first == 1 and _is_scale(seen.words[first].lower()) and not _is_where(seen, first):
        return
    elif _unambiguous(phrase, int(kinds)) and (last - first == 1 or _capital(seen, first, last)):
        yield Span(start, end, _place_label(phrase, kinds), "mimic:location", 0.9)


# places that medicine names scores, tubes, tests and germs after, beside the eponyms of the list
_SCALES = _set(
    """
    paris salem edinburgh prague seattle houston berlin norwalk nile ottawa glasgow vancouver oxford bristol chicago
    boston rome milan vienna cincinnati rotterdam amsterdam groningen ghent tokyo kyoto sydney london baltimore
    barcelona copenhagen stockholm lisbon geneva helsinki montreal toronto brussels lund denver ebola zika marburg
    hendra epworth nottingham manchester leeds cambridge pittsburgh philadelphia hawaii leiden utah coventry
    maastricht lausanne
    maryland minnesota newport bergen
    """
)


def _is_scale(lower: str) -> bool:
    return lower in _SCALES or Kind.EPONYM in row_of(lower).kinds


_WHERE = _set("in from to near at outside around visiting via")


def _is_where(seen: View, at: int) -> bool:
    """Whether the words around say that it is a place: "in Boston", "Boston, MA"; not the "Boston" score."""
    if at and seen.words[at - 1].lower() in _WHERE:
        return True
    return at + 1 < len(seen.words) and (
        (seen.words[at + 1] == "," and at + 2 < len(seen.words) and bool(row_of(seen.words[at + 2]).kinds & _STATE))
        or bool(row_of(seen.words[at + 1]).kinds & Kind.STATE_CODE and seen.words[at + 1].isupper())
    )


_STATE = Kind.STATE | Kind.STATE_CODE | Kind.COUNTRY


def _capital(seen: View, first: int, last: int) -> bool:
    """Whether a phrase is in capitals, or each of its words is rare enough without."""
    return seen.words[first][0].isupper() or any(row_of(word).lower < 1000 for word in seen.words[first:last])


def _says_hospital(phrase: str) -> bool:
    return any(word in _DULL or word in _BROAD or word in _HEADS for word in phrase.split(" "))


@lru_cache(maxsize=1 << 14)
def _names_hospital(phrase: str) -> bool:
    """Whether a word of the phrase is more than what every hospital is called."""
    return any(_tells(word) for word in phrase.split(" "))


_SPECIALTY = re.compile(r".{2,40}(?:olog(?:y|ic|ical|ist|ists)|iatry|iatrics?|natal|rectal|vascular|urinary|pulmonary)")
_EVERYWHERE = Kind.MEDICAL | Kind.DISEASE | Kind.DEPARTMENT | Kind.ABBREVIATION | Kind.DRUG


@lru_cache(maxsize=1 << 14)
def _tells(word: str) -> bool:
    lower = word.lower()
    if lower in _DULL or lower in _NO_NAME or lower in _BROAD or len(lower) < 2 or not word[0].isalpha():
        return False
    row = row_of(word)
    if row.kinds & _EVERYWHERE and not row.kinds & (_PLACES | Kind.HOSPITAL_WORD):
        return False  # "HTN clinic"
    if _SPECIALTY.fullmatch(lower) is not None:
        return False  # "colorectal surgery clinic"
    return _rare(row) or bool(row.kinds & Kind.HOSPITAL_WORD) or not (row.english or row.name or row.kinds)


@lru_cache(maxsize=1 << 14)
def _ambiguous(phrase: str) -> bool:
    """Whether the list of ambiguous locations has the phrase: any place, or what a known street is called."""
    kinds = lexicons.phrases().get(phrase) | (row_of(phrase).kinds & Kind.CITY_WORD)
    return bool(kinds & (_LISTED | Kind.CITY_WORD)) or Kind.STREET in lexicons.phrases().get(f"{phrase} street")


def _behind_cue(seen: View, at: int) -> Iterator[Span]:
    """ "Cape Cod", "Fort Reading": the span is cue and place together."""
    words = seen.words
    begin = at + 2 if at + 1 < len(words) and words[at + 1].lower() == "." else at + 1
    for stop in range(min(begin + 3, len(words)), begin, -1):
        if "\n" in seen.text[seen.ends[at] : seen.starts[stop - 1]] or not seen.words[begin][0].isalpha():
            continue
        phrase = " ".join(words[begin:stop]).lower()
        whole = bool(lexicons.phrases().get(f"{words[at].lower()} {phrase}") & _LISTED)
        capitals = seen.words[at][0].isupper() and seen.words[begin][0].isupper()
        if whole or (capitals and _ambiguous(phrase) and Kind.SAFE not in row_of(words[begin].lower()).kinds):
            label = Label.CITY if words[at].lower() in ("fort", "ft", "los") else Label.LOCATION_OTHER
            score = 0.9 if whole else LIKELY
            yield Span(seen.starts[at], seen.ends[stop - 1], label, "mimic:location-before", score)
            return


def _before_cue(seen: View, at: int) -> Iterator[Span]:
    """ "Temple Street", "Reading Harbor": the span is place and cue together."""
    words, cue = seen.words, seen.words[at].lower()
    for begin in range(max(0, at - 3), at):
        if not seen.words[begin][0].isalpha() or "\n" in seen.text[seen.starts[begin] : seen.starts[at]]:
            continue
        phrase = " ".join(words[begin:at]).lower()
        capitals = seen.words[begin][0].isupper()
        if not _ambiguous(phrase) or not (capitals or cue in _STREETS):
            continue
        if words[begin].lower() in _NO_NAME and not (capitals and cue in _STREETS):
            continue  # "a long street"
        label = Label.STREET if cue in _STREETS else Label.LOCATION_OTHER
        yield Span(seen.starts[begin], seen.ends[at], label, "mimic:location-after", LIKELY)
        return


# --- hospitals (2.5.4) -----------------------------------------------------------------------------------------------

_HOSPITAL_WORDS = 7
_JOINTS = frozenset(("of", "and", "&", "the", "for"))


def _hospitals(seen: View, at: int) -> Iterator[Span]:
    """The name before "hospital" and the like, to the left as far as it reaches, and "of X" to the right."""
    words = seen.words
    if words[at].lower() in _TAILS and not (at and words[at - 1].lower() in _QUALIFIERS):
        return
    upcoming = words[at + 1].lower() if at + 1 < len(words) else ""
    begin = place = at
    told = broad = False
    while place > 0 and at - place < 2 * _HOSPITAL_WORDS:
        place -= 1
        word = words[place]
        gap = seen.starts[place + 1] - seen.ends[place]
        if gap > 2 or "\n" in seen.text[seen.ends[place] : seen.starts[place + 1]]:
            break
        if not word[0].isalpha():
            if word == "&" or (word in "-'’" and seen.ends[place] == seen.starts[place + 1]):
                continue
            if word == "." and place and len(words[place - 1].lower()) <= 2:
                continue
            break
        if words[place].lower() == "s" and words[place - 1] in "'’":
            continue
        if words[place].lower() in _JOINTS:
            if begin == place + 1 and word.islower() and words[begin][0].isupper():
                continue
            break
        if words[place].lower() in _DULL:
            if word[0].islower() and words[at][0].isupper():
                break
            begin = place
        elif words[place].lower() in _NO_NAME or (word.islower() and words[at][0].isupper()) or not _may_name(word):
            break
        else:
            told = told or _tells(word)
            broad = broad or (word[0].isupper() and words[place].lower() in _BROAD)
            begin = place
    if (
        told
        and at - begin == 1
        and words[begin].isupper()
        and words[at].lower() == "clinic"
        and not words[at].isupper()
    ):
        return  # "OPAT clinic"
    if words[at].lower() in _WEAK_HEADS and not (told and words[at][0].isupper() and words[begin][0].isupper()):
        return
    if begin == at or not (told or broad) or (upcoming in _NOT_OF and not told):
        return
    end = _right(seen, at)
    score = 0.9 if told and words[at][0].isupper() and words[at].lower() not in _WEAK_HEADS else LIKELY
    yield Span(seen.starts[begin], seen.ends[end], Label.HOSPITAL, "mimic:hospital-word", score)


def _may_name(word: str) -> bool:
    return _is_title_case(word) or _tells(word) or word.lower() in _BROAD


def _right(seen: View, at: int) -> int:
    """The last token of the name: "Children's Hospital of Philadelphia" """
    words = seen.words
    if at + 2 >= len(words) or seen.words[at + 1].lower() != "of":
        return at
    place = at + 2
    if seen.words[place].lower() == "the" and place + 1 < len(words):
        place += 1
    last = at
    while place < min(len(words), at + 6) and words[place][0].isupper() and _tells(words[place]):
        if "\n" in seen.text[seen.ends[place - 1] : seen.starts[place]]:
            break
        last = place
        place += 1
    return last


_WARD = re.compile(r"(?:ward|wing|tower|pavilion)[ ](?:[a-z]?\d{1,3}[a-z]?|[a-h])(?![\w/.%-])", re.IGNORECASE)
_WIND = re.compile(r"(?<![\w./-])\d{1,2}[ ]?(?:north|south|east|west)(?!\w|\s(?-i:[A-Z][a-z]))", re.IGNORECASE)


def _wards(seen: View, at: int) -> Iterator[Span]:
    if seen.words[at].lower() in _WINDS:
        if not at or not seen.words[at - 1].isdigit() or seen.words[at].islower():
            return
        if at > 1 and seen.words[at - 2].lower() in _ROADS:
            return  # "off Highway 79 North"
        found = _WIND.match(seen.text, seen.starts[at - 1])
    else:
        found = _WARD.match(seen.text, seen.starts[at])
    if found is not None:
        yield Span(*found.span(), Label.DEPARTMENT, "mimic:ward", LIKELY)


# --- the detector ----------------------------------------------------------------------------------------------------


_ROLES = Marks(_roles)


class Mimic:
    name = "mimic"

    def detect(self, doc: Document) -> Iterator[Span]:
        seen = view(mended(doc.text))
        roles = _ROLES.of(seen)
        others = np.flatnonzero(roles & ~_PLACE_BIT)
        reach = 0  # end of the last number found: its other tokens are not looked at again
        for at, role in zip(others.tolist(), roles[others].tolist(), strict=True):
            if role & _NUMBER_OR_MONTH and seen.starts[at] >= reach:
                for span in _numbers(seen, at) if role & _NUMBER_BIT else _months(seen, at):
                    yield span
                    reach = span.end
            if role & _OTHER:
                yield from _other(seen, at, role)
        yield from _phrases(seen, np.flatnonzero(roles & _PLACE_BIT))

    def why(self, span: Span) -> str:
        return RULES[span.source.partition(":")[2].partition("+")[0]]


_PLACE_BIT = int(_Is.PLACE)
_NUMBER_BIT = int(_Is.NUMBER)
_NUMBER_OR_MONTH = int(_Is.NUMBER | _Is.MONTH)
_SUFFIX_BIT = int(_Is.SUFFIXED)
_BY_ROLE = (
    (int(_Is.TITLE), _names),
    (int(_Is.BEFORE), _behind_cue),
    (int(_Is.AFTER), _before_cue),
    (int(_Is.HOSPITAL), _hospitals),
    (int(_Is.WARD), _wards),
)
_OTHER = _SUFFIX_BIT | sum(bit for bit, _ in _BY_ROLE)


def _other(seen: View, at: int, role: int) -> Iterator[Span]:
    for bit, rule in _BY_ROLE:
        if role & bit:
            yield from rule(seen, at)
    if role & _SUFFIX_BIT and seen.words[at][0].isupper():
        yield Span(seen.starts[at], seen.ends[at], Label.CITY, "mimic:location-after", LIKELY)


def detector() -> Mimic:
    return Mimic()
