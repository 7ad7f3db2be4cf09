"""The language model as a detector: a small fake server plays it; what does not align is refused, nothing leaks."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deident import detect
from deident.config import Config, Detect, Scrub
from deident.detect import llm
from deident.document import Document, Span
from deident.errors import ProcessingError, UsageError
from deident.labels import Label
from deident.pipeline import Pipeline, attempt

NOTE = "Patient: Ada  Okoro\nSeen 3/4/21 by Dr. Okoro.\n\nAda Okoro\nlives in Boise, Idaho."


class Server:
    """Answers as `reply` says: a function of the messages, giving the text of an answer, or a status."""

    def __init__(self) -> None:
        self.reply: Callable[[list[dict[str, str]]], str | int] = lambda _: '{"spans": []}'
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.raw: bytes | None = None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append({"path": self.path, **body})
                outer.headers.append(dict(self.headers))
                answer = outer.reply(body["messages"])
                self.send_response(answer if isinstance(answer, int) else 200)
                if answer == 302:
                    self.send_header("Location", outer.url + "/elsewhere")
                content = outer.raw or json.dumps({"choices": [{"message": {"content": answer}}]}).encode()
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def says(self, *answers: tuple[int, str, str] | str | int) -> None:
        """One answer after another; the last again and again."""
        left = [self._answer(answer) for answer in answers]
        self.reply = lambda _: left.pop(0) if len(left) > 1 else left[0]

    def says_spans(self, *spans: tuple[int, str, str]) -> None:
        self.says(answer_of(*spans))

    @staticmethod
    def _answer(answer: tuple[int, str, str] | str | int) -> str | int:
        return answer_of(answer) if isinstance(answer, tuple) else answer


def answer_of(*spans: tuple[int, str, str]) -> str:
    return json.dumps({"spans": [{"line": line, "text": text, "label": label} for line, text, label in spans]})


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


def found(server: Server, text: str) -> list[tuple[str, str, int]]:
    finder = detect.load("llm", Detect(llm_url=server.url, llm_model="tiny"))
    doc = Document("n", text)
    return [(text[span.start : span.end], span.label.value, span.start) for span in finder.detect(doc)]


def test_what_the_model_gives_is_aligned(server: Server) -> None:
    server.says_spans((0, "Ada Okoro", "PATIENT"), (1, "3/4/21", "DATE"), (1, "Okoro", "DOCTOR"), (4, "Boise", "city"))
    assert found(server, NOTE) == [
        ("Ada  Okoro", "PATIENT", 9),
        ("3/4/21", "DATE", 25),
        ("Okoro", "DOCTOR", 39),
        ("Boise", "CITY", NOTE.index("Boise")),
    ]
    (asked,) = server.asked
    assert asked["path"] == "/v1/chat/completions"
    assert (asked["model"], asked["temperature"]) == ("tiny", 0)
    assert asked["messages"][1]["content"].startswith("0| Patient: Ada  Okoro\n1| Seen")


def test_a_text_in_another_line_is_found_everywhere_and_one_that_runs_on_is_found(server: Server) -> None:
    server.says_spans((2, "Ada Okoro", "PATIENT"), (3, "Ada Okoro lives", "OTHER"), (99, "Idaho", "STATE"))
    assert [name for name, *_ in found(server, NOTE)] == ["Ada  Okoro", "Ada Okoro", "Ada Okoro\nlives", "Idaho"]


def test_no_piece_of_a_longer_word_is_taken(server: Server) -> None:
    server.says_spans((0, "Ann", "PATIENT"), (0, "12", "AGE"))
    assert [start for *_, start in found(server, "Anna saw Ann (12) in 2012")] == [9, 14]


@pytest.mark.parametrize(
    "answer",
    [
        '```json\n{"spans": [{"line": 4, "text": "Boise", "label": "CITY"}]}\n```',
        '<think>It may be {"x"}</think>\n{"spans": [{"line": "4", "text": "Boise", "label": "CITY"}]}',
    ],
)
def test_fences_and_thoughts_are_passed_over(answer: str, server: Server) -> None:
    server.says(answer)
    assert [name for name, *_ in found(server, NOTE)] == ["Boise"]


def test_a_label_of_the_models_own_is_an_identifier_all_the_same(server: Server) -> None:
    server.says_spans((4, "Boise", "SHOE-SIZE"))
    assert [label for _, label, _ in found(server, NOTE)] == ["OTHER"]


def test_what_does_not_align_is_complained_of_once_then_refused(server: Server) -> None:
    server.says(answer_of((0, "Ada Okonkwo", "PATIENT")), answer_of((0, "Ada Okoro", "PATIENT")))
    assert [name for name, *_ in found(server, NOTE)] == ["Ada  Okoro"]
    assert "Ada Okonkwo" in server.asked[1]["messages"][3]["content"]
    server.says_spans((0, "Ada Okonkwo", "PATIENT"), (0, " ", "DATE"), (4, "Boise", "CITY"))
    with pytest.raises(ProcessingError, match="gave 2 of 3 spans that do not stand in the note") as raised:
        found(server, NOTE)
    assert "Ada" not in str(raised.value)


@pytest.mark.parametrize("answer", ["I cannot help with that.", '{"spans": [{"line": 1}]}', '{"spans": 3}', "[1]"])
def test_an_answer_in_another_form_is_refused(answer: str, server: Server) -> None:
    server.says(answer)
    with pytest.raises(ProcessingError, match="something else than the JSON"):
        found(server, NOTE)
    assert len(server.asked) == 2


@pytest.mark.parametrize(("answer", "message"), [(500, "answered 500"), (302, "answered 302"), (404, "answered 404")])
def test_a_machine_that_fails_fails_the_document(answer: int, message: str, server: Server) -> None:
    server.says(answer)
    with pytest.raises(ProcessingError, match=message):
        found(server, NOTE)
    assert len(server.asked) == 1


def test_another_protocol_and_a_closed_door_fail_the_document(server: Server) -> None:
    server.raw = b'{"choices": []}'
    with pytest.raises(ProcessingError, match="something else than the protocol"):
        found(server, NOTE)
    server.close()
    finder = llm.LanguageModel(llm.Endpoint(server.url, "m"))
    with pytest.raises(ProcessingError, match="cannot be reached"):
        list(finder.detect(Document("n", NOTE)))


def test_a_failed_document_yields_no_text(server: Server) -> None:
    server.says_spans((0, "nobody", "PATIENT"))
    settings = Detect(detectors=("llm",), llm_url=server.url, llm_model="m", steps=())
    pipeline = Pipeline.from_config(Config(detect=settings, scrub=Scrub(replace="tag")))
    failed = attempt(pipeline.scrub, Document("n7", NOTE))
    assert not isinstance(failed, Document)
    assert failed.id == "n7"
    assert "Okoro" not in failed.reason
    assert "nobody" not in failed.reason


def test_a_key_is_sent_where_there_is_one(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(llm.KEY, "invented")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9/")
    found(server, NOTE)
    assert server.headers[0]["Authorization"] == "Bearer invented"


def test_long_notes_are_asked_about_in_parts(server: Server) -> None:
    text = "\n".join(f"{at} line with words and words and words, a lot of them" for at in range(300)) + "\nBoise"
    server.reply = lambda messages: (
        answer_of((300, "Boise", "CITY")) if "Boise" in messages[1]["content"] else answer_of()
    )
    assert [name for name, *_ in found(server, text)] == ["Boise"]
    assert len(server.asked) > 1
    assert found(server, "") == found(server, "\n\n") == []


@given(st.text(st.sampled_from("ab \n\r,"), max_size=3000))
def test_segments_hold_every_character_but_line_ends(text: str) -> None:
    found = llm.segments(text)
    kept = {place for segment in found for place in range(segment.start, segment.end)}
    assert {place for place, char in enumerate(text) if char not in "\r\n"} == kept
    assert all(segment.end - segment.start <= 600 for segment in found)
    assert found == sorted(found, key=lambda segment: segment.start)


@pytest.mark.parametrize("url", ["https://8.8.8.8/v1", "http://0.0.0.0:80", "http://[2001:4860:4860::8888]/v1"])
def test_machines_outside_are_refused(url: str) -> None:
    finder = llm.LanguageModel(llm.Endpoint(url, "m"))
    with pytest.raises(UsageError, match="no machine of the own network"):
        list(finder.detect(Document("n", NOTE)))


def test_wrong_addresses_are_refused() -> None:
    with pytest.raises(UsageError, match="must be like http://localhost"):
        detect.load("llm", Detect(llm_url="ftp://x", llm_model="m"))
    with pytest.raises(UsageError, match="say its address and its name"):
        detect.load("llm")
    with pytest.raises(UsageError, match=r"nowhere\.invalid, cannot be found"):
        detect.load("llm", Detect(llm_url="http://nowhere.invalid/v1", llm_model="m"))


def test_why() -> None:
    finder = llm.LanguageModel(llm.Endpoint("http://localhost:1/v1", "tiny"))
    assert finder.why(Span(0, 1, Label.DATE)) == "the language model tiny says that this is DATE"
