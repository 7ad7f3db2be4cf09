"""Known numbers, dates, addresses and other phrases in a text, however they are parted."""

import re
from collections.abc import Iterator

from deident import lexicons
from deident.detect import _identifiers as ids
from deident.detect._known_words import WIDEST, Place, Word, bare, near, stop_follows, word_of
from deident.document import Span
from deident.labels import Category
from deident.view import View

_CUES = re.compile(
    r"(?i)(?:#|\b(?:no|nr|num|number|id|mrn|mr|acct|account|ext|pager|beeper|pgr|badge|room|rm|bed|unit|case|chart|"
    r"ssn|phone|tel|fax|zip|member|policy|license|licence|serial|device|plate|tag|record|x|paged|desk|receipt|rcpt|call|called|dial))"
    r"[\s:.#]{0,4}$"
)
_EXTENSION = re.compile(r"(?i)[,;]?\s{0,2}(?:x|ext\.?|extension)\s{0,2}\d{1,6}(?!\d)")
_UNIT = re.compile(
    r"(?i)\.?(?:\s{1,3}[nsew]{1,2}\b\.?)?(?:,?\s{1,12}|,)(?:(?:apt|apartment|suite|ste|unit|room|rm|box|lot|trlr|bldg|fl|floor)\b\.?\s{0,2}#?|\#\s?)"
    r"[a-z0-9]{1,5}(?:-[a-z0-9]{1,3})?\b|,?\s{1,12}\d{1,2}(?:st|nd|rd|th)\s{1,2}fl(?:oor)?\b"
    r"|,?\s{1,12}(?:lower|upper|rear|basement|downstairs|upstairs)\b"
)
_MASKED = re.compile(r"(?i)(?<![a-z])[x*#•]{1,5}[ -]?(?:[x*#•]{1,3}[ -]?)?\Z")
_FOUR = re.compile(
    r"(?i)(?:\bssn?\b|\bsocial\b|\bsoc\.? ?sec|\blast[ -]?(?:4|four)\b|[x*#•]{2,3}[ -]?[x*#•]{2}[ -]?|[x*]{4,5}-?)"
    r"[^\n]{0,24}$"
)
_BIRTH = re.compile(r"(?i)\b(?:d\.?\s?o\.?\s?b|birth\w{0,6}|born|b-?day|date of birth|\bb\.)[^\n]{0,24}$")
_AGED = re.compile(r"(?i)[\s-]{0,2}(?:y(?:ears?|rs?|/o|\.?o\b)|yo\b)")
_NOT_ASCII_DIGITS = re.compile(r"[^0-9]")
_SEPARATORS = frozenset("-./()#+*–‐‑·")
_NUMERIC_GAP = re.compile(r"(?i)(?:st|nd|rd|th)?[\s/.,'’-]{0,6}")
_DATE_WORDS = ids.listed("of the st nd rd th day")
_TIGHT_GAP = re.compile(r"[^\s\w]{0,4}")


class NumberSearch:
    """The numbers and phrases of one index in one text."""

    def __init__(self, seen: View, index: ids.Index) -> None:
        self.seen, self.index = seen, index

    def spans(self, places: list[int]) -> Iterator[Span]:
        """Those that begin at these tokens."""
        words = self.seen.words
        if self.index.numbers:
            yield from self._numbers([place for place in places if words[place][0].isdigit()])
        if self.index.phrases:
            yield from self._phrases([place for place in places if word_of(words[place]).folded in self.index.phrases])

    def may_begin(self, known: Word) -> bool:
        """Whether a word may hold the first digits or letters of a number."""
        folded, prefixes = known.folded, self.index.prefixes
        if known.alpha:
            return known.short and folded in prefixes
        return folded[:1].isdigit() and (bare(folded)[: ids.PREFIX] in prefixes or self._in_row(folded))

    def _numbers(self, places: list[int]) -> Iterator[Span]:
        seen = self.seen
        done = -1
        for place in places:
            if "," in seen.words[place] and self._in_row(seen.words[place]):
                yield from self._row(place)
            if place <= done or self._too_short(place):
                continue
            for first in self._beginnings(place):
                last, number = self._number(first)
                if number is not None:
                    opening = first
                    end = seen.ends[last]
                    if number.label.category is Category.CONTACT:
                        if first and seen.words[first - 1] in ("(", "+") and seen.ends[first - 1] == seen.starts[first]:
                            opening = first - 1
                        extension = _EXTENSION.match(seen.text, end, end + 20)
                        end = extension.end() if extension is not None else end
                    start = seen.starts[opening]
                    if number.letters and seen.text[max(0, start - 12) : start].lower().endswith(
                        number.letters
                    ):  # "mrnFAS003318"
                        start -= len(number.letters)
                    if number.how == "last-four":
                        mask = _MASKED.search(seen.text, max(0, start - 12), start)
                        start = mask.start() if mask is not None else start
                    yield Span(start, end, number.label, f"known:{number.how}", number.score)
                    done = last
                    break

    def _in_row(self, word: str) -> bool:
        return "," in word and any(part in self.index.numbers for part in word.split(","))

    def _row(self, place: int) -> Iterator[Span]:
        """Of numbers parted by commas alone, which are one token ("63,100442,5035550111"), those that are known."""
        start = self.seen.starts[place]
        for part in self.seen.words[place].split(","):
            number = self.index.numbers.get(part)
            if number is not None and not number.needs:
                yield Span(start, start + len(part), number.label, f"known:{number.how}", number.score)
            start += len(part) + 1

    def _too_short(self, place: int) -> bool:
        """Whether a token is less than any number that is looked for, and nothing continues it."""
        seen = self.seen
        begin = place
        if len(seen.words[place]) >= self.index.shortest:
            return False
        place += 1
        if place < len(seen.words) and seen.words[place] in _SEPARATORS:
            place += 1
        following = seen.words[place] if place < len(seen.words) else ""
        key = (seen.words[begin] + following).replace(".", "").replace(",", "")[: ids.PREFIX]
        if key in self.index.prefixes or (not following.isdigit() and _NOT_ASCII_DIGITS.search(key)):
            return False
        return not self.index.lettered or begin == 0 or seen.starts[begin] - seen.ends[begin - 1] > 1

    def _beginnings(self, place: int) -> list[int]:
        """Where a number may begin of which this token holds the first digits: "A123", "MR-00123", "CSH 77-309"."""
        seen = self.seen
        found = [place]
        first = place
        while self.index.lettered and first > 0 and place - first < 4:
            word = seen.words[first - 1]
            if not near(seen, first - 1, first) or not (word in _SEPARATORS or (word.isalpha() and len(word) <= 6)):
                break
            first -= 1
            if word.isalpha():
                found.append(first)
        return found[::-1]

    def _number(self, first: int) -> tuple[int, ids.Number | None]:
        """The longest known number that begins with this token, and the last token of it."""
        seen, known = self.seen, self.index.numbers
        key, parts = "", 0
        best: tuple[int, ids.Number | None] = (first, None)
        for index in range(first, min(first + 24, len(seen.words))):
            word = seen.words[index]
            if index > first and not near(seen, index - 1, index):
                break
            if word[:1].isalnum():
                key += bare(word_of(word).folded)
                parts += 1
            elif word not in _SEPARATORS or index == first:
                break
            if len(key) > self.index.longest or key[: ids.PREFIX] not in self.index.prefixes:
                break
            number = known.get(key) if word[:1].isalnum() else None
            if number is not None and self._believed(number, key, first, index, parts):
                best = (index, number)
        return best

    def _believed(self, number: ids.Number, key: str, first: int, last: int, parts: int) -> bool:
        text, start, end = self.seen.text, self.seen.starts[first], self.seen.ends[last]
        before = text[max(0, start - 40) : start]
        match number.needs:
            case "last four":
                return parts == 1 and _FOUR.search(before) is not None
            case "cue":
                return parts == 1 and _CUES.search(before) is not None
            case "parted":
                return parts == 2 or "." in self.seen.words[first] or _CUES.search(before) is not None
            case _:
                if (
                    number.written
                    and lexicons.fold("".join(text[start:end].split())) == number.written
                    and len(key) > 4
                ):
                    return not re.match(r"\d", text[end : end + 1]) and not before[-1:].isdigit()
                if len(key) <= 5:
                    joined = re.match(r"[./,:-]?\d", text[end : end + 2]) or re.search(r"\d[./,:-]?$", before[-2:])
                    return parts <= 1 + (not key.isdigit()) and "," not in text[start:end] and joined is None
                return True

    def _phrases(self, places: list[int]) -> Iterator[Span]:
        done = -1
        for place in places:
            if place <= done:
                continue
            for phrase in self._beginning(place):
                last = self._walk(phrase, place)
                if last is not None and self._fits(phrase, place, last):
                    end = self.seen.ends[last]
                    if phrase.kind == "street":
                        last = self._to_suffix(last)
                        end = self.seen.ends[last]
                        for _ in range(3):  # "Bldg. C, Suite 110"
                            unit = _UNIT.match(self.seen.text, end)
                            end = unit.end() if unit is not None else end
                    yield Span(self.seen.starts[place], end, phrase.label, f"known:{phrase.how}", phrase.score)
                    done = last
                    break

    def _beginning(self, place: int) -> list[ids.Phrase]:
        """The phrases that may begin here, the longest first: those whose second token is among the next few."""
        words = self.seen.words
        row = self.index.phrases.get(word_of(words[place]).folded)
        if row is None:
            return []
        found = [phrase for word in words[place + 1 : place + 5] for phrase in row.get(word_of(word).folded, ())]
        return [*dict.fromkeys(found), *row.get("", ())] if found else row.get("", [])

    def _walk(self, phrase: ids.Phrase, first: int) -> int | None:
        """The last token of the phrase if it begins here."""
        seen = self.seen
        index, last = first, first
        for wanted in phrase.words[1:]:
            index += 1
            skipped = 0
            while index < len(seen.words) and skipped < 4 and self._passable(phrase.kind, index, wanted):
                index += 1
                skipped += 1
            if index >= len(seen.words) or word_of(seen.words[index]).folded != wanted:
                return None
            gap = seen.text[seen.ends[last] : seen.starts[index]]
            if gap.count("\n") > 1 or len(gap) > WIDEST:
                return None
            if phrase.kind == "tight" and not _TIGHT_GAP.fullmatch(gap):
                return None
            numeric = phrase.kind in ("date", "partial") and wanted.isdigit() and seen.words[last].isdigit()
            short = len(phrase.words[-1]) < 4 and phrase.words[0].isdigit()  # "3 4 50" is any three numbers
            if numeric and (not _NUMERIC_GAP.fullmatch(gap) or (short and not gap.strip())):
                return None
            last = index
        return last

    def _passable(self, kind: str, index: int, wanted: str) -> bool:
        word = self.seen.words[index]
        if not word[:1].isalnum():
            return word not in (":", ";", "|") or kind == "tight"
        folded = word_of(word).folded
        if folded == wanted:
            return False
        if kind in ("date", "partial"):
            return folded in _DATE_WORDS
        return kind == "street" and folded in ids.DIRECTIONS

    def _to_suffix(self, last: int) -> int:
        """The address with its street's suffix and its unit: "1420 Laurel" → "1420 Laurel Street, Apt 3B"."""
        seen = self.seen
        index = last + 1
        if (
            index < len(seen.words)
            and word_of(seen.words[index]).folded in ids.STREET_SUFFIXES
            and near(seen, last, index)
        ):
            last = index
            if stop_follows(seen, last) and word_of(seen.words[last]).folded not in (
                "street",
                "road",
                "avenue",
                "lane",
            ):
                following = seen.text[seen.ends[last] + 1 : seen.ends[last] + 4].lstrip()
                last += bool(following) and not following[0].isupper()
        return last

    def _fits(self, phrase: ids.Phrase, first: int, last: int) -> bool:
        seen = self.seen
        text, start, end = seen.text, seen.starts[first], seen.ends[last]
        match phrase.kind:
            case "partial":
                return _BIRTH.search(text[max(0, start - 60) : start]) is not None
            case "date":
                numeric = phrase.words[0][:1].isdigit()
                if numeric and re.search(r"\d[/.-]?$", text[max(0, start - 2) : start]):
                    return False
                return not re.match(r"[/-]\d", text[end : end + 2]) and not re.match(r"\.\d", text[end : end + 2])
            case "age":
                return _AGED.match(text, end, end + 12) is not None
            case "code":
                return (
                    seen.words[first].isupper() and re.search(r",\s{0,3}$", text[max(0, start - 4) : start]) is not None
                )
            case "street":
                return len(phrase.words) > 1
            case "place":
                return self._is_place(first, last)
            case _:
                return True

    def _is_place(self, first: int, last: int) -> bool:
        """Words that are ordinary too ("Reading", "Mobile") need a capital, or a state or a number behind them."""
        seen = self.seen
        alphas = [word_of(seen.words[index]) for index in range(first, last + 1) if seen.words[index][:1].isalpha()]
        if any(not known.common for known in alphas):
            return True
        at = Place(seen, first, last)
        capital, blind = at.cased()
        if capital and (len(alphas) > 1 or not at.opens() or not any(known.frequent for known in alphas)):
            return True
        after = seen.text[seen.ends[last] : seen.ends[last] + 14]
        if re.match(r"\s{0,2},?\s{1,3}(?:[A-Z]{2}\b|\d{5})", after):
            return True
        return blind and (len(alphas) > 1 or not any(known.frequent for known in alphas))
