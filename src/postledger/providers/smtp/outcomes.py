"""The outcomes of a server's answers, and of their absence; pure."""

import re
from datetime import timedelta
from enum import IntEnum

from postledger.providers.base import (
    Accepted,
    Category,
    Failure,
    InDoubt,
    Outcome,
    Refused,
    SenderBlocked,
    Throttled,
    TryLater,
)
from postledger.providers.smtp.replies import Reply


class Stage(IntEnum):
    """How far a hand-over has come; from ANSWER on the server may have the message."""

    CONNECT = 1
    GREETING = 2
    EHLO = 3
    STARTTLS = 4
    AUTH = 5
    MAIL = 6
    RCPT = 7
    DATA = 8
    BODY = 9
    ANSWER = 10  # the final dot was given to the kernel


_SESSION = frozenset({Stage.CONNECT, Stage.GREETING, Stage.EHLO, Stage.STARTTLS, Stage.AUTH})
_YES = 2
_PERMANENT = 5
_MAILBOX = 2  # the subject of X.2.X: the recipient's mailbox, whose limits are not ours
_SECURITY = 7  # the subject of X.7.X
_AUTH_CODES = frozenset({530, 534, 535, 538})

# X.7.n that speak of the sender, its domain, its address or its credentials, whatever the message.
_SENDER_DETAILS = frozenset(
    {8, 9, 10, 11, 13, 14, *range(20, 28), 54, 57, 60, 64, *range(500, 510), 515, *range(606, 650)}
    | {700, 705, 708, 750}
)
_BAD_SENDER = frozenset({(5, 1, 7), (5, 1, 8)})
_TOO_BIG = frozenset({(5, 2, 3), (5, 3, 4)})
# The address, its domain or its mailbox does not exist any more. No other code says that: a policy
# (5.7.x), a full mailbox (5.2.2) and a fault of a server (5.3.x, 5.4.x) come to an end.
_DEAD_ADDRESS = frozenset({(5, 1, 1), (5, 1, 2), (5, 1, 6), (5, 1, 10), (5, 2, 1)})
_SENDER_TEXT = re.compile(
    r"not verified|sending paused|paused for this account|account (?:is )?(?:suspended|disabled)"
    r"|(?:authentication|auth) (?:is )?required|not authenticated|relay(?:ing)? (?:access )?denied"
    r"|unable to relay|not (?:allowed|authorized|permitted) to send (?:as|from)"
    r"|access denied: user",
    re.IGNORECASE,
)
_THROTTLE_TEXT = re.compile(
    r"throttl|too much mail|too fast|slow down"
    r"|rate limit|(?:sending|message) rate|rate exceeded|unusual rate"
    r"|sending (?:quota|limit)|(?:daily|hourly)[a-z ]{0,40} (?:quota|limit)|sender thread limit"
    r"|too many (?:concurrent )?(?:smtp )?(?:connections|sessions|messages|emails)",
    re.IGNORECASE,
)
_WAIT = re.compile(
    r"(?:in|after|for)\s+(\d{1,5})\s*(s|sec|seconds?|m|min|minutes?|h|hours?)\b", re.IGNORECASE
)
_UNITS = {"s": 1, "m": 60, "h": 3600}
_QUEUE_ID = re.compile(
    r"(?:queued as|id=)\s*<?([!-;=?-~]{1,120})>?|^ok:?\s+([0-9a-f-]{20,120})$", re.IGNORECASE
)


def refusal(stage: Stage, reply: Reply) -> Failure:
    """A complete answer of 4xx or 5xx: certainly not taken, at any stage."""
    code, detail = _code(reply), f"{stage.name}: {reply.code} {reply.text}"
    # A relay that asks the recipient's server first, or hands on at once, repeats its words.
    may_be_quoted = stage >= Stage.RCPT
    if _is_throttle(reply):
        retry_after = _retry_after(reply.text)
        return Throttled(detail, retry_after, code=code, may_be_quoted=may_be_quoted)
    if reply.code // 100 != _PERMANENT:
        return TryLater(code, detail, _retry_after(reply.text))
    if _is_about_sender(stage, reply):
        return SenderBlocked(
            code, detail, is_account=stage < Stage.MAIL, may_be_quoted=may_be_quoted
        )
    return Refused(code, detail, bounce_code=_bounce_code(stage, reply))


def answer(reply: Reply, fallback: str) -> Outcome:
    """The outcome of the reply to the final dot; anything but a clear yes or no is a doubt."""
    if reply.is_refusal:
        return refusal(Stage.ANSWER, reply)
    if reply.code // 100 != _YES:
        return broken(Stage.ANSWER, "garbled", f"unexpected {reply.code} {reply.text}")
    return Accepted(_queue_id(reply, fallback))


def _queue_id(reply: Reply, fallback: str) -> str:
    """The server's own id of the message, where the reply has one, as of Postfix, Exim and SES."""
    text = re.sub(r"^2\.\d+\.\d+\s+", "", reply.text)
    match = _QUEUE_ID.search(text)
    return (match[1] or match[2]) if match else fallback


def broken(stage: Stage, code: str, detail: str) -> Failure:
    """The connection broke, or its bytes were no answer."""
    category = Category.TIMEOUT if code == "timeout" else Category.TRANSIENT
    if stage is Stage.ANSWER:
        return InDoubt(f"{code} after the final dot: {detail}", code=code, category=category)
    return TryLater(code, f"{stage.name}: {detail}", category=category)


def _code(reply: Reply) -> str:
    enhanced = reply.enhanced
    return f"{reply.code} {'.'.join(map(str, enhanced))}" if enhanced else str(reply.code)


def _bounce_code(stage: Stage, reply: Reply) -> str:
    """The code by which the address does not work; empty where the reply does not say that.

    Only once the recipient is named. It may be the word of the recipient's own server, which is
    believed about this address, and about no other.
    """
    enhanced = reply.enhanced
    if stage < Stage.RCPT or enhanced is None or enhanced not in _DEAD_ADDRESS:
        return ""
    return ".".join(map(str, enhanced))


def _is_throttle(reply: Reply) -> bool:
    enhanced = reply.enhanced
    if enhanced is not None and enhanced[1] == _MAILBOX:
        return False
    return reply.code == 432 or _THROTTLE_TEXT.search(reply.text) is not None  # noqa: PLR2004  Exchange


def _is_about_sender(stage: Stage, reply: Reply) -> bool:
    """Careful where a recipient or a text could cause it: one address must not stop the others."""
    enhanced = reply.enhanced or (0, 0, 0)
    if stage in _SESSION or reply.code in _AUTH_CODES or enhanced in _BAD_SENDER:
        return True
    if stage is Stage.MAIL:
        return reply.code != 552 and enhanced not in _TOO_BIG  # noqa: PLR2004  message too big
    if enhanced[1] == _SECURITY and enhanced[2] in _SENDER_DETAILS:
        return True
    # If the enhanced code blames the address or mailbox, ignore the text.
    return enhanced[1] in {0, _SECURITY} and _SENDER_TEXT.search(reply.text) is not None


def _retry_after(text: str) -> timedelta | None:
    match = _WAIT.search(text)
    return timedelta(seconds=int(match[1]) * _UNITS[match[2][0].lower()]) if match else None
