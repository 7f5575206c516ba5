"""In which language a member reads a page: their own choice, a cookie, or the browser's wish.

Pages of readers choose among more languages, in `web/public/pages.py`. Only pages are translated.
What programs read, the API with its problems above all, stays English, and so does what no request
asks for: the command line, logs, tasks of workers.
"""

from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.cache import patch_vary_headers

from postledger.web.shared import page_frame, requests
from postledger.web.shared.requests import View

# No page either; and /ready answers while the database does not, so nobody looks for a session.
_FOR_PROGRAMS = ("/metrics", "/pictures/", "/ready")
_REMEMBERED = timedelta(days=365)


def middleware(get_response: View) -> View:
    """Every page is made in its reader's language. After the middleware that knows the reader."""

    def handle(request: HttpRequest) -> HttpResponseBase:
        if requests.is_api(request) or request.path_info.startswith(_FOR_PROGRAMS):
            return get_response(request)
        language = choose(request)
        with translation.override(language):
            response = get_response(request)
        is_page = response.get("Content-Type", "").startswith("text/html")
        if is_page and "Content-Language" not in response:
            response["Content-Language"] = language
            patch_vary_headers(response, ("Accept-Language", "Cookie"))
        return response

    return handle


def choose(request: HttpRequest) -> str:
    """A language of members: what a signed-in person chose, else the cookie, else the browser's."""
    own = getattr(getattr(request, "user", None), "language", "")
    chosen = own or request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "")
    accepted = request.headers.get("Accept-Language", "")
    return page_frame.choose_language(
        chosen, accept_language=accepted, offered=page_frame.MEMBER_LANGUAGES
    )


def remember(response: HttpResponseBase, language: str) -> None:
    """For a reader who is not signed in."""
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        language,
        max_age=_REMEMBERED,
        secure=settings.LANGUAGE_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
