"""What the parse tree of a regular expression tells before any text is seen.

Two things: how many steps a match may take from one place (Python's matcher backtracks, so this is the proof that time
is linear), and how a match may begin (so that a scan can leave out most of the tries).
"""

import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache, reduce
from operator import or_
from typing import Any

from deident.errors import ConfigError

# --- the proof -------------------------------------------------------------------------------------------------------
# Python's matcher backtracks. A pattern whose repetitions are all bounded takes a bounded number of steps from one
# place, but the bound can be astronomic ("(?:a{0,20}){0,20}"), so it is worked out from the parse tree, and a pattern
# is refused when it is too large. No compiled dependency (google-re2) is needed, and look-around stays allowed.

MOST_STEPS = 1_000_000  # that a pattern may take from one place, by the bound of `steps`
_parser: Any = importlib.import_module("re._parser")  # the tree as the standard library's own compiler sees it
ALL = (1 << 128) - 1  # a set of characters is an integer with a bit for each of the 128
_First = tuple[int, bool]  # the characters that a part may begin with, and whether it may be empty


def proven(regex: re.Pattern[str], where: str) -> None:
    """Refuse a regular expression whose steps from one place have no bound, or a very large one."""
    try:
        bound = steps(regex)
    except _UnboundedError:
        raise ConfigError(f"{where}: a repetition has no upper bound; write {{0,40}} for *, {{1,40}} for +") from None
    if bound > MOST_STEPS:
        raise ConfigError(
            f"{where}: the pattern may take {bound:.0e} steps at one place, more than {MOST_STEPS:.0e}; "
            "shorten its repetitions, or make them possessive ({1,40}+)"
        )


class _UnboundedError(Exception):
    pass


def steps(regex: re.Pattern[str]) -> float:
    """An upper bound of the steps that matching takes from one place."""
    return _work(_tree(regex), (ALL, True), bool(regex.flags & re.IGNORECASE))[1]


@lru_cache(maxsize=256)
def _tree(regex: re.Pattern[str]) -> list[Any]:
    return list(_parser.parse(regex.pattern, regex.flags))


def _work(items: Sequence[Any], follow: _First, fold: bool) -> tuple[float, float]:
    """(ways to match, steps to try them all) of a sequence that is followed by what `follow` says."""
    ways, total = 1.0, 0.0
    for place, item in enumerate(items):
        rest = _joined_first(_first(items[place + 1 :], fold), follow)
        item_ways, item_steps = _item_work(item, rest, fold)
        total += ways * item_steps
        ways *= item_ways
    return ways, total


def _item_work(item: Any, follow: _First, fold: bool) -> tuple[float, float]:
    name, value = str(item[0]), item[1]
    match name:
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            least, most, body = value[0], value[1], list(value[2])
            return _repeat_work(int(least), most, body, follow, fold, possessive=name == "POSSESSIVE_REPEAT")
        case "BRANCH":
            works = [_work(list(branch), follow, fold) for branch in value[1]]
            firsts = [_joined_first(_first(list(branch), fold), follow) for branch in value[1]]
            tried = sum(work[1] for work in works) + len(works)
            if sum(first[0].bit_count() for first in firsts) == _any(first[0] for first in firsts).bit_count():
                return max(work[0] for work in works), max(work[1] for work in works) + len(works)  # one at most begins
            return sum(work[0] for work in works), tried
        case "SUBPATTERN":
            return _work(list(value[3]), follow, _fold(value, fold))
        case "ATOMIC_GROUP":
            return 1.0, _work(list(value), follow, fold)[1]
        case "ASSERT" | "ASSERT_NOT":
            return 1.0, _work(list(value[1]), (ALL, True), fold)[1]
        case "GROUPREF_EXISTS":
            yes, no = _work(list(value[1]), follow, fold), _work(list(value[2] or []), follow, fold)
            return max(yes[0], no[0]), yes[1] + no[1]
        case _:
            return 1.0, 1.0


def _repeat_work(
    least: int, most: Any, body: list[Any], follow: _First, fold: bool, *, possessive: bool
) -> tuple[float, float]:
    if most is _parser.MAXREPEAT or most > 1000:
        raise _UnboundedError
    own = _first(body, fold)
    ways, once = _work(body, (own[0] | follow[0], follow[1]), fold)
    rounds = int(most)
    if ways <= 1:
        tried = rounds * once + rounds
        # where the repeated part cannot begin like what follows, only the longest run goes on
        certain = possessive or rounds == least or (not follow[1] and not own[1] and not own[0] & follow[0])
        return (1.0 if certain else float(rounds - least + 1)), tried
    reached = [ways**count for count in range(rounds + 1)]
    return (1.0 if possessive else sum(reached[least:])), sum(reached) * once


def _joined_first(first: _First, follow: _First) -> _First:
    return (first[0] | follow[0], follow[1]) if first[1] else first


def _first(items: Sequence[Any], fold: bool) -> _First:
    """What a sequence may begin with."""
    begins = 0
    for item in items:
        own, empty = _item_first(item, fold)
        begins |= own
        if not empty:
            return begins, False
    return begins, True


def _item_first(item: Any, fold: bool) -> _First:
    name, value = str(item[0]), item[1]
    match name:
        case "LITERAL":
            return _cased(1 << int(value), fold), False
        case "NOT_LITERAL" | "ANY" | "GROUPREF":
            return ALL, name == "GROUPREF"
        case "IN":
            return _set(value, fold), False
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            own, empty = _first(list(value[2]), fold)
            return own, empty or value[0] == 0
        case "BRANCH":
            firsts = [_first(list(branch), fold) for branch in value[1]]
            return _any(first[0] for first in firsts), any(first[1] for first in firsts)
        case "SUBPATTERN":
            return _first(list(value[3]), _fold(value, fold))
        case "ATOMIC_GROUP":
            return _first(list(value), fold)
        case "AT" | "ASSERT" | "ASSERT_NOT":
            return 0, True
        case _:
            return ALL, True


_CATEGORIES: Mapping[str, str] = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}


@cache
def _category(name: str) -> int:
    kind = name.removeprefix("CATEGORY_").removeprefix("UNI_").removeprefix("LOC_")
    inside = re.compile(_CATEGORIES.get(kind.removeprefix("NOT_"), "."), re.ASCII | re.DOTALL)
    chars = bits(code for code in range(128) if inside.match(chr(code)))
    return ALL & ~chars if kind.startswith("NOT_") else chars


def _set(members: Sequence[Any], fold: bool) -> int:
    found = 0
    negated = False
    for member in members:
        name, value = str(member[0]), member[1]
        match name:
            case "NEGATE":
                negated = True
            case "LITERAL":
                found |= 1 << int(value)
            case "RANGE":
                found |= (1 << min(int(value[1]), 127) + 1) - 1 & ~((1 << int(value[0])) - 1)
            case _:  # CATEGORY
                found |= _category(str(value))
    folded = _cased(found, fold)
    return ALL & ~folded if negated else folded


_UPPER, _LOWER = (sum(1 << code for code in range(first, first + 26)) for first in (ord("A"), ord("a")))


def _cased(chars: int, fold: bool) -> int:
    return chars | (chars & _UPPER) << 32 | (chars & _LOWER) >> 32 if fold else chars


def _any(sets: Iterable[int]) -> int:
    return reduce(or_, sets, 0)


def bits(chars: Iterable[int]) -> int:
    return _any(1 << code for code in chars)


# --- how a match begins ----------------------------------------------------------------------------------------------
# The expression is followed as an automaton, one partial derivative (Antimirov 1996) at a time: a state is a set of
# what may still have to match. It admits too much (most look-around is passed over), never too little.

_DONE = 0  # the number of the rest in which nothing has to match any more
_Node = tuple[Any, ...]
State = frozenset[int]


Pairs = tuple[int, ...]  # for each character, as the last one before a place, what may stand before it
_ANY_PAIR: Pairs = (ALL,) * 128


class Openings:
    """How the matches of one expression begin."""

    def __init__(self, nodes: tuple[_Node, ...], before: Pairs = _ANY_PAIR) -> None:
        self.before = before
        self._rests: list[tuple[_Node, int]] = [((), 0)]
        self._numbers: dict[tuple[_Node, int], int] = {}
        self._opened: dict[int, tuple[tuple[int, int], ...]] = {}
        self._steps: dict[tuple[State, int], State] = {}
        self.start: State = frozenset([self._followed_by(nodes, _DONE)])

    @classmethod
    def of(cls, regex: re.Pattern[str], after: re.Pattern[str] | None = None) -> "Openings":
        """Those of an expression that may want another one to match just before it."""
        tree, fold = _tree(regex), bool(regex.flags & re.IGNORECASE)
        before = _before(tree, fold)
        if after is not None:
            before = _both(before, _ending(_tree(after), bool(after.flags & re.IGNORECASE)))
        # where the text begins, nothing stands before
        admitted = (ALL, *(pair | 1 if pair else 0 for pair in before[1:]))
        return cls(_nodes(tree, fold), admitted)

    def ahead(self, state: State) -> Pairs:
        """For each character that may come next what may follow it."""
        found = [0] * 128
        for chars, then in self.ways(state, ALL):
            follows = self.next(then)
            while chars:
                lowest = chars & -chars
                found[lowest.bit_length() - 1] |= follows
                chars ^= lowest
        return tuple(found)

    def next(self, state: State) -> int:
        """The characters that may come next."""
        found = 0
        for rest in state:
            for chars, _ in self._open(rest):
                found |= chars
        return found

    def step(self, state: State, chars: int) -> State:
        """The state behind one of the characters."""
        key = (state, chars)
        known = self._steps.get(key)
        if known is None:
            known = frozenset(then for rest in state for some, then in self._open(rest) if some & chars)
            self._steps[key] = known
        return known

    def ways(self, state: State, chars: int) -> Iterable[tuple[int, State]]:
        """The characters that may come next, of `chars`, in classes with one state behind each."""
        classes = [self.next(state) & chars]
        for rest in state:
            for some, _ in self._open(rest):
                classes = [part for whole in classes for part in (whole & some, whole & ~some) if part]
        for part in classes:
            yield part, self.step(state, part)

    def _followed_by(self, nodes: tuple[_Node, ...], rest: int) -> int:
        for node in reversed(nodes):
            key = (node, rest)
            number = self._numbers.get(key)
            if number is None:
                number = self._numbers[key] = len(self._rests)
                self._rests.append(key)
            rest = number
        return rest

    def _open(self, rest: int) -> tuple[tuple[int, int], ...]:
        """(characters, the rest behind them): each way to go on."""
        if rest == _DONE:
            return ((ALL, _DONE),)
        known = self._opened.get(rest)
        if known is None:
            known = self._opened[rest] = tuple(dict.fromkeys(self._ways(*self._rests[rest])))
        return known

    def _ways(self, node: _Node, then: int) -> Iterable[tuple[int, int]]:
        match node:
            case ("set", chars):
                yield chars, then
            case ("only", chars):
                yield from ((some & chars, rest) for some, rest in self._open(then) if some & chars)
            case ("any",):
                yield ALL, _DONE
            case ("or", branches):
                for branch in branches:
                    yield from self._open(self._followed_by(branch, then))
            case (_, least, most, body):
                if most > 0:
                    fewer = ("times", max(least - 1, 0), most - 1, body)
                    yield from self._open(self._followed_by((*body, fewer), then))
                if least == 0:
                    yield from self._open(then)
            case _:
                raise AssertionError(node)


def _nodes(items: Sequence[Any], fold: bool) -> tuple[_Node, ...]:
    return tuple(node for item in items for node in _node(item, fold))


def _node(item: Any, fold: bool) -> Iterable[_Node]:
    name, value = str(item[0]), item[1]
    match name:
        case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
            yield "set", _one(item, fold)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            yield "times", int(value[0]), int(value[1]), _nodes(list(value[2]), fold)
        case "BRANCH":
            yield "or", tuple(_nodes(list(branch), fold) for branch in value[1])
        case "SUBPATTERN":
            yield from _nodes(list(value[3]), _fold(value, fold))
        case "ATOMIC_GROUP":
            yield from _nodes(list(value), fold)
        case "ASSERT" if value[0] > 0:
            chars, empty = _first(list(value[1]), fold)
            if not empty:
                yield "only", chars
        case "ASSERT_NOT" if value[0] > 0:
            yield "only", ALL & ~_alone(list(value[1]), fold)
        case "ASSERT" | "ASSERT_NOT" | "AT":
            return
        case _:
            yield ("any",)


def _fold(value: Any, fold: bool) -> bool:
    """Whether case is ignored within a group."""
    return (fold or bool(value[1] & re.IGNORECASE)) and not value[2] & re.IGNORECASE


def _one(item: Any, fold: bool) -> int:
    """What a part of one character may be; nothing for other parts."""
    name, value = str(item[0]), item[1]
    match name:
        case "LITERAL":
            return _cased(1 << int(value), fold)
        case "NOT_LITERAL":
            return ALL & ~_cased(1 << int(value), fold)
        case "ANY":
            return ALL
        case "IN":
            return _set(value, fold)
        case _:
            return 0


def _alone(items: Sequence[Any], fold: bool) -> int:
    """The characters each of which is a match by itself, for certain."""
    if len(items) != 1:
        return 0
    name, value = str(items[0][0]), items[0][1]
    match name:
        case "BRANCH":
            return _any(_alone(list(branch), fold) for branch in value[1])
        case "SUBPATTERN":
            return _alone(list(value[3]), _fold(value, fold))
        case "ANY":
            return 0  # a line's end is none
        case _:
            return _one(items[0], fold)


def _before(items: Sequence[Any], fold: bool) -> Pairs:
    """What may stand before a match, by the look-behind at its head."""
    found = _ANY_PAIR
    for item in items:
        name, value = str(item[0]), item[1]
        match name:
            case "ASSERT" if value[0] < 0:
                found = _both(found, _ending(list(value[1]), fold))
            case "ASSERT_NOT" if value[0] < 0:
                never = _alone(list(value[1]), fold)
                found = tuple(0 if never >> code & 1 else pair for code, pair in enumerate(found))
            case "SUBPATTERN":
                found = _both(found, _before(list(value[3]), _fold(value, fold)))
            case "BRANCH":
                heads = [_before(list(branch), fold) for branch in value[1]]
                found = _both(found, tuple(_any(pairs) for pairs in zip(*heads, strict=True)))
            case _:
                pass
        if not _is_look(item):
            return found
    return found


def _is_look(item: Any) -> bool:
    """Whether a part matches no character."""
    name, value = str(item[0]), item[1]
    match name:
        case "ASSERT" | "ASSERT_NOT" | "AT":
            return True
        case "SUBPATTERN":
            return all(map(_is_look, value[3]))
        case "BRANCH":
            return all(_is_look(inner) for branch in value[1] for inner in branch)
        case _:
            return False


def _both(left: Pairs, right: Pairs) -> Pairs:
    return tuple(one & other for one, other in zip(left, right, strict=True))


def _ending(items: Sequence[Any], fold: bool) -> Pairs:
    """The last two characters of what an expression matches: it is read backwards."""
    backwards = Openings(_reversed(_nodes(items, fold)))
    return backwards.ahead(backwards.start)


def _reversed(nodes: tuple[_Node, ...]) -> tuple[_Node, ...]:
    return tuple(turned for node in reversed(nodes) for turned in _turned(node))


def _turned(node: _Node) -> Iterable[_Node]:
    match node:
        case ("only", _):
            return  # it looks the other way
        case ("or", branches):
            yield "or", tuple(_reversed(branch) for branch in branches)
        case ("times", least, most, body):
            yield "times", least, most, _reversed(body)
        case _:
            yield node
