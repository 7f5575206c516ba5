"""Gives every request an id and a line in the log, and every answer its safe headers."""

import re
from collections.abc import Callable
from http import HTTPStatus
from time import perf_counter, time
from uuid import uuid4

import structlog
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from postledger.observability import context
from postledger.web.shared import bodies, request_log

type View = Callable[[HttpRequest], HttpResponseBase]

HEADER = "X-Request-Id"

_API_PATHS = ("/v1/", "/send-mailout", "/mail/progress/", "/schemas/")
_FILES = "/static/"
_ACCEPTED = re.compile(r"[A-Za-z0-9._-]{1,128}")
_META_KEY = "postledger.request_id"
_log = structlog.get_logger(__name__)


def middleware(get_response: View) -> View:
    def handle(request: HttpRequest) -> HttpResponseBase:
        arrived_at, started = time(), perf_counter()
        request_id = _assign_id(request)
        context.clear()
        context.bind(request_id=request_id)
        response = get_response(request)
        response[HEADER] = request_id
        response.setdefault("X-Content-Type-Options", "nosniff")
        if is_api(request):
            response.setdefault("Cache-Control", "no-store")
        route, status = _route(request), response.status_code
        duration_ms = round((perf_counter() - started) * 1000)
        if not _is_routine(request, response):
            _log.info(
                "request",
                method=request.method,
                route=route,
                status=status,
                duration_ms=duration_ms,
            )
        request_log.note(
            request,
            at=arrived_at,
            route=route,
            status=status,
            duration_ms=duration_ms,
            request_id=request_id,
        )
        context.clear()
        return response

    return handle


def is_api(request: HttpRequest) -> bool:
    path = request.path_info
    return path.startswith(_API_PATHS) or bodies.is_for_events(path)


def _is_routine(request: HttpRequest, response: HttpResponseBase) -> bool:
    """Whether it needs no line: a campaign has millions of events, a page a dozen files."""
    path = request.path_info
    is_frequent = bodies.is_for_events(path) or path.startswith(_FILES)
    return is_frequent and response.status_code == HTTPStatus.OK


def id_of(request: HttpRequest) -> str:
    return str(request.META[_META_KEY])


def _assign_id(request: HttpRequest) -> str:
    """Takes over the caller's id if it is safe to log; otherwise makes a new one."""
    sent = request.META.get("HTTP_X_REQUEST_ID", "")
    request_id = sent if _ACCEPTED.fullmatch(sent) else str(uuid4())
    request.META[_META_KEY] = request_id
    return request_id


def _route(request: HttpRequest) -> str:
    """The URL pattern, not the path: ids and input of strangers stay out of the log."""
    match = request.resolver_match
    return f"/{match.route}" if match else "unknown"
