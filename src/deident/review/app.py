# pyright: reportUnusedFunction=false
"""The page, and what it asks for. Everything below /api needs a session; what is sent back is for its reader alone.

A session begins with the key that stands in the address which `deident review` prints (one machine, readers say who
they are), or with a token (several machines; the reader is the token's). It is a cookie that scripts cannot read and
other sites cannot send; requests carry a header besides, which other sites cannot add.
"""

import asyncio
import base64
import binascii
import hmac
import io
import logging
import secrets
import tempfile
import zipfile
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from deident import __version__, batch, formats
from deident.config import Config
from deident.document import Document, Kind
from deident.errors import DeidentError, FormatError, UnknownNameError, UsageError
from deident.evaluate import statistics
from deident.labels import Label
from deident.pipeline import attempt_all
from deident.review import keys, marks
from deident.review.learning import Annotator, Learner, find_all
from deident.review.marks import Action, MarkError
from deident.review.store import Absent, Conflict, Project, Reading
from deident.service.access import Access, Rate
from deident.service.app import NO_TELEMETRY, App, Guard, add_errors, check_host, check_query, read_body
from deident.service.metrics import Counters

from fastapi import Depends, FastAPI, Request  # isort: skip  (after service.app, which says what is missing)
from fastapi.responses import JSONResponse, Response  # isort: skip
from pydantic import BaseModel, ConfigDict, Field, ValidationError  # isort: skip
from starlette.exceptions import HTTPException  # isort: skip

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
log = logging.getLogger(__name__)

COOKIE = "deident_review"
CONFIDENCE = 0.95
_PAGE = files("deident.review") / "page"
_TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {"Content-Security-Policy": _POLICY, "Referrer-Policy": "no-referrer"}


@dataclass(frozen=True, slots=True)
class Session:
    """Who reads, and whether they may also adjudicate, bring in, take out and train."""

    reader: str
    admin: bool
    token: str = ""


# --- what the page sends ---------------------------------------------------------------------------------------------


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Login(_Body):
    key: str | None = Field(None, max_length=200)
    token: str | None = Field(None, max_length=200)
    reader: str = Field("", max_length=64)


class Revised(_Body):
    revision: int


class Acted(Revised):
    kind: str = Field(max_length=20)
    number: int | None = None
    start: int | None = None
    end: int | None = None
    label: str | None = Field(None, max_length=40)
    everywhere: bool = False
    besides: list[int] = Field(default_factory=list, max_length=10000)


class Extent(_Body):
    start: int
    end: int


class Chosen(_Body):
    id: int


class File(_Body):
    name: str = Field(min_length=1, max_length=500)
    data: str


class Import(_Body):
    files: list[File] = Field(min_length=1, max_length=10000)
    format: str | None = Field(None, max_length=40)


class Export(_Body):
    format: str = Field(max_length=40)
    what: Literal["spans", "scrubbed"] = "spans"
    half: bool = False


class Draw(_Body):
    size: int = Field(ge=1, le=100000)


# --- the application -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Desk:
    """The project, its machine, and who is in."""

    project: Project
    config: Config
    learner: Learner
    annotator: Annotator
    key: str = field(repr=False)
    access: Access | None = None
    sessions: dict[str, Session] = field(default_factory=dict[str, Session], repr=False)

    def session(self, request: Request) -> Session:
        check_host_of(request, self)
        if request.headers.get("x-deident") != "review":
            raise HTTPException(403, "this is not asked by the page")
        found = self.sessions.get(request.cookies.get(COOKIE, ""))
        if found is not None and self.access is not None:
            token = self.access.held(found.token)
            found = None if token is None else replace(found, admin=token.may("admin"))
        if found is None:
            raise HTTPException(401, "sign in first")
        return found

    def admin(self, request: Request) -> Session:
        found = self.session(request)
        if not found.admin:
            raise HTTPException(403, "this needs a token of the role admin")
        return found

    def login(self, body: Login) -> tuple[str, Session]:
        if self.access is not None:
            token = self.access.bearer(body.token or "")
            if token is None or not token.may("review"):
                raise HTTPException(401, "this is no token that may review")
            made = Session(token.name, token.may("admin"), token.id)
        else:
            if not hmac.compare_digest((body.key or "").encode(), self.key.encode()):
                raise HTTPException(401, "this is not the address that deident review printed")
            reader = " ".join(body.reader.split())
            if not reader or reader.startswith("(") or not reader.isprintable():
                raise HTTPException(422, "say who reads")
            made = Session(reader, admin=True)
        identifier = secrets.token_urlsafe(32)
        self.sessions[identifier] = made
        return identifier, made


def _reader(request: Request) -> Session:
    return request.app.state.desk.session(request)


def _admin(request: Request) -> Session:
    return request.app.state.desk.admin(request)


Reader = Annotated[Session, Depends(_reader)]
Admin = Annotated[Session, Depends(_admin)]


def check_host_of(request: Request, desk: Desk) -> None:
    if desk.access is None:
        check_host(request, desk.config.service)


def create(
    project: Project,
    config: Config,
    learner: Learner,
    annotator: Annotator,
    *,
    key: str,
    access: Access | None = None,
) -> App:
    """The review page as an ASGI application."""
    desk = Desk(project, config, learner, annotator, key, access)
    hotkeys = {"keys": keys.keys(config.review.keys), "labelKeys": keys.label_keys(config.review.label_keys)}
    limit = config.limits.file_bytes
    attempts = Rate(30)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncGenerator[None]:
        yield
        learner.stop()

    app = FastAPI(
        title="deident review", version=__version__, docs_url=None, redoc_url=None, openapi_url=None,
        lifespan=lifespan, telemetry=NO_TELEMETRY,
    )  # fmt: skip
    add_errors(app)
    _add_own_errors(app)
    app.state.desk = desk

    async def body(request: Request, kind: type[M], *, most: int = 1 << 20) -> M:
        """What was sent. Its faults are named by their kind alone."""
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            raise HTTPException(415, "the body must be JSON")
        data = await read_body(request, most, config.service.body_seconds)
        try:
            return kind.model_validate_json(data)
        except ValidationError as error:
            kinds = sorted({item["type"] for item in error.errors(include_input=False, include_context=False)})
            raise HTTPException(422, f"the request is not valid: {', '.join(kinds)}") from None

    def own(reading: Reading) -> dict[str, Any]:
        return _reading_json(reading)

    # --- coming in ---------------------------------------------------------------------------------------------------

    @app.post("/api/login")
    async def login(request: Request) -> Response:
        check_host_of(request, desk)
        if attempts.wait(request.client.host if request.client else "") > 0:
            raise HTTPException(429, "too many attempts; wait a little")
        identifier, session = desk.login(await body(request, Login))
        answer = JSONResponse({"reader": session.reader, "admin": session.admin})
        secure = request.url.scheme == "https"
        answer.set_cookie(COOKIE, identifier, httponly=True, samesite="strict", secure=secure, path="/")
        return answer

    @app.post("/api/logout")
    async def logout(request: Request, _session: Reader) -> Response:
        desk.sessions.pop(request.cookies.get(COOKIE, ""), None)
        answer = JSONResponse({})
        answer.delete_cookie(COOKIE, path="/")
        return answer

    @app.get("/api/hello")
    async def hello(request: Request) -> dict[str, Any]:
        """Before anybody is in: how one comes in."""
        check_host_of(request, desk)
        return {"by": "token" if access is not None else "key", "version": __version__}

    @app.get("/api/state")
    async def state(session: Reader) -> dict[str, Any]:
        progress = await _in_thread(lambda: project.progress(session.reader))
        return {
            "project": project.name, "reader": session.reader, "admin": session.admin, "progress": progress,
            "labels": [{"name": label.value, "category": label.category.value} for label in Label],
            "formats": formats.names(), "targets": _targets(), "training": learner.progress.state,
        } | hotkeys  # fmt: skip

    # --- reading -----------------------------------------------------------------------------------------------------

    @app.post("/api/next")
    async def next_(session: Reader) -> dict[str, Any]:
        return {"reading": await _in_thread(lambda: project.next(session.reader))}

    @app.get("/api/notes")
    async def notes(
        request: Request, session: Reader, label: str | None = None, below: float | None = None,
        disagree: bool = False, state: str | None = None, start: int = 0,
    ) -> dict[str, Any]:  # fmt: skip
        check_query(request, "label", "below", "disagree", "state", "start")
        return await _in_thread(
            lambda: project.notes(
                session.reader, label=label, below=below, disagree=disagree, state=state, start=max(0, start)
            )
        )

    @app.post("/api/notes/open")
    async def open_note(request: Request, session: Reader) -> dict[str, Any]:
        chosen = await body(request, Chosen)
        return {"reading": await _in_thread(lambda: project.open_note(chosen.id, session.reader))}

    @app.get("/api/readings/{number}")
    async def reading(number: int, session: Reader) -> dict[str, Any]:
        return own(await _in_thread(lambda: project.reading(number, session.reader))) | {"all": True}

    @app.post("/api/readings/{number}/act")
    async def act(number: int, request: Request, session: Reader) -> dict[str, Any]:
        asked = await body(request, Acted)
        label = Label(asked.label) if asked.label in set(Label) else None
        if asked.label is not None and label is None:
            raise MarkError("there is no such label")
        action = Action(
            asked.kind, asked.number, asked.start, asked.end, label, asked.everywhere, frozenset(asked.besides)
        )
        done = await _in_thread(lambda: project.act(number, session.reader, asked.revision, action))
        return _marks_json(done)

    @app.post("/api/readings/{number}/undo")
    async def undo(number: int, request: Request, session: Reader) -> dict[str, Any]:
        asked = await body(request, Revised)
        return _marks_json(await _in_thread(lambda: project.undo(number, session.reader, asked.revision)))

    @app.post("/api/readings/{number}/submit")
    async def submit(number: int, request: Request, session: Reader) -> dict[str, Any]:
        asked = await body(request, Revised)
        await _in_thread(lambda: project.submit(number, session.reader, asked.revision))
        return {}

    @app.post("/api/readings/{number}/reopen")
    async def reopen(number: int, session: Reader) -> dict[str, Any]:
        return _marks_json(await _in_thread(lambda: project.reopen(number, session.reader)))

    @app.post("/api/readings/{number}/same")
    async def same(number: int, request: Request, session: Reader) -> dict[str, Any]:
        """Where the same string stands in the note."""
        asked = await body(request, Extent)
        text = (await _in_thread(lambda: project.reading(number, session.reader))).text
        if not 0 <= asked.start < asked.end <= len(text):
            raise MarkError(f"an extent must lie within the text of {len(text)} characters")
        return {"starts": marks.same(text, asked.start, asked.end)}

    @app.get("/api/readings/{number}/redacted")
    async def redacted(number: int, session: Reader) -> dict[str, Any]:
        """What the note becomes by the marks as they are; what is not judged yet counts as found."""

        def made() -> dict[str, Any]:
            now = project.reading(number, session.reader)
            doc = replace(project.document(now.note), spans=marks.spans(now.marks, doubtful=True))
            (done,), failures = attempt_all(desk.annotator.pipeline.judged, (doc,))
            if failures:
                raise UsageError(failures[0].reason)
            spans = [[span.start, span.end, span.label.value] for span in done.spans]
            return {"text": done.text, "spans": spans, "revision": now.revision}

        return await _in_thread(made)

    # --- two readers -------------------------------------------------------------------------------------------------

    @app.get("/api/adjudicate")
    async def to_adjudicate(_session: Admin) -> dict[str, Any]:
        return {"notes": await _in_thread(project.to_adjudicate)}

    @app.post("/api/adjudicate")
    async def adjudicate(request: Request, session: Admin) -> dict[str, Any]:
        chosen = await body(request, Chosen)
        return {"reading": await _in_thread(lambda: project.adjudicate(chosen.id, session.reader))}

    @app.get("/api/agreement")
    async def agreement(_session: Admin) -> dict[str, Any]:
        return await _in_thread(lambda: project.agreement() | {"times": project.times()})

    # --- audit -------------------------------------------------------------------------------------------------------

    @app.get("/api/audits")
    async def audits(_session: Reader) -> dict[str, Any]:
        return {"audits": [_bounded(row) for row in await _in_thread(project.audits)]}

    @app.post("/api/audits")
    async def draw(request: Request, _session: Admin) -> dict[str, Any]:
        asked = await body(request, Draw)
        seed = secrets.randbelow(1 << 31)  # nobody can foresee which notes are looked at
        return {"audit": await _in_thread(lambda: project.draw_audit(asked.size, seed=seed))}

    @app.post("/api/audits/next")
    async def next_audit(request: Request, session: Reader) -> dict[str, Any]:
        asked = await body(request, Chosen)
        return {"reading": await _in_thread(lambda: project.next_audit(asked.id, session.reader))}

    # --- in and out --------------------------------------------------------------------------------------------------

    @app.post("/api/import")
    async def import_(request: Request, _session: Admin) -> dict[str, Any]:
        sent = await body(request, Import, most=limit * 2)

        def brought() -> dict[str, Any]:
            documents, failed = _read(sent)
            done, unfound = find_all(desk.annotator, documents)
            new, known = project.add(done)
            return {"new": new, "known": known, "failed": failed + unfound}

        return await _in_thread(brought)

    @app.post("/api/export")
    async def export(request: Request, _session: Admin) -> Response:
        asked = await body(request, Export)

        def written() -> tuple[str, bytes]:
            documents = [gold for gold, _ in project.settled(half=asked.half)]
            if asked.what == "scrubbed":
                documents, failures = attempt_all(desk.annotator.pipeline.judged, documents)
                if failures:
                    raise UsageError(failures[0].reason)
            return pack(documents, asked.format)

        name, data = await _in_thread(written)
        kind = "application/zip" if name.endswith(".zip") else "application/octet-stream"
        return Response(data, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})

    # --- learning ----------------------------------------------------------------------------------------------------

    @app.get("/api/versions")
    async def versions(_session: Admin) -> dict[str, Any]:
        rows = await _in_thread(project.versions)
        shown = [{key: value for key, value in row.items() if key != "folder"} for row in rows]
        return {"versions": shown, "training": learner.progress.to_json()}

    @app.post("/api/retrain")
    async def retrain(_session: Admin) -> dict[str, Any]:
        await _in_thread(learner.start)
        return {}

    @app.post("/api/retrain/stop")
    async def stop(_session: Admin) -> dict[str, Any]:
        learner.stop()
        return {}

    @app.post("/api/versions/use")
    async def use(request: Request, _session: Admin) -> dict[str, Any]:
        chosen = await body(request, Chosen)

        def told(annotator: Annotator) -> None:
            desk.annotator = annotator

        await _in_thread(lambda: learner.use(chosen.id, told))
        return {}

    # --- the page ----------------------------------------------------------------------------------------------------

    @app.get("/")
    async def index(request: Request) -> Response:
        check_host_of(request, desk)
        return _page("index.html")

    @app.get("/page/{name}")
    async def page(name: str, request: Request) -> Response:
        check_host_of(request, desk)
        return _page(name)

    return Guard(app, Counters.alone(), tuple(str(getattr(route, "path", "")) for route in app.routes))


def _page(name: str) -> Response:
    names = {entry.name for entry in _PAGE.iterdir() if entry.is_file()}
    kind = _TYPES.get(Path(name).suffix)
    if name not in names or kind is None:
        raise HTTPException(404, "there is no such page")
    return Response((_PAGE / name).read_bytes(), media_type=kind, headers=_HEADERS)


async def _in_thread(work: Callable[[], T]) -> T:
    return await asyncio.to_thread(work)


def _add_own_errors(app: FastAPI) -> None:
    statuses: Sequence[tuple[type[DeidentError], int]] = (
        (Conflict, 409), (Absent, 404), (MarkError, 422), (UsageError, 422), (FormatError, 422),
    )  # fmt: skip

    async def told(_request: Request, error: Exception) -> Response:
        status = next((status for kind, status in statuses if isinstance(error, kind)), 500)
        message = error.unnamed if isinstance(error, UnknownNameError) else str(error)
        return JSONResponse({"error": message}, status)

    for kind, _ in statuses:
        app.add_exception_handler(kind, told)


def _marks_json(reading: Reading) -> dict[str, Any]:
    return {
        "revision": reading.revision, "submitted": reading.submitted, "undoable": reading.undoable,
        "marks": [mark.to_json() for mark in reading.marks],
    }  # fmt: skip


def _reading_json(reading: Reading) -> dict[str, Any]:
    return _marks_json(reading) | {
        "id": reading.id, "key": reading.key, "round": reading.round, "bare": reading.bare, "text": reading.text,
    }  # fmt: skip


def _bounded(row: dict[str, Any]) -> dict[str, Any]:
    """An audit with the share of notes that leak, and the most it may be: Clopper and Pearson, one-sided, 95 %.

    It is exact for a sample of very many notes; of a finite number it is on the safe side.
    """
    read, leaking = row["read"], row["leaking"]
    if not read:
        return row | {"share": None, "bound": None, "confidence": CONFIDENCE}
    bound = 1 - statistics.binomial_bound(read - leaking, read, confidence=CONFIDENCE)
    return row | {"share": leaking / read, "bound": bound, "confidence": CONFIDENCE}


def _read(sent: Import) -> tuple[list[Document], list[str]]:
    """The documents of files that were sent; files of one record differ by their suffix alone."""
    if sent.format is not None and sent.format not in formats.names():
        raise UsageError(f"no such format; there are: {', '.join(formats.names())}")
    records: dict[str, dict[str, bytes]] = {}
    failed: list[str] = []
    for file in sent.files:
        path = Path(file.name)
        try:
            data = base64.b64decode(file.data, validate=True)
        except binascii.Error:
            raise UsageError("a file did not come whole") from None
        records.setdefault(path.with_suffix("").as_posix(), {})[path.suffix.lower()] = data
    documents: list[Document] = []
    for stem, parts in records.items():
        try:
            documents += _documents(stem, parts, sent.format)
        except DeidentError as error:
            failed.append(f"{stem}: {error}")
    return documents, failed


def _targets() -> list[str]:
    """The formats in which notes and their spans can be written."""
    return [name for name in formats.names() if hasattr(formats.load(name), "write") and not formats.structured(name)]


def _documents(stem: str, parts: dict[str, bytes], name: str | None) -> list[Document]:
    """What is to be read in a file: notes, and of structured records their prose."""
    return [
        replace(doc, place=None)
        for doc in _all_documents(stem, parts, name)
        if doc.place is None or doc.place.kind is Kind.PROSE
    ]


def _all_documents(stem: str, parts: dict[str, bytes], name: str | None) -> list[Document]:
    if name is None:
        for suffix, data in sorted(parts.items()):  # .ann before .txt: brat's two are one record
            name = formats.told(suffix, data[: formats.HEAD_BYTES])
            if name is not None:
                break
    if name is None:
        raise UsageError("nobody can tell its format; choose one")
    form = formats.load(name)
    main = form.SUFFIXES[0]
    given = parts if main in parts else {main: next(iter(parts.values()))}
    pieces = getattr(form, "pieces", None)
    if pieces is None:
        return list(form.read(given, name=stem).documents)
    return [
        doc
        for line, piece in pieces(io.BytesIO(given[main]))
        for doc in form.read({main: piece}, name=f"{stem}:{line}").documents
    ]


def pack(documents: Sequence[Document], name: str) -> tuple[str, bytes]:
    """The documents in a format: one file, or a zip of them."""
    if not documents:
        raise UsageError("no note is settled yet")
    if name not in _targets():
        raise UsageError(f"no such format; there are: {', '.join(_targets())}")
    form = formats.load(name)
    outcome = batch.Outcome(done=len(documents))
    with tempfile.TemporaryDirectory(prefix="deident-") as folder:
        one = hasattr(form, "pieces") or bool(getattr(form, "MANY", False))
        out = Path(folder) / (f"review{form.SUFFIXES[0]}" if one else "review")
        batch.write_as(documents, name, out, outcome)
        if outcome.failures:
            first = outcome.failures[0]
            raise UsageError(f"{len(outcome.failures)} notes cannot be written as {name}: {first.id}: {first.reason}")
        if one:
            return out.name, out.read_bytes()
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(out.rglob("*")):
                if path.is_file():
                    archive.writestr(path.relative_to(out).as_posix(), path.read_bytes())
        return "review.zip", packed.getvalue()
