"""The review page in a real Chromium: import, correct by keyboard and mouse, adjudicate, export, retrain.

Needs Debian's chromium (`apt-get install chromium`), or the program that DEIDENT_CHROMIUM names. Without one these
tests are skipped, but not where nothing may be (DEIDENT_TEST_ALL).
"""

import json
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, expect, sync_playwright

from deident.config import Config, Detect, Review
from deident.document import Document
from deident.review.app import create
from deident.review.learning import Learner
from deident.review.serve import add
from deident.review.store import Project, Settings

CHROMIUM = os.environ.get("DEIDENT_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None and not os.environ.get("DEIDENT_TEST_ALL"), reason="there is no Chromium here"
)

NOTE = "Seen by Dr. Okoro 🥳👩🏽‍⚕️ on 3/4/2021.\r\nLund  came; Lund was told, Lundgren not.\r\ncall 303-555-0182."
RULES = Config(Detect(detectors=("patterns", "mimic"), steps=()), review=Review(adapt=()))
KEY = "key"
SHOTS = os.environ.get("DEIDENT_SCREENSHOTS")  # a folder: pictures of every page, to be looked at


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@contextmanager
def served(folder: Path, documents: list[Document], **settings: Any) -> Generator[tuple[str, Project]]:
    """A project and its page, in a thread."""
    project = Project(folder / "ward.review", settings=Settings(**{"twice": 0, "bare": 0, "held": 0, **settings}))
    learner = Learner(project, RULES, folder / "models")
    annotator = learner.annotator()
    add(project, annotator, documents, [])
    app = create(project, RULES, learner, annotator, key=KEY)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, access_log=False, lifespan="on"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", project
    finally:
        server.should_exit = True
        thread.join()
        learner.stop()
        learner.wait()
        project.close()


@contextmanager
def reading(browser: Browser, url: str, reader: str = "Ada") -> Generator[Page]:
    """Somebody who has signed in. The page may say nothing bad in its console but that nobody was in at first."""
    context = browser.new_context(viewport={"width": 1366, "height": 768}, accept_downloads=True)
    page = context.new_page()
    page.set_default_timeout(30_000)
    wrong: list[str] = []
    elsewhere: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "console", lambda said: wrong.append(said.text) if said.type == "error" and "401" not in said.text else None
    )
    page.on("request", lambda asked: elsewhere.append(asked.url) if not asked.url.startswith((url, "blob:")) else None)
    page.goto(f"{url}/#key={KEY}")
    page.get_by_label("Who reads?").fill(reader)
    shot(page, "sign-in")
    page.keyboard.press("Enter")
    expect(page.locator("#head")).to_be_visible()
    yield page
    assert not re.search(r"\b(false|undefined|null|NaN)\b", page.locator("body").inner_text())
    context.close()
    assert wrong == []
    assert elsewhere == []  # it works offline


def shot(page: Page, name: str) -> None:
    if SHOTS:
        page.wait_for_timeout(300)
        page.screenshot(path=str(Path(SHOTS) / f"{name}.png"))


def states(page: Page) -> list[tuple[str, str, str]]:
    """The list beside the note: state, words, label."""
    rows: list[tuple[str, str, str]] = []
    for row in page.locator(".marks li").all():
        kind = next(name for name in ("unjudged", "accepted", "rejected") if name in (row.get_attribute("class") or ""))
        rows.append((kind, row.locator(".words").inner_text(), row.locator(".label").inner_text()))
    return rows


def eventually(check: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not check():
        assert time.monotonic() < until
        time.sleep(0.05)


def marks(project: Project, reader: str = "Ada") -> list[tuple[str, str, str]]:
    """What is saved: the exact words, the label, the state."""
    number = project.next(reader)
    assert number is not None
    now = project.reading(number, reader)
    return [(now.text[mark.start : mark.end], mark.label.value, mark.state.value) for mark in now.marks]


_PLACE = """([words, nth]) => {
    const box = document.querySelector('.text');
    const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    let text = '';
    const nodes = [];
    while (walker.nextNode()) {
        nodes.push([walker.currentNode, text.length]);
        text += walker.currentNode.data;
    }
    let at = -1;
    for (let i = 0; i <= nth; i += 1) at = text.indexOf(words, at + 1);
    const place = (from, to) => {
        const range = document.createRange();
        const [node, begin] = nodes.filter(([, start]) => start <= from).pop();
        range.setStart(node, from - begin);
        range.setEnd(node, to - begin);
        return range.getBoundingClientRect();
    };
    const [a, b] = [place(at, at + 1), place(at + words.length - 1, at + words.length)];
    return [a.left + 1, a.top + a.height / 2, b.right - 1, b.top + b.height / 2];
}"""

_OPENING = """async () => {
    const { draw, Text } = await import('/page/text.js');
    const headers = { 'X-Deident': 'review' };
    const { reading } = await (await fetch('/api/next', { method: 'POST', body: '{}', headers })).json();
    const begin = performance.now();
    const note = await (await fetch(`/api/readings/${reading}`, { headers })).json();
    const box = document.createElement('div');
    draw(box, new Text(note.text), note.marks, { category: () => 'date' });
    return [performance.now() - begin, box.textContent === note.text, note.marks.length];
}"""


def select(page: Page, words: str, nth: int = 0) -> None:
    """Drag the mouse over words of the note."""
    place = page.evaluate(_PLACE, [words, nth])
    page.mouse.move(place[0], place[1])
    page.mouse.down()
    page.mouse.move(place[2], place[3], steps=5)
    page.mouse.up()


def test_reading_by_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path, [Document("n1", NOTE)]) as (url, project), reading(browser, url) as page:
        expect(page.get_by_role("button", name="Submit")).to_be_disabled()
        assert states(page) == [
            ("unjudged", "Okoro", "DOCTOR"), ("unjudged", "3/4/2021", "DATE"), ("unjudged", "303-555-0182", "PHONE"),
        ]  # fmt: skip
        page.keyboard.press("a")
        page.keyboard.press("x")  # pressed before the first is saved: one after the other
        page.keyboard.press("r")
        expect(page.get_by_role("dialog")).to_be_visible()
        shot(page, "types")
        page.keyboard.press("x")  # FAX
        expect(page.locator(".left")).to_have_text("all 3 judged")
        assert marks(project) == [
            ("Okoro", "DOCTOR", "accepted"), ("3/4/2021", "DATE", "rejected"), ("303-555-0182", "FAX", "accepted"),
        ]  # fmt: skip
        page.keyboard.press("u")
        expect(page.locator(".left")).to_have_text("1 of 3 to judge")
        page.keyboard.press("a")
        expect(page.locator(".left")).to_have_text("all 3 judged")
        # stretch: the first mark takes the title before it, and gives it back
        page.keyboard.press("j")
        page.keyboard.press("s")
        page.keyboard.press("s")
        eventually(lambda: marks(project)[0][0] == "Dr. Okoro")
        page.keyboard.press("S")
        page.keyboard.press("Alt+s")
        eventually(lambda: marks(project)[0][0] == "r. Okoro")  # a word later, then one character earlier
        page.keyboard.press("u")
        page.keyboard.press("u")
        eventually(lambda: marks(project)[0][0] == "Dr. Okoro")
        # find a name by its text, and mark it everywhere but where it is part of another word
        page.keyboard.press("/")
        page.get_by_label("Find in the note").fill("lund")
        page.keyboard.press("Enter")
        expect(page.locator(".selected").first).to_be_visible()
        page.keyboard.press("N")
        page.keyboard.press("p")
        expect(page.get_by_text("2 places with the same text")).to_be_visible()
        shot(page, "everywhere")
        page.keyboard.press("Enter")
        eventually(lambda: [row[:2] for row in marks(project)].count(("Lund", "PATIENT")) == 2)
        page.keyboard.press("v")
        expect(page.locator(".redacted")).to_contain_text("[DOCTOR] 🥳👩🏽‍⚕️ on 3/4/2021.")
        expect(page.locator(".redacted")).to_contain_text("[PATIENT]  came; [PATIENT] was told, Lundgren not.")
        shot(page, "redacted")
        page.keyboard.press("?")
        expect(page.get_by_role("heading", name="Keys")).to_be_visible()
        shot(page, "keys")
        page.keyboard.press("Escape")
        page.keyboard.press("Enter")
        expect(page.get_by_text("There is no note left for you to read.")).to_be_visible()
        ((gold, _),) = project.settled()
        assert {gold.text[span.start : span.end] for span in gold.spans} == {"Dr. Okoro", "Lund", "303-555-0182"}
        assert gold.text == NOTE


def test_reading_by_mouse_and_words_by_arrows(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path, [Document("n1", NOTE)]) as (url, project), reading(browser, url) as page:
        page.locator(".text:not(.redacted) .m", has_text="Okoro").hover()
        expect(page.locator("#tip")).to_contain_text("DOCTOR")
        expect(page.locator("#tip")).to_contain_text("score 0.")
        shot(page, "hover")
        page.locator(".text:not(.redacted) .m", has_text="303-555-0182").click()
        page.get_by_role("button", name="Reject").click()
        eventually(lambda: ("303-555-0182", "PHONE", "rejected") in marks(project))
        select(page, "Lund was")  # after an emoji, a CRLF and two blanks
        shot(page, "selected")
        page.locator(".bubble").get_by_role("button", name="Mark", exact=False).first.click()
        page.get_by_role("dialog").get_by_role("button", name="ORGANIZATION").click()
        eventually(lambda: ("Lund was", "ORGANIZATION", "accepted") in marks(project))
        select(page, "Lund", nth=1)
        page.locator(".bubble").get_by_role("button", name="Fit").click()
        eventually(lambda: ("Lund", "ORGANIZATION", "accepted") in marks(project))
        # over a mark that is there: both are drawn, and the one below is rejected
        select(page, "by Dr. Okoro 🥳👩🏽‍⚕️ on")
        page.keyboard.press("n")
        page.keyboard.press("0")
        eventually(lambda: ("Okoro", "DOCTOR", "rejected") in marks(project))
        assert ("by Dr. Okoro 🥳👩🏽‍⚕️ on", "OTHER", "accepted") in marks(project)
        inner = page.locator(".text:not(.redacted) [data-m]", has_text=re.compile("^Okoro$"))
        eventually(lambda: len((inner.get_attribute("data-m") or "").split()) == 2)
        page.keyboard.press("u")
        eventually(lambda: ("Okoro", "DOCTOR", "unjudged") in marks(project))
        # words by the arrows: the cursor begins at the current mark
        page.locator(".text:not(.redacted) .m", has_text="3/4/2021").click()
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("n")
        page.keyboard.press("q")
        eventually(lambda: ("on 3/4/2021", "DATE", "accepted") in marks(project))
        page.get_by_label("State").select_option("rejected")
        assert {row[0] for row in states(page)} == {"rejected"}


def test_a_large_note_opens_at_once(browser: Browser, tmp_path: Path) -> None:
    text = "".join(f"Line {n}: seen by Dr. Okoro on 3/4/2021 for pain in the knee, no fever.\r\n" for n in range(400))
    assert len(text) > 25_000
    with served(tmp_path, [Document("big", text)]) as (url, _), reading(browser, url) as page:
        expect(page.locator(".text:not(.redacted)")).to_contain_text("Line 399")
        took = page.evaluate(_OPENING)
        assert took[1]
        assert took[2] == 800
        assert took[0] < 3000  # on a machine that does other things as well


def test_two_readers_and_an_adjudicator(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path, [Document("n1", NOTE)], twice=1) as (url, project):
        for reader, kind in (("Ada", "a"), ("Ben", "x")):
            with reading(browser, url, reader) as page:
                expect(page.locator(".left")).to_have_text("3 of 3 to judge")
                page.keyboard.press(kind)
                expect(page.locator(".left")).to_have_text("2 of 3 to judge")
                page.keyboard.press("a")
                page.keyboard.press("a")
                expect(page.locator(".left")).to_have_text("all 3 judged")
                page.keyboard.press("Enter")
                expect(page.get_by_text("There is no note left for you to read.")).to_be_visible()
        with reading(browser, url, "Cleo") as page:
            expect(page.get_by_role("link", name="Adjudicate")).to_contain_text("1")
            page.get_by_role("link", name="Agreement").click()
            expect(page.get_by_text("0.800").first).to_be_visible()  # 2 · 2 / (3 + 2)
            shot(page, "agreement")
            page.get_by_role("link", name="Adjudicate").click()
            page.get_by_role("button", name="Adjudicate the next").click()
            expect(page.locator(".left")).to_have_text("1 of 3 to judge")
            assert [row[0] for row in states(page)] == ["unjudged", "accepted", "accepted"]
            shot(page, "adjudicate")
            page.keyboard.press("a")
            expect(page.locator(".left")).to_have_text("all 3 judged")
            page.keyboard.press("Enter")
            expect(page.get_by_text("There is nothing to adjudicate.")).to_be_visible()
        assert len(project.settled()[0][0].spans) == 3


def test_in_audit_learn_and_out(browser: Browser, tmp_path: Path) -> None:
    """Notes come in by the page, are read, learned from, looked at anew, audited, and go out."""
    names = ["Zorbanet", "Quillipha", "Vrandish", "Ombeluko", "Tarvistan", "Yelkomari"]
    files: list[Path] = []
    for day, name in enumerate(names, 1):
        file = tmp_path / f"note{day}.txt"
        file.write_text(f"Pt {name} came on 3/{day}/2021. {name} has pain.\n", encoding="utf-8")
        files.append(file)
    with served(tmp_path, []) as (url, project), reading(browser, url) as page:
        page.get_by_role("link", name="Bring some in").click()
        page.locator("#files").set_input_files(files)
        expect(page.get_by_text("6 notes came in.")).to_be_visible()
        shot(page, "in-and-out")
        page.get_by_role("link", name="Begin to read").click()
        for left in range(5, 2, -1):
            expect(page.locator(".left")).to_have_text("1 of 1 to judge")
            key = page.locator(".bar h1").inner_text()
            page.keyboard.press("a")
            page.keyboard.press("/")
            page.get_by_label("Find in the note").fill(names[int(key[-1]) - 1])
            page.keyboard.press("Enter")
            expect(page.locator(".selected").first).to_be_visible()
            page.keyboard.press("N")
            page.keyboard.press("p")
            page.get_by_role("button", name="Mark 2 places as PATIENT").click()
            expect(page.locator(".left")).to_have_text("all 3 judged")
            page.keyboard.press("Enter")
            eventually(lambda left=left: project.notes("Ada", state="new")["total"] <= left)
            expect(page.locator(".left")).to_have_text("1 of 1 to judge")
        page.get_by_role("link", name="Model").click()
        page.get_by_role("button", name="Retrain").click()
        expect(page.locator("progress").first).to_be_visible()
        shot(page, "training")
        expect(page.get_by_text("version 2 has learned from 3 notes")).to_be_visible(timeout=120_000)
        page.get_by_role("button", name="Use").click()
        expect(page.get_by_text("version 2 is in use")).to_be_visible(timeout=60_000)
        shot(page, "model")
        assert [row["in_use"] for row in project.versions()] == [False, True]
        page.get_by_role("link", name="Audit").click()
        page.get_by_label("Notes to draw").fill("2")
        page.get_by_role("button", name="Draw and begin").click()
        for _ in range(2):
            expect(page.locator(".bar .kind")).to_have_text("AUDIT", use_inner_text=True)
            key = page.locator(".bar h1").inner_text()
            page.keyboard.press("Enter")
            expect(page.locator(".bar h1").filter(has_text=re.compile(f"^{key}$"))).to_have_count(0)
        page.get_by_role("link", name="To its result").click()
        expect(page.get_by_text("at most 77.6 % (95 % sure)")).to_be_visible()  # 1 − 0.05^(1/2)
        shot(page, "audit")
        page.get_by_role("link", name="Notes").click()
        expect(page.get_by_text("6 notes, 3 settled, 3 submitted by you.")).to_be_visible()
        shot(page, "notes")
        page.get_by_role("link", name="In and out").click()
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save").click()
        rows = [json.loads(row) for row in Path(saved.value.path()).read_text(encoding="utf-8").splitlines()]
        assert len(rows) == 3
        assert all([span["label"] for span in row["spans"]] == ["PATIENT", "DATE", "PATIENT"] for row in rows)
