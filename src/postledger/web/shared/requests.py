"""What happens around every request: its id, one line in the log, and problems as JSON."""

from collections.abc import Callable
from time import perf_counter

import structlog
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from postledger.observability import context
from postledger.web.shared import problems, request_ids

type View = Callable[[HttpRequest], HttpResponseBase]

_log = structlog.get_logger(__name__)


def middleware(get_response: View) -> View:
    def handle(request: HttpRequest) -> HttpResponseBase:
        started = perf_counter()
        request_id = request_ids.assign(request)
        context.clear()
        context.bind(request_id=request_id)
        response = problems.in_json(request, get_response(request))
        response[request_ids.HEADER] = request_id
        _log.info(
            "request",
            method=request.method,
            route=_route(request),
            status=response.status_code,
            duration_ms=round((perf_counter() - started) * 1000),
        )
        context.clear()
        return response

    return handle


def _route(request: HttpRequest) -> str:
    """The pattern, not the path: ids and whatever strangers write stay out of the log."""
    found = request.resolver_match
    return f"/{found.route}" if found else "unknown"
