"""What the public pages share: the visit, its language, and error pages."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Concatenate
from urllib.parse import urlencode

import structlog
from django.conf import settings
from django.core.exceptions import BadRequest, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.http.multipartparser import MultiPartParserError
from django.http.request import UnreadablePostError
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from postledger.accounts.queries import Organisation
from postledger.content import pictures
from postledger.content.picture_types import ENDINGS
from postledger.web.public import branded, recipients
from postledger.web.public.branded import PLAIN
from postledger.web.public.links import BadLinkError, StaleLinkError
from postledger.web.public.picture_files import PictureFiles
from postledger.web.shared import page_frame, throttle
from postledger.web.shared.throttle import RateExceededError

MATCH_PREFIX = "match."  # of the fields of a form, and of a link to it, by which events match

_LARGEST_FORM = 65_536
_METHODS = ("GET", "HEAD", "POST")
_FOLDER = resources.files("postledger.web.public")
_STYLE = (_FOLDER / "templates" / "style.css").read_bytes()
_HEADERS = page_frame.security_headers(_STYLE)
_PICTURE = re.compile(r"[0-9a-f]{64}\.(png|jpg|gif|webp)")
_PICTURE_TYPES = {ending: media_type for media_type, ending in ENDINGS.items()}
_picture_files = PictureFiles()
# What is wrong, and what to do.
_ERRORS = {
    "bad_link": (
        gettext_noop("This link does not work"),
        gettext_noop(
            "It is incomplete or was changed on its way. Open it again from the mail, or copy all"
            " of it into the address line."
        ),
    ),
    "stale": (
        gettext_noop("This link no longer works"),
        gettext_noop(
            "It is older than 7 days, or you have left the list since. To get the mail, subscribe"
            " again."
        ),
    ),
    "not_found": (
        gettext_noop("There is nothing here"),
        gettext_noop("The address is wrong, or the page has been taken away. Check the address."),
    ),
    "too_many": (
        gettext_noop("Please wait a moment"),
        gettext_noop("There were many requests from your network. Try again in a minute."),
    ),
    "too_large": (
        gettext_noop("That was too much"),
        gettext_noop("The form holds more text than we can take. Shorten it and send it again."),
    ),
    "busy": (
        gettext_noop("Please try again"),
        gettext_noop(
            "We could not save your choice, or cannot tell whether we did. Please try again in a"
            " minute."
        ),
    ),
    "method": (
        gettext_noop("This does not work here"),
        gettext_noop("The page can only be opened, or its form sent. Open the link in a browser."),
    ),
}
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Visit:
    """A request to a public page."""

    request: HttpRequest
    language: str
    ip: str | None

    @property
    def is_post(self) -> bool:
        return self.request.method == "POST"

    @property
    def token(self) -> str:
        return self.request.GET.get("token", "")

    @property
    def wants_json(self) -> bool:
        """Whether the Accept header names JSON and prefers it to HTML."""
        is_named = any(
            (media_type.main_type, media_type.sub_type) == ("application", "json")
            for media_type in self.request.accepted_types
        )
        best = self.request.get_preferred_type(["text/html", "application/json"])
        return is_named and best == "application/json"

    def form(self) -> QueryDict:
        """The submitted form; empty if the body is not a form."""
        try:
            return self.request.POST
        except (BadRequest, SuspiciousOperation, MultiPartParserError, UnreadablePostError):
            return QueryDict()

    def limit(self, rate: str) -> None:
        throttle.count_visit(rate, throttle.network_of(self.ip))

    def url(self, path: str, **query: str) -> str:
        """A URL of this installation in the language of the visit."""
        return f"{path}?{urlencode({**query, 'lang': self.language})}"


def render_page(
    visit: Visit,
    template: str,
    *,
    title: str,
    workspace_id: int | None = None,
    status: int = 200,
    **values: object,
) -> HttpResponse:
    """A page with the name and the look of a workspace; plain without one."""
    organisation, look = Organisation(), PLAIN
    if workspace_id is not None:
        organisation = recipients.find_organisation(workspace_id)
        look = branded.find_look(workspace_id)
    context = {
        "language": visit.language,
        "title": title,
        "org": organisation.name,
        "org_address": organisation.address,
        "languages": _language_links(visit),
        "look": look,
        **values,
    }
    response = HttpResponse(render_to_string(template, context), status=status)
    if look != PLAIN:
        styles = [_STYLE, *([look.style.encode()] if look.style else [])]
        policy = page_frame.write_policy(*styles, picture_origin=look.logo_origin)
        response["Content-Security-Policy"] = policy
    return response


def _language_links(visit: Visit) -> list[dict[str, str]]:
    """Links to the page in each language; empty after a form, which a link cannot repeat."""
    if visit.is_post:
        return []
    kept = {
        name: value
        for name, value in visit.request.GET.items()
        if name == "token" or name.startswith(MATCH_PREFIX)
    }
    return [
        {"code": code, "name": name, "url": f"?{urlencode({**kept, 'lang': code})}"}
        for code, name in settings.READER_LANGUAGES
    ]


def public_page[**P](
    view: Callable[Concatenate[Visit, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """Makes a Django view. It needs no CSRF token, because no cookie identifies anybody here."""

    @csrf_exempt
    def handle(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        accept_language = request.headers.get("Accept-Language", "")
        requested = request.GET.get("lang", "")
        language = page_frame.choose_language(
            requested, accept_language=accept_language, offered=page_frame.READER_LANGUAGES
        )
        visit = Visit(request, language, throttle.client_ip(request.META))
        with translation.override(language):
            response = _respond(visit, lambda: view(visit, *args, **kwargs))
        return page_frame.finish(response, headers=_HEADERS, language=language)

    return handle


def _respond(visit: Visit, view: Callable[[], HttpResponse]) -> HttpResponse:
    try:
        return _refuse(visit) or view()
    except RateExceededError as error:
        return _error_page(visit, "too_many", status=429, retry_after=error.retry_after)
    except (OperationalError, InterfaceError) as error:
        _log.warning("database_unavailable", error=error)
        return _error_page(visit, "busy", status=503, retry_after=5)
    except Http404:
        return _error_page(visit, "not_found", status=404)
    except (BadLinkError, StaleLinkError) as error:
        return _bad_link_page(visit, error.code)


def _refuse(visit: Visit) -> HttpResponse | None:
    if visit.request.method not in _METHODS:
        response = _error_page(visit, "method", status=405)
        response["Allow"] = ", ".join(_METHODS)
        return response
    # Before the body is read: Django would write a large one to disk.
    length = str(visit.request.META.get("CONTENT_LENGTH") or "0")
    is_large = not length.isdecimal() or int(length) > _LARGEST_FORM
    return _error_page(visit, "too_large", status=413) if is_large else None


def _bad_link_page(visit: Visit, code: str) -> HttpResponse:
    """Slows down visitors who guess links."""
    try:
        visit.limit(settings.PUBLIC_RATE)
    except RateExceededError as error:
        return _error_page(visit, "too_many", status=429, retry_after=error.retry_after)
    return _error_page(visit, code, status=400)


def _error_page(visit: Visit, code: str, *, status: int, retry_after: int = 0) -> HttpResponse:
    """Says what is wrong and what to do, as a page or as JSON."""
    response: HttpResponse
    if visit.wants_json:
        response = JsonResponse({"ok": False, "error": code}, status=status)
    else:
        title, sentence = map(gettext, _ERRORS[code])
        response = render_page(visit, "page.html", title=title, status=status, lines=[sentence])
    if retry_after:
        response["Retry-After"] = str(retry_after)
    return response


@require_safe
def serve_picture(request: HttpRequest, name: str) -> FileResponse | HttpResponse:
    """A picture of a letter: a copy from Notion, or one that was uploaded. It never changes."""
    match = _PICTURE.fullmatch(name)
    if not match:
        raise Http404
    media_type = _PICTURE_TYPES[match[1]]
    response = _find_copy(name, media_type) or _find_uploaded(request, name, media_type)
    if response is None:
        raise Http404
    response["Cache-Control"] = "public, max-age=31536000, immutable"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _find_copy(name: str, media_type: str) -> FileResponse | None:
    path = Path(settings.PICTURES_FOLDER, name)
    if not settings.PICTURES_FOLDER or not path.is_file():
        return None
    return FileResponse(path.open("rb"), content_type=media_type)


def _find_uploaded(
    request: HttpRequest, name: str, media_type: str
) -> FileResponse | HttpResponse | None:
    key = name.partition(".")[0]
    size = pictures.find_size(key, media_type)
    if size is None:
        return None
    if request.method == "HEAD":
        return HttpResponse(content_type=media_type, headers={"Content-Length": str(size)})
    file = _picture_files.open(key, lambda: pictures.read_picture(key))
    return None if file is None else FileResponse(file, content_type=media_type)
