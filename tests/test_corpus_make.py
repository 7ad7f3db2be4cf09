"""Synthetic notes: gold exact by construction, whatever the layout and the noise; the same seed, the same note."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from deident import cli, corpus
from deident.corpus import carriers, make, shapes, stats, story, templates
from deident.corpus.story import Piece, Story
from deident.corpus.templates import Choice, Include, Node, Slot, Template
from deident.document import Document, Span, first_overlap
from deident.errors import FormatError, UsageError
from deident.labels import TYPES, Category, Label

MANY = 2000


@pytest.fixture(scope="module")
def notes() -> list[Document]:
    return list(make.notes(MANY, seed=11))


def _nodes(template: Template) -> Iterator[Node]:
    for node in template:
        yield node
        if isinstance(node, Choice):
            for option in node.options:
                yield from _nodes(option)


def _templates() -> list[tuple[str, Template]]:
    lines = [(layout.name, line) for layout in templates.layouts() for line in layout.lines]
    return lines + [(bank, line) for bank, found in templates.banks().items() for line in found]


def _plain_words() -> set[str]:
    """The words that layouts, banks and clinical values hold: a person may be called by one of them."""
    texts = [node for _, template in _templates() for node in _nodes(template) if isinstance(node, str)]
    texts.append((templates.ROOM / "values.toml").read_text(encoding="utf-8"))
    return {word.lower() for text in texts for word in re.findall(r"[^\W\d_]+", text)}


# --- gold ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", templates.layouts(), ids=lambda layout: layout.name)
def test_every_layout_gives_notes_without_fault(layout: templates.Layout) -> None:
    for seed in range(8):
        doc = make.note(seed, 0, layout=layout)
        assert doc.meta["layout"] == layout.name
        assert doc.spans
        assert [finding for finding in stats.check(doc) if finding.fault] == []


def test_spans_are_disjoint_and_begin_and_end_with_what_they_mark(notes: list[Document]) -> None:
    for doc in notes:
        assert first_overlap(doc.spans) is None
        for span in doc.spans:
            text = doc.text[span.start : span.end]
            assert text == text.strip() != ""


def test_titles_and_credentials_and_units_stay_outside(notes: list[Document]) -> None:
    wrong = re.compile(r"(?i)(?:dr|mr|mrs|ms|mister)\.? .*|.*, ?(?:m\.?d|r\.?n|np|do|phd)\b.*|.*['’]s")
    for doc in notes:
        for span in doc.spans:
            text = doc.text[span.start : span.end]
            if span.label.category is Category.NAME:
                assert not wrong.fullmatch(text), doc.id
            if span.label is Label.AGE:
                assert not re.search(r"(?i)year|yr|y/?o", text), doc.id


def test_no_number_and_no_rare_surname_stands_untagged(notes: list[Document]) -> None:
    plain = _plain_words()
    numbers = {
        Label.MEDICALRECORD, Label.PHONE, Label.SSN, Label.ACCOUNT, Label.EMAIL, Label.FAX, Label.HEALTHPLAN,
        Label.IDNUM, Label.LICENSE, Label.DEVICE,
    }  # fmt: skip
    for doc in notes:
        covered = bytearray(len(doc.text))
        for span in doc.spans:
            covered[span.start : span.end] = b"\1" * (span.end - span.start)
        outside = "".join("\0" if hidden else char for char, hidden in zip(doc.text, covered, strict=True))
        for span in doc.spans:
            text = doc.text[span.start : span.end]
            if span.label in numbers and len(text) > 6:
                assert text not in outside, doc.id
            if span.label is Label.PATIENT:
                for word in re.findall(r"[^\W\d_]{4,}", text):
                    assert word.lower() in plain or not re.search(rf"(?<!\w){word}(?!\w)", outside), doc.id


# What a value of a type may look like, whatever the noise: letters may be digits after OCR, so no more is said.
_PLAUSIBLE = {
    Label.AGE: r"[\dOlSIB]{1,3}|[\dOlSIB]{2}s|[^\W\d]+([ -][^\W\d]+)*",
    Label.EMAIL: r"\S+@\S+",
    Label.URL: r"\S+[./:]\S*",
    Label.IPADDR: r"[\w.:]{7,}",
    Label.PHONE: r"[\w ()+./,-]+|[a-z ]+",
    Label.SSN: r"[\w* -]{4,}",
    Label.DATE: r"[\w '’/.,&-]+",
    Label.ZIP: r"[\w -]{3,10}",
}


def test_every_value_is_plausible_for_its_type(notes: list[Document]) -> None:
    for doc in notes:
        for span in doc.spans:
            text = doc.text[span.start : span.end]
            if pattern := _PLAUSIBLE.get(span.label):
                assert re.fullmatch(pattern, " ".join(text.split()), re.IGNORECASE), (doc.id, span)
            elif span.label in (Label.MEDICALRECORD, Label.ACCOUNT, Label.IDNUM, Label.LICENSE, Label.DEVICE):
                assert re.search(r"\d|^[a-zOlSIB ]+$", text, re.IGNORECASE), (doc.id, span)
            elif span.label not in (
                Label.ROOM,
                Label.STREET,
                Label.LOCATION_OTHER,
                Label.FAX,
                Label.HEALTHPLAN,
                Label.BIOID,
                Label.VEHICLE,
            ):
                assert re.search(r"[^\W\d]", text), (doc.id, span)


def test_every_type_occurs_in_many_contexts(notes: list[Document]) -> None:
    found = make.variety(notes)
    assert found.notes == MANY
    assert found.layouts == len(templates.layouts()) >= 140
    assert set(found.contexts) == {label.value for label in TYPES}
    assert min(found.contexts.values()) >= 80
    assert min(found.values.values()) >= 150


def test_little_of_the_notes_stands_in_dev_too(notes: list[Document]) -> None:
    found = make.variety(notes[:1000], corpus.load(corpus.OWN, split="dev"))
    assert 0 < found.shared_of_synthetic < 0.002
    assert 0 < found.shared_of_others < 0.04


# --- the same seed ---------------------------------------------------------------------------------------------------


def test_a_note_depends_on_its_seed_and_number_alone(notes: list[Document]) -> None:
    for number in (1999, 41, 0, 7):
        assert make.note(11, number) == notes[number]
        assert make.note(12, number).text != notes[number].text
    assert len({doc.text for doc in notes}) == MANY


# --- layouts and banks -----------------------------------------------------------------------------------------------


def test_every_slot_and_every_inclusion_exists() -> None:
    tale = Story(Random(1))
    for where, template in _templates():
        for node in _nodes(template):
            if isinstance(node, Slot):
                assert all(piece.text for piece in story.fill(node.name, tale)), (where, node)
            if isinstance(node, Include):
                assert node.bank in templates.banks(), (where, node)
                assert where not in templates.banks(), "a bank includes no bank"
    with pytest.raises(FormatError, match=r"a slot \{doctor9\} that does not exist"):
        story.fill("doctor9", tale)


def test_no_option_is_the_bare_name_of_a_slot() -> None:
    """`{military|none}` would write "military"; `{{military}|none}` is meant."""
    words = {
        "age", "clinic", "discharge", "dob", "employer", "ext", "fax", "hospital", "license", "mrn", "patient",
        "pharmacy", "phone", "plan", "school", "ssn",
    }  # fmt: skip
    labelled = {name for name, (label, _) in story.SLOTS.items() if label is not None} - words
    clinical = {"dx", "drug", "dose", "duration", "bodypart", "level", "size", "scale", "symptom2"}
    for where, template in _templates():
        for node in _nodes(template):
            if isinstance(node, Choice):
                for option in node.options:
                    assert not (len(option) == 1 and option[0] in labelled | clinical), (where, option)


# Literal dates, ages, titled names, long numbers and months: an identifier that no slot made would be missed in gold.
_LITERAL = re.compile(
    r"\b(?:0?[1-9]|1[0-2])/(?:0?[1-9]|[12]\d|3[01])/\d{2,4}\b|\b(?:19|20)\d\d\b(?!-)|'\d\ds?\b"
    r"|\b\d{1,3}[- ]?(?:years?[- ]old|y/?o|yr old)\b|\b(?:age[ds]?|aged) \d"
    r"|\b(?:Dr|Mr|Mrs|Ms|Rev|Officer|Judge|Pastor)\.? [A-Z]|\b\d{3}[-. ]\d{4}\b|@\w|\bhttps?:|\bwww\."
    r"|\b(?:January|February|April|June|July|September|October|November|December)\b"
    r"|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b"
)


def test_no_template_holds_a_literal_identifier() -> None:
    for where, template in _templates():
        text = "".join(node if isinstance(node, str) else "\0" for node in template)
        options = [node for node in _nodes(template) if isinstance(node, str)]
        for part in (text, *options):
            assert not _LITERAL.search(part), (where, part)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fine\nDr. {doctor", "line 2: layouts/l0.txt: a brace that is not closed"),
        ("a} b", "line 1: layouts/l0.txt: a brace at offset 1 that closes nothing"),
        ("<hpi 5-2>", "line 1: layouts/l0.txt: an inclusion of 5 to 2 lines"),
        ("%shout\nfine", "line 1: layouts/l0.txt: an order %shout that does not exist"),
        ("%home mars", "line 1: layouts/l0.txt: an order %home mars that does not exist"),
        ("%wrap", "line 1: layouts/l0.txt: an order %wrap that does not exist"),
    ],
)
def test_a_malformed_layout_is_told_with_file_and_line(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=f"^{re.escape(message)}$"):
        templates.layout("l0", text)


def test_orders_of_a_layout_are_read() -> None:
    found = templates.layout("l0", "%home uk\n%wrap 60\n%caps\nfirst\n% of it")
    assert found == templates.Layout("l0", ("wrap 60", "caps"), (("first",), ("% of it",)), "uk")
    doc = make.note(1, 1, layout=templates.layout("l0", "%home india\n{hospital}, {city}\n{zip}\n{phone}"))
    assert {span.label for span in doc.spans} >= {Label.HOSPITAL, Label.CITY, Label.ZIP, Label.PHONE}


def test_a_malformed_bank_and_a_missing_one_are_named() -> None:
    with pytest.raises(FormatError, match=r"^line 3: banks/odd\.txt: a brace that is not closed$"):
        templates.bank("odd", "fine\n\n{a|b")
    assert templates.bank("odd", "one\n\ntwo") == (("one",), ("two",))
    layout = templates.layout("l0", "<nowhere 1-2>")
    with pytest.raises(FormatError, match=r"the bank file banks/nowhere\.txt is missing: there are "):
        make.note(1, 1, layout=layout)


def test_an_installation_without_banks_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "ROOM", tmp_path)
    with pytest.raises(UsageError, match="the corpus folder synthetic/banks is missing"):
        templates.banks.__wrapped__()


def test_a_whole_name_is_one_slot() -> None:
    """ "Smith, John A." is one span by the guide, so first and last name never stand side by side as two."""
    for where, template in _templates():
        for one, blank, two in zip(template, template[1:], template[2:], strict=False):
            if isinstance(one, Slot) and isinstance(two, Slot) and blank in (" ", ", "):
                (first, _, one_form), (second, _, two_form) = one.name.partition("."), two.name.partition(".")
                if first == second and one_form != two_form:
                    assert not {one_form, two_form} <= {"first", "last", "nick", "initials"}, where


@given(st.integers(0, 10**6))
def test_shapes_are_filled(seed: int) -> None:
    random = Random(seed)
    assert re.fullmatch(r"[1-9]\d-[A-Z][a-z]", shapes.filled("%#-@?", random))
    assert re.fullmatch(r"[A-Z][a-z]{4,}", shapes.coined(random))
    person = Story(random).person()
    for forms in (shapes.FULL_NAMES, shapes.LAST_FIRST, shapes.SHORT_NAMES, shapes.NICKED):
        text = person.written(forms, random)
        assert "{" not in text
        assert text == text.strip() != ""


# --- noise -----------------------------------------------------------------------------------------------------------

_KINDS = sorted(templates.ORDERS - {"wrap"})
_pieces = st.lists(
    st.builds(
        Piece,
        st.text(alphabet="abXYrnmOl05 ,.\n", min_size=1, max_size=12).map(lambda text: f"a{text}z"),
        st.sampled_from((None, Label.PATIENT, Label.DATE, Label.PHONE)),
    ),
    max_size=9,
)


@given(_pieces, st.sets(st.sampled_from(_KINDS)), st.integers(0, 99))
def test_noise_keeps_every_label_on_its_text(pieces: list[Piece], orders: set[str], seed: int) -> None:
    before = [(piece.label, piece.text) for piece in pieces if piece.label is not None]
    after = [(piece.label, piece.text) for piece in make.roughened(pieces, sorted(orders), Random(seed)) if piece.label]
    assert [label for label, _ in after] == [label for label, _ in before]
    if not orders & {"typos", "ocr", "nopunct"}:
        assert [_bare(text) for _, text in after] == [_bare(text) for _, text in before]


def _bare(text: str) -> str:
    """A text without what the noise may change in an identifier: its case and its white space."""
    return "".join(text.lower().split()).replace("-", "")


def test_every_noise_that_layouts_may_order_is_known_to_the_channel() -> None:
    text = "Ann O'Fitzgerald  was\nseen"
    for kind in _KINDS:
        made = {
            "".join(piece.text for piece in make.roughened(pieces, [kind], Random(seed)))
            for seed in range(60)
            for pieces in [[Piece("Mr. "), Piece("Ann O'Fitzgerald", Label.PATIENT), Piece("  was\nseen 10. times")]]
        }
        assert made != {f"Mr. {text} 10. times"}, kind


@given(st.text(alphabet="abc \n", max_size=300), st.integers(1, 40))
def test_wrapping_moves_no_offset(text: str, width: int) -> None:
    out = make.wrapped(text, width)
    assert len(out) == len(text)
    assert all(a == b or (a, b) == (" ", "\n") for a, b in zip(text, out, strict=True))


def test_times_of_day_stand_outside_their_dates() -> None:
    for seed in range(200):
        day, time = story.fill("timestamp", Story(Random(seed)))
        assert day.label is Label.DATE
        assert time.label is None
        assert ":" not in day.text
    number, old = story.fill("age.yo", Story(Random(1)))
    assert (number.label, old.label) == (Label.AGE, None)


# --- carriers --------------------------------------------------------------------------------------------------------

_ANNOTATED = "The lungs were clear to auscultation. The abdomen was soft and not tender."
_REPORT = (
    "HISTORY: Ms. A is a 54-year-old woman seen by Dr. X at ABCD General Hospital on 3/4/2015.  She was sent by "
    "Dr. Y.\n"
    "The knee was prepped by Smithers and draped. The wound was closed with nylon by Dr. X. and dressed.\n"
    "She works as a nurse in the city.  Her mother had pain at age 61 and surgery in 1998.  The abdomen was soft and "
    "not tender. The plan was explained on Month DD, YYYY to her.\n\nThe pulses were equal and strong in both feet. "
    "Strength was 5/5 in both legs. Dr. Smith saw her. He died at 60. She is to call 303-555-0182 if it hurts."
)


def _carrier(tmp_path: Path, key: str = "text", annotated: str = "mtsamples-phi") -> Path:
    file = tmp_path / "carrier.jsonl"
    rows = {next(iter(corpus.standoff_entries(annotated))): _ANNOTATED, "r1": _REPORT, "r2": "Too short. It is."}
    file.write_text("".join(json.dumps({"id": name, key: text}) + "\n" for name, text in rows.items()))
    return file


def _shown(template: Template) -> str:
    return "".join(node if isinstance(node, str) else f"{{{cast(Slot, node).name}}}" for node in template)


@pytest.mark.parametrize(("key", "annotated"), [("text", "mtsamples-phi"), ("note", "aci-phi")])
def test_reports_that_nobody_annotated_become_templates(tmp_path: Path, key: str, annotated: str) -> None:
    """Slots where the form alone tells what stands there; whatever else may tell of somebody is left out, and so is
    a sentence that stands in an annotated report."""
    (report,) = carriers.reports(_carrier(tmp_path, key, annotated))
    assert (report.id, report.female) == ("r1", True)
    assert _shown(report.template) == (
        "HISTORY: Ms. {patient.last} is a {age}-year-old woman seen by Dr. {doctor} at {hospital} on {date}."
        "  She was sent by Dr. {doctor2}.\n"
        "The wound was closed with nylon by Dr. {doctor} and dressed.\n"
        "Her mother had pain at age {age.past} and surgery in {date.year}."
        "  The plan was explained on {date} to her.\n\n"
        "The pulses were equal and strong in both feet. Strength was 5/5 in both legs."
    )
    assert "The pulses were equal and strong in both feet." in map(_shown, carriers.sentences((report,)))


def test_a_report_without_usable_sentences_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "carrier.jsonl"
    file.write_text(json.dumps({"id": "r", "text": "Seen by Smithers. Too short. It is."}) + "\n")
    with pytest.raises(UsageError, match=r"no report of .*carrier\.jsonl can be used"):
        carriers.reports(file)
    file.write_text(json.dumps({"id": "r", "body": "x"}) + "\n")
    with pytest.raises(FormatError, match="line 1: "):
        carriers.reports(file)


def test_filled_reports_have_exact_gold(tmp_path: Path) -> None:
    reports = carriers.reports(_carrier(tmp_path))
    made = [make.filled(reports[0], Random(seed), f"n{seed}") for seed in range(60)]
    assert made == [make.filled(reports[0], Random(seed), f"n{seed}") for seed in range(60)]
    for doc in made:
        assert first_overlap(doc.spans) is None
        labels = [span.label for span in doc.spans]
        assert {Label.DOCTOR, Label.HOSPITAL, Label.DATE, Label.AGE, Label.PATIENT} <= set(labels)
        assert doc.meta["layout"] == "carrier r1"
        assert [finding for finding in stats.check(doc) if finding.fault] == []
    short = carriers.Report("r", True, (("She saw Dr. ", Slot("doctor.last"), "."),), ("",))
    plain = make.filled(short, Random(4), "n")
    (span,) = (span for span in plain.spans if plain.text[: span.start].endswith("She saw Dr. "))
    assert (span.label, plain.text[span.end]) == (Label.DOCTOR, ".")


def test_half_of_the_notes_are_filled_reports_and_the_rest_takes_in_sentences(tmp_path: Path) -> None:
    reports = carriers.reports(_carrier(tmp_path))
    sentences = carriers.sentences(reports)
    made = list(make.notes(60, seed=1, sentences=sentences, reports=reports))
    filled = [doc for doc in made if doc.meta["layout"] == "carrier r1"]
    assert 20 <= len(filled) <= 40
    assert make.note(1, 7, sentences, reports) == made[7]
    bare, mixed = make.note(1, 3), make.note(1, 3, sentences)
    assert mixed.meta == bare.meta
    assert len(mixed.text) > len(bare.text)


def test_the_command_fills_a_carrier_and_reports_variety(tmp_path: Path) -> None:
    out = tmp_path / "made.jsonl"
    command = ["corpus", "make", "--notes", "12", "--carrier", str(_carrier(tmp_path)), "-o", str(out), "--report"]
    done = CliRunner().invoke(cli.app, command)
    assert (done.exit_code, done.stderr) == (0, "made 12 notes\n")
    assert "of the different 5-grams stand in dev too" in done.stdout
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert any(row["meta"]["layout"] == "carrier r1" for row in rows)
    found = json.loads(CliRunner().invoke(cli.app, [*command, "--json"]).stdout)
    assert found["notes"] == 12
    assert found["spans"]["PATIENT"] == sum(s["label"] == "PATIENT" for row in rows for s in row["spans"])


# --- variety ---------------------------------------------------------------------------------------------------------


def test_variety_counts_contexts_values_and_shared_runs_of_words() -> None:
    one = Document("a", "seen by Dr. Lee on 3/4 today", (Span(12, 15, Label.DOCTOR), Span(19, 22, Label.DATE)))
    two = Document("b", "seen by Dr. Moss on 5/6 today", (Span(12, 16, Label.DOCTOR), Span(20, 23, Label.DATE)))
    found = make.variety([one, two], [one])
    assert found.spans == {"DATE": 2, "DOCTOR": 2}
    assert found.contexts == {"DATE": 1, "DOCTOR": 1}  # the other name beside the date is no context
    assert found.values == {"DATE": 2, "DOCTOR": 2}
    assert found.shared_of_others == 1.0
    assert 0 < found.shared_of_synthetic < 1
    assert make.variety([]) == make.Variety(0, 0, {}, {}, {}, 0.0, 0.0)
