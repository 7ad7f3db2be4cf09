"""The figures of the official i2b2-2014 de-identification script, quirks included, under its own label names.

`evaluate` works on folders of the challenge's XML and not on our Documents, since the script compares offsets as
strings and scores types that nobody declared; `evaluate_documents` turns Documents into the same keys. What the
script does differently from what its labels promise is held by the constants below, one quirk each; our own plain
figures are in `scores`. Written from the behaviour of the script, whose every number in `tests/golden/i2b2_eval` is
equalled.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple, TypedDict

import numpy as np

from deident.document import Document, Failure
from deident.errors import FormatError, UsageError
from deident.formats import _xml

# The elements below TAGS that are read; any other element is passed over without a word.
ELEMENTS = ("NAME", "PROFESSION", "LOCATION", "AGE", "DATE", "CONTACT", "ID", "OTHER")

# QUIRK: tokens are ASCII. "Édran" is one token "dran"; "José" is "Jos".
TOKEN = re.compile("[a-zA-Z0-9]+")

# QUIRK: a tag without any ASCII letter or digit counts as one token of no width at its end (else it would be none).
ZERO_WIDTH_TOKEN_AT_END = True

# QUIRK: "relaxed" is not overlap: the start must be equal and the end may differ by this many characters.
RELAXED_END_DISTANCE = 2

# QUIRK: the HIPAA filter keeps a tag whose TYPE *begins with* one of these, case-sensitively ("ZIPCODE" passes, "zip"
# does not). It is applied to gold and system separately, so a PATIENT called DOCTOR is a miss and no false alarm.
# QUIRK: every AGE and every DATE passes, of any TYPE; ages below 90 too.
# QUIRK: IDNUM never passes, for its pattern ends in a blank that no file has. URL, IPADDR and STATE are not listed.
HIPAA_PREFIXES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "NAME": ("PATIENT",),
        "LOCATION": ("CITY", "STREET", "ZIP", "ORGANIZATION"),
        "AGE": ("",),
        "DATE": ("",),
        "CONTACT": ("PHONE", "FAX", "EMAIL"),
        "ID": ("SSN", "MEDICALRECORD", "HEALTHPLAN", "ACCOUNT", "LICENSE", "VEHICLE", "DEVICE", "BIOID", "IDNUM "),
    }
)

# QUIRK: the label of the macro F where both means are 0 (0/0 of two numpy floats); micro 0/0 is 0.
UNDEFINED = "NaN"

# QUIRK: the standard deviation over documents divides by their number, not by one less.
SD_DDOF = 0

# The id of a file is its two leading numbers; what follows them names the system ("220-01_crf.xml" → "220-01").
FILE_ID = re.compile(r"(\d+-\d+).*", re.DOTALL)

Kind = Literal["token", "strict", "relaxed"]


class View(NamedTuple):
    """What one label of the script counts."""

    kind: Kind
    binary: bool = False
    hipaa: bool = False
    element: str | None = None


def _views() -> dict[str, View]:
    views = {
        "Token": View("token"),
        "Strict": View("strict"),
        "Relaxed": View("relaxed"),
        # QUIRK: the script spells it "HIPPA" in every token label, and only there.
        "HIPPA Token": View("token", hipaa=True),
        "HIPAA Strict": View("strict", hipaa=True),
        "HIPAA Relaxed": View("relaxed", hipaa=True),
        "Binary Token": View("token", binary=True),
        "Binary Strict": View("strict", binary=True),
        "Binary HIPPA Token": View("token", binary=True, hipaa=True),
        "Binary HIPAA Strict": View("strict", binary=True, hipaa=True),
    }
    for name in ELEMENTS:
        views[f"{name} Token"] = View("token", element=name)
        views[f"{name} Strict"] = View("strict", element=name)
        views[f"{name} HIPPA Token"] = View("token", hipaa=True, element=name)
        # QUIRK: called binary, but by then the script has put its keys back: the TYPE counts.
        views[f"{name} Binary HIPAA Strict"] = View("strict", hipaa=True, element=name)
    return views


VIEWS: Mapping[str, View] = MappingProxyType(_views())


class Ratios(TypedDict):
    p: float
    r: float
    f: float


class MacroRatios(TypedDict):
    p: float
    p_sd: float
    r: float
    r_sd: float
    f: float | Literal["NaN"]


class Sums(TypedDict):
    tp: int
    fp: int
    fn: int


class Evaluation(TypedDict):
    """The figures of one label."""

    micro: Ratios
    macro: MacroRatios
    sum: Sums
    docs: dict[str, Sums]


@dataclass(frozen=True, slots=True)
class Tag:
    """One tag as the script sees it. QUIRK: offsets are strings ("016" is not "16"); the text attribute is unread."""

    element: str
    start: str
    end: str
    type: str

    @property
    def hipaa(self) -> bool:
        return self.type.startswith(HIPAA_PREFIXES.get(self.element, ()))

    @property
    def strict(self) -> tuple[str, str, str, str]:
        """QUIRK: upper-cased, where the token key is not."""
        return self.element.upper(), self.start.upper(), self.end.upper(), self.type.upper()

    def tokens(self, text: str) -> list[tuple[str, str, int, int]]:
        start = int(self.start)
        inside = text[start : int(self.end)]
        places = [(start + match.start(), start + match.end()) for match in TOKEN.finditer(inside)]
        if not places and ZERO_WIDTH_TOKEN_AT_END:
            places = [(start + len(inside), start + len(inside))]
        return [(self.element, self.type, *place) for place in places]


@dataclass(frozen=True, slots=True)
class Annotated:
    """The text and tags of one file, the tags in file order (it matters where relaxed ones merge)."""

    text: str
    tags: tuple[Tag, ...]


def evaluate(gold_dir: Path, system_dir: Path) -> tuple[dict[str, Evaluation], tuple[Failure, ...]]:
    """Every label's figures over the documents present in both folders, and the files that could not be read.

    QUIRK: a document that the system folder lacks costs no recall. One whose gold or system file cannot be read is
    not scored.
    """
    failures: list[Failure] = []
    gold, system = _folder(gold_dir, failures), _folder(system_dir, failures)
    return _evaluate(gold, system), tuple(failures)


def evaluate_documents(gold: Mapping[str, Document], system: Mapping[str, Document]) -> dict[str, Evaluation]:
    """The same figures from Documents of any format, by id."""
    return _evaluate(
        {name: _annotated(doc) for name, doc in gold.items()}, {name: _annotated(doc) for name, doc in system.items()}
    )


def _annotated(doc: Document) -> Annotated:
    tags = (Tag(span.label.category.value, str(span.start), str(span.end), span.label.value) for span in doc.spans)
    return Annotated(doc.text, tuple(tags))


def _folder(folder: Path, failures: list[Failure]) -> dict[str, Annotated]:
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}")
    found: dict[str, Annotated] = {}
    for path in sorted(folder.glob("*.xml")):
        match = FILE_ID.fullmatch(path.stem)
        name = match[1] if match else path.stem
        if name in found:
            failures.append(Failure(name, f"{folder.name}/{path.name}: another file of the folder has the same id"))
            continue
        try:
            found[name] = read(path.read_bytes())
        except OSError as error:
            failures.append(Failure(name, f"{folder.name}/{path.name}: cannot be read ({error.strerror})"))
        except FormatError as error:
            failures.append(Failure(name, f"{folder.name}/{path.name}: {error}"))
    return found


def read(data: bytes) -> Annotated:
    """One file of the challenge as the script sees it."""
    root = _xml.parse(data)
    text, tags = root.find("TEXT"), root.find("TAGS")
    if text is None or tags is None:
        raise FormatError("the root has no TEXT or no TAGS below it", line=root.sourceline)
    found: list[Tag] = []
    for element in tags.iterchildren(*ELEMENTS):
        tag = Tag(element.tag, element.get("start", ""), element.get("end", ""), element.get("TYPE", ""))
        for name, value in (("start", tag.start), ("end", tag.end)):
            if re.fullmatch(r"\s*[+-]?\d+\s*", value) is None:
                raise FormatError(f"the {name} of a {tag.element} is not a whole number", line=element.sourceline)
        found.append(tag)
    return Annotated(text.text or "", tuple(found))


def _evaluate(gold: Mapping[str, Annotated], system: Mapping[str, Annotated]) -> dict[str, Evaluation]:
    ids = sorted(gold.keys() & system.keys())
    if not ids:
        raise UsageError("no document is in both gold and system")
    return {label: _view(view, [(name, gold[name], system[name]) for name in ids]) for label, view in VIEWS.items()}


def _view(view: View, pairs: Sequence[tuple[str, Annotated, Annotated]]) -> Evaluation:
    docs: dict[str, Sums] = {}
    for name, gold, system in pairs:
        ours, theirs = _kept(gold.tags, view), _kept(system.tags, view)
        if view.kind == "relaxed":
            docs[name] = _relaxed(ours, theirs)
        else:
            keys = _keys(view)
            docs[name] = _sets(keys(gold.text, ours), keys(system.text, theirs))
    return _summary(docs)


def _kept(tags: Iterable[Tag], view: View) -> list[Tag]:
    return [tag for tag in tags if (not view.hipaa or tag.hipaa) and view.element in {None, tag.element}]


def _keys(view: View) -> Callable[[str, Iterable[Tag]], set[Hashable]]:
    """The set that stands for a document's tags. QUIRK: a set, so exact duplicates count once."""

    def tokens(text: str, tags: Iterable[Tag]) -> set[Hashable]:
        return {key[2:] if view.binary else key for tag in tags for key in tag.tokens(text)}

    def strict(_text: str, tags: Iterable[Tag]) -> set[Hashable]:
        return {tag.strict[1:3] if view.binary else tag.strict for tag in tags}

    return tokens if view.kind == "token" else strict


def _sets(gold: set[Hashable], system: set[Hashable]) -> Sums:
    return {"tp": len(gold & system), "fp": len(system - gold), "fn": len(gold - system)}


def _alike(left: Tag, right: Tag) -> bool:
    (element, start, _, kind), (other_element, other_start, _, other_kind) = left.strict, right.strict
    if (element, start, kind) != (other_element, other_start, other_kind):
        return False
    return abs(int(left.end) - int(right.end)) <= RELAXED_END_DISTANCE


def _merged(tags: Iterable[Tag]) -> list[Tag]:
    """QUIRK: likeness is used as equality within a set, so of like tags of one side only the first remains."""
    kept: list[Tag] = []
    for tag in tags:
        if not any(_alike(tag, other) for other in kept):
            kept.append(tag)
    return kept


def _relaxed(gold: Iterable[Tag], system: Iterable[Tag]) -> Sums:
    """QUIRK: likeness is not transitive, so tp + fn need not be the number of gold tags: ends 10 and 14 against 12
    give tp 1, fp 0, fn 0. Like CPython's set intersection, tp walks over the smaller side (the system's, if equal)."""
    ours, theirs = _merged(gold), _merged(system)

    def within(tags: list[Tag], others: list[Tag]) -> int:
        return sum(any(_alike(tag, other) for other in others) for tag in tags)

    return {
        "tp": within(ours, theirs) if len(theirs) > len(ours) else within(theirs, ours),
        "fp": len(theirs) - within(theirs, ours),
        "fn": len(ours) - within(ours, theirs),
    }


def _ratio(part: int, rest: int) -> float:
    return part / (part + rest) if part + rest else 0.0


def _summary(docs: dict[str, Sums]) -> Evaluation:
    counts = docs.values()
    tp, fp, fn = (sum(doc[name] for doc in counts) for name in ("tp", "fp", "fn"))
    p, r = _ratio(tp, fp), _ratio(tp, fn)
    ps = np.array([_ratio(doc["tp"], doc["fp"]) for doc in counts])
    rs = np.array([_ratio(doc["tp"], doc["fn"]) for doc in counts])
    mean_p, mean_r = float(ps.mean()), float(rs.mean())
    return {
        "micro": {"p": p, "r": r, "f": _f(p, r) or 0.0},
        "macro": {
            "p": mean_p,
            "p_sd": float(ps.std(ddof=SD_DDOF)),
            "r": mean_r,
            "r_sd": float(rs.std(ddof=SD_DDOF)),
            # QUIRK: the macro F is that of the two means, not the mean of the documents' F.
            "f": UNDEFINED if (f := _f(mean_p, mean_r)) is None else f,
        },
        "sum": {"tp": tp, "fp": fp, "fn": fn},
        "docs": docs,
    }


def _f(p: float, r: float) -> float | None:
    return 2 * p * r / (p + r) if p + r else None
