"""Named points in the code at which a drill may kill the process.

`CRASH_AT=after_arm:3` in the environment sends this process SIGKILL on its third pass of that
point, like a power cut: no handler runs, nothing is flushed. With a recipient instead of the
number, as in `CRASH_AT=compose:ann@acme.example`, it dies whenever that mail reaches the point.
"""

import os
import signal
from dataclasses import dataclass
from enum import StrEnum
from itertools import count


class Point(StrEnum):
    BEFORE_CLAIM = "before_claim"  # a stream worker has its provider and is about to claim
    AFTER_CLAIM = "after_claim"  # the lease is committed
    AFTER_READ = "after_read"  # recipients and contents are in memory
    COMPOSE = "compose"  # one recipient's mail is about to be composed
    AFTER_COMPOSE = "after_compose"  # the bytes of every mail are there
    BEFORE_ARM = "before_arm"  # the statement that arms is about to be sent
    AFTER_ARM = "after_arm"  # the arm is committed, nothing was sent
    BEFORE_CONNECT = "before_connect"  # mails are armed, there is no connection yet
    AFTER_CONNECT = "after_connect"  # the connection is open, nothing was sent
    BEFORE_DOT = "before_dot"  # the server has all but the end of the mail
    AFTER_DOT = "after_dot"  # the end was written; the kernel may have it or not
    AFTER_REPLY = "after_reply"  # the server's answer to the dot was read
    AFTER_ANSWERS = "after_answers"  # answers are known, nothing of them is booked
    AFTER_SETTLE = "after_settle"  # the booking is committed
    BEFORE_GIVE_BACK = "before_give_back"  # the remaining batches of a claim are about to go back
    IN_SWEEP = "in_sweep"  # lost leases were taken away, not committed
    IN_PLAN_CHUNK = "in_plan_chunk"  # a chunk's rows are written, not committed
    IN_SNAPSHOT = "in_snapshot"  # a snapshot's events and items are written, not committed
    IN_FEEDBACK = "in_feedback"  # a stream's events are written, not committed
    AFTER_ACCEPT_BEFORE_WAKE_UP = "after_accept_before_wake_up"  # a request's mail is committed
    IN_WAKE_UP = "in_wake_up"  # a wake-up was taken from memory and not published
    ON_WAKE_UP = "on_wake_up"  # a worker received a wake-up and did nothing yet


@dataclass(frozen=True, slots=True)
class _Crash:
    point: Point
    passes: int
    recipient: str


def _parse(text: str) -> _Crash | None:
    if not text:
        return None
    name, _, when = text.partition(":")
    if "@" in when:
        return _Crash(Point(name), 0, when)
    return _Crash(Point(name), int(when or 1), "")


_crash = _parse(os.environ.get("CRASH_AT", ""))
_passes = count(1)


def reached(point: Point, recipient: str = "") -> None:
    """Kills the process if it is to die at this point, or at this point with this recipient."""
    if _crash is None or point is not _crash.point:
        return
    if recipient == _crash.recipient if _crash.recipient else next(_passes) == _crash.passes:
        os.kill(os.getpid(), signal.SIGKILL)
