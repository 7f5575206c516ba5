"""Pages for people: the description of the API, and what it has about some words."""

from collections.abc import Sequence
from functools import cache
from importlib import resources

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe

from postledger.web.api import openapi
from postledger.web.api.docs.operations import Group, Reader
from postledger.web.shared import page_frame, problems

_FOLDER = resources.files("postledger.web.api.docs") / "templates"
_HEADERS = page_frame.security_headers((_FOLDER / "docs.css").read_bytes())
_LONGEST_WORDS = 100


@require_safe
def docs_page(request: HttpRequest) -> HttpResponse:
    """Everybody may ask: a search reads what is in memory, and renders a list of links."""
    words = request.GET.get("q", "").strip()[:_LONGEST_WORDS]
    if not words:
        return _finish(_render_docs(settings.PUBLIC_URL))
    matching = [
        operation
        for group in _list_groups(settings.PUBLIC_URL)
        for operation in group.operations
        if operation.mentions(words)
    ]
    values = {"words": words, "operations": matching}
    return _finish(render_to_string("docs_search.html", values))


@cache
def _list_groups(_public_url: str) -> Sequence[Group]:
    """Cached by what the document depends on."""
    return Reader(openapi.build_document()).groups()


@cache
def _render_docs(public_url: str) -> str:
    document = openapi.build_document()
    values = {
        "info": document["info"],
        "groups": _list_groups(public_url),
        "schemas": Reader(document).schemas(),
        "problems": problems.DEFAULTS,
    }
    return render_to_string("docs.html", values)


def _finish(html: str) -> HttpResponse:
    return page_frame.finish(HttpResponse(html), headers=_HEADERS, language="en")
