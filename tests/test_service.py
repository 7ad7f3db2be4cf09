"""The HTTP service: what comes in and goes out, who may, how much, and how it starts and stops."""

import asyncio
import json
import os
import re
import signal
import socket
import ssl
import stat
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme
import uvicorn

from deident import config
from deident.config import Config, Detect, Scrub, Service
from deident.errors import UnknownNameError, UsageError
from deident.service import access, run
from deident.service.access import Access, Rate
from deident.service.app import App, create
from deident.service.engine import Engine
from deident.service.metrics import Counters
from deident.surrogates import make_key

NOTE = "Seen by Dr. Ada Lund 🥳 on 3/4/2021,\r\ncall 303-555-0182."
CLEAN = "Seen by Dr. [DOCTOR] 🥳 on [DATE],\r\ncall [PHONE]."
HL7 = (
    "MSH|^~\\&|LAB|WARD|EHR|WARD|20210304||ORU^R01|17|P|2.5.1\r"
    "PID|1||778812^^^WARD^MR||Okonkwo^Chidi||19700102|M\r"
    "OBX|1|TX|N^note||Mr. Okonkwo has pain, call 303-555-0182.||||||F\r"
)
TEXT = {"Content-Type": "text/plain"}
LINES = {"Content-Type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def engine() -> Engine:
    made = Engine(Config())
    made.warm()
    return made


def ask(
    app: App,
    method: str,
    path: str,
    *,
    host: str = "localhost",
    headers: dict[str, str] | None = None,
    content: Any = None,
) -> httpx.Response:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
            return await client.request(method, path, headers=headers, content=content)

    return asyncio.run(send())


# --- what comes in and goes out --------------------------------------------------------------------------------------


def test_text_is_scrubbed(engine: Engine) -> None:
    done = ask(create(engine, Service()), "POST", "/scrub", headers=TEXT, content=NOTE.encode())
    assert (done.status_code, done.content.decode()) == (200, CLEAN)
    assert done.headers["cache-control"] == "no-store"


def test_detect_gives_spans_by_code_points(engine: Engine) -> None:
    done = ask(create(engine, Service()), "POST", "/detect", headers=TEXT, content=NOTE.encode())
    spans = done.json()["spans"]
    assert [NOTE[s["start"] : s["end"]] for s in spans] == ["Ada Lund", "3/4/2021", "303-555-0182"]
    assert "text" not in done.json()


def test_one_document_as_json(engine: Engine) -> None:
    app = create(engine, Service())
    doc = {"id": "n1", "text": "MUKTI was seen.", "patient": {"id": "p", "known": [["PATIENT", "Mukti"]]}}
    headers = {"Content-Type": "application/json; charset=utf-8"}
    done = ask(app, "POST", "/scrub", headers=headers, content=json.dumps(doc, indent=2))
    assert done.json()["id"] == "n1"
    assert done.json()["text"] == "[PATIENT] was seen."
    assert "patient" not in done.json()


def test_lines_are_answered_line_by_line(engine: Engine) -> None:
    rows = [b'{"id": "a", "text": "on 3/4/2021"}', b"", b"{", b'{"id": "b", "text": "on 3/5/2021"}']
    done = ask(create(engine, Service()), "POST", "/scrub", headers=LINES, content=b"\r\n".join(rows))
    answers = [json.loads(row) for row in done.text.splitlines()]
    assert [row.get("text") for row in answers] == ["on [DATE]", None, "on [DATE]"]
    assert answers[1]["line"] == 3
    found = ask(create(engine, Service()), "POST", "/detect", headers=LINES, content=rows[0])
    assert set(found.json()) == {"id", "spans"}


def test_another_format_by_name(engine: Engine) -> None:
    app = create(engine, Service())
    body = "on [[DATE:3/4/2021]] and 3/5/2021"
    found = ask(app, "POST", "/detect?format=inline&to=inline", content=body)
    assert found.text == "on [[DATE:3/4/2021]] and [[DATE:3/5/2021]]"
    done = ask(app, "POST", "/scrub?format=text&to=i2b2-2014", content="on 3/4/2021")
    assert done.headers["content-type"] == "application/xml"
    assert "<![CDATA[on [DATE]]]>" in done.text


def test_structured_records(engine: Engine) -> None:
    app = create(engine, Service())
    headers = {"Content-Type": "application/hl7-v2"}
    done = ask(app, "POST", "/scrub", headers=headers, content=HL7 * 2)
    assert done.headers["content-type"] == "x-application/hl7-v2+er7"
    assert done.text.count("MSH|") == 2
    for planted in ("Okonkwo", "Chidi", "778812", "0182", "0102"):
        assert planted not in done.text
    assert "Mr. [PATIENT] has pain, call [PHONE]." in done.text
    again = ask(app, "POST", "/scrub", headers=headers, content=HL7)
    assert again.text.splitlines()[1] == done.text.splitlines()[1]  # the same codes in every request of a run
    found = ask(app, "POST", "/detect", headers=headers, content=HL7).json()
    assert "PID-5" in "".join(row.get("path", "") for row in found["documents"])
    section = b"<section><title>Seen by Dr. Okonkwo</title><!-- Okonkwo --></section>"
    done = ask(app, "POST", "/scrub", headers={"Content-Type": "application/cda+xml"}, content=section)
    assert done.headers["content-type"] == "application/cda+xml"
    assert done.text == "<section><title>Seen by Dr. [DOCTOR]</title></section>"


def test_fhir_de_identify(engine: Engine) -> None:
    app = create(engine, Service())
    fhir = {"Content-Type": "application/fhir+json"}
    path = "/fhir/$de-identify"
    patient = {"resourceType": "Patient", "id": "778812", "name": [{"family": "Okonkwo"}], "birthDate": "1970-01-02"}
    done = ask(app, "POST", path, headers=fhir, content=json.dumps(patient))
    assert (done.status_code, done.json()["resourceType"]) == (200, "Patient")
    policy = {"name": "policy", "valueString": "HHS_SAFE_HARBOR_DETERMINISTIC_METHOD"}
    asked = {"resourceType": "Parameters", "parameter": [policy, {"name": "identifiableData", "resource": patient}]}
    answered = ask(app, "POST", path, headers=fhir, content=json.dumps(asked))
    part = answered.json()["parameter"][0]
    assert (part["name"], part["resource"]["resourceType"]) == ("de-identifiedData", "Patient")
    for planted in ("Okonkwo", "778812", "01-02"):
        assert planted not in done.text + answered.text
    for wrong, status, code in (
        ("{", 422, "invalid"),
        ('{"resourceType": "Parameters"}', 422, "invalid"),
        (
            json.dumps({**asked, "parameter": [{**policy, "valueString": "Okonkwo"}, asked["parameter"][1]]}),
            422,
            "invalid",
        ),
        ('{"Okonkwo": 1}', 422, "invalid"),
    ):
        refused = ask(app, "POST", path, headers=fhir, content=wrong)
        assert (refused.status_code, refused.json()["resourceType"]) == (status, "OperationOutcome")
        assert refused.json()["issue"][0]["code"] == code
        assert "Okonkwo" not in refused.text
    assert ask(app, "POST", path, headers=TEXT, content="x").json()["issue"][0]["code"] == "not-supported"


def test_spans_that_would_tell_stand_ins_are_not_given(tmp_path: Path) -> None:
    key = tmp_path / "study.key"
    make_key(key)
    app = create(
        Engine(Config(Detect(detectors=("patterns",)), Scrub(key_file=str(key), replace="surrogate"))), Service()
    )
    headers = {"Content-Type": "application/json"}
    body = '{"text": "on 3/4/2021"}'
    assert ask(app, "POST", "/scrub", headers=headers, content=body).json()["spans"] == []
    assert ask(app, "POST", "/scrub?replace=tag", headers=headers, content=body).json()["spans"][0]["label"] == "DATE"
    assert 'spans_total{label="DATE"} 2\n' in ask(app, "GET", "/metrics").text


@pytest.mark.parametrize(
    ("path", "headers", "content", "status", "sentence"),
    [
        ("/scrub", {}, "x", 415, "say by Content-Type"),
        ("/scrub", {"Content-Type": "image/png"}, "x", 415, "say by Content-Type"),
        ("/scrub", {"Content-Type": "text/plain; charset=latin-1"}, "x", 415, "must be UTF-8"),
        ("/scrub", TEXT | {"Content-Encoding": "gzip"}, "x", 415, "compressed"),
        ("/scrub?format=bratt", {}, "x", 415, "no such format; there are: "),
        ("/scrub?format=brat", {}, "x", 415, "several files"),
        ("/scrub?to=brat", TEXT, "x", 415, "several files"),
        ("/scrub?to=docx", TEXT, "x", 415, "can only be read"),
        ("/scrub?format=docx", {}, "x", 415, "can only be read"),
        ("/scrub?format=hl7:/etc/passwd", {}, "x", 415, "no such format"),  # a file of the server
        ("/scrub?format=hl7&to=text", {}, HL7, 415, "in its own format only"),
        (
            "/scrub?replace=vanish",
            TEXT,
            "x",
            422,
            "no such replacement; there are: mask, null, tag; this service has no key",
        ),
        ("/scrub?polcy=strict", TEXT, "x", 422, "unknown query parameter; there are: format"),
        ("/detect?replace=tag", TEXT, "x", 422, "unknown query parameter"),
        ("/scrub?replace=tag&replace=mask", TEXT, "x", 422, "stands twice"),
        ("/scrub", TEXT, "", 422, "the file is empty"),
        ("/scrub", TEXT, b"Okonkwo \xff", 422, "not UTF-8 at byte offset 8"),
        ("/scrub", {"Content-Type": "application/json"}, "[]", 422, "not a JSON object"),
        ("/nowhere", TEXT, "x", 404, "Not Found"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    engine: Engine, path: str, headers: dict[str, str], content: str | bytes, status: int, sentence: str
) -> None:
    done = ask(create(engine, Service()), "POST", path, headers=headers, content=content)
    assert done.status_code == status
    assert set(done.json()) == {"error"}
    assert sentence in done.json()["error"]


def test_surrogates_need_a_key_and_are_the_same_every_time(tmp_path: Path) -> None:
    key = tmp_path / "study.key"
    make_key(key)
    with pytest.raises(UsageError, match="needs a key, or its workers disagree"):
        Engine(Config(scrub=Scrub(replace="surrogate")))
    settings = Config(Detect(detectors=("patterns",)), Scrub(replace="surrogate", key_file=str(key)))
    first, second = (create(Engine(settings), Service()) for _ in range(2))
    body = "on 3/4/2021"
    done = [ask(app, "POST", "/scrub", headers=TEXT, content=body).text for app in (first, second)]
    assert done[0] == done[1]
    assert re.fullmatch(r"on \d{1,2}/\d{1,2}/\d{4}", done[0])
    assert done[0] != body
    assert ask(first, "POST", "/scrub?replace=tag", headers=TEXT, content=body).text == "on [DATE]"


def test_a_policy_says_what_callers_may_choose(tmp_path: Path) -> None:
    settings = Config(Detect(detectors=("patterns",)), Scrub(policy="safe-harbor", as_of=2024))
    app = create(Engine(settings), Service())
    assert ask(app, "POST", "/scrub", headers=TEXT, content="on 3/4/2021, x@y.org").text == "on 2021, [EMAIL]"
    masked = ask(app, "POST", "/scrub?replace=mask", headers=TEXT, content="on 3/4/2021, x@y.org").text
    assert masked == "on 2021, *******"
    refused = ask(app, "POST", "/scrub?replace=surrogate", headers=TEXT, content="on 3/4/2021")
    assert (refused.status_code, "there are: mask, null, tag;" in refused.json()["error"]) == (422, True)
    weaker = ask(app, "POST", "/scrub?policy=keep-providers", headers=TEXT, content="on 3/4/2021")
    assert (weaker.status_code, "there are: safe-harbor;" in weaker.json()["error"]) == (422, True)
    assert [row["name"] for row in ask(app, "GET", "/policies").json()["policies"]] == ["safe-harbor"]
    with pytest.raises(UsageError, match="would disagree"):
        Engine(Config(scrub=Scrub(policy="safe-harbor", replace="random")))
    key = tmp_path / "study.key"
    make_key(key)
    keyed = Config(Detect(detectors=("patterns",)), Scrub(policy="expert-determination", key_file=str(key)))
    answers = ask(create(Engine(keyed), Service()), "POST", "/scrub?replace=tag", headers=TEXT, content="x@y.org").text
    assert answers == "[EMAIL]"


def test_callers_choose_among_policies(engine: Engine) -> None:
    app = create(engine, Service())
    body = "on 3/4/2021, x@y.org"
    assert ask(app, "POST", "/scrub?policy=safe-harbor", headers=TEXT, content=body).text == "on 2021, [EMAIL]"
    masked = ask(app, "POST", "/scrub?policy=safe-harbor&replace=mask", headers=TEXT, content=body)
    assert masked.text == "on 2021, *******"
    for wrong in ("policy=expert-determination", "policy=", "policy=lax", "policy=safe-harbor&replace="):
        assert ask(app, "POST", f"/scrub?{wrong}", headers=TEXT, content=body).status_code == 422
    offered = ask(app, "GET", "/policies").json()
    assert offered["default"] is None
    assert "safe-harbor" in {row["name"] for row in offered["policies"]}
    assert "expert-determination" not in {row["name"] for row in offered["policies"]}  # it needs a key
    assert offered["policies"][0]["treat"]["SSN"]


def test_models_health_and_openapi(engine: Engine) -> None:
    app = create(engine, Service())
    assert [row["name"] for row in ask(app, "GET", "/models").json()["detectors"]] == list(Detect().detectors)
    assert ask(app, "GET", "/healthz").json()["status"] == "ok"
    described = ask(app, "GET", "/openapi.json").json()
    assert {"/detect", "/scrub", "/models", "/healthz", "/metrics"} <= set(described["paths"])
    assert described["paths"]["/scrub"]["post"]["requestBody"]["content"]["text/plain"]
    assert ask(app, "GET", "/docs").status_code == 404  # it would load its page from elsewhere


def test_metrics_count(engine: Engine) -> None:
    app = create(engine, Service())
    ask(app, "POST", "/scrub", headers=TEXT, content=NOTE.encode())
    ask(app, "POST", "/scrub", headers=TEXT, content=b"\xff")
    ask(app, "GET", "/Ada-Lund")
    text = ask(app, "GET", "/metrics").text
    assert 'deident_requests_total{route="/scrub",status="200"} 1\n' in text
    assert 'deident_requests_total{route="/scrub",status="422"} 1\n' in text
    assert 'deident_requests_total{route="other",status="404"} 1\n' in text
    assert 'deident_documents_total{outcome="done"} 1\n' in text
    assert 'deident_documents_total{outcome="failed"} 1\n' in text
    assert 'deident_spans_total{label="PHONE"} 1\n' in text
    assert 'deident_request_seconds_bucket{route="/scrub",le="+Inf"} 2\n' in text
    assert f"deident_characters_total {len(CLEAN)}\n" in text
    assert "deident_requests_in_flight 1\n" in text  # the one that asks
    names = {line.split("{")[0].split(" ")[0] for line in text.splitlines() if not line.startswith("#")}
    declared = {line.split(" ")[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert {re.sub("_(bucket|sum|count)$", "", name) for name in names} <= declared


def test_workers_counters_are_summed(tmp_path: Path) -> None:
    first, second = (Counters.shared(tmp_path / "counts", 2, own) for own in (0, 1))
    first.request("/scrub", 200, 0.003)
    second.request("/scrub", 200, 20.0)
    second.request("/made-up", 299, 0.1)
    assert 'deident_requests_total{route="/scrub",status="200"} 2\n' in first.text()
    assert 'deident_requests_total{route="other",status="other"} 1\n' in first.text()
    assert 'deident_request_seconds_bucket{route="/scrub",le="10.0"} 1\n' in second.text()


# --- how much --------------------------------------------------------------------------------------------------------


def _slowly(*pieces: bytes, seconds: float = 0.0) -> Callable[[], AsyncIterator[bytes]]:
    async def come() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece
            await asyncio.sleep(seconds)

    return come


def test_bodies_are_bounded(engine: Engine) -> None:
    app = create(engine, Service(request_bytes=10))
    assert ask(app, "POST", "/scrub", headers=TEXT, content=b"1234567890").status_code == 200
    said = ask(app, "POST", "/scrub", headers=TEXT, content=b"12345678901")
    unsaid = ask(app, "POST", "/scrub", headers=TEXT, content=_slowly(b"123456", b"78901")())
    for done in (said, unsaid):
        assert (done.status_code, done.headers["connection"]) == (413, "close")
        assert done.json()["error"] == "the body has over 10 bytes, the limit"


def test_a_body_that_does_not_come_is_given_up(engine: Engine) -> None:
    app = create(engine, replace(Service(), body_seconds=0))
    done = ask(app, "POST", "/scrub", headers=TEXT, content=_slowly(b"1", b"2", seconds=0.2)())
    assert done.status_code == 408


def test_a_long_line_fails_alone(engine: Engine) -> None:
    rows = [b'{"id": "a", "text": "on 3/4/2021"}\n', b'{"id": "b", "text": "', b"x" * 90, b'"}\n', b'{"text": "c"}']
    app = create(engine, Service(request_bytes=50))
    done = ask(app, "POST", "/scrub", headers=LINES, content=_slowly(*rows)())
    answers = [json.loads(row) for row in done.text.splitlines()]
    assert answers[1] == {"line": 2, "error": "the line is longer than this service reads"}
    assert [row.get("text") for row in answers] == ["on [DATE]", None, "c"]


@contextmanager
def listening(app: App) -> Generator[str]:
    """The application behind a real socket, in a thread."""
    settings = uvicorn.Config(app, port=0, log_config=None, access_log=False, lifespan="on")
    server = uvicorn.Server(settings)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


def test_a_stream_that_is_too_long_is_broken_off(engine: Engine) -> None:
    """The last line says why, and the answer does not end as one that is whole."""
    got = b""
    rows = b'{"text": "on 3/4/2021"}\n' * 9
    with (
        listening(create(engine, Service(stream_bytes=100))) as url,
        pytest.raises(httpx.RemoteProtocolError, match="incomplete"),
        httpx.stream("POST", f"{url}/scrub", headers=LINES, content=rows) as answer,
    ):
        for piece in answer.iter_bytes():
            got += piece
    assert json.loads(got.splitlines()[-1]) == {"error": "the body has over 100 bytes, the limit"}


def test_results_wait_for_a_client_that_reads_only_at_the_end() -> None:
    """A client that sends everything before it reads: nothing stands still, and nothing is lost."""
    rows = b"".join(b'{"id": "%d", "text": "on 3/4/2021%s"}\n' % (n, b" and on" * 3000) for n in range(400))
    assert len(rows) > 8_000_000  # more than the buffers of a connection hold
    with listening(create(Engine(Config(Detect(detectors=("patterns",), steps=()))), Service())) as url:
        done = httpx.post(f"{url}/scrub", headers=LINES, content=rows, timeout=30)
    ids = [json.loads(row)["id"] for row in done.text.splitlines()]
    assert ids == [str(number) for number in range(400)]


def test_reading_waits_for_a_client_that_does_not_read() -> None:
    """Beyond what may be held, nothing more is read: memory is bounded whatever a client does."""
    app = create(Engine(Config(Detect(detectors=("patterns",), steps=()))), Service(held_bytes=1000))
    row = b'{"text": "on 3/4/2021%s"}\n' % (b" and on" * 3000)
    sent = 0
    with listening(app) as url, socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1]))) as wire:
        head = "POST /scrub HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
        wire.sendall(f"{head}Content-Length: {len(row) * 4000}\r\n\r\n".encode())
        wire.settimeout(0.5)
        with pytest.raises(TimeoutError):
            while True:
                sent += wire.send(row)
    assert sent < len(row) * 3000


def test_too_many_at_once_are_turned_away(engine: Engine) -> None:
    app = create(engine, Service(waiting=2))

    async def all_at_once() -> list[int]:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            jobs = (client.post("/scrub", headers=TEXT, content=NOTE * 40) for _ in range(8))
            return [done.status_code for done in await asyncio.gather(*jobs)]

    statuses = asyncio.run(all_at_once())
    assert set(statuses) == {200, 503}
    assert statuses.count(200) >= 2


def test_rate() -> None:
    now = [0.0]
    rate = Rate(60, clock=lambda: now[0])  # one a second, ten at once
    assert [rate.wait("a") for _ in range(10)] == [0.0] * 10
    assert rate.wait("a") == 1.0
    assert rate.wait("b") == 0.0
    now[0] = 2.0
    assert [rate.wait("a") > 0 for _ in range(3)] == [False, False, True]


def test_too_many_requests_of_one_token(engine: Engine) -> None:
    app = create(engine, Service(per_minute=6))
    assert ask(app, "GET", "/models").status_code == 200
    done = ask(app, "GET", "/models")
    assert (done.status_code, done.headers["retry-after"]) == (429, "10")


# --- who may ---------------------------------------------------------------------------------------------------------


def test_tokens_are_stored_as_hashes_that_the_owner_alone_reads(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    secret = access.new(file, name="ward 7", role="scrub")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert secret.split("_", 2)[2] not in file.read_text()
    door = Access(file)
    token = door.bearer(secret)
    assert token is not None
    assert (token.name, token.role) == ("ward 7", "scrub")
    assert token.digest not in repr(token)
    for wrong in ("", "deident", secret[:-1], secret + "x", secret.replace("deident", "other"), "deident_00000000_x"):
        assert door.bearer(wrong) is None
    with pytest.raises(UsageError, match="a token of this name"):
        access.new(file, name="ward 7", role="scrub")
    with pytest.raises(UnknownNameError, match="there are: admin, review, scrub"):
        access.new(file, name="x", role="king")
    file.chmod(0o640)
    with pytest.raises(UsageError, match="others may read the token file"):
        access.read(file)
    assert door.bearer(secret) is None  # at once, while it runs


def test_tokens_made_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    threads = [
        threading.Thread(target=access.new, args=(file,), kwargs={"name": str(n), "role": "scrub"}) for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {token.name for token in access.read(file)} == {str(number) for number in range(8)}


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 2, "tokens": []}', '{"version": 1, "tokens": [{}]}'])
def test_a_broken_token_file_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "tokens.json"
    file.write_text(content)
    file.chmod(0o600)
    with pytest.raises(UsageError, match="is not a token file"):
        access.read(file)


def test_roles(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    secrets = {role: access.new(file, name=role, role=role) for role in access.ROLES}
    app = create(engine, Service(), access=Access(file))

    def status(path: str, role: str, *, method: str = "POST") -> int:
        headers = TEXT | {"Authorization": f"Bearer {secrets.get(role, role)}"}
        return ask(app, method, path, headers=headers, content="x", host="by.any.name").status_code

    assert [status("/scrub", role) for role in ("scrub", "admin", "review", "nobody")] == [200, 200, 403, 401]
    assert [status("/metrics", role, method="GET") for role in ("review", "nobody")] == [200, 401]
    done = ask(app, "POST", "/scrub", headers=TEXT, content="x")
    assert (done.status_code, done.headers["www-authenticate"]) == (401, "Bearer")
    assert ask(app, "GET", "/healthz").status_code == 200
    access.revoke(file, "scrub")
    assert status("/scrub", "scrub") == 401


def test_without_tokens_only_its_own_names_are_answered(engine: Engine) -> None:
    app = create(engine, Service(hosts=("deident.ward",)))
    for host, status in (("localhost:8642", 200), ("127.0.0.1", 200), ("[::1]:80", 200), ("deident.ward", 200)):
        assert ask(app, "GET", "/models", host=host).status_code == status
    assert ask(app, "GET", "/models", host="rebound.example").status_code == 421


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (Service(host="0.0.0.0"), "can be reached from other machines, so tokens are needed"),
        (Service(host="::"), "can be reached from other machines"),
        (Service(tls_cert="cert.pem"), "TLS needs a certificate and its key"),
        (Service(tls_cert="absent.pem", tls_key="absent.pem"), "there is no file absent.pem"),
        (Service(tokens="absent.json"), "there is no token file absent.json"),
        (Service(workers=0), "at least one worker"),
        (Service(host="no.such.host.invalid"), "is no address of this machine"),
    ],
)
def test_it_refuses_to_start_open(settings: Service, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        run.check(settings)


def test_every_setting_of_the_service_is_documented() -> None:
    docs = (Path(__file__).parents[1] / "docs" / "service.md").read_text(encoding="utf-8")
    block = docs.split("```toml\n")[1].split("```")[0]
    shown = config.build(Config, tomllib.loads(block), where="docs/service.md")
    assert shown.service == Service()
    for name in Service.__dataclass_fields__:
        assert f"\n{name} = " in block, name


# --- how it starts and stops -----------------------------------------------------------------------------------------


@contextmanager
def serving(*arguments: Any, detectors: str = "patterns", codes: tuple[int, ...] = (0,)) -> Generator[str]:
    """`deident serve` in a process of its own, told to stop at the end."""
    given = map(str, arguments)
    command = [sys.executable, "-W", "error", "-m", "deident", "serve", "--port", "0", "--detectors", detectors, *given]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            line = ""
            while "serving on " not in line:
                line = process.stderr.readline()
                assert line, f"ended with {process.wait()}"
            yield line.split("serving on ")[1].strip()
            process.send_signal(signal.SIGTERM)
            said = process.communicate(timeout=20)[1]
            assert process.returncode in codes, said
            assert "Traceback" not in said
        finally:
            process.kill()


def test_workers_share_the_port_and_are_started_again() -> None:
    with serving("--workers", 2) as url:
        with httpx.Client(base_url=url) as client:
            assert client.post("/scrub", headers=TEXT, content="on 3/4/2021").text == "on [DATE]"
        port = url.rsplit(":", 1)[1]
        workers = _listening(int(port))
        assert len(workers) >= 2
        os.kill(workers[-1], signal.SIGKILL)
        until = time.monotonic() + 10
        while workers[-1] in _listening(int(port)) or len(_listening(int(port))) < len(workers):
            assert time.monotonic() < until
            time.sleep(0.05)
        with httpx.Client(base_url=url) as client:
            for _ in range(4):
                assert client.post("/scrub", headers=TEXT, content="on 3/4/2021").text == "on [DATE]"
            text = client.get("/metrics").text
    assert 'deident_documents_total{outcome="done"} 5\n' in text  # those of the dead worker as well


def test_workers_go_when_their_supervisor_is_killed() -> None:
    with serving("--workers", 2, codes=(-signal.SIGKILL,)) as url:
        port = int(url.rsplit(":", 1)[1])
        os.kill(_listening(port)[0], signal.SIGKILL)
        until = time.monotonic() + 15
        while _listening(port):
            assert time.monotonic() < until
            time.sleep(0.1)


def _listening(port: int) -> list[int]:
    """The processes that hold the listening socket of a port."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    inodes = {row[9] for row in rows if row[3] == "0A" and int(row[1].split(":")[1], 16) == port}
    found: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            links = [str(link.readlink()) for link in (process / "fd").iterdir()]
        except OSError:
            continue
        if any(f"socket:[{inode}]" in links for inode in inodes):
            found.append(int(process.name))
    return sorted(found)


def test_over_tls_a_request_in_flight_is_ended_before_it_stops(tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    issued.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    context = ssl.create_default_context()
    authority.configure_trust(context)
    rows = [b'{"id": "%d", "text": "on 3/4/2021"}\n' % number for number in range(20)]
    answered: list[str] = []
    with serving("--tls-cert", tmp_path / "cert.pem", "--tls-key", tmp_path / "key.pem") as url:
        assert url.startswith("https://")

        def slowly() -> Generator[bytes]:
            for row in rows:
                yield row
                time.sleep(0.05)

        def send() -> None:
            done = httpx.post(f"{url}/scrub", headers=LINES, content=slowly(), timeout=20, verify=context)
            answered.append(done.text)

        thread = threading.Thread(target=send)
        thread.start()
        time.sleep(0.4)
    thread.join()
    assert len(answered[0].splitlines()) == 20


def _deident(*arguments: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "deident", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_token_commands(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    made = _deident("token", "new", "ward 7", "--role", "review", "--file", file)
    assert re.fullmatch(r"deident_[0-9a-f]{8}_[\w-]{43}\n", made.stdout)
    rows = json.loads(_deident("token", "list", "--file", file, "--json").stdout)
    assert [(row["name"], row["role"]) for row in rows] == [("ward 7", "review")]
    assert "ward 7" in _deident("token", "list", "--file", file).stdout
    assert _deident("token", "revoke", "ward 7", "--file", file).returncode == 0
    gone = _deident("token", "revoke", "ward 7", "--file", file)
    assert (gone.returncode, gone.stderr) == (2, "deident: no token 'ward 7'; there are: \n")
    opened = _deident("serve", "--host", "0.0.0.0", "--port", "0")
    assert opened.returncode == 2
    assert opened.stderr.startswith("deident: 0.0.0.0 can be reached from other machines")
