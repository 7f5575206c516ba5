"""Hands one request over on an open connection, and knows at every moment whether it was taken."""

from dataclasses import dataclass
from enum import IntEnum

from postledger.lib import crashpoints
from postledger.lib.clock import Deadline
from postledger.lib.crashpoints import Point
from postledger.providers.connection import ConnectionBrokenError
from postledger.providers.http.connection import Connection
from postledger.providers.http.messages import Answer, Request
from postledger.providers.windows import NotHandedOverError

_PIECE = 64 * 1024
# Withheld of a large request. More than one byte, because a transport may keep a single one.
_END = 2


class Stage(IntEnum):
    """How far a request has come; from ANSWER on the service may have it."""

    CONNECT = 1
    REQUEST = 2
    ANSWER = 3  # the last byte was given to the kernel


@dataclass(frozen=True, slots=True)
class Break:
    """No complete answer came; the code is one of ConnectionBrokenError's, or of the connect."""

    stage: Stage
    code: str
    detail: str


class StaleError(Exception):
    """The service ended the kept connection before the request reached it: use another one."""


class Exchange:
    """One request; the order of its steps is the whole point of this module.

    Until the stage is ANSWER the service cannot have the request: it lacks the last byte.
    After `end_by` that byte is not written. The answer is waited for until `answer_until`, a moment
    of the event loop.
    """

    def __init__(
        self,
        connection: Connection,
        request: Request,
        *,
        end_by: Deadline,
        answer_until: float,
    ) -> None:
        self.stage = Stage.REQUEST
        self._connection = connection
        self._request = request
        self._end_by = end_by
        self._answer_until = answer_until
        self._is_kept = connection.is_kept

    async def run(self) -> Answer | Break:
        """Raises StaleError, and NotHandedOverError for an error that nobody foresaw, while the
        service is certain not to have the request.
        """
        try:
            answer = await self._write() or await self._finish()
        except ConnectionBrokenError as error:
            self._connection.abort()
            return self._break(error)
        except StaleError:
            raise
        except Exception as error:
            self._connection.abort()
            if self.stage is Stage.ANSWER:
                raise
            raise NotHandedOverError from error
        if not self._connection.can_follow:
            self._connection.abort()
        self._connection.is_kept = True
        return answer

    def interrupt(self) -> Answer | Break:
        """Gives up at this moment; an answer that has come meanwhile still counts."""
        answer = self._connection.take_answer() if self.stage is Stage.ANSWER else None
        self._connection.abort()
        return answer or Break(self.stage, ConnectionBrokenError.CANCELLED, "told to stop")

    async def _write(self) -> Answer | None:
        """Writes all but the end, and returns an answer that came before the end could be written.

        The end is the whole of a request that is small for the kernel.
        """
        if self._is_kept and not self._connection.is_silent():
            self._connection.abort()
            raise StaleError
        data = self._connection.begin(self._request)
        if not self._connection.takes_at_once(len(data)):
            await self._write_pieces(memoryview(data)[:-_END])
            answer = await self._early_answer()
            data = data[-_END:]
        elif self._is_kept:
            answer = None  # nothing was awaited since the look
        else:
            answer = await self._early_answer()
        if answer is None:
            self._write_end(data)
        return answer

    async def _write_pieces(self, data: memoryview) -> None:
        connection = self._connection
        for at in range(0, len(data), _PIECE):
            connection.write(data[at : at + _PIECE])
            await connection.drained(self._end_by.loop_time())
            if connection.has_input:
                return
        await connection.ready_to_end(self._end_by.loop_time())

    async def _early_answer(self) -> Answer | None:
        """The answer to an unfinished request, if the service gives one.

        Nothing is awaited between the look that found silence and the return.
        """
        connection, until = self._connection, self._end_by.loop_time()
        while not connection.is_silent():
            if connection.has_input:
                return await connection.read_answer(self._answer_until)
            await connection.listen(until)
        return None

    def _write_end(self, end: bytes) -> None:
        """Gives the last byte to the kernel before `end_by`, or aborts the connection without it.

        No last byte waits in this process, where a stop (SIGSTOP, a suspended machine) would let it
        leave hours later: the clock is read directly before the write, and the write is one call to
        the kernel, which takes the end at once. Bytes in the kernel leave without this process,
        within TCP_USER_TIMEOUT.
        """
        crashpoints.reached(Point.BEFORE_DOT)
        if self._end_by.has_passed():
            raise ConnectionBrokenError(ConnectionBrokenError.TIMEOUT, "too late for its end")
        # From here on the request may be the service's: the mark comes before the write.
        self.stage = Stage.ANSWER
        self._connection.end()
        try:
            self._connection.write_at_once(end)
        except ConnectionBrokenError:
            self.stage = Stage.REQUEST  # its last byte is still here, and will go nowhere
            raise

    async def _finish(self) -> Answer:
        crashpoints.reached(Point.AFTER_DOT)
        answer = await self._connection.read_answer(self._answer_until)
        crashpoints.reached(Point.AFTER_REPLY)
        return answer

    def _break(self, error: ConnectionBrokenError) -> Break:
        has_hung_up = error.code in {ConnectionBrokenError.CLOSED, ConnectionBrokenError.RESET}
        is_unanswered = self.stage is Stage.REQUEST and not self._connection.has_input
        if has_hung_up and is_unanswered and self._is_kept:
            raise StaleError
        return Break(self.stage, error.code, error.detail)
