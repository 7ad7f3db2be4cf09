"""NLM Scrubber (Kayaalp et al. 2013): names by likelihood ratio and automaton, identifiers, dates, ages, addresses.

Each of its recognisers (names, identifiers, dates and ages, addresses, employers) reads the text by itself, without
training; redaction then joins what they found. The method's parts stand in

    _nlm_words.py     the likelihood ratio, the filter of false positives, the classes of words
    _nlm_names.py     figure 4's automaton and the contexts that lead into it
    _nlm_numbers.py   identifiers, dates (table 3), ages (table 4), streets; the clinical patterns to preserve
    _nlm_places.py    addresses without numbers, hospitals, employers

A learner may use two of them as columns: `likelihood(row)` of a word, and `name_marks(view)`, the automaton's states.
"""

import re
from collections.abc import Iterable, Iterator
from types import MappingProxyType

from deident import labels
from deident.detect import _nlm_names as names
from deident.detect import _nlm_numbers as numbers
from deident.detect import _nlm_places as places
from deident.detect._nlm_numbers import Found
from deident.detect._nlm_words import likelihood, read
from deident.document import Document, Span
from deident.labels import Label
from deident.mending import mended
from deident.view import View, view

__all__ = ["NlmScrubber", "detector", "likelihood", "name_marks"]


def name_marks(view: View) -> list[int]:
    """The state of figure 4's automaton at each token: 1 before a name (title, "daughter", "Surgeon:"), 2 an initial,
    3 a name, 4 a suffix, 0 outside.

    >>> from deident.view import view
    >>> name_marks(view("seen by Dr. John A. Smith today"))
    [0, 0, 0, 1, 3, 2, 0, 3, 0]
    """
    found = names.runs(view, read(view)[0])
    return names.marks(view, found + names.repeats(view, found))


_AGE_AFTER_NAME = re.compile(
    r"""\.?[ ]{0,3}\((?:"?\w{1,12}"?,[ ])?(?:aged?[ ]|now[ ])?(?P<inside>\d{1,3})(?:[ ]?(?:yo|y|yrs?))?(?=[,;)])
      | [ ](?:is|was|turned)[ ](?:now[ ])?(?P<verb>\d{1,3})(?=[.,;)](?!\d)|[ ]and[ ](?!\d))
      | (?:[ ][JS][Rr])?\.?,[ \n](?:aged?[ ]|now[ ])?(?P<after>\d{1,2}|10\d)
        (?=[ ]?(?:[,;.)&/|\n]|$|[ ](?:and|who|is|was|of|in|with|at|lives|works)\b))(?!,\d\d\d|[./]\d)
      | ,(?P<glued>\d{1,2}),(?!\d\d\d)
      | \.?[ ]{0,3}[ ,|/·(-]?[ ]{0,3}(?:[MF][ ]{0,3}[,/|]?[ ]{0,3})?(?P<apart>\d{1,3})
        (?=[ ]?(?:yo\b|y/o|yrs?\b|[ ]?/[ ]?[MF]\b|[MF]\b|\))|\s?y\b|[ ]{1,6}(?:DOB|D\.O\.B|MRN|[MF][ ])|[ ]{0,2}·)
      | [ ](?P<bare>\d{1,2})(?=[,;][ ]|[ ](?:and|&)[ ][A-Z])(?![,;][ ]\d)
      | (?P<joined>\d\d)(?=[ ]?[a-z]{3})""",
    re.VERBOSE,
)


# The next field's name, glued to a name in capitals: "SMITHSON,JANELLEDOB"
_GLUED = re.compile(r"(?<=[A-Z]{3})(?:DOB|MRN)\Z")


def _ages_after_names(view: View, runs: list[names.Run]) -> Iterator[Found]:
    """ "Kimberly, 6, and Wilmer (4)": table 4's catch-all, where a name stands before the number."""
    for run in runs:
        match = _AGE_AFTER_NAME.match(view.text, view.ends[run.last])
        if match is not None and match.lastgroup is not None and 0 < int(match[match.lastgroup]) < 120:
            yield Found(*match.span(match.lastgroup), Label.AGE, "age-compound-catch-all", 0.7)


def _recognised(view: View) -> Iterator[Found]:
    """What each recogniser finds, all together."""
    symbols, kinds = read(view)
    runs = names.runs(view, symbols)
    runs += names.acting(view, symbols, {index for run in runs for index in range(run.first, run.last + 1)})
    runs += names.repeats(view, runs)
    for run in runs:
        start, end = view.starts[run.first], view.ends[run.last]
        glued = _GLUED.search(view.text, start, end)
        yield Found(start, end if glued is None else glued.start(), run.label, run.rule, run.score)
    for start, end in names.initials(view, symbols, runs):
        yield Found(start, end, Label.DOCTOR, "initials", 0.7)
    yield from numbers.found(view, kinds)
    yield from _ages_after_names(view, runs)
    yield from places.found(view, kinds)


# --- redaction ------------------------------------------------------------------------------------------------------

_NEAR = 0.1  # scores that differ by no more are equal evidence
DISPUTED = "disputed"


def redact(found: Iterable[Found]) -> list[Found]:
    """Overlapping finds joined. "If two distinct recognizers tag the same token, the redactor labels the content as PHI
    instead of choosing one tag over another" (section Redaction): where the recognisers' strengths are equal we do so,
    with Label.OTHER; where one is clearly stronger, its label stands."""
    joined: list[Found] = []
    for item in sorted(found, key=lambda item: (item.start, -item.end)):
        if joined and item.start < joined[-1].end:
            joined[-1] = _joined(joined[-1], item)
        else:
            joined.append(item)
    return joined


def _joined(left: Found, right: Found) -> Found:
    start, end = left.start, max(left.end, right.end)
    strong = max(left, right, key=lambda item: (item.score, item.end - item.start))
    weak = right if strong is left else left
    same = _class_of(left.label) == _class_of(right.label) or DISPUTED in (left.rule, right.rule)
    # a name inside a street or a hospital's name is part of it: "14 Lincoln Ave", "Watson Clinic"
    within = max(left, right, key=lambda item: item.end - item.start)
    part = right if within is left else left
    contained = within.end - within.start > part.end - part.start and _class_of(within.label) in ("ADDRESS", "EMPLOYER")
    if contained and part.score < 0.9:
        return Found(start, end, within.label, within.rule, max(within.score, part.score))
    if same or strong.score - weak.score > _NEAR:
        return Found(start, end, strong.label, strong.rule, strong.score)
    return Found(start, end, Label.OTHER, DISPUTED, strong.score)


def _class_of(label: Label) -> str:
    """The recogniser's class: names of patients and of providers come from one recogniser, dates and ages too."""
    name = labels.to_scheme(label, "nlm")
    return {"PROVIDER": "NAME", "AGE": "DATE"}.get(name, name)


_WHY = MappingProxyType(
    {
        "title": "a name behind a title",
        "field": "a name behind a field's name",
        "by": 'a name behind "by"',
        "family": "a name behind a word for a relative or friend",
        "role": "a name behind a role",
        "credential": "a name before a credential",
        "full": "names side by side, likelier names than words",
        "likelihood": "a capitalised word that is likelier a name than a word",
        "repeat": "a word of a name found elsewhere in the note",
        "nickname": "a nickname of a name found elsewhere in the note",
        "initials": "initials of who dictated or typed",
        "id-cue": "an identifier behind its name",
        "phone-cue": "a number behind a word for telephone, pager or fax",
        "id-catch-all": "digits that no clinical pattern explains",
        "user": "a login name",
        "room": "a room or bed",
        "email": "an e-mail address",
        "url": "a web address",
        "address": "a place by lists and context",
        "hospital": "capitalised words around a word for a hospital",
        "employer": "an employer or another organisation",
        "at": 'capitalised words behind "at"',
        DISPUTED: "two recognisers that disagree",
    }
)


class NlmScrubber:
    """The detector `nlm`."""

    name = "nlm"

    def detect(self, doc: Document) -> Iterator[Span]:
        for item in redact(_recognised(view(mended(doc.text)))):
            yield Span(item.start, item.end, item.label, f"{self.name}:{item.rule}", item.score)

    def why(self, span: Span) -> str:
        rule = span.source.partition(":")[2].partition("+")[0]
        return _WHY.get(rule) or f"the pattern {rule}"


def detector() -> NlmScrubber:
    return NlmScrubber()
