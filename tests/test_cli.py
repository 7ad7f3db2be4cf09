"""The commands, as a user runs them: results, exit codes, one clear sentence for each mistake."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deident import batch, cli
from deident.batch import replacing
from deident.formats import text

ROOT = Path(__file__).parents[1]
SECRET = "Okonkwo"


def run(*arguments: str | Path, stdin: bytes | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "deident", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, input=stdin, timeout=120)
    return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "ward").mkdir(parents=True)
    (folder / "a.txt").write_text("Seen 3/4/21, call 303-555-0182.\r\n", encoding="utf-8", newline="")
    (folder / "ward" / "b.txt").write_text("E-mail x@y.org 🥳", encoding="utf-8")
    return folder


def test_scrub_writes_a_counterpart_for_each_note(notes: Path, tmp_path: Path) -> None:
    done = run("scrub", notes, "-o", tmp_path / "out")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "scrubbed 2 notes\n")
    assert (tmp_path / "out" / "a.txt").read_bytes() == b"Seen [DATE], call [PHONE].\r\n"
    assert (tmp_path / "out" / "ward" / "b.txt").read_text(encoding="utf-8") == "E-mail [EMAIL] 🥳"
    assert sorted(path.name for path in (tmp_path / "out").rglob("*")) == ["a.txt", "b.txt", "ward"]


def test_detect_writes_spans_as_lines(notes: Path, tmp_path: Path) -> None:
    done = run("detect", notes)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["id"] for row in rows] == ["a", "ward/b"]
    assert set(rows[0]) == {"id", "spans"}
    score = rows[0]["spans"][0].pop("score")
    assert 0.9 < score <= 1.0
    assert rows[0]["spans"][0] == {"start": 5, "end": 11, "label": "DATE", "source": "learned"}
    assert run("detect", notes, "-o", tmp_path / "s.jsonl").stdout == ""
    assert (tmp_path / "s.jsonl").read_text() == done.stdout


def test_detect_and_evaluate_its_own_output_is_perfect(notes: Path, tmp_path: Path) -> None:
    assert run("detect", notes, "-o", tmp_path / "gold.jsonl", "--to", "jsonl").returncode == 0
    assert run("detect", notes, "-o", tmp_path / "s.jsonl").returncode == 0
    done = run("evaluate", tmp_path / "gold.jsonl", tmp_path / "s.jsonl", "--json")
    result = json.loads(done.stdout)
    assert done.returncode == 0
    assert result["overall"]["strict"]["micro"]["f"] == 1
    assert result["leaks"]["leaked"] == 0
    official = json.loads(run("evaluate", tmp_path / "gold.jsonl", tmp_path / "s.jsonl", "--official", "--json").stdout)
    assert official["Strict"]["sum"] == {"tp": 3, "fp": 0, "fn": 0}
    assert set(official["Strict"]) == {"micro", "macro", "sum", "docs"}


def test_evaluate_counts_a_missing_note_as_missed(notes: Path, tmp_path: Path) -> None:
    run("detect", notes, "-o", tmp_path / "gold.jsonl", "--to", "jsonl")
    run("detect", notes / "a.txt", "-o", tmp_path / "s.jsonl")
    result = json.loads(run("evaluate", tmp_path / "gold.jsonl", tmp_path / "s.jsonl", "--json").stdout)
    assert result["missing"] == ["ward/b"]
    assert result["overall"]["strict"]["micro"]["fn"] == 1


def test_evaluate_writes_a_report(notes: Path, tmp_path: Path) -> None:
    run("detect", notes, "-o", tmp_path / "gold.jsonl", "--to", "jsonl")
    run("detect", notes / "a.txt", "-o", tmp_path / "s.jsonl")
    done = run("evaluate", tmp_path / "gold.jsonl", tmp_path / "s.jsonl", "--html", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert done.returncode == 0
    assert "x@y.org" in page
    run("evaluate", tmp_path / "gold.jsonl", tmp_path / "s.jsonl", "--html", tmp_path / "r.html", "--no-with-text")
    assert "x@y.org" not in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_compare_says_how_sure_a_difference_is(notes: Path, tmp_path: Path) -> None:
    run("detect", notes, "-o", tmp_path / "gold.jsonl", "--to", "jsonl")
    run("detect", notes / "a.txt", "-o", tmp_path / "b.jsonl")
    done = run("compare", tmp_path / "gold.jsonl", tmp_path / "gold.jsonl", tmp_path / "b.jsonl", "--json")
    result = json.loads(done.stdout)
    assert result["figures"]["recall"]["a"] == 1
    assert result["figures"]["recall"]["difference"] > 0
    assert 0 < result["figures"]["recall"]["randomization"]["p"] <= 1
    assert run("compare", tmp_path / "gold.jsonl", tmp_path / "gold.jsonl", tmp_path / "b.jsonl").returncode == 0


@pytest.mark.parametrize("form", ["brat", "i2b2-2014", "vtt", "inline", "conll", "jsonl", "label-studio", "doccano"])
def test_convert_there_and_back(notes: Path, tmp_path: Path, form: str) -> None:
    run("detect", notes / "ward", "-o", tmp_path / "gold.jsonl", "--to", "jsonl")
    out = tmp_path / "converted"
    done = run("convert", tmp_path / "gold.jsonl", out, "--to", form)
    assert (done.returncode, done.stderr) == (0, "converted 1 note\n")
    back = run("convert", out, tmp_path / "back.jsonl", "--from", form, "--to", "jsonl")
    assert back.returncode == 0, back.stderr
    first, second = (json.loads((tmp_path / name).read_text()) for name in ("gold.jsonl", "back.jsonl"))
    assert second["text"] == first["text"]
    kept = ("start", "end", "label")
    assert [[s[key] for key in kept] for s in second["spans"]] == [[s[key] for key in kept] for s in first["spans"]]


def test_explain_says_who_found_what_and_why() -> None:
    assert "learned: a CRF learned that" in run("explain", "Seen 3/4/21").stdout
    done = run("explain", "--detectors", "patterns", "Seen 3/4/21")
    assert "patterns:date-numeric: a date in digits" in done.stdout
    assert done.stdout.endswith("Seen [DATE]\n")
    found = json.loads(run("explain", "--json", "-", stdin=b"call 303-555-0182").stdout)
    assert found["result"][0]["label"] == "PHONE"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"Okonkwo \xff", "not UTF-8 at byte offset 8"),
        (b"Okonkwo \0", "NUL byte at offset 8: not a text file"),
        (b"Okonkwo" * 100, "the file has 700 bytes, over the limit of 600; raise it with --max-bytes"),
    ],
)
def test_bad_bytes_fail_alone(notes: Path, tmp_path: Path, content: bytes, reason: str) -> None:
    (notes / "bad.txt").write_bytes(content)
    done = run("scrub", notes, "-o", tmp_path / "out", "--max-bytes", "600")
    assert done.returncode == 1
    assert done.stderr == f"deident: bad: {reason}\nscrubbed 2 notes, 1 failed\n"
    assert sorted(path.name for path in (tmp_path / "out").rglob("*.txt")) == ["a.txt", "b.txt"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"id": "n2", "text": "Okonkwo"', "line 2: not JSON at column 31"),
        ('["Okonkwo"]', "line 2: not a JSON object"),
        ('{"id": "n2"}', 'line 2: the object has no "text" that is a string'),
        (
            '{"id": "n2", "text": "Okonkwo", "Okonkwo": 1}',
            "line 2: 1 unknown key(s); there are: id, meta, patient, spans",
        ),
        (
            '{"id": "n2", "text": "Okonkwo", "spans": [{"start": 0, "end": 9, "label": "DATE"}]}',
            "line 2: spans[0]: 0..9 is outside the text of 7 characters",
        ),
        (
            '{"id": "n2", "text": "Okonkwo", "spans": [{"start": 3, "end": 3, "label": "DATE"}]}',
            "line 2: spans[0]: a span must have 0 <= start < end, not 3..3",
        ),
    ],
)
def test_a_bad_line_fails_alone(tmp_path: Path, line: str, reason: str) -> None:
    (tmp_path / "n.jsonl").write_text(f'{{"id": "n1", "text": "on 3/4/21"}}\n{line}\n{{"id": "n3", "text": "x"}}\n')
    done = run("scrub", tmp_path / "n.jsonl", "-o", tmp_path / "out")
    assert done.returncode == 1
    assert done.stderr.startswith(f"deident: n: {reason}")
    assert done.stderr.endswith("scrubbed 2 notes, 1 failed\n")
    assert SECRET not in done.stderr
    rows = [json.loads(row) for row in (tmp_path / "out" / "n.jsonl").read_text().splitlines()]
    assert [row["text"] for row in rows] == ["on [DATE]", "x"]


def test_malformed_xml_and_overlapping_gold_are_named_and_the_rest_is_scored(tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    spans = [{"start": 0, "end": 3, "label": "DATE"}, {"start": 2, "end": 5, "label": "AGE"}]
    rows = [{"id": "bad", "text": "Okonkwo", "spans": spans}, {"id": "good", "text": "Okonkwo", "spans": spans[:1]}]
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run("evaluate", gold, gold, "--json")
    assert done.returncode == 1
    assert "deident: bad: gold spans 0..3 and 2..5 overlap" in done.stderr
    assert json.loads(done.stdout)["documents"] == 1
    folder = tmp_path / "xml"
    folder.mkdir()
    (folder / "x.xml").write_text("<deIdi2b2>\n<TEXT>Okonkwo</TEX>\n</deIdi2b2>")
    done = run("convert", folder, tmp_path / "o.jsonl", "--from", "i2b2-2014", "--to", "jsonl")
    assert done.returncode == 1
    assert "deident: x: line 2:" in done.stderr
    assert SECRET not in done.stderr


def test_a_note_of_gold_that_cannot_be_read_is_named_once_and_where(tmp_path: Path) -> None:
    row = {"id": "good", "text": "on 3/4/21", "spans": [{"start": 3, "end": 9, "label": "DATE"}]}
    xml = "<deIdi2b2>\n<TEXT>Okonkwo</TEX>\n</deIdi2b2>"
    for side in ("gold", "system"):
        (tmp_path / side).mkdir()
        for name in ("good", "bad"):
            (tmp_path / side / f"{name}.jsonl").write_text(json.dumps(row | {"id": name}) + "\n")
    (tmp_path / "gold" / "bad.jsonl").rename(tmp_path / "gold" / "bad.xml").write_text(xml)
    done = run("evaluate", tmp_path / "gold", tmp_path / "system", "--json")
    assert done.returncode == 1
    assert done.stderr.startswith(f"deident: bad: {tmp_path / 'gold'}: line 2: not well-formed XML")
    assert done.stderr.count("deident: ") == 1
    assert json.loads(done.stdout)["documents"] == 1


def test_the_official_numbers_say_how_many_notes_they_pass_over(tmp_path: Path) -> None:
    case = ROOT / "tests" / "golden" / "i2b2_eval" / "cases" / "e02_missing_and_extra_docs"
    done = run("evaluate", case / "gold", case / "system", "--official", "--json")
    passed = "2 notes are on one side only: the official script passes over them\n"
    assert (done.returncode, done.stderr) == (0, passed)
    assert len(json.loads(done.stdout)["Token"]["docs"]) == 2
    for side in ("gold", "system"):
        assert run("convert", case / side, tmp_path / f"{side}.jsonl", "--to", "jsonl").returncode == 0
    again = run("evaluate", tmp_path / "gold.jsonl", tmp_path / "system.jsonl", "--official", "--json")
    assert (again.returncode, again.stdout, again.stderr) == (0, done.stdout, passed)


def test_whatever_goes_wrong_no_text_is_shown(
    notes: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def trip(*_: object, **__: object) -> None:
        raise KeyError(SECRET)

    def ended(*arguments: str) -> tuple[object, str]:
        monkeypatch.setattr(sys, "argv", ["deident", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return stop.value.code, capsys.readouterr().err

    with monkeypatch.context() as patched:
        patched.setattr(text, "read", trip)
        failed = "cannot be read (KeyError)"
        told = f"deident: a: {failed}\ndeident: ward/b: {failed}\nread 0 notes, 2 failed\n"
        assert ended("detect", str(notes)) == (1, told)
    monkeypatch.setattr(batch, "worked", trip)
    code, told = ended("detect", str(notes))
    assert code == 1
    assert told.startswith("deident: stopped by a KeyError in test_cli.py, line ")
    assert SECRET not in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["scrub", "absent", "-o", "out"], "there is no file or folder absent"),
        (["detect", "{notes}", "--detectors", "oracle"], "no detector 'oracle'; there are: "),
        (["detect", "{notes}", "--detectors", ","], "no detector is named"),
        (["detect", "{notes}", "--to", "brat"], "say with -o where the brat output goes"),
        (["scrub", "{notes}", "-o", "{out}", "--to", "bratt"], "no format 'bratt'; there are: "),
        (
            ["scrub", "{notes}", "-o", "{out}", "--replace", "vanish"],
            "no replacement 'vanish'; there are: mask, null, number, surrogate, syllables, tag",
        ),
        (["scrub", "{notes}", "-o", "{notes}"], "the output folder would overwrite the input"),
        (["evaluate", "{notes}", "absent"], "there is no file or folder absent"),
        (["detect", "{notes}", "--config", "absent.toml"], "there is no configuration file absent.toml"),
    ],
)
def test_mistakes_are_one_sentence(notes: Path, tmp_path: Path, arguments: list[str], sentence: str) -> None:
    before = (notes / "a.txt").read_bytes()
    done = run(*(part.format(notes=notes, out=tmp_path / "out") for part in arguments))
    assert done.returncode == 2
    assert done.stderr.startswith(f"deident: {sentence}")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()
    assert (notes / "a.txt").read_bytes() == before


def test_a_large_file_of_many_records_is_streamed_and_a_large_note_is_refused(tmp_path: Path) -> None:
    """200 MB: a note is refused by its size, unread; of a file of records only the size of a record matters."""
    big = tmp_path / "big.txt"
    with big.open("wb") as stream:
        stream.truncate(200_000_000)
    done = run("scrub", big, "-o", tmp_path / "out")
    assert done.returncode == 1
    assert done.stderr.startswith("deident: big: the file has 200000000 bytes, over the limit of 67108864")
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": "n", "text": "on 3/4/21"}\n' * 2000)
    assert run("scrub", rows, "-o", tmp_path / "out", "--max-bytes", "1000").stderr == "scrubbed 2000 notes\n"


def test_nothing_half_written_remains(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "x.txt") as stream:
        stream.write(b"half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_help_is_quick_and_shows_examples() -> None:
    done = run("--help")
    taken: list[float] = []
    for _ in range(3):  # the machine may be busy with other tests
        begin = time.perf_counter()
        run("--help")
        taken.append(time.perf_counter() - begin)
    assert min(taken) < 0.4
    for command in ("detect", "scrub", "evaluate", "compare", "convert", "explain"):
        assert command in done.stdout
        assert "Example: deident" in run(command, "--help").stdout


def test_the_readme_says_what_ci_runs() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    last = (ROOT / ".ci" / "run").read_text(encoding="utf-8").strip().splitlines()[-1]
    assert last in readme
    assert (
        "python3 -m venv .venv && .venv/bin/pip install -q . && .venv/bin/deident scrub examples/notes -o scrubbed"
        in readme
    )
