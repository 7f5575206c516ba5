"""Turns everything that goes wrong into problem details (RFC 9457); nothing else does."""

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

from postledger.contacts.filter_values import InvalidFilterError
from postledger.lib.errors import RefusedError
from postledger.transactional.values import InvalidMailError, Validation
from postledger.web.shared import request_ids
from postledger.web.shared.throttle import RateExceededError

MEDIA_TYPE: Final = "application/problem+json"
API: Final = ("/v1/", "/send-mailout")

_RETRY_AFTER = 5  # seconds, for what mends itself
_LONGEST_NAME = 100
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Kind:
    """A status, and what is said with it when nobody knows better."""

    title: str
    code: str = ""
    detail: str = ""


# fmt: off
KINDS: Final[Mapping[int, _Kind]] = {
    400: _Kind("Bad request", "bad_request",
        "The body is not JSON. Send one JSON object in UTF-8."),
    401: _Kind("Unauthorized", "unauthorized",
        "No valid API key was given. Send one as Authorization: Bearer KEY."),
    403: _Kind("Forbidden", "forbidden",
        "This key may not do this. Use another one."),
    404: _Kind("Not found", "not_found",
        "There is nothing here that this key may see. Check the address."),
    405: _Kind("Method not allowed", "method_not_allowed",
        "This address has other methods; the Allow header lists them."),
    409: _Kind("Conflict"),
    413: _Kind("Too large", "too_large",
        "The body is larger than 16 MiB. Send less at a time."),
    415: _Kind("Unsupported media type"),
    422: _Kind("Not acceptable as it is"),
    429: _Kind("Too many requests"),
    500: _Kind("Server fault", "server_fault",
        "This is a fault of the server, and it was written down. Tell the operator the request"
        " id."),
    503: _Kind("Unavailable", "unavailable",
        "The database does not answer, so it is not certain whether the request was taken. Send"
        " it again in a moment; with an Idempotency-Key that is safe."),
}
# fmt: on

# What a refusal is in HTTP. Any other is 422: understood, and not done.
_STATUS_OF_CODE = {
    "scope_missing": 403,
    "not_found": 404,
    "article_exists": 409,
    "campaign_already_launched": 409,
    "campaign_changed": 409,
    "campaign_exists": 409,
    "contact_exists": 409,
    "idempotency_key_reused": 409,
    "import_not_ready": 409,
    "list_exists": 409,
    "mailout_already_sent": 409,
    "month_dropped": 409,
    "run_busy": 409,
    "run_over": 409,
    "send_batch_taken": 409,
    "subscription_not_active": 409,
    "subscription_suppressed": 409,
    "template_exists": 409,
    "import_too_large": 413,
    "unsupported_media_type": 415,
    "rate_exceeded": 429,
}
# Told as an address that leads nowhere: what another workspace has is not to be guessed.
_UNKNOWN = frozenset(
    {
        "article_unknown",
        "campaign_unknown",
        "contact_unknown",
        "import_unknown",
        "slice_unknown",
        "template_unknown",
    }
)

_STATUS_OF_ERROR: Mapping[type[Exception], int] = {
    UnreadablePostError: 400,
    AuthenticationError: 401,
    Http404: 404,
    RequestDataTooBig: 413,
    InterfaceError: 503,
    OperationalError: 503,
}


class Fault(BaseModel):
    """One of the things that are wrong."""

    index: int | None = Field(
        default=None, description="Which mail, or which text, of the request, from 0."
    )
    place: str = Field(description="Which field.", examples=["subject"])
    code: str = Field(examples=["INVALID_TEMPLATE"])
    detail: str = Field(examples=["subject_missing: Give the mail a subject."])


class Problem(BaseModel):
    """What went wrong, why, and what to do."""

    type: str = Field(examples=["urn:postledger:problem:INVALID_TEMPLATE"])
    title: str = Field(examples=["Not acceptable as it is"])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["subject_missing: Give the mail a subject."])
    code: str = Field(description="Never changes its meaning.", examples=["INVALID_TEMPLATE"])
    request_id: str = Field(description="By which the operator finds this request.")
    errors: list[Fault] = Field(default=[], description="Everything that is wrong, in order.")


def of_exception(request: HttpRequest, error: Exception) -> HttpResponse:
    """The answer to a request that ended with an exception."""
    # Ninja wraps what is raised while it reads a body.
    refusal = error.__cause__ if isinstance(error, HttpError) else error
    if isinstance(refusal, RefusedError):
        return _of_refusal(request, refusal)
    if isinstance(error, ValidationError):
        return _of_input(request, error)
    status = _status_of(error)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        _log.warning("database_unavailable", error=error)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        _log.error("request_failed", exc_info=error)
    return _response(request, status)


def _status_of(error: Exception) -> int:
    if isinstance(error, HttpError):
        return error.status_code
    found = (status for kind, status in _STATUS_OF_ERROR.items() if isinstance(error, kind))
    return next(found, HTTPStatus.INTERNAL_SERVER_ERROR)


def in_json(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """The response as it is, or a problem in place of an error page of Django's."""
    is_fine = (
        response.status_code < HTTPStatus.BAD_REQUEST or response.get("Content-Type") == MEDIA_TYPE
    )
    if is_fine or not request.path_info.startswith(API):
        return response
    problem = _response(request, response.status_code)
    if "Allow" in response:
        problem["Allow"] = response["Allow"]
    return problem


def _of_refusal(request: HttpRequest, error: RefusedError) -> HttpResponse:
    if error.code in _UNKNOWN:
        return _response(request, HTTPStatus.NOT_FOUND)
    status = _STATUS_OF_CODE.get(error.code, HTTPStatus.UNPROCESSABLE_ENTITY)
    response = _response(
        request, status, code=error.code, detail=str(error), errors=_faults_of(error)
    )
    if isinstance(error, RateExceededError):
        response["Retry-After"] = str(error.retry_after)
    return response


def _faults_of(error: RefusedError) -> list[Fault]:
    match error:
        case InvalidMailError(flaws=flaws):
            return [
                Fault(index=flaw.index, place=flaw.place, code=flaw.code, detail=flaw.detail)
                for flaw in flaws
            ]
        case InvalidFilterError(place=place, detail=detail):
            return [Fault(place=place, code=error.code, detail=detail)]
        case _:
            return []


def _of_input(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """What does not even have the form of a request."""
    if any(found["loc"][0] == "path" for found in error.errors):
        return _response(request, HTTPStatus.NOT_FOUND)
    code = Validation.INVALID_PAYLOAD
    faults = []
    for found in error.errors:
        index, place = _located(found["loc"])
        faults.append(Fault(index=index, place=place, code=code, detail=f"{found['msg']}."))
    detail = f"{faults[0].place}: {faults[0].detail}"
    return _response(
        request, HTTPStatus.UNPROCESSABLE_ENTITY, code=code, detail=detail, errors=faults
    )


def _located(location: Sequence[str | int]) -> tuple[int | None, str]:
    """Which mail of a batch, if it is one, and which field."""
    index = None
    source, *names = location
    if source == "body":
        names = names[1:]  # what the view calls the body
    if len(names) > 1 and names[0] == "mails" and isinstance(names[1], int):
        index = names[1]
        names = names[2:]
    return index, ".".join(str(name)[:_LONGEST_NAME] for name in names) or str(source)


def _response(
    request: HttpRequest,
    status: int,
    *,
    code: str = "",
    detail: str = "",
    errors: Sequence[Fault] = (),
) -> HttpResponse:
    kind = KINDS.get(status, KINDS[400])
    problem = Problem(
        type=f"urn:postledger:problem:{code or kind.code}",
        title=kind.title,
        status=status,
        detail=detail or kind.detail,
        code=code or kind.code,
        request_id=request_ids.of(request),
        errors=list(errors),
    )
    response = HttpResponse(problem.model_dump_json(), status=status, content_type=MEDIA_TYPE)
    if status == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = "Bearer"
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        response["Retry-After"] = str(_RETRY_AFTER)
    # Django would write a line of its own; the one that every request gets is enough.
    response._has_been_logged = True  # type: ignore[attr-defined]  # noqa: SLF001  its own switch
    return response
