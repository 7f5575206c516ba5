"""One connection to an HTTP/1.1 service: one request at a time, and its answer."""

import asyncio
from typing import override

from postledger.lib.sentences import say
from postledger.providers import connection
from postledger.providers.connection import ConnectionBrokenError
from postledger.providers.http.messages import (
    MAX_BODY,
    Answer,
    AnswerParser,
    GarbledError,
    Request,
)


class Connection(connection.Connection):
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        most_bytes: int = MAX_BODY,
        *,
        reads_body: bool = True,
    ) -> None:
        super().__init__(loop)
        self._parser = AnswerParser(most_bytes, reads_body=reads_body)
        self.is_kept = False  # whether an earlier request was answered on it
        self.idle_since = 0.0  # of the pool's clock

    @property
    @override
    def has_input(self) -> bool:
        return self._parser.has_head

    @property
    def is_open(self) -> bool:
        return self._broken is None

    @property
    def can_follow(self) -> bool:
        """Whether it may be kept for another request."""
        return self.is_open and self._parser.can_follow

    def is_silent(self) -> bool:
        """Whether the service has said nothing, not even an end that only the kernel knows of."""
        return self.is_open and self._parser.is_quiet and not self._has_unread_bytes()

    def begin(self, request: Request) -> bytes:
        """All bytes of the request; none of them is written yet."""
        self._parser.begin_request(request)
        return request.to_bytes()

    def end(self) -> None:
        """Notes that the request is complete: what comes from now on is no early answer."""
        self._parser.end_request()

    def take_answer(self) -> Answer | None:
        return self._parser.answer

    async def read_answer(self, until: float) -> Answer:
        """The answer; if it was complete before the connection broke, it still counts."""
        while self._parser.answer is None:
            await self._wait(until)
        return self._parser.answer

    async def listen(self, until: float) -> None:
        """Gives the loop a moment to read what the kernel has."""
        await self._wait_a_little(until)

    @override
    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed(data)
        except GarbledError as error:
            self._break(ConnectionBrokenError.GARBLED, str(error))
        else:
            self._wake()

    @override
    def eof_received(self) -> None:
        """The end of the bytes is also the end of an answer that names no length."""
        if self._parser.has_head and self._parser.answer is None:
            self.data_received(b"")
        self._break(ConnectionBrokenError.CLOSED, say("the service closed the connection"))
