"""Who and what a synthetic note speaks of, and what each slot of a template becomes in it."""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from random import Random

from deident import lexicons
from deident.corpus import shapes
from deident.corpus.templates import ROOM
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

    @property
    def initials(self) -> str:
        return self.first[0] + self.last[0]


@dataclass(slots=True)
class Story:
    """What one note speaks of: its people, places and dates, drawn once, and the chance that draws the rest."""

    random: Random
    patient: Person = field(init=False)
    doctors: list[Person] = field(init=False)
    kin: tuple[str, Person] = field(init=False)
    place: lexicons.PoolPlace = field(init=False)
    hospitals: list[str] = field(init=False)
    day: date = field(init=False)
    born: date = field(init=False)
    fixed_shape: str = field(init=False)
    fixed: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        random = self.random
        self.patient = self.person()
        self.doctors = [self.person() for _ in range(5)]
        self.kin = self.relative()
        self.place = random.choice(lexicons.places())
        self.hospitals = [random.choice(lexicons.pool("hospitals")).text for _ in range(2)]
        self.day = date(1988, 1, 1) + timedelta(days=random.randrange(37 * 365))
        self.born = self.day - timedelta(days=random.randrange(100, 98 * 365))
        self.fixed_shape = random.choices(tuple(shapes.FULL_DATES), tuple(shapes.FULL_DATES.values()))[0]
        # one patient has one number in all lines of a note
        self.fixed = {
            "mrn": shapes.filled(random.choice(shapes.MRNS), random),
            "account": shapes.filled(random.choice(shapes.ACCOUNTS), random),
            "ssn": shapes.filled("%##-##-####", random),
            "street": self.street(),
        }

    def person(self, *, origin: str | None = None, female: bool | None = None) -> Person:
        random = self.random
        last = _drawn("last", random, origin)
        kind = random.random() < 0.5 if female is None else female
        first = _drawn("first_female" if kind else "first_male", random, last.origin if random.random() < 0.7 else None)
        surname = last.text
        if random.random() < 0.05:
            surname += f"-{_drawn('last', random, last.origin).text}"
        return Person(first.text, surname, random.choice("ABCDEFGHJKLMNPRSTVWY"), kind)

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
        if self.random.random() < 0.15:
            years = 40
        return self.day - timedelta(days=int(self.random.random() ** 2 * years * 365))

    def street(self) -> str:
        name = self.random.choice(lexicons.pool("streets")).text
        return shapes.filled(self.random.choice(shapes.STREETS), self.random).replace("{street}", name)

    def composed(self, kind: str) -> str:
        """A name made of parts: `{last} Family Medicine`."""
        random, values = self.random, _values()["places"]
        return (
            random.choice(values[kind])
            .replace("{last}", _drawn("last", random).text)
            .replace("{last2}", _drawn("last", random).text)
            .replace("{first}", _drawn("first_female", random).text)
            .replace("{city}", random.choice(lexicons.places()).city)
            .replace("{state}", self.place.state)
            .replace("{adj}", random.choice(values["adjective"]))
            .replace("{noun}", random.choice(values["noun"]))
            .replace("{noun2}", random.choice(values["noun"]))
            .replace("{d}", random.choice(values["ward_word"]))
            .replace("{w}", random.choice(values["noun"]))
            .replace("{n2}", str(random.randrange(2, 1300)))
            .replace("{n}", str(random.randrange(2, 12)))
        )


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


# --- slots -----------------------------------------------------------------------------------------------------------

_Fill = Callable[[Story], str]


def _shape_of_name(person: Person, random: Random) -> str:
    first, last, middle = person.first, person.last, person.middle
    forms = {
        f"{first} {last}": 8, last: 5, f"{last}, {first}": 5, f"{first} {middle}. {last}": 4,
        f"{last}, {first} {middle}": 3,
        f"{last.upper()}, {first.upper()}": 3, f"{last.upper()}, {first.upper()} {middle}": 2, f"{first[0]}. {last}": 2,
        f"{first} {middle} {last}": 2, first: 3, f"{last}, {first} {middle}.": 1, f"{last.upper()},{first.upper()}": 1,
        f"{first} {last}, Jr.": 0.5, f"{first[0]}.{middle}. {last}": 0.5, f"{first.upper()} {last.upper()}": 1,
        f"{first.lower()} {last.lower()}": 1, f"{last} {first}": 1, f"{first} {last} III": 0.3,
    }  # fmt: skip
    return random.choices(tuple(forms), tuple(forms.values()))[0]


def _filled(patterns: Sequence[str]) -> _Fill:
    return lambda story: shapes.filled(story.random.choice(patterns), story.random)


def _composed(kind: str) -> _Fill:
    return lambda story: story.composed(kind)


def _pooled(name: str) -> _Fill:
    return lambda story: story.random.choice(lexicons.pool(name)).text


def _short(name: str, random: Random) -> str:
    """How staff call a hospital: its name without the common words, or its initials."""
    kept = re.sub(
        r",? (?:Regional |Community |Memorial |General |University )?"
        r"(?:Hospital|Medical Center|Health(?: System|care)?|Clinic|Center|Infirmary|Institute)(?: .*)?$", "", name,
    )  # fmt: skip
    initials = "".join(word[0] for word in name.split() if word[0].isupper())
    return initials if len(initials) > 2 and random.random() < 0.3 else kept or name


def _job(story: Story) -> str:
    job = story.random.choice(lexicons.pool("professions")).text.lower()
    return (story.random.choice(_values()["people"]["job_prefix"]) if story.random.random() < 0.15 else "") + job


def _verb(place: int) -> _Fill:
    return lambda story: story.random.choice(_values()["people"]["job_verb"]).split("|")[place]


def _plural(word: str) -> str:
    return word[:-1] + "ies" if word.endswith("y") else word if word.endswith("s") else word + "s"


def _number_of_age(story: Story) -> int:
    return story.random.randrange(1, 103)


def _last_first(story: Story) -> str:
    who = story.patient
    return f"{who.last}, {who.first}{story.random.choice(('', ' ' + who.middle))}"


def _city(story: Story) -> str:
    return (story.place if story.random.random() < 0.5 else story.random.choice(lexicons.places())).city


def _by_sex(female: Sequence[str], male: Sequence[str]) -> _Fill:
    return lambda story: story.random.choice(female if story.patient.female else male)


def _plain_date(shape: str, day: Callable[[Story], date]) -> _Fill:
    return lambda story: shapes.dated({shape: 1}, day(story), story.random)


def _username(story: Story) -> str:
    who = story.random.choice(story.doctors)
    shape = story.random.choice(shapes.USERNAMES).format(
        initial=who.first[0].lower(), first=who.first.lower(), last=re.sub(r"\W", "", who.last).lower()
    )
    return shapes.filled(shape, story.random)


def _email(story: Story) -> str:
    who = story.random.choice([story.patient, *story.doctors])
    first, last = (re.sub(r"[^a-z]", "", part.lower()) for part in (who.first, who.last))
    local = story.random.choice((f"{first}.{last}", f"{first[:1]}{last}", f"{first}_{last}", f"{last}{story.born:%y}"))
    return f"{local}@{_host(story)}"


def _host(story: Story) -> str:
    return re.sub(r"[^a-z.-]", "", story.composed("email_host").lower())


def _url(story: Story) -> str:
    path = story.random.choice(("", "/portal", "/visit?id=4471", "/p/88213", "/refer", "/results/view"))
    return f"{story.random.choice(('https://', 'http://', 'www.'))}{_host(story)}{path}"


def _ip(story: Story) -> str:
    return ".".join(str(story.random.randrange(1, 255)) for _ in range(4))


_P, _D = Label.PATIENT, Label.DOCTOR

SLOTS: Mapping[str, tuple[Label | None, _Fill]] = {
    "patient": (_P, lambda s: _shape_of_name(s.patient, s.random)),
    "patient.full": (_P, lambda s: f"{s.patient.first} {s.patient.middle}. {s.patient.last}"),
    "patient.first": (_P, lambda s: s.patient.first),
    "patient.last": (_P, lambda s: s.patient.last),
    "patient.lastfirst": (_P, _last_first),
    "patient.nick": (_P, lambda s: s.patient.first[: max(3, len(s.patient.first) - 3)]),
    "patient.initials": (_P, lambda s: s.random.choice(("{}.{}.", "{}{}")).format(*s.patient.initials)),
    "kin.first": (_P, lambda s: s.kin[1].first),
    "kin.full": (_P, lambda s: f"{s.kin[1].first} {s.kin[1].last}"),
    "kin.last": (_P, lambda s: s.kin[1].last),
    "person.full": (_P, lambda s: "{0.first} {0.last}".format(s.person())),
    "person.last": (_P, lambda s: s.person().last),
    "person.first": (_P, lambda s: s.person().first),
    "nurse.full": (_D, lambda s: "{0.first} {0.last}".format(s.person())),
    "nurse.first": (_D, lambda s: s.person().first),
    "nurse.last": (_D, lambda s: s.person().last),
    "dictation": (_D, lambda s: s.random.choice(("{0}:{1}", "{0}/{1}", "{2}/{1}", "{0}{1}")).format(
        s.doctors[0].initials, s.person().initials.lower(), s.doctors[0].initials.lower())),
    "username": (Label.USERNAME, _username),
    "date": (Label.DATE, lambda s: shapes.full_date(s.near(), s.random)),
    "date2": (Label.DATE, lambda s: shapes.full_date(s.near(), s.random)),
    "date.partial": (Label.DATE, lambda s: shapes.partial_date(s.near(6), s.random)),
    "date.year": (Label.DATE, _plain_date("{yyyy}", lambda s: s.near(30))),
    "date.month": (Label.DATE, _plain_date("{Month}", lambda s: s.near())),
    "date.weekday": (Label.DATE, _plain_date("{Weekday}", lambda s: s.near())),
    "date.season": (Label.DATE, _plain_date("{season}", lambda s: s.near())),
    "date.holiday": (Label.DATE, _plain_date("{holiday}", lambda s: s.near())),
    "date.monthyear": (Label.DATE, _plain_date("{Month} {yyyy}", lambda s: s.near(8))),
    "date.decade": (Label.DATE, _plain_date("{decade}s", lambda s: s.near(40))),
    "dob": (Label.DATE, lambda s: shapes.dated({s.fixed_shape: 1}, s.born, s.random)),
    "admit": (Label.DATE, lambda s: shapes.dated({s.fixed_shape: 1}, s.day - timedelta(days=4), s.random)),
    "discharge": (Label.DATE, lambda s: shapes.dated({s.fixed_shape: 1}, s.day, s.random)),
    "age": (Label.AGE, lambda s: str(s.age)),
    "age.words": (Label.AGE, lambda s: shapes.words(s.age)),
    "age.decade": (Label.AGE, lambda s: f"{max(20, s.age // 10 * 10)}s"),
    "kinage": (Label.AGE, lambda s: str(_number_of_age(s))),
    "hospital": (Label.HOSPITAL, lambda s: s.hospitals[0]),
    "hospital.short": (Label.HOSPITAL, lambda s: _short(s.hospitals[0], s.random)),
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
    "org": (Label.ORGANIZATION, _pooled("organizations")),
    "employer": (Label.ORGANIZATION, _pooled("organizations")),
    "school": (Label.ORGANIZATION, _pooled("schools")),
    "church": (Label.ORGANIZATION, _composed("church")),
    "union": (Label.ORGANIZATION, _composed("union")),
    "club": (Label.ORGANIZATION, _composed("club")),
    "military": (Label.ORGANIZATION, _composed("military")),
    "pharmacy": (Label.ORGANIZATION, _composed("pharmacy")),
    "agency": (Label.ORGANIZATION, _composed("agency")),
    "profession": (Label.PROFESSION, _job),
    "profession.plural": (Label.PROFESSION, lambda s: _plural(_job(s))),
    "profession.verb": (Label.PROFESSION, _verb(0)),
    "profession.past": (Label.PROFESSION, _verb(1)),
    "street": (Label.STREET, lambda s: s.fixed["street"] if s.random.random() < 0.6 else s.street()),
    "city": (Label.CITY, _city),
    "state": (Label.STATE, lambda s: s.place.state),
    "state.full": (Label.STATE, lambda s: shapes.STATES.get(s.place.state, s.place.state)),
    "zip": (Label.ZIP, lambda s: s.place.zip5 + shapes.filled(s.random.choice(("", "", "", "", "-%###")), s.random)),
    "country": (Label.COUNTRY, _pooled("countries")),
    "place": (Label.LOCATION_OTHER, lambda s: s.random.choice((
        s.random.choice(lexicons.pool("landmarks")).text, f"{s.random.choice(lexicons.places()).city} County",
        shapes.filled("P.O. Box %##", s.random), shapes.filled("Highway %#", s.random)))),
    "neighbourhood": (Label.LOCATION_OTHER, lambda s: s.composed("neighbourhood").removeprefix("the ")),
    "phone": (Label.PHONE, _filled(shapes.PHONES)),
    "phone.short": (Label.PHONE, _filled(("555-####", "%##-####"))),
    "ext": (Label.PHONE, _filled(("x####", "####", "x###"))),
    "pager": (Label.PHONE, _filled(shapes.PAGERS)),
    "fax": (Label.FAX, _filled(shapes.PHONES[:10])),
    "email": (Label.EMAIL, _email),
    "url": (Label.URL, _url),
    "ip": (Label.IPADDR, _ip),
    "ssn": (Label.SSN, lambda s: s.fixed["ssn"] if s.random.random() < 0.8 else s.fixed["ssn"].replace("-", "")),
    "ssn.last4": (Label.SSN, lambda s: s.random.choice(("", "xxx-xx-", "***-**-")) + s.fixed["ssn"][-4:]),
    "mrn": (Label.MEDICALRECORD, lambda s: s.fixed["mrn"]),
    "account": (Label.ACCOUNT, lambda s: s.fixed["account"]),
    "plan": (Label.HEALTHPLAN, _filled(shapes.PLANS)),
    "license": (Label.LICENSE, _filled(shapes.LICENSES)),
    "vehicle": (Label.VEHICLE, _filled(shapes.VEHICLES)),
    "device": (Label.DEVICE, _filled(shapes.DEVICES)),
    "bioid": (Label.BIOID, _filled(shapes.BIOIDS)),
    "idnum": (Label.IDNUM, _filled(shapes.IDNUMS)),
    "Mr": (None, _by_sex(("Mrs.", "Ms.", "Miss", "Ms"), ("Mr.", "Mr."))),
    "man": (None, _by_sex(("woman", "lady", "female"), ("man", "gentleman", "male"))),
    "sex": (None, _by_sex(("female", "F", "Female"), ("male", "M", "Male"))),
    "cred": (None, lambda s: s.random.choice(_values()["people"]["cred"])),
    "kin.he": (None, lambda s: "she" if s.kin[1].female else "he"),
    "kin.his": (None, lambda s: "her" if s.kin[1].female else "his"),
    "symptom2": (None, lambda s: s.random.choice(_values()["clinical"]["symptom"])),
    "dx2": (None, lambda s: s.random.choice(_values()["clinical"]["dx"])),
}  # fmt: skip

_PRONOUNS = {"he": ("she", "he"), "him": ("her", "him"), "his": ("her", "his"), "himself": ("herself", "himself")}
_DOCTOR_FORMS: Mapping[str, Callable[[Person], str]] = {
    "": lambda p: p.last,
    ".last": lambda p: p.last,
    ".full": lambda p: f"{p.first} {p.middle}. {p.last}" if p.middle < "M" else f"{p.first} {p.last}",
    ".first": lambda p: p.first,
    ".lastfirst": lambda p: f"{p.last}, {p.first}",
    ".initials": lambda p: p.initials,
}


def fill(name: str, story: Story) -> Piece:
    """The piece that a slot becomes in this story."""
    if name in SLOTS:
        label, fill = SLOTS[name]
        return Piece(fill(story), label)
    if name.lower() in _PRONOUNS:
        word = _PRONOUNS[name.lower()][0 if story.patient.female else 1]
        return Piece(word if name[0].islower() else word.capitalize())
    if name in ("kin", "kin2"):
        story.kin = story.relative()
        return Piece(story.kin[0])
    if name == "profession.a":
        job = _job(story)
        return Piece(job, Label.PROFESSION)
    if name.startswith("doctor"):
        number, dot, form = name.removeprefix("doctor").partition(".")
        if (number == "" or number in "2345") and dot + form in _DOCTOR_FORMS:
            return Piece(_DOCTOR_FORMS[dot + form](story.doctors[int(number or 1) - 1]), Label.DOCTOR)
    values = _values()["clinical"]
    if name in values:
        return Piece(story.random.choice(values[name]))
    raise FormatError(f"a slot {{{name}}} that does not exist")
