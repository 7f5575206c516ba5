"""What providers post of their mail: read whole, refused with a reason, or answered once stored.

Trouble that may pass is answered with 503, after which every provider posts again.
"""

import errno
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from http import HTTPStatus

import structlog
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.request import UnreadablePostError

from postledger.lib.database_outage import OUTAGE_ERRORS
from postledger.lib.errors import ForbiddenError, RefusedError, TooLargeError, UnavailableError
from postledger.observability import metrics
from postledger.web.shared import problems

_CUT_OFF = "The body did not arrive whole. Send it again."

_log = structlog.get_logger(__name__)


class Outcome(StrEnum):
    """What became of a post that is a provider's own."""

    STORED = "stored"
    REPEATED = "repeated"
    TEST = "test"
    CONFIRMED = "confirmed"
    ENDED = "ended"


class PostTooLargeError(TooLargeError):
    code = "too_large"


class SignatureInvalidError(ForbiddenError):
    code = "signature_invalid"


class NotNowError(UnavailableError):
    code = "not_now"


def answer(request: HttpRequest, take: Callable[[HttpRequest, datetime], Outcome]) -> HttpResponse:
    """Answers with 200 for what was taken, durably, and else with why not."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    try:
        outcome = take(request, datetime.now(UTC))
    except RefusedError as refusal:
        return _refuse(request, refusal)
    except OUTAGE_ERRORS as error:
        _log.warning("database_unavailable", error=type(error).__name__)
        return _refuse(request, NotNowError("The database does not answer. Send it again."))
    metrics.FEEDBACK_MESSAGES.add(outcome=outcome)
    return HttpResponse(status=HTTPStatus.OK)


def _refuse(request: HttpRequest, refusal: RefusedError) -> HttpResponse:
    metrics.FEEDBACK_MESSAGES.add(outcome=refusal.code)
    # Nothing of the post: a stranger may have written it.
    _log.warning("feedback_refused", code=refusal.code, reason=str(refusal))
    return problems.handle_exception(request, refusal)


def read_body(request: HttpRequest) -> bytes:
    """All of the body as it was sent."""
    try:
        body = request.body
    except UnreadablePostError as error:
        if error.errno == errno.EFBIG:
            raise PostTooLargeError("The body is larger than any that a provider sends.") from None
        raise NotNowError(_CUT_OFF) from None
    if len(body) < int(request.META.get("CONTENT_LENGTH") or 0):
        raise NotNowError(_CUT_OFF)
    return body
