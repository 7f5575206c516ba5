"""Deletes a draft: asks first, and names what goes."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from postledger.campaigns import listing
from postledger.campaigns.drafts import drafts
from postledger.campaigns.drafts.drafts import CampaignFacts
from postledger.campaigns.launches.launching import AlreadyLaunchedError, CampaignChangedError
from postledger.campaigns.runs import run_lookup
from postledger.contacts import queries
from postledger.mailing.content_source import InlineSource
from postledger.web.dashboard import formats
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.editor import saving
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.pages.campaigns.editor import read_moment
from postledger.web.shared.sentences import translate


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, visitor: Visitor, campaign_id: int) -> HttpResponse:
    """Nothing is deleted that the person has not seen: a change meanwhile is shown first."""
    campaign = drafts.find_campaign(visitor.workspace.pk, campaign_id)
    if request.method != "POST":
        if listing.find_last_run(visitor.workspace.pk, campaign_id) is not None:
            return redirect("campaign", visitor.workspace.pk, campaign_id)
        return _ask(request, visitor, campaign)
    try:
        drafts.delete_campaign(
            visitor.workspace.pk,
            campaign_id,
            actor=visitor.actor,
            as_of=read_moment(request.POST.get("seen", "")),
        )
    except CampaignChangedError:
        changed = drafts.find_campaign(visitor.workspace.pk, campaign_id)
        return _ask(request, visitor, changed, is_changed=True)
    except AlreadyLaunchedError as error:
        messages.error(request, translate(error))
        return redirect("campaign", visitor.workspace.pk, campaign_id)
    messages.success(request, _("%(name)s is deleted.") % {"name": formats.isolate(campaign.name)})
    return redirect("campaigns", visitor.workspace.pk)


def _ask(
    request: HttpRequest, visitor: Visitor, campaign: CampaignFacts, *, is_changed: bool = False
) -> HttpResponse:
    content, workspace_id = campaign.content, visitor.workspace.pk
    lists = queries.name_lists(workspace_id, [campaign.list_key or ""])
    values = {
        "title": _("Delete this draft?"),
        "campaign": campaign,
        "subject": content.subject if isinstance(content, InlineSource) else "",
        "list_name": lists.get(campaign.list_key or "", ""),
        "change": saving.find_conflict(visitor, campaign),
        "tests": len(run_lookup.list_streams(workspace_id, campaign.id)),
        "is_changed": is_changed,
    }
    status = 409 if is_changed else 200
    return render_page(request, visitor, "dashboard/draft_delete.html", values, status=status)
