"""The feature sets: which columns are seen from which distance. Each reads like its paper's table.

Tafvizi 2011 is the MIT thesis on a heterogeneous feature set, He 2015 WI-deId, Lee 2017 UTHealth's hybrid.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from deident.errors import UnknownNameError
from deident.learn import columns as c
from deident.learn import published as p


@dataclass(frozen=True, slots=True)
class Use:
    """A word column, and the distances at which it is seen."""

    column: c.WordColumn
    offsets: tuple[int, ...]

    @property
    def name(self) -> str:
        return self.column.__name__


@dataclass(frozen=True, slots=True)
class TextUse:
    """A text column, and the distances at which it is seen."""

    column: c.TextColumn
    offsets: tuple[int, ...]

    @property
    def name(self) -> str:
        return self.column.__name__


@dataclass(frozen=True, slots=True)
class Pair:
    """Two word columns of one value each, seen together: the word before and this one."""

    left: c.WordColumn
    left_offset: int
    right: c.WordColumn
    right_offset: int


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """What a learner sees. `unit` is what it reads at once: the whole document, or a sentence."""

    name: str
    words: tuple[Use, ...]
    texts: tuple[TextUse, ...] = ()
    pairs: tuple[Pair, ...] = ()
    rules: tuple[str, ...] = ()  # the detectors whose finds `columns.rule` sees
    unit: str = "document"

    @property
    def reach(self) -> int:
        """The largest distance at which a word column is seen."""
        return max((abs(offset) for use in self.words for offset in use.offsets), default=0)


def _within(distance: int) -> tuple[int, ...]:
    return tuple(range(-distance, distance + 1))


RULES = ("patterns", "nlm", "mimic", "institutions", "professions")


def deident() -> FeatureSet:
    """Ours: the papers' best, with the finds of the rules, the likelihood ratio, phrases of the lists, the place in
    the line and the note, and what the note says of the word elsewhere."""
    return FeatureSet(
        "deident",
        words=(
            Use(c.lower, _within(3)),
            Use(c.digits_as_zero, _within(1)),
            Use(c.shape, _within(1)),
            Use(c.short_shape, _within(2)),
            Use(c.length, (0,)),
            *(Use(c.prefix(size), (0,)) for size in (1, 2, 3, 4)),
            *(Use(c.suffix(size), (0,)) for size in (1, 2, 3, 4)),
            Use(c.suffix(3), (-1, 1)),
            Use(c.grams(3), (0,)),
            Use(c.kinds, _within(2)),
            Use(c.cased_kinds, _within(1)),
            Use(c.counts, (0,)),
            Use(c.likelihood, _within(1)),
            Use(c.cased_likelihood, _within(2)),
            Use(c.first_or_last, _within(2)),
            Use(c.capitals, _within(1)),
            Use(c.brown(4, 6, 8, 10, 16), (0,)),
            Use(c.brown(6, 10), (-2, -1, 1, 2)),
            Use(c.known_form, _within(3)),
        ),
        texts=(
            TextUse(c.gap, (0, 1, 2)),
            TextUse(c.line_kind, (0,)),
            TextUse(c.line_place, (0,)),
            TextUse(c.note_place, (0,)),
            TextUse(c.case_in_line, (-1, 0, 1)),
            TextUse(c.attribute, (0,)),
            TextUse(c.section, (0,)),
            TextUse(c.number_sense, (-1, 0, 1)),
            TextUse(c.nearby, (0,)),
            TextUse(c.phrase, (-1, 0, 1)),
            TextUse(c.rule, (-2, -1, 0, 1, 2)),
            TextUse(c.evidence, (-1, 0, 1)),
        ),
        pairs=(
            Pair(c.lower, -1, c.lower, 0),
            Pair(c.lower, 0, c.lower, 1),
            Pair(c.lower, -2, c.lower, -1),
            Pair(c.lower, 1, c.lower, 2),
            Pair(c.known_form, -1, c.known_form, 0),
            Pair(c.known_form, 0, c.known_form, 1),
            Pair(c.lower, -1, c.known_form, 0),
            Pair(c.known_form, 0, c.lower, 1),
        ),
        rules=RULES,
    )


def none() -> FeatureSet:
    """Nothing: a network that sees words and letters only (Dernoncourt 2017)."""
    return FeatureSet("none", words=())


def beside() -> FeatureSet:
    """What a network is told of a token beside its word: form and case, what the lists and rules say, its place.

    No word stands in it, so that what is learned of words is learned from their vectors. A word that is lower-cased
    before a network sees it, and the line breaks that it does not see, are told here.
    """
    return FeatureSet(
        "beside",
        words=(
            Use(c.case, (-1, 0, 1)),
            Use(c.short_shape, (0,)),
            Use(c.length, (0,)),
            Use(c.kinds, (0,)),
            Use(c.cased_kinds, (0,)),
            Use(c.counts, (0,)),
            Use(c.likelihood, (0,)),
            Use(c.cased_likelihood, (0,)),
            Use(c.first_or_last, (0,)),
            Use(c.capitals, (0,)),
            Use(c.known_form, (0,)),
        ),
        texts=(
            TextUse(c.gap, (0, 1)),
            TextUse(c.line_kind, (0,)),
            TextUse(c.line_place, (0,)),
            TextUse(c.note_place, (0,)),
            TextUse(c.case_in_line, (0,)),
            TextUse(c.phrase, (0,)),
            TextUse(c.rule, (0,)),
            TextUse(c.evidence, (0,)),
        ),
        rules=("patterns",),
    )


def deident_fast() -> FeatureSet:
    """Ours with the finds of the patterns alone, which are half the work of the rules."""
    return replace(deident(), name="deident-fast", rules=("patterns",))


def statdeid() -> FeatureSet:
    """Stat-De-id (Tafvizi 2011, 2.1), without the syntactic bigrams."""
    return FeatureSet(
        "statdeid",
        words=(
            Use(c.word, _within(2)),
            Use(p.capitalized, (0,)),
            Use(p.exact_length, (0,)),
            Use(p.statdeid_dictionaries, (0,)),
            Use(p.dash_or_slash, (0,)),
        ),
        texts=(TextUse(c.part_of_speech, (0,)), TextUse(p.mesh_id, (0,)), TextUse(c.section, (0,))),
        pairs=(Pair(c.word, -2, c.word, -1), Pair(c.word, 1, c.word, 2)),
        unit="sentence",
    )


def stanford() -> FeatureSet:
    """Stanford NER (Tafvizi 2011, 2.2)."""
    return FeatureSet(
        "stanford",
        words=(Use(c.word, _within(1)), Use(p.substrings, (0,)), Use(c.short_shape, _within(1))),
        texts=(
            TextUse(c.part_of_speech, _within(1)),
            TextUse(p.left_words, (0,)),
            TextUse(p.right_words, (0,)),
        ),
        unit="sentence",
    )


def mist() -> FeatureSet:
    """MIST (Tafvizi 2011, 2.3 and table 2.1)."""
    return FeatureSet("mist", words=(Use(c.kinds, (0,)),), texts=(TextUse(p.mist_patterns, (0,)),), unit="sentence")


def illinois() -> FeatureSet:
    """The first stage of the Illinois tagger (Tafvizi 2011, 2.4)."""
    return FeatureSet(
        "illinois",
        words=(
            Use(c.word, _within(2)),
            Use(p.word_type, (0,)),
            *(Use(c.prefix(size), (0,)) for size in (3, 4)),
            *(Use(c.suffix(size), (0,)) for size in (1, 2, 3, 4)),
            Use(c.case, _within(2)),
        ),
        texts=(TextUse(p.joined(c.case, 5), (-2,)), TextUse(p.joined(c.case, 3), (-1,))),
        unit="sentence",
    )


def mimic() -> FeatureSet:
    """The rules of the MIMIC de-identifier as features (Tafvizi 2011, 2.5)."""
    return FeatureSet(
        "mimic", words=(Use(p.census_names, (0,)),), texts=(TextUse(c.rule, (0,)),), rules=("mimic",), unit="sentence"
    )


def mega() -> FeatureSet:
    """All five together (Tafvizi 2011, chapter 2)."""
    return _union("mega", statdeid(), stanford(), mist(), illinois(), mimic())


def wideid() -> FeatureSet:
    """WI-deId (He 2015, table 2), all in a window of two."""
    return FeatureSet(
        "wideid",
        words=tuple(
            Use(column, _within(2))
            for column in (
                c.lower,
                p.first_four,
                p.last_four,
                p.whole_shape,
                p.exact_length,
                p.wideid_tests,
                p.wideid_dictionaries,
            )
        ),
        texts=(TextUse(c.part_of_speech, _within(2)),),
        unit="sentence",
    )


def dernoncourt() -> FeatureSet:
    """The CRF of Dernoncourt 2017 (2.1, table 2): the token and the four around it. Needs WordNet."""
    return FeatureSet(
        "dernoncourt",
        words=tuple(
            Use(column, _within(2))
            for column in (
                c.word,
                p.morphology,
                c.prefix(3),
                c.suffix(3),
                p.temporal,
                p.senses,
                p.gazetteers,
            )
        ),
        texts=tuple(
            TextUse(column, _within(2)) for column in (p.lemma, p.tense, c.part_of_speech, c.phrase, p.regexes)
        ),
    )


def uth_baseline() -> FeatureSet:
    """The ten sets of UTHealth's baseline (Lee 2017, 3.2); of the word representations the Brown clusters, since the
    other two were built from MIMIC II."""
    return FeatureSet(
        "uth-baseline",
        words=(
            Use(p.token_shape, (0,)),
            Use(p.regex_shape, (0,)),
            *(Use(c.prefix(size), (0,)) for size in (1, 2, 3)),
            *(Use(c.suffix(size), (0,)) for size in (1, 2, 3)),
            Use(c.lower, _within(2)),
            Use(c.brown(4, 6, 10, 16), (0,)),
            Use(c.kinds, (0,)),
        ),
        texts=(
            TextUse(p.joined(c.lower, 2), (-2, -1, 0, 1)),
            TextUse(p.joined(c.lower, 3), (-2, -1, 0)),
            TextUse(c.part_of_speech, _within(2)),
            TextUse(p.tag_grams(2), (-2, -1, 0, 1)),
            TextUse(p.tag_grams(3), (-2, -1, 0)),
            TextUse(p.sentence_length, (0,)),
            TextUse(p.sentence_shape, (0,)),
            TextUse(c.section, (0,)),
        ),
        unit="sentence",
    )


def _uth_base(name: str) -> FeatureSet:
    """What both taggers of the hybrid see (Lee 2017, 3.3.3, 11–13)."""
    more = FeatureSet(
        name,
        words=(Use(p.embedding, (0,)), Use(p.token_shape, _within(2))),
        texts=(
            TextUse(p.joined(p.token_shape, 2), (-2, -1, 0, 1)),
            TextUse(p.joined(p.token_shape, 3), (-2, -1, 0)),
            TextUse(c.attribute, (0,)),
        ),
        unit="sentence",
    )
    return _union(name, uth_baseline(), more)


def uth_quantitative() -> FeatureSet:
    """The hybrid's tagger of DATE, AGE and CONTACT (Lee 2017, 3.3.3). Needs word vectors."""
    name = "uth-quantitative"
    return _union(name, _uth_base(name), FeatureSet(name, words=(Use(p.regex_shape, _within(3)),), unit="sentence"))


def uth_names() -> FeatureSet:
    """The hybrid's tagger of NAME, LOCATION and PROFESSION (Lee 2017, 3.3.3). Needs word vectors.

    Semantic roles (SENNA) and the finds of Stanford's NER are not among them: neither is open.
    """
    name = "uth-names"
    return _union(name, _uth_base(name), FeatureSet(name, words=(Use(p.profession_suffix, (0,)),), unit="sentence"))


def uth() -> FeatureSet:
    """Both taggers' features together, for one tagger of all labels (Lee 2017). Needs word vectors."""
    return _union("uth", uth_quantitative(), uth_names())


def decisions() -> FeatureSet:
    """What the systems under the multi-de-identifier decide of a token (Tafvizi 2011, figure 1-2), those of MIMIC's
    rules among them."""
    return FeatureSet("decisions", words=(), texts=(TextUse(c.earlier, (0,)), TextUse(c.rule, (0,))), rules=("mimic",))


EARLIER = "+earlier"  # a set's name with this behind it: the set, and the finds of earlier models
WITHOUT = "~"  # and with this and columns' names behind it: the set without them, as in "uth~embedding,attribute"


def _with_earlier(features: FeatureSet) -> FeatureSet:
    """What the second of two stages sees (Tafvizi 2011, 2.4 and 7.2.3)."""
    more = (
        TextUse(c.earlier, _within(2)),
        TextUse(c.earlier_near, (0,)),
        TextUse(c.earlier_elsewhere, _within(1)),
    )
    return replace(features, name=f"{features.name}{EARLIER}", texts=(*features.texts, *more))


def _without(features: FeatureSet, name: str, left_out: frozenset[str]) -> FeatureSet:
    """The set but for these columns, from whatever distance they are seen: what a group of features is worth."""
    named = {use.name for use in (*features.words, *features.texts)}
    unknown = left_out - named
    if unknown:
        raise UnknownNameError(f"column of the feature set {features.name}", min(unknown), named)
    return replace(
        features,
        name=name,
        words=tuple(use for use in features.words if use.name not in left_out),
        texts=tuple(use for use in features.texts if use.name not in left_out),
    )


def _union(name: str, *sets: FeatureSet) -> FeatureSet:
    """What any of the sets sees; a column that several see is seen from all their distances."""
    words: dict[str, Use] = {}
    texts: dict[str, TextUse] = {}
    for part in sets:
        for use in part.words:
            known = words.get(use.name)
            words[use.name] = use if known is None else Use(use.column, _merged(known.offsets, use.offsets))
        for seen in part.texts:
            held = texts.get(seen.name)
            texts[seen.name] = seen if held is None else TextUse(seen.column, _merged(held.offsets, seen.offsets))
    pairs = {
        (pair.left.__name__, pair.left_offset, pair.right.__name__, pair.right_offset): pair
        for part in sets
        for pair in part.pairs
    }
    rules = dict.fromkeys(rule for part in sets for rule in part.rules)
    (unit,) = {part.unit for part in sets}
    return FeatureSet(name, tuple(words.values()), tuple(texts.values()), tuple(pairs.values()), tuple(rules), unit)


def _merged(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted({*left, *right}))


SETS: Mapping[str, Callable[[], FeatureSet]] = MappingProxyType(
    {
        make.__name__.replace("_", "-"): make
        for make in (
            deident, deident_fast, none, beside, statdeid, stanford, mist, illinois, mimic, mega, wideid, dernoncourt,
            uth_baseline,
            uth_quantitative, uth_names, uth, decisions,
        )
    }
)  # fmt: skip


def feature_set(name: str) -> FeatureSet:
    if name.endswith(EARLIER):
        return _with_earlier(feature_set(name.removesuffix(EARLIER)))
    whole, cut, columns = name.partition(WITHOUT)
    if cut:
        return _without(feature_set(whole), name, frozenset(columns.split(",")))
    if name not in SETS:
        raise UnknownNameError("feature set", name, SETS)
    return SETS[name]()
