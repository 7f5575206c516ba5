"""The pictures that a workspace uploaded, to be written into texts again."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from postledger.content import pictures
from postledger.content.pictures import PictureSummary
from postledger.content.rendering.source import Format
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.editor import snippets
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.parameters import read_number

_ON_A_PAGE = 24


@require_safe
def show_list(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    before = read_number(request.GET, "before")
    newest = pictures.list_newest(visitor.workspace.pk, limit=_ON_A_PAGE + 1, before=before)
    shown = newest[:_ON_A_PAGE]
    base_url = pictures.find_base_url()
    values = {
        "title": _("Pictures"),
        "is_public": bool(base_url),
        "rows": [_describe(picture, base_url) for picture in shown],
        "newer_url": reverse("pictures", args=[visitor.workspace.pk]) if before else "",
        "older_url": f"?before={shown[-1].id}" if len(newest) > _ON_A_PAGE else "",
    }
    return render_page(request, visitor, "dashboard/content/pictures.html", values)


def _describe(picture: PictureSummary, base_url: str) -> Mapping[str, Any]:
    """What is written into a text has no description yet."""
    url = f"{base_url}/{picture.file_name}"
    return {
        "picture": picture,
        "markdown": snippets.write_picture(Format.MARKDOWN, url, description=""),
        "html": snippets.write_picture(Format.HTML, url, description=""),
        "mjml": snippets.write_picture(Format.MJML, url, description=""),
    }
