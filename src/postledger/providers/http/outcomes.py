"""The outcomes of answers that are no acceptance, and of requests without an answer; pure."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from postledger.lib.sentences import Sentence, say
from postledger.providers.base import (
    Category,
    Failure,
    InDoubt,
    NotSent,
    Refused,
    SenderBlocked,
    Throttled,
    TryLater,
)
from postledger.providers.connection import ConnectionBrokenError
from postledger.providers.http.exchange import Break, Stage
from postledger.providers.http.messages import Answer
from postledger.providers.http.reading import Obstacle, Unread

NETWORK_ERROR = "NETWORK_ERROR"
CLIENT_ERROR = 400
REQUEST_TIMEOUT = 408
TOO_MANY = 429
SERVER_ERROR = 500
SERVICE_UNAVAILABLE = 503
_MAX_TEXT = 400
_SECONDS = re.compile(r"[0-9]{1,6}")


@dataclass(frozen=True, slots=True)
class Error:
    """What an answer says that is no acceptance; the name is empty if the service gave none."""

    status: int
    name: str
    text: str
    retry_after: timedelta | None

    @property
    def original_code(self) -> str:
        return self.name or f"HTTP {self.status}"

    @property
    def detail(self) -> str:
        return f"{self.original_code}: {self.text}" if self.text else self.original_code


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table of errors; they all are certain refusals."""

    outcome: type[Refused | SenderBlocked | Throttled | TryLater]
    code: str
    category: Category
    is_account: bool = False  # of a blocked sender: whether others of the account are blocked, too
    is_outage: bool = False  # of a later try: whether no other mail would be taken now
    is_quota: bool = False  # of a throttle: whether a quota is used up
    advice: str = ""

    def make_failure(self, error: Error) -> Failure:
        error = replace(error, text=f"{error.text} {self.advice}".strip())
        if self.outcome is Throttled:
            # No service says in an answer when its quota is free again.
            retry_after = None if self.is_quota else error.retry_after
            made: Failure = Throttled(error.detail, retry_after, self.is_quota, code=self.code)
        elif self.outcome is TryLater:
            made = TryLater(self.code, error.detail, error.retry_after, self.is_outage)
        elif self.outcome is SenderBlocked:
            made = SenderBlocked(self.code, error.detail, is_account=self.is_account)
        else:
            made = Refused(self.code, error.detail)
        return replace(made, category=self.category, original_code=error.original_code)


class CommonRows:
    """The rows that each service has under its own codes, such as SES_TIMEOUT."""

    def __init__(self, service: str) -> None:
        self.gateway_code: Final = f"{service}_GATEWAY"
        self.timeout_code: Final = f"{service}_TIMEOUT"
        self.throttling: Final = Row(Throttled, f"{service}_THROTTLING", Category.QUOTA)
        self.unavailable: Final = Row(
            TryLater, f"{service}_SERVICE_UNAVAILABLE", Category.TRANSIENT
        )
        self.slow: Final = Row(TryLater, self.timeout_code, Category.TIMEOUT)
        self._refused: Final = Row(TryLater, self.gateway_code, Category.TRANSIENT)
        shut_out = replace(self._refused, is_outage=True)
        self._by_status: Mapping[int, Row] = {
            401: shut_out,
            403: shut_out,
            407: shut_out,
            REQUEST_TIMEOUT: self.slow,
            TOO_MANY: self.throttling,
            SERVICE_UNAVAILABLE: self.unavailable,
        }

    def find_gateway_row(self, status: int) -> Row | None:
        """Of an answer that the service did not write: something in front of it refused the
        request, and not the mail. None if the mail may have been taken in spite of the answer.
        """
        usual = self._refused if CLIENT_ERROR <= status < SERVER_ERROR else None
        return self._by_status.get(status, usual)

    def make_failure(self, row: Row | None, error: Error, *, is_early: bool) -> Failure:
        """The outcome of a row; without one the mail may have been taken."""
        if row is not None:
            return row.make_failure(error)
        if is_early:
            # The service lacks the end of the mail, whatever was said about its beginning.
            return self._refused.make_failure(error)
        return InDoubt(error.detail, code=self.gateway_code, original_code=error.original_code)

    def judge_break(self, broken: Break) -> Failure:
        """Until the last byte left, certainly not taken; without a connection it is an outage."""
        if broken.code == ConnectionBrokenError.CANCELLED:
            return _interrupted(broken)
        is_timeout = broken.code == ConnectionBrokenError.TIMEOUT and broken.stage > Stage.CONNECT
        code = self.timeout_code if is_timeout else NETWORK_ERROR
        category = Category.TIMEOUT if is_timeout else Category.TRANSIENT
        original_code = "RequestTimeout" if is_timeout else "NetworkingError"
        detail = str(describe_break(broken))
        if broken.stage is Stage.ANSWER:
            return InDoubt(detail, code=code, category=category, original_code=original_code)
        return TryLater(
            code,
            detail,
            is_outage=broken.stage is Stage.CONNECT,
            category=category,
            original_code=original_code,
        )


def describe_break(broken: Break) -> Sentence:
    return say(
        "%(stage)s: %(code)s: %(detail)s",
        stage=broken.stage.name,
        code=broken.code,
        detail=broken.detail,
    )


def judge_unanswered(broken: Break) -> Unread:
    if broken.stage is Stage.CONNECT:
        return Unread(Obstacle.UNCONNECTED, broken.detail)
    return Unread(Obstacle.UNREACHABLE, describe_break(broken))


def _interrupted(broken: Break) -> Failure:
    if broken.stage is Stage.ANSWER:
        return InDoubt("cancelled while waiting for the answer")
    return NotSent("cancelled before its last byte")


def object_to_utf8(service: str, *, sender: str, are_others_ascii: bool) -> Failure | None:
    """Of a service without SMTPUTF8: a domain outside ASCII has its ASCII form, a local part has
    none.
    """
    if not sender.isascii():
        return SenderBlocked(
            "utf8_unsupported",
            f"{service} takes no From address outside ASCII: use another one for this sender.",
        )
    if not are_others_ascii:
        return Refused("utf8_unsupported", f"{service} takes no addresses outside ASCII.")
    return None


def read_object(body: bytes) -> Mapping[str, object]:
    """The JSON object of a body; an empty one for any other body."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def read_retry_after(answer: Answer) -> timedelta | None:
    seconds = answer.headers.get("retry-after", "")
    return timedelta(seconds=int(seconds)) if _SECONDS.fullmatch(seconds) else None


def make_printable(text: str) -> str:
    """Bounded, on one line, and nothing in it that could not be stored or shown."""
    text = " ".join(text[:_MAX_TEXT].split())
    return "".join(letter if letter.isprintable() else "?" for letter in text)
