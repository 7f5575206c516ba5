"""What every public page has in common: its headers, its limits, and its words on trouble."""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from typing import Concatenate
from urllib.parse import urlencode

import structlog
from django.conf import settings
from django.core.exceptions import BadRequest, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.http.multipartparser import MultiPartParserError
from django.http.request import UnreadablePostError
from django.template.loader import render_to_string
from django.views.decorators.csrf import csrf_exempt

from postledger.accounts.queries import Organisation
from postledger.web.public import visitors, wording
from postledger.web.public.signed import BadLinkError, StaleLinkError
from postledger.web.public.wording import Words
from postledger.web.shared.throttle import RateExceededError

_LARGEST_FORM = 65_536
_METHODS = ("GET", "HEAD", "POST")
_style = (resources.files("postledger.web.public") / "templates" / "style.css").read_bytes()
_HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{b64encode(sha256(_style).digest()).decode()}';"
        " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex, nofollow",
    "Cache-Control": "no-store",
    "Vary": "Accept, Accept-Language",
}
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Visit:
    """A request, with what is known of whoever makes it."""

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
        """Whether JSON was asked for by its name, and not less than a page."""
        is_named = any(
            (kind.main_type, kind.sub_type) == ("application", "json")
            for kind in self.request.accepted_types
        )
        best = self.request.get_preferred_type(["text/html", "application/json"])
        return is_named and best == "application/json"

    def form(self) -> QueryDict:
        """What was filled in; empty for a body that cannot be read as a form."""
        try:
            return self.request.POST
        except (BadRequest, SuspiciousOperation, MultiPartParserError, UnreadablePostError):
            return QueryDict()

    def limit(self, rate: str) -> None:
        visitors.take(rate, visitors.network(self.ip))

    def words(self, **values: str) -> Words:
        return wording.filled(wording.words(self.language), **values)

    def url(self, path: str, **query: str) -> str:
        """An address of this installation, in the language that is being read."""
        return f"{path}?{urlencode({**query, 'lang': self.language})}"


def page(  # noqa: PLR0913  what a page is, each part by its name
    visit: Visit,
    template: str,
    *,
    title: str,
    words: Words,
    organisation: Organisation,
    status: int = 200,
    **values: object,
) -> HttpResponse:
    context = {
        "language": visit.language,
        "title": title,
        "words": words,
        "org": organisation.name,
        "org_address": organisation.address,
        "languages": _languages(visit),
        **values,
    }
    return HttpResponse(render_to_string(template, context), status=status)


def trouble(visit: Visit, kind: str, *, status: int) -> HttpResponse:
    """An error that says what happened and what to do, in whatever form was asked for."""
    if visit.wants_json:
        return JsonResponse({"ok": False, "error": kind}, status=status)
    words = visit.words()
    told = words["trouble"]
    return page(
        visit,
        "page.html",
        title=told[f"{kind}_title"],
        words=words,
        organisation=Organisation(),
        status=status,
        lines=[told[kind]],
    )


def door[**P](
    view: Callable[Concatenate[Visit, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """A view as the world sees it. No cookie says who somebody is here, so none can be abused."""

    @csrf_exempt
    def handle(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        accepted = request.headers.get("Accept-Language", "")
        language = wording.language(request.GET.get("lang", ""), accepted=accepted)
        visit = Visit(request, language, visitors.address(request))
        response = _answered(visit, lambda: view(visit, *args, **kwargs))
        for name, value in _HEADERS.items():
            response[name] = value
        response["Content-Language"] = language
        # Django would write a line of its own; the one that every request gets is enough.
        response._has_been_logged = True  # type: ignore[attr-defined]  # noqa: SLF001  its own switch
        return response

    return handle


def _answered(visit: Visit, view: Callable[[], HttpResponse]) -> HttpResponse:
    try:
        return _hindrance(visit) or view()
    except RateExceededError as error:
        return _later(trouble(visit, "too_many", status=429), error.retry_after)
    except (OperationalError, InterfaceError) as error:
        _log.warning("database_unavailable", error=error)
        return _later(trouble(visit, "busy", status=503), 5)
    except Http404:
        return trouble(visit, "not_found", status=404)
    except (BadLinkError, StaleLinkError) as error:
        return _refused(visit, error.code)


def _hindrance(visit: Visit) -> HttpResponse | None:
    if visit.request.method not in _METHODS:
        response = trouble(visit, "method", status=405)
        response["Allow"] = ", ".join(_METHODS)
        return response
    # Before the body is read: Django would put a large one on the disk.
    told = str(visit.request.META.get("CONTENT_LENGTH") or "0")
    is_large = not told.isdecimal() or int(told) > _LARGEST_FORM
    return trouble(visit, "too_large", status=413) if is_large else None


def _refused(visit: Visit, kind: str) -> HttpResponse:
    """Whoever tries many links that were never signed here is slowed down."""
    try:
        visit.limit(settings.PUBLIC_RATE)
    except RateExceededError as error:
        return _later(trouble(visit, "too_many", status=429), error.retry_after)
    return trouble(visit, kind, status=400)


def _later(response: HttpResponse, seconds: int) -> HttpResponse:
    response["Retry-After"] = str(seconds)
    return response


def _languages(visit: Visit) -> list[dict[str, str]]:
    """The same page in each language; none after a form was sent, which a link cannot repeat."""
    if visit.is_post:
        return []
    kept = {name: value for name, value in visit.request.GET.items() if name == "token"}
    return [
        {
            "code": code,
            "name": wording.words(code)["page"]["name"],
            "url": f"?{urlencode({**kept, 'lang': code})}",
        }
        for code in wording.LANGUAGES
    ]
