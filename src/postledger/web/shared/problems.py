"""Answers every failed API request with problem details (RFC 9457)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import structlog
from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from django.http.response import HttpResponseBase
from ninja.errors import AuthenticationError, HttpError, ValidationError
from pydantic import BaseModel, Field

from postledger.contacts.filters.parsing import InvalidFilterError
from postledger.lib.errors import (
    MOST_ISSUES,
    BadRequestError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    RefusedError,
    TooLargeError,
    TooManyRequestsError,
    UnavailableError,
)
from postledger.notifications.events.publishing import InvalidEventError
from postledger.notifications.jobs.contract import InvalidJobError
from postledger.transactional.requests import InvalidMailError, Validation
from postledger.web.shared import bodies, request_log, requests
from postledger.web.shared.requests import View
from postledger.web.shared.throttle import RateExceededError

MEDIA_TYPE: Final = "application/problem+json"

_RETRY_AFTER = 5  # seconds, while the database is away
_log = structlog.get_logger(__name__)


class InvalidJsonError(BadRequestError):
    code = "bad_request"

    def __init__(self, line: int, column: int) -> None:
        super().__init__(
            f"The body is not JSON: something is missing or wrong at line {line}, column {column}."
            " Send one JSON object in UTF-8."
        )


class UnsupportedMediaTypeError(RefusedError):
    """The body has a Content-Type that the endpoint cannot read."""

    code = "unsupported_media_type"


@dataclass(frozen=True, slots=True)
class _Default:
    """What a problem of one status says unless the error itself says more."""

    title: str
    code: str = ""
    detail: str = ""


# fmt: off
DEFAULTS: Final[Mapping[int, _Default]] = {
    400: _Default("Bad request", "bad_request",
        "The body is not JSON. Send one JSON object in UTF-8."),
    401: _Default("Unauthorized", "unauthorized",
        "The API key is missing or not valid. Send it as Authorization: Bearer KEY."),
    403: _Default("Forbidden", "forbidden",
        "This API key lacks the permission. Use another key."),
    404: _Default("Not found", "not_found",
        "Not found in the workspace of this API key. Check the URL and the key."),
    405: _Default("Method not allowed", "method_not_allowed",
        "This URL does not support the method. The Allow header lists the supported methods."),
    408: _Default("Request timeout", "request_timeout",
        "The body did not arrive in time. Send it again, faster or in smaller parts."),
    409: _Default("Conflict"),
    413: _Default("Too large", "too_large",
        "The body is larger than this URL accepts. Send less in one request."),
    415: _Default("Unsupported media type"),
    422: _Default("Unprocessable request"),
    429: _Default("Too many requests"),
    500: _Default("Internal server error", "server_fault",
        "The server failed, and the error was logged. Give the operator the request id."),
    503: _Default("Unavailable", "unavailable",
        "The database does not answer, so the request may or may not have been stored. Send it"
        " again in a moment; an Idempotency-Key makes that safe."),
}
# fmt: on

# The first base class that matches decides.
_STATUSES: Mapping[type[Exception], int] = {
    UnreadablePostError: 400,
    BadRequestError: 400,
    AuthenticationError: 401,
    ForbiddenError: 403,
    Http404: 404,
    NotFoundError: 404,
    ConflictError: 409,
    RequestDataTooBig: 413,
    TooLargeError: 413,
    UnsupportedMediaTypeError: 415,
    TooManyRequestsError: 429,
    UnavailableError: 503,
    RefusedError: 422,
    InterfaceError: 503,
    OperationalError: 503,
    Exception: 500,
}


class Issue(BaseModel):
    """One thing that is wrong with the request."""

    index: int | None = Field(
        default=None, description="Position of the mail, text or event in the request, from 0."
    )
    place: str = Field(description="The field.", examples=["subject"])
    code: str = Field(examples=["INVALID_TEMPLATE"])
    detail: str = Field(examples=["subject_missing: Give the mail a subject."])


class Problem(BaseModel):
    """Why a request failed, and what to do about it."""

    type: str = Field(examples=["urn:postledger:problem:INVALID_TEMPLATE"])
    title: str = Field(examples=["Unprocessable request"])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["subject_missing: Give the mail a subject."])
    code: str = Field(description="Never changes its meaning.", examples=["INVALID_TEMPLATE"])
    request_id: str = Field(description="The operator finds the request by this id.")
    errors: list[Issue] = Field(default=[], description="The first 100 issues, in order.")
    more_errors: int = Field(default=0, description="How many issues are not listed.")


class InvalidRequestError(ValidationError):
    """A request does not match its schema: the first issues, and how many there are in all."""

    def __init__(self, issues: Sequence[Issue], total: int, *, is_path: bool = False) -> None:
        super().__init__([])
        self.issues = issues
        self.total = total
        self.is_path = is_path


def payload_issue(place: str, detail: str) -> Issue:
    return Issue(place=place, code=Validation.INVALID_PAYLOAD, detail=detail)


def status_of(error: type[Exception]) -> int:
    return next(status for base, status in _STATUSES.items() if issubclass(error, base))


def handle_exception(request: HttpRequest, error: Exception) -> HttpResponse:
    # Ninja wraps an exception that is raised while it reads a body.
    cause = error.__cause__ if isinstance(error, HttpError) else error
    if isinstance(cause, RefusedError):
        return _refusal_response(request, cause)
    if isinstance(error, InvalidRequestError):
        return _validation_response(request, error)
    status = error.status_code if isinstance(error, HttpError) else status_of(type(error))
    if isinstance(error, UnreadablePostError):
        status = bodies.STATUSES.get(error.errno or 0, status)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        _log.warning("database_unavailable", error=error)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        _log.error("request_failed", exc_info=error)
    return _response(request, status)


def middleware(get_response: View) -> View:
    """Replaces Django's own error pages under the API's paths."""

    def handle(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        is_error = response.status_code >= HTTPStatus.BAD_REQUEST
        is_problem = response.get("Content-Type") == MEDIA_TYPE
        if not is_error or is_problem or not requests.is_api(request):
            return response
        problem = _response(request, response.status_code)
        if "Allow" in response:
            # The API's framework lists them in any order.
            problem["Allow"] = ", ".join(sorted(response["Allow"].split(", ")))
        return problem

    return handle


def _refusal_response(request: HttpRequest, error: RefusedError) -> HttpResponse:
    status = status_of(type(error))
    if status == HTTPStatus.NOT_FOUND:
        # The same for all: nobody learns what another workspace has.
        return _response(request, status)
    issues = _issues_of(error)
    unlisted = error.unlisted if isinstance(error, InvalidMailError) else 0
    response = _response(
        request,
        status,
        code=error.code,
        detail=str(error),
        issues=issues[:MOST_ISSUES],
        more_issues=max(0, len(issues) - MOST_ISSUES) + unlisted,
    )
    if isinstance(error, RateExceededError):
        response["Retry-After"] = str(error.retry_after)
    return response


def _issues_of(error: RefusedError) -> list[Issue]:
    match error:
        case InvalidMailError(issues=issues):
            return [
                Issue(index=issue.index, place=issue.field, code=issue.code, detail=issue.detail)
                for issue in issues
            ]
        case InvalidEventError(issues=flaws):
            return [
                Issue(index=flaw.index, place=flaw.place, code=error.code, detail=flaw.detail)
                for flaw in flaws
            ]
        case InvalidJobError(issues=issues):
            return [
                Issue(place=issue.field or "body", code=error.code, detail=issue.detail)
                for issue in issues
            ]
        case InvalidFilterError(path=path, detail=detail):
            return [Issue(place=path, code=error.code, detail=detail)]
        case _:
            return []


def _validation_response(request: HttpRequest, error: InvalidRequestError) -> HttpResponse:
    # Ninja's frame holds the error, and the error by its traceback the frame: the request and its
    # body would stay in memory until the garbage collector comes by.
    error.__traceback__ = None
    if error.is_path:
        return _response(request, HTTPStatus.NOT_FOUND)
    issues, total = error.issues, error.total
    detail = (
        f"{issues[0].place}: {issues[0].detail}"
        if issues
        else f"The request has {total:,} errors, too many to list. Compare it with /docs."
    )
    return _response(
        request,
        HTTPStatus.UNPROCESSABLE_ENTITY,
        code=Validation.INVALID_PAYLOAD,
        detail=detail,
        issues=issues,
        more_issues=total - len(issues),
    )


def _response(  # noqa: PLR0913  the parts of a problem, each by its name
    request: HttpRequest,
    status: int,
    *,
    code: str = "",
    detail: str = "",
    issues: Sequence[Issue] = (),
    more_issues: int = 0,
) -> HttpResponse:
    default = DEFAULTS.get(status, DEFAULTS[400])
    problem = Problem(
        type=f"urn:postledger:problem:{code or default.code}",
        title=default.title,
        status=status,
        detail=detail or default.detail,
        code=code or default.code,
        request_id=requests.id_of(request),
        errors=list(issues),
        more_errors=more_issues,
    )
    request_log.remember_code(request, problem.code)
    response = HttpResponse(problem.model_dump_json(), status=status, content_type=MEDIA_TYPE)
    if status == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = "Bearer"
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        response["Retry-After"] = str(_RETRY_AFTER)
    # Stops Django's own log line: the middleware writes one for every request.
    response._has_been_logged = True  # type: ignore[attr-defined]  # noqa: SLF001  its own switch
    return response
