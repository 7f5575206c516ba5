"""Hands one message over on an open session, and knows at every moment who has it."""

from postledger.lib import crashpoints
from postledger.lib.clock import Deadline
from postledger.lib.crashpoints import Point
from postledger.providers.base import InDoubt, NotSent, Outcome
from postledger.providers.smtp import framing, line, replies
from postledger.providers.smtp.framing import Frame
from postledger.providers.smtp.grammar import Reply
from postledger.providers.smtp.line import LineBrokenError
from postledger.providers.smtp.replies import Stage
from postledger.providers.smtp.session import Session
from postledger.providers.smtp.settings import Timeouts

_PIECE = 64 * 1024
_CLOSING = 421
_OK = 2
_GO_AHEAD = 3


class StaleError(Exception):
    """The server had given up the idle line before the message reached it: use another one."""


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
        self._is_heard = False
        session.stage = Stage.MAIL
        session.message_count += 1

    async def run(self) -> Outcome:
        """Raises StaleError while that is still certain to be harmless."""
        try:
            refusal = await self._envelope() or await self._body()
            if refusal is not None:
                return refusal
            return self._settled(await self._answer())
        except LineBrokenError as error:
            self._session.give_up()
            return self._broken(error)

    def interrupted(self) -> Outcome:
        """Gives up at this moment, and says what that means."""
        reply = self._session.line.unread()
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
        reply = await self._say(b"RSET")
        if reply.is_refusal:
            self._session.give_up()
            raise StaleError
        line.expect(reply, _OK)
        self._session.is_dirty = False

    async def _one_by_one(self, steps: list[tuple[Stage, bytes]]) -> Outcome | None:
        for stage, command in steps:
            self._session.stage = stage
            reply = await self._say(command)
            if reply.is_refusal:
                return self._refused(reply)
            line.expect(reply, _GO_AHEAD if stage is Stage.DATA else _OK)
            self._session.is_dirty = True
        return None

    async def _all_at_once(self, steps: list[tuple[Stage, bytes]]) -> Outcome | None:
        """Says everything before it hears anything; the first refusal counts."""
        self._session.line.write(b"".join([command + b"\r\n" for _, command in steps]))
        self._session.is_dirty = True
        refusal: Outcome | None = None
        for stage, _ in steps:
            if refusal is not None and self._session.is_over:
                break
            refusal = await self._hear_step(stage, refusal)
        return refusal

    async def _hear_step(self, stage: Stage, refusal: Outcome | None) -> Outcome | None:
        if refusal is None:
            self._session.stage = stage
        try:
            reply = await self._hear()
            if reply.is_refusal:
                return refusal or self._refused(reply)
            line.expect(reply, _GO_AHEAD if stage is Stage.DATA else _OK)
            if stage is Stage.DATA and refusal is not None:
                # Told to go ahead although nobody is to receive it: an empty message ends that.
                await self._say(b".")
                self._session.is_dirty = False
        except LineBrokenError:
            if refusal is None:
                raise
            self._session.give_up()
        return refusal

    async def _body(self) -> Outcome | None:
        """Writes all but the end; returns the refusal if the server speaks meanwhile.

        The end is the final dot, or the whole of a message that is small for the kernel. A large
        message has left this process when its dot is written.
        """
        session, data = self._session, self._frame.data
        session.stage = Stage.BODY
        if session.line.takes_at_once(len(data) + len(framing.DOT)):
            self._end = data + framing.DOT
            return self._unasked()
        for at in range(0, len(data), _PIECE):
            session.line.write(data[at : at + _PIECE])
            await session.line.drained(self._limit(self._timeouts.body))
            refusal = self._unasked()
            if refusal is not None:
                return refusal
        await session.line.ready_to_end(self._limit(self._timeouts.body))
        return self._unasked()

    def _unasked(self) -> Outcome | None:
        """An answer that nobody asked for must never be taken for the answer to the dot."""
        reply = self._session.line.check_quiet()
        if reply is None:
            return None
        if not reply.is_refusal:
            raise LineBrokenError(LineBrokenError.GARBLED, f"unasked {reply.code} {reply.text}")
        self._session.give_up()
        return replies.refusal(Stage.BODY, reply)

    async def _answer(self) -> Reply:
        session = self._session
        self._write_end()
        crashpoints.reached(Point.AFTER_DOT)
        reply = await session.line.reply(session.limit(self._timeouts.answer))
        crashpoints.reached(Point.AFTER_REPLY)
        session.is_dirty = False
        return reply

    def _write_end(self) -> None:
        """Gives the final dot to the kernel before `dot_by`, or gives the line up without it.

        No dot waits in this process, where a stop (SIGSTOP, a suspended machine) would let it leave
        hours later: the clock is read directly before the write, and the write is one call to the
        kernel, which takes the end at once. What no code can close is a stop between these two
        instructions. What the kernel has leaves without this process, within TCP_USER_TIMEOUT.
        """
        session = self._session
        crashpoints.reached(Point.BEFORE_DOT)
        if self._dot_by.has_passed():
            raise LineBrokenError(LineBrokenError.TIMEOUT, "too late for the final dot")
        # From here on the message may be the server's: the mark comes before the write.
        session.stage = Stage.ANSWER
        session.line.write(self._end)
        if not session.line.has_written_all():
            session.stage = Stage.BODY  # its last bytes are still here, and will go nowhere
            raise LineBrokenError(LineBrokenError.STUCK, "the kernel did not take the final dot")

    def _settled(self, reply: Reply) -> Outcome:
        outcome = replies.answer(reply, self._delivery_id)
        if reply.code == _CLOSING or isinstance(outcome, InDoubt):
            self._session.give_up()
        return outcome

    def _refused(self, reply: Reply) -> Outcome:
        stage = self._session.stage
        if reply.code == _CLOSING:
            self._session.give_up()
            if self._is_reused and stage is Stage.MAIL:
                raise StaleError
        return replies.refusal(stage, reply)

    def _broken(self, error: LineBrokenError) -> Outcome:
        stage = self._session.stage
        has_hung_up = error.code in {LineBrokenError.CLOSED, LineBrokenError.RESET}
        if has_hung_up and stage is Stage.MAIL and self._is_reused and not self._is_heard:
            raise StaleError
        is_out_of_time = self._dot_by.has_passed()
        if error.code == LineBrokenError.TIMEOUT and is_out_of_time and stage is not Stage.ANSWER:
            return NotSent(f"the deadline came at {stage.name}")
        return replies.broken(stage, error.code, error.detail)

    async def _say(self, command: bytes) -> Reply:
        self._session.line.write(command + b"\r\n")
        return await self._hear()

    async def _hear(self) -> Reply:
        reply = await self._session.reply(self._dot_by.loop_time())
        self._is_heard = True
        return reply

    def _limit(self, seconds: float) -> float:
        return min(self._dot_by.loop_time(), self._session.limit(seconds))
