"""The corpora: frozen by hash, rebuilt byte for byte, checked against the guide; sampling, splitting, making."""

import json
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from deident import cli, corpus
from deident.corpus import Split, sampling, splits, standoff, stats, templates
from deident.document import Document, Patient, Span, first_overlap
from deident.errors import FormatError, UnknownNameError, UsageError
from deident.labels import TYPES, Label
from deident.tokens import tokenize
from tests.strategies import any_text, spans_of, texts


def test_our_own_notes_are_those_that_were_frozen_and_have_no_fault() -> None:
    documents = list(corpus.load(corpus.OWN))
    assert len(documents) >= 150
    assert len({doc.meta["kind"] for doc in documents}) >= 25
    assert len({doc.meta["layout"] for doc in documents}) >= 40
    assert any(not doc.spans for doc in documents)
    for doc in documents:
        assert first_overlap(doc.spans) is None
        assert [finding for finding in stats.check(doc) if finding.fault] == []


def test_the_stand_off_corpora_are_as_large_as_they_say() -> None:
    assert len(corpus.standoff_entries("mtsamples-phi")) >= 400
    assert len(corpus.standoff_entries("aci-phi")) >= 40


def test_a_split_and_a_patient_and_a_layout_of_style_stay_together() -> None:
    entries = corpus.entries()
    assert len({(entry.corpus, entry.id) for entry in entries}) == len(entries)
    by_patient: dict[str, set[Split]] = {}
    for entry in entries:
        by_patient.setdefault(entry.patient, set()).add(entry.split)
    assert all(len(found) == 1 for found in by_patient.values())
    own = [entry for entry in entries if entry.corpus == corpus.OWN]
    style = {entry.layout for entry in own if entry.split is Split.STYLE}
    assert style
    assert not style & {entry.layout for entry in own if entry.split is not Split.STYLE}
    assert {entry.split for entry in entries} == set(Split)


def test_no_insertion_holds_a_sentence_of_the_carrier() -> None:
    """What is stored of other people's reports is only ours: insertions, offsets, labels."""
    for name in corpus.STANDOFF:
        for line in corpus.data_file(f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            assert set(json.loads(line)) == {"id", "carrier_sha256", "edits", "spans", "tokens"}


def test_statistics_name_every_type() -> None:
    numbers = stats.statistics()
    counted = Counter[str]()
    for rows in numbers.values():
        for row in rows.values():
            assert set(row) == {"docs", "tokens", "spans"}
            counted.update(row["spans"])
    assert set(counted) <= {label.value for label in TYPES}
    assert len(counted) >= 28
    assert sum(row["docs"] for row in numbers[corpus.OWN].values()) >= 150


@pytest.mark.parametrize(
    ("note", "what"),
    [
        ("Dr. Lee saw him. Lee left.", "untagged repeat of a DOCTOR"),
        ("Dr. Lee, seen 3/4/2021", "a date?"),
        ("Dr. Lee, call 303-555-0182", "a telephone number?"),
        ("Dr. Lee saw the 54-year-old", "an age?"),
        ("Dr. Lee and Dr. Moss", "a name behind a title?"),
    ],
)
def test_doubtful_places_are_found(note: str, what: str) -> None:
    doc = Document("a", note, (Span(4, 7, Label.DOCTOR),))
    assert what in [finding.what for finding in stats.check(doc)]


def test_a_place_is_named_once_however_many_spans_it_repeats() -> None:
    doc = Document("a", "Dr. Lee and Dr. Lee: lee side, Lee", (Span(4, 7, Label.DOCTOR), Span(16, 19, Label.DOCTOR)))
    assert [(found.start, found.end) for found in stats.check(doc)] == [(31, 34)]


def test_faults_are_found() -> None:
    doc = Document("a", "Dr. Lee 54-year-old", (Span(0, 8, Label.DOCTOR), Span(4, 7, Label.DOCTOR)))
    found = [finding.what for finding in stats.check(doc) if finding.fault]
    assert found == ["overlapping spans", "white space at the end of a span"]


@given(any_text, any_text, st.data())
def test_stand_off_annotation_rebuilds_the_note(carrier: str, text: str, data: st.DataObject) -> None:
    doc = Document("n", text, tuple(sorted(set(data.draw(spans_of(len(text)))))))
    entry = standoff.derive("n", carrier, doc, 0)
    assert standoff.Entry.from_json(json.loads(json.dumps(entry.to_json()))) == entry
    assert standoff.apply(entry, carrier) == Document("n", text, doc.spans)
    with pytest.raises(FormatError, match="report n is not the one that was annotated: its hash differs"):
        standoff.apply(entry, carrier + "x")


def test_a_carrier_that_is_missing_or_other_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="name the carrier file with --carrier"):
        next(corpus.load("mtsamples-phi"))
    with pytest.raises(UsageError, match="there is no carrier file"):
        next(corpus.load("mtsamples-phi", carrier=tmp_path / "absent.jsonl"))
    with pytest.raises(UnknownNameError):
        next(corpus.load("mtsamples"))
    first = next(entry.id for entry in corpus.entries() if entry.corpus == "mtsamples-phi")
    other = tmp_path / "carrier.jsonl"
    other.write_text(json.dumps({"id": first, "text": "another report"}) + "\n")
    with pytest.raises(FormatError, match=f"report {first} is not the one"):
        next(corpus.load("mtsamples-phi", carrier=other))
    other.write_text('{"id": 1\n')
    with pytest.raises(FormatError, match=r"line 1: .*carrier\.jsonl has no object"):
        next(corpus.load("mtsamples-phi", carrier=other))


@pytest.fixture
def invented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Document]:
    """A carrier of two reports, and our note on one of them as if it were mtsamples-phi."""
    carrier = tmp_path / "carrier.jsonl"
    report = "Mr. X was seen at the clinic.\nHe is well."
    rows = [{"id": "r1", "text": report}, {"id": "r2", "text": "unused"}]
    carrier.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    text = "Mr. Ødegård was seen at Alder Clinic.\nHe is well. 🥳"
    doc = Document("r1", text, (Span(4, 11, Label.PATIENT), Span(24, 36, Label.HOSPITAL)))
    entry = standoff.derive("r1", report, doc, 12)
    frozen = corpus.Entry("mtsamples-phi", "r1", Split.TRAIN, "letter", "plain", "p1", corpus.digest(text))

    def entries_of(_: str) -> dict[str, standoff.Entry]:
        return {"r1": entry}

    monkeypatch.setattr(corpus, "standoff_entries", entries_of)
    monkeypatch.setattr(corpus, "entries", lambda: (frozen,))
    return carrier, doc


def _build(carrier: Path, out: Path) -> Result:
    return CliRunner().invoke(cli.app, ["corpus", "build", "mtsamples-phi", "--carrier", str(carrier), "-o", str(out)])


def test_a_rebuilt_corpus_equals_the_frozen_one_by_hash(invented: tuple[Path, Document], tmp_path: Path) -> None:
    carrier, doc = invented
    (built,) = corpus.load("mtsamples-phi", carrier=carrier)
    assert (built.text, built.spans) == (doc.text, doc.spans)
    first, second = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    done = _build(carrier, first)
    assert done.exit_code == _build(carrier, second).exit_code == 0
    assert done.stderr.startswith("built 1 note\nevery note equals by hash the one that was frozen; corpus ")
    assert first.read_bytes() == second.read_bytes()
    assert json.loads(first.read_text(encoding="utf-8"))["text"] == doc.text


def test_a_build_from_another_or_a_missing_carrier_writes_nothing(
    invented: tuple[Path, Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carrier, doc = invented
    out = tmp_path / "out.jsonl"

    def refused(path: Path) -> str:
        done = _build(path, out)
        assert done.exception is not None
        assert not out.exists()
        assert "well" not in str(done.exception)
        return str(done.exception)

    assert refused(tmp_path / "absent.jsonl") == f"there is no carrier file {tmp_path / 'absent.jsonl'}"
    other = tmp_path / "other.jsonl"
    other.write_text(carrier.read_text(encoding="utf-8").replace("seen", "met"), encoding="utf-8")
    assert refused(other) == "the carrier's report r1 is not the one that was annotated: its hash differs"
    other.write_text('{"id": "r2", "text": "unused"}\n', encoding="utf-8")
    assert refused(other) == f"the carrier {other} has no report r1"
    other.write_bytes(b'{"id": "r1", "text": "w\xffell"}\n')
    assert refused(other) == f'line 1: {other} has no object with "id" and "text"'

    frozen = corpus.Entry("mtsamples-phi", "r1", Split.TRAIN, "letter", "plain", "p1", corpus.digest(doc.text + "!"))
    monkeypatch.setattr(corpus, "entries", lambda: (frozen,))
    assert refused(carrier) == "the note r1 of mtsamples-phi is not the one that was frozen: its hash differs"


def test_a_file_missing_from_the_installation_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "DATA", tmp_path)
    with pytest.raises(UsageError, match=r"the corpus file mtsamples-phi\.jsonl is missing from the installation"):
        corpus.data_file("mtsamples-phi.jsonl")


# --- sampling and splitting ------------------------------------------------------------------------------------------


def _doc(name: str, text: str, patient: str = "", **meta: str) -> Document:
    return Document(name, text, patient=Patient(patient) if patient else None, meta=meta)


def test_the_latest_report_of_a_visit_and_kind_stays() -> None:
    documents = [
        _doc("a", "x", "p", visit="1", kind="ct", date="2021-01-02"),
        _doc("b", "x", "p", visit="1", kind="ct", date="2021-01-01"),
        _doc("c", "x", "p", visit="2", kind="ct", date="2021-01-01"),
        _doc("d", "x"),
        _doc("e", "x"),
    ]
    assert [doc.id for doc in sampling.latest(documents)] == ["a", "c", "d", "e"]
    assert [doc.id for doc in sampling.latest(documents[::-1])] == ["e", "d", "c", "a"]


def test_dates_of_reports_are_compared_as_dates() -> None:
    rows = {"a": "2021-01-02T10:30", "b": "2021-01-02T09:00:00+00:00", "c": "20201231"}
    documents = [_doc(name, "x", "p", kind="ct", date=day) for name, day in rows.items()]
    assert [doc.id for doc in sampling.latest(documents)] == ["a"]
    assert [doc.id for doc in sampling.latest([*documents, _doc("d", "x", "p", kind="ct")])] == ["a"]
    same = [_doc("a", "x", "p", kind="ct", date="2021-01-02"), _doc("b", "x", "p", kind="ct", date="2021-01-02")]
    assert [doc.id for doc in sampling.latest(same)] == ["b"]
    with pytest.raises(UsageError, match="the date in meta of note d is not written as YYYY-MM-DD"):
        sampling.latest([*documents, _doc("d", "x", "p", kind="ct", date="3/4/21")])


def test_the_command_samples_the_latest_of_each_visit_and_one_of_duplicates(tmp_path: Path) -> None:
    body = " ".join(f"finding{i}" for i in range(40))
    rows = [
        {"id": "draft", "text": "draft of the scan", "patient": "p1", "date": "2021-03-01"},
        {"id": "final", "text": f"final scan {body}", "patient": "p1", "date": "2021-03-02"},
        {"id": "copied", "text": f"addendum. final scan {body}", "patient": "p2", "date": "2021-03-02"},
        {"id": "other", "text": "quite another visit", "patient": "p2", "date": "2021-05-02", "visit": "2"},
    ]
    with (tmp_path / "in.jsonl").open("w") as stream:
        for row in rows:
            meta = {"kind": "ct", "visit": row.pop("visit", "1"), "date": row.pop("date")}
            stream.write(json.dumps(row | {"meta": meta}) + "\n")
    command = ["corpus", "sample", str(tmp_path / "in.jsonl"), "-o", str(tmp_path / "out.jsonl")]
    done = CliRunner().invoke(cli.app, command)
    assert (done.exit_code, done.stderr) == (0, "4 notes, 2 without duplicates, 2 drawn\n")
    drawn = [json.loads(line)["id"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert sorted(drawn) == ["final", "other"]
    assert CliRunner().invoke(cli.app, [*command, "--count", "1"]).stderr.endswith("1 drawn\n")


def test_of_near_duplicates_one_stays() -> None:
    text = " ".join(f"w{i}" for i in range(60))
    longer = f"addendum {text} {text[::-1]}"
    documents = [_doc("a", text), _doc("b", longer), _doc("c", "quite another note " * 9)]
    assert [doc.id for doc in sampling.without_near_duplicates(documents)] == ["a", "c"]
    assert list(sampling.near_duplicates(documents)) == [("a", "b")]


@given(st.lists(st.text(alphabet="ab ", min_size=30, max_size=60), max_size=6), st.sampled_from([0.2, 0.5, 0.8]))
def test_near_duplicates_are_those_that_share_most_shingles(texts_: list[str], like: float) -> None:
    documents = [_doc(str(i), text) for i, text in enumerate(texts_)]
    words = [text.split() for text in texts_]
    sets = [{tuple(w[i : i + sampling.SHINGLE]) for i in range(max(1, len(w) - sampling.SHINGLE + 1))} for w in words]
    expected = [
        (str(one), str(two))
        for two in range(len(sets))
        for one in range(two)
        if len(sets[one] & sets[two]) > like * min(len(sets[one]), len(sets[two]))
    ]
    assert list(sampling.near_duplicates(documents, like=like)) == expected


def test_a_letterhead_of_all_notes_costs_little() -> None:
    head = " ".join(f"h{i}" for i in range(40))
    documents = [_doc(str(i), f"{head} {' '.join(f'n{i}w{j}' for j in range(60))}") for i in range(2000)]
    begin = time.process_time()
    assert list(sampling.near_duplicates(documents)) == []
    assert time.process_time() - begin < 10  # every pair of them would be two million


def test_drawing_does_not_depend_on_order() -> None:
    documents = [_doc(str(i), "x") for i in range(40)]
    drawn = sampling.draw(documents, 7, seed=1)
    assert drawn == sampling.draw(documents[::-1], 7, seed=1)
    assert drawn != sampling.draw(documents, 7, seed=2)


@given(st.integers(1, 60), st.integers(1, 9), st.integers(0, 3))
def test_a_division_keeps_patients_together_and_its_shares(count: int, patients: int, seed: int) -> None:
    documents = [_doc(f"n{i}", f"note {i} " * 9, f"p{i % patients}") for i in range(count)]
    assigned = splits.assign(documents, {"train": 2, "test": 1}, seed=seed)
    assert assigned == splits.assign(documents[::-1], {"train": 2, "test": 1}, seed=seed)
    assert set(assigned) == {doc.id for doc in documents}
    assert all(len({assigned[f"n{i}"] for i in range(p, count, patients)}) <= 1 for p in range(patients))
    largest = -(-count // patients)
    assert abs(Counter(assigned.values())["train"] - count * 2 / 3) <= largest


def test_a_share_must_be_above_zero() -> None:
    with pytest.raises(UsageError, match="share above zero"):
        splits.assign([_doc("a", "x")], {"train": 1, "test": 0}, seed=1)


def test_commands_refuse_what_does_not_exist(tmp_path: Path) -> None:
    for command in (["stats", "nope"], ["check", "nope"], ["build", "nope"]):
        done = CliRunner().invoke(cli.app, ["corpus", *command])
        assert isinstance(done.exception, UnknownNameError), command
    (tmp_path / "in.jsonl").write_text('{"id": "a", "text": "x"}\n')
    for shares in ("train=nan", "train=inf", "train", "=1", "a=1,a=2", "a=-1", "a=1,"):
        command = ["split", str(tmp_path / "in.jsonl"), "-o", str(tmp_path / "out"), "--shares", shares]
        done = CliRunner().invoke(cli.app, ["corpus", *command])
        assert "shares are written as" in str(done.exception), shares
    assert not (tmp_path / "out").exists()


# --- templates -------------------------------------------------------------------------------------------------------


@given(texts)
def test_a_text_without_signs_is_its_own_template(text: str) -> None:
    plain = "".join(char for char in text if char not in "{}<|")
    assert templates.parse(plain) == ((plain,) if plain else ())


def test_slots_choices_and_inclusions_are_parsed() -> None:
    slot = templates.Slot("doctor.full")
    assert templates.parse("Dr. {doctor.full}{, {cred}|}") == (
        "Dr. ", slot, templates.Choice(((", ", templates.Slot("cred")), ())),
    )  # fmt: skip
    assert templates.parse("<hpi 3-6> x") == (templates.Include("hpi", 3, 6, lines=False), " x")
    for broken in ("{a|b", "a}"):
        with pytest.raises(FormatError):
            templates.parse(broken)


def test_tokens_of_a_note_are_counted_as_the_tokenizer_cuts() -> None:
    entry = next(entry for entry in corpus.entries() if entry.corpus == corpus.OWN)
    row = stats.statistics([corpus.OWN])[corpus.OWN]
    assert sum(split["tokens"] for split in row.values()) == sum(
        len(tokenize(doc.text)) for doc in corpus.load(corpus.OWN)
    )
    assert corpus.own_note(entry).text
