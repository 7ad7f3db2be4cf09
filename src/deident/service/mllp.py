"""HL7 v2 messages that come by MLLP, go on scrubbed, and are acknowledged when the far side has them.

    sender ── message ──▶ scrub ── scrubbed message ──▶ receiver
    sender ◀── AA, AE, AR ─────── its acknowledgment ── receiver

A message is framed by VT before it and FS CR behind it. The sender is told AA only when the receiver has taken the
scrubbed message (AA or CA with the control id that was sent); in every other case AE (try again) or AR (this message
can never pass), with a sentence that has no text of the message. What cannot be scrubbed is not sent on.

A sender's connection has one to the receiver, so that the order stays, and answers cannot be mistaken for another's.
"""

import asyncio
import re
import signal
import ssl
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

from deident import formats
from deident.config import Config
from deident.document import Document, Record, Skeleton
from deident.errors import DeidentError, UsageError
from deident.pipeline import Pipeline, attempt_all
from deident.service.run import loopback

_START, _END, _RETURN = b"\x0b", b"\x1c", b"\r"
_BLANK = b"\r\n "
_GOODBYE = 1.0  # seconds that the other side has to end a connection of TLS
_PIECE = 1 << 16
_TAKEN, _AGAIN, _NEVER = b"AA", b"AE", b"AR"
_ANSWERS = {b"AA": _TAKEN, b"CA": _TAKEN, b"AE": _AGAIN, b"CE": _AGAIN, b"AR": _NEVER, b"CR": _NEVER}
_HEADER = re.compile(rb"MSH([^A-Za-z0-9\s\\])([^A-Za-z0-9\s]{3,5})\1")
_CONTROL_ID = 199  # characters of MSH-10, since version 2.7; 20 before


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int

    @classmethod
    def of(cls, text: str) -> "Address":
        """ "127.0.0.1:2575", "[::1]:2575"."""
        host, colon, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise UsageError("an address is written as HOST:PORT")
        return cls(host, int(port))


@dataclass(frozen=True, slots=True)
class Limits:
    """In bytes, seconds and connections."""

    message: int = 16 * 1024 * 1024
    connections: int = 64
    idle: float = 3600.0  # without a message
    body: float = 30.0  # from the first byte of a message to its last
    connect: float = 10.0
    answer: float = 30.0  # of the receiver
    stop: float = 30.0  # that messages under way have when it is stopped


@dataclass(frozen=True, slots=True)
class Secrecy:
    """TLS on either side: None where there is none."""

    listening: ssl.SSLContext | None = None
    forwarding: ssl.SSLContext | None = None

    @classmethod
    def of(
        cls, cert: Path | None, key: Path | None, clients: Path | None, *, forward: bool, forward_ca: Path | None
    ) -> "Secrecy":
        """clients: the authorities of senders, who then must show a certificate."""
        if (cert is None) != (key is None) or (clients is not None and cert is None):
            raise UsageError("TLS needs a certificate and its key: --tls-cert and --tls-key")
        try:
            listening = forwarding = None
            if cert is not None:
                listening = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=clients)
                listening.load_cert_chain(cert, key)
                if clients is not None:
                    listening.verify_mode = ssl.CERT_REQUIRED
            if forward or forward_ca is not None:
                forwarding = ssl.create_default_context(cafile=forward_ca)
        except (OSError, ssl.SSLError) as error:
            raise UsageError(f"the TLS certificate or key cannot be used ({error.strerror})") from None
        return cls(listening, forwarding)


class Refused(Exception):  # noqa: N818 (what it says of a message)
    """A message that does not go on: what the sender is told, and why, without text of the message."""

    def __init__(self, code: bytes, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Broken(Refused):
    """What comes can no longer be told apart into messages: the connection ends."""


# --- messages --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Header:
    """What an answer repeats of the message: its delimiters, control id (MSH-10), processing id and version."""

    sign: bytes = b"|"
    signs: bytes = b"^~\\&"
    control: bytes = field(default=b"", repr=False)
    processing: bytes = b"P"
    version: bytes = b"2.5.1"

    @classmethod
    def of(cls, message: bytes) -> "Header":
        """As much as can be read of it; the control id goes back as it came, to the one who sent it."""
        line = re.split(rb"[\r\n]", message.lstrip(_BLANK)[:_PIECE], maxsplit=1)[0]
        match = _HEADER.match(line)
        if match is None:
            return cls()
        fields = line.split(match[1])
        control, processing, version = (fields[place] if place < len(fields) else b"" for place in (9, 10, 11))
        return cls(
            match[1],
            match[2],
            control if len(control) <= _CONTROL_ID and not any(byte < 32 for byte in control) else b"",
            processing if re.fullmatch(rb"[PDT]", processing) else b"P",
            version if re.fullmatch(rb"2\.[0-9](\.[0-9])?", version) else b"2.5.1",
        )


def acknowledgment(message: bytes, code: bytes, reason: str = "") -> bytes:
    """The answer to a message. Of its text it has the control id alone; whose it is, the sender knows."""
    header = Header.of(message)
    now = datetime.now(UTC)
    own = f"{now:%Y%m%d%H%M%S%f}".encode()
    told = re.sub(r"[^A-Za-z0-9 ,.:;()'/_-]", " ", reason).encode()
    for sign in header.sign + header.signs:
        told = told.replace(bytes((sign,)), b" ")
    heads = (b"MSH", header.signs, b"deident", b"", b"", b"", own[:14], b"", b"ACK", own, header.processing)
    answers = (b"MSA", code, header.control, *((told,) if told else ()))
    segments = (header.sign.join((*heads, header.version)), header.sign.join(answers))
    return b"".join(segment + _RETURN for segment in segments)


def answered(answer: bytes, sent: bytes) -> bytes:
    """What the receiver's acknowledgment of a message says: taken, again, or never."""
    if not _HEADER.match(answer.lstrip(_BLANK)):
        raise Refused(_AGAIN, "the receiver's answer is no acknowledgment")
    sign = Header.of(answer).sign
    for segment in re.split(rb"[\r\n]", answer):
        if segment.startswith(b"MSA" + sign):
            _, code, control, *_ = (*segment.split(sign), b"", b"")
            if Header.of(sent).control not in (b"", control):
                raise Refused(_AGAIN, "the receiver's answer is to another message")
            if code in _ANSWERS:
                return _ANSWERS[code]
    raise Refused(_AGAIN, "the receiver's answer is no acknowledgment")


class Scrubber:
    """One message in, one scrubbed message out."""

    def __init__(self, pipeline: Pipeline, form: str) -> None:
        self._pipeline = pipeline
        self._form: Any = formats.load(form)
        self.paths = Counter[str]()

    def __call__(self, message: bytes) -> bytes:
        if len(list(self._form.pieces(BytesIO(message)))) != 1:
            raise Refused(_NEVER, "there is not exactly one message in the frame")
        if not _HEADER.match(message.lstrip(_BLANK)):
            raise Refused(_NEVER, "it does not begin with a message header")
        try:
            record = self._form.read({".hl7": message}, name="message")
        except DeidentError as error:
            raise Refused(_NEVER, str(error)) from None
        except Exception as error:  # noqa: BLE001 (its message may quote the text)
            raise Refused(_NEVER, f"it cannot be read ({type(error).__name__})") from None
        done, failed = attempt_all(self._pipeline.scrub, record.documents)
        if failed or not isinstance(record.frame, Skeleton):
            raise Refused(_AGAIN, failed[0].reason if failed else "it is no structured record")
        try:
            written = self._form.write(Record(done, record.frame))[".hl7"]
        except DeidentError as error:
            raise Refused(_AGAIN, str(error)) from None
        self.paths.update({f"{what} {path}": count for (what, path), count in record.frame.paths.items()})
        return written.strip(_BLANK) + _RETURN

    def warm(self) -> None:
        self._pipeline.scrub(Document("message", "Seen by Dr. Ada Lund on 3/4/2021, call 303-555-0182."))


# --- frames ----------------------------------------------------------------------------------------------------------


class Frames:
    """The messages that come over a connection, one after the other."""

    def __init__(self, reader: asyncio.StreamReader, limit: int) -> None:
        self._reader = reader
        self._limit = limit
        self._held = b""
        self.begun = b""  # of a message that does not come to its end

    async def begins(self) -> bool:
        """Waits for the first byte of a message; False where the connection ends instead."""
        while True:
            self._held = self._held.lstrip(_BLANK)
            if self._held:
                if self._held[:1] != _START:
                    raise Broken(_NEVER, "what came is not framed: a message begins with VT (0x0B)")
                return True
            self._held = await self._reader.read(_PIECE)
            if not self._held:
                return False

    async def message(self, seconds: float) -> bytes:
        """The message that has begun."""
        held = bytearray(self._held[1:])
        self._held = b""
        try:
            async with asyncio.timeout(seconds):
                while (end := held.find(_END)) < 0 or end + 1 == len(held):
                    self._check(held)
                    more = await self._reader.read(_PIECE)
                    if not more:
                        raise Broken(_AGAIN, "the connection ended within a message")
                    held += more
        except TimeoutError:
            raise Broken(_AGAIN, f"the message had not come to its end after {seconds:g} seconds") from None
        finally:
            self.begun = bytes(held[:_PIECE])
        message = bytes(held[:end])
        self._check(message)
        if not held.startswith(_RETURN, end + 1):
            raise Broken(_NEVER, "the frame does not end with FS and CR (0x1C 0x0D)")
        self._held = bytes(held[end + 2 :])
        return message

    def _check(self, held: bytes | bytearray) -> None:
        if _START in held:  # the sender began anew: what came before may be another patient's
            raise Broken(_NEVER, "a message began before the one before it had ended")
        if len(held) > self._limit:
            raise Broken(_NEVER, f"the message is over the limit of {self._limit} bytes; raise it with --max-bytes")


def framed(message: bytes) -> bytes:
    return _START + message + _END + _RETURN


class Receiver:
    """The far side of one sender's connection; opened when it is needed, and anew where it has ended."""

    def __init__(self, address: Address, limits: Limits, secrecy: ssl.SSLContext | None) -> None:
        self._address, self._limits, self._secrecy = address, limits, secrecy
        self._open: tuple[Frames, asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, message: bytes) -> bytes:
        """Sends it and waits for the answer: taken, again, or never."""
        frames, _, writer = await self._connection()
        try:
            async with asyncio.timeout(self._limits.answer):
                writer.write(framed(message))
                await writer.drain()
                if not await frames.begins():
                    raise Refused(_AGAIN, "the receiver closed the connection without an answer")
                answer = await frames.message(self._limits.answer)
            return answered(answer, message)
        except BaseException as error:
            self.close()  # an answer that comes too late would be taken for the next one's
            if isinstance(error, TimeoutError):
                raise Refused(_AGAIN, "the receiver did not answer") from None
            if isinstance(error, Broken):
                raise Refused(_AGAIN, "the receiver's answer is no acknowledgment") from None
            if isinstance(error, OSError):
                raise Refused(_AGAIN, "the connection to the receiver broke") from None
            raise

    async def _connection(self) -> tuple[Frames, asyncio.StreamReader, asyncio.StreamWriter]:
        if self._open is not None and (self._open[1].at_eof() or self._open[2].is_closing()):
            self.close()
        if self._open is None:
            try:
                async with asyncio.timeout(self._limits.connect):
                    reader, writer = await asyncio.open_connection(
                        self._address.host, self._address.port, ssl=self._secrecy
                    )
            except (OSError, TimeoutError):  # an error of TLS is an OSError
                raise Refused(_AGAIN, "the receiver cannot be reached") from None
            self._open = Frames(reader, _PIECE), reader, writer
        return self._open

    def close(self) -> None:
        if self._open is not None:
            self._open[2].close()
            self._open = None

    async def ended(self) -> None:
        """Closes the connection, and waits until it is; one whose other side does not say goodbye is cut."""
        if self._open is not None:
            writer = self._open[2]
            self.close()
            try:
                async with asyncio.timeout(_GOODBYE):
                    await writer.wait_closed()
            except TimeoutError:
                writer.transport.abort()


# --- the relay -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Counts:
    forwarded: int = 0
    refused: int = 0


class Relay:
    """Listens, scrubs, forwards, answers; `counts` says how often."""

    def __init__(self, scrub: Callable[[bytes], bytes], door: "Door", *, said: Callable[[str], None]) -> None:
        self._scrub, self._door, self._said = scrub, door, said
        self._limits = door.limits
        self._one = ThreadPoolExecutor(1, thread_name_prefix="deident-scrub")  # words and models are held by a thread
        self._stopping = asyncio.Event()
        self._senders: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.counts = Counts()

    def stop(self) -> None:
        """No new message is taken; those under way go to their end. May be called from anywhere."""
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended already
                self._loop.call_soon_threadsafe(self._stopping.set)

    async def run(self, *, ready: Callable[[Address], None]) -> None:
        """Until it is stopped. ready: is told where it listens."""
        self._loop = asyncio.get_running_loop()
        listen, secrecy = self._door.listen, self._door.secrecy.listening
        try:
            server = await asyncio.start_server(self._meet, listen.host, listen.port, ssl=secrecy, limit=_PIECE)
        except OSError as error:
            raise UsageError(f"cannot listen on {listen.host}, port {listen.port} ({error.strerror})") from None
        try:
            ready(Address(listen.host, server.sockets[0].getsockname()[1]))
            await self._stopping.wait()
            server.close()
            if self._senders:
                _, late = await asyncio.wait(self._senders, timeout=self._limits.stop)
                for sender in late:
                    sender.cancel()
                await asyncio.gather(*late, return_exceptions=True)
        finally:
            server.close()
            self._one.shutdown(wait=False, cancel_futures=True)

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sender = asyncio.current_task()
        assert sender is not None
        if len(self._senders) >= self._limits.connections or self._stopping.is_set():
            self._said("a connection was turned away: there are too many")
            writer.close()
            return
        self._senders.add(sender)
        receiver = Receiver(self._door.forward, self._limits, self._door.secrecy.forwarding)
        try:
            await self._serve(Frames(reader, self._limits.message), writer, receiver)
        except (OSError, TimeoutError):
            self._said("a connection broke before its answer could be sent")
        except asyncio.CancelledError:
            self._said("a connection was broken off: its message was not done in time")
        except Exception as error:  # noqa: BLE001 (its message may quote the text)
            self._said(f"a connection was ended by a {type(error).__name__}; please report it")
        finally:
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await receiver.ended()
                await writer.wait_closed()
            self._senders.discard(sender)

    async def _serve(self, frames: Frames, writer: asyncio.StreamWriter, receiver: Receiver) -> None:
        while True:
            message = b""
            try:
                if not await self._next(frames):
                    return
                message = await frames.message(self._limits.body)
                code, reason = await self._passed(message, receiver), ""
            except Refused as error:
                code, reason = error.code, str(error)
                broken = isinstance(error, Broken)
            else:
                broken = False
                if code != _TAKEN:
                    reason = "the receiver refused the message"
            if code == _TAKEN:
                self.counts.forwarded += 1
            else:
                self.counts.refused += 1
                self._said(f"refused ({code.decode()}): {reason}")
            async with asyncio.timeout(self._limits.body):
                writer.write(framed(acknowledgment(message or frames.begun, code, reason)))
                await writer.drain()
            if broken:
                return

    async def _next(self, frames: Frames) -> bool:
        """Waits for a message; False where none comes: the sender has gone, is silent for long, or we stop."""
        begins, stops = (asyncio.ensure_future(waited) for waited in (frames.begins(), self._stopping.wait()))
        try:
            await asyncio.wait((begins, stops), timeout=self._limits.idle, return_when=asyncio.FIRST_COMPLETED)
            return begins.done() and bool(begins.result())
        finally:
            begins.cancel()
            stops.cancel()

    async def _passed(self, message: bytes, receiver: Receiver) -> bytes:
        assert self._loop is not None
        try:
            scrubbed = await self._loop.run_in_executor(self._one, self._scrub, message)
        except Refused:
            raise
        except Exception as error:  # noqa: BLE001 (its message may quote the text)
            raise Refused(_AGAIN, f"it could not be processed ({type(error).__name__})") from None
        return await receiver.send(scrubbed)


@dataclass(frozen=True, slots=True)
class Door:
    """Where it listens and where it forwards to. form: `hl7`, or `hl7:site.toml`. remote: others may reach it."""

    listen: Address
    forward: Address
    form: str = "hl7"
    remote: bool = False
    limits: Limits = field(default_factory=Limits)
    secrecy: Secrecy = field(default_factory=Secrecy)


def serve(config: Config, door: Door, *, said: Callable[[str], None]) -> None:
    """Loads everything, listens, and ends on SIGTERM or SIGINT."""
    if not door.remote and not loopback(door.listen.host):
        raise UsageError(
            f"{door.listen.host} can be reached from other machines, and MLLP asks nobody who they are: say --remote "
            "if that is meant, and have senders show a certificate (--tls-clients)"
        )
    if door.form.partition(":")[0] != "hl7":
        raise UsageError("MLLP carries HL7: the format is hl7, or hl7:site.toml")
    scrubber = Scrubber(Pipeline.from_config(config), door.form)
    scrubber.warm()
    relay = Relay(scrubber, door, said=said)

    def stopped(_: int, __: object) -> None:
        relay.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stopped)

    def ready(here: Address) -> None:
        said(f"listening on {here.host}, port {here.port}; forwarding to {door.forward.host}, port {door.forward.port}")

    asyncio.run(relay.run(ready=ready))
    blocked = sorted((key.removeprefix("blocked "), count) for key, count in scrubber.paths.items() if "blocked" in key)
    if blocked:
        said(f"left out, for nobody can judge it: {', '.join(f'{path} ×{count}' for path, count in blocked)}")
    said(f"forwarded {relay.counts.forwarded} messages, refused {relay.counts.refused}")
