"""Named places on a mail's way at which a drill may kill the process; nothing happens elsewhere.

`CRASH_AT=after_arm:3` in the environment sends this process SIGKILL on its third pass of that
place, as a power cut would: no handler runs, nothing is flushed. With a recipient in place of the
number, as in `CRASH_AT=compose:ann@acme.example`, it dies whenever that mail comes there.
"""

import os
import signal
from dataclasses import dataclass
from enum import StrEnum
from itertools import count


class Point(StrEnum):
    BEFORE_CLAIM = "before_claim"  # a carrier has its route and is about to take work
    AFTER_CLAIM = "after_claim"  # the lease is committed
    AFTER_READ = "after_read"  # recipients and contents are in memory
    COMPOSE = "compose"  # one recipient's mail is about to be composed
    AFTER_COMPOSE = "after_compose"  # the bytes of every mail are there
    BEFORE_ARM = "before_arm"  # the statement that arms is about to be sent
    AFTER_ARM = "after_arm"  # the arm is committed, nothing was sent
    BEFORE_CONNECT = "before_connect"  # mails are armed, there is no line yet
    AFTER_CONNECT = "after_connect"  # the line stands, nothing was said
    BEFORE_DOT = "before_dot"  # the server has all but the end of the mail
    AFTER_DOT = "after_dot"  # the end was written; the kernel may have it or not
    AFTER_REPLY = "after_reply"  # the server's answer to the dot was read
    AFTER_ANSWERS = "after_answers"  # answers are known, nothing of them is booked
    AFTER_SETTLE = "after_settle"  # the booking is committed
    BEFORE_GIVE_BACK = "before_give_back"  # the rest of a claim is about to go back
    IN_SWEEP = "in_sweep"  # lost leases were taken away, not committed
    IN_PLAN_CHUNK = "in_plan_chunk"  # a chunk's rows are written, not committed
    AFTER_ACCEPT_BEFORE_BELL = "after_accept_before_bell"  # a request's mail is committed
    IN_BELL = "in_bell"  # a bell was taken from memory and not published
    ON_BELL = "on_bell"  # a worker heard the bell and did nothing yet


@dataclass(frozen=True, slots=True)
class _Wish:
    point: Point
    passes: int
    recipient: str


def _wanted(text: str) -> _Wish | None:
    if not text:
        return None
    name, _, rest = text.partition(":")
    if "@" in rest:
        return _Wish(Point(name), 0, rest)
    return _Wish(Point(name), int(rest or 1), "")


_wish = _wanted(os.environ.get("CRASH_AT", ""))
_passes = count(1)


def reached(point: Point, recipient: str = "") -> None:
    """Says that the process has come to this place, with the mail of this recipient if of one."""
    if _wish is None or point is not _wish.point:
        return
    is_now = recipient == _wish.recipient if _wish.recipient else next(_passes) == _wish.passes
    if is_now:
        os.kill(os.getpid(), signal.SIGKILL)
