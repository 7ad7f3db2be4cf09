"""Columns that only the papers' feature sets use, by paper.

Where a paper says "whether …", the column says the names of what holds of the word, and nothing of what does not.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from deident.learn import pos, vectors, wordnet
from deident.learn.columns import OUTSIDE, Page, Said, TextColumn, WordColumn, shape_of
from deident.lexicons import Kind, mesh, phrases
from deident.view import row_of


def said(rows: Iterable[tuple[str, ...]]) -> Said:
    """What is said of each token, numbered."""
    number: dict[tuple[str, ...], int] = {}
    codes = [number.setdefault(row, len(number)) for row in rows]
    return Said(np.array(codes, dtype=np.int32), tuple(number))


def joined(column: WordColumn, size: int) -> TextColumn:
    """The values of `size` words in a row, said of the first; an n-gram seen from several distances."""

    def grams(page: Page) -> Said:
        values = {word: next(iter(column(word)), "") for word in (*page.distinct[0], OUTSIDE)}
        found = [values[word] for word in page.words] + [values[OUTSIDE]] * (size - 1)
        return said((" ".join(found[at : at + size]),) for at in range(len(page.words)))

    grams.__name__ = f"{column.__name__}_{size}"
    return grams


def marked(page: Page, finds: Iterable[tuple[int, int, str]]) -> Said:
    """Names over stretches of characters, of which several may share a token."""
    tokens = page.view.tokens
    names: list[set[str]] = [set() for _ in page.words]
    for start, end, name in finds:
        for place in range(*tokens.touching(start, end)):
            names[place].add(name)
    return said(tuple(sorted(row)) for row in names)


def tests_of(**tests: str) -> Callable[[str], tuple[str, ...]]:
    """A function from a word to the names of the patterns that match it from its start."""
    compiled = {name: re.compile(pattern) for name, pattern in tests.items()}
    return lambda word: tuple(name for name, pattern in compiled.items() if pattern.match(word))


def lists_of(**kinds: Kind) -> Callable[[str], tuple[str, ...]]:
    return lambda word: tuple(name for name, kind in kinds.items() if row_of(word).kinds & kind)


_DATE_WORDS = Kind.MONTH | Kind.WEEKDAY | Kind.SEASON | Kind.HOLIDAY

# --- Stat-De-id (Tafvizi 2011, 2.1) ----------------------------------------------------------------------------------


def capitalized(text: str) -> Iterable[str]:
    return (str(text[:1].isupper()),)


def exact_length(text: str) -> Iterable[str]:
    return (str(len(text)),)


def dash_or_slash(text: str) -> Iterable[str]:
    return tuple(name for name, sign in (("dash", "-"), ("slash", "/")) if sign in text)


_STATDEID = lists_of(
    location=Kind.CITY | Kind.STATE | Kind.STATE_CODE | Kind.COUNTRY | Kind.COUNTY | Kind.STREET | Kind.LANDMARK,
    hospital=Kind.HOSPITAL | Kind.HOSPITAL_WORD,
    date=_DATE_WORDS,
)


def statdeid_dictionaries(text: str) -> Iterable[str]:
    """Names, locations, hospital names, dates."""
    return (*(("name",) if row_of(text).name else ()), *_STATDEID(text))


@lru_cache(maxsize=1 << 14)
def _trees(phrase: str) -> tuple[str, ...]:
    found = mesh().get(phrase)
    return (found.id, *(tree.split(".")[0] for tree in found.trees)) if found is not None else ()


def mesh_id(page: Page) -> Said:
    """The MeSH descriptor of the phrase that holds the word, and the roots of its trees.

    The paper asks for that of the noun phrase; here it is the longest phrase that MeSH itself lists.
    """
    rows: list[tuple[str, ...]] = [()] * len(page.words)
    text, starts, ends = page.view.text, page.view.starts, page.view.ends
    for first, last, _ in phrases().match(page.words, Kind.MEDICAL | Kind.DISEASE):
        rows[first:last] = [_trees(text[starts[first] : ends[last - 1]])] * (last - first)
    return said(rows)


# --- Stanford NER (2.2) ----------------------------------------------------------------------------------------------


def substrings(text: str) -> Iterable[str]:
    """All substrings up to six characters, the ends marked: "_t", "_th", "the", "he_" …"""
    edged = f"_{text.lower()[:24]}_"
    size = len(edged)
    return {edged[at:end] for at in range(size) for end in range(at + 1, min(size, at + 6) + 1)}


def _near(page: Page, distances: Sequence[int]) -> Said:
    low = page.view.lower
    size = len(low)
    return said(
        tuple(sorted({low[at + distance] for distance in distances if 0 <= at + distance < size})) for at in range(size)
    )


def left_words(page: Page) -> Said:
    """The four words to the left, in any order."""
    return _near(page, (-4, -3, -2, -1))


def right_words(page: Page) -> Said:
    """The four words to the right, in any order."""
    return _near(page, (1, 2, 3, 4))


# --- MIST (2.3, table 2.1) -------------------------------------------------------------------------------------------

_MIST = tests_of(
    first_capital=r"[A-Z]",
    all_capitals=r"[A-Z]+$",
    mixed_case=r"(?=.*[a-z])(?=.*[A-Z])[A-Za-z]+$",
    digit=r".*[0-9]",
    one_digit=r"[0-9]$",
    two_digits=r"[0-9][0-9]$",
    four_digits=r".*[0-9]{4}",
    natural_number=r"[0-9]+$",
    real_number=r"[0-9]+\.[0-9]+$",
    alphanumeric=r"[0-9A-Za-z]+$",
    dash=r".*-",
    punctuation=r"[^A-Za-z0-9]+$",
    phone_7=r"[0-9]{3}-[0-9]{4}$",
    phone_10=r"[0-9]{3}-[0-9]{3}-[0-9]{4}$",
    five_digits=r"[0-9]{5}$",
    no_vowels=r"[^AaEeIiOoUu]+$",
    dashed_alphanumeric=r".*[A-Za-z].*-.*[0-9]|.*[0-9].*-.*[0-9]",
    date_separator=r"[-/]$",
)
_WRITTEN = re.compile(r"\S*\w")  # up to the last letter or digit: without the comma after it


def mist_patterns(page: Page) -> Said:
    """All 18 patterns, of the word and of what stands between two blanks: MIST cuts "617-555-0100" less finely."""
    tokens = page.view.tokens
    rows = {word: tuple(f"word/{name}" for name in _MIST(word)) for word in page.distinct[0]}
    found = [rows[word] for word in page.words]
    for match in _WRITTEN.finditer(page.view.text):
        first, last = tokens.touching(*match.span())
        if last - first > 1:
            names = tuple(f"whole/{name}" for name in _MIST(match[0]))
            found[first:last] = [row + names for row in found[first:last]]
    return said(found)


# --- Illinois (2.4) --------------------------------------------------------------------------------------------------

_TYPES = tests_of(
    all_capitals=r"[A-Z]+$",
    all_digits=r"\d+$",
    all_letters=r"[A-Za-z]+$",
    first_capital=r"[A-Z]",
    alphanumeric=r"(?=.*[A-Za-z])(?=.*\d)\w+$",
    no_letter=r"[^A-Za-z]+$",
)


def word_type(text: str) -> Iterable[str]:
    return _TYPES(text)


# --- MIMIC (2.5) -----------------------------------------------------------------------------------------------------


def census_names(text: str) -> Iterable[str]:
    """Names of the US census."""
    row = row_of(text)
    return tuple(name for name, count in (("last", row.last), ("female", row.female), ("male", row.male)) if count)


# --- WI-deId (He 2015, table 2) --------------------------------------------------------------------------------------


def first_four(text: str) -> Iterable[str]:
    return (text[:4].lower(),)


def last_four(text: str) -> Iterable[str]:
    return (text[-4:].lower(),)


def whole_shape(text: str) -> Iterable[str]:
    """ "Valdez" → "Aaaaaa": of every character."""
    return (shape_of(text),)


_WIDEID_TESTS = tests_of(
    letter=r".*[A-Za-z]",
    capital=r".*[A-Z]",
    first_capital=r"[A-Z]",
    all_capitals=r"[A-Z]+$",
    digit=r".*\d",
    all_digits=r"\d+$",
    punctuation=r".*[^\w\s]",
    letters_and_digits=r"(?=.*[A-Za-z])(?=.*\d)[A-Za-z\d]+$",
    digits_and_punctuation=r"(?=.*\d)(?=.*[^\w\s])[^A-Za-z]+$",
)
_WIDEID_LISTS = lists_of(
    city=Kind.CITY,
    state=Kind.STATE | Kind.STATE_CODE,
    street=Kind.STREET | Kind.STREET_SUFFIX,
    country=Kind.COUNTRY,
    date=_DATE_WORDS,
)


def wideid_tests(text: str) -> Iterable[str]:
    """The nine questions on letters, capitals, digits and punctuation."""
    return _WIDEID_TESTS(text)


def wideid_dictionaries(text: str) -> Iterable[str]:
    """City, state, street, country, date; by word, as the paper has it."""
    return _WIDEID_LISTS(text)


# --- Dernoncourt 2017, table 2 ---------------------------------------------------------------------------------------

_MORPHOLOGY = tests_of(
    ends_with_s=r".*s$",
    digit=r".*\d",
    numeric=r"\d+$",
    alphabetic=r"[^\W\d_]+$",
    alphanumeric=r"[^\W_]+$",
    title_case=r"[A-Z][a-z]*$",
    lower_case=r"[^\WA-Z\d_]+$",
)
_TEMPORAL = lists_of(season=Kind.SEASON, month=Kind.MONTH, weekday=Kind.WEEKDAY)
_TIMES_OF_DAY = frozenset(
    {"am", "pm", "morning", "noon", "afternoon", "evening", "night", "midnight", "tonight", "overnight"}
)
_GAZETTEERS = lists_of(
    title=Kind.HONORIFIC | Kind.CREDENTIAL,
    specialty=Kind.DEPARTMENT,
    city=Kind.CITY,
    state=Kind.STATE | Kind.STATE_CODE,
    country=Kind.COUNTRY,
    organization=Kind.ORGANIZATION | Kind.COMPANY | Kind.SCHOOL | Kind.HOSPITAL,
    profession=Kind.PROFESSION,
    holiday=Kind.HOLIDAY,
)


def morphology(text: str) -> Iterable[str]:
    return _MORPHOLOGY(text)


def temporal(text: str) -> Iterable[str]:
    """Season, month, weekday, time of the day."""
    return (*_TEMPORAL(text), *(("time of day",) if text.lower() in _TIMES_OF_DAY else ()))


def gazetteers(text: str) -> Iterable[str]:
    """First and last names, titles, specialties, cities, states, countries, organizations, professions, holidays."""
    row = row_of(text)
    first, last = (("first name",) if row.female + row.male else ()), (("last name",) if row.last else ())
    return (*first, *last, *_GAZETTEERS(text))


_TENSES: Mapping[str, str] = MappingProxyType(
    {"VBD": "past", "VBN": "past", "VBZ": "present", "VBP": "present", "VBG": "progressive", "MD": "future"}
)


def tense(page: Page) -> Said:
    """As the part of speech has it."""
    values = tuple((_TENSES[tag],) if tag in _TENSES else () for tag in pos.tags())
    return Said(page.parts_of_speech, values)


def lemma(page: Page) -> Said:
    """WordNet's base form for the part of speech."""
    tags = [pos.tags()[code] for code in page.parts_of_speech.tolist()]
    return said((wordnet.lemma(word, tag),) for word, tag in zip(page.view.lower, tags, strict=True))


def senses(text: str) -> Iterable[str]:
    """The word's synsets in WordNet, their other lemmas, and the synsets above them."""
    return wordnet.senses(text.lower())


_REGEXES = {
    "email": r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    "age": r"\b\d{1,3}(?=[- ]?(?:y/?o\b|years?\b|yr))|(?<=aged )\d{1,3}\b|(?<=age )\d{1,3}\b",
    "date": r"\b\d{1,4}[-/]\d{1,2}(?:[-/]\d{2,4})?\b|\b(?:19|20)\d\d\b|'\d\d\b",
    "phone": r"\(?\b\d{3}\)?[-. ]?\d{3}[-. ]\d{4}\b|\b\d{3}-\d{4}\b",
    "zip": r"\b\d{5}(?:-\d{4})?\b",
    "id number": r"\b(?=[\w:-]*\d[\w:-]*\d[\w:-]*\d)[A-Z0-9][\w:-]{4,}\b",
    "medical record number": r"(?i:(?<=mrn)|(?<=mrn:)|(?<=record #)|(?<=record number))[ #:]{0,3}\d[\d-]{4,}",
}
_REGEX = {name: re.compile(pattern) for name, pattern in _REGEXES.items()}


def _found(page: Page) -> Iterator[tuple[int, int, str]]:
    for name, pattern in _REGEX.items():
        for match in pattern.finditer(page.view.text):
            yield match.start(), match.end(), name


def regexes(page: Page) -> Said:
    """E-mail, age, date, phone, ZIP code, ID number, medical record number."""
    return marked(page, _found(page))


# --- UTHealth (Lee 2017, 3.2 and 3.3.3) ------------------------------------------------------------------------------


def token_shape(text: str) -> Iterable[str]:
    """ "Lee-12" → "Aaa-##" """
    return (shape_of(text).replace("X", "A").replace("x", "a").replace("0", "#"),)


_SHAPES = tests_of(
    year=r"(?:19|20)\d\d$",
    short_year=r"'\d\d$",
    decade=r"(?:19|20)?\d0'?s$",
    two_digits=r"\d\d?$",
    three_digits=r"\d{3}$",
    four_digits=r"\d{4}$",
    five_digits=r"\d{5}$",
    long_number=r"\d{6,}$",
    decimal=r"\d+\.\d+$",
    ordinal=r"\d+(?:st|nd|rd|th)$",
    initial=r"[A-Z]$",
    init_caps=r"[A-Z][a-z]+$",
    all_caps=r"[A-Z]{2,}$",
    camel=r"[A-Z][a-z]+[A-Z]",
    lower=r"[a-z]+$",
    letters_and_digits=r"(?=.*[A-Za-z])(?=.*\d)\w+$",
    punctuation=r"[^\w\s]+$",
)


def regex_shape(text: str) -> Iterable[str]:
    """Years, numbers by length, initials, capitals."""
    return _SHAPES(text)


def _of_sentences(page: Page, values: Iterable[tuple[str, ...]]) -> Said:
    return said(row for (start, end), row in zip(page.sentences, values, strict=True) for _ in range(end - start))


def sentence_length(page: Page) -> Said:
    """How many tokens its sentence has; "6+" for more than five."""
    sizes = (end - start for start, end in page.sentences)
    return _of_sentences(page, ((str(size) if size <= 5 else "6+",) for size in sizes))


_ENUMERATION = re.compile(r"(?:\d{1,2}|[A-Za-z])$")


def _shapes_of(page: Page) -> Iterator[tuple[str, ...]]:
    words = page.words
    for start, end in page.sentences:
        begins = end - start > 1 and words[start + 1] in (".", ")") and _ENUMERATION.match(words[start]) is not None
        yield (*(("ends with a colon",) if words[end - 1] == ":" else ()), *(("enumerated",) if begins else ()))


def sentence_shape(page: Page) -> Said:
    """Whether its sentence ends with a colon, or begins with "a." or "2."."""
    return _of_sentences(page, _shapes_of(page))


def tag_grams(size: int) -> TextColumn:
    """The parts of speech of `size` words in a row, said of the first."""

    def grams(page: Page) -> Said:
        tags = [pos.tags()[code] for code in page.parts_of_speech.tolist()] + ["-"] * (size - 1)
        return said((" ".join(tags[at : at + size]),) for at in range(len(page.words)))

    grams.__name__ = f"part_of_speech_{size}"
    return grams


def profession_suffix(text: str) -> Iterable[str]:
    """-ist, -ian, -man."""
    return tuple(suffix for suffix in ("ist", "ian", "man") if len(text) > 4 and text.lower().endswith(suffix))


def embedding(text: str) -> Iterable[str]:
    """The binarized word vector (Guo 2014): the dimensions in which it is rather positive or rather negative."""
    return vectors.binarized(text.lower())
