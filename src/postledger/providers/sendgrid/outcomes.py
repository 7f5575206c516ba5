"""The outcomes of SendGrid's answers to a mail, and of their absence; pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from postledger.observability import masking
from postledger.providers.base import (
    Accepted,
    Category,
    Failure,
    Outcome,
    Refused,
    SenderBlocked,
    Throttled,
)
from postledger.providers.http import outcomes as http_outcomes
from postledger.providers.http.exchange import Break
from postledger.providers.http.messages import Answer
from postledger.providers.http.outcomes import (
    CLIENT_ERROR,
    REQUEST_TIMEOUT,
    SERVER_ERROR,
    TOO_MANY,
    CommonRows,
    Error,
    Row,
)
from postledger.providers.http.reading import Obstacle, Unread

_ACCEPTED = 202
_BAD = 400
_UNAUTHORIZED = 401
_FORBIDDEN = 403
_NOT_FOUND = 404
_MESSAGE_ID = re.compile(r"[A-Za-z0-9._=-]{1,200}")
_EPOCH = re.compile(r"[0-9]{1,12}")
_MOST_ERRORS = 3  # that are repeated
_NO_FIELD = "null"
_LONGEST_RESET = timedelta(minutes=10)  # its limits are of a minute; more is a mistake

_COMMON = CommonRows("SENDGRID")
_BAD_REQUEST = Row(Refused, "SENDGRID_BAD_REQUEST", Category.PERMANENT)
_TOO_BIG = Row(Refused, "SENDGRID_TOO_BIG", Category.PERMANENT)
_CREDENTIALS = Row(
    SenderBlocked,
    "SENDGRID_CREDENTIALS",
    Category.CONFIGURATION,
    is_account=True,
    advice="Give the account a valid API key.",
)
_NO_PERMISSION = Row(
    SenderBlocked,
    "SENDGRID_FORBIDDEN",
    Category.CONFIGURATION,
    is_account=True,
    advice="Give the API key the permission Mail Send.",
)
_IDENTITY = Row(
    SenderBlocked,
    "SENDGRID_SENDER_NOT_VERIFIED",
    Category.CONFIGURATION,
    advice="Verify the address or the domain of this sender in SendGrid.",
)
_NO_SUCH_API = Row(
    SenderBlocked,
    "SENDGRID_ENDPOINT",
    Category.CONFIGURATION,
    is_account=True,
    advice="SendGrid takes no mail there: correct the region of the account.",
)
_CREDITS = Row(Throttled, "SENDGRID_CREDITS_EXCEEDED", Category.QUOTA, is_quota=True)

# Of an error that SendGrid itself explains.
_BY_STATUS: Mapping[int, Row] = {
    _UNAUTHORIZED: _CREDENTIALS,
    _FORBIDDEN: _NO_PERMISSION,
    _NOT_FOUND: _NO_SUCH_API,
    405: _NO_SUCH_API,
    REQUEST_TIMEOUT: _COMMON.slow,
    413: _TOO_BIG,
    TOO_MANY: _COMMON.throttling,
}


def judge_answer(answer: Answer, *, now: datetime) -> Outcome:
    """The outcome of a complete answer; `now` is compared with the times that it names."""
    message_id = answer.headers.get("x-message-id", "")
    is_accepted = answer.status == _ACCEPTED and not answer.is_early
    if is_accepted and _MESSAGE_ID.fullmatch(message_id):
        return Accepted(message_id)
    return judge_refusal(answer, now=now)


def judge_refusal(answer: Answer, *, now: datetime) -> Failure:
    """The outcome of an answer that is no acceptance."""
    error, row = _read_error(answer, now)
    return _COMMON.make_failure(row, error, is_early=answer.is_early)


def judge_break(broken: Break) -> Failure:
    return _COMMON.judge_break(broken)


def judge_unread(result: Answer | Break, *, now: datetime) -> Unread:
    """Why SendGrid did not say what it was asked.

    Its words for a key that is unknown, and for one that may not ask this, are the same.
    """
    if isinstance(result, Break):
        return http_outcomes.judge_unanswered(result)
    error, row = _read_error(result, now)
    obstacle = Obstacle.UNREACHABLE
    if row is not None and row.outcome is SenderBlocked:
        obstacles = {_UNAUTHORIZED: Obstacle.CREDENTIALS, _FORBIDDEN: Obstacle.DENIED}
        obstacle = obstacles.get(result.status, Obstacle.ABSENT)
    elif row is not None and row.outcome is Throttled:
        obstacle = Obstacle.THROTTLED
    return Unread(obstacle, error.detail)


def _read_error(answer: Answer, now: datetime) -> tuple[Error, Row | None]:
    errors = list(_list_errors(answer))
    texts = [f"{field}: {text}" if field else text for field, text in errors[:_MOST_ERRORS]]
    text = http_outcomes.make_printable("; ".join(texts))
    wait = http_outcomes.read_retry_after(answer) or _find_reset(answer, now)
    row = _find_row(answer.status, text.lower(), [field for field, _ in errors])
    return Error(answer.status, "", masking.mask_text(text), wait), row


def _find_row(status: int, text: str, fields: Sequence[str]) -> Row | None:
    """None if the mail may have been taken in spite of this answer; `fields` are of its errors."""
    if status < CLIENT_ERROR:
        return None
    if not fields:
        return _COMMON.find_gateway_row(status)
    if status >= SERVER_ERROR:
        return _COMMON.unavailable
    if status == _UNAUTHORIZED and "maximum credits exceeded" in text:
        return _CREDITS
    is_identity = "verified sender identity" in text
    if status == _BAD and all(field.partition(".")[0] == "from" for field in fields):
        is_identity = True  # whoever the recipient is
    if is_identity and status in {_BAD, _FORBIDDEN}:
        return _IDENTITY
    return _BY_STATUS.get(status, _BAD_REQUEST)


def _list_errors(answer: Answer) -> Iterator[tuple[str, str]]:
    """The errors that SendGrid explains, which a gateway does not: each with its field, or ""."""
    errors = http_outcomes.read_object(answer.body).get("errors")
    for error in errors if isinstance(errors, list) else ():
        message = error.get("message") if isinstance(error, dict) else None
        if isinstance(message, str) and message:
            field = error.get("field")
            yield field if isinstance(field, str) and field != _NO_FIELD else "", message


def _find_reset(answer: Answer, now: datetime) -> timedelta | None:
    """How long until more requests are taken, of an answer that says there were too many."""
    reset = answer.headers.get("x-ratelimit-reset", "")
    if answer.status != TOO_MANY or not _EPOCH.fullmatch(reset):
        return None
    # By SendGrid's own clock: ours may differ by more than the wait.
    wait = timedelta(seconds=int(reset) - (_read_date(answer) or now).timestamp())
    return wait if timedelta() < wait <= _LONGEST_RESET else None


def _read_date(answer: Answer) -> datetime | None:
    try:
        date = parsedate_to_datetime(answer.headers.get("date", ""))
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
