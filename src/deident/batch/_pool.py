"""Processes that work side by side: each is started once, makes its work once, and is given chunk after chunk.

    with Pool(partial(make, config), 2) as pool:
        for chunk, made in pool.run(chunks):        # in the order of the chunks, whoever did them

A process is our own program with a pipe to it, no copy of the one that asks: a notebook or a script needs no guard
around its main part, and no lock or thread is inherited. At most a few chunks a process are under way, so memory is
bounded by them. A process that dies over a chunk (killed for want of memory, crashed in a library, too slow) is
started anew and the chunk's parts are tried one by one: only the part that kills fails.

What a chunk is, nobody here knows; it has `parts()`, and `died(reason)`, which gives the result of a part that killed.
"""

import contextlib
import os
import pickle
import signal
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from threading import Timer, local
from types import TracebackType
from typing import Any, BinaryIO, Protocol, Self, TypeVar, cast

from deident.errors import DeidentError, ProcessingError, UsageError

T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")

_AHEAD = 3  # chunks under way for each process
_SIZE = struct.Struct(">Q")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class Part(Protocol[T_co]):
    """A chunk of work, or one part of it. Both are pickled on their way to a process and back."""

    def parts(self) -> "Sequence[Part[T_co]]": ...

    def died(self, reason: str) -> tuple[T_co, ...]: ...


C = TypeVar("C", bound=Part[Any])


class Here:
    """No processes: the chunks are done where they are asked for, each when it is asked for."""

    workers = 0

    def __init__(self, work: Callable[[Any], tuple[Any, ...]]) -> None:
        self._work = work

    def run(self, chunks: Iterable[C]) -> Iterator[tuple[C, tuple[Any, ...]]]:
        for chunk in chunks:
            yield chunk, self._work(chunk)


class Pool:
    """`make()`, called once in each process, gives what turns a chunk into a tuple of results.

    seconds: what each part of a chunk may take; without it, as long as it likes.
    """

    def __init__(
        self, make: Callable[[], Callable[[Any], tuple[Any, ...]]], workers: int, *, seconds: float | None = None
    ) -> None:
        if workers < 1:
            raise UsageError(f"a pool has at least one worker, not {workers}")
        self.workers = workers
        self._make = pickle.dumps(make)
        self._seconds = seconds
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="deident-worker")
        self._own = local()
        self._started: list[_Worker] = []
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        for worker in tuple(self._started):
            worker.stop()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def run(self, chunks: Iterable[C]) -> Iterator[tuple[C, tuple[Any, ...]]]:
        """Each chunk with its results, in order."""
        under_way: deque[tuple[C, Future[tuple[Any, ...]]]] = deque()
        try:
            for chunk in chunks:
                under_way.append((chunk, self._threads.submit(self._do, chunk)))
                if len(under_way) >= _AHEAD * self.workers:
                    first, done = under_way.popleft()
                    yield first, done.result()
            while under_way:
                first, done = under_way.popleft()
                yield first, done.result()
        finally:
            for _, left in under_way:
                left.cancel()

    def _do(self, chunk: Part[Any]) -> tuple[Any, ...]:
        parts = chunk.parts()
        try:
            return self._worker().do(chunk, None if self._seconds is None else self._seconds * len(parts))
        except _WorkerDiedError as death:
            if self._closed:
                raise ProcessingError("the run was stopped") from None
            if len(parts) == 1:
                return parts[0].died(str(death))
            return tuple(chain.from_iterable(map(self._do, parts)))

    def _worker(self) -> "_Worker":
        """This thread's process; a new one where the last has died."""
        held: _Worker | None = getattr(self._own, "worker", None)
        if held is None or not held.alive:
            if held is not None:
                self._started.remove(held)
            held = self._own.worker = _Worker(self._make)
            self._started.append(held)
            if self._closed:
                held.stop()
            held.begin()
        return held


class _WorkerDiedError(Exception):
    """A process ended in the middle of a chunk; why, in words."""


class _Worker:
    """One process and the two pipes to it."""

    def __init__(self, make: bytes) -> None:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        environment |= {name: os.environ.get(name, "1") for name in _THREADS}  # the processes are the threads
        warnings = [f"-W{option}" for option in sys.warnoptions]
        command = [sys.executable, *warnings, "-P", "-c", f"from {__name__} import serve; serve()"]
        self._process = subprocess.Popen(  # noqa: S603 (our own program)
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, bufsize=-1
        )
        self._to = cast(BinaryIO, self._process.stdin)
        self._from = cast(BinaryIO, self._process.stdout)
        self._make = make
        self.alive = True
        self._late = False

    def begin(self) -> None:
        try:
            self._tell(self._make)
        except _WorkerDiedError as death:
            raise ProcessingError(f"a worker could not be started: {death}") from None

    def do(self, chunk: object, seconds: float | None) -> tuple[Any, ...]:
        timer = Timer(seconds, self._too_late) if seconds is not None else None
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            return self._tell(pickle.dumps(chunk, pickle.HIGHEST_PROTOCOL))
        finally:
            if timer is not None:
                timer.cancel()
                timer.join()
            if self._late:
                self.stop()

    def _too_late(self) -> None:
        self._late = True
        self._process.kill()

    def _tell(self, message: bytes) -> Any:
        """Sends, and waits for the answer."""
        try:
            _send(self._to, message)
            answer = _receive(self._from)
        except (EOFError, OSError, ValueError):
            raise _WorkerDiedError(self._end()) from None
        kind, value = pickle.loads(answer)  # noqa: S301 (our own process, through our own pipe)
        if kind == "made":
            return value
        raise (UsageError if kind == "usage" else DeidentError)(value)

    def _end(self) -> str:
        self.stop()
        code = self._process.returncode
        if self._late:
            return "it took too long"
        if code < 0:
            return f"the process that worked on it was ended by signal {-code} ({_signal(-code)})"
        return f"the process that worked on it ended with code {code}"

    def stop(self) -> None:
        self.alive = False
        self._process.kill()  # before the pipes are closed, on which somebody may wait
        for stream in (self._to, self._from):
            # what the buffer still holds finds no reader
            with contextlib.suppress(OSError, ValueError):
                stream.close()
        self._process.wait()


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def _send(stream: BinaryIO, message: bytes) -> None:
    stream.write(_SIZE.pack(len(message)))
    stream.write(message)
    stream.flush()


def _receive(stream: BinaryIO) -> bytes:
    (size,) = _SIZE.unpack(_exactly(stream, _SIZE.size))
    return _exactly(stream, size)


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def serve() -> None:
    """The life of a worker: until the pipe ends, which it also does when the other end is killed."""
    for ending in (signal.SIGINT, signal.SIGTERM):  # the one who asked is stopped, and ends us when it has ended
        signal.signal(ending, signal.SIG_IGN)
    ours = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    with contextlib.suppress(EOFError, BrokenPipeError), ours[0] as asked, ours[1] as answers:
        work = _answered(answers, pickle.loads(_receive(asked)), keep=True)  # noqa: S301
        while work is not None:
            message = _receive(asked)
            _answered(answers, lambda message=message: work(pickle.loads(message)))  # noqa: S301


def _answered(answers: BinaryIO, work: Callable[[], R], *, keep: bool = False) -> R | None:
    """Does it and sends what it made (or, for what is kept here, that it is made); or what went wrong, without text."""
    made: R | None = None
    try:
        made = work()
        answer = pickle.dumps(("made", None if keep else made), pickle.HIGHEST_PROTOCOL)
    except UsageError as error:
        answer = pickle.dumps(("usage", str(error)))
    except DeidentError as error:
        answer = pickle.dumps(("deident", str(error)))
    except Exception as error:  # noqa: BLE001 (its message may quote the text)
        answer = pickle.dumps(("deident", f"could not be processed ({type(error).__name__})"))
    _send(answers, answer)
    return made
