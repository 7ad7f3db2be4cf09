"""Where people live: state, city, ZIP code, street, country and other places, drawn so that they agree.

Every state of a patient's notes becomes another state; a city becomes a city of the state that its own state became,
and a ZIP code that city's. So "Columbus, OH 43215", "Ohio" and "43215" agree in any order and without a table. A city's
state is the one beside it in the document, else the lexicon's largest place of that name, else one drawn by the name.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

from deident import lexicons
from deident.labels import Label
from deident.surrogates import _shapes
from deident.surrogates._draws import Draw
from deident.surrogates._mentions import Mention, Options

LABELS = frozenset({Label.STREET, Label.CITY, Label.STATE, Label.COUNTRY, Label.ZIP, Label.LOCATION_OTHER})

# Code, name, other abbreviations.
_STATES: tuple[tuple[str, str, str], ...] = (
    ("AL", "Alabama", "Ala"), ("AK", "Alaska", ""), ("AZ", "Arizona", "Ariz"), ("AR", "Arkansas", "Ark"),
    ("CA", "California", "Calif"), ("CO", "Colorado", "Colo"), ("CT", "Connecticut", "Conn"), ("DE", "Delaware", "Del"),
    ("DC", "District of Columbia", ""), ("FL", "Florida", "Fla"), ("GA", "Georgia", ""), ("HI", "Hawaii", ""),
    ("ID", "Idaho", ""), ("IL", "Illinois", "Ill"), ("IN", "Indiana", "Ind"), ("IA", "Iowa", ""),
    ("KS", "Kansas", "Kans"), ("KY", "Kentucky", ""), ("LA", "Louisiana", ""), ("ME", "Maine", ""),
    ("MD", "Maryland", ""), ("MA", "Massachusetts", "Mass"), ("MI", "Michigan", "Mich"), ("MN", "Minnesota", "Minn"),
    ("MS", "Mississippi", "Miss"), ("MO", "Missouri", ""), ("MT", "Montana", "Mont"), ("NE", "Nebraska", "Nebr"),
    ("NV", "Nevada", "Nev"), ("NH", "New Hampshire", ""), ("NJ", "New Jersey", ""), ("NM", "New Mexico", ""),
    ("NY", "New York", ""), ("NC", "North Carolina", ""), ("ND", "North Dakota", ""), ("OH", "Ohio", ""),
    ("OK", "Oklahoma", "Okla"), ("OR", "Oregon", "Ore"), ("PA", "Pennsylvania", "Penn"), ("RI", "Rhode Island", ""),
    ("SC", "South Carolina", ""), ("SD", "South Dakota", ""), ("TN", "Tennessee", "Tenn"), ("TX", "Texas", "Tex"),
    ("UT", "Utah", ""), ("VT", "Vermont", ""), ("VA", "Virginia", ""), ("WA", "Washington", "Wash"),
    ("WV", "West Virginia", ""), ("WI", "Wisconsin", "Wis"), ("WY", "Wyoming", "Wyo"),
)  # fmt: skip
_MORE_FORMS = (
    "PA Penna", "MN Minnesota", "WI Wisc", "CA Cal", "OR Oreg", "KS Kan", "NE Neb", "DE Dela", "NM N Mex", "WV W Va",
    "SD S Dak", "ND N Dak", "WV W Virginia", "NC N Carolina", "SC S Carolina", "ND N Dakota", "SD S Dakota",
    "IA Iowa", "ID Ida", "ME Maine", "DC Washington DC", "MA Massachussetts", "CT Conneticut", "IL Illinios",
)  # fmt: skip
_CODES = MappingProxyType(
    {_shapes.fold(form): code for code, *forms in _STATES for form in (code, *forms) if form}
    | {_shapes.fold(form[2:]): form[:2] for form in _MORE_FORMS}
)
_FORMS = MappingProxyType({code: (name, short) for code, name, short in _STATES})

SUFFIXES = frozenset(
    _shapes.listed(
        """alley aly avenue ave av boulevard blvd bypass causeway center circle cir close common commons court
        ct cove cv crescent cres crossing xing drive dr expressway expy freeway fwy gardens gate
        glen green grove heights hts highway hwy hill hills hollow junction landing lane ln loop
        manor mews motorway oval park parkway pkwy pass path pike place pl plaza plz point pt ridge
        rdg road rd route rte row run spur square sq st street str terrace ter ti trace trail trl
        turnpike tpke view village vista walk way"""
    )
)
_DIRECTIONS = frozenset(
    _shapes.listed("n s e w ne nw se sw north south east west northeast northwest southeast southwest")
)
_UNITS = frozenset(
    _shapes.listed(
        """apt apartment unit suite ste floor fl flr room rm bldg building lot trailer box po p o p.o pobox drawer
        route rte rt highway hwy number no county interstate state rural rr r.r hc cr fm sr us mile marker mm mp exit
        the of and at near corner on in apartments c/o spc dept pmb"""
    )
)
_GENERAL = _UNITS | _DIRECTIONS
_NUMBERED = frozenset(_shapes.listed("pier gate dock hangar barracks checkpoint level space"))  # kept before a number
_PLACED = frozenset(_shapes.listed("lower upper rear front back left right"))  # kept at the end
_TOKEN = re.compile(r"[^\W\d_]+(?:['’.][^\W\d_]+)*|\d+|\s+|.", re.DOTALL)
_ORDINAL = frozenset({"st", "nd", "rd", "th"})
_ZIP = re.compile(r"(?<!\d)(\d{5})(?=(?:\d{4})?(?!\d))")
_STATE_FORM = "|".join(
    sorted((re.escape(form) for code, *forms in _STATES for form in (code, *forms) if form), key=len, reverse=True)
)
_ADDRESS = re.compile(
    rf"(?P<city>[^\W\d_][^,\d\n]{{1,40}}?)(?P<comma>,\s*|\s+)(?P<state>{_STATE_FORM})(?P<gap>\.?,?\s+)?"
    r"(?P<zip>(?<=\s)\d{5}(?:-\d{4})?)?\s*"
)
ZIP_DIGITS = str.maketrans("OoIlSB|", "0011581")  # what scanners read for them
_JOINT = frozenset(" ,.\n\r\t;")


@dataclass(frozen=True, slots=True)
class Context:
    """By normal form: which state a city stands beside, and which city a ZIP code; and the state most spoken of.

    named: the document's cities and ZIP codes, none of which is another one's stand-in.
    """

    states: Mapping[str, str] = field(default_factory=dict[str, str])
    cities: Mapping[str, str] = field(default_factory=dict[str, str])
    here: str = ""
    named: frozenset[str] = frozenset()


def notice(mentions: Sequence[Mention]) -> Context:
    states: dict[str, str] = {}
    cities: dict[str, str] = {}
    spoken = Counter[str]()
    named: set[str] = set()
    city = ""
    for mention in mentions:
        if not _JOINT.issuperset(mention.before):
            city = ""
        match mention.label:
            case Label.CITY:
                city = _city_key(_shapes.letters_read(mention.text))
                named.add(city)
            case Label.STATE:
                code = _CODES.get(_shapes.fold(mention.text), "")
                spoken[code] += bool(code)
                if city and code:
                    states.setdefault(city, code)
            case Label.ZIP:
                named.add(mention.text[:5])
                if city:
                    cities.setdefault(mention.text[:5], city)
            case _:
                city = ""
    here = min(((-times, code) for code, times in spoken.items() if times), default=(0, ""))[1]
    return Context(states, cities, here, frozenset(named))


_SHORT_CITIES = MappingProxyType(
    {"no": "north", "so": "south", "n": "north", "s": "south", "e": "east", "w": "west", "ft": "fort", "mt": "mount",
     "st": "saint", "pt": "port"}
)  # fmt: skip
_CITY_WORD = re.compile(r"[^\W\d_]+")


def _city_key(text: str) -> str:
    """The normal form of a city: "No. Adams" and "North Adams" are one."""
    words: list[str] = _CITY_WORD.findall(text)
    if len(words) > 1 and words[0].lower() in _SHORT_CITIES:
        return _SHORT_CITIES[words[0].lower()] + _shapes.fold("".join(words[1:]))
    return _shapes.fold(text)


def surrogate(mention: Mention, draw: Draw, context: Context, options: Options) -> str:
    text = mention.text
    if mention.label is Label.CITY:
        text = _shapes.letters_read(text)
    match mention.label:
        case Label.STATE:
            return _state(text, draw, options)
        case Label.ZIP:
            return _zip(text, draw, context, options)
        case Label.COUNTRY:
            return _country(text, draw)
        case Label.CITY:
            return _address(text, draw, context, options) or _city(text, draw, context, options)
        case Label.STREET:
            return _streets(_shapes.letters_read(_shapes.digits_read(text)), draw, context, options)
        case _:
            return _address(text, draw, context, options) or _other(text, draw, context, options)


# -- states, cities, ZIP codes -----------------------------------------------------------------------------------------


@cache
def _by_state() -> Mapping[str, tuple[lexicons.PoolPlace, ...]]:
    found: dict[str, list[lexicons.PoolPlace]] = {}
    for place in lexicons.places():
        found.setdefault(place.state, []).append(place)
    return {state: tuple(places) for state, places in found.items()}


@cache
def _largest() -> Mapping[str, str]:
    """Of every city's name, the state in which the largest such city lies."""
    return {_city_key(place.city): place.state for place in sorted(lexicons.places(), key=lambda p: p.population)}


@cache
def _cities() -> frozenset[tuple[str, str]]:
    return frozenset((_city_key(place.city), place.state) for place in lexicons.places())


@cache
def _weighted() -> tuple[str, ...]:
    return tuple(place.state for place in lexicons.places() if place.state in _FORMS)


def drawn_state(draw: Draw, code: str, *, same_state: bool) -> str:
    """What a state becomes: as often each as the lexicon has cities in it, never itself unless it is to stay."""
    if same_state and code in _by_state():
        return code
    states = _weighted()
    place = draw.below(len(states), "state", code)
    while states[place] == code:
        place = (place + 1) % len(states)
    return states[place]


def _home(city: str, context: Context) -> str:
    """The state of a city: the one beside it, the document's if it has such a city, the largest's, the document's.

    Where nobody knows one, its name, so that it has a draw of its own.
    """
    beside = context.states.get(city)
    if beside is not None:
        return beside
    if (city, context.here) in _cities():
        return context.here
    return _largest().get(city) or context.here or city


def _drawn_place(city: str, state: str, draw: Draw, context: Context, options: Options) -> lexicons.PoolPlace:
    places = _by_state()[drawn_state(draw, state, same_state=options.same_state)]
    place = draw.below(len(places), "city", city)
    for step in range(len(places)):
        found = places[(place + step) % len(places)]
        key = _city_key(found.city)
        if key != city and key not in context.named and found.zip5 not in context.named:
            return found
    others = lexicons.places()  # a state with this one city
    return others[place] if _shapes.fold(others[place].city) != city else others[place - 1]


def _state(text: str, draw: Draw, options: Options) -> str:
    folded = _shapes.fold(text)
    code = _CODES.get(folded)
    if code is None and len(folded) == 2:  # "PR", "B.C."
        return _code_like(text, drawn_state(draw, folded, same_state=False))
    if code is None:
        known = [entry for entry in _FORMS if _shapes.fold(entry) != folded]
        return _shapes.like(text, _FORMS[draw.choice(known, "state", folded)][0])
    new = drawn_state(draw, code, same_state=options.same_state)
    name, short = _FORMS[new]
    if folded == code.lower():
        if text.strip().endswith(".") and text[:1].isupper() and text[1:2].islower():  # "Ga.", which is no code
            return f"{short}." if short else name
        return _code_like(text, new)
    stop = "." if text.rstrip().endswith(".") else ""
    return (
        _shapes.like(text, name)
        if folded == _shapes.fold(_FORMS[code][0]) or not short
        else (_shapes.like(text, short) + stop)
    )


def _code_like(model: str, code: str) -> str:
    """ "N.Y." for "O.H.", "ny" for "oh"."""
    bare = model.strip(" .")
    stop = "." if model.rstrip().endswith(".") else ""
    if "." in bare:
        return ".".join(code) + stop
    return (code.lower() if bare.islower() else code.capitalize() if bare.istitle() else code) + stop


def _city(text: str, draw: Draw, context: Context, options: Options) -> str:
    city = _city_key(text)
    return _shapes.wrapped(
        text, _shapes.like(text, _drawn_place(city, _home(city, context), draw, context, options).city)
    )


def _zip(text: str, draw: Draw, context: Context, options: Options) -> str:
    if any(map(str.isdecimal, text)):
        text = text.translate(ZIP_DIGITS)
    match = _ZIP.search(text)
    if match is None or not match[1].isascii():
        return _shapes.scrambled(text, draw, "zip")
    old = match[1]
    city = context.cities.get(old)
    state = _home(city, context) if city else ""
    if city is None:
        found = lexicons.zips().place(old)
        city, state = (_city_key(found.city), found.state) if found else (old, old)
        state = context.states.get(city, state)
    new = _drawn_place(city, state, draw, context, options).zip5
    if new == old or not new:
        new = _shapes.scrambled(old, draw, "zip")
    before, after = (_shapes.scrambled(part, draw, "zip") for part in (text[: match.start()], text[match.end() :]))
    return before + new + after


def _address(text: str, draw: Draw, context: Context, options: Options) -> str | None:
    """ "Columbus, OH 43215" in one span; None where the text is no such thing."""
    match = _ADDRESS.fullmatch(text)
    if match is None or not (match["comma"].strip() or match["zip"] or match["state"].isupper()):
        return None
    city, state = _city_key(match["city"]), _CODES[_shapes.fold(match["state"])]
    place = _drawn_place(city, state, draw, context, options)
    made = _shapes.like(match["city"], place.city) + match["comma"] + _state(match["state"], draw, options)
    made += match["gap"] or ""
    if match["zip"]:
        made += place.zip5 if place.zip5 != match["zip"][:5] else _shapes.scrambled(match["zip"][:5], draw, "zip")
        made += _shapes.scrambled(match["zip"][5:], draw, "zip")
    return made + text[len(text.rstrip()) :]


# -- streets -----------------------------------------------------------------------------------------------------------


@cache
def _street_names() -> tuple[str, ...]:
    """The pool's streets without their suffixes, where a name is left."""
    found: set[str] = set()
    for entry in lexicons.pool("streets"):
        words = entry.text.split()
        while len(words) > 1 and words[-1].lower().rstrip(".") in SUFFIXES | _DIRECTIONS:
            words.pop()
        if not any(char.isdecimal() for char in "".join(words)) and words[0].lower() not in SUFFIXES | _DIRECTIONS:
            found.add(" ".join(words))
    return tuple(sorted(found))


def _streets(text: str, draw: Draw, context: Context, options: Options) -> str:
    head, comma, tail = text.rpartition(",")
    for start in (text.find(","), text.find("\n")):  # "12 Main St, Columbus, OH 43215"
        if start > 0:
            rest = text[start + 1 :].lstrip()
            found = _address(rest, draw, context, options)
            if found is not None:
                return _street(text[:start], draw) + text[start : len(text) - len(rest)] + found
    if comma and tail.strip() and not any(char.isdecimal() for char in tail) and head:
        words = tail.split()
        if _plain(words[0]) not in _UNITS | _PLACED:
            return _street(head, draw) + comma + _street(tail, draw)
    return _street(text, draw)


def _street(text: str, draw: Draw) -> str:
    tokens: list[str] = _TOKEN.findall(text)
    words = [place for place, token in enumerate(tokens) if token[0].isalpha()]
    last = next((place for place in reversed(words) if _plain(tokens[place]) in SUFFIXES and place != words[0]), -1)
    named: list[list[int]] = []  # names of several words, each by the places of its words
    made = list(tokens)
    for place, token in enumerate(tokens):
        if token[0] in _FRACTIONS or _tells_where(tokens, place):
            continue
        if token[0].isnumeric():
            made[place] = _shapes.scrambled(token, draw, "street number")
            follows = tokens[place + 1] if place + 1 < len(tokens) else ""
            if follows.lower() in _ORDINAL:
                made[place + 1] = _shapes.like(follows, ordinal_suffix(int(made[place])))
        elif (
            not token[0].isalpha()
            or place == last
            or _plain(token) in _GENERAL
            or (place and token.lower() in _ORDINAL and tokens[place - 1][0].isnumeric())
        ):
            continue
        elif len(token) == 1:
            highway = token.upper() == "I" and "".join(tokens[place + 1 : place + 2]) == "-"  # "I-55"
            made[place] = token if highway else _shapes.scrambled(token, draw, "unit")
        elif place > last > 0:
            if _plain(token) not in SUFFIXES:
                made[place] = _shapes.like(token, _one_name(token, draw))
        elif named and _BETWEEN.fullmatch("".join(tokens[named[-1][-1] + 1 : place])):
            named[-1].append(place)
        else:
            named.append([place])
    if not named and last > 1 and "".join(made[last + 1 :]).strip(" .,") == "":  # "777 North Street"
        place = max((place for place in words if place < last), default=-1)
        if place >= 0 and made[place] == tokens[place] and not tokens[place - 1][0].isnumeric():
            named.append([place])
    for run in named:
        first, end = run[0], run[-1] + 1
        old = "".join(tokens[first:end])
        new = _shapes.wrapped(old, _shapes.like(old, _one_name(old, draw)))
        made[first:end] = [new, *[""] * (end - first - 1)]
    new = "".join(made)
    return new if new != text else _shapes.like(text, _one_name(text, draw))


_FRACTIONS = frozenset("½¼¾")


def _tells_where(tokens: Sequence[str], place: int) -> bool:
    """Whether a word is none of a street's name: "Level 2", ", lower"."""
    word = tokens[place].lower()
    if word in _NUMBERED:
        rest = "".join(tokens[place + 1 : place + 3]).strip()
        return rest[:1].isdecimal() or (len(rest) == 1 and rest.isalpha())
    return word in _PLACED and (place > 1 or tokens[0].isspace()) and not "".join(tokens[place + 1 :]).strip(" .")


_BETWEEN = re.compile(r"[\s.'’-]{1,9}(?:(?:of|the|and|on|in)\s{1,9})*", re.IGNORECASE)  # inside one name


def _plain(token: str) -> str:
    return token.lower().rstrip(".")


def _one_name(old: str, draw: Draw) -> str:
    return _shapes.unlike(draw, "street", _shapes.fold(old), _street_names())


def ordinal_suffix(number: int) -> str:
    return "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


# -- countries and other places ----------------------------------------------------------------------------------------


_HOME = frozenset({"United States"})  # the country that is understood
_DEPENDENT = re.compile(
    r"[-–&(.]|SAR|Island|French|Territor|Antarctica|Svalbard|Caribbean|Aruba|Guam|Bermuda|Gibraltar|Greenland|Guernsey"
    r"|Jersey|Isle|Martinique|Mayotte|Montserrat|New Caledonia|Niue|Pitcairn|Puerto Rico|Réunion|Samoa|Tokelau|Anguilla"
    r"|Curaçao|Guadeloupe|Sint Maarten|Western Sahara|Wallis|Vatican|Nauru|Tuvalu|Palau|Kiribati|Vanuatu"
)


@cache
def _pool(name: str) -> tuple[str, ...]:
    entries = [entry.text for entry in lexicons.pool(name)]
    if name == "countries":  # dependencies and written-out doubts would not pass in a note
        entries = [text for text in entries if text not in _HOME and not _DEPENDENT.search(text)]
    return tuple(entries)


def _from_pool(pool: str, text: str, draw: Draw) -> str:
    return _shapes.unlike(draw, pool, _shapes.fold(text), _pool(pool))


def _country(text: str, draw: Draw) -> str:
    new = _from_pool("countries", text, draw)
    letters = _shapes.fold(text)
    return new if text.isupper() and len(letters) <= 3 else _shapes.like(text, new)  # "USA" is no capital writing


_CROSSING = re.compile(r"(\s{1,9}(?:and|&|at|@|x|/)\s{1,9}|\s{0,9}/\s{0,9})", re.IGNORECASE)


def _other(text: str, draw: Draw, context: Context, options: Options) -> str:
    folded = _shapes.fold(text)
    corners: list[str] = _CROSSING.split(text)
    if len(corners) == 3 and all(corners):
        return "".join(corner if place == 1 else _corner(corner, draw) for place, corner in enumerate(corners))
    if any(map(str.isnumeric, text)):
        return _street(text, draw)
    if folded in _CODES and len(folded) > 2:
        return _state(text, draw, options)
    if _city_key(text) in _largest() or _city_key(text) in context.states:
        return _city(text, draw, context, options)
    words: list[str] = re.findall(r"[^\W\d_]+(?:['’.][^\W\d_]+)*", text)
    if len(words) > 1 and (
        _plain(words[-1]) in SUFFIXES - _FEATURES or (_plain(words[0]) in _DIRECTIONS and "." in text)
    ):
        return _street(text, draw)
    if len(words) > 1 and (_plain(words[-1]) in _FEATURES or _plain(words[0]) in _FEATURES_BEFORE):
        return _feature(text, draw)
    if text.isupper() and 2 <= len(text.strip()) <= 4:
        return _shapes.scrambled(text, draw, "place")
    if folded in _landmarks():
        return _shapes.wrapped(text, _shapes.like(text, _from_pool("landmarks", text, draw)))
    return _shapes.wrapped(text, _shapes.like(text, _shapes.unlike(draw, "place", folded, _town_names())))


def _corner(text: str, draw: Draw) -> str:
    """A street that may be named without its suffix: "Main" of "Main and Jefferson"."""
    return (
        _street(text, draw)
        if len(text.split()) > 1 or any(map(str.isnumeric, text))
        else _shapes.like(text, _one_name(text, draw))
    )


@cache
def _landmarks() -> frozenset[str]:
    return frozenset(_shapes.fold(text) for text in _pool("landmarks"))


@cache
def _town_names() -> tuple[str, ...]:
    """Names of small towns, which pass for a quarter, a camp or a building."""
    return tuple(sorted({place.city for place in lexicons.places() if place.population < 20_000}))


_FEATURES = frozenset(
    _shapes.listed(
        """lake river creek bay beach island islands mountain mountains mt valley canyon falls forest woods park parks
        reservation pueblo rancheria county parish township borough bridge airport mall stadium arena field farm farms
        ranch church temple cemetery market store plaza square tower towers campground camp trail harbor hill hills
        springs pond cove point peninsula desert dam marina ferry terminal station depot garden gardens zoo
        fairgrounds speedway casino hotel motel inn resort bar grill cafe diner restaurant area region district
        neighborhood estates village heights manor apartments shelter house project projects base fort"""
    )
)
_FEATURES_BEFORE = frozenset(_shapes.listed("lake mount mt fort ft camp cape port isle lago rancho"))
_SMALL = frozenset(_shapes.listed("the of and at in on de del la las los el"))


def _feature(text: str, draw: Draw) -> str:
    """ "Windsor Lake", "Lake Windsor": what kind of place it is stays."""
    tokens: list[str] = _TOKEN.findall(text)
    words = [place for place, token in enumerate(tokens) if token[0].isalpha() and _plain(token) not in _SMALL]
    own = [place for place in words if _plain(tokens[place]) not in _FEATURES | _FEATURES_BEFORE]
    if not own:
        return _shapes.like(text, _from_pool("landmarks", text, draw))
    first, end = own[0], own[-1] + 1
    old = "".join(tokens[first:end])
    new = _shapes.wrapped(old, _shapes.like(old, _one_name(old, draw)))
    return "".join([*tokens[:first], new, *tokens[end:]])
