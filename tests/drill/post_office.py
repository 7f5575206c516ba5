"""An SMTP server in a process of its own whose journal, written before it answers, is the truth
about what was taken: `python -m tests.drill.post_office PORT JOURNAL [SECONDS]`.
"""

import asyncio
import os
import re
import sys
import time
from pathlib import Path
from typing import cast, override

_ID = re.compile(rb"^X-Postledger-Id: (\S+)\r$", re.MULTILINE | re.IGNORECASE)
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


class Journal:
    """Mails that come in together are written together, then answered.

    What was written outlives its process. The disk is not waited for: a disk that is slow for
    seconds would be a doubt that no fault explains.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._new: list[tuple[str, Guest]] = []

    def take(self, line: str, guest: "Guest") -> None:
        if not self._new:
            asyncio.get_running_loop().call_soon(self._flush)
        self._new.append((line, guest))

    def _flush(self) -> None:
        new, self._new = self._new, []
        text = "".join(line for line, _ in new).encode()
        while text:
            text = text[os.write(self._file, text) :]
        for _, guest in new:
            guest.say("250 2.0.0 taken")


class Guest(asyncio.Protocol):
    def __init__(self, journal: Journal, pace: float) -> None:
        self._journal = journal
        self._pace = pace
        self._buffer = b""
        self._recipient = ""
        self._is_data = False
        self._transport: asyncio.Transport | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.say("220 office.example ESMTP")

    @override
    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while self._mail() if self._is_data else self._command():
            pass

    def say(self, reply: str) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(f"{reply}\r\n".encode())

    def _command(self) -> bool:
        line, end, rest = self._buffer.partition(b"\r\n")
        if not end:
            return False
        self._buffer = rest
        verb = line[:4].decode("ascii", "replace").upper()
        if verb == "RCPT":
            self._recipient = line.partition(b"<")[2].partition(b">")[0].decode()
        self._is_data = verb == "DATA"
        self.say(_REPLIES.get(verb, "500 5.5.1 what?"))
        if verb == "QUIT" and self._transport is not None:
            self._transport.close()
        return True

    def _mail(self) -> bool:
        data, end, rest = self._buffer.partition(_DOT)
        if not end:
            return False
        self._buffer, self._is_data = rest, False
        found = _ID.search(data)
        name = found[1].decode() if found else "unknown"
        # It takes a moment to decide, in which its client may die; the mail is taken all the same.
        asyncio.get_running_loop().call_later(self._pace, self._take, name, self._recipient)
        return True

    def _take(self, name: str, recipient: str) -> None:
        self._journal.take(f"{name} {recipient} {time.time():.6f}\n", self)


async def serve(port: int, path: Path, pace: float) -> None:
    journal = Journal(path)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Guest(journal, pace), "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), Path(sys.argv[2]), float((*sys.argv, "0.1")[3])))
