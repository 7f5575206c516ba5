"""A process that stands still: what was answered meanwhile counts, and nothing leaves too late."""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

import pytest

from tests.providers.conftest import Authority

pytestmark = pytest.mark.slow

SHORT, LONG = 0.6, 30.0


class Moment(StrEnum):
    """What the mail's process waits for when it is stopped."""

    HANDSHAKE = "handshake"
    GREETING = "greeting"
    MAIL = "mail"
    ANSWER = "answer"


# The one wait that runs out while the process stands still.
WAITS = {
    Moment.HANDSHAKE: "connect",
    Moment.GREETING: "command",
    Moment.MAIL: "command",
    Moment.ANSWER: "answer",
}


class Server:
    """Speaks SMTP step by step with one client, and stops that client's process at its moment."""

    def __init__(self, moment: Moment, context: ssl.SSLContext | None, after: float) -> None:
        self.moment = moment
        self.after = after  # how many seconds after the end of the wait the stop ends
        self.context = context
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(LONG)
        self.connection = self.listener
        self.buffer = b""
        self.pid = 0

    def serve(self) -> None:
        self.connection, _ = self.listener.accept()
        self.connection.settimeout(LONG)
        if self.context is not None:
            self.encrypt(self.context)
        self.answer("220 fake.example", Moment.GREETING)
        self.converse("EHLO", "250 fake.example")
        self.converse("MAIL", "250 2.1.0 ok", Moment.MAIL)
        self.converse("RCPT", "250 2.1.5 ok")
        self.converse("DATA", "354 go ahead")
        self.read_until(b"\r\n.\r\n")
        self.answer("250 2.0.0 Ok: queued as Q1", Moment.ANSWER)
        self.converse("QUIT", "221 2.0.0 bye")

    def encrypt(self, context: ssl.SSLContext) -> None:
        self.connection.recv(1, socket.MSG_PEEK)  # the client's first word
        encrypted = context.wrap_socket(
            self.connection, server_side=True, do_handshake_on_connect=False
        )
        self.connection = encrypted
        if self.moment is Moment.HANDSHAKE:
            with self.client_stopped():
                encrypted.settimeout(0.1)
                with pytest.raises(TimeoutError):  # the server's half is said
                    encrypted.do_handshake()
        encrypted.settimeout(LONG)
        encrypted.do_handshake()

    def converse(self, verb: str, reply: str, moment: Moment | None = None) -> None:
        assert self.read_until(b"\r\n").startswith(verb.encode())
        self.answer(reply, moment)

    def read_until(self, end: bytes) -> bytes:
        while end not in self.buffer:
            received = self.connection.recv(65536)
            assert received, "the client hung up"
            self.buffer += received
        line, _, self.buffer = self.buffer.partition(end)
        return line

    def answer(self, reply: str, moment: Moment | None) -> None:
        if moment is not self.moment:
            self.connection.sendall(f"{reply}\r\n".encode())
            return
        with self.client_stopped():
            self.connection.sendall(f"{reply}\r\n".encode())

    @contextmanager
    def client_stopped(self) -> Iterator[None]:
        """The answer that is said in this block is read after the wait for it has run out."""
        began = time.monotonic()
        self.wait_for_state("S")  # it waits for the answer
        time.sleep(0.1)
        os.kill(self.pid, signal.SIGSTOP)
        self.wait_for_state("T")
        yield
        time.sleep(max(0, began + SHORT + self.after - time.monotonic()))
        os.kill(self.pid, signal.SIGCONT)

    def wait_for_state(self, state: str) -> None:
        status = Path(f"/proc/{self.pid}/stat")
        end = time.monotonic() + LONG
        while status.read_text().rpartition(")")[2].split()[0] != state:
            assert time.monotonic() < end, f"the client never came to state {state}"
            time.sleep(0.01)


@pytest.mark.parametrize(("loop", "after"), [("asyncio", 0.05), ("uvloop", 0.4)])
@pytest.mark.parametrize(
    ("moment", "tls"),
    [
        (Moment.HANDSHAKE, "implicit"),
        (Moment.GREETING, "none"),
        (Moment.MAIL, "none"),
        (Moment.ANSWER, "none"),
        (Moment.ANSWER, "implicit"),
    ],
)
def test_an_answer_that_came_while_the_process_was_stopped_counts(
    moment: Moment, tls: str, loop: str, after: float, authority: Authority
) -> None:
    server = Server(moment, authority.context if tls == "implicit" else None, after)
    timeouts = dict.fromkeys(["connect", "command", "body", "answer", "quit"], LONG)
    settings = {
        "host": "127.0.0.1",
        "port": server.listener.getsockname()[1],
        "tls": tls,
        "ca_file": str(authority.ca_file),
        "timeouts": timeouts | {WAITS[moment]: SHORT},
    }
    command = [sys.executable, "-m", "tests.providers.one_mail", loop, json.dumps(settings)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        try:
            server.pid = client.pid
            server.serve()
            outcome, _ = client.communicate(timeout=LONG)
        finally:
            client.kill()
            server.connection.close()
            server.listener.close()

    assert outcome == "Accepted\n"
