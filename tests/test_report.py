"""The HTML report: whole and well-formed, its figures those of `scores`, no text unescaped or uncalled for."""

import base64
import hashlib
import re
from collections.abc import Iterable
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html

from deident.document import Document, Failure, Span, first_overlap
from deident.errors import UsageError
from deident.evaluate import analyse, by_id, confusion, plots, precision_recall, report, score
from deident.evaluate.errors import Kind
from deident.evaluate.scores import View
from deident.labels import Label
from tests.strategies import documents

# "Dr. Okoro saw Ada Lund on 3/4/21 at Elm Ward, call 303-555-0182. Ada was well."
_TEXT = "Dr. Okoro saw Ada Lund on 3/4/21 at Elm Ward, call 303-555-0182. Ada was well."


def _span(text: str, words: str, label: Label, *, at: int = 0, score: float = 1.0) -> Span:
    start = text.index(words, at)
    return Span(start, start + len(words), label, "made-up", score)


def _gold() -> dict[str, Document]:
    first = (
        _span(_TEXT, "Okoro", Label.DOCTOR),
        _span(_TEXT, "Ada Lund", Label.PATIENT),
        _span(_TEXT, "3/4/21", Label.DATE),
        _span(_TEXT, "Elm Ward", Label.HOSPITAL),
        _span(_TEXT, "303-555-0182", Label.PHONE),
        _span(_TEXT, "Ada", Label.PATIENT, at=60),
    )
    other = "Seen 5/6/21 by Bo Quill."
    second = (_span(other, "5/6/21", Label.DATE), _span(other, "Bo Quill", Label.DOCTOR))
    return by_id([Document("n1", _TEXT, first), Document("n2", other, second), Document("n3", "Well.")])


def _system() -> dict[str, Document]:
    gold = _gold()
    spans = (
        _span(_TEXT, "Okoro", Label.PATIENT, score=0.7),  # another type
        _span(_TEXT, "Lund", Label.PATIENT, score=0.9),  # short
        _span(_TEXT, "on 3/4/21", Label.DATE, score=0.95),  # long
        _span(_TEXT, "303-555-0182", Label.PHONE),  # correct
        _span(_TEXT, "well", Label.HOSPITAL, score=0.3),  # spurious
    )
    return {"n1": gold["n1"].with_spans(spans), "n3": gold["n3"]}


def _parse(page: str) -> Any:
    return html.document_fromstring(page)


def _cells(page: str, table: str) -> dict[str, list[str]]:
    """The values of a table's rows, by the text of their headers."""
    rows = _parse(page).xpath(f'//table[@id="{table}"]/tbody/tr')
    return {row.xpath("string(th)"): [cell.get("data-value") for cell in row.xpath("td")] for row in rows}


def _tile(page: str, name: str) -> str:
    return cast(str, _parse(page).xpath(f'string(//*[@id="tile-{name}"])'))


_VOID = {"meta", "input", "br"}


class _Strict(HTMLParser):
    """Every tag is closed, in order; every id is the only one of its name."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice"
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"


def _check(page: str) -> _Strict:
    strict = _Strict()
    strict.feed(page)
    strict.close()
    assert strict.open == []
    assert len(strict.ids) == len(set(strict.ids))
    for tag, name, value in strict.attributes:
        assert name not in {"src", "srcset", "action", "data", "style"} and not name.startswith("on"), (tag, name)
        if name in {"href", "xlink:href"}:
            assert value.startswith("#") and value[1:] in strict.ids, (tag, value)
    assert not {"link", "iframe", "img", "object", "embed", "base"} & {tag for tag, _, _ in strict.attributes}
    (style,) = re.findall("<style>(.*?)</style>", page, re.DOTALL)
    assert "url(" not in style and "@import" not in style
    return strict


def test_the_page_is_whole_and_well_formed() -> None:
    page = report.render(
        _gold(), _system(), title="Trial", run=report.Run("2024-05-01", "deident evaluate", "sha256:1f")
    )
    _check(page)
    assert page.startswith("<!DOCTYPE html>")
    assert "://" not in page
    assert [*_parse(page).xpath("//title[not(ancestor::svg)]/text()")] == ["Trial"]
    footer = _parse(page).xpath("string(//footer)")
    for said in ("2024-05-01", "deident evaluate", "sha256:1f", "0.1.0"):
        assert said in footer


def test_only_this_style_and_script_may_run() -> None:
    page = report.render(_gold(), _system())
    policy = _parse(page).xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        contents = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert len(contents) == 1
        digest = base64.b64encode(hashlib.sha256(contents[0].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_every_table_and_plot_can_be_read_aloud() -> None:
    tree = _parse(report.render(_gold(), _system()))
    assert len(tree.xpath("//svg")) == 3
    for svg in tree.xpath("//svg"):
        assert svg.get("role") == "img"
        assert svg[0].tag == "title" and svg[0].text
    assert len(tree.xpath("//table")) >= 8
    for table in tree.xpath("//table"):
        assert table.xpath("string(caption)")
        assert table.xpath("thead//th") and all(th.get("scope") for th in table.xpath(".//th"))
        widths = {sum(int(cell.get("colspan", "1")) for cell in row) for row in table.xpath(".//tr")}
        assert len(widths) == 1, table.get("id")


def test_all_labels_are_there() -> None:
    page = report.render(_gold(), _system())
    labels = {"DOCTOR", "PATIENT", "DATE", "HOSPITAL", "PHONE"}
    assert set(_cells(page, "table-types")) == labels
    assert set(_cells(page, "table-errors")) == labels
    assert set(_cells(page, "table-categories")) == {"NAME", "LOCATION", "DATE", "CONTACT"}
    bars, heat, _ = _parse(page).xpath("//svg")
    assert labels <= set(bars.xpath(".//text/text()"))
    assert labels | {"none"} <= set(heat.xpath(".//text/text()"))


def test_the_figures_are_those_of_scores() -> None:
    gold, system = _gold(), _system()
    page, scored = report.render(gold, system), score(gold, system)
    by_type = _cells(page, "table-types")
    for label, group in scored.labels.items():
        token, strict, relaxed = (group[view].micro for view in (View.TOKEN, View.STRICT, View.RELAXED))
        figures = [token.tp, token.fp, token.fn, token.p, token.r, token.f, strict.r, strict.f, relaxed.r, relaxed.f]
        assert by_type[label.value][1:11] == [repr(figure) for figure in figures]
    by_category = _cells(page, "table-categories")
    for category, group in scored.categories.items():
        token, typed = group[View.TOKEN_BINARY].micro, group[View.TOKEN].micro
        figures = [token.tp, token.fp, token.fn, token.p, token.r, token.f, typed.f]
        assert by_category[category.value][:7] == [repr(figure) for figure in figures]
    views = list(_cells(page, "table-views").values())
    expected: list[list[str]] = []
    for group in (scored.overall, scored.hipaa):
        for view in sorted(View, key=lambda view: (["token", "strict", "relaxed"].index(view.split("_")[0]), view)):
            micro, macro = group[view].micro, group[view].macro
            figures = [micro.tp, micro.fp, micro.fn, micro.p, micro.r, micro.f, macro.p, macro.r, macro.f]
            expected.append([repr(figure) for figure in (*figures, macro.documents)])
    assert views == expected


def test_the_tiles_by_hand() -> None:
    page = report.render(_gold(), _system())
    # gold has 17 tokens: Okoro, Ada Lund, 3/4/21, Elm Ward, 303-555-0182, Ada; 5/6/21, Bo Quill
    # found are 8: Okoro, Lund, 3/4/21, 303-555-0182; and 2 for nothing: "on", "well"
    assert "47.06 %" in _tile(page, "recall") and "8 of 17 found" in _tile(page, "recall")
    assert "80.00 %" in _tile(page, "precision") and "8 of 10 right" in _tile(page, "precision")
    assert "59.26 %" in _tile(page, "f")
    assert "▲ 2of 2 mentions" in _tile(page, "patients")
    assert "33.33 %1 of 3" in _tile(page, "clean")
    assert "Notes scored38 gold spans, 5 system spans" in _tile(page, "size")
    # covered of 56 are "Okoro", "Lund", "3/4/21", "303-555-0182": 27; HIPAA types: 22 of 35
    assert "51.79 %29 of 56 in gold spans; HIPAA types 37.14 %" in _tile(page, "characters")


def test_errors_and_confusion_are_those_of_errors() -> None:
    gold, system = _gold(), _system()
    page, analysis, matrix = report.render(gold, system), analyse(gold, system), confusion(gold, system)
    kinds = _cells(page, "table-kinds")
    assert {kind: row[1] for kind, row in kinds.items()} == {k.value: str(n) for k, n in analysis.kinds.items()}
    by_label = _cells(page, "table-errors")
    # correct, type, short, long, s&l, both, missing, spurious, fragment
    assert by_label["PATIENT"] == ["0", "0", "1", "0", "0", "0", "1", "0", "0"]
    assert by_label["DATE"] == ["0", "0", "0", "1", "0", "0", "1", "0", "0"]
    assert by_label["DOCTOR"] == ["0", "1", "0", "0", "0", "0", "1", "0", "0"]
    assert by_label["HOSPITAL"] == ["0", "0", "0", "0", "0", "0", "1", "1", "0"]
    shown = _parse(page).xpath('//table[@id="table-confusion"]/thead/tr[2]/th/text()')[1:-1]
    for name, row in _cells(page, "table-confusion").items():
        label = None if name == "none" else Label(name)
        counts = [matrix.count(label, None if other == "none" else Label(other)) for other in shown]
        assert row == [str(count) for count in (*counts, sum(counts))]
        assert sum(counts) == sum(matrix.row(label))


def test_the_curve_has_the_points_of_scores() -> None:
    gold, system = _gold(), _system()
    page, points = report.render(gold, system), precision_recall(gold, system)
    rows = _parse(page).xpath('//table[@id="table-curve"]/tbody/tr')
    assert [row[0].get("data-value") for row in rows] == [repr(point.threshold) for point in points]
    for row, point in zip(rows, points, strict=True):
        counts = point.counts
        assert [cell.get("data-value") for cell in row[1:]] == [
            repr(value) for value in (counts.tp, counts.fp, counts.fn, counts.p, counts.r, counts.f)
        ]


def test_one_score_makes_no_curve() -> None:
    page = report.render(_gold(), _gold())
    assert "so there is no curve" in page
    assert "table-curve" not in page
    assert "No gold span leaks." in page and "No span of the system is spurious." in page
    assert "▲" not in _tile(page, "patients")


def test_a_score_that_is_no_number_is_refused_without_text() -> None:
    doc = Document("n1", "Ada Lund", (Span(0, 3, Label.PATIENT, score=float("nan")),))
    with pytest.raises(UsageError, match=r"^n1: the score of the span 0\.\.3 is not a number$"):
        report.render({"n1": doc}, {"n1": doc})


def test_leaks_are_shown_in_context() -> None:
    page = report.render(_gold(), _system())
    rows = _parse(page).xpath('//table[@id="table-leaks"]/tbody/tr')
    shown = [
        (row.xpath("string(th)"), row[1].text_content(), row[2].text_content(), row[3].text_content()) for row in rows
    ]
    assert shown == [
        ("n1", "14–22", "PATIENT", "3 of 7"),
        ("n1", "65–68", "PATIENT", "whole"),
        ("n2", "5–11", "DATE", "whole"),
        ("n1", "36–44", "HOSPITAL", "whole"),
        ("n2", "15–23", "DOCTOR", "whole"),
    ]
    partly = rows[0][5]
    assert partly.xpath(".//mark/text()") == ["Ada "]
    assert partly.xpath(".//s/text()") == ["Lund"]
    assert partly.text_content() == _TEXT[: 22 + report.CONTEXT]
    spurious = _parse(page).xpath('//table[@id="table-spurious"]/tbody/tr')
    assert [row.xpath("string(td[last()]//mark)") for row in spurious] == ["well"]
    assert not _parse(page).xpath('//table[@id="table-spurious"]/ancestor::details/@open')


def test_what_the_system_covers_does_not_leak_under_whatever_label() -> None:
    (leak,) = report.leaks(
        {"a": Document("a", "Ada  Lund", (Span(0, 9, Label.PATIENT),))},
        {"a": Document("a", "Ada  Lund", (Span(0, 2, Label.DATE), Span(1, 3, Label.CITY), Span(6, 9, Label.AGE)))},
    )
    assert (leak.bare, leak.leaked, leak.letters, leak.whole) == (((3, 6),), 1, 7, False)
    blank_bare = {"a": Document("a", "Ada  Lund", (Span(0, 3, Label.DATE), Span(5, 9, Label.CITY)))}
    assert report.leaks({"a": Document("a", "Ada  Lund", (Span(0, 9, Label.PATIENT),))}, blank_bare) == ()


def test_rows_are_bounded_and_every_type_has_some() -> None:
    text = "Ada " * 40 + "Elm " * 5
    spans = [Span(at * 4, at * 4 + 3, Label.PATIENT if at < 40 else Label.CITY) for at in range(45)]
    gold = {"n1": Document("n1", text, tuple(spans))}
    page = report.render(gold, {"n1": gold["n1"].with_spans(())}, rows=6)
    labels = _parse(page).xpath('//table[@id="table-leaks"]/tbody/tr/@data-label')
    assert labels == ["PATIENT"] * 3 + ["CITY"] * 3
    assert "45 gold spans leak: 45 whole, 0 in part." in page
    assert "6 of 45 are listed" in page


_EVIL = "<script>alert('x')</script>\"&"


def test_all_text_is_escaped() -> None:
    text = f"{_EVIL} Ada {_EVIL} Lund {_EVIL}"
    gold = [Document(f"{_EVIL}{n}", text, (_span(text, "Ada", Label.PATIENT),)) for n in range(2)]
    spurious = replace(_span(text, "Lund", Label.CITY, score=0.5), source=_EVIL)
    system = [gold[0].with_spans([spurious, _span(text, "script", Label.ZIP)])]
    page = report.render(
        by_id(gold), by_id(system), title=_EVIL, failures=[Failure(_EVIL, _EVIL)], run=report.Run(_EVIL, _EVIL, _EVIL)
    )
    _check(page)
    assert page.count("<script>") == 1
    assert "alert('x')" not in page
    assert _parse(page).xpath("string(//h1)") == _EVIL
    contexts = [cell.text_content() for cell in _parse(page).xpath('//table[@id="table-leaks"]//td[last()]')]
    assert all(_EVIL in context for context in contexts) and len(contexts) == 2


def test_what_html_cannot_hold_is_replaced() -> None:
    text = "a\ud800b\x00c\x1b Ada\r\nLund \u2028x"
    gold = {"n1": Document("n1", text, (_span(text, "Ada\r\nLund", Label.PATIENT),))}
    page = report.render(gold, {})
    assert page.encode("utf-8")
    assert "a\ufffdb\ufffdc\ufffd <mark>Ada ↵ Lund</mark> ↵ x" in page


def test_a_long_span_is_cut_in_its_middle() -> None:
    text = "begin " + "x" * 1000 + " end"
    page = report.render({"n1": Document("n1", text, (Span(0, len(text), Label.OTHER),))}, {})
    (mark,) = _parse(page).xpath('//table[@id="table-leaks"]//mark/text()')
    assert mark.startswith("begin x") and mark.endswith("x end") and len(mark) == report.MOST_SHOWN + 3


def test_without_text_no_word_of_a_note_is_there() -> None:
    words = ("Okoro", "Ada", "Lund", "Elm", "Ward", "303", "0182", "Quill", "saw", "was")
    page = report.render(_gold(), _system())
    assert all(re.search(rf"\b{word}\b", page) for word in words)
    assert "Contains text of the notes: keep it where the notes are kept." in page
    bare = report.render(_gold(), _system(), with_text=False)
    _check(bare)
    assert not [word for word in words if re.search(rf"\b{word}\b", bare)]
    assert "Contains text of the notes" not in bare and "Contains no text of the notes." in bare
    assert list(_cells(bare, "table-leaks")) == list(_cells(page, "table-leaks"))


def test_failures_and_missing_documents_are_named() -> None:
    gold = _gold() | {"n4": Document("n4", "abc"), "n5": Document("n5", "abcd", (Span(0, 2, Label.ZIP),) * 2)}
    system = _system() | {"n4": Document("n4", "abd"), "n9": Document("n9", "x")}
    page = report.render(gold, system, failures=[Failure("n0", "the file is empty")])
    assert list(_cells(page, "table-failures")) == ["n0", "n4", "n5", "n9"]
    assert _parse(page).xpath('//ul[@class="ids"]/li/bdi/text()') == ["n2"]
    banner = _parse(page).xpath("string(//header)")
    assert "in no figure: 4" in banner and "missed wholly: 1" in banner


def test_no_failure_no_alarm() -> None:
    page = report.render(_gold(), _gold())
    assert "Not every document is there" not in page
    assert "None: every document was read and scored" in page


def test_nothing_to_score_makes_no_page() -> None:
    with pytest.raises(UsageError, match=r"^no document of gold can be scored"):
        report.render({}, _system())


@pytest.mark.parametrize("with_text", [True, False])
def test_no_span_on_either_side(with_text: bool) -> None:
    page = report.render({"n1": Document("n1", "")}, {}, with_text=with_text)
    _check(page)
    assert "Notes scored10 gold spans, 0 system spans" in _tile(page, "size")
    assert "–" in _tile(page, "recall") and "–gold has no spans" in _tile(page, "characters")
    assert page.count("Neither gold nor the system has a span.") == 3


def test_gold_without_spans() -> None:
    gold = {"n1": Document("n1", "All well.")}
    page = report.render(gold, {"n1": gold["n1"].with_spans([Span(0, 3, Label.CITY)])})
    _check(page)
    assert _cells(page, "table-confusion") == {"none": ["1", "1"]}
    assert "0 of 1 right" in _tile(page, "precision")


def test_system_without_spans() -> None:
    page = report.render(_gold(), {name: doc.with_spans(()) for name, doc in _gold().items()})
    _check(page)
    assert "0.00 %0 of 17 found" in _tile(page, "recall")
    assert len(_cells(page, "table-types")) == 5
    assert {row[-1] for row in _cells(page, "table-confusion").values()} == {"2", "1"}
    assert len(_parse(page).xpath('//table[@id="table-leaks"]/tbody/tr')) == 8


def test_a_figure_of_nothing_is_a_dash() -> None:
    """The system has no HOSPITAL in this: its precision is a share of nothing, and its recall of one span."""
    system = {"n1": _gold()["n1"].with_spans([_span(_TEXT, "Okoro", Label.DOCTOR)])}
    page = report.render(_gold(), system)
    row = _parse(page).xpath('//table[@id="table-types"]/tbody/tr[th="HOSPITAL"]/td')
    shown = [cell.text_content() for cell in row]
    assert shown[4:7] == ["–", "0.00", "0.00"]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(documents(), documents()), min_size=1, max_size=3))
def test_any_documents_make_a_page_and_leaks_agree_with_scores(pairs: list[tuple[Document, Document]]) -> None:
    gold = {f"{n}": replace(doc, id=f"{n}", spans=_disjoint(doc.spans)) for n, (doc, _) in enumerate(pairs)}
    system = {
        f"{n}": replace(doc, id=f"{n}", spans=tuple(span for span in other.spans if span.end <= len(doc.text)))
        for n, (doc, other) in enumerate(pairs)
    }
    _check(report.render(gold, system))
    leaked = report.leaks(gold, system)
    expected = score(gold, system).leaks
    assert sum(leak.span.label is Label.PATIENT for leak in leaked) == expected.patient_names_leaked
    assert len({leak.id for leak in leaked}) == expected.documents - expected.documents_clean
    missed = [item for item in analyse(gold, system).findings if item.kind is Kind.MISSING and item.gold]
    whole = {(leak.id, leak.span) for leak in leaked if leak.whole}
    for item in missed:
        assert item.gold is not None
        readable = any(c.isalnum() for c in gold[item.id].text[item.gold.start : item.gold.end])
        assert ((item.id, item.gold) in whole) == readable


def _disjoint(spans: Iterable[Span]) -> tuple[Span, ...]:
    kept: tuple[Span, ...] = ()
    for span in spans:
        if first_overlap((*kept, span)) is None:
            kept = (*kept, span)
    return kept


# ---- plots ---------------------------------------------------------------------------------------------------------


def test_a_bar_is_as_long_as_its_share() -> None:
    svg = html.fragment_fromstring(
        plots.bars(["a", "b"], [("recall", [plots.Bar(0.25, "25 %"), plots.Bar(1, "100 %", "4 / 4")])], title="t")
    )
    track = float(svg.xpath('.//rect[@class="track"]/@width')[0])
    assert [float(width) for width in svg.xpath('.//rect[@class="bar0"]/@width')] == [track / 4, track]
    assert svg.xpath(".//g/title/text()") == ["a: recall 25 %", "b: recall 100 % (4 / 4)"]
    with pytest.raises(ValueError, match="between 0 and 1"):
        plots.Bar(1.2, "120 %")


def test_a_heat_map_shades_by_the_share_of_the_row() -> None:
    svg = html.fragment_fromstring(
        plots.heat_map(
            ["A", "none"],
            ["A", "B", "none"],
            [[3, 1, 0], [0, 2, 0]],
            title="t",
            row_title="gold",
            column_title="system",
            none="none",
        )
    )
    cells = {cell.xpath("string(title)"): cell.xpath("rect")[0] for cell in svg.xpath("./g")}
    assert list(cells) == [
        "gold A, system A: 3 (75.0% of the row)",
        "gold A, system B: 1 (25.0% of the row)",
        "gold none, system B: 2 (100.0% of the row)",
    ]
    right, wrong, spurious = cells.values()
    assert (right.get("class"), wrong.get("class"), spurious.get("class")) == (
        "heat-good right",
        "heat-bad",
        "heat-bad",
    )
    assert float(wrong.get("fill-opacity")) < float(right.get("fill-opacity")) < float(spurious.get("fill-opacity"))
    assert len(svg.xpath('.//rect[starts-with(@class, "empty")]')) == 3


def test_a_curve_places_its_points() -> None:
    points = [(0.0, 1.0), (0.5, 0.5), (1.0, 0.0)]
    lines = [plots.Line("one", points, [(0.5, 0.5, "middle")]), plots.Line("two", points[:2])]
    svg = html.fragment_fromstring(plots.curve(lines, title="t", x_title="x", y_title="y"))
    paths = svg.xpath('.//path[@class="line line0"]/@d')
    xs, ys = zip(*(map(float, pair) for pair in re.findall(r"([\d.]+) ([\d.]+)", paths[0])), strict=True)
    assert xs[0] < xs[1] < xs[2] and ys[0] < ys[1] < ys[2]
    assert xs[1] - xs[0] == xs[2] - xs[1] and ys[1] - ys[0] == ys[2] - ys[1]
    dot = svg.xpath(".//circle")[0]
    assert (float(dot.get("cx")), float(dot.get("cy"))) == (xs[1], ys[1])
    assert {"one", "two", "0 %", "100 %"} <= set(svg.xpath(".//text/text()"))
    with pytest.raises(ValueError, match="leaves the frame"):
        plots.curve(lines, title="t", x_title="x", y_title="y", x_range=(0.0, 0.9))


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0.9, 1, [0.9, 0.92, 0.94, 0.96, 0.98, 1]),
        (0, 790, [0, 200, 400, 600]),
        (-3, 3, [-3, -2, -1, 0, 1, 2, 3]),
    ],
)
def test_ticks_are_round(low: float, high: float, expected: list[float]) -> None:
    assert plots.ticks(low, high) == expected


@pytest.mark.parametrize(
    ("share", "text"),
    [(1, "100.00 %"), (0, "0.00 %"), (0.99999, ">99.99 %"), (0.00001, "<0.01 %"), (2 / 3, "66.67 %")],
)
def test_percent_never_flatters(share: float, text: str) -> None:
    assert report.percent(share) == text


_HEX = re.compile(r"--([a-z-]+): (#[0-9a-f]{6});")


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_stands_out_from_what_it_stands_on(theme: int) -> None:
    colours = dict(_HEX.findall(plots.THEME.split("@media")[theme]))
    pairs = [
        *(("ink", ground) for ground in ("page", "surface", "soft", "warn-surface")),
        *(("dim", ground) for ground in ("page", "surface", "soft")),
        *((ink, "surface") for ink in ("first", "second", "third", "bad")),
        ("mark-ink", "mark"),
    ]
    for ink, ground in pairs:
        assert _contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
    for heat in ("heat-good", "heat-bad"):  # at its fullest shade
        shade = _mixed(colours[heat], colours["surface"], 0.62)
        assert _contrast(colours["ink"], shade) >= 4.5, heat


def _channels(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def _mixed(over: str, under: str, opacity: float) -> str:
    mixed = [opacity * a + (1 - opacity) * b for a, b in zip(_channels(over), _channels(under), strict=True)]
    return "#" + "".join(f"{round(channel):02x}" for channel in mixed)


def _contrast(one: str, other: str) -> float:
    """WCAG 2.1, contrast ratio."""

    def luminance(colour: str) -> float:
        linear = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in _channels(colour))
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
