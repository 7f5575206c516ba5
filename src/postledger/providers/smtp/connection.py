"""One connection to an SMTP server: replies in the order of their commands."""

import asyncio
from collections import deque
from typing import override

from postledger.providers import connection
from postledger.providers.connection import ConnectionBrokenError
from postledger.providers.smtp.replies import GarbledError, Reply, ReplyParser


def expect(reply: Reply, first_digit: int) -> None:
    if reply.code // 100 != first_digit:
        raise ConnectionBrokenError(
            ConnectionBrokenError.GARBLED, f"unexpected {reply.code} {reply.text}"
        )


class Connection(connection.Connection):
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._parser = ReplyParser()
        self._replies: deque[Reply] = deque()

    @property
    @override
    def has_input(self) -> bool:
        return bool(self._replies)

    @property
    def is_quiet(self) -> bool:
        """Whether it is open and the server has sent no reply without a command."""
        return self._broken is None and not self._replies and self._parser.is_between_replies

    def unread(self) -> Reply | None:
        return self._replies.popleft() if self._replies else None

    def check_quiet(self) -> Reply | None:
        """The reply without a command, if there is one; raises when the connection is broken."""
        if self._replies:
            return self._replies.popleft()
        if self._broken is not None:
            raise self._broken
        if not self._parser.is_between_replies:
            raise ConnectionBrokenError(
                ConnectionBrokenError.GARBLED, "the server began a reply without a command"
            )
        return None

    async def reply(self, until: float) -> Reply:
        """The next reply; replies received before the connection broke still count."""
        while not self._replies:
            await self._wait(until)
        return self._replies.popleft()

    @override
    def data_received(self, data: bytes) -> None:
        try:
            for reply in self._parser.feed(data):
                self._replies.append(reply)
        except GarbledError as error:
            self._break(ConnectionBrokenError.GARBLED, str(error))
        else:
            self._wake()
