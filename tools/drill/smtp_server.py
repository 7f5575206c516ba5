"""An SMTP server that writes a journal of every taken mail before it answers.

`python -m tools.drill.smtp_server PORT JOURNAL SECONDS MOOD`. The journal outlives the process; it
is not synced to disk, because a slow disk would cause doubts that no fault explains.

One line for each transaction: `id address ended began code inside`. `id` is `-` if the message did
not arrive, `code` is `-` if the client left without an answer, and `inside` are the recipients
named in the message.

The address decides the reply: `refuse+…` gets 550, `later+…` always 451, `soon+N+…` N times 451,
`hide+…` 550 after the dot. The file MOOD has one word for all: `throttle`, `block`, `busy`,
`silent` (mails are taken, and answered once the mood has changed), `14/s` (so many are taken in any
second, and the others throttled), or nothing.
"""

import asyncio
import os
import re
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import cast, override

_ID = re.compile(rb"^X-Postledger-Id: (\S+)\r$", re.MULTILINE | re.IGNORECASE)
_TO = re.compile(rb"^To: (?:[^\r\n]*<)?([^<>\s@]+@[^<>\s@]+)>?\r?$", re.MULTILINE | re.IGNORECASE)
# A mail of a drill names its recipient in its body too.
_MARK = re.compile(rb"\[\[for ([^\]\s]+)\]\]")
_DOT = b"\r\n.\r\n"
_REPLIES = {
    "EHLO": "250-office.example\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n"
    "250 AUTH PLAIN",
    "HELO": "250 office.example",
    "AUTH": "235 2.7.0 welcome",
    "MAIL": "250 2.1.0 ok",
    "RCPT": "250 2.1.5 ok",
    "DATA": "354 go ahead",
    "RSET": "250 2.0.0 ok",
    "NOOP": "250 2.0.0 ok",
    "QUIT": "221 2.0.0 bye",
}
_LOOK_AGAIN = 0.02
_TAKEN = "250 2.0.0 taken"
_REFUSED = "550 5.1.1 no such mailbox"
_LATER = "451 4.3.0 try again later"
_TOO_MUCH = "450 4.7.1 too much mail"
_MOODS = {
    ("throttle", "MAIL"): "450 4.7.1 too many messages, rate limit",
    ("busy", "MAIL"): "421 4.3.2 too much mail, sending rate exceeded",
    ("block", "AUTH"): "535 5.7.8 bad credentials",
    ("block", "MAIL"): "554 5.7.8 account is suspended",
}


def mark(address: str) -> str:
    """The text that names the recipient in a mail's body."""
    return f"[[for {address}]]"


class Answers:
    """Chooses replies; reads the mood each time, so that a change of the file counts at once."""

    def __init__(self, mood: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._mood = mood
        self._clock = clock
        self._asked: Counter[str] = Counter()
        self._begun: deque[float] = deque()  # the mails of the last second

    def to_command(self, verb: str, recipient: str) -> str:
        word = self._word()
        in_this_mood = _MOODS.get((word, verb))
        if in_this_mood is not None:
            return in_this_mood
        rate, is_rate, _ = word.partition("/s")
        if verb == "MAIL" and is_rate and not self._admits(int(rate)):
            return _TOO_MUCH
        if verb == "RCPT":
            return self._to_recipient(recipient) or _REPLIES["RCPT"]
        return _REPLIES.get(verb, "500 5.5.1 unknown command")

    @property
    def is_silent(self) -> bool:
        return self._word() == "silent"

    def to_mail(self, recipient: str) -> str:
        return _REFUSED if recipient.startswith("hide+") else _TAKEN

    def _admits(self, rate: int) -> bool:
        """Whether one more mail may begin; no second has more of them than the rate."""
        now = self._clock()
        while self._begun and self._begun[0] <= now - 1.0:
            self._begun.popleft()
        if len(self._begun) >= rate:
            return False
        self._begun.append(now)
        return True

    def _to_recipient(self, recipient: str) -> str | None:
        word, _, remainder = recipient.partition("+")
        if word == "refuse":
            return _REFUSED
        if word == "later":
            return _LATER
        if word == "soon":
            self._asked[recipient] += 1
            if self._asked[recipient] <= int(remainder.partition("+")[0]):
                return _LATER
        return None

    def _word(self) -> str:
        with suppress(FileNotFoundError):
            return self._mood.read_text().strip()
        return ""


class Journal:
    """Writes concurrent mails together, then answers them."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._new: list[tuple[str, ServerSession, str]] = []

    def note(self, line: str, session: "ServerSession", reply: str) -> None:
        if not self._new:
            asyncio.get_running_loop().call_soon(self._flush)
        self._new.append((line, session, reply))

    def write(self, lines: str) -> None:
        text = lines.encode()
        while text:
            text = text[os.write(self._file, text) :]

    def _flush(self) -> None:
        new, self._new = self._new, []
        self.write("".join(line for line, _, _ in new))
        for _, session, reply in new:
            session.answer(reply)


class ServerSession(asyncio.Protocol):
    def __init__(self, journal: Journal, answers: Answers, pace: float) -> None:
        self._journal = journal
        self._answers = answers
        self._pace = pace
        self._buffer = b""
        self._recipient = ""
        self._began_at = 0.0
        self._is_data = False
        self._is_open = False  # a transaction has begun and its end is not in the journal
        self._transport: asyncio.Transport | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.say("220 office.example ESMTP")

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        if self._is_open and self._recipient:
            self._write_down("-")

    @override
    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while self._mail() if self._is_data else self._command():
            pass

    def answer(self, reply: str) -> None:
        """Answers a mail that is in the journal; in a silent mood, once that is over."""
        if self._answers.is_silent:
            asyncio.get_running_loop().call_later(_LOOK_AGAIN, self.answer, reply)
        else:
            self.say(reply)

    def say(self, reply: str) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(f"{reply}\r\n".encode())
            if reply.startswith("421"):
                self._transport.close()

    def _command(self) -> bool:
        line, end, remaining = self._buffer.partition(b"\r\n")
        if not end:
            return False
        self._buffer = remaining
        verb = line[:4].decode("ascii", "replace").upper()
        if verb == "MAIL":
            self._began_at, self._is_open, self._recipient = time.time(), True, ""
        if verb == "RCPT":
            self._recipient = line.partition(b"<")[2].partition(b">")[0].decode()
        reply = self._answers.to_command(verb, self._recipient)
        if verb == "DATA" and not self._is_open:
            reply = "503 5.5.1 nobody is to receive it"
        self._is_data = verb == "DATA" and reply.startswith("354")
        if verb == "RCPT" and reply[0] in "45":
            self._write_down(reply[:3])
        if verb in {"MAIL", "RCPT"} and reply[0] in "45":
            self._is_open = False
        self.say(reply)
        if verb == "QUIT" and self._transport is not None:
            self._transport.close()
        return True

    def _mail(self) -> bool:
        data, end, remaining = self._buffer.partition(_DOT)
        if not end:
            return False
        self._buffer, self._is_data = remaining, False
        name = _ID.search(data)
        # The client may die before the answer; the mail is taken all the same.
        asyncio.get_running_loop().call_later(
            self._pace,
            self._answer,
            name[1].decode() if name else "unknown",
            self._recipient,
            self._began_at,
            inside(data),
        )
        self._is_open = False
        return True

    def _answer(self, name: str, recipient: str, began_at: float, named: str) -> None:
        reply = self._answers.to_mail(recipient)
        line = f"{name} {recipient} {time.time():.6f} {began_at:.6f} {reply[:3]} {named}"
        self._journal.note(f"{line.rstrip()}\n", self, reply)

    def _write_down(self, code: str) -> None:
        """Records at once a transaction that ended before its message arrived."""
        ended = f"{time.time():.6f} {self._began_at:.6f}"
        self._journal.write(f"- {self._recipient} {ended} {code}\n")


def inside(data: bytes) -> str:
    """The recipients named in the To header and in the body."""
    header, _, body = data.partition(b"\r\n\r\n")
    named = [*_TO.findall(header), *_MARK.findall(body)]
    return ",".join(dict.fromkeys(address.decode() for address in named))


async def serve(port: int, journal: Path, pace: float, mood: Path) -> None:
    written, answers = Journal(journal), Answers(mood)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: ServerSession(written, answers, pace), "127.0.0.1", port
    )
    await server.serve_forever()


if __name__ == "__main__":
    _, _port, _journal, _pace, _mood = sys.argv
    asyncio.run(serve(int(_port), Path(_journal), float(_pace), Path(_mood)))
