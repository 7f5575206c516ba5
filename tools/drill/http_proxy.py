"""The proxy in front of a fake vendor: passes requests on one by one, and writes each of them down.

A request is read whole before it is passed on, so the client has always written its last byte: a
cut leaves a doubt, whether the service got the request or not.
"""

import asyncio
import json
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, override

from postledger.lib.ids import DeliveryId
from tools.drill import reading
from tools.drill.chaos import PATIENCE, TOO_LATE, Cut, Proxy, Stream
from tools.drill.records import Exchange

TAKEN, LATER, REFUSED = 250, 451, 550  # the codes that SMTP has for these answers
_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"^content-length: *(\d+)\r$", re.MULTILINE | re.IGNORECASE)
# Of a client, in seconds: to the last byte of the request, and to the last byte of the answer.
REQUEST_TIME, CALL_TIME = 1.5, 4.0
# The client's clock starts before ours: an answer is heard for certain, or certainly not.
_IN_TIME = CALL_TIME - REQUEST_TIME - 0.5
_SILENT_FOR = TOO_LATE + 1.0
_BETWEEN_BYTES = 0.002


@dataclass(frozen=True, slots=True)
class Dialect:
    """What the proxy has to know of a vendor, told without our client."""

    send: bytes  # how a request begins that has a mail
    read_mail: Callable[[Any], tuple[str, str]]  # the address and the reference in its document
    # The code that SMTP has for a whole answer, of its head and body; None leaves a doubt.
    judge: Callable[[bytes, bytes], int | None]

    def judge_answer(self, answer: bytes) -> int | None:
        """None if the answer leaves the mail in doubt."""
        if not (answer.startswith(b"HTTP/1.1 ") and is_complete(answer)):
            return None
        head, _, body = answer.partition(_HEAD_END)
        return self.judge(head, body)


class HttpProxy(Proxy):
    def __init__(self, target: int, dialect: Dialect) -> None:
        self.dialect = dialect
        self.exchanges: list[Exchange] = []
        self.unanswered: set[tuple[str, int]] = set()  # tries whose answer no client understood
        super().__init__(target)

    @override
    async def carry(self, client: Stream) -> None:
        reader, writer = client
        try:
            while await self._serve_one(client, await self._read_request(reader)):
                pass
        finally:
            writer.close()

    async def _serve_one(self, client: Stream, request: "_Request | bytes") -> bool:
        """Whether another request may follow."""
        if isinstance(request, _Request):
            return await _Exchange(self, client, request).run()
        reader, writer = await self.connect()
        writer.write(request)
        answer = b""
        while not is_complete(answer) and (data := await reader.read(65536)):
            answer += data
        client[1].write(answer)
        writer.close()
        return True

    async def _read_request(self, reader: asyncio.StreamReader) -> "_Request | bytes":
        """A mail, or anything else as it came: such as a question for a certificate."""
        head = await reader.readuntil(_HEAD_END)
        length = _LENGTH.search(head)
        body = await reader.readexactly(int(length[1]) if length else 0)
        if not head.startswith(self.dialect.send):
            return head + body
        address, reference = self.dialect.read_mail(json.loads(body))
        try_ = reading.parse_reference(reference)
        assert try_ is not None
        return _Request(head + body, address, try_)


@dataclass(frozen=True, slots=True)
class _Request:
    data: bytes
    address: str
    try_: DeliveryId


class _Exchange:
    """One request and its answer."""

    def __init__(self, proxy: HttpProxy, client: Stream, request: _Request) -> None:
        self._proxy = proxy
        self._client = client[1]
        self._request = request
        self._began_at = time.time()
        self._fate = proxy.fate()

    async def run(self) -> bool:
        """Whether another request may follow."""
        if self._fate is not None:
            self._proxy.counts[self._fate] += 1
        if self._fate in {Cut.BEFORE, Cut.BLACK_HOLE}:
            self._note(None)
            await asyncio.sleep(PATIENCE if self._fate is Cut.BLACK_HOLE else 0)
            self._client.transport.abort()
            return False
        reader, writer = await self._proxy.connect()
        try:
            writer.write(self._request.data)
            return await self._pass_answer(reader)
        finally:
            writer.close()

    async def _pass_answer(self, reader: asyncio.StreamReader) -> bool:
        answer, is_reset = await self._read_answer(reader)
        code = self._proxy.dialect.judge_answer(answer)
        if self._fate in {None, Cut.DRIP}:
            self._note(code)
        else:
            self._note(None)
            await self._cut(answer)
        if self._fate is Cut.DRIP:
            await self._drip(answer)
        if self._fate in {None, Cut.DRIP} and is_complete(answer):
            return True
        if is_reset:
            self._client.transport.abort()
        return False

    async def _read_answer(self, reader: asyncio.StreamReader) -> tuple[bytes, bool]:
        """The answer as far as it comes, and whether a reset ended it; passed on meanwhile."""
        answer = b""
        try:
            async with asyncio.timeout(_SILENT_FOR):
                while not is_complete(answer) and (data := await reader.read(65536)):
                    answer += data
                    if self._fate is None:
                        self._say(data)
        except TimeoutError:
            pass
        except OSError:
            return answer, True
        return answer, False

    async def _cut(self, answer: bytes) -> None:
        match self._fate:
            case Cut.AFTER:
                self._client.transport.abort()
            case Cut.HALF_CLOSE:
                with suppress(OSError):
                    self._client.write_eof()
                await asyncio.sleep(PATIENCE)
            case _:
                await asyncio.sleep(TOO_LATE)
                self._say(answer)

    async def _drip(self, answer: bytes) -> None:
        for byte in answer:
            self._say(bytes([byte]))
            await asyncio.sleep(_BETWEEN_BYTES)

    def _say(self, data: bytes) -> None:
        if not self._client.is_closing():  # the worker may be dead
            self._client.write(data)

    def _note(self, code: int | None) -> None:
        """Writes the exchange down; without a code nobody at the client's side can know its end."""
        request, proxy, ended_at = self._request, self._proxy, time.time()
        try_, seconds = request.try_, ended_at - self._began_at
        mail = DeliveryId(try_.stream_id, try_.position).text()
        if code is None or seconds > _IN_TIME:
            proxy.cut_addresses.add(request.address)
        # A worker that stood still meanwhile reads a late answer, and books what it says.
        if code is None:
            proxy.unanswered.add((mail, try_.try_number))
        proxy.exchanges.append(
            Exchange(request.address, self._began_at, ended_at, code, mail, try_.try_number)
        )


def is_complete(answer: bytes) -> bool:
    head, end, body = answer.partition(_HEAD_END)
    length = _LENGTH.search(head + b"\r\n")
    return bool(end and length) and len(body) >= int(length[1] if length else 0)


def read_object(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
