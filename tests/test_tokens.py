"""Tokens, sentences and line structure: cases, laws, and linear time."""

import time
import unicodedata
from typing import Any

import pytest
from hypothesis import given

from deident import lexicons, view
from deident.tokens import LineKind, layout, sentences, tokenize
from tests.casefiles import cases
from tests.strategies import any_text, texts


@pytest.mark.parametrize("case", cases("tokens"), ids=lambda case: ascii(case["text"]))
def test_tokens(case: dict[str, Any]) -> None:
    assert tokenize(case["text"]).words() == case["tokens"]


@pytest.mark.parametrize("case", cases("sentences"), ids=lambda case: ascii(case["text"][:30]))
def test_sentences(case: dict[str, Any]) -> None:
    text = case["text"]
    assert [text[start:end] for start, end in sentences(text)] == case["sentences"]


@pytest.mark.parametrize("case", cases("layout"), ids=lambda case: ascii(case["text"][:30]))
def test_layout(case: dict[str, Any]) -> None:
    text = case["text"]
    found = layout(text)
    assert [[text[a.name_start : a.name_end], text[a.value_start : a.value_end]] for a in found.attributes] == case[
        "attributes"
    ]
    assert [text[s.header_start : s.header_end] for s in found.sections] == case["headers"]


@given(texts)
def test_tokens_are_ordered_disjoint_and_cover_all_but_white_space(text: str) -> None:
    tokens = tokenize(text)
    position = 0
    for token in tokens:
        assert token.start < token.end
        assert text[position : token.start].strip() == ""
        assert not any(char.isspace() for char in text[token.start : token.end])
        position = token.end
    assert text[position:].strip() == ""
    assert tokens.words() == [text[token.start : token.end] for token in tokens]


@given(any_text, any_text)
def test_a_token_never_crosses_white_space_so_texts_can_be_cut_there(left: str, right: str) -> None:
    assert tokenize(f"{left} \n {right}").words() == tokenize(left + " ").words() + tokenize(" " + right).words()


@given(texts)
def test_letters_never_share_a_token_with_digits(text: str) -> None:
    for word in tokenize(text).words():
        kinds = {unicodedata.category(char)[0] for char in word} - {"M", "C"}
        assert not {"L", "N"} <= kinds


@given(texts)
def test_combining_marks_stay_with_their_character(text: str) -> None:
    for word in tokenize("x" + text).words()[1:]:
        assert len(word) == 1 or not unicodedata.combining(word[0]) or all(map(unicodedata.combining, word))


@given(texts)
def test_touching_finds_the_tokens_that_share_a_character(text: str) -> None:
    tokens = tokenize(text)
    for start, end in ((0, len(text)), (len(text) // 3, len(text) // 2 + 1)):
        first, last = tokens.touching(start, end)
        expected = [i for i, (s, e) in enumerate(tokens.spans()) if s < end and start < e]
        assert list(range(first, last)) == expected


@given(texts)
def test_sentences_are_ordered_disjoint_trimmed_and_lose_no_word(text: str) -> None:
    position = 0
    kept: list[str] = []
    for start, end in sentences(text):
        assert position <= start < end
        assert text[start:end] == text[start:end].strip()
        kept.append(text[start:end])
        position = end
    rules = [text[line.start : line.end] for line in layout(text).lines if line.kind is LineKind.RULE]
    # only rules ("-----") belong to no sentence
    assert len("".join("".join(kept).split())) + len("".join("".join(rules).split())) == len("".join(text.split()))


@given(texts)
def test_lines_cover_the_text_and_attributes_lie_in_them(text: str) -> None:
    found = layout(text)
    assert "".join(text[line.start : line.end] for line in found.lines).replace(" ", "") == "".join(
        char for char in text.replace(" ", "") if char not in "\r\n\x0b\x0c\x85\u2028\u2029"
    )
    for attribute in found.attributes:
        assert attribute.name_start < attribute.name_end <= attribute.value_start <= attribute.value_end
        assert found.attribute_at(attribute.value_start) in (attribute, None)


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "1",
        "-",
        ".",
        "1.",
        "1,",
        "1/",
        "9-",
        "aA",
        "Mc",
        "a b",
        "a:",
        "A ",
        "|a",
        "\t",
        "\u0301",
        "x. ",
        "é",
        "a:b  ",
        " ",
        "a\t",
        "\r",
        "!",
        "!a",
        ". ",
    ],
)
@pytest.mark.parametrize("work", [tokenize, layout, sentences], ids=["tokens", "layout", "sentences"])
def test_time_grows_linearly(unit: str, work: Any) -> None:
    """Eight times the text may take at most twenty times as long (a quadratic step would take sixty-four)."""

    def seconds(times: int) -> float:
        text = unit * (times // len(unit))
        best = float("inf")
        for _ in range(2):
            begin = time.thread_time()
            work(text)
            best = min(best, time.thread_time() - begin)
        return best

    assert seconds(32_000) < 20 * seconds(4_000) + 0.02


def test_the_lists_keep_more_words_than_are_numbered() -> None:
    # the other way round every text would have all words met again
    kept, met = view._KEPT, lexicons._MET_KEPT  # pyright: ignore[reportPrivateUsage]
    assert 2 * kept <= met
