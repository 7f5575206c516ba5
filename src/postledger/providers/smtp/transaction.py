"""Hands one message over on an open session, and knows at every moment whether it was taken."""

from postledger.lib import crashpoints
from postledger.lib.clock import Deadline
from postledger.lib.crashpoints import Point
from postledger.providers.base import InDoubt, NotSent, Outcome
from postledger.providers.connection import ConnectionBrokenError
from postledger.providers.smtp import connection, framing, outcomes
from postledger.providers.smtp.framing import Frame
from postledger.providers.smtp.outcomes import Stage
from postledger.providers.smtp.replies import Reply
from postledger.providers.smtp.session import Session
from postledger.providers.smtp.settings import Timeouts

_PIECE = 64 * 1024
_CLOSING = 421
_OK = 2
_GO_AHEAD = 3


class StaleError(Exception):
    """The server closed the idle connection before the message reached it: use another one."""


class Transaction:
    """One hand-over; the order of its steps is the whole point of this module.

    Until the session's stage is ANSWER the server cannot have the message.
    After `dot_by` no final dot is written: its answer could not be waited for in full.
    """

    def __init__(
        self,
        session: Session,
        frame: Frame,
        delivery_id: str,
        *,
        timeouts: Timeouts,
        dot_by: Deadline,
    ) -> None:
        self._session = session
        self._frame = frame
        self._delivery_id = delivery_id
        self._timeouts = timeouts
        self._dot_by = dot_by
        self._end = framing.DOT
        self._is_reused = session.message_count > 0
        self._has_reply = False
        session.stage = Stage.MAIL
        session.message_count += 1

    async def run(self) -> Outcome:
        """Raises StaleError while that is still certain to be harmless."""
        try:
            refusal = await self._envelope() or await self._body()
            if refusal is not None:
                return refusal
            return self._settled(await self._answer())
        except ConnectionBrokenError as error:
            self._session.give_up()
            return self._broken(error)

    def interrupted(self) -> Outcome:
        """Gives up at this moment, and returns the outcome."""
        reply = self._session.connection.unread()
        self._session.give_up()
        if self._session.stage is not Stage.ANSWER:
            return NotSent("cancelled before the final dot")
        if reply is None:
            return InDoubt("cancelled while waiting for the answer")
        return self._settled(reply)  # the answer and the cancellation came together

    async def _envelope(self) -> Outcome | None:
        """Gets as far as the server's go-ahead, or returns its refusal."""
        frame, features = self._frame, self._session.features
        objection = frame.objection(features)
        if objection is not None:
            return objection
        if self._session.is_dirty:
            await self._reset()
        steps = [
            (Stage.MAIL, frame.mail(features)),
            (Stage.RCPT, frame.rcpt()),
            (Stage.DATA, b"DATA"),
        ]
        if features.pipelining:
            return await self._all_at_once(steps)
        return await self._one_by_one(steps)

    async def _reset(self) -> None:
        reply = await self._command(b"RSET")
        if reply.is_refusal:
            self._session.give_up()
            raise StaleError
        connection.expect(reply, _OK)
        self._session.is_dirty = False

    async def _one_by_one(self, steps: list[tuple[Stage, bytes]]) -> Outcome | None:
        for stage, command in steps:
            self._session.stage = stage
            reply = await self._command(command)
            if reply.is_refusal:
                return self._refused(reply)
            connection.expect(reply, _GO_AHEAD if stage is Stage.DATA else _OK)
            self._session.is_dirty = True
        return None

    async def _all_at_once(self, steps: list[tuple[Stage, bytes]]) -> Outcome | None:
        """Sends all commands before it reads a reply; the first refusal counts."""
        self._session.connection.write(b"".join([command + b"\r\n" for _, command in steps]))
        self._session.is_dirty = True
        refusal: Outcome | None = None
        for stage, _ in steps:
            if refusal is not None and self._session.is_over:
                break
            refusal = await self._read_step(stage, refusal)
        return refusal

    async def _read_step(self, stage: Stage, refusal: Outcome | None) -> Outcome | None:
        if refusal is None:
            self._session.stage = stage
        try:
            reply = await self._read_reply()
            if reply.is_refusal:
                return refusal or self._refused(reply)
            connection.expect(reply, _GO_AHEAD if stage is Stage.DATA else _OK)
            if stage is Stage.DATA and refusal is not None:
                # The server expects data although it refused the envelope: send an empty message.
                await self._command(b".")
                self._session.is_dirty = False
        except ConnectionBrokenError:
            if refusal is None:
                raise
            self._session.give_up()
        return refusal

    async def _body(self) -> Outcome | None:
        """Writes all but the end; returns the refusal if the server replies meanwhile.

        The end is the final dot, or the whole of a message that is small for the kernel. A large
        message has left this process when its dot is written.
        """
        session, data = self._session, self._frame.data
        session.stage = Stage.BODY
        if session.connection.takes_at_once(len(data) + len(framing.DOT)):
            self._end = data + framing.DOT
            return self._early_refusal()
        for at in range(0, len(data), _PIECE):
            session.connection.write(data[at : at + _PIECE])
            await session.connection.drained(self._limit(self._timeouts.body))
            refusal = self._early_refusal()
            if refusal is not None:
                return refusal
        await session.connection.ready_to_end(self._limit(self._timeouts.body))
        return self._early_refusal()

    def _early_refusal(self) -> Outcome | None:
        """A reply that came too early must never be taken for the answer to the dot."""
        reply = self._session.connection.check_quiet()
        if reply is None:
            return None
        if not reply.is_refusal:
            raise ConnectionBrokenError(
                ConnectionBrokenError.GARBLED, f"early {reply.code} {reply.text}"
            )
        self._session.give_up()
        return outcomes.refusal(Stage.BODY, reply)

    async def _answer(self) -> Reply:
        session = self._session
        self._write_end()
        crashpoints.reached(Point.AFTER_DOT)
        reply = await session.connection.reply(session.limit(self._timeouts.answer))
        crashpoints.reached(Point.AFTER_REPLY)
        session.is_dirty = False
        return reply

    def _write_end(self) -> None:
        """Gives the final dot to the kernel before `dot_by`, or aborts the connection without it.

        No dot waits in this process, where a stop (SIGSTOP, a suspended machine) would let it leave
        hours later: the clock is read directly before the write, and the write is one call to the
        kernel, which takes the end at once. No code can prevent a stop between these two
        instructions. Bytes in the kernel leave without this process, within TCP_USER_TIMEOUT.
        """
        session = self._session
        crashpoints.reached(Point.BEFORE_DOT)
        if self._dot_by.has_passed():
            raise ConnectionBrokenError(ConnectionBrokenError.TIMEOUT, "too late for the final dot")
        # From here on the message may be the server's: the mark comes before the write.
        session.stage = Stage.ANSWER
        try:
            session.connection.write_at_once(self._end)
        except ConnectionBrokenError:
            session.stage = Stage.BODY  # its last bytes are still here, and will go nowhere
            raise

    def _settled(self, reply: Reply) -> Outcome:
        outcome = outcomes.answer(reply, self._delivery_id)
        if reply.code == _CLOSING or isinstance(outcome, InDoubt):
            self._session.give_up()
        return outcome

    def _refused(self, reply: Reply) -> Outcome:
        stage = self._session.stage
        if reply.code == _CLOSING:
            self._session.give_up()
            if self._is_reused and stage is Stage.MAIL:
                raise StaleError
        return outcomes.refusal(stage, reply)

    def _broken(self, error: ConnectionBrokenError) -> Outcome:
        stage = self._session.stage
        has_hung_up = error.code in {ConnectionBrokenError.CLOSED, ConnectionBrokenError.RESET}
        if has_hung_up and stage is Stage.MAIL and self._is_reused and not self._has_reply:
            raise StaleError
        is_out_of_time = self._dot_by.has_passed()
        if (
            error.code == ConnectionBrokenError.TIMEOUT
            and is_out_of_time
            and stage is not Stage.ANSWER
        ):
            return NotSent(f"the deadline came at {stage.name}")
        return outcomes.broken(stage, error.code, error.detail)

    async def _command(self, command: bytes) -> Reply:
        self._session.connection.write(command + b"\r\n")
        return await self._read_reply()

    async def _read_reply(self) -> Reply:
        reply = await self._session.reply(self._dot_by.loop_time())
        self._has_reply = True
        return reply

    def _limit(self, seconds: float) -> float:
        return min(self._dot_by.loop_time(), self._session.limit(seconds))
