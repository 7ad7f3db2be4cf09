"""Professions from the pool: article, "retired", number and case stay."""

import re
from collections.abc import Mapping, Sequence
from functools import cache

from deident import lexicons
from deident.labels import Label
from deident.surrogates import _shapes
from deident.surrogates._draws import Draw
from deident.surrogates._mentions import Mention, Options

LABELS = frozenset({Label.PROFESSION})

_SHAPE = re.compile(
    r"(?P<lead>(?:(?:an?|the|his|her|their|former|retired|unemployed|disabled|part-time|full-time|works?\s+as|working\s+as"
    r"|worked\s+as|employed|as|job|career|is|was|been|currently|previously|who|being)\s+)*)(?P<core>.+?)"
    r"(?P<tail>(?:['’]s?)?\W*)",
    re.IGNORECASE | re.DOTALL,
)
_ARTICLE_NEXT = re.compile(r"\s+(?:an?|the)\b", re.IGNORECASE)
_ARTICLE = re.compile(r"\ban?(?=\s+$)", re.IGNORECASE)


def notice(mentions: Sequence[Mention]) -> None:
    """Professions need nothing of the document."""


# Job-title lists, cut into pairs of words, also leave "manager china" and "stage driver": of the pairs those are drawn
# whose first word goes with their second.
_TRADES: Mapping[str, tuple[str, ...]] = {
    "driver": _shapes.listed("bus cab delivery tractor taxi truck van forklift"),
    "engineer": _shapes.listed("chemical civil electrical environmental industrial mechanical structural software"),
    "clerk": _shapes.listed("bank court hotel law mail office retail sales shipping stock store town grocery"),
    "operator": _shapes.listed("camera computer crane elevator machine switchboard telephone press"),
    "worker": _shapes.listed(
        "cafeteria construction dock factory farm laundry metal mill office postal warehouse youth"
    ),
    "technician": _shapes.listed("hvac lab laboratory nail pharmacy service veterinary x-ray computer"),
    "mechanic": _shapes.listed("aircraft auto automobile refrigeration"),
    "assistant": _shapes.listed("administrative dental executive medical nursing research teaching"),
    "secretary": _shapes.listed("church executive legal medical school"),
    "teacher": _shapes.listed("art dance drama kindergarten math music piano preschool school science substitute"),
    "officer": _shapes.listed("corrections loan parole police probation security"),
    "agent": _shapes.listed("insurance purchasing ticket travel"),
    "inspector": _shapes.listed("building"),
    "trainer": _shapes.listed("dog horse personal"),
    "coach": _shapes.listed("basketball football swim tennis"),
    "manager": _shapes.listed("bank hotel office production restaurant store warehouse"),
    "guard": _shapes.listed("crossing prison security"),
}
_HEADS = frozenset(_TRADES) | frozenset(
    _shapes.listed(
        "nurse attorney lawyer editor painter designer dispatcher analyst pilot singer player cook broker aide tech"
    )
)
_VERB = re.compile(r"(?P<verb>[a-z]{2,12}(?P<form>ed|ing|(?<![siu])s))(?P<rest>\s+[a-z]|$)", re.IGNORECASE)
# Verbs that say of what somebody lives and that an ending does not show.
_PAST = frozenset(
    _shapes.listed(
        """ran drove kept rode grew taught did sold shod built dug made took owned held sang wrote flew caught cut hung
        dealt fought gave led spun swept wove mined sewed farmed logged fished welded raised grown driven taught"""
    )
)
_PRESENT = frozenset(_shapes.listed("drive own run teach keep sell grow raise build make farm manage operate"))
_SAID_WITH_S = frozenset(f"{verb}s" for verb in _PRESENT) | {"does", "teaches", "fishes", "works"}


@cache
def _pool(article: str = "") -> tuple[str, ...]:
    """Single words, and pairs that name a trade, for men and women alike; for "a" or for "an", where one is given."""
    texts = [
        entry.text
        for entry in lexicons.pool("professions")
        if not _SEXED.search(entry.text) and (not article or (entry.text[0] in "aeiou") == (article == "an"))
    ]
    return tuple(
        text
        for text in texts
        if len(words := text.split()) == 1 or (len(words) == 2 and words[0] in _TRADES.get(words[1], ()))
    )


_SEXED = re.compile(r"(?:man|woman|ess|wife|maid|boy|lady|jack|hop|husband|nun|owner)$")


@cache
def _folded() -> frozenset[str]:
    return frozenset(_shapes.fold(entry.text) for entry in lexicons.pool("professions"))


@cache
def _beginnings() -> frozenset[str]:
    """Words with which names of work begin, so that "registered nurse" is no verb with its object."""
    return frozenset(entry.text.split()[0].lower() for entry in lexicons.pool("professions"))


_SUBJECTS = frozenset(_shapes.listed("he she who they currently still now also formerly previously once"))


_FIELDS = _shapes.listed("sales construction retail banking farming insurance landscaping manufacturing marketing trucking accounting catering publishing advertising")  # fmt: skip  # noqa: E501


def _verb(core: str, *, after_subject: bool) -> str:
    """ "worked as " for "cleaned houses", "works as " for "teaches physics"; "" where a noun stands."""
    words = core.lower().split()
    if not words:
        return ""
    first, last = words[0], words[-1]
    if len(words) > 1 or first in ("farmed", "sewed", "fished", "mined", "logged", "welded"):
        if first in _PAST:
            return "worked as "
        if first in _PRESENT and words[1] in ("a", "an", "the", "my", "his", "her"):
            return "work as "
        if first in _SAID_WITH_S:
            return "works as "
    match = _VERB.match(core)
    if match is None:
        return ""
    form = {"ed": "worked as ", "s": "works as "}.get(match["form"].lower(), "working as ")
    if len(words) == 1:
        return form if first in _SAID_WITH_S or after_subject else ""
    if after_subject or _ARTICLE_NEXT.match(core, match.end("verb")):
        return form
    if last in _HEADS or _shapes.fold(last) in _folded() or last.endswith(("er", "or", "ist", "man")):
        return ""
    return "" if first in _beginnings() or lexicons.words().get(first).name > 500 else form


_ENDING = re.compile(r"(?:ed|ing|e?s)$")


def _plural(noun: str) -> str:
    if noun.endswith(("s", "ch", "sh", "x")):
        return noun + "es"
    return noun[:-1] + "ies" if noun.endswith("y") and noun[-2] not in "aeo" else noun + "s"


def surrogate(mention: Mention, draw: Draw, context: None, options: Options) -> str:  # noqa: ARG001 (the face of all families)
    match = _SHAPE.fullmatch(mention.text)
    if match is None:
        return _shapes.scrambled(mention.text, draw, "profession")
    core = match["core"]
    normal = _shapes.fold(core)
    plural = (
        normal.endswith("s") and normal not in _folded() and (normal[:-1] in _folded() or core[-2:].lower() == "rs")
    )
    plural = plural or normal.endswith("smen")
    normal = normal[:-1] if plural else normal
    last = mention.before.split()[-1:]
    if last and last[0].lower() == "in" and len(core.split()) == 1:  # "she is in sales"
        return match["lead"] + _shapes.like(core, _shapes.unlike(draw, "field", normal, _FIELDS)) + match["tail"]
    verb = _verb(core, after_subject=bool(last) and last[0].lower() in _SUBJECTS)
    stem = _ENDING.sub("", normal) if verb and core.isalpha() else normal  # who "farmed" becomes no farmer
    stem = stem or _shapes.fold(mention.text)
    new = _shapes.unlike(draw, "profession", stem, _pool())
    if not match["lead"] and last and last[0].lower() == ("a" if new[0] in "aeiou" else "an"):
        new = _shapes.unlike(draw, "profession", stem, _pool(last[0].lower()))  # nobody changes the article before it
    if verb:
        new = f"{verb}{'an' if new[0].lower() in 'aeiou' else 'a'} {new}"
    elif plural:
        new = _plural(new)
    lead = _ARTICLE.sub(
        lambda article: (
            _shapes.like(article[0] if len(article[0]) > 1 else article[0] * 2, "an")
            if new[0].lower() in "aeiou"
            else article[0][0]
        ),
        match["lead"],
    )
    if verb and not core.isupper():
        made = new[0].upper() + new[1:] if core[0].isupper() else new
    elif core.isupper() or (core.strip() and core.split()[-1][:1].isupper()):
        made = _shapes.like(core, new)
    else:  # "CAD drafter"
        made = new[0].upper() + new[1:] if core.istitle() or core[:2].istitle() else new
    return lead + made + match["tail"]
