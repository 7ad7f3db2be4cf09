"""Which label gets which treatment, by law or by a site: policies are TOML files that a privacy officer can read.

    policy = load("safe-harbor")                 # or the path of a file of one's own
    policy.action(Label.DATE)                    # Action.GENERALISE
    clean = replace.apply(doc, policy.treatment(as_of=2024))

The built-in ones lie in `policies/`. A file of one's own either extends another policy, and then may only tighten it,
or says what becomes of every label:

    extends = "safe-harbor"
    staff = "remove"
    [treat]
    STATE = "tag"

Two things are apart: what becomes of a label (it stays, is shifted, is generalised, is removed, from the least to the
most), and how a removed one is shown (tag, number, mask, null; random, surrogate, syllables). Only the second is a
matter of taste, and only among what the policy allows.
"""

import re
import secrets
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from deident import generalise
from deident import replace as rewriting
from deident.config import Scrub
from deident.document import Document, Span
from deident.errors import ConfigError, UnknownNameError, UsageError
from deident.labels import Label
from deident.replace import Treatment
from deident.resolve import staff
from deident.surrogates import Options, Surrogates, read_key

_ROOM = Path(__file__).parent / "policies"
_DATA = frozenset({"zip3"})  # files of the room that are no policies


class Action(StrEnum):
    """What becomes of what a label marks."""

    KEEP = "keep"
    SHIFT = "shift"  # dates, by one keyed number of days for each patient
    GENERALISE = "generalise"  # dates to the year, ages over 89 to one, ZIP codes to three digits
    TAG = "tag"
    NUMBER = "number"
    MASK = "mask"
    NULL = "null"
    RANDOM = "random"  # stand-ins drawn from a key that is forgotten with the run
    SURROGATE = "surrogate"  # stand-ins drawn from a key
    SYLLABLES = "syllables"  # the same by the thesis' method


KEYED = frozenset({Action.SHIFT, Action.SURROGATE, Action.SYLLABLES})
STAND_INS = frozenset({Action.RANDOM, Action.SURROGATE, Action.SYLLABLES})
MANNERS = tuple(Action)[3:]  # of showing that something was removed
_STRENGTH = {Action.KEEP: 0, Action.SHIFT: 1, Action.GENERALISE: 2}  # and 3 for what removes
STAFF = (Label.DOCTOR, Label.USERNAME)
GENERALISED = (Label.DATE, Label.AGE, Label.ZIP)


def _strength(action: Action) -> int:
    return _STRENGTH.get(action, 3)


# What the laws ask for at least, by the name of the rule: labels that may stay, be shifted, be generalised. All other
# labels of the scheme that the rule names must be removed.
_KEY_FORBIDDEN = "164.514(c) forbids codes that are derived from the identifier"
_RULES: Mapping[str, str] = MappingProxyType(
    {
        "": "none",
        "safe-harbor": "45 CFR 164.514(b)(2)",
        "limited-data-set": "45 CFR 164.514(e)",
        "expert-determination": "45 CFR 164.514(b)(1)",
    }
)
_LIMITED_STAY = frozenset({Label.DATE, Label.AGE, Label.CITY, Label.ZIP})  # 164.514(e)(2)


@dataclass(frozen=True, slots=True)
class Policy:
    """What becomes of each label, and how that which is removed may be shown."""

    name: str
    title: str
    about: str
    rule: str
    staff: str  # whether the identity of staff is kept or removed
    census: int  # of the ZIP codes
    allows: tuple[Action, ...]
    actions: Mapping[Label, Action] = field(hash=False)
    extends: tuple[str, ...] = ()  # the policies it tightens, the nearest first

    def action(self, label: Label) -> Action:
        return self.actions[label]

    @property
    def keeps_staff(self) -> bool:
        return self.staff == "keep"

    @property
    def keyed(self) -> bool:
        """Whether it cannot be carried out without a key."""
        return not KEYED.isdisjoint(self.actions.values())

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "about": self.about,
            "rule": self.rule,
            "extends": list(self.extends),
            "staff": self.staff,
            "census": self.census,
            "allows": [action.value for action in self.allows],
            "treat": {label.value: action.value for label, action in self.actions.items()},
        }

    def shown_as(self, manner: str) -> "Policy":
        """The policy with all that it removes shown in another manner, if it allows that.

        Dates and ages that are removed keep the manner they have: their stand-ins would tell of them again.
        """
        if manner not in MANNERS:
            raise UnknownNameError("replacement", manner, MANNERS)
        action = Action(manner)
        if action not in self.allows:
            raise UsageError(
                f"the policy {self.name} does not allow '{manner}'"
                + (f": {_KEY_FORBIDDEN}" if self.rule == "safe-harbor" and action in KEYED else "")
                + f"; it allows {', '.join(self.allows)}"
            )
        told = (Label.DATE, Label.AGE) if action in STAND_INS else ()
        actions = {
            label: action if _strength(old) == 3 and label not in told else old for label, old in self.actions.items()
        }
        return replace(self, actions=MappingProxyType(actions))

    def check_key(self, manner: str = "") -> None:
        """An error if the policy has no use for a key that somebody keeps."""
        if not (self.shown_as(manner) if manner else self).keyed:
            raise UsageError(f"the policy {self.name} has no use for a key: nothing in it is drawn from one")

    def treatment(
        self,
        *,
        key: bytes | None = None,
        run_key: bytes | None = None,
        manner: str = "",
        project: str = "",
        options: Options | None = None,
        offsets: Mapping[str, int] | None = None,
        fixed: Mapping[str, str] | None = None,
        as_of: int = 0,
        fixed_width: bool = False,
    ) -> Treatment:
        """For `replace.apply`: a function of a document and a span that gives what is put there.

        key: of the surrogates and shifts; a policy that has any needs it, one that has none refuses it. run_key: of the
        random stand-ins, which all processes of one run share and nobody keeps. manner: how removed labels are shown,
        in place of what the policy says. project, options, offsets, fixed: of the surrogates (`Surrogates`).
        as_of: the year in which ages are told from years of birth; the present one by default.
        fixed_width: what is put is as long as what was there.
        """
        policy = self.shown_as(manner) if manner else self
        if key is None and policy.keyed:
            raise UsageError(f"the policy {self.name} needs a key: make one with 'deident key new' (--key-file)")
        if key is not None:
            policy.check_key()
        once = run_key if run_key is not None else secrets.token_bytes(32)
        made: dict[Action, Treatment] = {
            Action.KEEP: _keep,
            Action.TAG: rewriting.tag,
            Action.MASK: rewriting.mask,
            Action.NULL: rewriting.null,
            Action.NUMBER: rewriting.numbers(key if key is not None else once),
            Action.GENERALISE: _Generalised(as_of or date.today().year, self.census).treat,
        }
        chosen = replace(options or Options(), ages="words")
        if policy.actions[Label.STATE] is Action.KEEP:  # which a city's stand-in must not contradict
            chosen = replace(chosen, same_state=True)

        def surrogates(key: bytes, method: str = "realistic") -> Treatment:
            return Surrogates(key, method, project, chosen, offsets or {}, fixed or {}).treatment()

        used = frozenset(policy.actions.values())
        if Action.RANDOM in used:
            made[Action.RANDOM] = surrogates(once)
        if key is not None:
            made[Action.SURROGATE] = made[Action.SHIFT] = surrogates(key)
            if Action.SYLLABLES in used:
                made[Action.SYLLABLES] = surrogates(key, "syllables")
        by_label = {label: made[action] for label, action in policy.actions.items()}
        if policy.keeps_staff:
            by_label[Label.DOCTOR] = _Staff(by_label[Label.PATIENT]).treat

        def treat(doc: Document, span: Span) -> str:
            return by_label[span.label](doc, span)

        return rewriting.fitted(treat) if fixed_width else treat

    def inventory(self, documents: Iterable[Document]) -> dict[str, Any]:
        """What stays of documents whose spans are what was found: counts by label, and no determination.

        `retained` are quasi-identifiers that stay, whole or in part; `keyed` are stand-ins that a key can undo.
        """
        retained: dict[str, dict[str, Any]] = {}
        keyed: dict[str, dict[str, Any]] = {}
        removed = 0
        for doc in documents:
            for span in doc.spans:
                action = self.actions[span.label]
                if _strength(action) == 3 and action not in KEYED:
                    removed += 1
                    continue
                table = keyed if action in KEYED else retained
                row = table.setdefault(span.label.value, {"action": action.value, "count": 0})
                row["count"] += 1
        return {
            "policy": self.name,
            "rule": self.rule,
            "retained": dict(sorted(retained.items())),
            "keyed": dict(sorted(keyed.items())),
            "removed": removed,
            "determination": None,
        }


def _keep(doc: Document, span: Span) -> str:
    return doc.text[span.start : span.end]


class _Staff:
    """Names of staff that stay: those of whom the text says that they are staff. A program that takes a patient for a
    doctor must not let her name stay by that."""

    def __init__(self, otherwise: Treatment) -> None:
        self._otherwise = otherwise
        self._known: tuple[Document, frozenset[int]] | None = None

    def treat(self, doc: Document, span: Span) -> str:
        held = self._known
        if held is None or held[0] is not doc:
            held = self._known = (doc, staff(doc))
        return _keep(doc, span) if span.start in held[1] else self._otherwise(doc, span)


_BIRTH = re.compile(
    r"(?i)\b(?:d\.?\s?o\.?\s?b|b\.?d|born|birth\w*|né?e)\b[^\w\n]{0,6}(?:(?:on|in|of|is|was|date)[^\w\n]{1,3}){0,2}$"
)
_BEFORE = 32  # characters before a date that may say that it is one of birth


class _Generalised:
    """Dates, ages and ZIP codes, as far as they may stay."""

    def __init__(self, as_of: int, census: int) -> None:
        self._as_of = as_of
        self._census = census
        self._known: tuple[Document, int] | None = None

    def treat(self, doc: Document, span: Span) -> str:
        text = doc.text[span.start : span.end]
        match span.label:
            case Label.DATE:
                before = doc.text[max(0, span.start - _BEFORE) : span.start]
                new = generalise.year(text, as_of=self._reference(doc), birth=_BIRTH.search(before) is not None)
            case Label.AGE:
                new = generalise.age(text)
                if new == generalise.TOP and doc.text[span.end : span.end + 1] == "-":
                    new = new.replace(" ", "-")  # of "93-year-old", of which only the number was marked
            case _:
                new = generalise.zip3(text, census=self._census)
        return rewriting.tag(doc, span) if new is None else new

    def _reference(self, doc: Document) -> int:
        """The year in which ages are told: the present one, or that of notes whose dates lie in the future, as those
        do that somebody has shifted. One such date alone is a slip of the pen."""
        held = self._known
        if held is None or held[0] is not doc:
            held = self._known = (doc, self._latest(doc))
        return held[1]

    def _latest(self, doc: Document) -> int:
        found = [
            last
            for span in doc.spans
            if span.label is Label.DATE
            for _, last in generalise.written_years(doc.text[span.start : span.end], as_of=self._as_of)
        ]
        to_come = [last for last in found if last > self._as_of + 1]
        return max(to_come) if to_come and 2 * len(to_come) >= len(found) else self._as_of


# -- files -------------------------------------------------------------------------------------------------------------


def names() -> list[str]:
    """The built-in policies."""
    return sorted(path.stem for path in _ROOM.glob("*.toml") if path.stem not in _DATA)


def load(name_or_path: str | Path) -> Policy:
    """A built-in policy by its name, or one of a file (a path has a slash or ends in .toml)."""
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or "/" in text or "\\" in text or text.endswith(".toml"):
        path = Path(name_or_path)
        if path.stem in names():
            raise ConfigError(f"{path}: '{path.stem}' is the name of a built-in policy; give the file another one")
        return _read(path, ())
    if text not in names():
        raise UnknownNameError("policy", text, names())
    return _read(_ROOM / f"{text}.toml", ())


_KEYS = ("extends", "title", "about", "rule", "census", "staff", "allows", "treat")


def _read(path: Path, below: tuple[Path, ...]) -> Policy:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"there is no policy file {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from None
    file = _File(path, data)
    base = None
    if "extends" in data:
        resolved = path.resolve()
        if resolved in below:
            raise file.wrong("it extends itself")
        named = file.text("extends")
        if named in names():
            base = _read(_ROOM / f"{named}.toml", (*below, resolved))
        elif named.endswith(".toml"):
            base = _read(path.parent / named, (*below, resolved))
        else:
            raise file.wrong(f"no policy '{named}' to extend; there are: {', '.join(names())}, and files (*.toml)")
    return file.policy(base)


@dataclass(frozen=True, slots=True)
class _File:
    """One file, read and not yet believed."""

    path: Path
    data: Mapping[str, Any]

    def wrong(self, why: str) -> ConfigError:
        where = self.path.stem if self.path.parent == _ROOM else str(self.path)
        return ConfigError(f"policy {where}: {why}")

    def text(self, key: str, default: str | None = None) -> str:
        value = self.data.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(f"'{key}' must be a text" if key in self.data else f"'{key}' is missing")
        return value

    def policy(self, base: Policy | None) -> Policy:
        for key in self.data:
            if key not in _KEYS:
                raise self.wrong(f"unknown key '{key}'; there are: {', '.join(_KEYS)}")
        rule = self.text("rule", base.rule if base is not None else "")
        if rule not in _RULES:
            raise self.wrong(f"no rule '{rule}'; there are: {', '.join(filter(None, _RULES))}")
        staff = self.text("staff", base.staff if base is not None else None)
        if staff not in ("keep", "remove"):
            raise self.wrong("'staff' is 'keep' or 'remove'")
        policy = Policy(
            self.path.stem,
            " ".join(self.text("title", self.path.stem).split()),
            self.text("about", "").strip(),
            rule,
            staff,
            self._census(base),
            self._allows(base),
            MappingProxyType(self._actions(base, staff)),
            (base.name, *base.extends) if base is not None else (),
        )
        self._check_sense(policy)
        if base is not None:
            self._check_tighter(policy, base)
        self._check_rule(policy)
        return policy

    def _census(self, base: Policy | None) -> int:
        census = self.data.get("census", base.census if base is not None else generalise.CENSUSES[-1])
        if type(census) is not int or census not in generalise.CENSUSES:
            raise self.wrong(f"'census' must be {' or '.join(map(str, generalise.CENSUSES))}")
        return census

    def _allows(self, base: Policy | None) -> tuple[Action, ...]:
        given: object = self.data.get("allows")
        if given is None:
            if base is None:
                raise self.wrong("'allows' is missing: how may a removed label be shown?")
            return base.allows
        items = cast(list[object], given) if isinstance(given, list) else []
        if not items or not all(item in MANNERS for item in items):
            raise self.wrong(f"'allows' must be a list of these: {', '.join(MANNERS)}")
        return tuple(Action(str(item)) for item in items)

    def _actions(self, base: Policy | None, staff: str) -> dict[Label, Action]:
        given: object = self.data.get("treat", {})
        if not isinstance(given, Mapping):
            raise self.wrong("'treat' must be a table of labels")
        actions = dict(base.actions) if base is not None else {}
        if base is not None and staff != base.staff:
            actions |= dict.fromkeys(STAFF, Action.TAG if staff == "remove" else Action.KEEP)
        for name, value in cast(Mapping[str, object], given).items():
            if name not in set(Label):
                raise self.wrong(f"no label '{name}'; there are: {', '.join(sorted(Label))}")
            if not isinstance(value, str) or value not in set(Action):
                raise self.wrong(f"no treatment '{value}' for {name}; there are: {', '.join(Action)}")
            actions[Label(name)] = Action(value)
        missing = [label.value for label in Label if label not in actions]
        if missing:
            raise self.wrong(f"it says nothing of {', '.join(missing)}; extend a policy, or say what becomes of each")
        return {label: actions[label] for label in Label}

    def _check_sense(self, policy: Policy) -> None:
        """That every treatment can be carried out, and is one that the policy allows."""
        for label, action in policy.actions.items():
            if action is Action.SHIFT and label is not Label.DATE:
                raise self.wrong(f"only DATE can be shifted, not {label}")
            if action is Action.GENERALISE and label not in GENERALISED:
                raise self.wrong(f"only {', '.join(GENERALISED)} can be generalised, not {label}")
            if action in STAND_INS and label in (Label.DATE, Label.AGE):
                other = "shift" if label is Label.DATE else "generalise"
                raise self.wrong(f"{label} has no stand-ins; say '{other}'")
            if action in MANNERS and action not in policy.allows:
                raise self.wrong(f"{label} = '{action}' is not among what it allows: {', '.join(policy.allows)}")
            if label in STAFF and (action is Action.KEEP) != policy.keeps_staff:
                raise self.wrong(f"staff = '{policy.staff}', but {label} = '{action}'; staff is one switch")

    def _check_tighter(self, policy: Policy, base: Policy) -> None:
        """A file may take away, and give nothing back."""
        if policy.rule != base.rule:
            raise self.wrong(f"it extends {base.name}, and so its rule is '{base.rule}'")
        if policy.keeps_staff and not base.keeps_staff:
            raise self.wrong(f"staff = 'keep' would weaken {base.name}, which it extends")
        more = [action for action in policy.allows if action not in base.allows]
        if more:
            raise self.wrong(f"allowing {', '.join(more)} would weaken {base.name}, which it extends")
        for label, action in policy.actions.items():
            if _strength(action) < _strength(base.actions[label]):
                raise self.wrong(
                    f"{label} = '{action}' would weaken {base.name}, which it extends: '{base.actions[label]}' there"
                )

    def _check_rule(self, policy: Policy) -> None:
        """What the law that the policy names asks for."""
        rule = policy.rule
        if rule == "safe-harbor":
            keyed = [action for action in (*policy.allows, *policy.actions.values()) if action in KEYED]
            if keyed:
                raise self.wrong(f"'{keyed[0]}' is not Safe Harbor: {_KEY_FORBIDDEN}")
        if rule in ("safe-harbor", "limited-data-set"):
            for label, action in policy.actions.items():
                least = 3 if label.hipaa else 0
                if rule == "safe-harbor" and label in GENERALISED:
                    least = 2
                if rule == "limited-data-set" and label in _LIMITED_STAY:
                    least = 0
                if _strength(action) < least:
                    raise self.wrong(f"{label} = '{action}' is less than {_RULES[rule]} asks for")


# -- settings ----------------------------------------------------------------------------------------------------------


def treatment(settings: Scrub, *, key: bytes | None = None, run_key: bytes | None = None) -> Treatment:
    """The treatment that `[scrub]` asks for: of a policy, or else one manner for everything that is found.

    key: in place of that of a key file; for a policy that is not keyed, that of the run. run_key: of what is drawn
    anew in each run; processes of one run share it.
    """
    if not settings.policy:
        drawn = key if key is not None else run_key
        treat = rewriting.treatment(settings.replace or "tag", key_file=settings.key_file, key=drawn)
        return rewriting.fitted(treat) if settings.fixed_width else treat
    policy = _chosen(settings)
    own = read_key(Path(settings.key_file)) if settings.key_file else key if policy.keyed else None
    once = run_key if run_key is not None else key
    return policy.treatment(key=own, run_key=once, as_of=settings.as_of, fixed_width=settings.fixed_width)


def _chosen(settings: Scrub) -> Policy:
    policy = load(settings.policy)
    return policy.shown_as(settings.replace) if settings.replace else policy


def forgets(settings: Scrub) -> bool:
    """Whether something is drawn from a key that is forgotten with the run, so that another run draws otherwise."""
    if not settings.policy:
        return settings.replace in (*rewriting.SURROGATES, Action.NUMBER) and not settings.key_file
    used = frozenset(_chosen(settings).actions.values())
    return Action.RANDOM in used or (Action.NUMBER in used and not settings.key_file)


def hidden(settings: Scrub) -> frozenset[Label]:
    """The labels whose spans the output does not carry.

    Among stand-ins a leak is hidden in plain sight; spans that say which words are stand-ins would give it away.
    """
    if settings.spans not in ("all", "none", "tags"):
        raise UsageError(f"the spans of the output are 'all', 'none' or 'tags', not '{settings.spans}'")
    if settings.spans == "all":
        return frozenset()
    if settings.spans == "none":
        return frozenset(Label)
    if not settings.policy:
        return frozenset(Label) if settings.replace in STAND_INS else frozenset()
    policy = load(settings.policy)
    if settings.replace:
        policy = policy.shown_as(settings.replace)
    return frozenset(label for label, action in policy.actions.items() if action in STAND_INS | {Action.SHIFT})


def offered(settings: Scrub) -> Mapping[str, Scrub]:
    """The manners among which callers of a service may choose, each with its settings. Those that are drawn from a key
    are there only where the settings name a key file, since what each process draws for itself would disagree."""
    drawn = {Action.SURROGATE, Action.SYLLABLES, Action.NUMBER} if settings.key_file else set[Action]()
    names = load(settings.policy).allows if settings.policy else MANNERS
    made: dict[str, Scrub] = {}
    for name in names:
        if name in {Action.TAG, Action.MASK, Action.NULL} | drawn:
            keyed = load(settings.policy).shown_as(name).keyed if settings.policy else name in drawn
            made[name.value] = replace(settings, replace=name.value, key_file=settings.key_file if keyed else "")
    return MappingProxyType(made)
