# pyright: reportUnusedFunction=false
"""The routes, and the guard around them.

The guard stands outside of everything: it counts and logs each request by its route, and turns whatever is raised
inside into a sentence. What an exception says, and the body and query of a request, reach neither log nor answer.
"""

import asyncio
import logging
import secrets
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from deident import __version__
from deident.config import Service
from deident.errors import MissingPackageError
from deident.service.access import Access, Rate
from deident.service.engine import FORMATS, Asked, Done, Engine, Refused, encode
from deident.service.metrics import ROUTES, Counters

try:
    from fastapi import Depends, FastAPI, Query, Request, Security
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse, PlainTextResponse, Response
    from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect
except ImportError:
    raise MissingPackageError("fastapi", "service") from None

T = TypeVar("T")
Row = tuple[int, bytes | None]  # None: longer than a line may be
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

log = logging.getLogger(__name__)
LINES = 16  # of a stream that are worked on before others have their turn
_LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
_CLOSE = {"Connection": "close"}  # the rest of the body is not waited for


class Desk:
    """Requests are worked on one after the other, beside the loop; where too many wait, the next is turned away."""

    def __init__(self, waiting: int) -> None:
        self._most = waiting
        self._waiting = 0
        self._thread = ThreadPoolExecutor(1, "deident")

    async def do(self, work: Callable[[], T], *, patient: bool = False) -> T:
        if self._waiting >= self._most and not patient:
            raise HTTPException(503, "too many requests are waiting", {"Retry-After": "1"})
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        self._thread.shutdown()


class Guard:
    """Around the whole application: what is counted, logged, and answered when something raises."""

    def __init__(self, app: App, counters: Counters, routes: tuple[str, ...] = ROUTES) -> None:
        self._app = app
        self._counters = counters
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin = time.perf_counter()
        number = secrets.token_hex(4)
        status = 0

        async def guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", ()),
                    (b"cache-control", b"no-store"),
                    (b"x-content-type-options", b"nosniff"),
                    (b"x-request-id", number.encode()),
                ]
            await send(message)

        self._counters.in_flight(1)
        raised = ""
        try:
            await self._app(scope, receive, guarded)
        except (ClientDisconnect, asyncio.CancelledError) as error:  # they went, or the service stops
            raised = type(error).__name__
        except Exception as error:  # noqa: BLE001 (a traceback would quote what the request held)
            raised = type(error).__name__
            if not status:
                await _answer(500, f"the request could not be processed ({raised})")(scope, receive, guarded)
        finally:
            self._counters.in_flight(-1)
            took = time.perf_counter() - begin
            route = getattr(scope.get("route"), "path", "other")
            route = route if route in self._routes else "other"
            self._counters.request(route, status, took)
            level = logging.INFO if status < 500 and not raised else logging.ERROR
            log.log(level, "%s %s %s %d %.1f ms %s", number, _method(scope), route, status, took * 1000, raised or "ok")


def _method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS") else "other"


def _answer(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": message}, status, dict(headers) if headers else None)


# The codes of FHIR's issue types, by status; what is not among them is "processing".
_ISSUES = {
    401: "login",
    403: "forbidden",
    404: "not-found",
    408: "timeout",
    413: "too-long",
    415: "not-supported",
    422: "invalid",
    429: "throttled",
    500: "exception",
    501: "not-supported",
    503: "transient",
}


def _told(request: Request, status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """An error as its caller expects it: FHIR's callers get an OperationOutcome."""
    if not request.url.path.startswith("/fhir/"):
        return _answer(status, message, headers)
    issue = {"severity": "error", "code": _ISSUES.get(status, "processing"), "diagnostics": message}
    body = {"resourceType": "OperationOutcome", "issue": [issue]}
    return JSONResponse(body, status, dict(headers) if headers else None, media_type="application/fhir+json")


def add_errors(app: FastAPI) -> None:
    """The answers to what goes wrong. Neither the value that was sent nor a name that was made up stands in them."""

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refused)
        return _told(request, error.status, str(error))

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _told(request, error.status_code, error.detail, error.headers)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        kinds = sorted({str(item["type"]) for item in error.errors()})
        return _told(request, 422, f"the request is not valid: {', '.join(kinds)}")

    async def raised(request: Request, error: Exception) -> Response:
        return _told(request, 500, f"the request could not be processed ({type(error).__name__})")

    app.add_exception_handler(Exception, raised)  # which is raised again after it, to the guard
    app.add_exception_handler(Refused, refused)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(RequestValidationError, invalid)


@dataclass(frozen=True, slots=True)
class Gate:
    """Who may come in."""

    settings: Service
    access: Access | None
    rate: Rate

    def enter(self, request: Request, credentials: HTTPAuthorizationCredentials | None, role: str | None) -> None:
        """An error unless the request may do what `role` allows (None: whatever any token allows)."""
        if self.access is None:
            check_host(request, self.settings)
            who = request.client.host if request.client else ""
        else:
            token = self.access.bearer(credentials.credentials) if credentials is not None else None
            if token is None:
                raise HTTPException(401, "a token is needed that is valid", {"WWW-Authenticate": "Bearer"})
            if role is not None and not token.may(role):
                raise HTTPException(403, f"this needs a token of the role {role}")
            who = token.id
        wait = self.rate.wait(who)
        if wait > 0:
            raise HTTPException(429, "too many requests", {"Retry-After": str(int(wait) + 1)})


def check_host(request: Request, settings: Service) -> None:
    """An error where the service was called by a name that is not its own, which is what a page elsewhere does whose
    name was made to point here (DNS rebinding)."""
    name = request.headers.get("host", "").lower()
    name = name[: name.rfind("]") + 1] if name.startswith("[") else name.partition(":")[0]
    if name not in _LOCAL | {settings.host.lower(), *map(str.lower, settings.hosts)}:
        raise HTTPException(421, "this service is not known by the name that was called")


bearer = HTTPBearer(auto_error=False, description="A token of `deident token new`.")
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(bearer)]


def check_query(request: Request, *names: str) -> None:
    """A parameter that does not exist, or comes twice, is refused: a misspelt policy must not mean the default."""
    if len(request.query_params.multi_items()) > len(set(request.query_params)):
        raise HTTPException(422, "a query parameter stands twice")
    if not set(names).issuperset(request.query_params):
        there_are = f"there are: {', '.join(sorted(names))}" if names else "there are none"
        raise HTTPException(422, f"unknown query parameter; {there_are}")


async def read_body(request: Request, limit: int, seconds: float) -> bytes:
    """The whole body, unless it is too long or too slow."""
    pieces = bytearray()
    async for piece in _pieces(request, limit, seconds):
        pieces += piece
    return bytes(pieces)


async def _pieces(request: Request, limit: int, seconds: float) -> AsyncIterator[bytes]:
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise HTTPException(415, "a body that is compressed is not read", _CLOSE)
    said = request.headers.get("content-length", "")
    if said.isdecimal() and int(said) > limit:
        raise HTTPException(413, f"the body has over {limit} bytes, the limit", _CLOSE)
    stream = request.stream()
    size = 0
    while True:
        try:
            piece = await asyncio.wait_for(anext(stream), seconds)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise HTTPException(408, f"nothing came for {seconds:g} seconds", _CLOSE) from None
        size += len(piece)
        if size > limit:
            raise HTTPException(413, f"the body has over {limit} bytes, the limit", _CLOSE)
        yield piece


class Cut(Exception):  # noqa: N818
    """A stream ended before its end: its connection is broken off, so that nobody takes the part for the whole."""


class Lines(Response):
    """JSON lines answered while they still come.

    Many clients read nothing before they have sent everything, so results wait in memory, up to `held_bytes`, and
    reading goes on; beyond that reading waits for the client to read.
    """

    media_type = "application/x-ndjson"

    def __init__(self, request: Request, desk: Desk, settings: Service, work: Callable[[list[Row]], bytes]) -> None:
        super().__init__(media_type=self.media_type)
        del self.headers["content-length"]
        self._request, self._desk, self._settings, self._work = request, desk, settings, work
        self._held: deque[bytes] = deque()
        self._size = 0
        self._ended = False
        self._cut = False
        self._changed = asyncio.Condition()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 (the face of ASGI)
        reader = asyncio.create_task(self._read())
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            while True:
                async with self._changed:
                    await self._changed.wait_for(lambda: self._held or self._ended)
                    if not self._held:
                        break
                    body = b"".join(self._held)
                    self._held.clear()
                await send({"type": "http.response.body", "body": body, "more_body": True})
                async with self._changed:
                    self._size -= len(body)
                    self._changed.notify_all()
            if self._cut:
                raise Cut
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)

    async def _read(self) -> None:
        try:
            async for rows in self._rows():
                answer = await self._desk.do(lambda rows=rows: self._work(rows), patient=True)
                await self._put(answer)
        except (HTTPException, ClientDisconnect) as error:
            self._cut = True
            await self._put(encode({"error": error.detail if isinstance(error, HTTPException) else "cut off"}))
        except Exception as error:  # noqa: BLE001 (what it says may quote the text)
            self._cut = True
            await self._put(encode({"error": f"the request could not be processed ({type(error).__name__})"}))
        finally:
            async with self._changed:
                self._ended = True
                self._changed.notify_all()

    async def _put(self, answer: bytes) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._size <= self._settings.held_bytes)
            self._held.append(answer)
            self._size += len(answer)
            self._changed.notify_all()

    async def _rows(self) -> AsyncIterator[list[Row]]:
        """The lines that are not blank, with their numbers."""
        limit = self._settings.request_bytes
        rows: list[Row] = []
        rest = bytearray()
        number, too_long = 1, False
        async for piece in _pieces(self._request, self._settings.stream_bytes, self._settings.body_seconds):
            *whole, last = piece.split(b"\n")
            for part in whole:
                rest += part
                if too_long or len(rest) > limit or rest.strip():
                    rows.append((number, None if too_long or len(rest) > limit else bytes(rest)))
                number, too_long = number + 1, False
                rest.clear()
                if len(rows) == LINES:
                    yield rows
                    rows = []
            rest += last
            if len(rest) > limit:
                too_long = True
                rest.clear()
            if rows:
                yield rows
                rows = []
        if too_long or rest.strip():
            yield [(number, None if too_long else bytes(rest))]


# What FastAPI would send to a collector that the environment names: spans and logs with exceptions and URLs.
NO_TELEMETRY: Any = dict.fromkeys(("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False)


def create(engine: Engine, settings: Service, *, access: Access | None = None, counters: Counters | None = None) -> App:
    """The service as an ASGI application."""
    counted = counters or Counters.alone()
    desk = Desk(settings.waiting)
    gate = Gate(settings, access, Rate(settings.per_minute / settings.workers))

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncGenerator[None]:
        yield
        desk.close()

    app = FastAPI(
        title="deident",
        version=__version__,
        description="Finds and removes, or replaces, the identifiers of people in clinical text.",
        docs_url=None,  # their page comes from elsewhere, and this service works offline
        redoc_url=None,
        lifespan=lifespan,
        telemetry=NO_TELEMETRY,
    )
    add_errors(app)

    def may_scrub(request: Request, credentials: Credentials) -> None:
        gate.enter(request, credentials, "scrub")

    def may_look(request: Request, credentials: Credentials) -> None:
        gate.enter(request, credentials, None)

    def count(done: Done) -> None:
        counted.documents("done", done.documents, characters=done.characters, labels=done.labels)

    async def work(job: Callable[[], Done]) -> Response:
        try:
            done = await desk.do(job)
        except Refused:
            counted.documents("failed", 1)
            raise
        count(done)
        return Response(done.body, media_type=done.media)

    async def handle(
        request: Request, read_as: str | None, write_as: str | None, asked: Asked, *, scrub: bool
    ) -> Response:
        media, charset = _content_type(request)
        if charset not in ("", "utf-8", "utf8", "us-ascii"):
            raise HTTPException(415, "the body must be UTF-8")
        name = read_as or FORMATS.get(media)
        if name is None:
            known = ", ".join(sorted(FORMATS))
            raise HTTPException(415, f"say by Content-Type ({known}), or by ?format=, what the body is")
        name = engine.format(name)
        to = engine.format(write_as, target=True) if write_as is not None else None
        if scrub and to is None:
            engine.format(name, target=True)
        engine.pipeline(asked)
        if name == "jsonl" and to in (None, "jsonl") and media != "application/json":

            def some(rows: list[Row]) -> bytes:
                body, done, failed = engine.lines(rows, asked=asked, scrub=scrub)
                for each in done:
                    count(each)
                counted.documents("failed", failed)
                return body

            return Lines(request, desk, settings, some)
        data = await read_body(request, settings.request_bytes, settings.body_seconds)
        if to is None and (not scrub or (media == "application/json" and name == "jsonl")):
            return await work(lambda: engine.one(data, read_as=name, asked=asked, scrub=scrub))
        if scrub:
            return await work(lambda: engine.scrub(data, read_as=name, write_as=to or name, asked=asked))
        return await work(lambda: engine.detect(data, read_as=name, write_as=to or name))

    @app.post("/detect", dependencies=[Depends(may_scrub)], openapi_extra=_BODY, responses=_ANSWERS)
    async def detect(request: Request, form: Form = None, to: To = None) -> Response:
        """Find identifiers: who, where, what, how sure. Offsets count code points."""
        check_query(request, "format", "to")
        return await handle(request, form, to, Asked(), scrub=False)

    @app.post("/scrub", dependencies=[Depends(may_scrub)], openapi_extra=_BODY, responses=_ANSWERS)
    async def scrub(
        request: Request, form: Form = None, to: To = None, policy: Policy = None, manner: Manner = None
    ) -> Response:
        """The body without the identifiers that were found, in its own format or that of `to`."""
        check_query(request, "format", "to", "policy", "replace")
        return await handle(request, form, to, Asked(policy, manner), scrub=True)

    said = dict.fromkeys((400, 401, 403, 408, 411, 413, 415, 422, 429, 500, 503), "An OperationOutcome with the reason")
    told: dict[int | str, dict[str, Any]] = {
        status: {"description": what, "content": {"application/fhir+json": {}}}
        for status, what in ({200: "The resource in its own kind"} | said).items()
    }

    @app.post("/fhir/$de-identify", dependencies=[Depends(may_scrub)], openapi_extra=_FHIR_BODY, responses=told)
    async def de_identify(request: Request, policy: Policy = None, manner: Manner = None) -> Response:
        """A resource or Bundle without identifiers; or Parameters that name a policy and hold `identifiableData`."""
        check_query(request, "policy", "replace")
        media, charset = _content_type(request)
        if media not in ("application/fhir+json", "application/json") or charset not in ("", "utf-8", "utf8"):
            raise HTTPException(415, "the body must be application/fhir+json, in UTF-8")
        engine.format("fhir", target=True)
        data = await read_body(request, settings.request_bytes, settings.body_seconds)
        return await work(lambda: engine.de_identify(data, Asked(policy, manner)))

    @app.get("/policies", dependencies=[Depends(may_look)])
    async def policies(request: Request) -> dict[str, Any]:
        """Under which policies this service scrubs: what becomes of each label, and how it may be shown."""
        check_query(request)
        return engine.policies()

    @app.get("/models", dependencies=[Depends(may_look)])
    async def models(request: Request) -> dict[str, Any]:
        """Who looks for identifiers here."""
        check_query(request)
        return engine.models()

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Whether the service answers."""
        return {"status": "ok", "version": __version__}

    @app.get("/metrics", dependencies=[Depends(may_look)], response_class=PlainTextResponse)
    async def metrics() -> Response:
        """Counts and times, for Prometheus."""
        return Response(counted.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return Guard(app, counted)


def _content_type(request: Request) -> tuple[str, str]:
    """ "Text/Plain; charset=UTF-8" → ("text/plain", "utf-8")"""
    media, _, rest = request.headers.get("content-type", "").partition(";")
    pairs = (part.strip().partition("=") for part in rest.split(";"))
    parameters = {name.lower(): value for name, _, value in pairs}
    return media.strip().lower(), parameters.get("charset", "").strip('"').lower()


Form = Annotated[
    str | None, Query(alias="format", description="Format of the body, where its media type does not say it.")
]
To = Annotated[str | None, Query(description="Format of the answer; that of the body by default.")]
Policy = Annotated[str | None, Query(description="What becomes of each kind of identifier; see /policies.")]
Manner = Annotated[str | None, Query(alias="replace", description="How what is removed is shown: tag, mask …")]

_DOCUMENT = {
    "type": "object",
    "required": ["text"],
    "properties": {"id": {"type": "string"}, "text": {"type": "string"}, "patient": {}, "meta": {"type": "object"}},
}
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "text/plain": {"schema": {"type": "string"}},
            "application/json": {"schema": _DOCUMENT},
            "application/x-ndjson": {"schema": {"type": "string", "description": "One JSON document a line."}},
            "application/fhir+json": {"schema": {"type": "object"}},
            "application/hl7-v2": {"schema": {"type": "string"}},
            "application/cda+xml": {"schema": {"type": "string"}},
        },
    }
}
_FHIR_BODY = {"requestBody": {"required": True, "content": {"application/fhir+json": {"schema": {"type": "object"}}}}}
_ERROR = {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}
_WENT_WRONG = {
    401: "No valid token.",
    403: "The token's role does not allow it.",
    408: "The body did not come.",
    413: "The body is too large.",
    415: "Not a format that is known, or not one that fits in a body.",
    421: "Called by a name that is not the service's.",
    422: "The body, or a parameter, is not what it must be.",
    429: "Too many requests of this token or address.",
    500: "Something failed inside.",
    501: "A package is missing on the server.",
    503: "Too many requests are waiting.",
}
_ANSWERS: dict[int | str, dict[str, Any]] = {
    status: {"description": what, "content": {"application/json": {"schema": _ERROR}}}
    for status, what in _WENT_WRONG.items()
}
_ANSWERS[200] = {
    "description": "All of it was worked on. Of a stream, a line that failed is {line, error}.",
    "content": {"application/json": {}, "text/plain": {}, "application/x-ndjson": {}},
}
