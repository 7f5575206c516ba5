"""Sessions, CSRF tokens, users and security headers: for the dashboard's paths alone.

The API and the pages for recipients have no cookies, and do not pay for these.
"""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, override

from django.contrib.auth import middleware as auth
from django.contrib.messages import middleware as messages
from django.contrib.sessions import middleware as sessions
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware import csrf
from django.utils.deprecation import MiddlewareMixin

from postledger.web.dashboard import kept_forms, refusals
from postledger.web.shared import bodies, requests
from postledger.web.shared.requests import View

_PATHS = ("/w/", "/account/", "/first-run", "/join/", "/mail/progress/")

# Nothing inline and nothing from elsewhere; `data:` is the picture that sets up a second factor.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; frame-src 'self'; form-action 'self'; frame-ancestors 'none';"
    " base-uri 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "X-Robots-Tag": "noindex, nofollow",
    "Cache-Control": "no-store",
}


def is_dashboard(request: HttpRequest) -> bool:
    return request.path_info == "/" or request.path_info.startswith(_PATHS)


class _ForDashboard(MiddlewareMixin):
    @override
    def __call__(self, request: HttpRequest) -> Any:
        return super().__call__(request) if is_dashboard(request) else self.get_response(request)


class SessionMiddleware(_ForDashboard, sessions.SessionMiddleware):
    pass


class CsrfMiddleware(_ForDashboard, csrf.CsrfViewMiddleware):
    @override
    def process_view(
        self,
        request: HttpRequest,
        callback: Callable[..., HttpResponseBase],
        callback_args: Any,
        callback_kwargs: Any,
    ) -> Any:
        if not is_dashboard(request):
            return None
        # It reads the body for its token: a large one of members alone.
        is_large = bodies.find_largest(request.path_info) > bodies.SMALL
        if is_large and not request.user.is_authenticated:
            return kept_forms.ask_to_sign_in(request)
        # A body that cannot be read holds no token, which would pass for a form of another site.
        failure = bodies.find_failure(request.META)
        if failure is HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            # Neither of them reads the body or changes anything.
            refuse = getattr(callback, "too_large", refusals.too_large)
            return refuse(request, *callback_args, **callback_kwargs)
        if failure is not None:
            return refusals.too_late(request)
        return super().process_view(request, callback, callback_args, callback_kwargs)


class UserMiddleware(_ForDashboard, auth.AuthenticationMiddleware):
    pass


class MessageMiddleware(_ForDashboard, messages.MessageMiddleware):
    pass


def page_middleware(get_response: View) -> View:
    """Sets the headers of the dashboard's pages."""

    def handle(request: HttpRequest) -> HttpResponseBase:
        if not is_dashboard(request):
            return get_response(request)
        response = get_response(request)
        if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED and _is_for_people(request):
            allowed = response.headers["Allow"]
            response = refusals.wrong_method(request)
            response.headers.setdefault("Allow", allowed)
        for name, value in _HEADERS.items():
            response.setdefault(name, value)
        # Stops Django's own log line: the outermost middleware writes one for every request.
        response._has_been_logged = True  # type: ignore[attr-defined]  # noqa: SLF001  its own switch
        return response

    handle.process_exception = _answer_without_database  # type: ignore[attr-defined]  # Django's hook
    return handle


def _is_for_people(request: HttpRequest) -> bool:
    """Not for a program, nor for a part of a page."""
    return not requests.is_api(request) and "HX-Request" not in request.headers


def _answer_without_database(request: HttpRequest, error: Exception) -> HttpResponseBase | None:
    is_away = isinstance(error, OperationalError | InterfaceError)
    return refusals.unavailable(request) if is_away and is_dashboard(request) else None
