"""Who and what a synthetic note speaks of, and what each slot of a template becomes in it."""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from random import Random
from string import capwords

from deident import lexicons
from deident.corpus import shapes
from deident.corpus.templates import ROOM, Choice, Slot, Template
from deident.errors import FormatError
from deident.labels import Label


@dataclass(slots=True)
class Piece:
    """A stretch of a note; `label` is None where it is no identifier."""

    text: str
    label: Label | None = None


@cache
def _values() -> Mapping[str, Mapping[str, Sequence[str]]]:
    return tomllib.loads((ROOM / "values.toml").read_text(encoding="utf-8"))


@dataclass(slots=True)
class Person:
    first: str
    last: str
    middle: str
    female: bool
    nick: str
    other: str  # a second surname

    @property
    def initials(self) -> str:
        return self.first[0].upper() + self.last[0].upper()

    def monogram(self, random: Random) -> str:
        """Two or three initials, now and then with those of a particle: `AB`, `AKB`, `AvB`."""
        parts = self.last.replace("-", " ").split()
        last = "".join(part[0] for part in parts[-2:]) if random.random() < 0.5 else parts[-1][0]
        return f"{self.first[0].upper()}{self.middle[0] if random.random() < 0.5 else ''}{last}"

    def written(self, forms: Mapping[str, float], random: Random) -> str:
        return shapes.named(
            forms,
            {"first": self.first, "last": self.last, "middle": self.middle, "nick": self.nick, "other": self.other},
            random,
        )


@dataclass(slots=True)
class Story:
    """What one note speaks of: its people, places and dates, drawn once, and the chance that draws the rest."""

    random: Random
    home: str | None = None  # the country whose places, numbers and dates the note has; the US if none
    female: bool | None = None  # whom the note speaks of, where that is given
    patient: Person = field(init=False)
    doctors: list[Person] = field(init=False)
    kin: tuple[str, Person] = field(init=False)
    place: lexicons.PoolPlace = field(init=False)
    hospitals: list[str] = field(init=False)
    day: date = field(init=False)
    born: date = field(init=False)
    fixed_shape: str = field(init=False)
    fixed_share: float = field(init=False)  # how often a date of this note is written in its own shape
    fixed: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        random = self.random
        self.patient = self.person(female=self.female)
        self.doctors = [self.person() for _ in range(5)]
        self.kin = self.relative()
        self.place = random.choice(lexicons.places())
        self.hospitals = [self.hospital() for _ in range(2)]
        self.day = date(1988, 1, 1) + timedelta(days=random.randrange(38 * 365))
        self.born = self.day - timedelta(days=_days_lived(random))
        self.fixed_shape = shapes.drawn(self._full_dates(), random)
        self.fixed_share = random.choice((0.0, 0.3, 0.6, 0.9))
        # one patient has one number in all lines of a note
        self.fixed = {
            "mrn": shapes.filled(random.choice(shapes.MRNS), random),
            "account": shapes.filled(random.choice(shapes.ACCOUNTS), random),
            "ssn": shapes.filled(random.choice(("%##-##-####", "%##-##-####", "%## ## ####")), random),
            "street": self.street(),
            "lastfirst": self.patient.written(shapes.LAST_FIRST, random),
        }

    def person(self, *, female: bool | None = None) -> Person:
        random = self.random
        kind = random.random() < 0.5 if female is None else female
        if random.random() < _WORLD:
            first, last = _worldly(random, kind)
        else:
            last, origin = _surname(random)
            first = _first_name(random, kind, origin)
        middle = _drawn("first_female" if kind else "first_male", random).text
        return Person(first, last, middle, kind, _nickname(first, random), _drawn("last", random).text)

    def relative(self) -> tuple[str, Person]:
        random = self.random
        female = random.random() < 0.5
        word = random.choice(_values()["people"]["kin_female" if female else "kin_male"])
        person = self.person(female=female)
        if random.random() < 0.6:
            person.last = self.patient.last
        return word, person

    @property
    def age(self) -> int:
        return max(1, (self.day - self.born).days * 4 // 1461)

    def near(self, years: float = 3) -> date:
        """A day not long before the note's, now and then decades before."""
        if self.random.random() < 0.08:
            years = 40
        return self.day - timedelta(days=int(self.random.random() ** 2 * years * 365))

    def _full_dates(self) -> Mapping[str, float]:
        """Outside the US the day comes first."""
        return shapes.FULL_DATES if self.home is None or self.random.random() < 0.2 else shapes.DAY_FIRST

    def full_date(self, day: date) -> str:
        if self.random.random() < self.fixed_share:
            return shapes.dated({self.fixed_shape: 1}, day, self.random)
        return shapes.dated(self._full_dates(), day, self.random)

    def local(self, kind: str) -> Sequence[str]:
        """The values or patterns of the note's country; none where it has no ways of its own."""
        return () if self.home is None or self.random.random() < 0.1 else _values()[self.home].get(kind, ())

    def city(self) -> str:
        cities = self.local("city")
        if cities:
            return self.random.choice(cities)
        return self.random.choice((self.place, self.random.choice(lexicons.places()))).city

    def street(self) -> str:
        random = self.random
        if streets := self.local("street"):
            filled = shapes.filled(random.choice(streets), random)
            return _PART.sub(lambda m: self._part(m[1]), filled)
        text = shapes.filled(random.choice(shapes.STREETS), random)
        return (
            text.replace("{street}", self.street_name())
            .replace("{abroad}", random.choice(_values()["places"]["abroad"]))
            .replace("{n}th", shapes.ordinal(random.randrange(1, 190)))
        )

    def street_name(self) -> str:
        random = self.random
        if random.random() < 0.5:
            name = random.choice(lexicons.pool("streets")).text
        else:
            suffix = random.choice(_STREET_SUFFIXES)
            name = f"{random.choice((_surname(random)[0], random.choice(_values()['places']['noun'])))} {suffix}"
        word, _, last = name.rpartition(" ")
        return f"{word} {_SHORT_SUFFIXES[last]}" if last in _SHORT_SUFFIXES and random.random() < 0.5 else name

    def hospital(self) -> str:
        return self.pooled("hospitals", "hospital", 0.2)

    def pooled(self, pool: str, kind: str, share: float) -> str:
        """A name of the pool, or one composed: the pools repeat their first words."""
        if self.home is None and self.random.random() < share:
            return self.random.choice(lexicons.pool(pool)).text
        return self.composed(kind)

    def composed(self, kind: str) -> str:
        """A name made of parts: `{last} Family Medicine`."""
        patterns = self.local(kind) or _values()["places"][kind]
        return _PART.sub(lambda m: self._part(m[1]), self.random.choice(patterns))

    def _part(self, name: str) -> str:
        random, values = self.random, _values()["places"]
        if name in _PARTS:
            return random.choice(values[_PARTS[name]])
        match name:
            case "last" | "last2":
                return _surname(random)[0] if random.random() < 0.6 else _drawn("last", random).text
            case "first":
                return _first_name(random, random.random() < 0.5, None)
            case "city":
                return self.city()
            case "state":
                return self.place.state
            case "stateful":
                return shapes.STATES.get(self.place.state, self.place.state)
            case "n2":
                return str(random.randrange(2, 1300))
            case "nth":
                return shapes.ordinal(random.randrange(1, 12))
            case "nth2":
                return shapes.ordinal(random.randrange(12, 400))
            case "nword":
                return shapes.words(random.randrange(1, 10)).capitalize()
            case "dl":
                return random.choice("ABCDEWNS")
            case "abbr":
                return shapes.filled(random.choice(("@@@", "@@@", "@@@@")), random)
            case _:  # n
                return str(random.randrange(2, 12))


_PART = re.compile(r"\{(\w+)\}")
_PARTS: Mapping[str, str] = {
    "adj": "adjective", "noun": "noun", "noun2": "noun", "d": "ward_word", "w": "noun", "virtue": "virtue",
    "saint": "saint", "country": "countries", "spec": "spec", "spec2": "spec", "corp": "corp", "trade": "trade",
}  # fmt: skip
_STREET_SUFFIXES = (
    "Street", "Avenue", "Road", "Drive", "Lane", "Court", "Circle", "Boulevard", "Way", "Place", "Terrace", "Trail",
    "Parkway", "Pike", "Loop", "Square", "Run", "Path", "Alley", "Row", "Crossing", "Hollow", "Ridge Road",
)  # fmt: skip
_SHORT_SUFFIXES: Mapping[str, str] = {
    "Street": "St", "Avenue": "Ave", "Road": "Rd.", "Drive": "Dr", "Lane": "Ln", "Court": "Ct.", "Circle": "Cir",
    "Boulevard": "Blvd", "Place": "Pl", "Terrace": "Ter", "Parkway": "Pkwy", "Square": "Sq.", "Way": "Wy",
}  # fmt: skip


def _days_lived(random: Random) -> int:
    """Mostly adults; some children; the very old more often than in life, for theirs are the ages that must go."""
    draw = random.random()
    years = random.uniform(1, 18) if draw < 0.1 else random.uniform(89, 104) if draw < 0.17 else random.uniform(18, 90)
    return int(years * 365.25)


@cache
def _by_origin(pool: str) -> Mapping[str, tuple[lexicons.PoolEntry, ...]]:
    found: dict[str, list[lexicons.PoolEntry]] = {}
    for entry in lexicons.pool(pool):
        found.setdefault(entry.origin, []).append(entry)
    return {origin: tuple(entries) for origin, entries in found.items()}


def _drawn(pool: str, random: Random, origin: str | None = None) -> lexicons.PoolEntry:
    """A name: of the origin wanted, or of an origin drawn evenly, so that no people is rare."""
    groups = _by_origin(pool)
    return random.choice(groups[origin if origin is not None and origin in groups else random.choice(tuple(groups))])


@cache
def _listed() -> tuple[str, ...]:
    return tuple(word for word in lexicons.words() if word.isalpha() and 2 < len(word) < 15)


_COMMON = 100_000  # uses in lower case in 10⁹ words: "the" is no surname here, though some bear it
_CAP = 4_000.0


def _rare(random: Random, count: Callable[[lexicons.WordRow], int]) -> str:
    """A name of the lists, weighted by the root of how many bear it: words drawn evenly, kept by that chance."""
    listed, words = _listed(), lexicons.words()
    while True:
        word = random.choice(listed)
        row = words.get(word)
        if random.random() < (count(row) / _CAP) ** 0.5 and row.lower < _COMMON:
            name = word.capitalize()
            if name.startswith("Mc") and len(name) > 4 and random.random() < 0.8:
                name = f"Mc{name[2:].capitalize()}"
            return name


_WORLD = 0.14  # of the people, who have both names of one origin drawn evenly from some sixty


def _worldly(random: Random, female: bool) -> tuple[str, str]:
    """Given name and surname of one origin: the other pools hold few names of most peoples."""
    values = _values()
    origin = random.choice(tuple(values["world_last"]))
    return random.choice(values["world_female" if female else "world_male"][origin]), random.choice(
        values["world_last"][origin]
    )


def _surname(random: Random) -> tuple[str, str | None]:
    """A surname and its origin if known: pool, rare, a word of the language, with a particle, foreign, coined."""
    names, draw = _values()["names"], random.random()
    if draw < 0.45:
        entry = _drawn("last", random)
        return entry.text, entry.origin
    if draw < 0.72:
        return _rare(random, lambda row: row.last), None
    if draw < 0.82:
        return random.choice(names["last_word"]), "anglo"
    if draw < 0.88:
        parts = {"last": _drawn("last", random).text, "last2": _rare(random, lambda row: row.last)}
        word = random.choice(_values()["places"]["noun"])
        return _PART.sub(lambda m: parts.get(m[1], word), random.choice(names["particled"])), None
    if draw < 0.93:
        return random.choice(names["last_foreign"]), None
    return shapes.coined(random), None


def _first_name(random: Random, female: bool, origin: str | None) -> str:
    names, draw = _values()["names"], random.random()
    if draw < 0.58:
        return _drawn(
            "first_female" if female else "first_male", random, origin if random.random() < 0.7 else None
        ).text
    if draw < 0.8:
        return _rare(random, (lambda row: row.female) if female else (lambda row: row.male))
    if draw < 0.88:
        return random.choice(names["first_word"])
    if draw < 0.93:
        return random.choice(names["first_foreign"])
    if draw < 0.96:
        return f"{_drawn('first_female' if female else 'first_male', random).text}-{random.choice(('Ann', 'Lee', 'Marie', 'Paul', 'Jo', 'Ray', 'Min'))}"  # noqa: E501
    return shapes.coined(random)


@cache
def _nicknames() -> Mapping[str, tuple[str, ...]]:
    """From given name to its nicknames."""
    found: dict[str, list[str]] = {}
    for nick, names in lexicons.nicknames().items():
        for name in names:
            found.setdefault(name, []).append(nick.capitalize())
    return {name: tuple(nicks) for name, nicks in found.items()}


_PLAYED = (
    "Bud", "Bubba", "Skip", "Sonny", "Dot", "Chip", "Red", "Tiny", "Junior", "Peaches", "Ace", "Mimi", "Nan",
    "Papa Joe", "Sissy", "Boots", "Tex", "Cookie", "Chico", "JJ", "T.J.", "Bear", "Duke", "Lucky", "Moose",
)  # fmt: skip


def _nickname(first: str, random: Random) -> str:
    known = _nicknames().get(first.lower())
    if known and random.random() < 0.75:
        return random.choice(known)
    return first[:4].rstrip("-") if len(first) > 5 and random.random() < 0.5 else random.choice(_PLAYED)


# --- slots -----------------------------------------------------------------------------------------------------------

_Fill = Callable[[Story], str]


def _filled(patterns: Sequence[str], kind: str = "") -> _Fill:
    """A number in one of the patterns, or in one of the note's country's."""

    def fill(story: Story) -> str:
        local = story.local(kind) if kind else ()
        return shapes.filled(story.random.choice(local or patterns), story.random)

    return fill


def _composed(kind: str) -> _Fill:
    return lambda story: story.composed(kind)


def _short(name: str, random: Random) -> str:
    """How staff call a hospital: its name without the common words, or its initials."""
    kept = re.sub(
        r",? (?:Regional |Community |Memorial |General |University )?"
        r"(?:Hospital|Medical Center|Health(?: System|care)?|Clinic|Center|Infirmary|Institute)(?: .*)?$", "", name,
    )  # fmt: skip
    initials = "".join(word[0] for word in name.split() if word[0].isupper())
    return initials if len(initials) > 2 and random.random() < 0.35 else kept or name


# The pool of professions holds word pairs that nobody works as ("director orange").
_NO_JOB = re.compile(r"(?:director|manager|head|chief|sub|boss|expert|no|supervisor|officer) |.* (?:boss|expert)$")


@cache
def _jobs() -> tuple[str, ...]:
    return tuple(e.text.lower() for e in lexicons.pool("professions") if not _NO_JOB.match(e.text.lower()))


def _job(story: Story) -> str:
    random = story.random
    job = random.choice(_jobs()) if random.random() < 0.3 else random.choice(_values()["people"]["job"])
    if random.random() < 0.12 and " " not in job:
        return random.choice(_values()["people"]["job_prefix"]) + job
    return capwords(job) if random.random() < 0.08 and job.islower() else job


def _verb(place: int) -> _Fill:
    return lambda story: story.random.choice(_values()["people"]["job_verb"]).split("|")[place]


_DOUBLED = (
    "run",
    "cut",
    "trim",
    "program",
    "dig",
    "log",
    "set",
    "fit",
    "trap",
    "babysit",
    "sit",
    "shovel",
    "gut",
    "bag",
    "chop",
    "flip",
    "hem",
    "knit",
    "map",
    "rig",
    "skin",
    "spin",
    "strip",
    "tan",
    "top",
)


def _bare_verb(story: Story) -> str:
    """`drive a forklift`, as in `used to …`."""
    verb, _, rest = _verb(0)(story).partition(" ")
    return f"{_bare(verb)} {rest}".rstrip()


def _gerund(story: Story) -> str:
    """`driving a forklift`, as in `made a living …`."""
    verb, _, rest = _verb(0)(story).partition(" ")
    bare = _bare(verb)
    if bare in _DOUBLED:
        stem = bare + bare[-1]
    else:
        stem = bare.removesuffix("e") if not bare.endswith(("ye", "ee", "oe")) else bare
    return f"{stem}ing {rest}".rstrip()


def _bare(verb: str) -> str:
    """A verb without its s: drives, teaches, flies → drive, teach, fly."""
    if verb.endswith("ies") and len(verb) > 4:
        return verb[:-3] + "y"
    return verb[:-2] if verb.endswith(("ches", "shes", "xes", "does", "sses", "zzes")) else verb.removesuffix("s")


def _plural(word: str) -> str:
    if re.search(r"(?:wo)?man$", word):
        return word[:-2] + "en"
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word if word.endswith("s") else word + ("es" if word.endswith(("ch", "sh", "x")) else "s")


def _number_of_age(story: Story) -> int:
    return story.random.randrange(1, 103)


def _earlier_age(story: Story) -> int:
    return story.random.randrange(min(3, story.age), story.age + 1)


def _last_first(story: Story) -> str:
    if story.random.random() < 0.75:
        return story.fixed["lastfirst"]
    return story.patient.written(shapes.LAST_FIRST, story.random)


def _city(story: Story) -> str:
    if story.random.random() < 0.1:
        return story.random.choice(_values()["places"]["foreign_city"])
    return story.city()


_OLD_STATES: Mapping[str, str] = {
    "MA": "Mass.", "CA": "Calif.", "PA": "Penna.", "CT": "Conn.", "FL": "Fla.", "TX": "Tex.", "AZ": "Ariz.",
    "WA": "Wash.", "OR": "Ore.", "TN": "Tenn.", "AL": "Ala.", "WV": "W. Va.", "VA": "Va.", "NY": "N.Y.", "NJ": "N.J.",
    "NC": "N.C.", "SC": "S.C.", "MI": "Mich.", "MN": "Minn.", "IL": "Ill.", "CO": "Colo.", "WI": "Wisc.", "GA": "Ga.",
}  # fmt: skip


def _state(story: Story) -> str:
    if regions := story.local("state"):
        return story.random.choice(regions)
    code, draw = story.place.state, story.random.random()
    if draw < 0.1:
        return _OLD_STATES.get(code, code)
    return shapes.STATES.get(code, code) if draw < 0.2 else code


def _state_full(story: Story) -> str:
    if regions := story.local("state"):
        return story.random.choice(regions)
    return shapes.STATES.get(story.place.state, story.place.state)


_POSTCODES = ("@@% %@@", "@%# %@@", "@%@ %@%", "@#@ #@#", "####", "## ###")


def _zip(story: Story) -> str:
    if codes := story.local("zip"):
        return shapes.filled(story.random.choice(codes), story.random)
    if story.random.random() < 0.04:
        return shapes.filled(story.random.choice(_POSTCODES), story.random)
    return story.place.zip5 + shapes.filled(story.random.choice(("", "", "", "", "-####")), story.random)


def _country(story: Story) -> str:
    if story.random.random() < 0.85:
        return story.random.choice(_values()["places"]["countries"]).removeprefix("the ")
    return story.random.choice(lexicons.pool("countries")).text


def _place(story: Story) -> str:
    random, draw = story.random, story.random.random()
    if draw < 0.3:
        return random.choice(lexicons.pool("landmarks")).text
    if draw < 0.5:
        return story.composed("county")
    if draw < 0.8:
        return story.composed("place").removeprefix("the ")
    return (
        shapes.filled(random.choice(shapes.ROADS), random).replace("{street}", story.street_name()).removeprefix("the ")
    )


def _by_sex(female: Sequence[str], male: Sequence[str]) -> _Fill:
    return lambda story: story.random.choice(female if story.patient.female else male)


def _plain_date(shape: str, day: Callable[[Story], date]) -> _Fill:
    return lambda story: shapes.dated({shape: 1}, day(story), story.random)


def _username(story: Story) -> str:
    who = story.random.choice(story.doctors)
    shape = story.random.choice(shapes.USERNAMES).format(
        initial=who.first[0].lower(), first=_plain(who.first), middle=who.middle[0].lower(), last=_plain(who.last)[:9]
    )
    return shapes.filled(shape, story.random)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", lexicons.fold(name)) or "user"


def _email(story: Story) -> str:
    who = story.random.choice([story.patient, *story.doctors])
    first, last = _plain(who.first), _plain(who.last)
    local = story.random.choice((
        f"{first}.{last}", f"{first[:1]}{last}", f"{first}_{last}", f"{last}{story.born:%y}", f"{first}{last}",
        f"{last}.{first[:1]}", f"{_plain(who.nick)}{story.random.randrange(1000)}", f"{first}-{last}", "records",
        "info", "referrals", f"dr{last}", f"{last}family",
    ))  # fmt: skip
    return f"{local}@{_host(story)}"


def _host(story: Story) -> str:
    return re.sub(r"[^a-z0-9.-]", "", lexicons.fold(story.composed("email_host")))


def _url(story: Story) -> str:
    random = story.random
    path = random.choice((
        "", "", "/portal", f"/visit?id={random.randrange(9999)}", f"/p/{random.randrange(99999)}", "/refer",
        "/results/view", "/mychart", f"/forms/{random.randrange(99)}.pdf", "/~" + _plain(story.doctors[0].last), "/",
    ))  # fmt: skip
    return (
        f"{random.choice(('https://', 'http://', 'www.', 'https://www.', 'portal.', 'mychart.'))}{_host(story)}{path}"
    )


def _ip(story: Story) -> str:
    random = story.random
    if random.random() < 0.12:
        return ":".join(f"{random.randrange(65536):x}" for _ in range(8))
    first = random.choice(("10.", "10.", "192.168.", "172.16.", f"{random.randrange(1, 224)}."))
    return first + ".".join(str(random.randrange(1, 255)) for _ in range(4 - first.count(".")))


_P, _D = Label.PATIENT, Label.DOCTOR
_PATIENT_FULL = {**shapes.FULL_NAMES, **{shape: weight / 4 for shape, weight in shapes.NICKED.items()}}
_PERSON_FULL = {
    "{first} {last}": 20,
    **{shape: w / 4 for shape, w in shapes.FULL_NAMES.items() if shape != "{first} {last}"},
}
_ANY_NAME = {**shapes.FULL_NAMES, **shapes.LAST_FIRST, "{last}": 5, "{first}": 3, "{LAST}": 0.5}


_INITIALS = ("{}.{}.", "{}{}", "{}. {}.", "{}.{}")
_DICTATION = (
    "{0}:{1}", "{0}/{1}", "{0}/{1}", "{2}/{1}", "{2}/{1}", "{2}:{1}", "{0}/{3}", "{0}:{3}", "{2}/{3}/{1}", "{0}-{1}",
    "{0}/{1}{4}", "{2}/{1}{4}", "{0}:{1}{4}", "{0} : {1}", "{0}/{4}", "{0}{3}:{1}", "{0}/{3}{4}",
    "{2} / {1}", "{0};{1}", "{0}.{1}", "{0}|{1}", "{2}:{3}:{1}",
)  # fmt: skip
_HIDDEN = ("", "xxx-xx-", "***-**-", "XXX-XX-", "xxxxx")


def _dictation(story: Story) -> str:
    """Who dictated and who typed: `JW/kl`, `wrt:emh`, `AB/tr118`."""
    random = story.random
    first, second, third = (person.monogram(random) for person in (story.doctors[0], story.person(), story.person()))
    return random.choice(_DICTATION).format(
        first, second.lower(), first.lower(), third, shapes.filled(random.choice(("#", "##", "%##", "?#")), random)
    )


def _spelled(name: str, random: Random) -> str:
    """As a dictation spells a name: `S-M-I-T-H`, `s m i t h`."""
    letters = [char for char in name if char.isalpha()]
    joint = random.choice(("-", " ", "-", ". "))
    return joint.join(letters).upper() if random.random() < 0.5 else joint.join(letters).lower()


def _said(digits: int, random: Random) -> str:
    """A number read out: `four four seven one oh two`."""
    return " ".join("oh" if not digit and random.random() < 0.4 else shapes.words(digit)
                    for digit in (random.randrange(10) for _ in range(digits)))  # fmt: skip


def _time(random: Random) -> str:
    """A time of day, which is no identifier: `0431`, `1925`, `7:05 p.m.`, `14:20`."""
    hour, minute = random.randrange(24), random.randrange(60)
    return random.choice((
        f"{hour:02d}{minute:02d}", f"{hour:02d}{minute:02d}", f"{hour:02d}:{minute:02d}", f"{hour:02d}:{minute:02d}",
        f"{hour % 12 + 1}:{minute:02d} p.m.", f"{hour % 12 + 1}:{minute:02d} AM", f"{hour % 12 + 1}:{minute:02d}",
        f"{hour % 12 + 1} pm", f"{hour:02d}00", f"{hour:02d}{minute:02d}h", f"{hour:02d}{minute:02d} hrs", "noon",
        f"{hour % 12 + 1}:{minute:02d}a",
    ))  # fmt: skip


def _fraction(story: Story) -> str:
    """A score or a share that looks like a date: `11/12`, `3/16`."""
    whole = story.random.choice((3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 15, 16, 18, 20, 24, 27, 28, 30, 31, 36, 40, 60))
    return f"{story.random.randrange(whole + 1)}/{whole}"


@cache
def _drugs() -> tuple[str, ...]:
    """The lists' drugs, as brands are written."""
    words = lexicons.words()
    return tuple(word.capitalize() for word in _listed() if words.get(word).kinds & lexicons.Kind.DRUG)


@cache
def _eponyms() -> tuple[str, ...]:
    words = lexicons.words()
    return tuple(word.capitalize() for word in _listed() if words.get(word).kinds & lexicons.Kind.EPONYM)


def _instrument(story: Story) -> str:
    """`Vandermeer retractor`, `Kelly clamp`: what is called after somebody is nobody's name."""
    random = story.random
    name = random.choice(_eponyms()) if random.random() < 0.6 else _rare(random, lambda row: row.last)
    return f"{name} {random.choice(_values()['clinical']['tool'])}"


_VARIANTS = (
    "c.%##@>@", "c.%##_%##del@@", "p.@%##@", "p.Arg%##Gln", "p.Val%###Ala", "p.Gly%##Ter", "@%###@", "rs%######",
    "c.%###+%@>@", "NM_######.%", "exon ##", "t(%;##)", "del(%#)(q##)", "46,XX",
)  # fmt: skip


def _corner(story: Story) -> str:
    """Two streets that meet: `Main and Jefferson`."""
    names = [story.street_name().rpartition(" ")[0] for _ in range(2)]
    return story.random.choice((" and ", " & ", "/", " and ")).join(names)


def _street_spoken(story: Story) -> str:
    number = story.random.choice((story.random.randrange(1, 100), story.random.randrange(100, 999)))
    return f"{shapes.words(number).replace('-', ' ').replace(' and ', ' ')} {story.street_name().lower()}"


def _decade_of_age(story: Story) -> str:
    """`40s`, `forties`."""
    decade = min(90, max(20, story.age // 10 * 10))
    return shapes.DECADES[decade] if story.random.random() < 0.25 else f"{decade}s"


SLOTS: Mapping[str, tuple[Label | None, _Fill]] = {
    "patient": (_P, lambda s: s.patient.written(_ANY_NAME, s.random)),
    "patient.full": (_P, lambda s: s.patient.written(_PATIENT_FULL, s.random)),
    "patient.plain": (_P, lambda s: s.patient.written({"{first} {last}": 1}, s.random)),
    "patient.first": (_P, lambda s: s.patient.first),
    "patient.last": (_P, lambda s: s.patient.last),
    "patient.lastfirst": (_P, _last_first),
    "patient.nick": (_P, lambda s: s.patient.nick),
    "patient.initials": (_P, lambda s: s.random.choice(_INITIALS).format(*s.patient.initials)),
    "kin.first": (_P, lambda s: s.kin[1].first),
    "kin.full": (_P, lambda s: s.kin[1].written(_PERSON_FULL, s.random)),
    "kin.last": (_P, lambda s: s.kin[1].last),
    "person.full": (_P, lambda s: s.person().written(_PERSON_FULL, s.random)),
    "person.last": (_P, lambda s: s.person().last),
    "person.first": (_P, lambda s: s.person().first),
    "nurse.full": (_D, lambda s: s.person().written(_PERSON_FULL, s.random)),
    "nurse.lastfirst": (_D, lambda s: s.person().written(shapes.LAST_FIRST, s.random)),
    "nurse.initials": (_D, lambda s: s.person().initials),
    "person.lastfirst": (_P, lambda s: s.person().written(shapes.LAST_FIRST, s.random)),
    "nurse.first": (_D, lambda s: s.person().first),
    "nurse.last": (_D, lambda s: s.person().last),
    "dictation": (_D, _dictation),
    "patient.spelled": (_P, lambda s: _spelled(s.random.choice((s.patient.last, s.patient.first)), s.random)),
    "doctor.spelled": (_D, lambda s: _spelled(s.doctors[0].last, s.random)),
    "date.spoken": (Label.DATE, lambda s: shapes.spoken(s.near())),
    "dob.spoken": (Label.DATE, lambda s: shapes.spoken(s.born)),
    "mrn.spoken": (Label.MEDICALRECORD, lambda s: _said(s.random.randrange(5, 9), s.random)),
    "account.spoken": (Label.ACCOUNT, lambda s: _said(s.random.randrange(7, 11), s.random)),
    "phone.spoken": (Label.PHONE, lambda s: _said(s.random.choice((7, 10)), s.random)),
    "street.spoken": (Label.STREET, _street_spoken),
    "dob.dmy": (Label.DATE, lambda s: shapes.dated(shapes.DAY_FIRST, s.born, s.random)),
    "date.dmy": (Label.DATE, lambda s: shapes.dated(shapes.DAY_FIRST, s.near(), s.random)),
    "nhs": (Label.IDNUM, _filled(("%## ### ####", "%##-###-####", "%#########"), "nhs")),
    "username": (Label.USERNAME, _username),
    "date": (Label.DATE, lambda s: s.full_date(s.near())),
    "date2": (Label.DATE, lambda s: s.full_date(s.near())),
    "date.partial": (Label.DATE, lambda s: shapes.partial_date(s.near(6), s.random)),
    "date.year": (Label.DATE, lambda s: shapes.dated({"{yyyy}": 9, "'{yy}": 1}, s.near(30), s.random)),
    "date.month": (Label.DATE, _plain_date("{Month}", lambda s: s.near())),
    "date.weekday": (Label.DATE, lambda s: shapes.dated({"{Weekday}": 9, "{Wkd}": 2}, s.near(), s.random)),
    "date.weekdays": (Label.DATE, _plain_date("{Weekday}s", lambda s: s.near())),
    "date.md": (Label.DATE, _plain_date("{m}/{d}", lambda s: s.near())),
    "date.iso": (Label.DATE, _plain_date("{yyyy}-{mm}-{dd}", lambda s: s.near())),
    "date.digits": (Label.DATE, _plain_date("{yyyy}{mm}{dd}", lambda s: s.near())),
    "date.week": (Label.DATE, _plain_date("{week}", lambda s: s.near())),
    "dob.iso": (Label.DATE, _plain_date("{yyyy}-{mm}-{dd}", lambda s: s.born)),
    "dob.digits": (Label.DATE, _plain_date("{yyyy}{mm}{dd}", lambda s: s.born)),
    "date.season": (Label.DATE, _plain_date("{season}", lambda s: s.near())),
    "date.holiday": (Label.DATE, _plain_date("{holiday}", lambda s: s.near())),
    "date.holidayyear": (Label.DATE, lambda s: shapes.dated(shapes.HOLIDAY_YEARS, s.near(9), s.random)),
    "date.seasonyear": (Label.DATE, lambda s: shapes.dated(shapes.SEASON_YEARS, s.near(9), s.random)),
    "date.monthyear": (Label.DATE, lambda s: shapes.dated(shapes.MONTH_YEARS, s.near(8), s.random)),
    "date.decade": (Label.DATE, _plain_date("{decade}s", lambda s: s.near(40))),
    "dob": (Label.DATE, lambda s: shapes.dated({s.fixed_shape: 1}, s.born, s.random)),
    "admit": (Label.DATE, lambda s: shapes.dated({s.fixed_shape: 1}, s.day - timedelta(days=4), s.random)),
    "discharge": (Label.DATE, lambda s: shapes.dated({s.fixed_shape: 1}, s.day, s.random)),
    "age": (Label.AGE, lambda s: str(s.age)),
    "age.words": (Label.AGE, lambda s: shapes.words(s.age)),
    "age.past": (Label.AGE, lambda s: str(_earlier_age(s))),
    "age.decade": (Label.AGE, lambda s: _decade_of_age(s)),
    "kinage": (Label.AGE, lambda s: str(_number_of_age(s))),
    "kinage.words": (Label.AGE, lambda s: shapes.words(_number_of_age(s))),
    "hospital": (Label.HOSPITAL, lambda s: s.hospitals[0]),
    "hospital.short": (Label.HOSPITAL, lambda s: _short(s.hospitals[0], s.random)),
    "hospital.any": (Label.HOSPITAL, lambda s: s.hospital()),
    "hospital2": (Label.HOSPITAL, lambda s: s.hospitals[1]),
    "hospital2.short": (Label.HOSPITAL, lambda s: _short(s.hospitals[1], s.random)),
    "clinic": (Label.HOSPITAL, _composed("clinic")),
    "clinic2": (Label.HOSPITAL, _composed("clinic")),
    "clinic.short": (Label.HOSPITAL, lambda s: s.composed("clinic").rsplit(" ", 1)[0]),
    "nursinghome": (Label.HOSPITAL, lambda s: s.composed("nursinghome").removeprefix("The ")),
    "ward": (Label.HOSPITAL, _composed("ward")),
    "dept": (Label.DEPARTMENT, _composed("dept")),
    "room": (Label.ROOM, lambda s: shapes.filled(s.random.choice(shapes.ROOMS), s.random).removeprefix("Bed ")),
    "room2": (Label.ROOM, _filled(("%##", "%##-@"))),
    "org": (Label.ORGANIZATION, lambda s: s.pooled("organizations", "org", 0.2)),
    "employer": (Label.ORGANIZATION, lambda s: s.pooled("organizations", "employer", 0.2)),
    "school": (Label.ORGANIZATION, lambda s: s.pooled("schools", "school", 0.2)),
    "church": (Label.ORGANIZATION, _composed("church")),
    "union": (Label.ORGANIZATION, _composed("union")),
    "club": (Label.ORGANIZATION, _composed("club")),
    "military": (Label.ORGANIZATION, lambda s: s.composed("military").removeprefix("the ")),
    "police": (Label.ORGANIZATION, _composed("police")),
    "ems": (Label.ORGANIZATION, _composed("ems")),
    "pharmacy": (Label.ORGANIZATION, _composed("pharmacy")),
    "agency": (Label.ORGANIZATION, _composed("agency")),
    "profession": (Label.PROFESSION, _job),
    "profession.plural": (Label.PROFESSION, lambda s: _plural(_job(s))),
    "profession.verb": (Label.PROFESSION, _verb(0)),
    "profession.past": (Label.PROFESSION, _verb(1)),
    "profession.bare": (Label.PROFESSION, _bare_verb),
    "profession.ing": (Label.PROFESSION, _gerund),
    "street": (Label.STREET, lambda s: s.fixed["street"] if s.random.random() < 0.6 else s.street()),
    "road": (Label.LOCATION_OTHER, lambda s: s.street_name()),
    "city": (Label.CITY, _city),
    "state": (Label.STATE, _state),
    "state.code": (Label.STATE, lambda s: s.place.state),
    "state.full": (Label.STATE, _state_full),
    "zip": (Label.ZIP, _zip),
    "country": (Label.COUNTRY, _country),
    "place": (Label.LOCATION_OTHER, _place),
    "pobox": (Label.LOCATION_OTHER, _filled(shapes.BOXES)),
    "county": (Label.LOCATION_OTHER, _composed("county")),
    "neighbourhood": (Label.LOCATION_OTHER, lambda s: s.composed("neighbourhood").removeprefix("the ")),
    "phone": (Label.PHONE, _filled(shapes.PHONES, "phone")),
    "phone.short": (Label.PHONE, _filled(("555-####", "%##-####", "%-####"))),
    "ext": (Label.PHONE, _filled(shapes.EXTENSIONS)),
    "xt": (Label.PHONE, _filled(("x####", "x###", "x%####", "X####", "x%-####", "%-####"))),
    "pager": (Label.PHONE, _filled(shapes.PAGERS)),
    "fax": (Label.FAX, _filled(shapes.FAXES, "phone")),
    "email": (Label.EMAIL, _email),
    "url": (Label.URL, _url),
    "ip": (Label.IPADDR, _ip),
    "ssn": (Label.SSN, lambda s: s.fixed["ssn"] if s.random.random() < 0.8 else s.fixed["ssn"].replace("-", "")),
    "ssn.last4": (Label.SSN, lambda s: s.random.choice(_HIDDEN) + s.fixed["ssn"][-4:]),
    "mrn": (Label.MEDICALRECORD, lambda s: s.fixed["mrn"]),
    "mrn.other": (Label.MEDICALRECORD, _filled(shapes.MRNS)),
    "account": (Label.ACCOUNT, lambda s: s.fixed["account"]),
    "plan": (Label.HEALTHPLAN, _filled(shapes.PLANS)),
    "license": (Label.LICENSE, _filled(shapes.LICENSES)),
    "vehicle": (Label.VEHICLE, _filled(shapes.VEHICLES)),
    "vessel": (Label.VEHICLE, _composed("vessel")),
    "device": (Label.DEVICE, _filled(shapes.DEVICES)),
    "mac": (Label.DEVICE, lambda s: ":".join(f"{s.random.randrange(256):02X}" for _ in range(6))),
    "bioid": (Label.BIOID, _filled(shapes.BIOIDS)),
    "idnum": (Label.IDNUM, _filled(shapes.IDNUMS)),
    "time": (None, lambda s: _time(s.random)),
    "num": (None, lambda s: str(s.random.randrange(10, 200))),
    "dec": (None, lambda s: f"{s.random.randrange(1, 90)}.{s.random.randrange(1, 99)}"),
    "frac": (None, _fraction),
    "drug": (None, lambda s: s.random.choice(_drugs() if s.random.random() < 0.5 else _values()["clinical"]["drug"])),
    "instrument": (None, _instrument),
    "variant": (None, lambda s: shapes.filled(s.random.choice(_VARIANTS), s.random)),
    "role": (None, lambda s: s.random.choice(_values()["clinical"]["staff"])),
    "typist": (_D, lambda s: s.person().monogram(s.random).lower()),
    "corner": (Label.LOCATION_OTHER, _corner),
    "Mr": (None, _by_sex(("Mrs.", "Ms.", "Miss", "Ms"), ("Mr.", "Mr."))),
    "man": (None, _by_sex(("woman", "lady", "female"), ("man", "gentleman", "male"))),
    "sex": (None, _by_sex(("female", "F", "Female"), ("male", "M", "Male"))),
    "cred": (None, lambda s: s.random.choice(_values()["people"]["cred"])),
    "kin.he": (None, lambda s: "she" if s.kin[1].female else "he"),
    "kin.his": (None, lambda s: "her" if s.kin[1].female else "his"),
    "symptom2": (None, lambda s: s.random.choice(_values()["clinical"]["symptom"])),
    "dx2": (None, lambda s: s.random.choice(_values()["clinical"]["dx"])),
}  # fmt: skip


def tells(template: Template) -> bool:
    """Whether a template can hold an identifier."""
    return any(
        any(map(tells, node.options)) if isinstance(node, Choice) else isinstance(node, Slot) and _labelled(node.name)
        for node in template
    )


def _labelled(name: str) -> bool:
    if name in SLOTS:
        return SLOTS[name][0] is not None
    return name not in _values()["clinical"] and name not in ("kin", "kin2") and name.lower() not in _PRONOUNS


_COUNTIES = ("uk", "ireland")  # where a county stands in place of a state
_PRONOUNS = {"he": ("she", "he"), "him": ("her", "him"), "his": ("her", "his"), "himself": ("herself", "himself")}
_DOCTOR_FORMS: Mapping[str, Callable[[Person, Random], str]] = {
    "": lambda p, r: p.written(shapes.SHORT_NAMES, r),
    ".last": lambda p, _: p.last,
    ".full": lambda p, r: p.written(shapes.FULL_NAMES, r),
    ".first": lambda p, _: p.first,
    ".plain": lambda p, _: f"{p.first} {p.last}",
    ".lastfirst": lambda p, r: p.written(shapes.LAST_FIRST, r),
    ".initials": lambda p, _: p.initials,
}


def fill(name: str, story: Story) -> tuple[Piece, ...]:
    """The pieces that a slot becomes in this story: one, or an identifier and what hangs on it."""
    if name in SLOTS:
        label, fill = SLOTS[name]
        if label is Label.STATE and story.home in _COUNTIES:
            return (Piece(story.random.choice(_values()[story.home]["county"]), Label.LOCATION_OTHER),)
        return (Piece(fill(story), label),)
    if name in _COMPOUNDS:
        return _COMPOUNDS[name](story)
    if name.lower() in _PRONOUNS:
        word = _PRONOUNS[name.lower()][0 if story.patient.female else 1]
        return (Piece(word if name[0].islower() else word.capitalize()),)
    if name in ("kin", "kin2"):
        story.kin = story.relative()
        return (Piece(story.kin[0]),)
    if name.startswith("doctor"):
        number, dot, form = name.removeprefix("doctor").partition(".")
        if (number == "" or number in "2345") and dot + form in _DOCTOR_FORMS:
            person = story.doctors[int(number or 1) - 1]
            return (Piece(_DOCTOR_FORMS[dot + form](person, story.random), Label.DOCTOR),)
    values = _values()["clinical"]
    if name in values:
        return (Piece(story.random.choice(values[name])),)
    raise FormatError(f"a slot {{{name}}} that does not exist")


# --- compounds -------------------------------------------------------------------------------------------------------


_OLD: Mapping[str, float] = {
    "-year-old": 12, " year old": 6, "-yr-old": 1, " yr old": 1, " yrs old": 1, " years old": 1, " y/o": 5, "y/o": 2,
    " yo": 5, "yo": 4, " y.o.": 3, "y.o.": 1, "-year old": 1, " year-old": 1, "-y-o": 0.3, "yr old": 0.5, " yr.": 0.3,
    "-yo": 0.5,
}  # fmt: skip


def _aged(age: Callable[[Story], int]) -> Callable[[Story], tuple[Piece, ...]]:
    """`54-year-old`, `54yo`, `fifty-four year old`: the number alone is the age."""

    def pieces(story: Story) -> tuple[Piece, ...]:
        suffix = shapes.drawn(_OLD, story.random)
        number = age(story)
        spelt = suffix[0] in " -" and story.random.random() < 0.06
        return (Piece(shapes.words(number) if spelt else str(number), Label.AGE), Piece(suffix))

    return pieces


# "an EMT", "an LPN" as they are said; "a union carpenter", "a UPS driver", "a one-room schoolteacher"
_AN = re.compile(r"(?!(?i:uni|use|eu|one)|U[A-Z])(?i:[aeiou]|honor|hour)|(?!NICU|SPED)[FHLMNRSX](?:[A-Z]|-ray|&)")


def _with_article(story: Story) -> tuple[Piece, ...]:
    job = _job(story)
    article = "an " if _AN.match(job) else "a "
    retired = story.random.random() < 0.06
    return (Piece("a retired " if retired else article), Piece(job, Label.PROFESSION))


def _clock(story: Story) -> tuple[str, str, str]:
    return (
        f"{story.random.randrange(24):02d}",
        f"{story.random.randrange(60):02d}",
        f"{story.random.randrange(60):02d}",
    )


def _timestamp(story: Story) -> tuple[Piece, ...]:
    """An ISO or HL7 time: the times of day are no identifiers, so the span ends with the day."""
    hour, minute, second = _clock(story)
    shape, tail = story.random.choice((
        ("{yyyy}-{mm}-{dd}", f"T{hour}:{minute}:{second}Z"), ("{yyyy}-{mm}-{dd}", f"T{hour}:{minute}"),
        ("{yyyy}-{mm}-{dd}", f" {hour}:{minute}:{second}"), ("{yyyy}-{mm}-{dd}", f"T{hour}:{minute}:{second}-05:00"),
        ("{yyyy}{mm}{dd}", f"{hour}{minute}"), ("{yyyy}{mm}{dd}", f"{hour}{minute}{second}"),
        ("{mm}/{dd}/{yyyy}", f"@{hour}{minute}"), ("{mm}/{dd}/{yy}", f" {hour}:{minute}"),
        ("{dd}-{Mon}-{yyyy}", f" {hour}:{minute}"), ("{m}/{d}/{yyyy}", f" {int(hour) % 12 + 1}:{minute} PM"),
        ("{Mon} {d}, {yyyy}", f" @ {hour}:{minute}"),
    ))  # fmt: skip
    return (Piece(shapes.dated({shape: 1}, story.near(), story.random), Label.DATE), Piece(tail))


_RANGES: Mapping[str, float] = {
    "{m}/{d}": 5, "{mm}/{dd}": 2, "{m}/{d}/{yy}": 4, "{mm}/{dd}/{yyyy}": 3, "{yyyy}": 4, "{Month}": 1, "{Month} {d}": 2,
    "{Month} {yyyy}": 2, "{Abbr} {d}": 1, "{Wkd}": 1, "{m}/{yy}": 1, "{yyyy}-{mm}-{dd}": 1,
}  # fmt: skip


def _range(story: Story) -> tuple[Piece, ...]:
    """Two dates: `3/4-3/7`, `1999 to 2003`."""
    shape, random = shapes.drawn(_RANGES, story.random), story.random
    joints = (
        (" - ", " to ", " through ", " – ")
        if shape == "{yyyy}-{mm}-{dd}"
        else ("-", "-", "-", " - ", " to ", "–", " thru ")
    )
    start = story.near(8)
    end = start + timedelta(days=random.randrange(1, 900 if "d" not in shape.replace("Wkd", "d") else 20))
    return (
        Piece(shapes.dated({shape: 1}, start, random), Label.DATE),
        Piece(random.choice(joints)),
        Piece(shapes.dated({shape: 1}, end, random), Label.DATE),
    )


_JOINTS = (", ", ", ", "\n", " ", " | ", "; ", " - ", ",  ", " / ", "   ")


def _address(*names: str) -> Callable[[Story], tuple[Piece, ...]]:
    """Parts of an address and what stands between them: commas, blanks, lines."""

    def pieces(story: Story) -> tuple[Piece, ...]:
        joints = {"": story.random.choice(_JOINTS), "state": story.random.choice((", ", ", ", " ")), "zip": " "}
        found: list[Piece] = []
        for name in names:
            if found:
                found.append(Piece(joints.get(name, joints[""])))
            found.extend(fill(name, story))
        return tuple(found)

    return pieces


def _signed(story: Story, person: Person) -> tuple[Piece, ...]:
    """A name and its credentials: `J. Smith, RN, BSN`, `Smith, John MD`."""
    random = story.random
    credential = random.choice(_values()["people"]["cred"])
    forms = shapes.LAST_FIRST if random.random() < 0.12 else shapes.FULL_NAMES
    joint = random.choice((", ", ", ", ", ", " ", ",", " ("))
    return (
        Piece(person.written(forms, random), Label.DOCTOR),
        Piece(f"{joint}{credential}{')' if joint == ' (' else ''}"),
    )


_COMPOUNDS: Mapping[str, Callable[[Story], tuple[Piece, ...]]] = {
    "age.yo": _aged(lambda s: s.age),
    "kinage.yo": _aged(_number_of_age),
    "profession.a": _with_article,
    "timestamp": _timestamp,
    "date.range": _range,
    "csz": _address("city", "state", "zip"),
    "citystate": _address("city", "state"),
    "addr": _address("street", "city", "state", "zip"),
    "boxaddr": _address("pobox", "city", "state", "zip"),
    "doctor.signed": lambda s: _signed(s, s.doctors[0]),
    "doctor2.signed": lambda s: _signed(s, s.doctors[1]),
    "doctor3.signed": lambda s: _signed(s, s.doctors[2]),
    "nurse.signed": lambda s: _signed(s, s.person()),
}
