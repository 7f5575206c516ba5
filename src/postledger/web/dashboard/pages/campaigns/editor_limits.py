"""What the editor answers to a draft that is too long to be read."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from postledger.campaigns.drafts import drafts
from postledger.web.dashboard import refusals
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.frame import render_fragment


@require_POST
def refuse_draft(request: HttpRequest, visitor: Visitor, campaign_id: int) -> HttpResponse:
    """Asked by htmx, the answer stands above the form and beside the text, which stays."""
    drafts.find_campaign(visitor.workspace.pk, campaign_id)
    if "HX-Request" not in request.headers:
        return refusals.too_large(request)
    values = {"most": refusals.find_most(request)}
    response = render_fragment(request, visitor, "dashboard/editor_too_large.html", values)
    response.status_code = 413
    return response
