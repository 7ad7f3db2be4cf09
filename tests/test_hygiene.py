"""Identifiers planted everywhere, looked for in every log line, repr, exception, metric, manifest and HTTP error."""

import asyncio
import json
import logging
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from deident import cli, formats, labels, replace
from deident.config import Config, Detect, Service
from deident.document import Document, Patient, Record, Span
from deident.errors import DeidentError
from deident.labels import Label
from deident.pipeline import Pipeline, attempt
from deident.service import access
from deident.service.app import App, create
from deident.service.engine import Engine
from deident.surrogates import Surrogates
from deident.tokens import tokenize
from deident.view import view
from tests.officefiles import OFFICE

NAME, NUMBER, PLACE = "Okonkwo", "ZQX778812", "Brackwaterton"
PLANTED = (NAME, NUMBER, PLACE)
TEXT = f"Mr. {NAME} 🥳 of {PLACE}, MRN {NUMBER}, seen 3/4/2021."


STRUCTURED = {
    "hl7": f"MSH|^~\\&|LAB|WARD|EHR|WARD|20210304||ORU^R01|17|P|2.5.1\r"
    f"PID|1||{NUMBER}^^^WARD^MR||{NAME}^Chidi||19700102|M\r"
    f"OBX|1|TX|N^note||{TEXT}||||||F\r",
    "fhir": json.dumps(
        {
            "resourceType": "Patient",
            "id": NUMBER,
            "name": [{"family": NAME}],
            "address": [{"city": PLACE}],
            "text": {"status": "generated", "div": f"<div xmlns='http://www.w3.org/1999/xhtml'>{TEXT}</div>"},
        }
    ),
    "cda": f'<ClinicalDocument xmlns="urn:hl7-org:v3"><id root="2.16.840.1.113883.19" extension="{NUMBER}"/>'
    f"<recordTarget><patientRole><patient><name>{NAME}</name></patient></patientRole></recordTarget>"
    f"<component><structuredBody><component><section><text>{TEXT}</text></section></component></structuredBody>"
    "</component></ClinicalDocument>",
}


def spans_of(*words: str) -> tuple[Span, ...]:
    return tuple(Span(TEXT.index(w), TEXT.index(w) + len(w), Label.PATIENT, "test", 0.5) for w in words)


DOC = Document("n1", TEXT, spans_of(*PLANTED), Patient("p1", ((Label.PATIENT, NAME),)), {"note": PLACE})


def assert_clean(said: str) -> None:
    for word in PLANTED:
        assert word.lower() not in said.lower()


def everything(error: BaseException) -> str:
    """What a careless log would print of an exception: its message, and those behind it."""
    return "".join(traceback.format_exception(error))


@pytest.fixture(autouse=True)
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever any test here does, and any library says at any level, no log line holds what was planted."""
    caplog.set_level(logging.DEBUG)
    yield
    for record in caplog.get_records("call"):
        if record.name.startswith(("httpx", "httpcore")):  # the client, which may say what it sends
            continue
        assert_clean(record.getMessage())
        assert_clean(repr(record.args))
        assert_clean(str(record.exc_info))


# --- values ----------------------------------------------------------------------------------------------------------


def test_reprs() -> None:
    surrogates = Surrogates(b"k" * 32, fixed={NAME: PLACE})
    values: list[object] = [
        DOC, DOC.patient, DOC.spans, Record((DOC,), frame={"rest": TEXT}), view(TEXT), tokenize(TEXT), surrogates,
        surrogates.context(DOC), replace.apply(DOC, replace.tag), Pipeline.from_config(Config()),
    ]  # fmt: skip
    for value in values:
        assert_clean(repr(value) + str(value))


def test_whatever_a_detector_raises() -> None:
    def careless(doc: Document) -> Document:
        raise RuntimeError(f"cannot parse {doc.text!r}")

    def chained(doc: Document) -> Document:
        try:
            return careless(doc)
        except RuntimeError as error:
            raise KeyError(doc.text) from error

    for work in (careless, chained):
        assert_clean(repr(attempt(work, DOC)))


def test_wrong_labels_are_not_repeated() -> None:
    with pytest.raises(DeidentError) as raised:
        labels.parse(NAME, scheme="mimic")
    assert_clean(raised.value.unnamed)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType]


# --- formats ---------------------------------------------------------------------------------------------------------


def broken(data: bytes) -> Iterator[bytes]:
    """A file cut off, with bytes of another encoding, doubled, with wrong brackets, numbers, labels, keys."""
    step = max(1, len(data) // 60)
    yield from (data[:end] for end in range(0, len(data), step))
    yield from (data[:at] + junk + data[at:] for at in range(0, len(data), step * 3) for junk in (b"\xff", b"\0", b"<"))
    yield data + data
    for old, new in (
        (b"PATIENT", NAME.encode()),
        (b"start", NAME.encode()),
        (b'"text"', f'"{NAME}"'.encode()),
        (b"TEXT", PLACE.encode()),
        (b"0", NUMBER.encode()),
        (b"1", b"99999"),
        (b">", b">&" + NAME.encode() + b";"),
        (b":", b":" + NAME.encode()),
    ):
        if old in data:
            yield data.replace(old, new)
            yield data.replace(old, new, 1)


@pytest.mark.parametrize("name", formats.names())
def test_every_reader_on_broken_files(name: str) -> None:
    """Whatever is wrong with a file, it is read or refused by an error of ours, whose message holds none of it."""
    form = formats.load(name)
    if formats.structured(name):  # of which only what was read can be written
        files = {form.SUFFIXES[0]: STRUCTURED[name].encode()}
    elif name in OFFICE:
        files = {f".{name}": OFFICE[name](TEXT)}
    else:
        files = form.write(Record((Document("n1", TEXT, DOC.spans),)))
    refused = 0
    for suffix, data in files.items():
        for worse in broken(data):
            try:
                form.read({**files, suffix: worse}, name="n1")
            except DeidentError as error:
                refused += 1
                assert_clean(everything(error))
    assert refused or name == "text"


# --- the service -----------------------------------------------------------------------------------------------------


def requests() -> Iterator[tuple[str, str, dict[str, str], bytes]]:
    """Requests that go wrong, with what was planted in each part of them."""
    text = TEXT.encode()
    kinds = ("text/plain", "application/json", "application/x-ndjson", "application/fhir+json", "application/hl7-v2",
             "application/cda+xml")  # fmt: skip
    bodies = (
        text + b"\xff",
        b"",
        json.dumps({"text": 3, "id": NAME}).encode(),
        json.dumps({NAME: TEXT, "text": TEXT}).encode(),
        json.dumps({"text": TEXT, "spans": [{"start": 0, "end": 9999, "label": NAME}]}).encode(),
        json.dumps({"text": TEXT, "spans": [{"start": NUMBER, "end": 9, "label": "DATE"}]}).encode(),
        json.dumps({"text": TEXT, "patient": {NAME: PLACE}}).encode(),
        json.dumps({"text": TEXT, "patient": {"id": "p", "known": [[NAME, PLACE]]}}).encode(),
        json.dumps({"text": TEXT, "meta": [NAME]}).encode(),
        b'{"text": "' + text,
        b"<section><title>" + text,
        b"<!DOCTYPE a [<!ENTITY b '" + text + b"'>]><section><title>&b;</title></section>",
        b"[" + text,
        b'"' + text + b'"',
    )
    for kind in kinds:
        for route in ("/scrub", "/detect", "/fhir/$de-identify"):
            for body in bodies:
                yield "POST", route, {"Content-Type": kind}, body
    for query in (
        f"format={NAME}",
        f"{NAME}=1",
        f"to={NAME}",
        f"replace={NAME}",
        f"replace=tag&{PLACE}",
        f"policy={NAME}",
    ):
        for route in ("/scrub", "/detect", "/models", "/healthz", "/metrics"):
            yield "POST", f"{route}?{query}", {"Content-Type": "text/plain"}, b"x\xff"
            yield "GET", f"{route}?{query}", {}, b""
    yield "POST", f"/scrub?format=hl7:{NAME}.toml", {}, text
    for name in formats.names():
        yield "POST", f"/scrub?format={name}", {}, b"<" + text
        yield "POST", f"/detect?format={name}&to=jsonl", {}, text + b"\n\t{["
    yield "GET", f"/{NAME}/{NUMBER}", {}, b""
    yield NAME.upper(), "/scrub", {"Content-Type": "text/plain"}, text
    yield "PUT", "/scrub", {"Content-Type": "text/plain"}, text
    yield "POST", "/scrub", {"Content-Type": f"text/plain; charset={NAME}"}, text
    yield "POST", "/scrub", {"Content-Type": f"text/{NAME}"}, text
    yield "POST", "/scrub", {"Content-Type": "text/plain", "Content-Encoding": NAME}, text
    yield "POST", "/scrub", {"Content-Type": "text/plain", "Host": f"{NAME}.example"}, text
    yield "POST", "/scrub", {"Content-Type": "text/plain", "Authorization": f"Bearer deident_{NUMBER}_{NAME}"}, text
    yield "POST", "/scrub", {"Content-Type": "text/plain", "Authorization": f"{NAME} {NUMBER}"}, text


def ask_all(app: App, headers: dict[str, str] | None = None) -> Iterator[httpx.Response]:
    async def ask() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return [
                await client.request(method, path, headers={**(headers or {}), **given}, content=body)
                for method, path, given, body in requests()
            ] + [await client.get("/metrics", headers=headers)]

    yield from asyncio.run(ask())


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(Config(Detect(detectors=("patterns",), steps=())))


def test_http_errors_and_metrics(engine: Engine, capfd: pytest.CaptureFixture[str]) -> None:
    app = create(engine, Service())
    failed = 0
    for answer in ask_all(app):
        lines = answer.content.splitlines() if "ndjson" in answer.headers.get("content-type", "") else []
        for line in lines:
            if b'"error"' in line:
                failed += 1
                assert_clean(line.decode())
        if answer.status_code >= 400 or answer.request.url.path == "/metrics":
            failed += answer.status_code >= 400
            assert_clean(answer.text)
        assert_clean(str(answer.headers))
    assert failed > 150
    assert_clean("".join(capfd.readouterr()))


def test_http_errors_with_tokens(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    secret = access.new(file, name="reader", role="review")
    app = create(engine, Service(), access=access.Access(file))
    for answer in ask_all(app, {"Authorization": f"Bearer {secret}"}):
        if answer.status_code >= 400:
            assert_clean(answer.text)
            assert secret not in answer.text


def test_what_raises_inside_the_service(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception that quotes the note, from the place where it is worked on and from the application around it."""

    def careless(*_: Any, **__: Any) -> Any:
        raise RuntimeError(f"cannot parse {TEXT}")

    async def post(app: App, kind: str) -> tuple[int, bytes]:
        """Straight to the application, since an answer that is broken off has no end."""
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": json.dumps({"text": TEXT}).encode(), "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"content-type", kind.encode()), (b"host", b"localhost")]
        scope = {"type": "http", "method": "POST", "path": "/scrub", "query_string": b"", "headers": headers}
        await app(scope, receive, send)
        return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)

    said = {"error": "the request could not be processed (RuntimeError)"}
    text, one, lines = "text/plain", "application/json", "application/x-ndjson"
    for place, kinds in (
        ("scrub", (text,)),
        ("one", (one, lines)),
        ("lines", (lines,)),
        ("pipeline", (text, one, lines)),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(engine, place, careless)
            for kind in kinds:
                status, body = asyncio.run(post(create(engine, Service()), kind))
                assert json.loads(body) == said
                assert status == (200 if kind == lines and place != "pipeline" else 500)


# --- the command line ------------------------------------------------------------------------------------------------

COMMANDS = (
    ("detect", "IN", "-o", "OUT"),
    ("scrub", "IN", "-o", "OUT", "--detectors", "patterns"),
    ("scrub", "IN", "-o", "OUT", "--detectors", "patterns", "--policy", "safe-harbor"),
    ("convert", "IN", "OUT", "--to", "jsonl"),
    ("evaluate", "IN", "IN"),
    ("verify", "IN", "--roster", "IN/broken.csv"),
    ("policy", "show", "IN/broken.json"),
    ("detect", "IN", "-o", "OUT", "--config", "IN/broken.json"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_commands_on_broken_files(command: tuple[str, ...], tmp_path: Path) -> None:
    """What a command says of files that it cannot read holds nothing of them; what it wrote is asked for elsewhere."""
    given = tmp_path / "in"
    given.mkdir()
    for suffix, head in (
        (".json", "{"),
        (".jsonl", '{"text": 3, "id": "x", '),
        (".xml", "<a>"),
        (".hl7", "MSH|"),
        (".csv", ""),
    ):
        (given / f"broken{suffix}").write_text(f'{head}"{NAME}": "{TEXT}" \x00 {NUMBER}', encoding="utf-8")
    words = [word.replace("IN", str(given)).replace("OUT", str(tmp_path / "out")) for word in command]
    done = CliRunner().invoke(cli.app, words)
    assert done.exit_code != 0
    assert_clean(done.output)
    assert_clean(done.stderr)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        assert_clean(everything(done.exception))
