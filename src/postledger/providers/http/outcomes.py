"""The outcome of a request that got no complete answer; pure."""

from postledger.providers.base import Category, Failure, InDoubt, NotSent, TryLater
from postledger.providers.connection import ConnectionBrokenError
from postledger.providers.http.exchange import Break, Stage

NETWORK_ERROR = "NETWORK_ERROR"


def judge_break(broken: Break, *, timeout_code: str) -> Failure:
    """Until the last byte left, certainly not taken; without a connection it is an outage."""
    if broken.code == ConnectionBrokenError.CANCELLED:
        return _interrupted(broken)
    is_timeout = broken.code == ConnectionBrokenError.TIMEOUT and broken.stage > Stage.CONNECT
    code = timeout_code if is_timeout else NETWORK_ERROR
    category = Category.TIMEOUT if is_timeout else Category.TRANSIENT
    original_code = "RequestTimeout" if is_timeout else "NetworkingError"
    detail = f"{broken.stage.name}: {broken.code}: {broken.detail}"
    if broken.stage is Stage.ANSWER:
        return InDoubt(detail, code=code, category=category, original_code=original_code)
    return TryLater(
        code,
        detail,
        is_outage=broken.stage is Stage.CONNECT,
        category=category,
        original_code=original_code,
    )


def _interrupted(broken: Break) -> Failure:
    if broken.stage is Stage.ANSWER:
        return InDoubt("cancelled while waiting for the answer")
    return NotSent("cancelled before its last byte")
