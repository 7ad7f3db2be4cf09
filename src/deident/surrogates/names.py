"""People: one stand-in for each first and each last name of a patient's notes, however they are mentioned.

"Tadeusz Kowalczyk", "KOWALCZYK, T.", "Mr. Kowalczyk", "Tad" and "TK" agree with each other in any order and without a
table: first and last names are drawn apart, each by its own normal form (a nickname by its given name), and the
stand-in's initial is a keyed function of the initial alone, so that "T." and "Tadeusz" become "M." and "Marek".
Sex and, by option, origin follow the lexicon; titles, degrees, particles, "Jr." and everything between words stay.
A misspelt name is another name.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from types import MappingProxyType
from typing import NamedTuple

from deident import lexicons
from deident.labels import Label
from deident.surrogates import _shapes
from deident.surrogates._draws import Draw
from deident.surrogates._mentions import Mention, Options

LABELS = frozenset({Label.PATIENT, Label.DOCTOR, Label.USERNAME})

# "Major", "Judge" and "Pastor" are names as well, and so are not of them: nobody is harmed by a rank that is changed.
_TITLES = frozenset(
    _shapes.listed(
        """mr mrs ms miss mx mister dr drs doctor prof professor rev reverend rabbi capt captain col colonel lt
        lieutenant maj sgt sergeant cpl pvt officer señor señora sra mme mlle attending resident intern patient pt
        baby boy girl infant newborn twin"""
    )
)
_AFTER = frozenset(
    _shapes.listed(
        """jr sr junior senior ii iii iv esq md m.d do mbbs mbchb phd dphil psyd dnp dpm dds dmd od dpt pharmd
        rph rn bsn msn lpn lvn aprn arnp np fnp crnp crna cnm pa pac pt ot otr slp rrt msw lcsw
        licsw lpc lmft mph mha mba facs facc facp faap ph d""")
) - {"d"}  # fmt: skip
_DEGREES = _AFTER - frozenset(_shapes.listed("jr sr junior senior ii iii iv esq do np pa pt ot pac od ma mba ms"))
_DOTTED_DEGREES = re.compile(
    r"[,\s]\s{0,9}(?:(?:M\.\s?D|D\.\s?O|Ph\.\s?D|R\.\s?N|L\.P\.N|D\.P\.M|D\.D\.S|M\.P\.H|Psy\.D|Pharm\.D)\.?[,\s]{0,9}){1,4}$",
    re.IGNORECASE,
)
_NAMES_TOO = frozenset(_shapes.listed("do pa ma od ot"))  # degrees only behind a comma, or in capitals of their own
_PARTICLES = frozenset(
    _shapes.listed(
        """van von der den de del dela della di da das dos du la le las los bin ibn ter ten zu zur vander and und et or
        st ste vda"""
    )
)
_LOWER_PARTICLES = frozenset(_shapes.listed("y e do al el ul"))  # in capitals they are initials and names: "Al Wilson"
_DOTTED = frozenset(_shapes.listed("st ste vda"))
_SHORTENED = MappingProxyType(
    {"wm": "william", "jas": "james", "chas": "charles", "geo": "george", "thos": "thomas", "jos": "joseph",
     "robt": "robert", "benj": "benjamin", "ma": "maria"}
)  # fmt: skip
# Second names of women that are said with the first: "Ruth Ann".
_SECOND = frozenset(_shapes.listed("ann anne anna mae jo lou sue jean jane ellen beth ruth lynn kay marie june clare claire elizabeth louise grace alicia"))  # fmt: skip  # noqa: E501
_HYPHENS = "-‐‑"
_WORD = re.compile(r"(?:[^\W\d_][\u0300-\u036f]*)+(?:['’´`](?![sS]\b)(?:[^\W\d_][\u0300-\u036f]*)+)*")
_TITLE_BEFORE = re.compile(r"\b(?:mr|mrs|ms|miss|mx|dr|doctor|prof|professor|rev|sgt|capt)\.?\s*$", re.IGNORECASE)
_DICTATED = re.compile(  # "DK/mjw", "BvdH:lo", "ARN/typist-22"
    r"(?:[^\W\d_]{1,3}|[A-Z][a-z]{0,2}[A-Z]{1,2}|[A-Z]{4})(?:\s?[/:]\s?[^\W\d_]{1,8}[\s-]?\d{0,4}){1,4}"
    r"|[A-Z]{2,3}\s?[-–]\s?[a-z]{2,3}|[a-z]{2,3}\s?[-–]\s?[A-Z]{2,3}"
)
_NAMES_ARE = 20_000  # people who bear a word as a name, for two or three capitals to be that name and no initials


@dataclass(frozen=True, slots=True)
class Context:
    """What the document's mentions show of names, in normal form.

    firsts, lasts: of the fuller mentions. words: all, none of which is to be a stand-in of another. nicks: nickname in
    quotation marks → given name. typos: misspelling → the name that it means. parts: of the mentions, by text. letters:
    initials → whether each is of a first or a last name.
    """

    firsts: frozenset[str] = frozenset()
    lasts: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    nicks: Mapping[str, str] = field(default_factory=dict[str, str])
    typos: Mapping[str, str] = field(default_factory=dict[str, str])
    parts: Mapping[str, "Sequence[_Part]"] = field(default_factory=dict[str, "Sequence[_Part]"])
    letters: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])


class _Part(NamedTuple):
    """A word of a mention that is a name or an initial."""

    start: int
    end: int
    folded: str


# -- the pools ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pool:
    """Names of one kind, by initial, and by initial and origin."""

    letters: Mapping[str, tuple[str, ...]]
    origins: Mapping[tuple[str, str], tuple[str, ...]]


def _pool(*names: str) -> _Pool:
    letters: dict[str, list[str]] = {}
    origins: dict[tuple[str, str], list[str]] = {}
    for name in names:
        for entry in lexicons.pool(name):
            folded = _shapes.fold(entry.text)
            if len(folded) > 2 and folded not in _PARTICLES | _TITLES | _AFTER:
                letters.setdefault(folded[0], []).append(entry.text)
                origins.setdefault((folded[0], entry.origin), []).append(entry.text)
    return _Pool(
        MappingProxyType({key: tuple(items) for key, items in letters.items()}),
        MappingProxyType({key: tuple(items) for key, items in origins.items()}),
    )


@cache
def _pools() -> Mapping[str, _Pool]:
    return MappingProxyType(
        {
            "female": _pool("first_female"),
            "male": _pool("first_male"),
            "first": _pool("first_female", "first_male"),
            "last": _pool("last"),
        }
    )


_ENOUGH = 12  # names that an initial must have in every pool to be drawn
_ENOUGH_OF_ORIGIN = 6


@cache
def _initials(role: str) -> str:
    """Each initial as often as names have it; rare ones are not drawn, since few names would stand behind them."""
    pools = _pools()
    kinds = ("female", "male") if role == "first" else ("last",)
    everywhere = [pools[kind].letters for kind in ("female", "male", "last")]
    allowed = [
        letter for letter in "abcdefghijklmnopqrstuvwxyz" if all(len(p.get(letter, ())) >= _ENOUGH for p in everywhere)
    ]
    return "".join(letter * sum(len(pools[kind].letters[letter]) for kind in kinds) for letter in allowed)


@cache
def _origin_of() -> Mapping[tuple[str, str], str]:
    return {
        (role, _shapes.fold(entry.text)): entry.origin
        for role, names in (("first", ("first_female", "first_male")), ("last", ("last",)))
        for name in names
        for entry in lexicons.pool(name)
    }


@cache
def _nicknames_of() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for nickname, given in lexicons.nicknames().items():
        for name in given:
            found.setdefault(name, []).append(nickname)
    return {name: tuple(sorted(nicks)) for name, nicks in found.items()}


@lru_cache(maxsize=1 << 14)
def _known(word: str) -> tuple[int, int, int]:
    """How many women, men and families bear it."""
    row = lexicons.words().get(word)
    return row.female, row.male, row.last


# -- one word ----------------------------------------------------------------------------------------------------------


def initial(draw: Draw, role: str, letter: str) -> str:
    """The stand-in of an initial, never itself."""
    letters = _initials(role)
    old = _shapes.fold(letter)[:1]
    place = draw.below(len(letters), f"{role} initial", old)
    if letters[place] == old:  # the next letter in the alphabet's circle
        others = letters.replace(old, "")
        return others[place % len(others)]
    return letters[place]


def _clashes(candidate: str, avoid: Sequence[str]) -> bool:
    for word in avoid:  # noqa: SIM110 (each name comes here; a generator costs more than its loop)
        if word in candidate or (candidate in word and len(candidate) > 2):
            return True
    return False


def word(draw: Draw, role: str, normal: str, context: Context, options: Options, avoid: Sequence[str]) -> str:
    """The stand-in of one name, in title case. It contains none of the words to avoid; these are the name itself and
    not those beside it, lest the name have another stand-in where it stands alone."""
    normal = context.typos.get(normal, normal)
    given = _given(normal, context) if role == "first" else normal
    candidates = _candidates(role, given, initial(draw, role, given), same_origin=options.same_origin)
    size = len(candidates)
    first = place = draw.number(role, given) % size
    while True:
        name = candidates[place]
        folded = _shapes.fold(name)
        if folded not in context.words and not _clashes(folded, avoid):
            break
        place = (place + 1) % size
        if place == first:
            return _shapes.babble(draw, role, normal, max(len(normal), 4)).capitalize()
    if given != normal:
        nicks = [
            nick for nick in _nicknames_of().get(folded, ()) if nick not in context.words and not _clashes(nick, avoid)
        ]
        if nicks:
            return draw.choice(nicks, "nickname", normal).capitalize()
        if normal in context.nicks:
            return _called(draw, normal, given, name, context, avoid)
    return name


def _called(draw: Draw, normal: str, given: str, name: str, context: Context, avoid: Sequence[str]) -> str:
    """The stand-in of a nickname where `name` has none: "Kab" of "Kabir" for a piece, else anybody's nickname."""
    if given.startswith(normal):
        cut = _CLIPPED.match(name)
        piece = cut[0] if cut and len(cut[0]) > 2 else name[:3]
        return name if _clashes(_shapes.fold(piece), avoid) else piece
    nicks = _anybodys((_sex(_known(given)) or _sounds(given)) > 0)
    place = draw.number("nickname", normal)
    for step in range(len(nicks)):
        nick = nicks[(place + step) % len(nicks)]
        if nick not in context.words and not _clashes(nick, avoid):
            return nick.capitalize()
    return name


@cache
def _anybodys(woman: bool) -> tuple[str, ...]:
    """Nicknames of three to six letters."""
    sex = 1 if woman else -1
    return tuple(
        sorted(
            nick
            for nick, given in lexicons.nicknames().items()
            if 3 <= len(nick) <= 6 and nick.isalpha() and _sex(_known(given[0])) == sex and _sex(_known(nick)) != -sex
        )
    )


_CLIPPED = re.compile(r"[^aeiouy]{0,3}[aeiouy][^aeiouy]", re.IGNORECASE)  # "Kab" of "Kabir"


def _given(normal: str, context: Context) -> str:
    if normal in context.nicks:
        return context.nicks[normal]
    if normal in _SHORTENED:
        return _SHORTENED[normal]
    names = lexicons.nicknames().get(normal)
    if not names or (normal in context.firsts and not context.firsts.intersection(names)):
        return normal
    meant = next((name for name in names if name in context.firsts), "")
    if meant:
        return meant
    likeliest = _likeliest(normal)
    own, other = _known(normal), _known(likeliest)
    named_so = sum(own[:2]) > 2 * sum(other[:2])  # "June" is a name, however some Juniors are called
    return normal if named_so or _sex(own) * _sex(other) < 0 else likeliest


def _sex(known: tuple[int, int, int]) -> int:
    """1 for a woman's name, -1 for a man's, 0 where both bear it."""
    women, men, _ = known
    return (women > 4 * men) - (men > 4 * women)


@cache
def _likeliest(nickname: str) -> str:
    """Of the given names of a nickname the one that sounds most like it; of several, that of most people."""
    return max(lexicons.nicknames()[nickname], key=lambda name: (_shared(nickname, name), sum(_known(name)[:2])))


def _shared(one: str, two: str) -> int:
    """The length of the longest piece of the one that the other has."""
    return max(
        (end - start for start in range(len(one)) for end in range(start + 1, len(one) + 1) if one[start:end] in two),
        default=0,
    )


@lru_cache(maxsize=1 << 14)
def _candidates(role: str, given: str, letter: str, *, same_origin: bool) -> tuple[str, ...]:
    kind = role
    if role == "first":
        sex = _sex(_known(given)) or _sounds(given)
        kind = {1: "female", -1: "male", 0: "first"}[sex]
    pool = _pools()[kind]
    if same_origin:
        origin = _origin_of().get((role, given)) or ("anglo" if sum(_known(given)) else "")
        alike = pool.origins.get((letter, origin), ()) if origin else ()
        if len(alike) >= _ENOUGH_OF_ORIGIN:
            return alike
    return pool.letters[letter]


_FEMININE = re.compile(r".*(?:a|elle|ette|een|lyn|lynn|ine|isha|ah)")
_MASCULINE = re.compile(r".*(?:o|us|os|im|id|ad|ed|ur|ir|ik|uk|ar|or|el|ard|iy)")


def _sounds(name: str) -> int:
    """The sex of a first name that the lists do not have, by its ending."""
    if sum(_known(name)[:2]) > _RARE or len(name) < 4:
        return 0
    return bool(_FEMININE.fullmatch(name)) - bool(_MASCULINE.fullmatch(name))


# -- a mention ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 13)
def _parts(text: str) -> Sequence[_Part]:
    """The words that are names or initials; titles, degrees and particles are left out where a name remains."""
    if text.isalpha():
        return (_Part(0, len(text), _shapes.fold(text)),)
    found = [match.span() for match in _WORD.finditer(text)]
    kept: list[tuple[int, int]] = []
    last = len(found) - 1
    degrees = _DOTTED_DEGREES.search(text) if "." in text else None
    for place, (start, end) in enumerate(found):
        if degrees and kept and start >= degrees.start():
            break
        word = text[start:end]
        lower = word.lower()
        follows = text[end : end + 1]
        if lower in _TITLES and place < last and follows != ",":
            continue
        if lower == "s" and text[max(start - 1, 0)] in "'’´`":
            continue
        if lower in _AFTER and kept:
            between = text[found[place - 1][1] : start]
            ends = place == last or follows in (",", ";", ".")
            alone = word.isupper() and not text.isupper()
            degree = ends and (alone or "," in between) if lower in _NAMES_TOO else ends or between != " "
            if degree or lower in _DEGREES:
                continue
        if place < last and _is_particle(word, lower, text, follows, first=place == 0):
            continue
        kept.append((start, end))
    return tuple(_Part(start, end, _shapes.fold(text[start:end])) for start, end in kept or found)


def _is_particle(word: str, lower: str, text: str, follows: str, *, first: bool) -> bool:
    """Whether a word inside a name stays: "van der", "St.", "al-"."""
    if lower in _PARTICLES:
        if first and lower == "le" and not word.islower():  # "Le Thi Hoa"
            return False
        return follows in " -\n" or (follows == "." and lower in _DOTTED)
    if lower in _LOWER_PARTICLES:
        return (follows == "-" and len(lower) > 1) or (word.islower() and not text.islower() and follows in " \n")
    return False


def _roles(text: str, parts: Sequence[_Part], before: str, context: Context, label: Label = Label.PATIENT) -> list[str]:
    """Says of each part whether it is a first or a last name."""
    size = len(parts)
    comma = text.find(",")
    comma = text.find("^") if comma < 0 else comma  # HL7: BELL^PATRICIA^ANN
    if comma >= 0 and parts[0].end <= comma < parts[-1].start:
        return ["last" if part.end <= comma else "first" for part in parts]
    if size == 1:
        return [_alone(text, parts[0], before, context, label)]
    folded = [part.folded for part in parts]
    joined = size - 1
    while joined and text[parts[joined - 1].end : parts[joined].start].strip() in _HYPHENED:
        joined -= 1
    if joined < size - 1:
        syllables = text[parts[-1].start].islower() and not text.islower()  # "Ha-eun"
        if joined == 0:
            return [_joined(text, parts, before, context) if not syllables else "first"] * size
        if syllables and joined == 1:
            return ["last"] + ["first"] * (size - 1)
    if size == 2 and _twofold(folded, context):
        return ["first", "first"]
    if size > 2 and folded[0] in context.lasts - context.firsts and context.lasts.isdisjoint(folded[1:]):
        return ["last"] + ["first"] * (size - 1)  # Wu Chung-hsien, beside another Wu
    if size == 2 and _turned(folded, text, context):
        return ["last", "first"]
    roles = ["first"] * size
    roles[joined:] = ["last"] * (size - joined)
    for place in range(1, joined):
        name = folded[place]
        is_last = name in context.lasts or (name not in context.firsts and _is_last(name))
        if is_last and len(name) > 1 and not _quoted(text, parts[place]):
            roles[place] = "last"
    return roles


def _quoted(text: str, part: _Part) -> bool:
    """Whether it is a nickname between quotation marks or brackets."""
    return text[max(part.start - 1, 0)] in _OPENING and text[part.end : part.end + 1] in _CLOSING


_OPENING = frozenset("\"“”'‘’(")
_CLOSING = frozenset("\"“”'‘’)")


def _alone(text: str, part: _Part, before: str, context: Context, label: Label) -> str:
    name = context.typos.get(part.folded, part.folded)
    titled = (part.start > 0 and _TITLE_BEFORE.search(text[: part.start])) or (before and _TITLE_BEFORE.search(before))
    if titled or name in context.lasts:
        return "last"
    if name in context.firsts or name in context.nicks or len(name) == 1:
        return "first"
    if name in lexicons.nicknames() and context.firsts.intersection(lexicons.nicknames()[name]):
        return "first"
    if label is Label.PATIENT and not sum(_known(name)):
        return "first"  # a patient's kin are called by their first names
    return "last" if _is_last(name) else "first"


_HYPHENED = frozenset(_HYPHENS)


def _joined(text: str, parts: Sequence[_Part], before: str, context: Context) -> str:
    """Whether a hyphened name that stands by itself is a last name ("Smith-Jones") or a first ("Ai-Ling")."""
    folded = {part.folded for part in parts}
    titled = _TITLE_BEFORE.search(text[: parts[0].start]) or _TITLE_BEFORE.search(before)
    if titled or folded & context.lasts:
        return "last"
    known = [_known(name) for name in folded]
    given = sum(women + men for women, men, _ in known)
    return "first" if folded & context.firsts or given > sum(families for *_, families in known) else "last"


def _twofold(folded: Sequence[str], context: Context) -> bool:
    """Whether two words are the first names of a woman ("Ruth Ann"), and nobody's last name is the second."""
    one, two = folded
    if two not in _SECOND or two in context.lasts:
        return False
    women, men, families = _known(one)
    return women > max(men, families)


def _is_last(name: str) -> bool:
    women, men, families = _known(name)
    return families >= women + men


def _turned(folded: Sequence[str], text: str, context: Context) -> bool:
    """KOWALCZYK TADEUSZ, as forms have it."""
    one, two = folded
    if len(one) < 2 or one in context.firsts or two in context.lasts:
        return False
    if len(two) == 1:
        return one in context.lasts or _is_last(one)
    return (one in context.lasts and two in context.firsts) or (text.isupper() and _is_last(one) and not _is_last(two))


def notice(mentions: Sequence[Mention]) -> Context:
    votes: dict[str, list[int]] = {}
    nicks: dict[str, str] = {}
    counts = Counter[str]()
    read: dict[str, Sequence[_Part]] = {}
    longer: list[tuple[str, Sequence[_Part], list[_Part]]] = []

    def vote(text: str, parts: Sequence[_Part], words: list[_Part], context: Context) -> None:
        roles = _roles(text, parts, "", context)
        given = next(  # "Alois" of 'Alois "Al" Wilson' and of 'Wilson, Alois "Al"'
            (part.folded for part, role in zip(parts, roles, strict=True) if role == "first" and len(part.folded) > 1),
            words[0].folded,
        )
        for part, role in zip(parts, roles, strict=True):
            name = part.folded
            if len(name) > 1:
                votes.setdefault(name, [0, 0])[role == "last"] += 1
                if role == "first" and part is not words[0] and _quoted(text, part) and given != name:
                    nicks.setdefault(name, given)

    for mention in mentions:
        if mention.label is not Label.PATIENT and mention.label is not Label.DOCTOR:
            continue
        text = _shapes.letters_read(mention.text)
        parts = read.get(text)
        if parts is None:
            parts = read[text] = _parts(text)
        words = [part for part in parts if len(part.folded) > 1]
        counts.update([part.folded for part in words])
        if len(parts) == 1 and words and mention.before and _TITLE_BEFORE.search(mention.before):
            votes.setdefault(words[0].folded, [0, 0])[1] += 1
        if len(parts) < 2 or not words or _DICTATED.fullmatch(text):
            continue
        if len(parts) > 2 and "," not in text:
            longer.append((text, parts, words))
        else:
            vote(text, parts, words, _EMPTY)
    plain = _voted(votes)
    for text, parts, words in longer:  # "Wu Chung-hsien", once another Wu is seen
        vote(text, parts, words, plain)
    firsts = [name for name, (first, last) in votes.items() if first >= last and len(name) > 5]
    for name in counts:
        if name not in votes and 3 <= len(name) <= 5 and sum(_known(name)) < _RARE:  # "Zyg", beside a Zygmunt
            nicks.update((name, given) for given in firsts if given.startswith(name))
    voted = _voted(votes)
    context = Context(voted.firsts, voted.lasts, frozenset(counts), nicks, _typos(counts), read)
    if not any(map(_has_initials, read)):
        return context
    letters: dict[str, Sequence[str]] = {}
    for text, parts in read.items():  # "LGD" beside a "Leopoldo Garza-Dunne"
        if 3 <= len(parts) <= 4 and "," not in text and not _DICTATED.fullmatch(text):
            letters.setdefault("".join(part.folded[:1] for part in parts), _roles(text, parts, "", context))
    return replace(context, letters=letters)


def _has_initials(text: str) -> bool:
    return (len(text) < 5 and text.isalpha()) or (len(text) < 16 and ("/" in text or ":" in text or "-" in text))


def _voted(votes: Mapping[str, Sequence[int]]) -> Context:
    return Context(
        frozenset(name for name, (first, last) in votes.items() if first >= last),
        frozenset(name for name, (first, last) in votes.items() if last >= first),
    )


_EMPTY = Context()
_LEAST = 5  # letters of a name whose misspelling can be told from another name
_FEW = 50  # names that begin or end alike and are compared; a note has hardly more
_RARE = 500  # people who bear a misspelling


def _typos(counts: Mapping[str, int]) -> dict[str, str]:
    """Words that nearly nobody is called, one slip away from a name that the document has more often or people bear."""
    if len(counts) < 2:
        return {}
    found: dict[str, str] = {}
    weights = {name: (sum(_known(name)), counts[name]) for name in counts if len(name) >= _LEAST}
    if all(bearers >= _RARE for bearers, _ in weights.values()):
        return found
    alike: dict[str, list[str]] = {}  # one slip leaves the first two letters as they were, or else the last two
    for name in weights:
        alike.setdefault(name[:2], []).append(name)
        alike.setdefault(f"-{name[-2:]}", []).append(name)
    for name, weight in weights.items():
        if weight[0] < _RARE:
            others = {*alike[name[:2]][:_FEW], *alike[f"-{name[-2:]}"][:_FEW]}
            meant = [other for other in others if weights[other] > weight and _one_slip(name, other)]
            if meant:
                found[name] = max(meant, key=lambda other: (weights[other], other))
    return found


def _one_slip(one: str, two: str) -> bool:
    """One letter wrong, missing, too many, or two neighbours swapped."""
    if abs(len(one) - len(two)) > 1 or one == two:
        return False
    start = next((place for place, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    a, b = one[start:], two[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[2:] == b[2:] and a[:2] == b[1::-1])


def surrogate(mention: Mention, draw: Draw, context: Context, options: Options) -> str:
    if mention.label is Label.USERNAME:
        return handle(mention.text, draw, context, options)
    if not mention.text.isalpha():
        mention = Mention(_shapes.letters_read(mention.text), mention.label, mention.before)
    spaced = _shapes.unspaced(mention.text)
    if spaced is not None:
        return _shapes.spaced(_name(Mention(spaced, mention.label, mention.before), draw, context, options))
    return _name(mention, draw, context, options)


def _name(mention: Mention, draw: Draw, context: Context, options: Options) -> str:
    text = mention.text
    parts = context.parts.get(text) or _parts(text)
    if not parts:
        return _shapes.scrambled(text, draw, "name")
    if _DICTATED.fullmatch(text) or (
        len(parts) == 1 and _are_initials(text[parts[0].start : parts[0].end], mention.label, context)
    ):
        return _shapes.renumbered(
            "".join(
                _dictated(piece, draw, context) if piece[:1].isalpha() else piece
                for piece in re.split(r"([^\W\d_]+)", text)
            ),
            draw,
            "name",
        )
    made: list[str] = []
    position = 0
    for (start, end, normal), role in zip(
        parts, _roles(text, parts, mention.before, context, mention.label), strict=True
    ):
        old = text[start:end]
        if (len(normal) == 1 and old.isalpha()) or (normal in _SHORTENED and text[end : end + 1] == "."):
            new = initial(draw, role, _SHORTENED.get(normal, normal))
            new = new.upper() if old[0].isupper() else new
        else:
            new = _shapes.like(old, word(draw, role, normal, context, options, (normal,)))
        made += [text[position:start], new]
        position = end
    made.append(text[position:])
    return _shapes.renumbered("".join(made), draw, "name")


def _are_initials(text: str, label: Label, context: Context) -> bool:
    if not 2 <= len(text) <= 3 or not (text.isupper() or text.islower()):
        return False
    normal = _shapes.fold(text)
    # a patient is seldom called by initials, a doctor often
    if len(text) == 3 and sum(_known(normal)) > _RARE and (text.islower() or label is Label.PATIENT):
        return False
    return normal not in context.firsts | context.lasts and sum(_known(normal)) < _NAMES_ARE


def initials(text: str, draw: Draw, context: Context) -> str:
    """ "TK" by the initials of T… and of K…; the last letter is the last name's."""
    roles = context.letters.get(_shapes.fold(text)) or ["first"] * (len(text) - 1) + ["last" if text[1:] else "first"]
    made = [initial(draw, role, char) for role, char in zip(roles, text, strict=True)]
    return "".join(new.upper() if old.isupper() else new for old, new in zip(text, made, strict=True))


def _dictated(text: str, draw: Draw, context: Context) -> str:
    """Initials, or the login of whoever typed."""
    if len(text) < 5:
        return initials(text, draw, context)
    return _shapes.like(text, _shapes.babble(draw, "typist", _shapes.fold(text), len(text)))


# -- names inside user names and addresses -----------------------------------------------------------------------------


def handle(text: str, draw: Draw, context: Context, options: Options) -> str:
    """ "tkowalczyk71" by the stand-ins of T. and Kowalczyk; what is no name keeps its letters' and digits' shape."""
    made: list[str] = []
    for piece in re.findall(r"[^\W\d_]+|\d+|.", text, re.DOTALL):
        if piece[0].isalpha():
            made.append(_shapes.like(piece, _login(_shapes.fold(piece), draw, context, options)))
        else:
            made.append(_shapes.scrambled(piece, draw, "handle"))
    return "".join(made)


def _login(name: str, draw: Draw, context: Context, options: Options) -> str:
    def of(role: str, normal: str) -> str:
        return _shapes.fold(word(draw, role, normal, context, options, (normal, name)))

    if not name:
        return "x"
    if len(name) == 1:
        return initial(draw, "first", name)
    if name in context.lasts:
        return of("last", name)
    if name in context.firsts or context.firsts.intersection(lexicons.nicknames().get(name, ())):
        return of("first", name)
    if name[1:] in context.lasts:
        return initial(draw, "first", name[0]) + of("last", name[1:])
    if name[:-1] in context.lasts:
        return of("last", name[:-1]) + initial(draw, "first", name[-1])
    for size in range(2, len(name) - 1):
        head, tail = name[:size], name[size:]
        if head in context.firsts and tail in context.lasts:
            return of("first", head) + of("last", tail)
        if head in context.lasts and tail in context.firsts:
            return of("last", head) + of("first", tail)
    if len(name) <= 3:
        return initials(name, draw, context)
    women, men, families = _known(name)
    if women + men + families >= _NAMES_ARE:
        return of("last" if families >= women + men else "first", name)
    if len(name) > 4 and _known(name[1:])[2] >= _NAMES_ARE:
        return initial(draw, "first", name[0]) + of("last", name[1:])
    return _shapes.babble(draw, "handle", name, len(name))
