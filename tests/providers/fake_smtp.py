"""An SMTP server that fails where it is told to, and remembers what it really took."""

import asyncio
import re
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum


class Phase(StrEnum):
    GREETING = "greeting"
    EHLO = "ehlo"
    STARTTLS = "starttls"
    HANDSHAKE = "handshake"  # after the consent to STARTTLS
    EHLO_AGAIN = "ehlo again"
    AUTH = "auth"
    MAIL = "mail"
    RCPT = "rcpt"
    DATA = "data"
    BODY = "body"  # in the middle of the message
    DOT = "dot"  # the final dot has come, the message is not taken
    TAKEN = "taken"  # the message is taken, the answer not yet given
    RSET = "rset"
    NOOP = "noop"
    QUIT = "quit"


class Fault(StrEnum):
    """Anything else given as a fault is a reply, said instead of the usual one."""

    CLOSE = "close"
    RESET = "reset"
    STALL = "stall"


@dataclass(frozen=True, slots=True)
class Taken:
    sender: str
    recipients: tuple[str, ...]
    data: bytes


class GoneError(Exception):
    """The server has left this connection."""


STRICT = re.compile(rb"(?:^|\r\n)\.\r\n")
# What servers that let messages be smuggled take for the end of one.
LENIENT = re.compile(rb"(?:^|\r\n|\r|\n)\.(?:\r\n|\r|\n)")
FEATURES = ("PIPELINING", "SIZE 10000000", "8BITMIME", "SMTPUTF8", "ENHANCEDSTATUSCODES")

# What the server does for a recipient, by the word before the @: the sandbox's vocabulary.
BY_ADDRESS: Mapping[str, tuple[Phase, str]] = {
    "refuse": (Phase.RCPT, "550 5.1.1 no such user"),
    "later": (Phase.RCPT, "451 4.3.0 try again in 30 seconds"),
    "throttle": (Phase.DOT, "454 4.7.0 Throttling failure: Maximum sending rate exceeded"),
    "block": (Phase.RCPT, "530 5.7.0 Authentication required"),
    "broken": (Phase.RCPT, Fault.CLOSE),
    "vanish": (Phase.TAKEN, Fault.CLOSE),
    "hang": (Phase.TAKEN, Fault.STALL),
    # What the sandbox never does, so it takes these as any other address.
    "twice": (Phase.TAKEN, "250 2.0.0 Ok: queued as Q\r\n250 2.0.0 Ok: queued as Q"),
    "garbage": (Phase.TAKEN, "\0\udcff{garbage}"),
    "nul": (Phase.RCPT, "550 5.1.1 no \0 such \udced\udca0\udc80 user \udcff"),
}


@dataclass
class FakeSmtp:
    faults: dict[Phase, str] = field(default_factory=dict)
    features: tuple[str, ...] = FEATURES
    context: ssl.SSLContext | None = None
    is_implicit: bool = False
    end_of_data: re.Pattern[bytes] = STRICT
    slow: float = 0.2
    pace: float = 0.0  # before each reply
    password: str = "secret"
    max_connections: int = 1000
    faulty_connections: int = 1_000_000  # later ones meet no fault
    journal: list[Taken] = field(default_factory=list)
    said: list[str] = field(default_factory=list)  # every line clients said outside messages
    received: list[bytes] = field(default_factory=list)  # as it came in
    port: int = 0
    connection_count: int = 0
    open_count: int = 0
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    stalled: asyncio.Event = field(default_factory=asyncio.Event)  # some connection has
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    guests: set[asyncio.Task[None]] = field(default_factory=set)

    async def start(self) -> asyncio.Server:
        sock = socket.socket()
        # Without it the kernel holds small replies back for 40 ms each.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A small window, so that a client notices when nobody reads its large message.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024)
        sock.bind(("127.0.0.1", 0))
        self.port = sock.getsockname()[1]
        context = self.context if self.is_implicit else None
        return await asyncio.start_server(self._serve, sock=sock, ssl=context)

    @property
    def recipients(self) -> list[str]:
        return [recipient for taken in self.journal for recipient in taken.recipients]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connection_count += 1
        self.open_count += 1
        task = asyncio.current_task()
        assert task is not None
        self.guests.add(task)
        self.writers.append(writer)
        task.add_done_callback(self.guests.discard)
        try:
            await Conversation(self, reader, writer, self.connection_count).run()
        except (GoneError, OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.open_count -= 1
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()


class Conversation:
    def __init__(
        self,
        server: FakeSmtp,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        number: int,
    ) -> None:
        self.server = server
        self.reader = reader
        self.writer = writer
        self.faults = server.faults if number <= server.faulty_connections else {}
        self.buffer = b""
        self.is_encrypted = server.is_implicit
        self.sender = ""
        self.recipients: list[str] = []

    async def run(self) -> None:
        if self.server.open_count > self.server.max_connections:
            self.say("421 4.7.0 Too many concurrent connections")
            return
        await self.answer(Phase.GREETING, "220 fake.example ESMTP")
        while (line := await self.line()) is not None:
            self.server.said.append(line)
            verb = line.partition(" ")[0].upper()
            if verb == "QUIT":
                await self.answer(Phase.QUIT, "221 2.0.0 bye")
                return
            await getattr(self, f"do_{verb.lower()}")(line)

    async def line(self) -> str | None:
        while b"\n" not in self.buffer:
            if not await self.receive():
                return None
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line.removesuffix(b"\r").decode()

    async def receive(self) -> bool:
        data = await self.reader.read(65536)
        self.server.received.append(data)
        self.buffer += data
        return bool(data)

    def say(self, *lines: str) -> None:
        if not lines:
            return
        code = lines[0][:3]
        *more, last = [lines[0], *(f"{code} {line}" for line in lines[1:])]
        marked = [f"{code}-{line[4:]}\r\n" for line in more]
        self.writer.write("".join([*marked, f"{last}\r\n"]).encode())

    def fault(self, phase: Phase) -> str | None:
        for recipient in self.recipients:
            at, what = BY_ADDRESS.get(recipient.partition("@")[0].partition("+")[0], (None, ""))
            if at is phase:
                return what
        return self.faults.get(phase)

    async def answer(self, phase: Phase, *lines: str) -> bool:
        """Says the lines, or does what the script wants instead; False after a refusal."""
        await asyncio.sleep(self.server.pace)
        fault = self.fault(phase)
        if fault is None:
            self.say(*lines)
        else:
            await self.fail(fault)
        return fault is None

    async def fail(self, fault: str) -> None:
        if fault == Fault.STALL:
            self.server.stalled.set()
            await self.server.stopped.wait()
        if fault == Fault.RESET:
            sock: socket.socket = self.writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.writer.transport.abort()
        if fault in set(Fault):
            raise GoneError
        self.writer.write(f"{fault}\r\n".encode("utf-8", "surrogateescape"))
        if fault.startswith("421"):
            await self.writer.drain()
            raise GoneError

    async def do_ehlo(self, line: str) -> None:
        offers = list(self.server.features)
        if self.server.context is not None and not self.is_encrypted:
            offers.append("STARTTLS")
        phase = Phase.EHLO_AGAIN if self.is_encrypted else Phase.EHLO
        await self.answer(phase, "250 fake.example", *offers)

    async def do_starttls(self, line: str) -> None:
        if not await self.answer(Phase.STARTTLS, "220 2.0.0 go ahead"):
            return
        if Phase.HANDSHAKE in self.faults:
            await self.receive()
            await self.fail(self.faults[Phase.HANDSHAKE])
        assert self.server.context is not None
        await self.writer.start_tls(self.server.context)
        self.is_encrypted = True

    async def do_auth(self, line: str) -> None:
        await self.answer(Phase.AUTH, "235 2.7.0 welcome")

    async def do_mail(self, line: str) -> None:
        if self.sender:
            self.say("503 5.5.1 nested MAIL")
        elif await self.answer(Phase.MAIL, "250 2.1.0 ok"):
            self.sender = line

    async def do_rcpt(self, line: str) -> None:
        if not self.sender:
            self.say("503 5.5.1 MAIL first")
            return
        address = line.partition("<")[2].partition(">")[0]
        if address.startswith("slow"):
            await asyncio.sleep(self.server.slow)
        self.recipients.append(address)
        if not await self.answer(Phase.RCPT, "250 2.1.5 ok"):
            self.recipients.pop()

    async def do_data(self, line: str) -> None:
        always = "354" in self.faults.get(Phase.DATA, "")
        if not self.recipients and not always:
            self.say("554 5.5.1 no valid recipients")
        elif await self.answer(Phase.DATA, "354 go ahead") or always:
            await self.message()

    async def message(self) -> None:
        seen = 0
        while (end := self.server.end_of_data.search(self.buffer, seen)) is None:
            seen = max(0, len(self.buffer) - 5)
            if Phase.BODY in self.faults and self.buffer:
                await self.fail(self.faults[Phase.BODY])
                self.faults = {}
            if not await self.receive():
                raise GoneError
        data, self.buffer = self.buffer[: end.start()], self.buffer[end.end() :]
        await self.judge(data)
        self.sender, self.recipients = "", []

    async def judge(self, data: bytes) -> None:
        if not await self.answer(Phase.DOT):
            return
        plain = re.sub(rb"(^|\r\n)\.", rb"\1", data)
        self.server.journal.append(Taken(self.sender, tuple(self.recipients), plain))
        await self.answer(Phase.TAKEN, f"250 2.0.0 Ok: queued as Q{len(self.server.journal)}")

    async def do_rset(self, line: str) -> None:
        self.sender, self.recipients = "", []
        await self.answer(Phase.RSET, "250 2.0.0 ok")

    async def do_noop(self, line: str) -> None:
        await self.answer(Phase.NOOP, "250 2.0.0 ok")


@asynccontextmanager
async def serving(server: FakeSmtp | None = None) -> AsyncIterator[FakeSmtp]:
    server = server or FakeSmtp()
    listener = await server.start()
    try:
        yield server
    finally:
        server.stopped.set()
        listener.close()
        await listener.wait_closed()
        if server.guests:
            await asyncio.wait(server.guests)
