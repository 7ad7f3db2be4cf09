"""MLLP: what goes on is scrubbed, what is acknowledged was delivered; real sockets, and a far side that misbehaves."""

import asyncio
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import trustme

from deident.config import Config, Detect, Scrub
from deident.errors import UsageError
from deident.pipeline import Pipeline
from deident.service import mllp
from deident.service.mllp import Address, Door, Limits, Relay, Scrubber, Secrecy, acknowledgment, answered, framed

ROOT = Path(__file__).parents[1]
PIPELINE = Pipeline.from_config(Config(detect=Detect(("patterns",)), scrub=Scrub(policy="safe-harbor")))
LIMITS = Limits(message=200_000, connections=3, idle=20, body=1.0, connect=2, answer=1.0, stop=5)
PLANTED = ("Okonkwo", "Adaeze", "19420304", "00123987", "303-555-0182", "Lindqvist")
MESSAGE = (
    b"MSH|^~\\&|LAB|GENERAL|EHR|MAIN|20260304||ORU^R01|MSG-77|P|2.5.1\r"
    b"PID|1||00123987^^^GENERAL^MR||Okonkwo^Adaeze||19420304|F\r"
    b"OBX|1|NM|718-7^Hemoglobin^LN||13.2|g/dL|12.0-16.0|N|||F\r"
    b"OBX|2|TX|11502-2^Report^LN||Mrs Okonkwo seen, call 303-555-0182.||||||F\r"
    b"NTE|1||Okonkwo called back.\r"
)


def message(control: str = "MSG-77", more: bytes = b"") -> bytes:
    return MESSAGE.replace(b"MSG-77", control.encode()) + more


class Far(threading.Thread):
    """A receiver; `manner` says how it answers: AA …, silent, closes, garbage, other (another message's), slow."""

    def __init__(self, manner: str = "AA", *, secrecy: ssl.SSLContext | None = None, port: int = 0) -> None:
        super().__init__(daemon=True)
        self.manner = manner
        self.got: list[bytes] = []
        self.connections = 0
        self._secrecy = secrecy
        self._listening = socket.create_server(("127.0.0.1", port))
        self._taken: list[socket.socket] = []
        self.address = Address("127.0.0.1", self._listening.getsockname()[1])
        self.start()

    def run(self) -> None:
        while True:
            try:
                taken, _ = self._listening.accept()
            except OSError:
                return
            self._taken.append(taken)
            threading.Thread(target=self._serve, args=(taken,), daemon=True).start()

    def _serve(self, taken: socket.socket) -> None:
        try:
            with self._secrecy.wrap_socket(taken, server_side=True) if self._secrecy else taken as connection:
                self.connections += 1
                while (got := receive(connection)) is not None:
                    self.got.append(got)
                    manner = self.manner
                    if manner == "closes":
                        return
                    if manner == "slow":
                        time.sleep(0.4)
                    if manner == "late":
                        time.sleep(1.5)
                    if manner == "garbage":
                        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                    elif manner == "half":
                        connection.sendall(b"\x0bMSH|^~\\&|EHR|")
                        return
                    elif manner == "other":
                        connection.sendall(framed(acknowledgment(message("other"), b"AA")))
                    elif manner != "silent":
                        code = manner.encode() if len(manner) == 2 else b"AA"
                        connection.sendall(framed(acknowledgment(got, code, "Okonkwo is unknown")))
        except OSError:
            return

    def close(self) -> None:
        """It is gone, and with it all connections."""
        for taken in (self._listening, *self._taken):
            with suppress(OSError):
                taken.shutdown(socket.SHUT_RDWR)
            taken.close()


def receive(connection: socket.socket) -> bytes | None:
    """The next frame's message; None where the connection ends."""
    held = b""
    while not held.endswith(b"\x1c\r"):
        more = connection.recv(65536)
        if not more:
            return None
        held += more
    return held.strip(b"\x0b\x1c\r") + b"\r"


@dataclass
class Running:
    address: Address
    relay: Relay
    said: list[str] = field(default_factory=list[str])

    def connect(self) -> socket.socket:
        return socket.create_connection((self.address.host, self.address.port), timeout=10)


@contextmanager
def running(forward: Address, limits: Limits = LIMITS, secrecy: Secrecy | None = None) -> Generator[Running]:
    said: list[str] = []
    ready = threading.Event()
    found: list[Address] = []

    def told(address: Address) -> None:
        found.append(address)
        ready.set()

    door = Door(Address("127.0.0.1", 0), forward, limits=limits, secrecy=secrecy or Secrecy())
    relay = Relay(Scrubber(PIPELINE, "hl7"), door, said=said.append)
    thread = threading.Thread(target=lambda: asyncio.run(relay.run(ready=told)))
    thread.start()
    assert ready.wait(10)
    try:
        yield Running(found[0], relay, said)
    finally:
        relay.stop()
        thread.join(20)
        assert not thread.is_alive()
        assert not any(planted in line for planted in PLANTED for line in said)


def ask(connection: socket.socket, data: bytes) -> tuple[str, str, str]:
    """Sends bytes; the answer's code, control id and reason."""
    if data:
        connection.sendall(data)
    got = receive(connection)
    assert got is not None
    assert not any(planted.encode() in got for planted in PLANTED)
    line = next(line for line in got.decode().split("\r") if line.startswith("MSA"))
    _, code, control, reason = (*line.split("|"), "")[:4]
    return code, control, reason


def test_a_message_goes_on_scrubbed_and_is_acknowledged() -> None:
    far = Far()
    with running(far.address) as door, door.connect() as sender:
        for number in range(3):
            assert ask(sender, framed(message(f"C{number}"))) == ("AA", f"C{number}", "")
        assert ask(sender, b"\r\n" + framed(MESSAGE.replace(b"\r", b"\n"))) == ("AA", "MSG-77", "")
    assert (door.relay.counts.forwarded, far.connections) == (4, 1)
    for got in far.got:
        assert not any(planted.encode() in got for planted in (*PLANTED, "MSG-77"))
        assert b"OBX|1|NM|718-7^Hemoglobin^LN||13.2|g/dL|12.0-16.0|N|||F" in got
        assert b"ORU^R01" in got


@pytest.mark.parametrize(
    ("manner", "code", "reason"),
    [
        ("CA", "AA", ""),
        ("AE", "AE", "the receiver refused the message"),
        ("AR", "AR", "the receiver refused the message"),
        ("CR", "AR", "the receiver refused the message"),
        ("ZZ", "AE", "the receiver's answer is no acknowledgment"),
        ("silent", "AE", "the receiver did not answer"),
        ("closes", "AE", "the receiver closed the connection without an answer"),
        ("garbage", "AE", "the receiver's answer is no acknowledgment"),
        ("half", "AE", "the receiver's answer is no acknowledgment"),
        ("other", "AE", "the receiver's answer is to another message"),
        ("slow", "AA", ""),
    ],
)
def test_the_sender_is_told_what_the_receiver_did(manner: str, code: str, reason: str) -> None:
    far = Far(manner)
    with running(far.address) as door, door.connect() as sender:
        assert ask(sender, framed(MESSAGE)) == (code, "MSG-77", reason)
        far.manner = "AA"
        assert ask(sender, framed(message("next"))) == ("AA", "next", "")
    assert door.said == ([f"refused ({code}): {reason}"] if reason else [])


def test_an_answer_that_comes_late_is_not_taken_for_the_next() -> None:
    far = Far("late")
    with running(far.address) as door, door.connect() as sender:
        assert ask(sender, framed(message("first")))[0] == "AE"
        far.manner = "AR"
        time.sleep(0.8)  # the first answer has come by now
        assert ask(sender, framed(message("second")))[0] == "AR"
    assert far.connections == 2


def test_a_receiver_that_goes_away_and_comes_back() -> None:
    far = Far()
    with running(far.address) as door, door.connect() as sender:
        assert ask(sender, framed(message("one")))[0] == "AA"
        far.close()
        assert ask(sender, framed(message("two"))) == ("AE", "two", "the receiver cannot be reached")
        back = Far(port=far.address.port)
        assert ask(sender, framed(message("three"))) == ("AA", "three", "")
        back.close()
    assert (len(far.got), len(back.got)) == (1, 1)


SEVERED = "the connection ended within a message"
UNFRAMED = "what came is not framed: a message begins with VT (0x0B)"


@pytest.mark.parametrize(
    ("data", "code", "control", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "AR", "", UNFRAMED),
        (b"\x0b" + MESSAGE + b"\x1c\n", "AR", "MSG-77", "the frame does not end with FS and CR (0x1C 0x0D)"),
        (
            b"\x0b" + MESSAGE[:90] + framed(MESSAGE),
            "AR",
            "MSG-77",
            "a message began before the one before it had ended",
        ),
        (framed(b"nothing"), "AR", "", "it does not begin with a message header"),
        (framed(b""), "AR", "", "there is not exactly one message in the frame"),
        (framed(MESSAGE + message("two")), "AR", "MSG-77", "there is not exactly one message in the frame"),
        (framed(MESSAGE + b"NTE|1||\xff\xfe Okonkwo\r"), "AR", "MSG-77", "not UTF-8 at byte offset"),
        (framed(MESSAGE.decode().encode("utf-16")), "AR", "", ""),
        (framed(MESSAGE.replace(b"^~\\&", b"^^^^")), "AR", "MSG-77", ""),
        (framed(message(more=b"NTE|1||" + b"x" * 200_000 + b"\r")), "AR", "MSG-77", "the message is over the limit of"),
        (framed(message("x" * 300)), "AA", "", ""),
    ],
    ids=range(11),
)
def test_what_cannot_pass_is_refused_and_does_not_go_on(data: bytes, code: str, control: str, reason: str) -> None:
    far = Far()
    with running(far.address) as door:
        with door.connect() as sender:
            told = ask(sender, data)
        assert told[:2] == (code, control)
        assert told[2].startswith(re.sub(r"[^A-Za-z0-9 ,.:;()'/_-]", " ", reason))
        assert len(far.got) == (code == "AA")
        assert len(door.said) == (code != "AA")
        with door.connect() as sender:  # and the door stands open
            assert ask(sender, framed(MESSAGE))[0] == "AA"


def test_fifty_megabytes_are_refused_without_being_held() -> None:
    far = Far()
    with running(far.address) as door, door.connect() as sender:
        sender.sendall(b"\x0b" + MESSAGE)
        with pytest.raises(OSError):  # the connection is closed on the sender, who goes on
            for _ in range(800):
                sender.sendall(b"x" * 65536)
    assert door.said[0].startswith("refused (AR): the message is over the limit of 200000 bytes")
    assert not far.got


def test_half_a_message_times_out_or_ends() -> None:
    far = Far()
    with running(far.address) as door:
        with door.connect() as sender:
            assert ask(sender, b"\x0b" + MESSAGE[:120])[::2] == (
                "AE", "the message had not come to its end after 1 seconds"
            )  # fmt: skip
            assert sender.recv(1) == b""
        with door.connect() as sender:
            sender.sendall(b"\x0b" + MESSAGE[:120])
            sender.shutdown(socket.SHUT_WR)
            assert ask(sender, b"")[::2] == ("AE", SEVERED)
    assert not far.got


def test_what_fails_inside_is_no_message_to_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Scrubber, message: bytes) -> bytes:
        raise ValueError(message.decode())

    monkeypatch.setattr(Scrubber, "__call__", fails)
    far = Far()
    with running(far.address) as door, door.connect() as sender:
        assert ask(sender, framed(MESSAGE)) == ("AE", "MSG-77", "it could not be processed (ValueError)")
    assert not far.got


def test_several_senders_at_once_and_no_more_than_allowed() -> None:
    far = Far("slow")
    with running(far.address) as door:
        senders = [door.connect() for _ in range(3)]
        for number, sender in enumerate(senders):
            sender.sendall(framed(message(f"S{number}")))
        with door.connect() as fourth:
            assert fourth.recv(1) == b""
        assert [ask(sender, b"")[:2] for sender in senders] == [("AA", f"S{number}") for number in range(3)]
        for sender in senders:
            sender.close()
    assert far.connections == 3


def test_a_message_under_way_is_ended_when_it_is_stopped() -> None:
    far = Far("slow")
    with running(far.address) as door:
        with door.connect() as sender:
            sender.sendall(framed(MESSAGE))
            while not far.got:
                time.sleep(0.01)
            door.relay.stop()
            assert ask(sender, b"")[0] == "AA"
            assert sender.recv(1) == b""
        with pytest.raises(OSError):
            door.connect()


def test_tls_on_both_sides(tmp_path: Path) -> None:
    authority = trustme.CA()
    own = authority.issue_cert("localhost", "127.0.0.1")
    cert, key, ca = tmp_path / "cert.pem", tmp_path / "key.pem", tmp_path / "ca.pem"
    own.cert_chain_pems[0].write_to_path(cert)
    own.private_key_pem.write_to_path(key)
    authority.cert_pem.write_to_path(ca)
    secrecy = Secrecy.of(cert, key, ca, forward=True, forward_ca=ca)
    receiving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    receiving.load_cert_chain(cert, key)
    client = ssl.create_default_context(cafile=ca)
    far = Far(secrecy=receiving)
    with running(far.address, secrecy=secrecy) as door:
        stranger = client.wrap_socket(door.connect(), server_hostname="localhost")
        with pytest.raises(OSError), stranger:  # it has no certificate
            stranger.sendall(framed(MESSAGE))
            stranger.recv(1)
            raise ConnectionResetError
        client.load_cert_chain(cert, key)
        with client.wrap_socket(door.connect(), server_hostname="localhost") as sender:
            assert ask(sender, framed(MESSAGE)) == ("AA", "MSG-77", "")
    with (
        running(Far().address, secrecy=secrecy) as door,  # a receiver without TLS
        client.wrap_socket(door.connect(), server_hostname="localhost") as sender,
    ):
        assert ask(sender, framed(MESSAGE)) == ("AE", "MSG-77", "the receiver cannot be reached")


@pytest.mark.parametrize(
    ("text", "address"),
    [("127.0.0.1:2575", Address("127.0.0.1", 2575)), ("[::1]:1", Address("::1", 1)), ("host", None), (":1", None),
     ("h:x", None), ("h:70000", None)],
)  # fmt: skip
def test_addresses(text: str, address: Address | None) -> None:
    if address is not None:
        assert Address.of(text) == address
        return
    with pytest.raises(UsageError, match="HOST:PORT"):
        Address.of(text)


def test_other_machines_only_where_it_is_said() -> None:
    with pytest.raises(UsageError, match="--remote"):
        mllp.serve(Config(), Door(Address("0.0.0.0", 0), Address("127.0.0.1", 1)), said=print)
    with pytest.raises(UsageError, match="the format is hl7"):
        mllp.serve(Config(), Door(Address("127.0.0.1", 0), Address("127.0.0.1", 1), form="text"), said=print)


def test_acknowledgments_repeat_the_control_id_alone() -> None:
    answer = acknowledgment(MESSAGE, b"AE", "it failed | here ^ there")
    assert answer.startswith(b"MSH|^~\\&|deident||||")
    assert re.search(rb"\|\|ACK\|\d+\|P\|2\.5\.1\rMSA\|AE\|MSG-77\|it failed {3}here {3}there\r$", answer)
    assert not any(planted.encode() in answer for planted in PLANTED)
    assert answered(acknowledgment(MESSAGE, b"AA"), MESSAGE) == b"AA"
    assert b"|" not in acknowledgment(MESSAGE.replace(b"|", b"!"), b"AA")


def test_the_command_and_a_kill() -> None:
    far = Far()
    command = [sys.executable, "-m", "deident", "mllp", "--listen", "127.0.0.1:0", "--detectors", "patterns",
               "--forward", f"127.0.0.1:{far.address.port}", "--policy", "safe-harbor"]  # fmt: skip
    for number in (signal.SIGTERM, signal.SIGKILL):
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        found = re.search(r"listening on 127\.0\.0\.1, port (\d+)", process.stderr.readline())
        assert found is not None
        far.manner = "AA"
        with socket.create_connection(("127.0.0.1", int(found[1])), timeout=20) as sender:
            assert ask(sender, framed(MESSAGE)) == ("AA", "MSG-77", "")
            if number is signal.SIGKILL:
                far.manner = "silent"
                sender.sendall(framed(message("lost")))
                while len(far.got) < 3:
                    time.sleep(0.01)
            process.send_signal(number)
            told = process.communicate(timeout=20)[1]
            assert sender.recv(1) == b""  # and no acknowledgment of what was not delivered
        if number is signal.SIGTERM:
            assert process.returncode == 0
            assert "forwarded 1 messages, refused 0" in told
            assert not any(planted in told for planted in PLANTED)
