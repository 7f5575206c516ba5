"""Launches a draft: asks first, and names what goes to whom."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from postledger.accounts import queries as accounts
from postledger.accounts import sending_limits, working_hours
from postledger.campaigns import listing
from postledger.campaigns.drafts import drafts, origins, preview
from postledger.campaigns.drafts.drafts import CampaignFacts
from postledger.campaigns.launches import launching
from postledger.campaigns.launches.launching import AlreadyLaunchedError
from postledger.campaigns.runs import progress
from postledger.contacts import queries
from postledger.lib.errors import NotFoundError, RefusedError
from postledger.mailing.content_source import InlineSource, PageSource
from postledger.pacing import hours, stored
from postledger.web.dashboard import formats
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.audience import audience_words
from postledger.web.dashboard.components import why
from postledger.web.dashboard.components.finding_words import describe_refusal
from postledger.web.dashboard.components.why import Why
from postledger.web.dashboard.editor import confirming, preflight
from postledger.web.dashboard.editor.checks import WARNING
from postledger.web.dashboard.editor.confirming import Answer
from postledger.web.dashboard.editor.preflight import Preflight
from postledger.web.dashboard.editor.turns import TurnTakenError
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.pages.campaigns.editor import read_moment
from postledger.web.dashboard.pages.campaigns.editor_checks import show_checks
from postledger.web.dashboard.parameters import read_text
from postledger.web.dashboard.runs import rows
from postledger.web.dashboard.senders import hours_words

_MINUTE = timedelta(minutes=1)
_FIELDS = ("seen", "shown", "typed", "sure")


@require_http_methods(["GET", "HEAD", "POST"])
def launch(request: HttpRequest, visitor: Visitor, campaign_id: int) -> HttpResponse:
    """Nobody mails by a slip: GET asks first, and POST answers, a large launch by its number.

    Refused while the preflight has a problem, with the same words.
    """
    campaign = drafts.find_campaign(visitor.workspace.pk, campaign_id)
    if listing.find_last_run(visitor.workspace.pk, campaign.id) is not None:
        return _lead_to_run(request, visitor, campaign)
    try:
        checked = preflight.run_preflight(visitor, campaign, now=datetime.now(UTC))
    except TurnTakenError:
        return _ask_to_repeat(request, visitor, campaign)
    if problems := checked.list_problems():
        text = _("It was not launched: %(problem)s.") % {"problem": problems[0].title.rstrip(".")}
        return _refuse(request, visitor, checked, f"{text} {problems[0].text}".rstrip())
    return _launch_checked(request, visitor, checked)


def _launch_checked(request: HttpRequest, visitor: Visitor, checked: Preflight) -> HttpResponse:
    answer = confirming.read_answer(request.POST)
    if not answer.agrees(checked.counts):
        return _ask(request, visitor, checked, answer)
    try:
        run_id = launching.launch_campaign(
            visitor.workspace.pk,
            checked.campaign.id,
            actor=visitor.actor,
            member_id=visitor.member.pk,
            now=checked.at,
            as_of=read_moment(request.POST.get("seen", "")),
        )
    except NotFoundError:
        raise
    except AlreadyLaunchedError:
        return _lead_to_run(request, visitor, checked.campaign)
    except RefusedError as error:
        return _refuse(request, visitor, checked, describe_refusal(error))
    messages.success(request, _tell_launch(visitor, run_id, checked))
    return redirect("run", visitor.workspace.pk, run_id)


def _lead_to_run(request: HttpRequest, visitor: Visitor, campaign: CampaignFacts) -> HttpResponse:
    """For a second click, which is told so, and for somebody who goes back."""
    if request.method == "POST":
        messages.warning(request, _("It was launched already, so this click changed nothing."))
    return redirect("campaign", visitor.workspace.pk, campaign.id)


def _tell_launch(visitor: Visitor, run_id: UUID, checked: Preflight) -> str:
    now = checked.at
    run = progress.find_progress(visitor.workspace.pk, run_id, now=now)
    if checked.hold is not None:
        text = _("Launched, but its sender is held: its emails wait. See below what ends the hold.")
        later = _(
            "Scheduled, but its sender is held: its emails wait. See below what ends the hold."
        )
        return later if rows.is_ahead(run, now) else text
    if rows.find_start(run, now) is not None:
        return _("Scheduled. When it begins stands below; you can pause or cancel it until then.")
    return _("Launched. Its books are below, live.")


def _ask_to_repeat(request: HttpRequest, visitor: Visitor, campaign: CampaignFacts) -> HttpResponse:
    """A draft is checked now, maybe this one by a first click: the same form can be sent again."""
    given = request.POST or request.GET
    values = {
        "title": _("%(name)s is not launched yet") % {"name": formats.isolate(campaign.name)},
        "campaign": campaign,
        "fields": {name: read_text(given, name) for name in _FIELDS if name in given},
    }
    return render_page(
        request,
        visitor,
        "dashboard/launch_again.html",
        values,
        status=HTTPStatus.TOO_MANY_REQUESTS,
    )


def _refuse(request: HttpRequest, visitor: Visitor, checked: Preflight, text: str) -> HttpResponse:
    return show_checks(request, visitor, checked, {"launch_error": text}, status=422)


def _ask(
    request: HttpRequest, visitor: Visitor, checked: Preflight, answer: Answer
) -> HttpResponse:
    """The question, with what is wrong with an answer to it."""
    campaign, number = checked.campaign, checked.counts.number
    asks_number = confirming.asks_number(checked.counts)
    trouble = ""
    if answer.is_sure:
        text = (
            _("That is another number. Type %(number)s to launch.")
            if asks_number
            else _("The audience has changed: it would go to %(number)s now.")
        )
        trouble = text % {"number": formats.count(number)}
    title = _("Schedule %(name)s?") if checked.is_scheduled else _("Launch %(name)s?")
    values = {
        "title": title % {"name": formats.isolate(campaign.name)},
        "preflight": checked,
        "origin": origins.find_sent_origin(visitor.workspace.pk, campaign.id),
        "campaign": campaign,
        "seen": read_text(request.POST or request.GET, "seen") or campaign.updated_at.isoformat(),
        "number": number,
        "warnings": [check for check in checked.checks if check.level == WARNING],
        "hold": _describe_hold(visitor, checked),
        "asks_number": asks_number,
        "typed": answer.typed,
        "trouble": trouble,
        **_name_parts(visitor, checked),
    }
    status = 422 if trouble else 200
    return render_page(request, visitor, "dashboard/launch.html", values, status=status)


def _describe_hold(visitor: Visitor, checked: Preflight) -> Why | None:
    if checked.hold is None:
        return None
    workspace_id = visitor.workspace.pk
    sender = accounts.find_sender(workspace_id, address=checked.campaign.sender)
    return why.describe_sender_hold(checked.hold, reverse("sender", args=[workspace_id, sender.pk]))


def _name_parts(visitor: Visitor, checked: Preflight) -> Mapping[str, Any]:
    """What goes to whom, from whom and when, in words."""
    campaign, now, workspace_id = checked.campaign, checked.at, visitor.workspace.pk
    timing, window = campaign.timing, campaign.delivery_window
    first_at = _find_first_time(checked)
    lists = queries.name_lists(workspace_id, [campaign.list_key or ""])
    return {
        "list_name": lists.get(campaign.list_key or "", ""),
        "audience": audience_words.describe_audience(workspace_id, campaign.audience),
        "subject": _find_subject(workspace_id, campaign, now=now),
        "first_at": first_at,
        "waits_for_hours": first_at is not None and _is_closed(workspace_id, campaign, now=now),
        "local_time": formats.full_time(timing.local_time) if timing.local_time else "",
        "hours": hours_words.describe_hours(
            working_hours.to_json(window), zone=_("of each reader's own day")
        )
        if window
        else "",
    }


def _find_first_time(checked: Preflight) -> datetime | None:
    """When the first email goes, where that is not when it is launched or planned for."""
    timing, first_at = checked.campaign.timing, checked.outlook.starts_at
    if timing.local_time or first_at is None:
        return None
    begins = max(timing.at or checked.at, checked.at)
    return first_at if first_at - begins >= _MINUTE else None


def _is_closed(workspace_id: int, campaign: CampaignFacts, *, now: datetime) -> bool:
    """Whether it begins outside of the hours of its sender, the workspace and the campaign."""
    sender = accounts.find_sender(workspace_id, address=campaign.sender)
    limits = sending_limits.describe(sender)
    kept = [*stored.read_all_hours(limits)]
    if campaign.delivery_window:
        window = working_hours.to_json(campaign.delivery_window)
        kept.append(stored.read_hours(window, zone=limits.zone))
    return not hours.is_open(kept, max(campaign.timing.at or now, now))


def _find_subject(workspace_id: int, campaign: CampaignFacts, *, now: datetime) -> str:
    """As it is written, or as its template or article has it; empty if a launch reads it anew."""
    match campaign.content:
        case InlineSource(subject=subject):
            return subject
        case PageSource():
            return ""
        case _:
            pass
    try:
        shown = preview.render_preview(workspace_id, campaign, preview.ANYBODY, now=now).mail
    except RefusedError:
        return ""
    return shown.mail.subject if shown.mail else ""
