"""The word lists: what they know, what they must not know, how phrases match, what they weigh and cost."""

import doctest
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deident import lexicons
from deident.errors import UnknownNameError
from deident.lexicons import COUNTS, Kind, fold, mesh, nicknames, phrases, places, pool, word_key, words, zips
from deident.tokens import tokenize

ROOM = Path(lexicons.__file__).parent
GOLDEN = Path(__file__).parent / "golden" / "safe_harbor" / "zip3_restricted.json"
MEGABYTE = 1_000_000


# --- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "column", "exact"),
    [
        ("Smith", "last", 2_442_977),
        ("NGUYEN", "last", 437_645),
        ("Okoro", "last", 1_800),
        ("de la Cruz", "last", 75_000),
    ],
)
def test_counts_of_surnames(word: str, column: str, exact: int) -> None:
    assert getattr(words().get(word), column) == pytest.approx(exact, rel=0.25)


def test_counts_tell_the_sexes_and_english_apart() -> None:
    mary, james = words().get("Mary"), words().get("James")
    assert mary.female > 3_000_000 > mary.male
    assert james.male > 4_000_000 > james.female
    for word in ("May", "Will", "Rose"):  # names and English at once
        row = words().get(word)
        assert row.name > 10_000
        assert row.english > 30_000
    assert words().get("will").lower > words().get("may").lower > words().get("rose").lower
    assert words().get("Okoro").english < 1_000 < words().get("Okoro").name
    assert words().get("the").name < 1_000 < words().get("the").english / 10_000
    assert words().get("patient").clinical > 1_000


@given(st.integers(1, 10_000_000))
@settings(max_examples=200)
def test_a_byte_holds_a_count_to_four_percent(count: int) -> None:
    nearest = min(COUNTS, key=lambda value: abs(value - count))
    assert abs(nearest - count) <= 0.04 * count


def test_the_small_counts_which_are_hardest_are_held_to_four_percent_too() -> None:
    for count in range(1, 3_000):
        assert min(abs(value - count) for value in COUNTS) <= 0.04 * count, count


def test_counts_have_room_for_the_largest() -> None:
    assert COUNTS[:25] == tuple(range(25))
    assert len(COUNTS) == 256
    assert list(COUNTS) == sorted(set(COUNTS))
    assert COUNTS[-1] > 1_000_000_000


def test_an_unknown_word_is_a_row_of_zeros() -> None:
    row = words().get("qzxvkj")
    assert "qzxvkj" not in words()
    assert row == lexicons.WordRow()
    assert row.name == row.english == 0
    assert not row.kinds


@pytest.mark.parametrize(
    ("text", "folded"),
    [("Łódź", "lodz"), ("José", "jose"), ("GROẞ", "gross"), ("Øre", "ore"), ("naïve", "naive"), ("ABC", "abc")],
)
def test_folding(text: str, folded: str) -> None:
    assert fold(text) == folded


@given(st.text(max_size=20))
@settings(max_examples=100)
def test_keys_are_ascii_and_settled(text: str) -> None:
    key = word_key(text)
    assert key == "" or (key.isascii() and key.isalnum())
    assert word_key(key) == key
    assert words().get(text) == words().get(key)


def test_case_and_accents_do_not_matter() -> None:
    assert words().get("GARCÍA") == words().get("garcia")
    assert words().get("O'Brien") == words().get("OBRIEN")
    assert words().get("O'Brien").last > 50_000


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("van", Kind.PARTICLE), ("Mrs", Kind.HONORIFIC), ("RN", Kind.CREDENTIAL), ("Bob", Kind.NICKNAME),
        ("MA", Kind.STATE_CODE), ("Blvd", Kind.STREET_SUFFIX), ("hospital", Kind.HOSPITAL_WORD),
        ("Inc", Kind.ORGANIZATION_WORD), ("Boston", Kind.CITY), ("Foley", Kind.EPONYM), ("Babinski", Kind.EPONYM),
        ("Murphy", Kind.EPONYM), ("Apgar", Kind.EPONYM), ("Kerley", Kind.EPONYM), ("Hartmann", Kind.EPONYM),
        ("Parkinson", Kind.EPONYM), ("copd", Kind.ABBREVIATION), ("Vietnamese", Kind.NATIONALITY), ("may", Kind.MONTH),
        ("Tues", Kind.WEEKDAY), ("autumn", Kind.SEASON), ("Easter", Kind.HOLIDAY), ("metoprolol", Kind.DRUG),
        ("Lasix", Kind.DRUG), ("pneumonia", Kind.DISEASE), ("femur", Kind.MEDICAL), ("welder", Kind.PROFESSION),
        ("cardiology", Kind.DEPARTMENT), ("presents", Kind.SAFE), ("Kenya", Kind.COUNTRY), ("Ohio", Kind.STATE),
    ],
)  # fmt: skip
def test_kinds_of_words(word: str, kind: Kind) -> None:
    assert kind in words().get(word).kinds


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("may", Kind.DRUG), ("was", Kind.DRUG), ("water", Kind.DRUG), ("patient", Kind.PROFESSION),
        ("subject", Kind.PROFESSION), ("of", Kind.CITY), ("university", Kind.CITY), ("many", Kind.CITY),
        ("will", Kind.MEDICAL), ("than", Kind.NICKNAME), ("his", Kind.EPONYM), ("still", Kind.EPONYM),
        ("the", Kind.ABBREVIATION), ("pain", Kind.CITY), ("chest", Kind.COMPANY),
    ],
)  # fmt: skip
def test_plain_words_are_kept_out(word: str, kind: Kind) -> None:
    assert kind not in words().get(word).kinds


def test_the_commonest_english_words_are_neither_drugs_nor_cities_nor_professions() -> None:
    common = sorted(words(), key=lambda word: -words().get(word).lower)[:300]
    wrong = [
        word for word in common if words().get(word).kinds & (Kind.DRUG | Kind.COMPANY | Kind.CITY | Kind.PROFESSION)
    ]
    assert wrong == []


def test_there_are_many_of_each() -> None:
    rows = [words().get(word) for word in words()]
    assert sum(1 for row in rows if Kind.EPONYM in row.kinds) >= 600
    assert sum(1 for row in rows if row.last) >= 160_000
    assert sum(1 for row in rows if row.female or row.male) >= 100_000
    assert sum(1 for row in rows if row.english) >= 250_000
    assert sum(1 for row in rows if row.brown or row.brown_title) >= 73_000  # all that the source has of letters alone


def test_totals_are_the_sums() -> None:
    totals = words().totals
    rows = [words().get(word) for word in words()]
    assert sum(row.last for row in rows) == pytest.approx(totals.last, rel=0.02)
    assert sum(row.female + row.male for row in rows) == pytest.approx(totals.female + totals.male, rel=0.02)
    assert sum(row.english for row in rows) == pytest.approx(totals.english, rel=0.02)
    assert sum(1 for row in rows if row.last) == totals.last_types
    assert sum(1 for row in rows if row.female or row.male) == totals.first_types
    assert sum(1 for row in rows if row.name) == totals.name_types
    assert sum(1 for row in rows if row.english) == totals.english_types
    assert totals.name == totals.last + totals.female + totals.male


def test_every_word_is_filed_under_its_key() -> None:
    assert [word for word in words() if word_key(word) != word] == []


@pytest.mark.parametrize(
    "word", ["Foley", "Crohn", "Graves", "Willebrand", "McBurney", "Glasgow", "Bishop", "Braxton", "Kegel"]
)
def test_eponyms(word: str) -> None:
    assert Kind.EPONYM in words().get(word).kinds


@pytest.mark.parametrize(
    "word", ["Nguyen", "Okafor", "Kowalczyk", "Patel", "O'Brien", "Garcia", "Lopez", "Siobhan", "Zbigniew"]
)
def test_names_of_all_origins_are_counted(word: str) -> None:
    row = words().get(word)
    assert row.name > 1_000
    assert not row.kinds & (Kind.SAFE | Kind.MEDICAL | Kind.DISEASE | Kind.DRUG)


def test_common_names_are_no_drugs_nor_diseases_and_few_are_safe() -> None:
    rows = {word: words().get(word) for word in words()}
    named = {word: row for word, row in rows.items() if row.name > 50_000 and row.name > 20 * row.lower}
    assert len(named) > 1_000
    assert [word for word, row in named.items() if row.kinds & (Kind.DRUG | Kind.DISEASE)] == ["burns"]  # it is both
    assert sum(1 for row in named.values() if Kind.SAFE in row.kinds) <= 20  # frank, iris, walker …


def test_months_and_weekdays_have_their_short_forms() -> None:
    months = "jan feb mar apr may jun jul aug sep sept oct nov dec january december"
    assert [word for word in months.split() if Kind.MONTH not in words().get(word).kinds] == []
    days = "mon tue tues wed weds thu thur thurs fri sat sun monday sunday"
    assert [word for word in days.split() if Kind.WEEKDAY not in words().get(word).kinds] == []


@pytest.mark.parametrize(
    ("place", "kind", "people"),
    [
        ("Orange", Kind.CITY, 50_000), ("Mobile", Kind.CITY, 50_000), ("Bath", Kind.CITY, 50_000),
        ("Normal", Kind.CITY_WORD, 20_000), ("Post", Kind.CITY_WORD, 500), ("Reading", Kind.CITY_WORD, 50_000),
        ("Surprise", Kind.CITY_WORD, 50_000), ("Nice", Kind.CITY_WORD, 50_000),
    ],
)  # fmt: skip
def test_a_city_that_is_a_plain_word_says_which_it_is_foremost(place: str, kind: Kind, people: int) -> None:
    assert phrases().get(place) & (Kind.CITY | Kind.CITY_WORD) == kind
    assert words().get(place).kinds & (Kind.CITY | Kind.CITY_WORD) == kind
    assert phrases().population(place) > people


def test_no_place_is_both_a_city_and_a_city_word() -> None:
    both = Kind.CITY | Kind.CITY_WORD
    assert [phrase for phrase in phrases() if phrases().get(phrase) & both == both] == []
    assert [word for word in words() if words().get(word).kinds & both == both] == []


# --- phrases ---------------------------------------------------------------------------------------------------------


def _found(text: str, kinds: Kind) -> list[str]:
    tokens = tokenize(text)
    spans = tokens.spans()
    return [text[spans[first][0] : spans[stop - 1][1]] for first, stop, _ in phrases().match(tokens.words(), kinds)]


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        ("moved from St. Louis, MO to New York.", Kind.CITY, ["St. Louis", "New York"]),
        ("Saint Louis and SAINT PAUL", Kind.CITY, ["Saint Louis", "SAINT PAUL"]),
        ("lives in Winston-Salem", Kind.CITY, ["Winston-Salem"]),
        ("O'Fallon, Illinois", Kind.CITY, ["O'Fallon"]),
        ("born in São Paulo", Kind.CITY, ["São Paulo"]),
        ("is new, York was far", Kind.CITY, ["York"]),
        ("She felt new. York was far", Kind.CITY, ["York"]),
        ("seen at Massachusetts General Hospital today", Kind.HOSPITAL, ["Massachusetts General Hospital"]),
        ("sent to the general hospital", Kind.HOSPITAL, []),
        ("via Mass General and the VA hospital", Kind.HOSPITAL, ["Mass General", "VA hospital"]),
        ("from ST. MARY'S HOSPITAL to Mayo Clinic", Kind.HOSPITAL, ["ST. MARY'S HOSPITAL", "Mayo Clinic"]),
        ("she lives in Normal, IL", Kind.CITY | Kind.CITY_WORD, ["Normal"]),
        ("one of many", Kind.CITY | Kind.CITY_WORD, []),
        ("a retired construction worker", Kind.PROFESSION, ["construction worker"]),
        ("since Martin Luther King Day", Kind.HOLIDAY, ["Martin Luther King Day"]),
        ("has Parkinson's disease", Kind.EPONYM, ["Parkinson's disease"]),
        ("Graves' disease, Bell's palsy", Kind.EPONYM, ["Graves' disease", "Bell's palsy"]),
        ("von Willebrand disease or Down syndrome", Kind.EPONYM, ["von Willebrand disease", "Down syndrome"]),
        ("in the West Virginia hills", Kind.STATE, ["West Virginia"]),
        ("went to Ohio Northern University", Kind.SCHOOL, ["Ohio Northern University"]),
        ("insured by Blue Cross Blue Shield", Kind.ORGANIZATION, ["Blue Cross Blue Shield"]),
        ("works at AT&T", Kind.ORGANIZATION, ["AT&T"]),
        ("speaks Haitian Creole", Kind.NATIONALITY, ["Haitian Creole"]),
        ("on hydrochlorothiazide and folic acid", Kind.DRUG, ["hydrochlorothiazide", "folic acid"]),
        ("with congestive heart failure", Kind.DISEASE, ["congestive heart failure"]),
    ],
)
def test_phrases_in_text(text: str, kind: Kind, found: list[str]) -> None:
    assert _found(text, kind) == found


def test_the_longest_phrase_wins_and_the_mask_decides() -> None:
    tokens = ["New", "York", "City"]
    assert phrases().match(tokens, Kind.CITY) == [(0, 3, Kind.CITY)]
    assert phrases().match(tokens, Kind.STATE) == [(0, 2, Kind.STATE)]
    assert phrases().match(tokens, Kind.WEEKDAY) == []
    assert phrases().match([], Kind.CITY) == []


def test_a_phrase_is_looked_up_as_written() -> None:
    assert Kind.CITY in phrases().get("St. Louis")
    assert phrases().get("st louis") == phrases().get("ST. LOUIS")
    assert "winston-salem" in phrases()
    assert "no such phrase" not in phrases()
    assert phrases().get("no such phrase") == Kind(0)
    assert phrases().population("Chicago") == pytest.approx(2_700_000, rel=0.1)
    assert phrases().population("pneumonia") == 0


def test_no_phrase_says_nothing() -> None:
    for phrase in (
        "of",
        "general hospital",
        "medical center",
        "nursing home",
        "community hospital",
        "regional medical center",
    ):
        assert not phrases().get(phrase) & (Kind.CITY | Kind.HOSPITAL | Kind.COMPANY), phrase
    assert all(len(phrase) < lexicons.LONGEST for phrase in phrases())


@given(
    st.lists(
        st.sampled_from(["new", "york", "St", ".", "louis", ",", "|", "-", "'", "", "  ", "é", "𝒳", "disease"]),
        max_size=30,
    )
)
@settings(max_examples=150)
def test_matches_are_ordered_disjoint_and_inside(tokens: list[str]) -> None:
    before = 0
    for first, stop, kinds in phrases().match(tokens):
        assert before <= first < stop <= len(tokens)
        assert kinds
        before = stop


WORDS = [
    "new",
    "york",
    "city",
    "of",
    "the",
    "san",
    "luis",
    "obispo",
    "county",
    "general",
    "hospital",
    "chronic",
    "kidney",
    "disease",
    "stage",
    "two",
    "mount",
    "sinai",
    "west",
    "north",
    "palm",
    "beach",
    "saint",
    "john",
    "lung",
    "cancer",
    "screening",
    "type",
    "diabetes",
    "mellitus",
    "university",
    "texas",
    "austin",
]


@given(st.lists(st.sampled_from(WORDS), max_size=40), st.sampled_from([lexicons.ANY, Kind.CITY, Kind.DISEASE]))
@settings(max_examples=200)
def test_matches_are_the_longest_from_left_to_right(tokens: list[str], kinds: Kind) -> None:
    wanted: list[tuple[int, int, Kind]] = []
    place = 0
    while place < len(tokens):
        sizes = range(min(12, len(tokens) - place), 0, -1)
        found = ((size, phrases().get(" ".join(tokens[place : place + size])) & kinds) for size in sizes)
        size, kind = next(((size, kind) for size, kind in found if kind), (1, None))
        if kind:
            wanted.append((place, place + size, kind))
        place += size
    assert phrases().match(tokens, kinds) == wanted


def test_matching_takes_linear_time() -> None:
    tokens = ["new", "york", "of", "the", "st", ".", "louis"] * 4_000

    def seconds(count: int) -> float:
        begin = time.process_time()
        phrases().match(tokens[:count])
        return time.process_time() - begin

    seconds(2_800)
    assert min(seconds(28_000) for _ in range(3)) < 40 * min(seconds(2_800) for _ in range(3))


# --- medicine, places, pools -----------------------------------------------------------------------------------------


def test_mesh() -> None:
    found = mesh().get("pulmonary neoplasm")
    assert found is not None
    assert (found.id, found.heading) == ("D008175", "Lung Neoplasms")
    assert any(tree.startswith("C04") for tree in found.trees)
    assert mesh().get("Lung Neoplasms") == found
    assert mesh().get("New Yorkers") is None
    assert len(mesh()) > 30_000


def test_populations_agree_with_the_restricted_prefixes() -> None:
    restricted: dict[str, int] = json.loads(GOLDEN.read_text(encoding="utf-8"))["census2010"]
    assert len(restricted) == 18
    assert {prefix: zips().population(prefix) for prefix in restricted} == restricted
    small = {prefix for prefix in zips().prefixes() if zips().population(prefix) <= 20_000}
    assert small <= set(restricted)
    assert {prefix for prefix, people in restricted.items() if people} <= small


def test_zip_codes() -> None:
    assert zips().place("02139") == ("Cambridge", "MA")
    assert zips().place("00000") is None


def test_nicknames() -> None:
    assert "william" in nicknames()["bill"]
    assert "elizabeth" in nicknames()["betty"]


@pytest.mark.parametrize("name", lexicons.POOLS)
def test_pools_are_sorted_and_without_doubles(name: str) -> None:
    texts = [entry.text for entry in pool(name)]
    assert len(texts) > 200
    assert texts == sorted(texts)
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("name", ["first_female", "first_male", "last"])
def test_names_to_draw_come_from_all_over(name: str) -> None:
    origins = {"anglo", "hispanic", "east-asian", "south-asian", "arabic", "african", "slavic", "other"}
    entries = pool(name)
    assert {entry.origin for entry in entries} == origins
    for origin in origins:
        assert sum(1 for entry in entries if entry.origin == origin) >= 25, origin
    assert len({entry.text[0] for entry in entries if entry.origin == "anglo"}) >= 24
    assert not [entry.text for entry in entries if words().get(entry.text).name == 0]


def test_invented_institutions_are_not_real() -> None:
    for name in ("hospitals", "organizations", "schools"):
        assert not [entry.text for entry in pool(name) if phrases().get(entry.text)]


def test_places_agree_with_their_zip_code() -> None:
    assert len(places()) > 3_000
    for place in places():
        assert zips().place(place.zip5) == (place.city, place.state)
        assert place.area_code.isdigit()
    assert len({place.state for place in places()}) >= 50
    assert len(pool("professions")) >= 1_500


def test_an_unknown_pool_answers_with_those_there_are() -> None:
    with pytest.raises(UnknownNameError, match="there are: countries"):
        pool("shoes")


# --- weight, speed, origin -------------------------------------------------------------------------------------------


def test_all_files_together_are_small() -> None:
    assert sum(path.stat().st_size for path in ROOM.iterdir() if path.is_file()) <= 12 * MEGABYTE


def test_every_data_file_has_its_line_in_sources() -> None:
    sources = (ROOM / "SOURCES.md").read_text(encoding="utf-8")
    files = {path.name for path in ROOM.iterdir() if path.is_file()} - {"__init__.py", "SOURCES.md"}
    assert [name for name in sorted(files) if f"| {name} |" not in sources] == []
    for size in (path.stat().st_size for path in ROOM.iterdir() if path.suffix in (".trie", ".rows", ".gz")):
        assert f"| {size:,} |" in sources


def test_the_examples_of_the_module_hold() -> None:
    globals_ = {name: getattr(lexicons, name) for name in ("Kind", "words", "phrases", "zips")}
    test = doctest.DocTestParser().get_doctest(lexicons.__doc__ or "", globals_, "lexicons", None, 0)
    assert len(test.examples) >= 4
    flags = doctest.NORMALIZE_WHITESPACE
    assert doctest.DocTestRunner(optionflags=flags).run(test).failed == 0


def test_loading_is_fast_and_nothing_is_read_at_import() -> None:
    """All lists together, in a fresh process."""
    code = (
        "import time, mmap; from deident import lexicons\n"
        "assert lexicons.words.cache_info().currsize == 0\n"
        "begin = time.process_time()\n"
        "lexicons.words().get('Smith'); lexicons.phrases().match(['New', 'York']); lexicons.mesh().get('asthma')\n"
        "lexicons.zips().place('02139'); lexicons.nicknames(); lexicons.pool('last'); lexicons.places()\n"
        "print(time.process_time() - begin)"
    )
    fastest = min(
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(3)
    )
    assert fastest < 0.1


def test_all_lists_together_are_small() -> None:
    room = Path(lexicons.__file__).parent
    assert sum(path.stat().st_size for path in room.iterdir() if path.is_file()) <= 12_000_000
