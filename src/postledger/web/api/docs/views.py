"""Pages for people: what this server is, and the description of its API."""

from functools import cache
from importlib import resources

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe

from postledger.web.api import openapi
from postledger.web.api.docs.operations import Reader
from postledger.web.shared import page_frame

_FOLDER = resources.files("postledger.web.api.docs") / "templates"
_HEADERS = page_frame.security_headers((_FOLDER / "docs.css").read_bytes())


@require_safe
def docs_page(_request: HttpRequest) -> HttpResponse:
    return _finish(_render_docs(settings.PUBLIC_URL))


@cache
def _render_docs(_public_url: str) -> str:
    """Cached by what the document depends on."""
    document = openapi.build_document()
    reader = Reader(document)
    values = {"info": document["info"], "groups": reader.groups(), "schemas": reader.schemas()}
    return render_to_string("docs.html", values)


def _finish(html: str) -> HttpResponse:
    return page_frame.finish(HttpResponse(html), headers=_HEADERS, language="en")
