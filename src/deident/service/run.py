"""Sockets, TLS, workers and their end.

Workers are forked from a process that has loaded everything, so they share its memory; where a detector has started
threads, which a fork would lose (neural runtimes do), they are started anew and each loads its own.
"""

import gc
import ipaddress
import logging
import multiprocessing
import multiprocessing.connection
import os
import secrets
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from deident.config import Config, Service
from deident.errors import MissingPackageError, UsageError
from deident.service.access import Access, read

log = logging.getLogger(__name__)
_SOON = 5.0  # a worker that ends within so many seconds has not begun well
_TRIES = 3
_STOP = (signal.SIGTERM, signal.SIGINT)
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def check(settings: Service) -> None:
    """An error where the service would stand open, or could not start."""
    if settings.workers < 1:
        raise UsageError("a service needs at least one worker")
    if bool(settings.tls_cert) != bool(settings.tls_key):
        raise UsageError("TLS needs a certificate and its key: --tls-cert and --tls-key")
    for file in (settings.tls_cert, settings.tls_key):
        if file and not Path(file).is_file():
            raise UsageError(f"there is no file {file}")
    if settings.tokens:
        if not read(Path(settings.tokens)):
            raise UsageError(f"there is no token in {settings.tokens}: nobody could come in")
    elif not loopback(settings.host):
        raise UsageError(
            f"{settings.host} can be reached from other machines, so tokens are needed: "
            "deident token new --file tokens.json, then --tokens tokens.json"
        )


def loopback(host: str) -> bool:
    """Whether all addresses of a name are this machine's alone."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        raise UsageError(f"'{host}' is no address of this machine") from None
    return all(ipaddress.ip_address(str(row[4][0]).partition("%")[0]).is_loopback for row in found)


def bind(settings: Service) -> socket.socket:
    """The socket, before anything is loaded: a port that is taken is said at once."""
    family, kind, protocol, _, address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(1024)
    except OSError as error:
        bound.close()
        raise UsageError(f"cannot listen on {settings.host}, port {settings.port} ({error.strerror})") from None
    return bound


def serve(config: Config, *, said: Callable[[str], None]) -> None:
    """Serves until it is told to stop (SIGTERM, SIGINT); requests in flight are ended first."""
    settings = config.service
    check(settings)
    try:
        import uvicorn  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError:
        raise MissingPackageError("uvicorn", "service") from None
    if "numpy" not in sys.modules:
        for name in _ONE_THREAD:  # workers are as many as the cores they may use
            os.environ.setdefault(name, "1")
    with bind(settings) as bound:
        url = address(settings, bound, said=said)
        _run(config, bound, lambda: said(f"serving on {url}"))


def address(settings: Service, bound: socket.socket, *, said: Callable[[str], None]) -> str:
    """Where it can be called; without TLS on a network, a warning."""
    if not settings.tls_cert and not loopback(settings.host):
        said("without TLS, notes and tokens cross the network as they are: --tls-cert, or a proxy in front")
    scheme = "https" if settings.tls_cert else "http"
    where = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{scheme}://{where}:{bound.getsockname()[1]}"


def _run(config: Config, bound: socket.socket, ready: Callable[[], None]) -> None:
    from deident.service.engine import Engine

    before = _threads()
    run_key = secrets.token_bytes(32)
    engine = Engine(config, run_key=run_key)
    engine.warm()
    if config.service.workers == 1:
        work(config, run_key, bound, engine, None, 0, ready)
        return
    shared = _threads() <= before
    with tempfile.TemporaryDirectory(prefix="deident-") as folder:
        counts = Path(folder) / "counters"
        from deident.service.metrics import Counters

        Counters.shared(counts, config.service.workers, 0)
        _Workers(config, run_key, bound, engine if shared else None, counts).run(ready)


def _threads() -> int:
    import numpy as np  # noqa: F401  # pyright: ignore[reportUnusedImport] (its own, which survive a fork, are there)

    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.is_dir() else threading.active_count()


def work(
    config: Config,
    run_key: bytes,
    bound: socket.socket,
    engine: Any,
    counts: Path | None,
    own: int,
    ready: Callable[[], None] | None = None,
) -> None:
    """One worker, until it is told to stop."""
    from deident.service.app import create
    from deident.service.engine import Engine
    from deident.service.metrics import Counters

    logs()
    settings = config.service
    above = multiprocessing.parent_process()
    if above is not None:
        threading.Thread(target=_outlive_nobody, args=(above,), daemon=True).start()
    if engine is None:
        engine = Engine(config, run_key=run_key)
        engine.warm()
    counters = Counters.alone() if counts is None else Counters.shared(counts, settings.workers, own)
    access = Access(Path(settings.tokens)) if settings.tokens else None
    listen(create(engine, settings, access=access, counters=counters), settings, bound, ready)


def _outlive_nobody(above: Any) -> None:
    """A worker whose supervisor was killed would keep the port, and nobody would stop it."""
    above.join()
    os.kill(os.getpid(), signal.SIGTERM)


def listen(app: Any, settings: Service, bound: socket.socket, ready: Callable[[], None] | None = None) -> None:
    """Answer on a socket until told to stop."""
    import uvicorn

    server = uvicorn.Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,  # it would hold paths and queries as they came
            server_header=False,
            proxy_headers=False,
            lifespan="on",
            ws="none",
            timeout_keep_alive=15,
            timeout_graceful_shutdown=settings.stop_seconds,
            ssl_certfile=settings.tls_cert or None,
            ssl_keyfile=settings.tls_key or None,
        )
    )

    def stop(_number: int, _frame: FrameType | None) -> None:
        server.should_exit = True

    for number in _STOP:
        signal.signal(number, stop)  # uvicorn takes them while it runs, and raises them again when it has ended
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP)
    if ready is not None:
        ready()
    server.run(sockets=[bound])


def logs() -> None:
    """Our lines, and uvicorn's warnings, to standard error. Neither holds anything of a request but its route."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Plain("%(asctime)s %(levelname)s %(message)s"))
    for name, level in (("deident", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False


class _Plain(logging.Formatter):
    """Without tracebacks: what an exception says may quote a note."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 (its name in logging)
        return f"({ei[0].__name__})"


@dataclass(slots=True)
class _Worker:
    process: Any
    began: float
    quick: int = 0


class _Workers:
    """Starts the workers, starts again those that die, and ends them all when told to."""

    def __init__(self, config: Config, run_key: bytes, bound: socket.socket, engine: Any, counts: Path) -> None:
        self._context: Any = multiprocessing.get_context("fork" if engine is not None else "spawn")
        self._given = (config, run_key, bound, engine, counts)
        self._stopping = False

    def _start(self, own: int) -> _Worker:
        process = self._context.Process(target=work, args=(*self._given, own), name=f"deident-{own}", daemon=False)
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOP)  # until whoever gets them knows what to do
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP)
        return _Worker(process, time.monotonic())

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True

    def run(self, ready: Callable[[], None]) -> None:
        logs()
        for number in _STOP:
            signal.signal(number, self._stop)
        if self._given[3] is not None:
            gc.collect()
            gc.freeze()  # a collection would write to every object, and so give each worker its own copy of all of them
        workers = [self._start(own) for own in range(self._given[0].service.workers)]
        ready()
        try:
            while not self._stopping:
                multiprocessing.connection.wait([worker.process.sentinel for worker in workers], timeout=0.5)
                for own, worker in enumerate(workers):
                    if not self._stopping and not worker.process.is_alive():
                        workers[own] = self._again(own, worker)
        finally:
            self._end([worker.process for worker in workers])

    def _again(self, own: int, dead: _Worker) -> _Worker:
        quick = dead.quick + 1 if time.monotonic() - dead.began < _SOON else 0
        if quick >= _TRIES:
            raise UsageError(f"a worker ended {quick} times as soon as it began (exit code {dead.process.exitcode})")
        log.error("worker %d ended with exit code %s and is started again", own, dead.process.exitcode)
        new = self._start(own)
        new.quick = quick
        return new

    def _end(self, processes: list[Any]) -> None:
        for process in processes:
            with suppress(OSError):
                process.terminate()
        until = time.monotonic() + self._given[0].service.stop_seconds + 5
        for process in processes:
            process.join(max(0.1, until - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()
