"""Pictures for the text of a draft: uploaded, and written into it."""

import json

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from postledger.campaigns.drafts import drafts
from postledger.content import pictures
from postledger.content.pictures import InvalidPictureError
from postledger.content.rendering.source import Format
from postledger.web.dashboard import refusals
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.editor import snippets
from postledger.web.dashboard.frame import render_fragment
from postledger.web.dashboard.parameters import read_text
from postledger.web.shared.sentences import translate


@require_POST
def upload(request: HttpRequest, visitor: Visitor, campaign_id: int) -> HttpResponse:
    """Asked by htmx, the answer tells the page what to insert; else a message says it."""
    drafts.find_campaign(visitor.workspace.pk, campaign_id)
    file, kind = request.FILES.get("picture"), request.POST.get("kind", "")
    snippet, trouble = "", ""
    try:
        url = _keep(visitor, file)
        format_ = Format(kind) if kind in set(Format) else Format.MARKDOWN
        snippet = snippets.write_picture(
            format_, url, description=read_text(request.POST, "description")
        )
    except InvalidPictureError as error:
        trouble = translate(error)
    if "HX-Request" in request.headers:
        response = _answer_part(request, visitor, snippet, trouble)
        if snippet:
            response.headers["HX-Trigger"] = json.dumps({"picture": {"snippet": snippet}})
        return response
    if trouble:
        messages.error(request, trouble)
    else:
        text = _("The picture is stored. Write this into the text: %(snippet)s")
        messages.success(request, text % {"snippet": snippet})
    return redirect("campaign_edit", visitor.workspace.pk, campaign_id)


def _keep(visitor: Visitor, file: UploadedFile | None) -> str:
    if file is None:
        raise InvalidPictureError(_("Choose a file first."))
    return pictures.keep_picture(visitor.workspace.pk, file.read(), actor=visitor.actor)


@require_POST
def refuse_large(request: HttpRequest, visitor: Visitor, campaign_id: int) -> HttpResponse:
    """Asked by htmx, the answer stands beside the field, as the page shows one of this status."""
    drafts.find_campaign(visitor.workspace.pk, campaign_id)
    trouble = translate(pictures.refuse_large())
    if "HX-Request" not in request.headers:
        text = _("%(trouble)s Go back: the draft still holds what you typed.")
        title = _("That was too large")
        return refusals.refuse(request, 413, title, text % {"trouble": trouble})
    response = _answer_part(request, visitor, "", trouble)
    response.status_code = 413
    return response


def _answer_part(
    request: HttpRequest, visitor: Visitor, snippet: str, trouble: str
) -> HttpResponse:
    values = {"snippet": snippet, "trouble": trouble}
    return render_fragment(request, visitor, "dashboard/editor_picture.html", values)
