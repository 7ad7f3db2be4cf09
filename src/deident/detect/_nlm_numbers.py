"""Dates, ages, alphanumeric identifiers, numbered addresses: patterns tried where they may begin.

The patterns are data (`nlm_patterns.toml`). None is searched for along the text: a number, a month's name, the word
"age" and so on are tokens that are known by their type, and only there are the patterns of that kind matched. A first
pattern, the union of all of a kind, turns most places away.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from deident import labels, lexicons
from deident.detect._nlm_words import KEPT, classes
from deident.labels import Label
from deident.lexicons import Kind
from deident.view import View, row_of

NO_LEAD = "?"
BEFORE = 32  # characters that `before` and `not_before` look at


@dataclass(frozen=True, slots=True)
class Found:
    """What a recogniser found, before redaction."""

    start: int
    end: int
    label: Label
    rule: str
    score: float


@dataclass(frozen=True, slots=True)
class Pattern:
    """One entry of the data file."""

    name: str
    at: str
    label: Label
    score: float
    rule: str
    weak: bool
    regex: re.Pattern[str]
    before: re.Pattern[str] | None
    not_before: re.Pattern[str] | None
    leads: frozenset[str]
    near: tuple[str, ...]
    shape: re.Pattern[str] | None
    finds: tuple[str, ...]
    passes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """A clinical pattern that must stay."""

    name: str
    regex: re.Pattern[str]
    keeps: tuple[str, ...]


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(files("deident.detect").joinpath("nlm_patterns.toml").read_text(encoding="utf-8"))


def _filled(regex: str) -> str:
    words: dict[str, str] = _data()["words"]
    for _ in range(2):  # a word may use another
        for name, part in words.items():
            regex = regex.replace(f"{{{name}}}", part)
    return regex


def _compiled(regex: str | None) -> re.Pattern[str] | None:
    return None if regex is None else re.compile(_filled(regex), re.VERBOSE | re.IGNORECASE)


@cache
def patterns() -> tuple[Pattern, ...]:
    """All patterns to catch, in the order in which they are tried."""
    found: list[Pattern] = []
    for name, entry in _data().items():
        if name in ("words", "preserve"):
            continue
        regex = _compiled(entry["regex"])
        assert regex is not None
        found.append(
            Pattern(
                name,
                entry["at"],
                labels.parse(entry["label"]),
                entry["score"],
                entry.get("rule", name),
                entry.get("weak", False),
                regex,
                _compiled(entry.get("before")),
                _compiled(entry.get("not_before")),
                frozenset(entry.get("leads", "").split()),
                tuple(entry.get("near", "").split()),
                re.compile(entry["shape"]) if "shape" in entry else None,
                tuple(entry["finds"]),
                tuple(entry["passes"]),
            )
        )
    return tuple(found)


@cache
def kept() -> tuple[Kept, ...]:
    """All clinical patterns to preserve."""
    entries: dict[str, dict[str, Any]] = _data()["preserve"]
    return tuple(
        Kept(name, re.compile(entry["regex"], re.VERBOSE | re.IGNORECASE), tuple(entry["keeps"]))
        for name, entry in entries.items()
    )


_GROUP = re.compile(r"\(\?P<\w{1,12}>")
_SAME = re.compile(r"\(\?P=\w{1,12}\)")


@cache
def _screen(at: str) -> re.Pattern[str]:
    """The union of the patterns of one kind: what it does not match, none of them does."""
    parts = (_SAME.sub(r"[-/.\\s]", _GROUP.sub("(?:", p.regex.pattern)) for p in patterns() if p.at == at)
    return re.compile("|".join(f"(?:{part})" for part in parts), re.VERBOSE | re.IGNORECASE)


_AS_SHAPE = str.maketrans(dict.fromkeys("123456789", "0") | dict.fromkeys("\t\n\r\x0b\x0c\xa0", " "))
_SHAPE = 8  # characters


def shape_of(text: str, start: int) -> str:
    """What stands here at first sight: "12 Jan 2004" → "00 jan 0"."""
    return text[start : start + _SHAPE].lower().translate(_AS_SHAPE)[:_SHAPE]


@cache
def _leads() -> frozenset[str]:
    return frozenset().union(*(pattern.leads for pattern in _tried("number")))


@lru_cache(maxsize=KEPT)
def _fitting(shape: str, lead: str) -> tuple[Pattern, ...]:
    """The patterns for numbers that something of this shape behind this lead may match: mostly none.

    The lead is "" where it is not known, NO_LEAD where no pattern waits for it.
    """
    return tuple(
        pattern
        for pattern in _tried("number")
        if (pattern.shape is None or pattern.shape.match(shape))
        and (not lead or not pattern.leads or lead in pattern.leads)
    )


def _matched_number(text: str, start: int, lead: str) -> Found | None:
    """What the patterns for numbers find at a place; `lead` is the token before it, in lower case, or ""."""
    fitting = _fitting(shape_of(text, start), lead)
    return _first_of(fitting, text, start) if fitting else None


@cache
def _tried(at: str) -> tuple[Pattern, ...]:
    return tuple(pattern for pattern in patterns() if pattern.at == at)


_MEASURED = re.compile(
    r"""[ -]?(?:mg|mcg|ml|cc(?!:|[ ][A-Z])|cm|mm|kg|g|gm|units?|iu|meq|mmhg|%|lbs?|bpm|sec|min(?:utes)?|hours?|hrs?
          |mm\s?hg|cgy|gy|tabs?|kcal|cal|ft|feet|french|fr|gauge|points?)(?![a-z])""",
    re.VERBOSE | re.IGNORECASE,
)


# "mid-July", "late 1950s", "early '90s": the part belongs to the date (table 3, (early|mid|late)*YYYY)
_PART = re.compile(r"\b(?:early|mid|middle of|late|end of)(?:[-\s]{1,2}|\s(?:the|of)\s)['’]?$", re.IGNORECASE)


def matched(text: str, at: str, start: int, lead: str = "") -> Found | None:
    """What the patterns of a kind find at a place; `lead` is the token before it, where it is known."""
    if _screen(at).match(text, start) is None:
        return None
    return _first_of(_behind(at, lead), text, start)


@lru_cache(maxsize=KEPT)
def _behind(at: str, lead: str) -> tuple[Pattern, ...]:
    return tuple(pattern for pattern in _tried(at) if not lead or not pattern.leads or lead in pattern.leads)


def _first_of(tried: tuple[Pattern, ...], text: str, start: int) -> Found | None:
    before = text[max(0, start - BEFORE) : start]
    low = before.lower()
    for pattern in tried:
        if pattern.near and not any(map(low.__contains__, pattern.near)):
            continue
        match = pattern.regex.match(text, start)
        if match is None:
            continue
        if pattern.before is not None and pattern.before.search(before) is None:
            continue
        if pattern.not_before is not None and pattern.not_before.search(before) is not None:
            continue
        first, last = match.span("phi") if "phi" in pattern.regex.groupindex else match.span()
        if pattern.weak and _MEASURED.match(text, last):
            continue
        if pattern.label is Label.DATE and (earlier := _PART.search(before)) is not None:
            first -= earlier.end() - earlier.start()
        return Found(first, last, pattern.label, pattern.rule, pattern.score)
    return None


# --- identifiers ----------------------------------------------------------------------------------------------------

_FILL = re.compile(
    r"""(?:\s?(?:\#|no\b\.?|num(?:ber)?s?\b|nr\b|id\b|is\b|code\b|card\b|acct\b|record\b|rec\b|ser(?:ial)?\b\.?|s?/?n\b|name\b)){0,3}+
        [)]?[\s:\#=.|*-]{0,6}+""",
    re.VERBOSE | re.IGNORECASE,
)
_ID_NO = re.compile(r"IDNo(?=[.:#\d])")  # "SpecimenIDNo.0B44817729"
_CHUNK = re.compile(r"[A-Za-z0-9]{1,24}+(?:(?:[/.]|-\s{0,4}+)[A-Za-z0-9]{1,16}+){0,6}+")
_GLUED_WORD = re.compile(r"(?<=\d)(?:[A-Z][a-z]{2,24}+|[A-Z]{3,24}+|[a-z]{4,24}+)$")  # "MRN:B4471902DOB"
# What follows is another field: "0B44817729|LabAccessionQ190614", "58113|RadiologyExam"
_GLUED_FIELD = re.compile(r"(?<=\d)(?:[A-Z][a-z]{3}|[A-Z][a-z]{2}(?=[A-Z])|(?:MRN|CSN|DOB|plate|page)(?![a-z]))")
_WORD_BEFORE = re.compile(r"[A-Z][a-z]{3,24}+(?=\d)")  # "Percocet5-325", "Care06/14/2019"
_SPACED = re.compile(
    r"[A-Z0-9]{1,10}+(?:[ -][A-Z]{0,6}+\d{1,12}+[A-Z]{0,6}+){1,5}(?![\w/])"
    r"|[A-Z]{1,4}[ ]\d{2,10}(?:[ -]\d{1,6}){0,3}(?![\w/])"
)
_TELEPHONE = re.compile(
    r"""(?:(?:\+?1[-.\s]{1,2})?\(?\d{3}\)?\s{0,2}[-./]?\s{0,2}\d{3}\s?[-.\s]?\s?\d{4}   # as in North America
        |\+\d{1,3}+(?:[-.\s(]{1,2}+\d{1,5}+\)?){2,5}
        |\(?\d{2,5}+\)?(?:[-. ]\d{2,5}+){1,4}
        |\d{4,12}+)
        (?:[,;]?\s?(?:x|ext\.?|\#)\s?\d{1,6})?(?![\d])""",
    re.VERBOSE,
)
_EXTENSION = re.compile(r"\d{3,6}(?![\d/.:-])")
_ROOM = re.compile(
    r"(?:[A-Z]{1,4}[- ]?|\d{1,2}[A-Z]{1,2}-?)?\d{1,5}(?:-?[A-Za-z](?![A-Za-z])|[ ][A-Z](?![A-Za-z]))?"
    r"(?:-[A-Z0-9]{1,4}){0,2}"
    r"(?![\w:/.]\d|\w)"
)
_WARDS = frozenset(["or", "ldr", "pacu", "icu", "micu", "sicu", "ccu", "ed", "bay", "nicu", "lab", "o.r"])
_USER = re.compile(r"[a-z][a-z0-9._-]{2,24}(?![\w@])")

_CUES: MappingProxyType[str, tuple[Label, int]] = MappingProxyType(
    {
        word: (label, digits)
        for label, digits, words in (
            (Label.MEDICALRECORD, 2, "mrn medrec chart record"),
            (Label.ACCOUNT, 3, "account acct fin csn invoice"),
            (Label.SSN, 4, "ssn ss"),
            (Label.DEVICE, 2, "lot serial ser sn barcode"),
            (Label.LICENSE, 3, "license licence lic dea"),
            (Label.HEALTHPLAN, 3, "policy group grp member medicare medicaid insurance subscriber hic hicn"),
            (Label.VEHICLE, 2, "plate vin"),
            (
                Label.IDNUM,
                3,
                """id ids npi job claim accession acc protocol emp employee conf confirmation doc document dict
                upin specimen spec encounter enc visit badge requisition req reference ref ticket rx order ord case
                study
                tracking passport visa file registry reg kit slide block edipi dod series tag band isolate""",
            ),
            (Label.IDNUM, 4, "no nr num number numbers unit hospital hosp #"),
            (Label.PHONE, 4, "phone ph tel telephone cell mobile pager beeper pgr call t c h w p"),
            (Label.PHONE, 3, "ext extension"),
            (Label.FAX, 6, "fax fx f"),
            (Label.ROOM, 1, "room rm bed suite"),
            (Label.USERNAME, 0, "user username login"),
        )
        for word in words.split()
    }
)


def _cut(chunk: str) -> str:
    """A chunk up to the word or field that is glued to its digits, where enough digits stand before that."""
    field = _GLUED_FIELD.search(chunk)
    if field is not None and sum(map(str.isdigit, chunk[: field.start()])) > 3:
        return chunk[: field.start()]
    return _GLUED_WORD.sub("", chunk)


@lru_cache(maxsize=KEPT)
def _is_clinical(word: str) -> bool:
    """Whether a word that stands glued before digits is of medicine: "Care06/14"; not "Room4471"."""
    row = row_of(word)
    return (row.clinical > 0 or bool(row.kinds & Kind.DRUG)) and word.lower() not in _CUES


def _identifier(view: View, index: int) -> Found | None:
    """What stands behind an identifier's name."""
    text, word = view.text, view.words[index].lower()
    if word in _NAMING_USERS:
        return _user_after(view, index)
    if word in _WARDS and (view.words[index].isupper() or word == "bay"):
        match = _ROOM.match(text, view.ends[index] + 1)
        if match is None or _MEASURED.match(text, match.end()) or text[view.ends[index]] not in " :":
            return None
        return Found(*match.span(), Label.ROOM, "room", 0.6)
    cue = _CUES.get(word)
    if cue is None or view.words[index] == "pH":
        return None
    label, least = cue
    glued = _ID_NO.match(text, view.ends[index])
    start = glued.end() if glued is not None else view.ends[index]
    fill = _FILL.match(text, start)
    start = fill.end() if fill is not None else start
    if start >= len(text) or text.count("\n", view.ends[index], start) > 1:
        return None
    marked = any(char in ":#=" for char in text[view.ends[index] : start]) or word == "#"
    if label in (Label.PHONE, Label.FAX):
        return _telephone(text, start, label, word)
    if label is Label.USERNAME:
        match = _USER.match(text, start)
        return Found(*match.span(), label, "id-cue", 0.8) if match is not None and marked else None
    if label is Label.ROOM:
        match = _ROOM.match(text, start)
        return (
            Found(*match.span(), label, "room", 0.75)
            if match is not None and not _MEASURED.match(text, match.end())
            else None
        )
    match = _SPACED.match(text, start) or _CHUNK.match(text, start)
    if match is None:
        return None
    chunk = _cut(match[0])
    before = _WORD_BEFORE.match(chunk)
    if (before is not None and _is_clinical(before[0])) or (label is Label.SSN and chunk[0] not in "0123456789xX"):
        return None
    end = start + len(chunk)
    digits = sum(map(str.isdigit, chunk))
    if word == "#" and "/" in chunk:
        return None
    if digits < least or (word in classes()["weak_cues"] and not marked and digits < 5):
        return None
    if _MEASURED.match(text, end) or (digits < 5 and _stays(text, start, end) and not marked):
        return None
    if any(pattern.regex.match(text, start) for pattern in _dates()):
        return None
    return Found(start, end, label, "id-cue", 0.92 if digits >= 4 and word not in classes()["weak_cues"] else 0.78)


@cache
def _dates() -> tuple[Pattern, ...]:
    """The patterns of full dates, which no identifier looks like."""
    wanted = ("date-iso", "date-full", "date-day-month")
    return tuple(pattern for pattern in patterns() if pattern.name in wanted)


_NAMING_USERS = frozenset(["by", "owner", "verified", "keyed", "uploaded", "signed"])


def _user_after(view: View, index: int) -> Found | None:
    """A login name behind "by" and the like: lower case, in no list, or with digits in it."""
    text = view.text
    start = view.ends[index]
    while start < len(text) and start - view.ends[index] < 3 and text[start] in " :=":
        start += 1
    match = _USER.match(text, start)
    if match is None or len(match[0]) < 5 or match[0].endswith((*classes()["endings"], "ing", "ed", ".")):
        return None
    letters = re.match("[a-z]+", match[0])
    assert letters is not None
    row = row_of(letters[0])
    unlisted = row.english == 0 and row.name == 0 and row.clinical == 0 and not row.kinds
    if (unlisted and not row_of(letters[0][:-2]).clinical) or (
        match[0] != letters[0] and row.clinical == 0 and "-" not in match[0]
    ):
        return Found(*match.span(), Label.USERNAME, "user", 0.65)
    return None


def _telephone(text: str, start: int, label: Label, word: str) -> Found | None:
    match = _TELEPHONE.match(text, start)
    if match is not None:
        digits = sum(map(str.isdigit, match[0]))
        least = 7 if len(word) <= 2 or word == "call" else 4  # "ph" is also acidity, "p" a pulse
        if least <= digits <= 15 and not any(pattern.regex.match(text, start) for pattern in _dates()):
            return Found(start, match.end(), label, "phone-cue", 0.92)
    if word in ("ext", "extension", "pager", "beeper", "pgr"):
        match = _EXTENSION.match(text, start)
        if match is not None:
            return Found(*match.span(), label, "phone-cue", 0.85)
    return None


def _stays(text: str, start: int, end: int) -> bool:
    """Whether a clinical pattern has the whole of what stands here."""
    for pattern in kept():
        match = pattern.regex.match(text, start)
        if match is not None and match.end() >= end:
            return True
    return False


_CODE_BEFORE = re.compile(
    r"\b(?:cpt|icd|codes?|hcpcs|ndc|drg|ref(?:erence)?\srange)\b[^.\n]{0,32}$|\btrial\s{1,2}$", re.IGNORECASE
)


def _catch_all(view: View, index: int) -> Found | None:
    """The recogniser's last rule: most other strings with digits are identifiers; here those of some length."""
    text = view.text
    first = index
    while first > 0 and index - first < 10 and view.ends[first - 1] == view.starts[first]:
        if not (view.words[first - 1].isalnum() or view.words[first - 1] in "-/"):
            break
        first -= 1
    start = view.starts[first]
    match = _CHUNK.match(text, start)
    if match is None or match.end() < view.ends[index]:
        return None
    chunk = _cut(match[0])
    if start + len(chunk) < view.ends[index]:
        chunk = _GLUED_WORD.sub("", match[0])
    end = start + len(chunk)
    if end < view.ends[index]:
        return None
    place = lexicons.zips().place(chunk[:5]) if len(chunk) in (5, 10) and chunk[:5].isdigit() else None
    if place is not None and place.city.lower() in text[max(0, start - 40) : start].lower():
        return Found(start, end, Label.ZIP, "zip", 0.85)
    label = _LABELLED.match(chunk)
    before = _WORD_BEFORE.match(chunk)
    if label is None and before is not None and _is_clinical(before[0]):
        label = before
    if label is not None:
        start, chunk = start + label.end(), chunk[label.end() :]
    if _NO_ID.fullmatch(chunk):
        return None
    digits = sum(map(str.isdigit, chunk))
    letters = any(map(str.isalpha, chunk))
    parted = _GLUED_FIELD.match(text, end) is not None  # 58113RadiologyExam
    plain = not letters and not parted and "-" not in chunk
    if digits < 4 or (digits < 6 and plain) or end - start > 40 or chunk.endswith("000"):
        return None
    if not letters and ("/" in chunk or chunk.count("-") > 2 or digits < 5):
        return None
    if _CODE_BEFORE.search(text[max(0, start - 40) : start]):
        return None
    if "." in chunk or (end < len(text) and text[end] in ".," and text[end + 1 : end + 2].isdigit()):
        return None
    if _stays(text, start, end) or _MEASURED.match(text, end) or text[start - 1 : start] in ("$", ",", "."):
        return None
    if letters and digits < 5 and (chunk[0].isdigit() or ("-" not in chunk and not chunk[0].isupper())):
        return None
    if letters and any(part.isalpha() and len(part) > 3 and part.islower() for part in re.split("[-/.]", chunk)):
        return None
    score = 0.85 if digits in (9, 10) and not letters else 0.62 if digits > 5 or letters else 0.55
    return Found(start, end, Label.IDNUM, "id-catch-all", score)


# Clock times, ratios, results, obstetric histories, vital signs: digits that identify nobody.
_NO_ID = re.compile(
    r"""(?:[01]\d|2[0-3])[0-5]\d-(?:[01]\d|2[0-3])[0-5]\d        # 0815-0905
      | [GP]\d(?:[-.]?\d){2,4}                                    # P3-0-1-3
      | \d{1,3}-\d{1,3}/\d{1,3}s?                                 # 138-152/80s
      | [\d-]{1,8}/[A-Za-z]{1,4}\d?                               # 2800/mm3
      | \d{1,2}/\d{2,4}-[A-Z]\d                                   # 10/99-X3
      | (?:BP|HR|RR|SpO2|SPO2|T|P|Temp|Wt|WT)-?\d.{0,40}
      | \d{2,4}-\d\d-\d\dT\d\d | \d{1,2}T\d{1,2}
      | rs\d{5,12} | NCT\d{8}                                      # variants, trials
      | (?:ICD|CPT)-?\d.{0,40} | J\d{4}                          # diagnoses, procedures, drugs by their codes
    """,
    re.VERBOSE,
)
_LABELLED = re.compile(r"(?:FROM|TO|ARRIVED|ENC|MRN|FIN|CSN|VISIT|ACCT|SIGNED|Signed|mrn|acct|fin|csn)(?=[-\d])-?")


_EMAIL = re.compile(r"[\w.+%-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,18}")
_URL = re.compile(
    r"(?:https?://|www\.(?=[A-Za-z0-9]))[^\s<>\"'\[\]{}|\\^`]{3,400}+",
    re.IGNORECASE,
)


def _address_of_mail_or_page(view: View, index: int) -> Found | None:
    text, start = view.text, view.starts[index]
    if view.words[index] != "@":
        match = _URL.match(text, start)
        if match is None:
            return None
        return Found(start, start + len(match[0].rstrip(".,;:!?)")), Label.URL, "url", 0.98)
    begin = start
    while begin > 0 and start - begin < 64 and (text[begin - 1].isalnum() or text[begin - 1] in "._%+-"):
        begin -= 1
    match = _EMAIL.match(text, begin)
    return None if match is None else Found(*match.span(), Label.EMAIL, "email", 0.98)


# --- one pass over the triggers -------------------------------------------------------------------------------------

_STREET_FOLLOWS = frozenset(" -NSEWABC")
_KINDS = MappingProxyType({"M": "month", "W": "weekday", "H": "season", "R": "season", "N": "word", "B": "route"})
_TRIGGERS = re.compile(r"[dMWHRNBIQA@]")
_POST_OFFICE = re.compile(r"(?:\bp\.?\s?o\.?|\bpost\soffice)\s{0,2}$", re.IGNORECASE)


def found(view: View, kinds: str) -> Iterator[Found]:
    """Every date, age, identifier and numbered address of a text; `kinds` are its `triggers`."""
    text, starts, words = view.text, view.starts, view.words
    reached = 0
    units = classes()["units"]
    months: set[int] = set()  # of the note's full dates
    small: list[int] = []  # where a month and a day may stand
    for hit in _TRIGGERS.finditer(kinds):
        index = hit.start()
        start = starts[index]
        if start < reached:
            continue
        item: Found | None = None
        kind = hit[0]
        if kind == "d":
            after = view.ends[index]
            follows = words[index + 1] if index + 1 < len(words) else ""
            if follows in units and text[start - 1 : start] in (" ", "(", "\n", "."):
                continue  # a plain measure, the commonest number of all
            if text[after : after + 1] in _STREET_FOLLOWS and _may_be_street(words, index):
                item = matched(text, "street", start)
            if start and text[start - 1] in "OlI" and not text[max(0, start - 2) : start - 1].isalnum():
                item = item or _matched_number(text, start - 1, "")
            if item is None:
                item = _matched_number(text, start, _lead_of(words[index - 1]) if index else "")
            if item is None and "," in words[index]:  # "100517,503-555-0112": a table's cells, not thousands
                cells = [start + place + 1 for place, char in enumerate(words[index]) if char == ","]
                item = next((own for cell in cells if (own := _matched_number(text, cell, "")) is not None), None)
            if item is None and (len(words[index]) > 3 or _is_glued(text, start, after)):
                item = _catch_all(view, index)
        elif kind in "IQ":
            if "d" in kinds[index + 1 : index + 8] or words[index].lower() in _USER_CUES:
                item = _identifier(view, index)
            if item is None and words[index].lower() in ("p", "rr", "h"):
                item = matched(text, "route", start)
        elif kind == "@":
            item = _address_of_mail_or_page(view, index)
        elif kind in _KINDS:
            item = matched(text, _KINDS[kind], start, words[index - 1].lower() if kind == "N" and index else "")
            if item is not None and item.rule == "po-box":
                office = _POST_OFFICE.search(text, max(0, start - 14), start)
                item = item if office is None else replace(item, start=office.start())
            if item is None and words[index] == "T":
                item = _identifier(view, index)
        if item is not None and item.end > reached:
            yield item
            reached = item.end
            if item.rule in _FULL_DATES:
                months |= _months_of(text[item.start : item.end])
        elif kind == "d" and text[view.ends[index] : view.ends[index] + 1] in ("/", "-"):
            small.append(start)
    if not months:
        return
    for start in small:
        match = _known().regex.match(text, start)
        if match is not None and int(match["month"] or match["month2"]) in months:
            item = matched(text, "known", start)
            if item is not None:
                yield item


@lru_cache(maxsize=KEPT)
def _lead_of(word: str) -> str:
    """A token as `leads` writes it: in lower case, a run of one sign ("....") as that sign."""
    lead = word.lower() if word[0].isalnum() else word[0]
    return lead if lead in _leads() else NO_LEAD


def _may_be_street(words: list[str], index: int) -> bool:
    """Whether a number may begin an address: a word like "street" follows soon."""
    return not classes()["streets"].isdisjoint(map(str.lower, words[index + 1 : index + 12]))


def _is_glued(text: str, start: int, end: int) -> bool:
    """Whether a number is part of something longer, such as "AB-12"."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return before.isalnum() or after.isalnum() or before in ("-", "/") or after in ("-", "/", ".")


_USER_CUES = _NAMING_USERS | {"user", "username", "login"}
_MONTH_IN_DATE = re.compile(r"(?:\d{4}[-/.])?(?P<month>\d{1,2})[-/.]")
_FULL_DATES = frozenset(["date-full", "date-iso"])


def _months_of(date: str) -> set[int]:
    """The month of a full date in figures, the one before and the one after: a note speaks of the days around it."""
    found = _MONTH_IN_DATE.match(date)
    number = int(found["month"]) if found else 0
    return {number, number % 12 + 1, (number - 2) % 12 + 1} if 1 <= number <= 12 else set()


@cache
def _known() -> Pattern:
    return _tried("known")[0]
