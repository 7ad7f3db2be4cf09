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
    "Columbus Day", "Veterans Day", "MLK Day", "Presidents' Day", "Valentine's Day", "Good Friday", "Boxing Day",
    "Fourth of July", "Father's Day", "Rosh Hashanah", "Yom Kippur", "Hanukkah", "Kwanzaa", "Juneteenth", "Mardi Gras",
    "Super Bowl Sunday", "New Year's", "New Year's Day", "Palm Sunday", "Canada Day", "Christmas", "Thanksgiving",
    "Easter", "Labor Day", "Memorial Day", "New Year's Eve", "Halloween", "Ramadan",
    "Diwali", "Passover", "Christmas Eve", "Mother's Day", "Lunar New Year", "Eid",
    "Lent", "Advent", "Holy Week", "Ash Wednesday", "Fat Tuesday", "Maundy Thursday", "Easter Monday", "Pentecost",
    "Orthodox Easter", "Epiphany", "Three Kings Day", "All Saints' Day", "All Souls' Day", "Day of the Dead",
    "Día de los Muertos", "Cinco de Mayo", "St. Patrick's Day", "Groundhog Day", "Black Friday", "Election Day",
    "Tax Day", "Patriots' Day", "Indigenous Peoples' Day", "Flag Day", "Arbor Day", "Guy Fawkes Night",
    "Bonfire Night", "Anzac Day", "Australia Day", "Victoria Day", "Bastille Day", "May Day", "Midsummer", "Tet",
    "Tết", "Chinese New Year", "Hmong New Year", "Losar", "Nowruz", "Songkran", "Obon", "Mid-Autumn Festival", "Holi",
    "Navratri", "Durga Puja", "Vaisakhi", "Vesak", "Eid al-Fitr", "Eid al-Adha", "Ashura", "Purim", "Sukkot",
    "Shavuot", "Simchat Torah", "Meskel", "Timkat", "Derby Day", "leap day"
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
# Weekday Wkd, decade, tens ('80s), spelt (eighties), part (early, late), season, holiday, week (MWF), quarter, ww (week
# of the year), reign (Reiwa 2), spoken.
FULL_DATES: Mapping[str, float] = {
    "{m}/{d}/{yy}": 10, "{mm}/{dd}/{yyyy}": 10, "{mm}/{dd}/{yy}": 6, "{m}/{d}/{yyyy}": 5, "{mm}-{dd}-{yyyy}": 4,
    "{m}-{d}-{yy}": 3, "{m}-{d}-{yyyy}": 2, "{mm}-{dd}-{yy}": 1, "{mm}.{dd}.{yyyy}": 2, "{m}.{d}.{yy}": 2,
    "{d}.{m}.{yyyy}": 1, "{dd}/{mm}/{yyyy}": 1, "{d}/{m}/{yy}": 0.5, "{yyyy}-{mm}-{dd}": 5, "{yyyy}/{mm}/{dd}": 1,
    "{yyyy}.{mm}.{dd}": 0.4, "{yyyy}{mm}{dd}": 2, "{mm}{dd}{yyyy}": 1, "{mm}{dd}{yy}": 0.7, "{m} / {d} / {yy}": 0.4,
    "{Month} {d}, {yyyy}": 8, "{Month} {dth}, {yyyy}": 3, "{Month} {dth} {yyyy}": 1, "{Month} {d} {yyyy}": 2,
    "{month} {d}, {yyyy}": 0.7, "{MONTH} {d}, {yyyy}": 1, "{Abbr} {d}, {yyyy}": 4, "{Abbr} {dth}, {yyyy}": 1.5,
    "{Mon} {d} {yyyy}": 1, "{Abbr} {d} '{yy}": 1, "{d} {Mon} {yyyy}": 3, "{d} {Abbr} {yy}": 0.7,
    "{dd}-{Mon}-{yyyy}": 2, "{d}-{Mon}-{yy}": 2, "{dd}/{Mon}/{yyyy}": 0.7, "{dd}{MON}{yyyy}": 2, "{dd}{MON}{yy}": 1,
    "{dd} {MON} {yy}": 0.7, "{d} {Month} {yyyy}": 1, "{dth} {Month} {yyyy}": 0.5, "{dth} of {Month}, {yyyy}": 1,
    "{dth} of {Month} {yyyy}": 0.5, "{Weekday}, {Month} {d}, {yyyy}": 2, "{Weekday} {Month} {dth}, {yyyy}": 0.5,
    "{Weekday}, {m}/{d}/{yy}": 2, "{Weekday} {mm}/{dd}/{yyyy}": 1, "{Wkd} {m}/{d}/{yy}": 1,
    "{Wkd}. {m}/{d}/{yyyy}": 0.5,
    "{Wkd} {Mon} {d}, {yyyy}": 0.7, "{spoken}": 1,
}  # fmt: skip
DAY_FIRST: Mapping[str, float] = {
    "{dd}/{mm}/{yyyy}": 10, "{d}/{m}/{yy}": 4, "{dd}/{mm}/{yy}": 4, "{d}/{m}/{yyyy}": 2, "{dd}.{mm}.{yyyy}": 3,
    "{d}.{m}.{yy}": 3, "{dd}.{mm}.{yy}": 1, "{dd}-{mm}-{yyyy}": 2, "{d} {Month} {yyyy}": 8, "{dth} {Month} {yyyy}": 5,
    "{dth} {Month}, {yyyy}": 1, "{dth} of {Month} {yyyy}": 1, "{d} {Mon} {yyyy}": 4, "{d} {Mon} {yy}": 1,
    "{dd}-{Mon}-{yyyy}": 3, "{dd}-{Mon}-{yy}": 1, "{dd} {MON} {yyyy}": 1, "{Weekday} {d} {Month} {yyyy}": 2,
    "{Weekday}, {dth} {Month} {yyyy}": 1, "{Wkd} {d} {Mon} {yy}": 1, "{yyyy}-{mm}-{dd}": 2, "{Month} {d}, {yyyy}": 1,
}  # fmt: skip
PARTIAL_DATES: Mapping[str, float] = {
    "{m}/{d}": 10, "{mm}/{dd}": 3, "{m}-{d}": 1, "{Month} {dth}": 5, "{Month} {d}": 4, "{Abbr} {d}": 3,
    "{Abbr} {dth}": 1.5, "{d} {Month}": 1, "{d} {Mon}": 1, "{dd}{MON}": 0.4, "{Wkd} {m}/{d}": 2, "{Weekday} {m}/{d}": 1,
    "{Weekday}, {Month} {d}": 1, "{Weekday}, {Month} {dth}": 0.7, "{Weekday} {dth}": 0.4, "{Month} {yyyy}": 6,
    "{Month}, {yyyy}": 1, "{Month} of {yyyy}": 3, "{Month} '{yy}": 1, "{Abbr} {yyyy}": 2, "{Mon}-{yy}": 0.5,
    "{Abbr} '{yy}": 0.7, "{m}/{yyyy}": 4, "{mm}/{yyyy}": 2, "{m}/{yy}": 3, "{m}-{yyyy}": 0.5, "{yyyy}": 10, "'{yy}": 2,
    "{Month}": 4, "{Abbr}": 0.7, "{Weekday}": 5, "{Weekday}s": 0.5, "{Wkd}": 2, "{week}": 0.3, "{part} {yyyy}": 2,
    "{part} {Month}": 1, "{part} {Month} {yyyy}": 1, "mid-{Month}": 1, "mid {Month}": 0.5, "mid-{Month} {yyyy}": 0.5,
    "mid-{yyyy}": 0.5, "{decade}s": 2, "{part} {decade}s": 1, "mid-{decade}s": 0.7, "{tens}": 0.5, "{spelt}": 0.5,
    "{holiday}": 3, "{holiday} {yyyy}": 1, "{holiday} of {yyyy}": 0.4, "{season}": 3, "{season} of {yyyy}": 2,
    "{season} of '{yy}": 0.4, "{season} {yyyy}": 1, "{part} {season}": 0.7,
    "{season}time": 0.3, "{season}s": 0.2, "{part} {season} {yyyy}": 0.4, "{dth}": 1,
    "{dth} of {Month}": 1, "{quarter} {yyyy}": 0.8, "{quarter}'{yy}": 0.2, "{yyyy}{quarter}": 0.2,
    "{yyyy}-W{ww}": 0.4, "{reign}": 0.4,
}  # fmt: skip
HOLIDAY_YEARS: Mapping[str, float] = {
    "{holiday} {yyyy}": 4, "{holiday} of {yyyy}": 2, "{holiday}, {yyyy}": 1, "{holiday} '{yy}": 1,
}  # fmt: skip
SEASON_YEARS: Mapping[str, float] = {
    "{season} {yyyy}": 3, "{season} of {yyyy}": 3, "{season} '{yy}": 1, "{part} {season} {yyyy}": 1,
}  # fmt: skip
MONTH_YEARS: Mapping[str, float] = {
    "{Month} {yyyy}": 8, "{Month} of {yyyy}": 2, "{Month}, {yyyy}": 1, "{Abbr} {yyyy}": 2, "{m}/{yyyy}": 2,
    "{m}/{yy}": 2, "{mm}/{yyyy}": 1, "{Mon} '{yy}": 1,
}  # fmt: skip
DECADES = {20: "twenties", 30: "thirties", 40: "forties", 50: "fifties", 60: "sixties", 70: "seventies",
            80: "eighties", 90: "nineties"}  # fmt: skip


def _reigns(year: int) -> tuple[str, ...]:
    """The year in other calendars: Japanese, Muslim, Buddhist, Hebrew, Taiwanese, Ethiopian."""
    japan = (
        f"Reiwa {year - 2018}" if year > 2018 else f"Heisei {year - 1988}" if year > 1988 else f"Showa {year - 1925}"
    )
    muslim = f"{(year - 622) * 33 // 32} AH"
    return japan, muslim, f"B.E. {year + 543}", f"Tishrei {year + 3761}", f"ROC {year - 1911}", f"{year - 8} E.C."


def _fields(day: date, random: Random) -> dict[str, str]:
    month, weekday = MONTHS[day.month - 1], WEEKDAYS[day.weekday()]
    short = month if day.month == 5 else "Sept" if day.month == 9 else month[:3]
    decade = day.year // 10 * 10
    return {
        "m": str(day.month), "mm": f"{day:%m}", "d": str(day.day), "dd": f"{day:%d}", "dth": ordinal(day.day),
        "yy": f"{day:%y}", "yyyy": str(day.year), "Month": month, "month": month.lower(), "MONTH": month.upper(),
        "Mon": month[:3], "MON": month[:3].upper(),
        "Abbr": short + ("" if day.month == 5 else random.choice(("", "", "."))), "Weekday": weekday,
        "Wkd": random.choice((weekday[:3], weekday[:3], "Tues" if weekday[0:2] == "Tu" else weekday[:3])),
        "decade": str(decade), "tens": f"'{decade % 100:02d}s", "spelt": DECADES.get(decade % 100, f"{decade}s"),
        "part": random.choice(("early", "late")), "season": random.choice(SEASONS),
        "holiday": random.choice(HOLIDAYS), "week": random.choice(("MWF", "TTS", "TTh", "M/W/F", "T/Th/Sat", "MF")),
        "quarter": f"Q{(day.month + 2) // 3}", "ww": f"{min(52, day.isocalendar().week):02d}",
        "reign": random.choice(_reigns(day.year)), "spoken": spoken(day),
    }  # fmt: skip


def drawn(weights: Mapping[str, float], random: Random) -> str:
    """A key, by its weight."""
    return random.choices(tuple(weights), tuple(weights.values()))[0]


def dated(shapes: Mapping[str, float], day: date, random: Random) -> str:
    """A date in one of the shapes, drawn by their weights."""
    return drawn(shapes, random).format_map(_fields(day, random))


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
    "(%##) %##-####", "(%##)%##-####", "(%##)-%##-####", "%##-%##-####", "%##.%##.####", "%## %## ####", "%##%##%###",
    "1-8##-%##-####", "1 (%##) %##-####", "1.%##.%##.####", "+1 %## %## ####", "+1-%##-%##-####", "+1%##%##%###",
    "%##/%##-####", "(%##) %##.####", "%##- %##-####", "%##-%##%###", "%##-%##-%## ####", "%##-####", "%## ####",
    "+44 20 %### ####", "0%### %#####", "+49 %## %######", "+52 %# %### ####", "+33 % ## ## ## ##", "+91 %#### #####",
    "0## %### ####", "(0%) %### ####",
    "(%##) %##-#### ext. ##", "%##-%##-#### x####", "%##-%##-####, ext. ###", "%##.%##.#### ext ####",
    "(%##) %##-#### x ##", "%##-%##-####x###", "%##-#### ext %##",
)  # fmt: skip
FAXES = PHONES[:26]
PAGERS = ("%####", "%###", "#%##-%####", "%##-%##-####", "%-####", "%#-####", "%##-####", "(%##) %##-####", "#%###")
EXTENSIONS = ("####", "###", "%-####", "%####", "%##")
MRNS = (
    "%######", "%#######", "%###-####", "##-##-##", "%##-##-####", "M#######", "@@######", "#%#####", "00%#####",
    "E%######", "%## ## ##", "@%#####-#", "MR%######", "%#########", "%####", "%#####", "00000%###", "%##########",
    "%###########", "@###-###-###", "%#-%##-##", "%##-###", "%###-##", "@@@%####", "@@-%#####", "@%##### @", "%######@",
    "%###.%###", "%## ### ###", "000%#######", "@%-####-%#", "@@@-##-###-###", "#-%######", "@#@%####",
)  # fmt: skip
ACCOUNTS = (
    "V########", "%#########", "@-##-#####", "%###-#####-#", "ACCT%######", "H%##########", "%#######", "%##########",
    "%###########", "00%########", "@@%########", "V#########", "%##-##-####-#", "E-%#######", "%######-##",
    "FN%######",
    "%## %### ###", "@%## ######",
)  # fmt: skip
IDNUMS = (
    "@#### ## ######", "@@##-####", "@@####-####", "@####-@@", "#%#-@%####", "%####-%##-%#", "##:%###", "@@@@-%####",
    "S##-####", "%##-@@-####", "@@##-#####", "%########", "R%######", "##-@@-######", "A%#######", "%####-##",
    "#%#-%####", "RX%######", "%#########", "@@@-%####", "CLM-##-#####", "L%####@", "%####", "%#####", "##:@%####",
    "@##-%####", "%##-##-#####", "@@@%#####", "#########-@", "@%## %### ###", "@@-####-######", "%###-%##@", "@##.####",
    "WC-##-%####", "0%#-######", "%####/##", "@@%##@@####", "##@%#####", "%#-####-@",
)  # fmt: skip
PLANS = (
    "@@@%########", "%########@", "W%#### #####", "%##-##-####A", "XYK%#######", "@%@#-@@%-@@##", "%#########-##",
    "%##########", "@%########", "@@@ %##%####", "%##-###-###", "%@@%-@@%-@@%%", "H%###-%##", "%######## ##",
    "00%#########",
    "@@%##@#####", "%### %### %###",
)  # fmt: skip
LICENSES = (
    "@@%######", "@%######", "MD-#####", "@##-###-###-#", "%#######", "A%##-%###-####-##", "@%###### @", "@@-%####",
    "%#-####", "%####", "@## ### ###", "F@%######", "@@##-%#####", "%########", "#####-@", "%##-##-####",
)  # fmt: skip
VEHICLES = (
    "@@@-####", "#@@@###", "%@@@%##", "1HG@@%#%#@@######", "@@ #####", "%##-@@@", "@@@ ###", "%@%@%##@#%#######",
    "%##@@@", "@@@@ %#", "@## @@@", "N%##@@", "JT@@%##%#@@######", "@@%# @@@",
)  # fmt: skip
DEVICES = (
    "@@ #####", "%@%@@@", "@@@%#-%###", "@##-####", "####-######", "@@####@@", "20##-######",
    "PJN%######", "@@@%#####H", "%#######", "@%#####@", "##%#####", "@#%##", "%####-###", "@@@-%####-##", "%##########",
    "@@%######", "%###-%###", "@@##@#####", "%########-##", "@@@ %#####", "#%#####@@", "(21)%######", "%####.###",
)  # fmt: skip
BIOIDS = (
    "FP-%######", "VOICE-%####", "RET-@@%####", "IRIS#%####", "%#######", "@@%####", "FP%####@", "BIO-####-####",
    "PALM%#####", "%###-@@-##", "VP_%#####", "@##-@##-@##",
)  # fmt: skip
USERNAMES = (
    "{initial}{last}", "{last}{initial}#", "{first}.{last}", "{initial}{last}##", "@@%###", "{last}_{first}",
    "{initial}{middle}{last}", "{first}{last}#", "rn.{initial}{last}", "{last}{initial}", "{initial}.{last}", "??%####",
    "{first}_{initial}", "{last}.{first}", "{last}@@", "{initial}{last}_md", "???##", "{first}{initial}##", "u%#####",
)  # fmt: skip
ROOMS = (
    "%##", "%##-@", "%##@", "%-%##", "%###", "##", "%##-#", "Bed %", "@%##", "%", "%#", "@%", "%@-%##", "%##/%", "%#-@",
    "@-%##", "%###-%", "%## @", "@@%", "%@%##",
)  # fmt: skip
STREETS = (
    "%### {street}", "%## {street}", "%## {street}, Apt %", "%### {street} Apt. %@", "%#### {street}",
    "%## {street} #%##",
    "% {street}", "%### N {street}", "%### {street}, Suite %##", "RR % Box %#", "%## SW {street}", "%##@ {street}",
    "%# {street}", "%-% {street}", "%## N. {street}", "%### E {street}, Unit %", "%## {street}, #%@",
    "%#### {street} Apt %##",
    "%## {street} - Apt @", "R.R. # %", "Rural Route %, Box %##", "%## {street}, Bldg. %", "%## {street}, %@",
    "HC % Box %##",
    "%#### {n}th Street", "%## W. {n}th St.", "%###-%# {n}th Avenue", "%## {street}, Lot %#", "Apt %@, %## {street}",
    "%#### County Road %##", "%### Hwy %#", "%## 1/2 {street}", "One {street}", "%### {abroad}", "%# {abroad}",
    "{abroad} %#",
)  # fmt: skip
BOXES = (
    "P.O. Box %##",
    "PO Box %###",
    "P. O. Box %#",
    "Box %##",
    "PO BOX %####",
    "P.O. Drawer %",
    "Post Office Box %##",
)
ROADS = (
    "Highway %#", "Route %#", "Rt. %", "I-%#", "US %##", "Interstate %#", "Hwy %#", "State Route %##", "the {street}",
    "{street}", "{street}",
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


# Names: first FIRST f (Anna, ANNA, A), m middle (K, Kay), nick, last LAST.
FULL_NAMES: Mapping[str, float] = {
    "{first} {last}": 14, "{first} {m}. {last}": 8, "{first} {m} {last}": 2, "{first} {middle} {last}": 2,
    "{f}. {last}": 2, "{f}. {m}. {last}": 0.7, "{f}.{m}. {last}": 0.7, "{f} {last}": 0.5, "{f}. {middle} {last}": 0.4,
    "{FIRST} {LAST}": 1.5, "{FIRST} {M} {LAST}": 0.5, "{FIRST} {M}. {LAST}": 0.5, "{first} {LAST}": 0.5,
    "{low}": 0.3, "{first} {last} Jr.": 0.3, "{first} {last}, Jr.": 0.3, "{first} {last} III": 0.3,
    "{first} {m}. {last} II": 0.1, "{first} {last} Sr.": 0.1, "{first} {last}-{other}": 0.4,
    "{first} {last} {other}": 0.4, "{first} {middle} {last} {other}": 0.15, "{first} {last} y {other}": 0.05,
    "{last} {middle} {first}": 0.2, "{first} {last} IV": 0.05, "{f}. {last}-{other}": 0.1,
}  # fmt: skip
NICKED: Mapping[str, float] = {'{first} "{nick}" {last}': 3, "{first} ({nick}) {last}": 2, "{first} '{nick}' {last}": 1}
LAST_FIRST: Mapping[str, float] = {
    "{last}, {first}": 8, "{last}, {first} {m}": 5, "{last}, {first} {m}.": 3, "{LAST}, {FIRST}": 5,
    "{LAST}, {FIRST} {M}": 4, "{LAST},{FIRST}": 3, "{LAST},{FIRST} {M}": 2, "{last},{first}": 1.5, "{LAST}, {first}": 1,
    "{last}, {first} {middle}": 1, "{LAST}, {FIRST} {MIDDLE}": 1, "{LAST} {FIRST}": 0.7, "{LAST} {FIRST} {M}": 0.7,
    "{LAST} {OTHER}, {FIRST}": 0.2,
    "{last} {other}, {first}": 0.2, "{last} {first} {m}": 0.3, "{LAST},{f}": 0.1, "{last} {first}": 0.7,
    "{LAST}, {FIRST} {M}.": 1, "{last}, {f}.": 0.5, "{last}, {first} Jr.": 0.2, "{LAST} JR, {FIRST} {M}": 0.3,
    "{last}-{other}, {first}": 0.3, "{LAST}   {FIRST} {M}": 0.2,
}  # fmt: skip
SHORT_NAMES: Mapping[str, float] = {
    "{last}": 30, "{first} {last}": 3, "{f}. {last}": 2, "{LAST}": 1.5, "{lowlast}": 0.7, "{first} {m}. {last}": 0.5,
    "{FIRST} {LAST}": 0.3,
}  # fmt: skip


def named(shapes: Mapping[str, float], parts: Mapping[str, str], random: Random) -> str:
    """A name in one of the shapes; `parts` holds first, last, middle, nick and other (a second surname)."""
    first, last, middle = parts["first"], parts["last"], parts["middle"]
    return drawn(shapes, random).format_map({
        **parts, "FIRST": first.upper(), "LAST": last.upper(), "MIDDLE": middle.upper(),
        "OTHER": parts["other"].upper(), "f": first[0].upper(),
        "m": middle[0].upper(), "M": middle[0].upper(), "low": f"{first} {last}".lower(), "lowlast": last.lower(),
    })  # fmt: skip


_ONSETS = (
    "b", "br", "ch", "d", "f", "g", "h", "j", "k", "kr", "l", "m", "n", "p", "r", "s", "sh", "st", "t", "th", "tr",
    "v", "w",
    "y", "z", "", "l", "m", "n", "r",
)  # fmt: skip
_VOWELS = ("a", "e", "i", "o", "u", "a", "e", "i", "o", "ia", "ai", "ou", "ei")
_CODAS = ("", "", "", "", "", "", "n", "r", "l", "s", "nd", "rt", "ck", "ng")


def coined(random: Random) -> str:
    """A name that stands in no list, so that no learner leans on lists alone: `Thaivorsk`."""
    count = random.choice((2, 2, 3))
    made = "".join(random.choice(_ONSETS) + random.choice(_VOWELS) + random.choice(_CODAS) for _ in range(count))
    return (
        made if len(made) > 5 else f"{made}{random.choice(('son', 'ova', 'berg', 'ani', 'ezan', 'escu'))}"
    ).capitalize()
