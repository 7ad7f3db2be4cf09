"""What is to be known of a word by itself, and what its neighbours say of it: whether a person is named there."""

import string
from dataclasses import dataclass
from functools import lru_cache

from deident import lexicons
from deident.detect import _identifiers as ids
from deident.view import OfWord, View, row_of

HYPHENS = frozenset("-‐‑–")
MISREAD = frozenset("01358")  # digits that a scanner reads for letters
WIDEST = 60  # characters of white space in a line end with its indentation

_COMMON, _COMMON_SHARE = 2000, 0.08  # uses in 10⁹ words in lower case, and what share of all uses they are
_FREQUENT, _FREQUENT_CLINICAL = 40_000, 40  # from here a capital at a sentence's beginning tells nothing


@dataclass(frozen=True, slots=True)
class Word:
    """What is to be known of a word by itself."""

    folded: str
    alpha: bool
    common: bool  # it is also an ordinary word
    frequent: bool  # it is above all an ordinary word
    rare: bool  # so rare that it may be a name misspelt
    telling: bool  # as a surname it is hardly anything else
    odd: bool = False  # it may be a slip, a plural, initials, a number, or a sign that parts a name
    short: bool = False  # of those, initials
    letters: int = 0  # which letters it has, a bit each
    scanned: str = ""  # as a scanner may have read it, if it is rare


_OTHERWISE = (
    lexicons.Kind.EPONYM | lexicons.Kind.CITY | lexicons.Kind.STATE | lexicons.Kind.COUNTRY | lexicons.Kind.COUNTY
    | lexicons.Kind.DRUG | lexicons.Kind.MEDICAL | lexicons.Kind.DISEASE | lexicons.Kind.MONTH | lexicons.Kind.WEEKDAY
    | lexicons.Kind.ABBREVIATION | lexicons.Kind.SAFE | lexicons.Kind.HOSPITAL_WORD | lexicons.Kind.STREET_SUFFIX
    | lexicons.Kind.NATIONALITY | lexicons.Kind.HONORIFIC | lexicons.Kind.CREDENTIAL | lexicons.Kind.PARTICLE
    | lexicons.Kind.COMPANY | lexicons.Kind.DEPARTMENT
)  # fmt: skip
TERMS = (
    lexicons.Kind.MEDICAL | lexicons.Kind.DISEASE | lexicons.Kind.DRUG | lexicons.Kind.ABBREVIATION | lexicons.Kind.SAFE
)  # fmt: skip


def _looked_up(word: str) -> Word:
    folded = lexicons.fold(word).replace("ʼ", "")  # an apostrophe that counts as a letter
    if not folded.isalpha():
        return Word(folded, False, False, False, False, False, word in HYPHENS or folded[:1].isdigit())
    row = row_of(word)
    common = row.clinical > 0 or (row.lower >= _COMMON and row.lower >= _COMMON_SHARE * row.english)
    frequent = row.lower >= _FREQUENT or row.clinical >= _FREQUENT_CLINICAL
    # an unknown word, or one that is known above all as a name
    rare = 4 <= len(folded) <= 40 and row.clinical == 0 and not row.kinds & TERMS and row.lower < 300
    rare = rare and (row.lower < 30 or row.name > 20 * row.lower)
    telling = not common and not row.kinds & _OTHERWISE and len(folded) > 3 and row.lower < 300
    telling = telling and (row.last >= 100 or not word.isupper())
    short = len(word) == 1 or (
        len(word) <= 4 and (word.isupper() or (word.islower() and not common and row.english < 100))
    )
    odd = rare or short or (folded[-1] == "s" and not common)
    scanned = ids.as_scanned(folded) if rare else ""
    return Word(folded, True, common, frequent, rare, telling, odd, short, ids.letters(folded), scanned)


word_of = OfWord(_looked_up).__getitem__  # what is known of a word


# --- what stands beside it --------------------------------------------------------------------------------------------

BEFORE = ids.listed(
    "patient pt name named called client resident baby son daughter wife husband mother father sister brother mom "
    "dad aunt uncle niece nephew cousin grandmother grandfather grandson granddaughter partner friend spouse "
    "fiance fiancee boyfriend girlfriend told asked informed advised counseled thank thanks dear hi hello named "
    "caregiver guardian surrogate proxy twin stepfather stepmother widow widower roommate neighbor neighbour"
) | (ids.TITLES)  # fmt: skip
DOCTORS = ids.listed(
    "dr drs doctor prof professor physician surgeon attending resident provider nurse pcp cardiologist oncologist "
    "neurologist radiologist pathologist therapist intern fellow consultant anesthesiologist assistant rn np pa "
    "md"
)
SIGNED = ids.listed("by signed dictated transcribed cc attn electronically referring admitting author")
_VERBS = ids.listed(
    "is was has had says said states stated reports reported denies denied endorses endorsed complains presents "
    "presented lives came returns returned feels felt tells told wants wanted agrees agreed understands "
    "understood underwent takes took remains remained continues continued does did arrived called asked appears "
    "appeared seems seemed tolerated went describes described notes noted verbalized ambulated lives lived works "
    "worked drinks smokes admits admitted s who whose"
)
_TO = ids.listed("with to by from for of and per re")
EPONYMIC = ids.listed(
    "catheter disease syndrome sign test maneuver manoeuvre reflex procedure operation clamp tube drain score "
    "scale stage classification criteria lymphoma sarcoma tumor tumour esophagus palsy fracture contracture pouch "
    "band bodies body phenomenon prosthesis retractor suture needle forceps valve technique gastrostomy "
    "gastrotomy shunt graft stent implant exercises index formula solution ring node nodes line lines position "
    "incision repair"
)
_MONTHLY = ids.listed("in since until last next this early late mid of by during from")


_SKIPPED = frozenset(".:'\"(")
_MODAL = ids.listed("will may can might")
_MODALS = ids.listed("will may can might should must would could")


@dataclass(frozen=True, slots=True)
class Place:
    """A token, and questions about what is around it."""

    seen: View
    first: int
    last: int

    def before(self) -> str:
        """The word before, folded; "" where a line or a sentence begins."""
        index = self.first - 1
        text, start = self.seen.text, self.seen.starts[self.first]
        if index >= 0 and self.seen.words[index] in _SKIPPED:
            stop = self.seen.words[index] == "."
            index -= 1
            if stop and index >= 0 and word_of(self.seen.words[index]).folded not in ids.TITLES:
                return ""
        if index < 0 or "\n" in text[self.seen.ends[index] : start]:
            return ""
        return word_of(self.seen.words[index]).folded

    def after(self) -> str:
        index = self.last + 1
        while index < len(self.seen.words) and self.seen.words[index] in ",'’.":
            index += 1
        if index >= len(self.seen.words):
            return ""
        return word_of(self.seen.words[index]).folded

    def adjoining(self) -> str:
        """The next token, if on the same line."""
        index = self.last + 1
        if index >= len(self.seen.words):
            return ""
        gap = self.seen.text[self.seen.ends[self.last] : self.seen.starts[index]]
        return "" if "\n" in gap else self.seen.words[index]

    def opens(self) -> bool:
        """Whether any word would have a capital here: at the start of a line, a sentence, a quotation, an item."""
        start = self.seen.starts[self.first]
        before = self.seen.text[max(0, start - 6) : start].rstrip(" \t\"'(“*-•>")
        return not before or before[-1] in ".!?:;\n\r|/"

    def alone(self) -> bool:
        """Whether it is all that its line or its field holds."""
        start, end = self.seen.starts[self.first], self.seen.ends[self.last]
        before = self.seen.text[max(0, start - 8) : start].rstrip(" \t")
        after = self.seen.text[end : end + 8].lstrip(" \t.,")
        return (not before or before[-1] in ":\n\r|") and (not after or after[0] in "\n\r|")

    def line(self) -> str:
        start, end = self.seen.starts[self.first], self.seen.ends[self.last]
        begin = self.seen.text.rfind("\n", max(0, start - 300), start) + 1
        stop = self.seen.text.find("\n", end, end + 300)
        return self.seen.text[max(begin, start - 300) : stop if stop >= 0 else end + 300]

    def evident(self) -> bool:
        """Whether the neighbours say that a person is named."""
        before, follows = self.before(), self.adjoining()
        modal = word_of(self.seen.words[self.first]).folded in _MODAL  # "PT MAY HAVE": not a patient named May
        if before in (ids.TITLES if modal else BEFORE | DOCTORS) or self.alone():
            return True
        if (not modal and self.first and self._after_name()) or self._doubled() or self._introduced():
            return True
        after = self.after()
        if follows in ("'", "’") and after == "s":
            return True
        if follows == "," and after in ids.DEGREES:
            return True
        if before == "just" and follows[:1] and follows[:1] in ".,;!?\"'’”" and after != "s":
            return True  # "never a major, just Major."
        if before in _TO and (follows == "" or follows in ".,;)") and not self.opens():
            return True
        if follows in (".", "'", "’") or before not in ("", "and", "that", "because", "when"):
            return False
        return after in _VERBS or (not modal and after in _MODALS)

    def cased(self) -> tuple[bool, bool]:
        """Whether the word has a capital that tells something, and whether capitals tell nothing here."""
        word = self.seen.words[self.last]
        if word.isupper() and len(word) > 1:
            line = self.line()
            shouted = sum(map(str.islower, line)) * 3 < sum(map(str.isupper, line))
            return not shouted, shouted
        if word[:1].isupper():
            return True, False
        return False, quiet(self.seen.text)

    def _introduced(self) -> bool:
        """ "My name is Cold"."""
        words = self.seen.words
        return self.first > 1 and words[self.first - 1].lower() == "is" and words[self.first - 2].lower() == "name"

    def _doubled(self) -> bool:
        """Whether a hyphen ties it to a word that is hardly anything but a surname: "May-Lindgren"."""
        words, starts, ends = self.seen.words, self.seen.starts, self.seen.ends
        for sign, other in ((self.first - 1, self.first - 2), (self.last + 1, self.last + 2)):
            if 0 <= other < len(words) and 0 <= sign < len(words) and words[sign] in HYPHENS:
                low, high = min(other, self.first), max(other, self.last)
                glued = all(ends[at] == starts[at + 1] for at in range(low, high))
                if glued and word_of(words[other]).telling:
                    return True
        return False

    def _after_name(self) -> bool:
        """Whether a first name that is nothing else stands before: "CRYSTAL YOUNG"."""
        word = self.seen.words[self.first - 1]
        if len(word) < 3 or not (word[0].isupper() or quiet(self.seen.text)) or not self.before():
            return False
        row, known = row_of(word), word_of(word)
        given = row.female + row.male
        return given >= 100 and not known.frequent and row.clinical == 0 and given > 2 * row.english

    def titled(self) -> bool:
        """Whether a title, a degree or the words of a signature stand beside it."""
        before = self.before()
        if before in ids.TITLES or before in DOCTORS or before in SIGNED:
            return True
        follows = self.adjoining()
        degree = word_of(follows).folded in ids.SURE_DEGREES if follows else False
        return degree or (follows == "," and self.after() in ids.DEGREES)

    def month(self) -> bool:
        """Whether "May", "June" or "April" is the month here."""
        if not row_of(self.seen.words[self.first]).kinds & lexicons.Kind.MONTH:
            return False
        index = self.last + 1
        words = self.seen.words
        while index < len(words) and words[index] in "-,./'’":
            index += 1
        if index < len(words) and words[index][0].isdigit():
            return True
        index = self.first - 1
        while index >= 0 and words[index] in "-./,":
            index -= 1
        return index >= 0 and (words[index][0].isdigit() or word_of(words[index]).folded in _MONTHLY)


_CAPITALS = string.ascii_uppercase.encode()


def bare(number: str) -> str:
    """A number's digits: the tokenizer keeps a decimal point and a thousands comma inside it."""
    return number if number.isalnum() else number.replace(".", "").replace(",", "")


@lru_cache(maxsize=8)
def quiet(text: str) -> bool:
    """Whether a text is written without capitals, so that their absence means nothing."""
    plain = text.encode("ascii", "ignore")
    capitals = len(plain) - len(plain.translate(None, _CAPITALS))
    return capitals * 70 <= len(text)


def near(seen: View, left: int, right: int) -> bool:
    """Whether what lies between two tokens is a name's white space: blanks, or one line end with its indentation."""
    gap = seen.text[seen.ends[left] : seen.starts[right]]
    if not gap:
        return True
    if len(gap) > WIDEST or gap.strip():
        return False
    return gap.count("\n") <= 1 and (len(gap) <= 3 or "\n" in gap)


def stop_follows(seen: View, index: int) -> bool:
    """A full stop that belongs to an abbreviation, which this token is, and does not end the sentence of it alone."""
    return index + 1 < len(seen.words) and seen.words[index + 1] == "." and seen.starts[index + 1] == seen.ends[index]
