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
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
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
    """What a document's dates tell of each other.

    day_first: whether days come before months. bare: whether 3 is written 3 and not 03. short: whether months are
    abbreviated, which "May" does not say. full: the first full date of the year of which most dates are.
    """

    day_first: bool = False
    bare: bool = False
    short: bool = False
    full: date | None = None


_PLAIN = Context()


def shift_days(draw: Draw) -> int:
    return draw.choice(SHIFTS, "date shift")


def notice(mentions: Sequence[Mention]) -> Context:
    dates = [mention.text for mention in mentions if mention.label is Label.DATE]
    order = width = length = 0
    years = Counter[int]()
    for text in dates:
        for match in _SLASHED.finditer(text):
            one, two = match[1], match[2]
            first, second = int(one), int(two)
            order += (12 < first <= 31 and second <= 12) - (12 < second <= 31 and first <= 12)
            width += (len(one) == 1 or len(two) == 1) - (one[0] == "0" or two[0] == "0")
        for match in _NAMED.finditer(text):
            length += 1 if len(match[0]) < 5 else -1
        for match in _YEARS.finditer(text):
            years[int(match[1]) if match[1] else _century(int(match[2]))] += 1
    context = Context(order > 0, width > 0, length > 0)
    year = max(years, key=lambda year: (years[year], year), default=0)
    for text in dates:
        if str(year) in text or f"{year % 100:02d}" in text:
            found = read(text, context=context)
            if found is not None and found.year == year:
                return replace(context, full=found)
    return context


def surrogate(mention: Mention, draw: Draw, context: Context, options: Options) -> str:
    days = options.days if options.days is not None else shift_days(draw)

    def other(text: str) -> str:
        return _shapes.scrambled(text, draw, "date", text)

    if _JULY.fullmatch(mention.text) and mention.before.rstrip().lower().endswith("the"):  # and not "the Christmas"
        day, _, month = shift("4th July", days, context=context).partition(" ")
        return _shapes.like(mention.text, f"{day} of {month}") if mention.text[:1].isalpha() else f"{day} of {month}"
    if _is_feast(mention.text):
        return _shapes.like(mention.text, draw.choice(_TARGETS, "feast", _shapes.fold(mention.text)))
    return shift(mention.text, days, context=context, other=other)


def _zeros(text: str) -> str:
    return re.sub(r"\w", "0", text)


def shift(
    text: str,
    days: int,
    *,
    context: Context | None = None,
    other: Callable[[str], str] = _zeros,
) -> str:
    """The text with every date in it moved by `days`; `other` rewrites what cannot be read.

    >>> shift("Mon, Feb. 3rd, 2020", 7)
    'Mon, Feb. 10th, 2020'
    """
    context = context or _PLAIN
    stamp = _STAMPED.fullmatch(text)
    if stamp is not None:  # day, time and zone, month, year, as soldiers write
        day, month = shift(f"{stamp[1]}{stamp[3]}{stamp[4]}", days, context=context, other=other), len(stamp[3])
        return f"{day[:2]}{stamp[2]}{day[2 : 2 + month]}{day[2 + month :]}"
    return _shapes.wrapped(text, _Text(_unscanned(text), days, context, other).moved())


def read(text: str, *, context: Context | None = None) -> date | None:
    """The first full date in the text."""
    seen = _Text(_unscanned(text), 0, context or _PLAIN, _zeros)
    seen.moved()
    return seen.first


@lru_cache(maxsize=1 << 14)
def years(text: str) -> tuple[tuple[int, int], ...]:
    """The years that are written in the text, in order, each with its last: a decade has ten.

    >>> years("12/30/98 - 1/2/99, or the 1980s")
    ((1998, 1998), (1999, 1999), (1980, 1989))
    """
    stamp = _STAMPED.fullmatch(text)
    seen = _Text(_unscanned(text if stamp is None else stamp[1] + stamp[3] + stamp[4]), 0, _PLAIN, _zeros)
    seen.moved()
    return tuple(seen.years)


_STAMPED = re.compile(r"(\d\d)(\d{4}[A-Z])([A-Z]{3})(\d\d|\d{4})", re.ASCII)
_LONE_LETTER = re.compile(r"(?<![^\W\d_])[lIO]{1,2}(?=\s?/)")
_MIXED = re.compile(r"(?<![^\W_])(?=[a-zA-Z]{0,11}[01])[a-zA-Z01]{3,12}(?![^\W_])")
_BROKEN = re.compile(r"([^\W\d_]{2,9})[-‐]\s{0,20}\n\s{0,40}([^\W\d_]{2,9})")


def _unscanned(text: str) -> str:
    """ "l0/O2/28", "0ct0ber" and "Janu-\\nary" as they were meant."""
    if text.isdecimal() or text.isalpha():
        return text
    if any(map(str.isalpha, text)):
        text = _LONE_LETTER.sub(lambda match: match[0].translate(_DIGITS), _shapes.digits_read(text))
        text = _MIXED.sub(_word_meant, text)
    return _BROKEN.sub(_unbroken, text) if "\n" in text else text


def _word_meant(match: re.Match[str]) -> str:
    word = match[0].translate(_LETTERS)
    known = _classify(word)[0] in "MWS" or _shapes.fold(word) in _HOLIDAY_DAYS
    return _shapes.like(match[0], word.lower()) if known else match[0]


def _unbroken(match: re.Match[str]) -> str:
    word = match[1] + match[2]
    return word if _classify(word)[0] in "M" else match[0]


def _is_feast(text: str) -> bool:
    """A holiday of which nothing is known: words only, and no month, weekday or season among them."""
    if any(map(str.isnumeric, text)) or not any(len(word) > 3 for word in text.split()):
        return False
    kinds = {_Text.kind(token) for token in _TOKEN.findall(_unscanned(text))}
    return "u" in kinds and kinds <= _NAMELESS and not _HOLIDAY.search(text) and not _WEEKLY.fullmatch(text)


_NAMELESS = frozenset("ui_,.-'sfo&x")


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
_DAYS: tuple[str, ...] = (
    "monday tuesday wednesday thursday friday saturday sunday",
    "mon tue wed thu fri sat sun",
    "mon tues wed thurs fri sat sun",
    "mo tu we th fr sa su",
    "m t w th f s su",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "lunes martes miércoles jueves viernes sábado domingo",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
)
_DECADES = _shapes.listed("twenties thirties forties fifties sixties seventies eighties nineties")
_SEASONS = (
    "winter spring summer fall", "winter spring summer autumn", "midwinter midspring midsummer midfall",
    "wintertime springtime summertime autumn",
)  # fmt: skip
_UNITS = _shapes.listed("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")  # fmt: skip  # noqa: E501
_TENS = _shapes.listed("twenty thirty forty fifty sixty seventy eighty ninety")
_FIRST = _shapes.listed("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth")  # fmt: skip  # noqa: E501

# Words that stand in dates and tell nothing.
_INERT = frozenset(
    _shapes.listed(
        """the of on at in a an early mid late middle beginning end start to thru through until till til from
        since by about around approximately approx circa ca c between and or & date dated day days
        night eve morning afternoon evening noon midnight am pm a p m h hrs hr hours est edt cst cdt
        mst mdt pst pdt utc gmt z t week weeks weekend month year years last next this prior
        previous past wk dob dod fy ad ce bc de del le du den der am im vom bis und al el il y e s
        later earlier after before every each today yesterday tomorrow following break holiday holidays season time"""
    )
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
            if len(name) > 2 or name in ("mo", "tu", "we", "fr", "sa", "su"):  # "th" ends numbers
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
    for place, word in enumerate(_DECADES):
        table.setdefault(word, ("T", 0, 20 + 10 * place))
    table["thirtieth"] = ("D", 0, 30)
    table["q"] = ("q", 0, 0)
    for suffix in ("st", "nd", "rd", "th", "er"):
        table[suffix] = ("o", 0, 0)
    table["s"] = ("s", 0, 0)
    for word in ("of", "de", "del"):
        table[word] = ("f", 0, 0)
    table["and"] = ("&", 0, 0)
    for word in _INERT:
        table.setdefault(word, ("i", 0, 0))
    return table


_TABLE = _words()
_MISSPELT = [
    (word, entry)
    for word, entry in _TABLE.items()
    if (entry[0] == "M" and len(word) > 3) or (entry[0] == "W" and len(word) > 5)
]


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
    """The kind of a word, by the table or by a month or weekday that it misspells."""
    lower = word.lower()
    found = _TABLE.get(lower)
    if found is None and len(lower) > 3:
        found = next((entry for name, entry in _MISSPELT if _near(lower, name)), None)
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
    ("Fourth of July", 7, 4), ("4th of July", 7, 4), ("July Fourth", 7, 4),
    ("Epiphany", 1, 6), ("Chinese New Year", 2, 5), ("Lunar New Year", 2, 5), ("Tet", 2, 5),
    ("Super Bowl Sunday", 2, 5), ("Super Bowl", 2, 5), ("Mardi Gras", 2, 25), ("Fat Tuesday", 2, 25),
    ("Ash Wednesday", 2, 26), ("Lent", 3, 8),
    ("Purim", 3, 14), ("St. Paddy's Day", 3, 17), ("St. Patty's Day", 3, 17), ("Saint Patrick's Day", 3, 17),
    ("Palm Sunday", 4, 2), ("Easter Monday", 4, 10), ("April Fools Day", 4, 1), ("April Fool's Day", 4, 1),
    ("Earth Day", 4, 22), ("Nowruz", 3, 20), ("Cinco de Mayo", 5, 5), ("May Day", 5, 1), ("Pentecost", 5, 28),
    ("Victoria Day", 5, 21), ("Shavuot", 5, 30), ("Flag Day", 6, 14), ("Canada Day", 7, 1), ("Bastille Day", 7, 14),
    ("Ramadan", 4, 1), ("Eid al-Fitr", 5, 1), ("Eid al-Adha", 7, 8), ("Eid", 5, 1), ("Sukkot", 10, 5),
    ("Simchat Torah", 10, 12), ("Indigenous Peoples' Day", 10, 11), ("Indigenous Peoples Day", 10, 11),
    ("Oktoberfest", 9, 25), ("All Saints' Day", 11, 1), ("All Saints Day", 11, 1), ("All Souls' Day", 11, 2),
    ("Dia de los Muertos", 11, 1), ("Day of the Dead", 11, 1), ("Remembrance Day", 11, 11), ("Election Day", 11, 5),
    ("Black Friday", 11, 26), ("Thanksgiving Eve", 11, 24), ("Advent", 12, 5), ("Boxing Day", 12, 26),
    ("Diwali", 11, 2), ("Veterans Day", 11, 11), ("Veteran's Day", 11, 11), ("Thanksgiving Day", 11, 25),
    ("Turkey Day", 11, 25), ("Thanksgiving", 11, 25), ("Hanukkah", 12, 12), ("Chanukah", 12, 12),
    ("Christmas Eve", 12, 24), ("Christmas Day", 12, 25), ("Christmas", 12, 25), ("Xmas", 12, 25), ("X-mas", 12, 25),
    ("Kwanzaa", 12, 28), ("New Year", 1, 1), ("Holy Week", 4, 5), ("Nochebuena", 12, 24), ("All Saints", 11, 1),
    ("Mem. Day", 5, 28), ("Mem Day", 5, 28), ("Xmas Eve", 12, 24),
)  # fmt: skip
_HOLIDAY = re.compile(
    r"\b(?:"
    + "|".join(
        re.escape(name).replace("'", "['’]").replace("\\ ", r"\s{1,20}")
        for name, _, _ in sorted(_HOLIDAYS, key=lambda holiday: -len(holiday[0]))
    )
    + r")(?!\w)",
    re.IGNORECASE,
)
_HOLIDAY_YEAR = re.compile(
    r"(?P<between>,?\s{1,20}(?:(?:of|in)\s{1,20})?)(?:(?P<year>(?:18|19|20|21)\d\d)|(?P<short>['’]\d\d))(?!\d)",
    re.ASCII,
)
_JULY = re.compile(r"(?:fourth|4th)\s{1,20}of\s{1,20}july|july\s{1,20}fourth", re.IGNORECASE)
_HOLIDAY_DAYS = {fold: (month, day) for name, month, day in _HOLIDAYS for fold in [_shapes.fold(name)]}
_TARGETS = (
    "New Year's", "Martin Luther King Day", "Valentine's Day", "Presidents' Day", "St. Patrick's Day", "Easter",
    "Mother's Day", "Memorial Day", "Father's Day", "Fourth of July", "Labor Day", "Columbus Day", "Halloween",
    "Veterans Day", "Thanksgiving", "Christmas",
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

_SLASHED = re.compile(r"(?<!\d)(\d{1,2})[/.-](\d{1,2})(?:[/.-]\d{2}(?:\d\d)?)?(?!\d)", re.ASCII)
_YEARS = re.compile(r"(?<!\d)((?:19|20)\d\d)(?!\d)|(?:\d[/.-]|['’])(\d\d)(?![\d/.-])", re.ASCII)
_NAMED = re.compile(
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|march|mar|april|apr|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"\d+|[^\W\d_]+|\s+|.", re.DOTALL)
_SIGNS = {",": ",", ".": ".", "/": "/", "-": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "−": "-", "'": "'",
          "’": "'", "‘": "'", "`": "'", ":": ":", "&": "&", "+": "+"}  # fmt: skip

# One character stands for one token: 1 one or two digits, 3 three, 4 four, 6, 8, t twelve or fourteen (a timestamp),
# 9 another number; M month, W weekday, S season, T decade, o "th", s, f "of", C and D number words, i inert, u unknown,
# _ white space, x any other sign.
_LENGTHS = {1: "1", 2: "1", 3: "3", 4: "4", 6: "6", 8: "8", 12: "t", 14: "t"}
_SAID = r"C(?:[_-]{1,2}(?:&_)?C){0,4}"  # a number in words
_PATTERNS = (
    ("clock", r"(?<=[148])i(?:6|4|1(?::1){0,2})(?:\.[13469])?|1:1(?::1(?:\.[13469])?)?|1_?(?=i(?:\.i)?(?<=h))"),
    ("stamp", r"t(?:\.[134])?(?:[+-]4)?"),
    ("range", r"M\.?_?1o?_?-_?1o?(?:,?_4)?(?![-/:1-9])|1o?_?-_?1o?_(?:f_)?M\.?(?:,?_4)?|1/1_?-_?1/4(?!/)"),
    ("numeric", r"4_?[-/.]_?1_?[-/.]_?1(?![/1-9])|1_?(?P<sign>[-/.,])_?1_?(?P=sign)_?[14](?![/1-9])"
                r"|1[-/.,]_?1[-/.,]_?4|1_1_4|4_1_1"),
    ("named", r"M/1/[14]|M\.?[_,.-]{0,3}1o?(?:[_,.-]{1,3}(?:f_)?(?:4|'1)|[-_.,/]{1,2}1(?![/:1-9o])|'1)(?!:)"
              r"|1o?\.?[_,-]{0,2}(?:f_)?M\.?[_,./-]{0,3}(?:f_)?(?:4|'1|1(?![/:1-9o]))"
              r"|4[_,-]{1,2}M\.?[_-]{1,2}1o?"),
    ("nameday", r"M\.?[_,.-]{0,3}1o?(?!:)|1o?\.?[_-]{0,2}(?:f_)?M\.?"),
    ("said", rf"M_(?:i_)?(?:C[_-])?D(?:[_,]{{1,2}}(?:{_SAID}|4))?|(?:C[_-])?D_(?:f_)?M(?:[_,]{{1,2}}(?:{_SAID}|4))?"),
    ("nameyear", rf"M\.?[_,/-]{{0,2}}(?:f_)?(?:4|'1|{_SAID})|4[_,-]{{1,2}}M\.?"),
    ("quarter", r"q1(?:_?(?:4|'1))?"),
    ("season", r"S(?:[_,]{1,2}(?:f_|i_)?(?:4|'1))?"),
    ("monthyear", r"1_?[-/.]_?4(?![1-9])|4[-/.]1(?![-/1-9])|(?<![1-9ot._-])1_4(?![-_1-9])"),
    ("decade", r"4'?s|'?1'?s|T"),
    ("year", r"4|'1"),
    ("monthday", r"1_?[/.-]_?1(?![/1-9])"),
    ("compact", r"[68]"),
    ("saidyear", r"C(?:[_-]{1,2}(?:&_)?C){1,4}"),
    ("saidday", r"(?:C[_-])?D"),
    ("month", r"M"),
    ("weekday", r"W"),
    ("lone", r"1o?"),
    ("bad", r"[39u]"),
)  # fmt: skip
_GRAMMAR = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _PATTERNS))
_WEEKLY = re.compile(r"(?:(?:M|Mo|Tu|Th|T|W|We|F|Fr|Sa|Su|S)[/,&\s-]*){1,7}", re.IGNORECASE)
_DIGITS = str.maketrans("lIO", "110")
_LETTERS = str.maketrans("01", "ol")
_COMPLETE = frozenset({"stamp", "numeric", "named", "nameyear", "quarter", "season", "monthyear", "decade", "compact",
                       "saidyear", "weekday"})  # fmt: skip
_FULL_WITH_YEAR = frozenset({"range", "said"})
_DEFAULT_YEAR = 2021


def _century(two: int) -> int:
    return two + (2000 if two < 40 else 1900)


def _valid(year: int, month: int, day: int) -> date | None:
    if not (1800 <= year <= 2199 and 1 <= month <= 12 and 1 <= day <= 31):
        return None
    try:
        return date(year, month, day)
    except ValueError:
        return None


_NUMBERS = ("1", "4")
_JOINED = frozenset({"1-", "1/", "4-", "4/"})


class _UnreadableError(Exception):
    """This match is no date."""


class _Text:
    """One text on its way: its tokens, which are rewritten in place, and their kinds."""

    def __init__(self, text: str, days: int, context: Context, other: Callable[[str], str]) -> None:
        self.text = text
        self.delta = timedelta(days)
        self.days = days
        self.context = context
        self.day_first = context.day_first
        self.known = context.full
        self.other = other
        self.first: date | None = None
        self.day: date | None = None  # the last day in this text that has a month
        self.year: int | None = None
        self.years: list[tuple[int, int]] = []  # that were written, and not only understood
        self.tokens = _TOKEN.findall(text)
        self.kinds = "".join(map(self.kind, self.tokens))

    @staticmethod
    def kind(token: str) -> str:
        char = token[0]
        if char.isdecimal():
            return _LENGTHS.get(len(token), "9")
        if char.isspace():
            return "_"
        if char.isalpha():
            return _classify(token)[0]
        return _SIGNS.get(char, "9" if char.isnumeric() else "x")

    def moved(self) -> str:
        if "u" in self.kinds or _JULY.search(self.text):
            holiday = _HOLIDAY.search(self.text)
            if holiday is not None:
                return self._around(holiday)
            if _WEEKLY.fullmatch(self.text):
                return self.text
        later: list[tuple[str, range]] = []
        for match in _GRAMMAR.finditer(self.kinds):
            name, span = match.lastgroup or "", range(*match.span())
            if name == "clock":
                continue
            if name in _COMPLETE or (name in _FULL_WITH_YEAR and "4" in match[0]):
                self._rewrite(name, span)
            else:
                later.append((name, span))
        for name, span in later:
            self._rewrite(name, span)
        return "".join(self.tokens)

    def _around(self, holiday: re.Match[str]) -> str:
        """What stands before and after a holiday moves as ever; a year behind it goes with it."""
        month, day = _HOLIDAY_DAYS[_shapes.fold(holiday[0])]
        end = holiday.end()
        follows = _HOLIDAY_YEAR.match(self.text, end)
        if follows:
            old = int(follows["year"]) if follows["year"] else _century(int(follows["short"][1:]))
        else:
            old = self._reference(month, day).year
        name, year = _nearest_holiday(date(old, month, day) + self.delta, (month, day))
        blank = next((char for char in holiday[0] if char.isspace() and char != " "), "")
        if blank and " " in name:  # it went over the end of a line
            name = name.replace(" ", blank, 1)
        name = _shapes.like(holiday[0], name)
        if follows:
            short = follows["short"]
            name += follows["between"] + (f"{short[0]}{year % 100:02d}" if short else str(year))
            end = follows.end()
            self.years.append((old, old))
        beside = [
            _Text(part, self.days, self.context, self.other) for part in (self.text[: holiday.start()], self.text[end:])
        ]
        before, after = (text.moved() for text in beside)
        self.years += [year for text in beside for year in text.years]
        return before + name + after

    def _rewrite(self, name: str, span: range) -> None:
        try:
            getattr(self, f"_{name}")(span)
        except _UnreadableError:
            self._change(span)

    def _change(self, span: range) -> None:
        """No date: months move, numbers and unknown words are changed sign for sign."""
        for place in span:
            kind = self.kinds[place]
            if kind == "M":
                self._month(range(place, place + 1))
            elif kind in "13468t9uCD":
                self.tokens[place] = self.other(self.tokens[place])

    # what stands where

    def _places(self, span: range, kinds: str) -> list[int]:
        return [place for place in span if self.kinds[place] in kinds]

    def _entry(self, place: int) -> tuple[int, int]:
        _, row, value = _classify(self.tokens[place])
        return row, value

    def _move(self, year: int, month: int, day: int, *, full: bool = False) -> date:
        old = _valid(year, month, day)
        if old is None:
            raise _UnreadableError
        if full:
            self.day = old
            self.first = self.first or old
        if self.year is None:
            self.year = year
        return old + self.delta

    def _reference(self, month: int, day: int) -> date:
        """The day in the year that this text, else the document, speaks of."""
        if self.first is not None:
            year = self.first.year
        elif self.year is not None:
            year = self.year
        else:
            year = self.known.year if self.known else _DEFAULT_YEAR
        found = _valid(year, month, day) or _valid(2020, month, day)
        if found is None:
            raise _UnreadableError
        self.day = found
        return found

    def _number(self, place: int) -> int:
        return int(self.tokens[place])

    def _read_year(self, place: int) -> int:
        value = self._number(place)
        return _century(value) if self.kinds[place] == "1" else value

    # writing

    def _put(self, place: int, value: int, *, padded: bool = False) -> None:
        model = self.tokens[place]
        made = f"{value:02d}" if padded else str(value)
        if not model.isascii():
            made = "".join(_shapes.digit(model[0], int(char)) for char in made)
        self.tokens[place] = made

    def _put_year(self, place: int, year: int) -> None:
        self.years.append((year, year))
        self._put(place, year % 100 if self.kinds[place] == "1" else year, padded=True)

    def _put_day(self, place: int, day: int) -> None:
        """A day beside a month's name, and the "th" behind it."""
        model = self.tokens[place]
        behind, ahead = self.kinds[max(place - 2, 0) : place], self.kinds[place + 1 : place + 3]
        glued = behind[-1:] == "M" or behind == "M-" or ahead[:1] == "M" or ahead == "-M"
        self._put(place, day, padded=model[0] == "0" or (len(model) == 2 and glued and "o" not in self.kinds))
        if self.kinds[place + 1 : place + 2] == "o":
            old = self.tokens[place + 1]
            french = old.lower() == "er"  # "1er janvier" is the only such day
            self.tokens[place + 1] = _shapes.like(old, ("er" if day == 1 else "") if french else _suffix(day))

    def _put_month(self, place: int, month: int) -> None:
        old, row = self.tokens[place], self._entry(place)[0]
        if row == 0 and old.lower() == "may" and (self.context.short or self._is_glued(place)):
            row = 1
        self.tokens[place] = _month_name(old, row, month)
        if row in (1, 3) and month == 5 and self.tokens[place + 1 : place + 2] == ["."]:
            self.tokens[place + 1] = ""  # "Dec. 2" and "May 2"

    def _is_glued(self, place: int) -> bool:
        """Whether a month stands in "04-MAY-1997" or "04MAY1997", where it is abbreviated."""
        behind, ahead = self.kinds[max(place - 2, 0) : place], self.kinds[place + 1 : place + 3]
        return behind[-1:] in _NUMBERS or ahead[:1] in _NUMBERS or behind in _JOINED or ahead[::-1] in _JOINED

    def _put_numbers(self, fields: Sequence[tuple[int, int]]) -> None:
        """Months and days in digits. Of 12/14 nobody can tell whether 3 is to be 3 or 03; the width is kept then."""
        models = [self.tokens[place] for place, _ in fields]
        bare = any(len(model) == 1 for model in models) and not any(model[0] == "0" for model in models)
        first = fields[0][0]
        led = self.kinds[max(first - 2, 0) : first - 1] == "4"  # 2022-10-28, which is never written bare
        bare = bare or (self.context.bare and not led and not any(model[0] == "0" for model in models))
        for (place, value), model in zip(fields, models, strict=True):
            self._put(place, value, padded=len(model) == 2 and (model[0] == "0" or not bare))

    # the kinds of dates, by the names of the grammar

    def _bad(self, span: range) -> None:
        self._change(span)

    def _stamp(self, span: range) -> None:
        text = self.tokens[span.start]
        new = self._move(int(text[:4]), int(text[4:6]), int(text[6:8]), full=True)
        self.years.append((new.year, new.year))
        self.tokens[span.start] = f"{new:%Y%m%d}{text[8:]}"

    def _numeric(self, span: range) -> None:
        a, b, c = self._places(span, "14")
        first, second = self._number(a), self._number(b)
        if self.kinds[a] != "4" and len(self.tokens[c]) == 1 and len(self.tokens[a]) == 1:
            raise _UnreadableError  # 1/2/3 has no year
        if self.kinds[c] == "4" and second == 0:  # 00/00/1962, 5/00/1962
            new = self._move(self._number(c), first or 7, 15 if first else 2)
            if first:
                self._put(a, new.month, padded=len(self.tokens[a]) == 2)
            self._put_year(c, new.year)
            return
        if self.kinds[a] == "4" or first > 31:
            year, month, day = (a, b, c) if second <= 12 else (a, c, b)
        elif first > 12 or (self.day_first and second <= 12):
            day, month, year = a, b, c
        else:
            month, day, year = a, b, c
        new = self._move(self._read_year(year), self._number(month), self._number(day), full=True)
        self._put_year(year, new.year)
        self._put_numbers([(month, new.month), (day, new.day)])

    def _compact(self, span: range) -> None:
        text = self.tokens[span.start]
        if not text.isascii():
            raise _UnreadableError
        orders = ("dmy", "mdy", "ymd") if self.day_first else ("mdy", "ymd", "dmy")
        if len(text) == 8:
            orders = ("ymd", *(order for order in orders if order != "ymd"))
        elif int(text[:2]) in (19, 20) and 1 <= int(text[4:]) <= 12:  # 202103, which no other order can be
            new = self._move(int(text[:4]), int(text[4:]), 15)
            self.years.append((new.year, new.year))
            self.tokens[span.start] = f"{new:%Y%m}"
            return
        for order in orders:
            lengths = [len(text) - 4 if field == "y" else 2 for field in order]
            ends = [sum(lengths[: place + 1]) for place in range(3)]
            values = {
                field: int(text[stop - length : stop]) for field, stop, length in zip(order, ends, lengths, strict=True)
            }
            year = values["y"] if len(text) == 8 else _century(values["y"])
            if _valid(year, values["m"], values["d"]) is None:
                continue
            new = self._move(year, values["m"], values["d"], full=True)
            self.years.append((new.year, new.year))
            parts = {"y": f"{new.year % 10 ** (len(text) - 4):02d}", "m": f"{new.month:02d}", "d": f"{new.day:02d}"}
            self.tokens[span.start] = "".join(parts[field] for field in order)
            return
        raise _UnreadableError

    def _named(self, span: range) -> None:
        month = self._places(span, "M")[0]
        numbers = self._places(span, "14")
        if self.kinds[numbers[0]] == "4":
            numbers.reverse()
        day, year = numbers
        if self._number(day) > 31 and self.kinds[year] == "1":  # 91-Mar-04
            day, year = year, day
        new = self._move(self._read_year(year), self._entry(month)[1], self._number(day), full=True)
        self._put_month(month, new.month)
        self._put_day(day, new.day)
        self._put_year(year, new.year)

    def _nameday(self, span: range) -> None:
        month, day = self._places(span, "M")[0], self._places(span, "1")[0]
        if self._number(day) > 31:
            self._nameyear(span)
            return
        new = self._reference(self._entry(month)[1], self._number(day)) + self.delta
        self._put_month(month, new.month)
        self._put_day(day, new.day)

    def _nameyear(self, span: range) -> None:
        month = self._places(span, "M")[0]
        said = self._places(span, "C")
        if said:
            new = self._move(self._said_value(said), self._entry(month)[1], 15)
            self._put_said_year(said, new.year)
        else:
            year = self._places(span, "14")[0]
            new = self._move(self._read_year(year), self._entry(month)[1], 15)
            self._put_year(year, new.year)
        self._put_month(month, new.month)

    def _range(self, span: range) -> None:
        names = self._places(span, "M")
        numbers = self._places(span, "1")
        years = self._places(span, "4")
        if names:
            one, two = numbers
            month = self._entry(names[0])[1]
        else:
            one, two = numbers[1:]
            month = self._number(numbers[0])
        days = self._number(one), self._number(two)
        if years:
            old = [_valid(self._number(years[0]), month, day) for day in days]
        else:
            old = [self._reference(month, day) for day in days]
        if old[0] is None or old[1] is None or days[0] > days[1]:
            raise _UnreadableError
        if years and self.first is None:
            self.first = old[0]
        new, last = old[0] + self.delta, old[1] + self.delta
        parted = new.year != last.year and bool(years)
        if not names:
            separator = self.tokens[numbers[0] + 1]
            self._put_numbers([(numbers[0], new.month), (one, new.day), (two, last.day)])
            if parted:
                self.tokens[one] += f"{separator}{new.year}"
            if new.month != last.month:
                self.tokens[two] = f"{last.month}{separator}{self.tokens[two]}"
        else:
            name, row = self.tokens[names[0]], self._entry(names[0])[0]
            leads = names[0] < one
            self._put_day(one, new.day)
            self._put_day(two, last.day)
            self._put_month(names[0], (new if leads else last).month)
            after = one + (self.kinds[one + 1] == "o")
            if new.month != last.month and leads:
                self.tokens[two] = f"{_month_name(name, row, last.month)} {self.tokens[two]}"
            elif new.month != last.month:
                self.tokens[after] += f" {_month_name(name, row, new.month)}"
            if parted:
                self.tokens[after] += f", {new.year}" if leads else f" {new.year}"
        if years:
            self._put_year(years[0], last.year)

    def _monthyear(self, span: range) -> None:
        year, month = self._places(span, "4")[0], self._places(span, "1")[0]
        if year < month and self._number(month) > 12:  # 2019-20
            one = self._move(self._number(year), 7, 2).year
            two = self._move(self._number(year) // 100 * 100 + self._number(month), 7, 2).year
            self._put_year(year, one)
            self._put(month, two % 100, padded=True)
            self.years.append((two, two))
            return
        new = self._move(self._number(year), self._number(month), 15)
        self._put(month, new.month, padded=len(self.tokens[month]) == 2)
        self._put_year(year, new.year)

    def _monthday(self, span: range) -> None:
        a, b = self._places(span, "1")
        first, second = self._number(a), self._number(b)
        if second > 31 and first <= 12:  # 7/91
            new = self._move(_century(second), first, 15)
            self._put(a, new.month, padded=len(self.tokens[a]) == 2)
            self._put_year(b, new.year)
            return
        month, day = (b, a) if first > 12 or (self.day_first and second <= 12) else (a, b)
        new = self._reference(self._number(month), self._number(day)) + self.delta
        self._put_numbers([(month, new.month), (day, new.day)])

    def _year(self, span: range) -> None:
        place = span.stop - 1
        value = self._read_year(place)
        if not 1800 <= value <= 2199:
            clock = self.first is not None and value // 100 < 24 and value % 100 < 60
            if not clock:  # 1430 behind a full date is a time of day
                raise _UnreadableError
            return
        self._put_year(place, self._move(value, 7, 2).year)

    def _decade(self, span: range) -> None:
        place = self._places(span, "14T")[0]
        said = self.kinds[place] == "T"
        if said:
            value = 1900 + self._entry(place)[1]
        else:
            value = self._read_year(place) if self.kinds[place] == "4" else 1900 + self._number(place)
        if value % 10 or not 1800 <= value <= 2190:
            raise _UnreadableError
        new = (date(value + 5, 1, 1) + self.delta).year // 10 * 10
        if new == value and self.days:
            new += 10 if self.days > 0 else -10
        if said:
            if not 1920 <= new <= 1990:  # the decades of this century have no names that all would understand
                new = value - 10 if new > value else value + 10
            self.tokens[place] = _shapes.like(self.tokens[place], _DECADES[(new - 1920) // 10])
        else:
            self._put(place, new % 100 if self.kinds[place] == "1" else new, padded=True)
        self.years.append((new, new + 9))

    def _quarter(self, span: range) -> None:
        number, *years = self._places(span, "14")
        if not 1 <= self._number(number) <= 4:
            raise _UnreadableError
        month = 3 * self._number(number) - 1
        if years:
            new = self._move(self._read_year(years[0]), month, 15)
            self._put_year(years[0], new.year)
        else:
            new = self._reference(month, 15) + self.delta
        quarter = (new.month + 2) // 3
        if not years and quarter == self._number(number):
            quarter = quarter % 4 + 1
        self._put(number, quarter)

    def _season(self, span: range) -> None:
        place = span.start
        row, season = self._entry(place)
        years = self._places(span, "14")
        month = (1, 4, 7, 10)[season]
        if years:
            new = self._move(self._read_year(years[0]), month, 15)
            self._put_year(years[0], new.year)
        else:
            new = self._reference(month, 15) + self.delta
        name = _SEASONS[row].split()[new.month % 12 // 3]
        plural = "s" if self.tokens[place].lower() not in _TABLE else ""
        self.tokens[place] = _shapes.like(self.tokens[place], name + plural)

    def _month(self, span: range) -> None:
        new = self._reference(self._entry(span.start)[1], 15) + self.delta
        self._put_month(span.start, new.month)

    def _weekday(self, span: range) -> None:
        if self.days % 7 == 0:
            return
        model = self.tokens[span.start]
        row, place = self._entry(span.start)
        names = _DAYS[row].split()
        plural = "s" if model.lower() not in names else ""
        self.tokens[span.start] = _shapes.like(model, names[(place + self.days) % 7] + plural)

    def _lone(self, span: range) -> None:
        """A day of the month that the document speaks of, or a year of two digits."""
        value = self._number(span.start)
        if value > 31 or value == 0 or (span.start and self.tokens[span.start - 1].lower() == "fy"):
            self._put_year(span.start, self._move(_century(value), 7, 2).year)
            return
        self._put_day(span.start, self._lone_day(value))

    def _lone_day(self, value: int) -> int:
        full = self.day or self.first or self.known or date(_DEFAULT_YEAR, 1, 1)
        new = ((_valid(full.year, full.month, value) or date(_DEFAULT_YEAR, 1, value)) + self.delta).day
        return new if new != value or not self.days else value % 28 + 1

    # dates in words

    def _said_value(self, places: Sequence[int]) -> int:
        values = [self._entry(place)[1] for place in places]
        if 1000 in values:
            return values[0] * 1000 + sum(value for value in values[1:] if value != 1000)
        return values[0] * 100 + sum(value for value in values[1:] if value != 100)

    def _put_said_year(self, places: Sequence[int], year: int) -> None:
        if not 1800 <= year <= 2199:
            raise _UnreadableError
        self.years.append((year, year))
        start, end = places[0], places[-1] + 1
        model = "".join(self.tokens[start:end])
        dash = "-" if "-" in model or " " not in model else " "
        high, low = divmod(year, 100)
        if high == 20 and (low < 10 or "thousand" in model.lower()):
            joint = " and " if "&" in self.kinds[start:end] else " "
            made = "two thousand" + (joint + _cardinal(low, dash) if low else "")
        elif low == 0:
            made = f"{_cardinal(high, dash)} hundred"
        else:
            made = f"{_cardinal(high, dash)} {'oh ' if low < 10 else ''}{_cardinal(low, dash)}"
        self.tokens[start:end] = [_shapes.like(model, made), *[""] * (end - start - 1)]

    def _said_day(self, places: Sequence[int]) -> int:
        return sum(self._entry(place)[1] for place in places)

    def _put_said_day(self, places: Sequence[int], day: int) -> None:
        start, end = places[0], places[-1] + 1
        model = "".join(self.tokens[start:end])
        dash = " " if " " in model else "-"
        self.tokens[start:end] = [_shapes.like(model, _ordinal(day, dash)), *[""] * (end - start - 1)]

    def _said(self, span: range) -> None:
        month = self._places(span, "M")[0]
        ordinal = self._places(span, "D")[0]
        tens = ordinal > span.start + 1 and self.kinds[ordinal - 2] == "C" and self.kinds[ordinal - 1] in "_-"
        days = [ordinal - 2, ordinal] if tens else [ordinal]
        years = [place for place in self._places(span, "C4") if place not in days]
        number, day = self._entry(month)[1], self._said_day(days)
        if years:
            digits = self.kinds[years[0]] == "4"
            year = self._number(years[0]) if digits else self._said_value(years)
            new = self._move(year, number, day, full=True)
            if digits:
                self._put_year(years[0], new.year)
            else:
                self._put_said_year(years, new.year)
        else:
            new = self._reference(number, day) + self.delta
        self._put_month(month, new.month)
        self._put_said_day(days, new.day)

    def _saidyear(self, span: range) -> None:
        places = self._places(span, "C")
        self._put_said_year(places, self._move(self._said_value(places), 7, 2).year)

    def _saidday(self, span: range) -> None:
        places = self._places(span, "CD")
        day = self._said_day(places)
        if not 1 <= day <= 31:
            raise _UnreadableError
        self._put_said_day(places, self._lone_day(day))


def _suffix(day: int) -> str:
    return "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def _cardinal(number: int, dash: str) -> str:
    if number < 20:
        return _UNITS[number - 1]
    tens, unit = divmod(number, 10)
    return _TENS[tens - 2] + (dash + _UNITS[unit - 1] if unit else "")


def _ordinal(number: int, dash: str) -> str:
    if number <= 20:
        return _FIRST[number - 1]
    if number == 30:
        return "thirtieth"
    tens, unit = divmod(number, 10)
    return f"{_TENS[tens - 2]}{dash}{_FIRST[unit - 1]}"
