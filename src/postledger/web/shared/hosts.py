"""Refuses requests for host names that this installation does not serve, before any view."""

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from postledger.lib.errors import BadRequestError
from postledger.web.shared import bodies, problems, requests
from postledger.web.shared.requests import View

# Probes ask by the address of a machine. `/live` never comes here.
_PROBE = "/ready"


class HostUnknownError(BadRequestError):
    code = "host_unknown"


def middleware(get_response: View) -> View:
    def handle(request: HttpRequest) -> HttpResponseBase:
        # SNS would take the refusal for success and lose its message. What providers post proves by
        # itself where it comes from.
        if request.path_info == _PROBE or bodies.is_for_events(request.path_info):
            return get_response(request)
        try:
            request.get_host()
        except DisallowedHost:
            return _refuse(request)
        return get_response(request)

    return handle


def _refuse(request: HttpRequest) -> HttpResponse:
    # Without the name: a stranger wrote it.
    error = HostUnknownError(
        "This installation does not serve the host name of this request. Use another URL; the"
        " operator can add the name to ALLOWED_HOSTS."
    )
    if requests.is_api(request):
        return problems.handle_exception(request, error)
    return HttpResponse(f"{error}\n", status=400, content_type="text/plain; charset=utf-8")
