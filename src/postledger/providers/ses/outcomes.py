"""The outcomes of SES's answers to SendEmail, and of their absence; pure."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

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
from postledger.providers.http import outcomes as http_outcomes
from postledger.providers.http.exchange import Break
from postledger.providers.http.messages import Answer

CREDENTIALS = "SES_CREDENTIALS"
_TIMEOUT = "SES_TIMEOUT"
_GATEWAY = "SES_GATEWAY"
_DAILY_QUOTA = "SES_DAILY_QUOTA_EXCEEDED"
_OK = 200
_CLIENT_ERROR = 400
_REQUEST_TIMEOUT = 408
_TOO_MANY = 429
_SERVER_ERROR = 500
_SERVICE_UNAVAILABLE = 503
_MAX_TEXT = 400
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.]{0,99}")
_MESSAGE_ID = re.compile(r"[!-~]{1,200}")
_SECONDS = re.compile(r"[0-9]{1,6}")
_BETWEEN_NAMES = re.compile(r"[\s,<>\"'`/:]")
_VERIFY = "Verify the address or the domain of this sender in SES."
_REQUEST_ACCESS = (
    "The account has no production access, so SES sends to verified addresses only:"
    " request production access."
)


@dataclass(frozen=True, slots=True)
class _Error:
    """What an answer says that is no acceptance; the name is empty if AWS did not write it."""

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
class _Row:
    """One row of the table of errors; they all are certain refusals."""

    outcome: type[Refused | SenderBlocked | Throttled | TryLater]
    code: str
    category: Category
    is_account: bool = False  # of a blocked sender: whether others of the account are blocked, too
    is_outage: bool = False  # of a later try: whether no other mail would be taken now
    advice: str = ""


_MESSAGE_REJECTED = _Row(Refused, "SES_MESSAGE_REJECTED", Category.PERMANENT)
_BAD_REQUEST = _Row(Refused, "SES_BAD_REQUEST", Category.PERMANENT)
_IDENTITY = _Row(SenderBlocked, "SES_IDENTITY_NOT_VERIFIED", Category.CONFIGURATION)
_MAIL_FROM = _Row(SenderBlocked, "SES_MAIL_FROM_DOMAIN_NOT_VERIFIED", Category.CONFIGURATION)
_CONFIGURATION_SET = _Row(
    SenderBlocked,
    "SES_CONFIGURATION_SET_DOES_NOT_EXIST",
    Category.CONFIGURATION,
    is_account=True,
)
_PAUSED = _Row(SenderBlocked, "SES_ACCOUNT_SENDING_PAUSED", Category.PERMANENT, is_account=True)
_CREDENTIALS = _Row(SenderBlocked, CREDENTIALS, Category.CONFIGURATION, is_account=True)
_PERMISSION = _Row(
    SenderBlocked,
    CREDENTIALS,
    Category.CONFIGURATION,
    advice="The keys may not use the identity of this sender: postledger ses policy prints the"
    " policy that they need.",
)
_CLOCK = _Row(
    TryLater,
    CREDENTIALS,
    Category.CONFIGURATION,
    is_outage=True,
    advice="The clock of this machine is wrong: set it right.",
)
_THROTTLING = _Row(Throttled, "SES_THROTTLING", Category.QUOTA)
_RATE = _Row(Throttled, "SES_MAX_SEND_RATE_EXCEEDED", Category.QUOTA)
_QUOTA = _Row(Throttled, _DAILY_QUOTA, Category.QUOTA)
_UNAVAILABLE = _Row(TryLater, "SES_SERVICE_UNAVAILABLE", Category.TRANSIENT)
_SLOW = _Row(TryLater, _TIMEOUT, Category.TIMEOUT)
_REFUSED_BY_GATEWAY = _Row(TryLater, _GATEWAY, Category.TRANSIENT)
_SHUT_OUT_BY_GATEWAY = _Row(TryLater, _GATEWAY, Category.TRANSIENT, is_outage=True)

# The names of SES v2, those of its first version, and those that every service of AWS has.
_BY_NAME: Mapping[str, _Row] = {
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
    "TooManyRequestsException": _THROTTLING,
    "ThrottlingException": _THROTTLING,
    "Throttling": _THROTTLING,
    "LimitExceededException": _QUOTA,
    "InternalFailure": _UNAVAILABLE,
    "InternalServiceError": _UNAVAILABLE,
    "InternalServiceErrorException": _UNAVAILABLE,
    "ServiceUnavailable": _UNAVAILABLE,
    "ServiceUnavailableException": _UNAVAILABLE,
    "RequestTimeout": _SLOW,
    "RequestTimeoutException": _SLOW,
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
_BY_STATUS: Mapping[int, _Row] = {
    401: _CREDENTIALS,
    403: _CREDENTIALS,
    404: _CONFIGURATION_SET,
    _REQUEST_TIMEOUT: _SLOW,
    409: _UNAVAILABLE,
    _TOO_MANY: _THROTTLING,
}
# Of an answer without a name: something in front of SES refused the request, and not the mail.
_BY_STATUS_OF_GATEWAY: Mapping[int, _Row] = {
    401: _SHUT_OUT_BY_GATEWAY,
    403: _SHUT_OUT_BY_GATEWAY,
    407: _SHUT_OUT_BY_GATEWAY,
    _REQUEST_TIMEOUT: _SLOW,
    _TOO_MANY: _THROTTLING,
    _SERVICE_UNAVAILABLE: _UNAVAILABLE,
}


def judge_answer(answer: Answer, *, sender: str) -> Outcome:
    """The outcome of a complete answer; `sender` is the From address of the mail."""
    if answer.status == _OK and not answer.is_early:
        message_id = _read_object(answer.body).get("MessageId")
        if isinstance(message_id, str) and _MESSAGE_ID.fullmatch(message_id):
            return Accepted(message_id)
    return judge_refusal(answer, sender=sender)


def judge_refusal(answer: Answer, *, sender: str = "") -> Failure:
    """The outcome of an answer that is no acceptance."""
    error = _read_error(answer)
    row = _find_row(error)
    if row is not None:
        return _explain(error, sender) if row is _IDENTITY else _make(row, error)
    if answer.is_early:
        # SES lacks the end of the mail, whatever was said about its beginning.
        return _make(_REFUSED_BY_GATEWAY, error)
    return InDoubt(error.detail, code=_GATEWAY, original_code=error.original_code)


def judge_break(broken: Break) -> Failure:
    return http_outcomes.judge_break(broken, timeout_code=_TIMEOUT)


def without_credentials(detail: str) -> Failure:
    """None could be had on this machine: an outage, which may end without a person."""
    return TryLater(CREDENTIALS, detail, is_outage=True, category=Category.CONFIGURATION)


def _find_row(error: _Error) -> _Row | None:
    """None if the mail may have been taken in spite of this answer."""
    if error.status < _CLIENT_ERROR:
        return None
    if not error.name:
        usual = _REFUSED_BY_GATEWAY if error.status < _SERVER_ERROR else None
        row = _BY_STATUS_OF_GATEWAY.get(error.status, usual)
    elif error.status < _SERVER_ERROR:
        row = _BY_NAME.get(error.name) or _BY_STATUS.get(error.status, _BAD_REQUEST)
    else:
        row = _BY_NAME.get(error.name)
        if error.status == _SERVICE_UNAVAILABLE:
            row = row or _UNAVAILABLE
        elif row is _SLOW:  # SES, or a part of it, which may not know what the others did
            row = None
    return _refine(row, error.text.lower()) if row else None


def _refine(row: _Row, text: str) -> _Row:
    """SES tells some errors apart by their text alone."""
    if row is _MESSAGE_REJECTED and "email address is not verified" in text:
        return _IDENTITY
    if row is _THROTTLING and "daily message quota exceeded" in text:
        return _QUOTA
    if row is _THROTTLING and "maximum sending rate exceeded" in text:
        return _RATE
    if row is _CREDENTIALS and ("signature expired" in text or "not yet current" in text):
        return _CLOCK
    if row is _CREDENTIALS and "not authorized" in text and ":identity/" in text:
        return _PERMISSION
    return row


def _make(row: _Row, error: _Error) -> Failure:
    error = replace(error, text=f"{error.text} {row.advice}".strip())
    if row.outcome is Throttled:
        # SES does not know when a quota is free again.
        is_quota = row is _QUOTA
        retry_after = None if is_quota else error.retry_after
        made: Failure = Throttled(error.detail, retry_after, is_quota, code=row.code)
    elif row.outcome is TryLater:
        made = TryLater(row.code, error.detail, error.retry_after, row.is_outage)
    elif row.outcome is SenderBlocked:
        made = SenderBlocked(row.code, error.detail, is_account=row.is_account)
    else:
        made = Refused(row.code, error.detail)
    return replace(made, category=row.category, original_code=error.original_code)


def _explain(error: _Error, sender: str) -> Failure:
    """SES names what is not verified: an address of ours, with or without its name, our domain, or
    the recipient's address, which only matters as long as the account has no production access.
    """
    named = {word.strip(".") for word in _BETWEEN_NAMES.split(error.text.lower())}
    address = sender.lower()
    is_ours = bool(named & {address, address.partition("@")[2]})
    if is_ours or not any("@" in word for word in named):
        row = replace(_IDENTITY, advice=_VERIFY)
    else:
        row = replace(_IDENTITY, advice=_REQUEST_ACCESS, is_account=True)
    return _make(row, error)


def _read_error(answer: Answer) -> _Error:
    """Every answer of AWS has the id of its request; a page of a gateway may have names, too."""
    document = _read_object(answer.body)
    name: object = ""
    if "x-amzn-requestid" in answer.headers:
        name = (
            answer.headers.get("x-amzn-errortype") or document.get("__type") or document.get("code")
        )
    text = document.get("message") or document.get("Message") or ""
    seconds = answer.headers.get("retry-after", "")
    return _Error(
        answer.status,
        _read_name(name),
        _printable(text) if isinstance(text, str) else "",
        timedelta(seconds=int(seconds)) if _SECONDS.fullmatch(seconds) else None,
    )


def _read_name(value: object) -> str:
    """The bare name: it may stand behind a namespace and before a URL."""
    if not isinstance(value, str):
        return ""
    name = value.partition(":")[0].rpartition("#")[2].strip()
    return name if _NAME.fullmatch(name) else ""


def _read_object(body: bytes) -> Mapping[str, object]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _printable(text: str) -> str:
    """Without the signed headers that AWS may repeat: the token of a session is one of them."""
    text = text.partition("The Canonical String")[0]
    text = " ".join(text[:_MAX_TEXT].split())
    return "".join(letter if letter.isprintable() else "?" for letter in text)
