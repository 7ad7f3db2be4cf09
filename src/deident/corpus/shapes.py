"""How identifiers are written: one value, many shapes. Each function draws one shape of a value.

Variety is the point: the shapes follow the seeds' lists (NLM Scrubber tables 3 and 4, the MIMIC patterns of the thesis,
the hybrid's table 1) and what the layouts of the annotated notes show.
"""

from collections.abc import Mapping
from datetime import date
from random import Random

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
HOLIDAYS = (
    "Christmas", "Thanksgiving", "Easter", "Labor Day", "Memorial Day", "New Year's Eve", "Halloween", "Ramadan",
    "Diwali", "Passover", "Christmas Eve", "Mother's Day", "Lunar New Year", "Eid",
)  # fmt: skip
SEASONS = ("spring", "summer", "fall", "autumn", "winter")


def ordinal(number: int) -> str:
    suffix = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")

# Shape → how often. The fields: m mm d dd dth (4, 04, 4th), yy yyyy, Month Mon MON Abbr (March, Mar, MAR, Mar.),
# Weekday Wkd, decade, part (early, late), season, holiday, week (MWF), quarter, spoken.
FULL_DATES: Mapping[str, int] = {
    "{m}/{d}/{yy}": 10, "{mm}/{dd}/{yyyy}": 10, "{mm}/{dd}/{yy}": 6, "{m}/{d}/{yyyy}": 5, "{mm}-{dd}-{yyyy}": 4,
    "{m}-{d}-{yy}": 3, "{mm}.{dd}.{yyyy}": 2, "{m}.{d}.{yy}": 2, "{yyyy}-{mm}-{dd}": 5, "{yyyy}/{mm}/{dd}": 1,
    "{yyyy}{mm}{dd}": 2, "{Month} {d}, {yyyy}": 8, "{Month} {dth}, {yyyy}": 3, "{Month} {d} {yyyy}": 2,
    "{Abbr} {d}, {yyyy}": 4, "{d} {Mon} {yyyy}": 3, "{dd}-{Mon}-{yyyy}": 2, "{dd}{MON}{yyyy}": 2, "{dd}{MON}{yy}": 1,
    "{d} {Month} {yyyy}": 1, "{dth} of {Month}, {yyyy}": 1, "{Weekday}, {Month} {d}, {yyyy}": 2,
    "{Weekday}, {m}/{d}/{yy}": 2, "{Wkd} {m}/{d}/{yy}": 1, "{Abbr} {d} '{yy}": 1, "{spoken}": 1,
}  # fmt: skip
PARTIAL_DATES: Mapping[str, int] = {
    "{m}/{d}": 10, "{mm}/{dd}": 3, "{Month} {dth}": 5, "{Month} {d}": 4, "{Abbr} {d}": 3, "{Month} {yyyy}": 6,
    "{Month} of {yyyy}": 3, "{Abbr} {yyyy}": 2, "{m}/{yyyy}": 4, "{m}/{yy}": 3, "{yyyy}": 10, "'{yy}": 2, "{Month}": 4,
    "{Weekday}": 5, "{Wkd}": 2, "{week}": 1, "{part} {yyyy}": 2, "{part} {Month}": 1, "mid-{Month}": 1, "{decade}s": 2,
    "{part} {decade}s": 1, "{holiday}": 3, "{season}": 3, "{season} of {yyyy}": 2, "{season} {yyyy}": 1, "{dth}": 2,
    "{dth} of {Month}": 1, "{quarter} {yyyy}": 1,
}  # fmt: skip


def _fields(day: date, random: Random) -> dict[str, str]:
    month, weekday = MONTHS[day.month - 1], WEEKDAYS[day.weekday()]
    short = month if day.month == 5 else "Sept" if day.month == 9 else month[:3]
    return {
        "m": str(day.month), "mm": f"{day:%m}", "d": str(day.day), "dd": f"{day:%d}", "dth": ordinal(day.day),
        "yy": f"{day:%y}", "yyyy": str(day.year), "Month": month, "Mon": month[:3], "MON": month[:3].upper(),
        "Abbr": short + ("" if day.month == 5 else random.choice(("", "", "."))), "Weekday": weekday,
        "Wkd": weekday[:3], "decade": str(day.year // 10 * 10), "part": random.choice(("early", "late")),
        "season": random.choice(SEASONS), "holiday": random.choice(HOLIDAYS),
        "week": random.choice(("MWF", "TTS", "TTh", "M/W/F")), "quarter": f"Q{(day.month + 2) // 3}",
        "spoken": spoken(day),
    }  # fmt: skip


def dated(shapes: Mapping[str, int], day: date, random: Random) -> str:
    """A date in one of the shapes, drawn by their weights."""
    shape = random.choices(tuple(shapes), tuple(shapes.values()))[0]
    return shape.format_map(_fields(day, random))


def full_date(day: date, random: Random) -> str:
    """A whole date: `3/4/21`, `March 4th, 2021`, `04MAR2021`, `Friday, 3/4/21`, in words …"""
    return dated(FULL_DATES, day, random)


def partial_date(day: date, random: Random) -> str:
    """A part of a date: `3/4`, `March`, `'07`, `mid-May`, `1980s`, `Tues`, `Thanksgiving`, `winter of 2019` …"""
    return dated(PARTIAL_DATES, day, random)


def words(number: int) -> str:
    """`47` → `forty-seven`; up to 999."""
    if number < 20:
        return _ONES[number]
    if number < 100:
        return _TENS[number // 10] + (f"-{_ONES[number % 10]}" if number % 10 else "")
    rest = f" and {words(number % 100)}" if number % 100 else ""
    return f"{_ONES[number // 100]} hundred{rest}"


def spoken(day: date) -> str:
    """As a dictation writes it out: `march fourth nineteen fifty two`."""
    low = {1: "first", 2: "second", 3: "third", 5: "fifth", 8: "eighth", 9: "ninth", 12: "twelfth"}
    tens, ones = divmod(day.day, 10)
    if day.day in low:
        spelt = low[day.day]
    elif day.day < 20:
        spelt = f"{_ONES[day.day]}th"
    elif ones == 0:
        spelt = f"{_TENS[tens][:-1]}ieth"
    else:
        spelt = f"{_TENS[tens]} {low.get(ones, _ONES[ones] + 'th')}"
    century, rest = divmod(day.year, 100)
    year = f"{words(century)} {words(rest)}" if rest > 9 else f"two thousand {_ONES[rest]}" if rest else words(century)
    return f"{MONTHS[day.month - 1].lower()} {spelt} {year.replace('-', ' ')}"


def filled(pattern: str, random: Random) -> str:
    """A pattern with its signs drawn: `#` a digit, `%` a digit but zero, `@` a capital, `?` a small letter.

    >>> filled("A-%###", Random(1))
    'A-3912'
    """
    signs = {"#": "0123456789", "%": "123456789", "@": "ABCDEFGHJKLMNPRSTUVWXYZ", "?": "abcdefghijklmnoprstuvwxyz"}
    return "".join(random.choice(signs[char]) if char in signs else char for char in pattern)


PHONES = (
    "(%##) 555-####", "(%##)555-####", "%##-555-####", "%##.555.####", "%## 555 ####", "555-####", "%##-%##-####",
    "(%##) %##-####", "1-8##-%##-####", "+1 %## %## ####", "%##%##%###", "(%##) %##-#### ext. ##", "%##-%##-#### x####",
    "%##/%##-####", "+44 20 %### ####", "0%### %#####", "%##-####",
)  # fmt: skip
PAGERS = ("%####", "%###", "#%##-%####", "%##-%##-####")
EXTENSIONS = ("x####", "ext. ###", "ext %###", "extension ####", "%####")
MRNS = (
    "%######", "%#######", "%###-####", "##-##-##", "%##-##-####", "M#######", "@@######", "#%#####", "00%#####",
    "E%######", "%## ## ##", "@%#####-#", "MR%######", "%#########",
)  # fmt: skip
ACCOUNTS = (
    "V########",
    "%#########",
    "@-##-#####",
    "%###-#####-#",
    "ACCT%######",
    "H%##########",
    "%#######",
    "CSN %########",
)
IDNUMS = (
    "S##-####", "%##-@@-####", "@@##-#####", "%########", "R%######", "##-@@-######", "A%#######", "%####-##",
    "#%#-%####",
    "RX%######", "%#########", "@@@-%####", "CLM-##-#####", "L%####@",
)  # fmt: skip
PLANS = ("@@@%########", "%########@", "W%#### #####", "%##-##-####A", "XYK%#######", "@%@#-@@%-@@##", "%#########-##")
LICENSES = ("@@%######", "@%######", "MD-#####", "@##-###-###-#", "%#######", "RN %#####", "A%##-%###-####-##")
VEHICLES = ("@@@-####", "#@@@###", "%@@@%##", "1HG@@%#%#@@######", "@@ #####", "%##-@@@")
DEVICES = ("PJN%######", "@@@%#####H", "SN %#######", "@%#####@", "##%#####", "LOT @#%##", "%####-###", "@@@-%####-##")
BIOIDS = ("FP-%######", "VOICE-%####", "RET-@@%####", "IRIS#%####")
USERNAMES = ("{initial}{last}", "{last}{initial}#", "{first}.{last}", "{initial}{last}##", "@@%###", "{last}_{first}")
ROOMS = ("%##", "%##-@", "%##@", "%-%##", "%###", "##", "%##-#", "Bed %", "@%##")
STREETS = (
    "%### {street}", "%## {street}", "%## {street}, Apt %", "%### {street} Apt. %@", "%#### {street}",
    "%## {street} #%##",
    "% {street}", "%### N {street}", "%### {street}, Suite %##", "RR % Box %#", "%## SW {street}", "%##@ {street}",
)  # fmt: skip
STATES = {
    "AL": "Alabama", "AK": "Alaska", "AZ": "Arizona", "AR": "Arkansas", "CA": "California", "CO": "Colorado",
    "CT": "Connecticut", "DE": "Delaware", "DC": "District of Columbia", "FL": "Florida", "GA": "Georgia",
    "HI": "Hawaii", "ID": "Idaho", "IL": "Illinois", "IN": "Indiana", "IA": "Iowa", "KS": "Kansas", "KY": "Kentucky",
    "LA": "Louisiana", "ME": "Maine", "MD": "Maryland", "MA": "Massachusetts", "MI": "Michigan", "MN": "Minnesota",
    "MS": "Mississippi", "MO": "Missouri", "MT": "Montana", "NE": "Nebraska", "NV": "Nevada", "NH": "New Hampshire",
    "NJ": "New Jersey", "NM": "New Mexico", "NY": "New York", "NC": "North Carolina", "ND": "North Dakota",
    "OH": "Ohio", "OK": "Oklahoma", "OR": "Oregon", "PA": "Pennsylvania", "RI": "Rhode Island",
    "SC": "South Carolina", "SD": "South Dakota", "TN": "Tennessee", "TX": "Texas", "UT": "Utah", "VT": "Vermont",
    "VA": "Virginia", "WA": "Washington", "WV": "West Virginia", "WI": "Wisconsin", "WY": "Wyoming",
}  # fmt: skip
