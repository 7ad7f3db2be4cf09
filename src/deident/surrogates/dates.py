"""Dates move by one number of days per patient, in the format in which they were written.

The number is drawn from the key: between one and five years, forward or back, and
- a multiple of seven, so that "Monday, 3/4" stays a Monday;
- at least a month away from every whole number of years, so that no month, no day and no year stays itself;
- so not the season: whoever knew that the season were kept would have a quarter of the year for nothing.

Two full dates of one patient stay exactly as many days apart. A date of which a part is missing is completed before
it moves: a month stands for its 15th, a year for 2 July, a day and month stand in the year of the document's first
full date. A holiday becomes the one nearest to the moved day, a season the moved season (which may be the same), a
decade another decade. What cannot be read as a date (13/45/2020, 30 February) is changed digit for digit.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import MINYEAR, date, timedelta
from functools import lru_cache

from deident.labels import Label
from deident.surrogates import _shapes
from deident.surrogates._draws import Draw
from deident.surrogates._mentions import Mention, Options

LABELS = frozenset({Label.DATE})

_YEAR = 365.25
SHIFTS: tuple[int, ...] = tuple(
    sign * 7 * weeks
    for weeks in range(53, 261)
    if 31 <= (7 * weeks) % _YEAR <= _YEAR - 31
    for sign in (1, -1)
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Context:
    """What a document's dates tell of each other: whether days come before months, and a full date."""

    day_first: bool = False
    full: date | None = None


def shift_days(draw: Draw) -> int:
    return draw.choice(SHIFTS, "date shift")


def notice(mentions: Sequence[Mention]) -> Context:
    dates = [mention.text for mention in mentions if mention.label is Label.DATE]
    votes = 0
    for text in dates:
        for match in _SLASHED.finditer(text):
            first, second = int(match[1]), int(match[2])
            votes += (12 < first <= 31 and second <= 12) - (12 < second <= 31 and first <= 12)
    day_first = votes > 0
    for text in dates:
        found = read(text, day_first=day_first)
        if found is not None:
            return Context(day_first, found)
    return Context(day_first)


def surrogate(mention: Mention, draw: Draw, context: Context, options: Options) -> str:
    days = options.days if options.days is not None else shift_days(draw)

    def other(text: str) -> str:
        return _shapes.scrambled(text, draw, "date", text)

    return shift(mention.text, days, day_first=context.day_first, full=context.full, other=other)


def _zeros(text: str) -> str:
    return re.sub(r"\w", "0", text)


def shift(
    text: str,
    days: int,
    *,
    day_first: bool = False,
    full: date | None = None,
    other: Callable[[str], str] = _zeros,
) -> str:
    """The text with every date in it moved by `days`; `other` rewrites what cannot be read.

    >>> shift("Mon, Feb. 3rd, 2020", 7)
    'Mon, Feb. 10th, 2020'
    """
    return _Text(text, days, day_first, full, other).moved()


def read(text: str, *, day_first: bool = False) -> date | None:
    """The first full date in the text."""
    seen = _Text(text, 0, day_first, None, _zeros)
    seen.moved()
    return seen.first


# -- words -------------------------------------------------------------------------------------------------------------

# Full names, then abbreviations, by language. An abbreviation is answered by an abbreviation.
_MONTHS: tuple[tuple[str, str], ...] = (
    ("january february march april may june july august september october november december",
     "jan feb mar apr may jun jul aug sep oct nov dec"),
    ("january february march april may june july august september october november december",
     "jan feb mar apr may jun jul aug sept oct nov dec"),
    ("januar februar märz april mai juni juli august september oktober november dezember",
     "jän feb mär apr mai jun jul aug sep okt nov dez"),
    ("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
     "ene feb mar abr may jun jul ago sep oct nov dic"),
    ("janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
     "janv févr mars avr mai juin juil août sept oct nov déc"),
    ("gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
     "gen feb mar apr mag giu lug ago set ott nov dic"),
    ("januari februari maart april mei juni juli augustus september oktober november december",
     "jan febr mrt apr mei jun jul aug sep okt nov dec"),
    ("janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
     "jan fev mar abr mai jun jul ago set out nov dez"),
)  # fmt: skip
_DAYS = (
    "monday tuesday wednesday thursday friday saturday sunday",
    "mon tue wed thu fri sat sun",
    "mon tues wed thurs fri sat sun",
    "mo tu we th fr sa su",
    "m t w th f s su",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "lunes martes miércoles jueves viernes sábado domingo",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
)
_SEASONS = ("winter spring summer fall", "winter spring summer autumn", "midwinter midspring midsummer midfall")
_UNITS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()  # fmt: skip  # noqa: E501
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_FIRST = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth".split()  # fmt: skip  # noqa: E501

# Words that stand in dates and tell nothing.
_INERT = frozenset(
    """the of on at in a an early mid late middle beginning end start to thru through until till til from since by
    about around approximately approx circa ca c between and or & date dated day days night eve morning afternoon
    evening noon midnight am pm a p m h hrs hr hours est edt cst cdt mst mdt pst pdt utc gmt z t week weeks weekend
    month year years last next this prior previous past wk dob dod fy ad ce bc de del le du den der am im vom bis und
    al el il y e s later earlier after before every each today yesterday tomorrow""".split()
)


def _words() -> dict[str, tuple[str, int, int]]:
    """Word → its kind, the row it is in, and its place there."""
    table: dict[str, tuple[str, int, int]] = {}
    for row, (names, short) in enumerate(_MONTHS):
        for place, name in enumerate(names.split()):
            table.setdefault(name, ("M", row * 2, place + 1))
        for place, name in enumerate(short.split()):
            table.setdefault(name, ("M", row * 2 + 1, place + 1))
    for row, names in enumerate(_DAYS):
        for place, name in enumerate(names.split()):
            if len(name) > 2:
                table.setdefault(name, ("W", row, place))
    for row, names in enumerate(_SEASONS):
        for place, name in enumerate(names.split()):
            table.setdefault(name, ("S", row, place))
    for place, word in enumerate(_UNITS):
        table.setdefault(word, ("C", 0, place + 1))
    for place, word in enumerate(_TENS):
        table.setdefault(word, ("C", 0, 20 + 10 * place))
    for word, value in (("hundred", 100), ("thousand", 1000), ("oh", 0)):
        table.setdefault(word, ("C", 0, value))
    for place, word in enumerate(_FIRST):
        table.setdefault(word, ("D", 0, place + 1))
    table["thirtieth"] = ("D", 0, 30)
    for suffix in ("st", "nd", "rd", "th"):
        table[suffix] = ("o", 0, 0)
    table["s"] = ("s", 0, 0)
    for word in ("of", "de", "del"):
        table[word] = ("f", 0, 0)
    table["and"] = ("&", 0, 0)
    for word in _INERT:
        table.setdefault(word, ("i", 0, 0))
    return table


_TABLE = _words()
_LONG_MONTHS = [(word, entry) for word, entry in _TABLE.items() if entry[0] == "M" and len(word) > 4]


def _near(word: str, wanted: str) -> bool:
    """One letter too many, too few, wrong or swapped; two in words of eight letters or more."""
    if abs(len(word) - len(wanted)) > 2 or word[0] != wanted[0]:
        return False
    rows: list[list[int]] = [list(range(len(wanted) + 1))]
    for i, char in enumerate(word, 1):
        row = [i]
        for j, target in enumerate(wanted, 1):
            cost = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (char != target))
            if i > 1 and j > 1 and char == wanted[j - 2] and word[i - 2] == target:
                cost = min(cost, rows[i - 2][j - 2] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1] <= (2 if len(wanted) > 7 else 1)


@lru_cache(maxsize=4096)
def _classify(word: str) -> tuple[str, int, int]:
    """The kind of a word, by the table or by a month that it misspells."""
    lower = word.lower()
    found = _TABLE.get(lower)
    if found is None and len(lower) > 3:
        found = next((entry for name, entry in _LONG_MONTHS if _near(lower, name)), None)
    if found is None and lower[-1] == "s":
        found = _TABLE.get(lower[:-1])
        if found is None or found[0] not in "WS":
            return ("u", 0, 0)
    return found or ("u", 0, 0)


def _month_name(model: str, row: int, month: int) -> str:
    names, short = _MONTHS[row // 2]
    return _shapes.like(model, (short if row % 2 else names).split()[month - 1])


# -- holidays ----------------------------------------------------------------------------------------------------------

# Month and day, of the movable ones about the middle of where they fall.
_HOLIDAYS: tuple[tuple[str, int, int], ...] = (
    ("New Year's Day", 1, 1), ("New Year's Eve", 12, 31), ("New Year's", 1, 1), ("New Years Day", 1, 1),
    ("New Years Eve", 12, 31), ("New Years", 1, 1), ("Martin Luther King Day", 1, 18), ("MLK Day", 1, 18),
    ("Groundhog Day", 2, 2), ("Valentine's Day", 2, 14), ("Valentines Day", 2, 14), ("Valentine's", 2, 14),
    ("Presidents' Day", 2, 18), ("President's Day", 2, 18), ("Presidents Day", 2, 18), ("St. Patrick's Day", 3, 17),
    ("St Patrick's Day", 3, 17), ("Good Friday", 4, 7), ("Easter Sunday", 4, 9), ("Easter", 4, 9), ("Passover", 4, 10),
    ("Mother's Day", 5, 11), ("Mothers Day", 5, 11), ("Memorial Day", 5, 28), ("Juneteenth", 6, 19),
    ("Father's Day", 6, 18), ("Fathers Day", 6, 18), ("Independence Day", 7, 4), ("Labor Day", 9, 4),
    ("Rosh Hashanah", 9, 20), ("Yom Kippur", 9, 29), ("Columbus Day", 10, 11), ("Halloween", 10, 31),
    ("Diwali", 11, 2), ("Veterans Day", 11, 11), ("Veteran's Day", 11, 11), ("Thanksgiving Day", 11, 25),
    ("Thanksgiving", 11, 25), ("Hanukkah", 12, 12), ("Chanukah", 12, 12), ("Christmas Eve", 12, 24),
    ("Christmas Day", 12, 25), ("Christmas", 12, 25), ("Xmas", 12, 25), ("Boxing Day", 12, 26), ("Kwanzaa", 12, 28),
)  # fmt: skip
_HOLIDAY = re.compile(
    r"\b(?:" + "|".join(re.escape(name).replace("'", "['’]") for name, _, _ in _HOLIDAYS) + r")(?!\w)", re.IGNORECASE
)
_HOLIDAY_YEAR = re.compile(r"(?P<between>,? (?:of |in )?)(?P<year>(?:18|19|20|21)\d\d)(?!\d)")
_HOLIDAY_DAYS = {fold: (month, day) for name, month, day in _HOLIDAYS for fold in [_shapes.fold(name)]}
_TARGETS = (
    "New Year's Day", "Groundhog Day", "Valentine's Day", "St. Patrick's Day", "Easter", "Mother's Day",
    "Memorial Day", "Juneteenth", "Independence Day", "Labor Day", "Columbus Day", "Halloween", "Veterans Day",
    "Thanksgiving", "Christmas",
)  # fmt: skip


def _nearest_holiday(day: date, old: tuple[int, int]) -> tuple[str, int]:
    """The name and year of the holiday nearest to a day, that does not fall on what the old one fell on."""
    best: tuple[int, str, int] | None = None
    for name in _TARGETS:
        month, number = _HOLIDAY_DAYS[_shapes.fold(name)]
        if (month, number) == old:
            continue
        for year in (day.year - 1, day.year, day.year + 1):
            away = abs((date(year, month, number) - day).days)
            if best is None or away < best[0]:
                best = (away, name, year)
    assert best is not None
    return best[1], best[2]


# -- reading -----------------------------------------------------------------------------------------------------------

_SLASHED = re.compile(r"(?<!\d)(\d{1,2})[/.-](\d{1,2})(?:[/.-]\d{2}(?:\d\d)?)?(?!\d)")
_TOKEN = re.compile(r"\d+|[^\W\d_]+|\s+|.", re.DOTALL)
_SIGNS = {",": ",", ".": ".", "/": "/", "-": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "−": "-", "'": "'",
          "’": "'", "‘": "'", "`": "'", ":": ":", "&": "&", "+": "+"}  # fmt: skip

# One character stands for one token: 1 one or two digits, 3 three, 4 four, 6, 8, t twelve or fourteen (a timestamp),
# 9 another number; M month, W weekday, S season, o "th", f "of", C D number words, i inert, u unknown, _ white space.
_GAP = r"(?:_|[.,-])"  # between a month's name and a number
_PATTERNS = (
    ("time", r"(?<![1-9/.-])(?:1:1(?::1(?:\.[13469])?)?)(?![/-])"),
    ("stamp", r"[t8](?=i1|i6|[^1-9]|$)|t"),
    ("ymd", r"4(?P<s1>_?[-/.]_?|_)1_?[-/.]?_?1(?![/-]?[1-9])"),
    ("range", r"M_?\.?_?(?:1o?)_?-_?1o?(?:_?,?_?4)?(?!1|-1)|1o?_?-_?1o?(?:_f)?_M\.?(?:_?,?_?4)?|1/1_?-_?1/(?:1|4)(?!/)"),
    ("numeric", r"1_?[-/.,]_?1_?[-/.,]_?[14](?![1-9])|1_1_4|1/1/_?4"),
    ("mdy", r"M\.?[_,.-]{0,3}1o?(?:[_,.-]{1,3}(?:f_)?(?:4|'1)|[-_.,/]{1,2}1(?![/:1-9o])|'1)?(?!:)"),
    ("dmy", r"1o?\.?[_,-]{0,2}(?:f_)?M\.?[_,./-]{0,3}(?:f_)?(?:4|'1|1(?![/:1-9o]))|1o?\.?[_-]{0,2}(?:f_)?M\.?"),
    ("yMd", r"4[_,-]{1,2}M\.?[_-]{1,2}1o?"),
    ("yM", r"4[_-]M\.?"),
    ("words", r"(?:i_)?M_(?:i_)?(?:C[_-])?D(?:[_,]{1,2}(?P<y1>C(?:[_-]{1,2}(?:&_)?C){0,4}|4))?"
              r"|(?:C[_-])?D_(?:f_)?M(?:[_,]{1,2}(?P<y2>C(?:[_-]{1,2}(?:&_)?C){0,4}|4))?"),
    ("wordyear", r"M_(?:f_)?C(?:[_-]{1,2}(?:&_)?C){1,4}"),
    ("My", r"M\.?[_,/-]{0,2}(?:f_)?(?:4|'1)"),
    ("season", r"S(?:[_,]{1,2}(?:f_|i_)?(?:4|'1))?"),
    ("my", r"1_?[-/.]_?4(?![1-9])"),
    ("ym", r"4[/-]1(?![-/1-9])"),
    ("years", r"4[-/]1(?![-/1-9])"),
    ("decade", r"4'?s|'?1'?s"),
    ("y", r"4"),
    ("y2", r"'1"),
    ("md", r"1[/]1(?![/1-9])|1-1(?![-/1-9])"),
    ("eight", r"[68]"),
    ("d", r"1o"),
    ("cy", r"C(?:[_-]{1,2}(?:&_)?C){1,4}"),
    ("ordinal", r"(?:C[_-])?D"),
    ("M", r"M\.?"),
    ("W", r"W"),
    ("lone", r"1"),
    ("bad", r"[3469t]|u|C"),
)  # fmt: skip
_GRAMMAR = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _PATTERNS))
