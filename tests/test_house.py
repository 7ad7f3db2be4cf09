"""The house itself: which way imports run, what importing costs, what is plugged in, the label table, settings."""

import ast
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from deident import config, detect, formats, labels, plugins
from deident.document import Document, Patient, Span
from deident.errors import ConfigError, SpanError, UnknownNameError
from deident.labels import Category, Label

SOURCE = Path(__file__).parents[1] / "src" / "deident"

# The rooms from the bottom of the house to the top; a room may import from those below it and from its own.
FLOORS = (
    {"errors"},
    {"labels"},
    {"document"},
    {"plugins", "config"},
    {"patients"},
    {"lexicons"},
    {"tokens"},
    {"view", "mending"},
    {"plain"},
    {"resolve"},
    {"formats", "learn", "surrogates"},
    {"detect"},
    {"replace", "evaluate", "generalise"},
    {"policy"},
    {"verify", "vault"},
    {"risk"},
    {"structure", "corpus"},
    {"pipeline"},
    {"api"},
    {"tables"},
    {"batch", "service", "spark", "spacy", "sklearn"},
    {"review", "experiments"},
    {"cli"},
    {"__main__"},
)
FLOOR = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}


def _room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def _imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "deident":
            found |= {
                alias.name
                for alias in node.names
                if (SOURCE / alias.name).exists() or (SOURCE / f"{alias.name}.py").exists()
            }
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("deident."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("deident.")}
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_run_one_way(path: Path) -> None:
    room = _room(path)
    if room == "__init__":
        return
    assert room in FLOOR, f"say on which floor '{room}' lives"
    for other in _imported(path) - {room}:
        assert FLOOR[other] < FLOOR[room], f"{path.name} imports {other}, which lives above it or beside it"


def test_importing_deident_brings_nothing_heavy() -> None:
    code = (
        "import sys, deident, deident.cli, deident.pipeline, deident.batch, deident.evaluate\n"
        "heavy = ('torch','pandas','scipy','numba','sklearn','pyspark','fastapi','spacy','cassis')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_label_table_is_complete() -> None:
    assert len(labels.TYPES) == 30
    assert set(labels.TABLE) == set(Label)
    assert {label.category for label in Label} == set(Category)
    assert len(Category) == 8
    assert {label.safe_harbor for label in labels.TYPES} >= set("ABCDEFGHIJKLMNOPR") - {"N", "O"}


@pytest.mark.parametrize("scheme", sorted(labels.SCHEMES))
def test_every_scheme_maps_both_ways(scheme: str) -> None:
    for name, label in labels.SCHEMES[scheme].items():
        assert labels.parse(name, scheme=scheme) is label
        back = labels.to_scheme(label, scheme)
        if scheme != "ner":
            assert back == name or labels.SCHEMES[scheme][back] in (label, Label.LOCATION_OTHER)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("mrn", Label.MEDICALRECORD),
        ("Location_Other", Label.LOCATION_OTHER),
        ("NAME", Label.PATIENT),
        (" ip ", Label.IPADDR),
    ],
)
def test_spellings(name: str, label: Label) -> None:
    assert labels.parse(name) is label


def test_an_unknown_label_answers_with_those_there_are() -> None:
    with pytest.raises(UnknownNameError, match="there are: ACCOUNT, AGE"):
        labels.parse("SHOE-SIZE")


def test_plugins_are_found_by_file_name() -> None:
    assert {"text", "jsonl", "inline"} <= set(formats.names())
    assert plugins.load("formats", "JSONL") is plugins.load("formats", "jsonl")
    assert "patterns" in plugins.names("detect")
    with pytest.raises(UnknownNameError, match="no format 'bratt'; there are: "):
        formats.load("bratt")
    with pytest.raises(UnknownNameError, match="no detector 'x'; there are: "):
        detect.load("x")


def test_another_distribution_brings_a_format_by_its_entry_point(tmp_path: Path) -> None:
    information = tmp_path / "theirs-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
    (information / "entry_points.txt").write_text("[deident.formats]\nTheir_Own = theirs\n")
    (tmp_path / "theirs.py").write_text('SUFFIXES = (".own",)\n')
    ask = "from deident import formats; print(formats.load('their-own').SUFFIXES, 'their-own' in formats.names())"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ask],
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(tmp_path), str(SOURCE.parent)))},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "('.own',) True\n"


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 3), (4, 2)])
def test_a_span_that_cannot_be_is_refused(start: int, end: int) -> None:
    with pytest.raises(SpanError):
        Span(start, end, Label.DATE)


def test_a_span_outside_its_text_is_refused() -> None:
    with pytest.raises(SpanError, match=r"0\.\.9 is outside the text of 4 characters"):
        Document("a", "abcd", (Span(0, 9, Label.DATE),))


def test_reprs_hide_text() -> None:
    doc = Document("n1", "Ada Okoro", (Span(0, 9, Label.PATIENT),), Patient("p", ((Label.PATIENT, "Ada Okoro"),)))
    assert "Ada" not in repr(doc) + repr(doc.patient) + str(doc) + repr(doc.spans)


def test_settings_are_read(tmp_path: Path) -> None:
    file = tmp_path / "d.toml"
    file.write_text('[detect]\ndetectors = ["patterns"]\n[limits]\nfile_bytes = 10\n')
    assert config.load(file).limits.file_bytes == 10
    assert config.load(file).scrub == config.Scrub()


def test_settings_go_to_other_processes() -> None:
    told = config.build(config.Config, {"review": {"keys": {"accept": "y"}}}, where="here")
    assert pickle.loads(pickle.dumps(told)) == told
    assert hash(config.Config()) == hash(pickle.loads(pickle.dumps(config.Config())))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[detect]\ndetector = []\n", "unknown key 'detector'; there are: detectors"),
        ("detect = 3\n", "detect must be a table"),
        ("[detect]\ndetectors = 'x'\n", "must be a list of strings"),
        ("[limits]\nfile_bytes = true\n", "must be of type int"),
        ("[limits\n", "is not TOML"),
    ],
)
def test_wrong_settings_are_refused(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "d.toml"
    file.write_text(content)
    with pytest.raises(ConfigError, match=message):
        config.load(file)
