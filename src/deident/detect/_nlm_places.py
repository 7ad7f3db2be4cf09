"""Addresses without numbers, hospitals, and employers.

The paper leaves its address recogniser unspecified and its employer recogniser unfinished ("Project Status"). Here both
grow from a word that is listed (a state, a city, "Hospital", "works") to the capitalised words beside it, and hold only
if one of these is no common word.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from deident import lexicons
from deident.detect._nlm_numbers import Found
from deident.detect._nlm_words import KEPT, classes, is_filtered, symbol
from deident.labels import Label
from deident.lexicons import Kind
from deident.view import View, row_of

_BEFORE = 64  # characters before a head in which its name begins
_WORD = (
    r"(?:[A-Z][\w'’]{0,24}+(?:[-&][A-Z][\w'’]{0,24}+){0,2}+|[A-Z]\.(?:[A-Z]\.){0,2}+"
    r"|St\.|Mt\.|Ft\.|\d{1,2}(?:st|nd|rd|th))"
)
_LEFT = re.compile(
    rf"(?<![A-Za-z])(?>{_WORD}(?:[ ]|\n[ ]{{0,8}}+)(?:(?:of|the|and|&|for|de|la|at)[ ]){{0,2}}+){{1,5}}$"
)
_RIGHT = re.compile(
    r"""(?:[ ](?:of[ ](?:the[ ])?|for[ ]|at[ ])?(?:[A-Z][\w'’]{1,24}+(?:-[A-Z]\w{0,20}+)?|\#?\d{1,4}+(?![\d/:.-])))
        {0,3}+""",
    re.VERBOSE,
)
_LOWER_LEFT = re.compile(r"(?:[a-z'’]{2,14} ){1,3}$")
_CITY = re.compile(r"((?:(?:St|Mt|Ft|No|So|[NSEW])\.[ ]|[A-Z][\w'’-]{1,20}[ ]){0,2}[A-Z][\w'’-]{1,20}),?[ \n]{1,2}$")
_LOWER_CITY = re.compile(r"\b(?:in|from|to|near|of|at)[ ]([a-z]{3,14}(?:[ ][a-z]{3,14})?),?[ ]$")
_PREPOSITION = re.compile(
    r"(?:\b(?:in|from|near|to|of|outside|around|via|for|at|lives|visited|visiting|visit|through|live|moved|born|left|town|city|state)"
    r"|[,(/:|]|\b(?:In|From|Born|INTO|IN|FROM|TO|NEAR|OF|AT|south|north|east|west|southern|northern|eastern|western|central|rural|downtown))"
    r"[ \n]{1,2}$|[(|/]$"
)
_EMPLOYED = re.compile(
    r"""(?:[ ](?!not\b|no\b)[a-z]{1,14}+[,]?){0,5}?[ ](?:at|for|with|by|from|of|in|@)[ ](?:the[ ]|a[ ])?
        (?P<phi>(?!Dr\b|Mr|Ms\b|The\b|He\b|She\b|In\b|January|February|March|April|May|June|July|August|Sept|October
            |November|December|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)
        [A-Z][\w'’&.]{1,24}+(?:-[A-Z]\w{1,20}+)?
        (?>[ \n](?:(?:of|and|the|&|for)[ ])?(?:[A-Z][\w'’&]{1,24}+(?:-[A-Z]\w{1,20}+)?|&[ ][A-Z]\w{1,20}+)){0,5}+)""",
    re.VERBOSE,
)
_EMPLOYER_FIELD = re.compile(
    r"(?:/contact|[ ]name)?[ .]{0,30}+[:\t|][ \t]{0,12}+"
    r"(?P<phi>[A-Z][\w'’&.-]{1,24}+(?:[ ](?:(?:of|and|the|&|for|de)[ ])?[A-Z&][\w'’&.-]{0,24}+){0,5}+)"
)
_AT = re.compile(
    r"""[ \n](?:the[ ])?(?P<phi>(?!Dr\b|Mr|Ms\b|The\b|He\b|She\b|This\b|Time\b)
        (?:St\.[ ]|Mt\.[ ])?[A-Z][a-z'’]{2,24}+(?:-[A-Z]\w{1,20}+)?
        (?>[ ](?:(?:of|and|the|&)[ ](?:the[ ])?)?(?:[A-Z][\w'’]{1,24}+(?:-[A-Z]\w{1,20}+)?)){0,4}+)""",
    re.VERBOSE,
)
_STATES = Kind.STATE | Kind.COUNTRY
_PLACES = Kind.CITY | Kind.STATE | Kind.COUNTRY | Kind.LANDMARK | Kind.COUNTY
# Heads that stand in clinical prose without any name before them.


@lru_cache(maxsize=KEPT)
def _tells(word: str) -> bool:
    """Whether a capitalised word is more than a word of medicine or of everyday English."""
    row = row_of(word)
    low = word.lower()
    if low in classes()["functions"] or row.kinds & (Kind.DEPARTMENT | Kind.MONTH | Kind.WEEKDAY):
        return False
    if row.kinds & _PLACES and not row.clinical:
        return True
    if symbol(word) in "nwk":
        return not row.kinds & Kind.EPONYM or row.name > 20000
    return row.english == 0 and row.clinical == 0 and not row.kinds


def _telling(name: str) -> bool:
    return any(
        _tells(word) for word in re.findall(r"[A-Za-z][\w'’]+", name) if not (word.isupper() and is_filtered(word))
    )


_TRIGGERS = re.compile("[POETSUQR]|I(?=d)")


def found(view: View, kinds: str) -> Iterator[Found]:
    """Every place, hospital and employer of a text; `kinds` are its triggers."""
    text = view.text
    for hit in _TRIGGERS.finditer(kinds):
        index, kind = hit.start(), hit[0]
        item: Found | None = None
        if kind in "PS":
            places = list(_place(view, index))
            yield from places
            if not places and view.words[index] == "CO":  # Colorado, or a company
                item = _institution(view, index)
        elif kind == "I" and len(view.words[index]) == 2 and view.words[index].isupper():
            yield from _place(view, index, coded=True)  # Portland OR 97204
        elif kind == "U":
            if index + 1 < len(view.words) and view.words[index + 1][0].isupper():
                yield from _named_place(view, index)
        elif kind in "OQR":
            item = _institution(view, index)
        elif kind == "E":
            item = _employer(text, view.words[index], view.ends[index])
        elif kind == "T":
            item = _at(text, view.ends[index])
        if item is not None:
            yield item


def _institution(view: View, index: int) -> Found | None:
    """A hospital or an organisation by its head word, with the capitalised words around it."""
    text, word, start = view.text, view.words[index], view.starts[index]
    low = word.lower()
    if index and view.words[index - 1] == "." and view.ends[index - 1] == start - 1 and low in classes()["plain_heads"]:
        return None
    label = Label.HOSPITAL if low in classes()["hospitals"] else Label.ORGANIZATION
    before = text[max(0, start - _BEFORE) : start]
    left = _LEFT.search(before) if word[0].isupper() else None
    if left is None:
        return None
    name = left[0]
    begin = start - len(name)
    # a sentence's first words, a title and the like are no part of it
    # "Dr. Arruda at Spindle City Cardiology": the doctor is none either
    titled = _TITLED.search(text[max(0, begin - 8) : begin]) is not None
    for joint in ([*_JOINT.finditer(name)][:1] if titled else []) or [*_ENTRY.finditer(name)][-1:]:
        begin += joint.end()
        name = name[joint.end() :]
    if word.isupper() and (kept := _behind_functions(name)):
        begin += kept
        name = name[kept:]
    while (head := name.split(None, 1)) and len(head) > 1 and head[0].lower().rstrip(".,") in classes()["leading"]:
        begin += len(name) - len(head[1])
        name = head[1]
    if not name.strip() or name.strip().lower() in classes()["leading"] or not _telling(name):
        return None
    right = _RIGHT.match(text, view.ends[index])
    cut = _GENERIC_RIGHT.search(text, right.start(), right.end()) if right is not None else None
    if cut is not None:
        right = _RIGHT.match(text, view.ends[index], cut.start())
    end = right.end() if right is not None and not word.isupper() else view.ends[index]
    return Found(begin, end, label, "hospital" if label is Label.HOSPITAL else "employer", 0.7)


_TITLED = re.compile(r"(?:Dr|Mr|Mrs|Ms|DR)\.?\s$")
_JOINT = re.compile(r"\s(?:of|at|for)\s(?:the\s)?")
# A line that ends before the margin, or a preposition: what stands before is another thing ("MRI at …").
_ENTRY = re.compile(r"\bat\s|(?<=[A-Z]{4})\n[ ]{0,8}(?![A-Z]{4})|(?<=\.)\n[ ]{0,8}|(?<=\d)\n[ ]{0,8}")
# What goes on behind a hospital's name in capitals and is no part of it.
_GENERIC_RIGHT = re.compile(
    r"(?:['’]s)?[ ](?:Emergency|Operating|Outpatient|Inpatient|Note|Notes|Patient|Name|Service|Services|Department|"
    r"Clinic|Podiatric|Progress|Consultation|Discharge|Rm|Room|Unit|Team|Staff|Attending|Operative|Report|Campus)\b"
)


def _behind_functions(name: str) -> int:
    """Where in a text of capitals the name begins: behind the last word that no name has, "SEEN AT [MERCY]"."""
    last = 0
    for match in _FUNCTION.finditer(name):
        last = match.end()
    return last


def _before_functions(name: str) -> int:
    """Where in a text of capitals the name ends."""
    match = _FUNCTION.search(name)
    return len(name) if match is None else len(name[: match.start()].rstrip())


_FUNCTION = re.compile(
    r"\b(?:AT|FROM|TO|IN|IS|WAS|ARE|WERE|BE|BEEN|BY|WITH|ON|THAN|WHO|WHICH|AS|THAT|THROUGH|THROUGHOUT|VIA|HAS|HAD|HAVE|"
    r"WILL|SHE|HE|HER|HIS|THEY|PATIENT|PT|(?<!CENTER )(?<!INSTITUTE )(?<!SCHOOL )(?<!COUNCIL )FOR|HERE|OUT|"
    r"AND (?=IS|WAS|WILL)|BORN|DIED|SENT|SEEN|REFERRED|TRANSFERRED|ATTENDS|WORKS|WORKED|PRACTICE OF)"
    r"(?:\s(?:THE|A|AN))?\b\s?"
)


def _employer(text: str, word: str, end: int) -> Found | None:
    low = word.lower()
    if low == "employer":
        match = _EMPLOYER_FIELD.match(text, end)
        if match is not None:
            return Found(*match.span("phi"), Label.ORGANIZATION, "employer", 0.85)
    match = _EMPLOYED.match(text, end)
    if match is None:
        return None
    phi, begin = match["phi"], match.start("phi")
    if phi.endswith(".") and phi.rsplit(None, 1)[-1].lower() not in ("inc.", "co.", "corp.", "ltd.", "bros."):
        phi = phi[:-1]
    if phi.isupper():
        phi = phi[: _before_functions(phi)]
    if not phi or not _telling(phi):
        return None
    return Found(begin, begin + len(phi), Label.ORGANIZATION, "employer", 0.7)


def _at(text: str, end: int) -> Found | None:
    """ "at Everett Mercy": what a note is "at", by capitalised words that are no common ones."""
    match = _AT.match(text, end)
    if match is None or not _telling(match["phi"]):
        return None
    return Found(*match.span("phi"), Label.HOSPITAL, "at", 0.55)


# State codes that are a credential, a unit or a word as well; a comma alone does not make them states.
_AMBIGUOUS = re.compile(
    "MD|PA|DC|MA|MS|ND|MB|NS|PE|ON|OR|IN|ME|HI|OK|AS|CA|MI|DE|CO|NC|AL|ID|LA|MO|PR|AB|SK|NE|MT|MP|VA|WA"
)
_ZIPPED = re.compile(r"[,.]?\s{0,3}\d{5}(?!\d)")
_INITIAL_BEFORE = re.compile(r"\b[A-Z]\.\s?$")


def _place(view: View, index: int, *, coded: bool = False) -> Iterator[Found]:
    text, word, start = view.text, view.words[index], view.starts[index]
    kinds = row_of(word).kinds
    before = text[max(0, start - _BEFORE) : start]
    if kinds & Kind.STATE_CODE and word.isupper() and len(word) == 2:
        zipped = _ZIPPED.match(text, view.ends[index]) is not None
        comma = before.rstrip().endswith(",")
        city = _CITY.search(before) if zipped or comma else None
        if coded and not (zipped and city is not None and _is_believed(city[1], word, "")):
            return  # "interpreter ID 62207"
        if city is not None and not zipped and not _is_believed(city[1], word, before[: city.start()]):
            return
        if city is not None:
            yield Found(start, view.ends[index], Label.STATE, "address", 0.85)
            begin = _behind_functions(city[1]) if city[1].isupper() else 0
            if begin < len(city[1]):
                place = start - len(city[0])
                yield Found(place + begin, place + len(city[1]), Label.CITY, "address", 0.8)
        elif zipped:
            yield Found(start, view.ends[index], Label.STATE, "address", 0.8)
        return
    window = view.words[index : index + 5]
    listed = lexicons.phrases().opening(window, _PLACES)
    if listed is None:
        return
    last, kind = listed
    end = view.ends[index + last - 1]
    if text.count("\n", start, end) or not view.words[index + last - 1][0].isupper():
        return
    if view.words[index + last : index + last + 1] and view.words[index + last].lower() in classes()["not_places"]:
        return
    full = bool(kind & _STATES)
    if full and before.rstrip().endswith(",") and (city := _CITY.search(before)) is not None:
        begin = _behind_functions(city[1]) if city[1].isupper() else 0
        if _telling(city[1][begin:]):
            place = start - len(city[0])
            yield Found(place + begin, place + len(city[1]), Label.CITY, "address", 0.75)
    zipped = full and _ZIPPED.match(text, end) is not None
    preposition = _PREPOSITION.search(before)
    if preposition is None and not zipped:
        return
    if word.isupper() and not full and (row_of(word).lower > 3000 or is_filtered(word)):
        return
    # a sign stands before anything; an eponym is a place behind "in" or before its state only
    strong = preposition is None or preposition[0].strip()[-1:].isalpha()
    if not full and not _stands_for_place(view, index, index + last, strong):
        return
    label = Label.STATE if kind & Kind.STATE else Label.COUNTRY if kind & Kind.COUNTRY else Label.CITY
    yield Found(start, end, label, "address", 0.7 if full else 0.6)


def _is_believed(city: str, code: str, before: str) -> bool:
    """Whether "Ashland, OR" without a ZIP code is a city and a state rather than a name and its credential."""
    if _AMBIGUOUS.fullmatch(code) is None:
        return _telling(city)
    listed = bool(lexicons.phrases().get(city) & Kind.CITY)
    return listed and _INITIAL_BEFORE.search(before) is None


def _stands_for_place(view: View, first: int, stop: int, strong: bool) -> bool:
    """Whether a listed city is no eponym, drug or instrument here."""
    row = row_of(view.words[first])
    after = view.words[stop] if stop < len(view.words) else ""
    if after in ("'", "’") or after.lower() in classes()["eponym_nouns"] or row.kinds & Kind.DRUG:
        return False
    if view.words[first].lower() in classes()["instruments"] and not (after == "," and strong):
        return False
    return strong or not row.kinds & Kind.EPONYM or after == ","


_LIVES = frozenset(
    [
        "lives",
        "live",
        "living",
        "born",
        "raised",
        "resides",
        "residing",
        "moved",
        "native",
        "resident",
        "home",
        "grew",
        "settled",
        "lived",
    ]
)
_REGION = Kind.CITY | Kind.CITY_WORD | _PLACES


def _named_place(view: View, index: int) -> Iterator[Found]:
    """A place of several words, or one that no list has, behind "in", "from" and the like."""
    words, text = view.words, view.text
    first = index + 1
    if text[view.ends[index] : view.starts[first]] not in (" ", "\n"):
        return
    window = words[first : first + 6]
    listed = lexicons.phrases().opening(window, _REGION)
    if listed is not None:
        stop = first + listed[0]
        several = listed[0] > 1 and all(word[0].isupper() or not word[0].isalpha() for word in words[first:stop])
        if several and "\n" not in text[view.starts[first] : view.ends[stop - 1]]:
            kind = listed[1]
            label = Label.STATE if kind & Kind.STATE else Label.COUNTRY if kind & Kind.COUNTRY else Label.CITY
            yield Found(view.starts[first], view.ends[stop - 1], label, "address", 0.62)
            return
    lives = not _LIVES.isdisjoint(word.lower() for word in words[max(0, index - 3) : index])
    if lives and words[first].istitle() and _tells(words[first]) and len(words[first]) > 3:
        last = (
            first + 1
            if words[first + 1 : first + 2] and words[first + 1].istitle() and _tells(words[first + 1])
            else first
        )
        if text[view.ends[first] : view.starts[last]] in ("", " "):
            yield Found(view.starts[first], view.ends[last], Label.CITY, "address", 0.58)
