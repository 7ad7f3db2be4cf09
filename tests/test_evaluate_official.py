"""The official i2b2-2014 figures: every number of the golden files, the quirks one by one, and Documents as input."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

from deident import formats
from deident.document import Document, Record, Span
from deident.errors import FormatError, UsageError
from deident.evaluate import i2b2
from deident.labels import Label

GOLDEN = Path(__file__).parent / "golden" / "i2b2_eval"
CASES = sorted(path.name for path in (GOLDEN / "cases").iterdir())
NUMBERS = 14532
TOLERANCE = 1e-12


@cache
def official() -> dict[str, dict[str, Any]]:
    return json.loads((GOLDEN / "golden.json").read_text(encoding="utf-8"))


def leaves(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    if isinstance(value, dict):
        for key, item in cast(dict[str, object], value).items():
            yield from leaves(item, (*path, key))
    else:
        yield path, value


def compared(expected: object, got: object) -> int:
    """How many numbers were compared; all must be equal."""
    ours, theirs = dict(leaves(got)), dict(leaves(expected))
    assert ours.keys() == theirs.keys()
    for path, value in theirs.items():
        if isinstance(value, float):
            assert ours[path] == pytest.approx(value, abs=TOLERANCE, rel=0), path
        else:
            assert ours[path] == value, path
    return len(theirs)


@pytest.mark.parametrize("case", CASES)
def test_every_number_of_the_official_script(case: str) -> None:
    scores, failures = i2b2.evaluate(GOLDEN / "cases" / case / "gold", GOLDEN / "cases" / case / "system")
    assert failures == ()
    assert list(scores) == list(i2b2.VIEWS)
    assert compared(official()[case], scores) > 0


def test_number_of_golden_numbers_compared(golden: Callable[[str, int], None]) -> None:
    assert sorted(official()) == CASES
    found = 0
    for case in CASES:
        scores, _ = i2b2.evaluate(GOLDEN / "cases" / case / "gold", GOLDEN / "cases" / case / "system")
        found += compared(official()[case], scores)
    assert found == NUMBERS
    golden("i2b2-2014 script", found)


def documents(folder: Path) -> dict[str, Document]:
    found: dict[str, Document] = {}
    for path in sorted(folder.glob("*.xml")):
        tagged = i2b2.read(path.read_bytes())
        spans = [Span(int(tag.start), int(tag.end), Label(tag.type)) for tag in tagged.tags]
        found[path.stem] = Document(path.stem, tagged.text, tuple(spans))
    return found


@pytest.mark.parametrize("case", CASES)
def test_documents_give_the_numbers_of_the_files(case: str) -> None:
    folder = GOLDEN / "cases" / case
    scores = i2b2.evaluate_documents(documents(folder / "gold"), documents(folder / "system"))
    assert compared(official()[case], scores) > 0


def test_documents_of_another_format_give_the_same_numbers(tmp_path: Path) -> None:
    case = GOLDEN / "cases" / "r01_all_ops"
    expected, _ = i2b2.evaluate(case / "gold", case / "system")
    sides: list[dict[str, Document]] = []
    for side in ("gold", "system"):
        lines = formats.load("jsonl").write(Record(tuple(documents(case / side).values())))
        read = formats.load("jsonl").read(lines, name=side)
        sides.append({doc.id: doc for doc in read.documents})
    assert i2b2.evaluate_documents(*sides) == expected


# ---- the quirks, one by one ----------------------------------------------------------------------------------------

TEXT = "Seen by José Édran, age 93-, on 3/4/2071 at Larkmoor."


def write(folder: Path, name: str, tags: list[tuple[str, str, str, str]], text: str = TEXT) -> None:
    folder.mkdir(exist_ok=True)
    rows = "\n".join(
        f'<{element} id="P{at}" start="{start}" end="{end}" text="wrong" TYPE="{kind}" comment="" />'
        for at, (element, start, end, kind) in enumerate(tags)
    )
    xml = f"<deIdi2b2>\n<TEXT><![CDATA[{text}]]></TEXT>\n<TAGS>\n{rows}\n</TAGS>\n</deIdi2b2>\n"
    (folder / name).write_text(xml, encoding="utf-8")


def sums(
    tmp_path: Path, label: str, gold: list[tuple[str, str, str, str]], system: list[tuple[str, str, str, str]]
) -> tuple[int, int, int]:
    write(tmp_path / "gold", "1-01.xml", gold)
    write(tmp_path / "system", "1-01.xml", system)
    scores, failures = i2b2.evaluate(tmp_path / "gold", tmp_path / "system")
    assert failures == ()
    found = scores[label]["sum"]
    return found["tp"], found["fp"], found["fn"]


@pytest.mark.parametrize(
    ("label", "gold", "system", "expected"),
    [
        pytest.param(
            "Strict", [("NAME", "08", "12", "DOCTOR")], [("NAME", "8", "12", "DOCTOR")], (0, 1, 1), id="string-offsets"
        ),
        pytest.param(
            "Token",
            [("NAME", "08", "12", "DOCTOR")],
            [("NAME", "8", "12", "DOCTOR")],
            (1, 0, 0),
            id="token-offsets-are-numbers",
        ),
        pytest.param(
            "Strict",
            [("NAME", "8", "12", "DOCTOR")],
            [("NAME", "8", "12", "doctor")],
            (1, 0, 0),
            id="strict-ignores-case",
        ),
        pytest.param(
            "Token",
            [("NAME", "8", "12", "DOCTOR")],
            [("NAME", "8", "12", "doctor")],
            (0, 1, 1),
            id="token-minds-case",
        ),
        pytest.param(
            "Strict", [("NAME", "8", "12", "NICKNAME")], [("NAME", "8", "12", "NICKNAME")], (1, 0, 0), id="unknown-type"
        ),
        pytest.param("Strict", [("SHOE", "8", "12", "DOCTOR")], [], (0, 0, 0), id="unknown-element-passed-over"),
        pytest.param("Token", [("NAME", "8", "18", "DOCTOR")], [], (0, 0, 2), id="ascii-tokens-Jos-dran"),
        pytest.param(
            "Token", [("AGE", "26", "27", "AGE")], [("AGE", "27", "27", "AGE")], (1, 0, 0), id="zero-width-token"
        ),
        pytest.param(
            "Relaxed",
            [("DATE", "32", "38", "DATE"), ("DATE", "32", "42", "DATE")],
            [("DATE", "32", "40", "DATE")],
            (1, 0, 0),
            id="relaxed-two-gold-one-system",
        ),
        pytest.param(
            "Relaxed",
            [("DATE", "32", "38", "DATE"), ("DATE", "32", "42", "DATE")],
            [("DATE", "32", "40", "DATE"), ("AGE", "24", "26", "AGE"), ("AGE", "24", "29", "AGE")],
            (2, 2, 0),
            id="relaxed-tp-of-the-smaller-side",
        ),
        pytest.param(
            "Relaxed",
            [("DATE", "32", "38", "DATE"), ("DATE", "32", "42", "DATE")],
            [("DATE", "32", "40", "DATE"), ("AGE", "24", "26", "AGE")],
            (1, 1, 0),
            id="relaxed-tp-of-the-system-if-equal",
        ),
        pytest.param(
            "Relaxed",
            [("DATE", "32", "40", "DATE"), ("DATE", "32", "39", "DATE")],
            [],
            (0, 0, 1),
            id="relaxed-merges-one-side",
        ),
        pytest.param(
            "Relaxed", [("DATE", "32", "40", "DATE")], [("DATE", "33", "40", "DATE")], (0, 1, 1), id="relaxed-start"
        ),
        pytest.param(
            "HIPAA Strict", [("ID", "8", "12", "IDNUM")], [("ID", "8", "12", "IDNUM")], (0, 0, 0), id="idnum-never"
        ),
        pytest.param(
            "HIPAA Strict", [("ID", "8", "12", "IDNUM ")], [("ID", "8", "12", "IDNUM ")], (1, 0, 0), id="idnum-blank"
        ),
        pytest.param("HIPAA Strict", [("LOCATION", "8", "12", "ZIPCODE")], [], (0, 0, 1), id="hipaa-by-prefix"),
        pytest.param("HIPAA Strict", [("LOCATION", "8", "12", "zip")], [], (0, 0, 0), id="hipaa-minds-case"),
        pytest.param("HIPAA Strict", [("DATE", "8", "12", "SEASON")], [], (0, 0, 1), id="every-date"),
        pytest.param(
            "HIPAA Strict",
            [("NAME", "8", "12", "PATIENT")],
            [("NAME", "8", "12", "DOCTOR")],
            (0, 0, 1),
            id="filtered-on-each-side",
        ),
        pytest.param(
            "Binary Strict",
            [("NAME", "8", "12", "PATIENT")],
            [("LOCATION", "8", "12", "CITY")],
            (1, 0, 0),
            id="binary",
        ),
        pytest.param(
            "NAME Binary HIPAA Strict",
            [("NAME", "8", "12", "PATIENT")],
            [("NAME", "8", "12", "PATIENTS")],
            (0, 1, 1),
            id="category-binary-is-not",
        ),
    ],
)
def test_quirk(
    tmp_path: Path,
    label: str,
    gold: list[tuple[str, str, str, str]],
    system: list[tuple[str, str, str, str]],
    expected: tuple[int, int, int],
) -> None:
    assert sums(tmp_path, label, gold, system) == expected


def test_the_tag_of_one_system_stands_behind_the_id_of_a_file(tmp_path: Path) -> None:
    write(tmp_path / "gold", "220-01.xml", [("NAME", "8", "12", "DOCTOR")])
    write(tmp_path / "system", "220-01_crf.xml", [("NAME", "8", "12", "DOCTOR")])
    scores, _ = i2b2.evaluate(tmp_path / "gold", tmp_path / "system")
    assert scores["Strict"]["docs"] == {"220-01": {"tp": 1, "fp": 0, "fn": 0}}


@pytest.mark.parametrize(
    ("xml", "reason"),
    [
        ("<deIdi2b2>\n<TEXT>Ada Okoro</TEXT>\n<TAGS>\n", "line"),
        ('<!DOCTYPE a [<!ENTITY b "Okoro">]>\n<a><TEXT>&b;</TEXT><TAGS/></a>', "refused"),
        ("<deIdi2b2>\n<TEXT>Ada Okoro</TEXT>\n</deIdi2b2>", "no TAGS"),
        ('<a>\n<TEXT>Ada Okoro</TEXT>\n<TAGS>\n<NAME start="0" end="Okoro"/>\n</TAGS></a>', "line 4"),
    ],
)
def test_a_malformed_file_is_named_and_the_others_are_scored(tmp_path: Path, xml: str, reason: str) -> None:
    for side in ("gold", "system"):
        write(tmp_path / side, "1-01.xml", [("NAME", "8", "12", "DOCTOR")])
        write(tmp_path / side, "1-02.xml", [("NAME", "8", "12", "DOCTOR")])
    (tmp_path / "system" / "1-02.xml").write_text(xml, encoding="utf-8")
    scores, failures = i2b2.evaluate(tmp_path / "gold", tmp_path / "system")
    assert scores["Strict"]["sum"] == {"tp": 1, "fp": 0, "fn": 0}
    assert list(scores["Strict"]["docs"]) == ["1-01"]
    (failure,) = failures
    assert failure.id == "1-02"
    assert failure.reason.startswith("system/1-02.xml: ")
    assert reason in failure.reason
    assert "Okoro" not in failure.reason
    with pytest.raises(FormatError):
        i2b2.read(xml.encode())


def test_two_files_of_one_id(tmp_path: Path) -> None:
    write(tmp_path / "gold", "1-01.xml", [])
    write(tmp_path / "system", "1-01a.xml", [])
    write(tmp_path / "system", "1-01b.xml", [])
    _, failures = i2b2.evaluate(tmp_path / "gold", tmp_path / "system")
    assert [failure.reason for failure in failures] == ["system/1-01b.xml: another file of the folder has the same id"]


def test_nothing_in_common_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "gold", "1-01.xml", [])
    write(tmp_path / "system", "1-02.xml", [])
    with pytest.raises(UsageError, match="no document is in both"):
        i2b2.evaluate(tmp_path / "gold", tmp_path / "system")
    with pytest.raises(UsageError, match="there is no folder"):
        i2b2.evaluate(tmp_path / "gold", tmp_path / "nowhere")
