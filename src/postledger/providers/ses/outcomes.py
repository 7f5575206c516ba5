"""The outcomes of SES's answers to SendEmail, and of their absence; pure."""

import re
from collections.abc import Mapping
from dataclasses import replace

from postledger.providers.base import (
    Accepted,
    Category,
    Failure,
    Outcome,
    Refused,
    SenderBlocked,
    Throttled,
    TryLater,
)
from postledger.providers.http import outcomes as http_outcomes
from postledger.providers.http.exchange import Break
from postledger.providers.http.messages import Answer
from postledger.providers.http.outcomes import (
    CLIENT_ERROR,
    REQUEST_TIMEOUT,
    SERVER_ERROR,
    SERVICE_UNAVAILABLE,
    TOO_MANY,
    CommonRows,
    Error,
    Row,
)
from postledger.providers.http.reading import Obstacle, Unread

CREDENTIALS = "SES_CREDENTIALS"
_OK = 200
_NOT_FOUND = 404
_DENIED = frozenset({"AccessDeniedException", "AccessDenied"})
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.]{0,99}")
_MESSAGE_ID = re.compile(r"[!-~]{1,200}")
_BETWEEN_NAMES = re.compile(r"[\s,<>\"'`/:]")
_VERIFY = "Verify the address or the domain of this sender in SES."
_REQUEST_ACCESS = (
    "The account has no production access, so SES sends to verified addresses only:"
    " request production access."
)

_MESSAGE_REJECTED = Row(Refused, "SES_MESSAGE_REJECTED", Category.PERMANENT)
_BAD_REQUEST = Row(Refused, "SES_BAD_REQUEST", Category.PERMANENT)
_IDENTITY = Row(SenderBlocked, "SES_IDENTITY_NOT_VERIFIED", Category.CONFIGURATION)
_MAIL_FROM = Row(SenderBlocked, "SES_MAIL_FROM_DOMAIN_NOT_VERIFIED", Category.CONFIGURATION)
_CONFIGURATION_SET = Row(
    SenderBlocked,
    "SES_CONFIGURATION_SET_DOES_NOT_EXIST",
    Category.CONFIGURATION,
    is_account=True,
)
_PAUSED = Row(SenderBlocked, "SES_ACCOUNT_SENDING_PAUSED", Category.PERMANENT, is_account=True)
_CREDENTIALS = Row(SenderBlocked, CREDENTIALS, Category.CONFIGURATION, is_account=True)
_PERMISSION = Row(
    SenderBlocked,
    CREDENTIALS,
    Category.CONFIGURATION,
    advice="The keys may not use the identity of this sender: postledger ses policy prints the"
    " policy that they need.",
)
_CLOCK = Row(
    TryLater,
    CREDENTIALS,
    Category.CONFIGURATION,
    is_outage=True,
    advice="The clock of this machine is wrong: set it right.",
)
_RATE = Row(Throttled, "SES_MAX_SEND_RATE_EXCEEDED", Category.QUOTA)
_QUOTA = Row(Throttled, "SES_DAILY_QUOTA_EXCEEDED", Category.QUOTA, is_quota=True)
_COMMON = CommonRows("SES")

# The names of SES v2, those of its first version, and those that every service of AWS has.
_BY_NAME: Mapping[str, Row] = {
    "MessageRejected": _MESSAGE_REJECTED,
    "BadRequestException": _BAD_REQUEST,
    "MailFromDomainNotVerifiedException": _MAIL_FROM,
    "MailFromDomainNotVerified": _MAIL_FROM,
    "NotFoundException": _CONFIGURATION_SET,
    "ConfigurationSetDoesNotExist": _CONFIGURATION_SET,
    "SendingPausedException": _PAUSED,
    "AccountSuspendedException": _PAUSED,
    "AccountSendingPausedException": _PAUSED,
    "ConfigurationSetSendingPausedException": _PAUSED,
    "TooManyRequestsException": _COMMON.throttling,
    "ThrottlingException": _COMMON.throttling,
    "Throttling": _COMMON.throttling,
    "LimitExceededException": _QUOTA,
    "InternalFailure": _COMMON.unavailable,
    "InternalServiceError": _COMMON.unavailable,
    "InternalServiceErrorException": _COMMON.unavailable,
    "ServiceUnavailable": _COMMON.unavailable,
    "ServiceUnavailableException": _COMMON.unavailable,
    "RequestTimeout": _COMMON.slow,
    "RequestTimeoutException": _COMMON.slow,
    "RequestExpired": _CLOCK,
    "RequestTimeTooSkewed": _CLOCK,
    "AccessDeniedException": _CREDENTIALS,
    "ExpiredToken": _CREDENTIALS,
    "ExpiredTokenException": _CREDENTIALS,
    "IncompleteSignature": _CREDENTIALS,
    "IncompleteSignatureException": _CREDENTIALS,
    "InvalidClientTokenId": _CREDENTIALS,
    "InvalidSignatureException": _CREDENTIALS,
    "MissingAuthenticationToken": _CREDENTIALS,
    "MissingAuthenticationTokenException": _CREDENTIALS,
    "NotAuthorized": _CREDENTIALS,
    "OptInRequired": _CREDENTIALS,
    "SignatureDoesNotMatch": _CREDENTIALS,
    "UnrecognizedClientException": _CREDENTIALS,
}
# Of an error of the caller that AWS named and that is not above.
_BY_STATUS: Mapping[int, Row] = {
    401: _CREDENTIALS,
    403: _CREDENTIALS,
    404: _CONFIGURATION_SET,
    REQUEST_TIMEOUT: _COMMON.slow,
    409: _COMMON.unavailable,
    TOO_MANY: _COMMON.throttling,
}


def judge_answer(answer: Answer, *, sender: str) -> Outcome:
    """The outcome of a complete answer; `sender` is the From address of the mail."""
    if answer.status == _OK and not answer.is_early:
        message_id = http_outcomes.read_object(answer.body).get("MessageId")
        if isinstance(message_id, str) and _MESSAGE_ID.fullmatch(message_id):
            return Accepted(message_id)
    return judge_refusal(answer, sender=sender)


def judge_refusal(answer: Answer, *, sender: str = "") -> Failure:
    """The outcome of an answer that is no acceptance."""
    error = _read_error(answer)
    row = _find_row(error)
    if row is _IDENTITY:
        row = _explain(error, sender)
    return _COMMON.make_failure(row, error, is_early=answer.is_early)


def judge_break(broken: Break) -> Failure:
    return _COMMON.judge_break(broken)


def judge_unread(result: Answer | Break) -> Unread:
    """Why SES did not say what it was asked."""
    if isinstance(result, Break):
        return http_outcomes.judge_unanswered(result)
    failure = judge_refusal(result)
    obstacle = Obstacle.UNREACHABLE
    if result.status == _NOT_FOUND and failure.original_code == "NotFoundException":
        obstacle = Obstacle.ABSENT
    elif failure.original_code in _DENIED:
        obstacle = Obstacle.DENIED
    elif failure.code == CREDENTIALS:
        obstacle = Obstacle.CREDENTIALS
    elif isinstance(failure, Throttled):
        obstacle = Obstacle.THROTTLED
    return Unread(obstacle, failure.detail)


def without_credentials(detail: str) -> Failure:
    """None could be had on this machine: an outage, which may end without a person."""
    return TryLater(CREDENTIALS, detail, is_outage=True, category=Category.CONFIGURATION)


def _find_row(error: Error) -> Row | None:
    """None if the mail may have been taken in spite of this answer."""
    if error.status < CLIENT_ERROR:
        return None
    if not error.name:
        row = _COMMON.find_gateway_row(error.status)
    elif error.status < SERVER_ERROR:
        row = _BY_NAME.get(error.name) or _BY_STATUS.get(error.status, _BAD_REQUEST)
    else:
        row = _BY_NAME.get(error.name)
        if error.status == SERVICE_UNAVAILABLE:
            row = row or _COMMON.unavailable
        elif row is _COMMON.slow:  # SES, or a part of it, which may not know what the others did
            row = None
    return _refine(row, error.text.lower()) if row else None


def _refine(row: Row, text: str) -> Row:
    """SES tells some errors apart by their text alone."""
    if row is _MESSAGE_REJECTED and "email address is not verified" in text:
        return _IDENTITY
    if row is _COMMON.throttling and "daily message quota exceeded" in text:
        return _QUOTA
    if row is _COMMON.throttling and "maximum sending rate exceeded" in text:
        return _RATE
    if row is _CREDENTIALS and ("signature expired" in text or "not yet current" in text):
        return _CLOCK
    if row is _CREDENTIALS and "not authorized" in text and ":identity/" in text:
        return _PERMISSION
    return row


def _explain(error: Error, sender: str) -> Row:
    """SES names what is not verified: an address of ours, with or without its name, our domain, or
    the recipient's address, which only matters as long as the account has no production access.
    """
    named = {word.strip(".") for word in _BETWEEN_NAMES.split(error.text.lower())}
    address = sender.lower()
    is_ours = bool(named & {address, address.partition("@")[2]})
    if is_ours or not any("@" in word for word in named):
        return replace(_IDENTITY, advice=_VERIFY)
    return replace(_IDENTITY, advice=_REQUEST_ACCESS, is_account=True)


def _read_error(answer: Answer) -> Error:
    """Every answer of AWS has the id of its request; a page of a gateway may have names, too."""
    document = http_outcomes.read_object(answer.body)
    name: object = ""
    if "x-amzn-requestid" in answer.headers:
        name = (
            answer.headers.get("x-amzn-errortype") or document.get("__type") or document.get("code")
        )
    text = document.get("message") or document.get("Message") or ""
    return Error(
        answer.status,
        _read_name(name),
        _printable(text) if isinstance(text, str) else "",
        http_outcomes.read_retry_after(answer),
    )


def _read_name(value: object) -> str:
    """The bare name: it may stand behind a namespace and before a URL."""
    if not isinstance(value, str):
        return ""
    name = value.partition(":")[0].rpartition("#")[2].strip()
    return name if _NAME.fullmatch(name) else ""


def _printable(text: str) -> str:
    """Without the signed headers that AWS may repeat: the token of a session is one of them."""
    return http_outcomes.make_printable(text.partition("The Canonical String")[0])
