"""What follows from a draft: its audience, preflight and forecast, and its tests."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from postledger.accounts import queries as accounts
from postledger.campaigns import listing
from postledger.campaigns.drafts import drafts, recipients
from postledger.campaigns.drafts.drafts import CampaignFacts
from postledger.campaigns.launches import launching, test_sends
from postledger.campaigns.launches.test_sends import NoTestAddressError
from postledger.campaigns.runs import report
from postledger.campaigns.states import RunState
from postledger.contacts import audience
from postledger.contacts.audience import FilterTooCostlyError
from postledger.content import link_reports
from postledger.content.link_checks import LinkReport
from postledger.deliveries.states import State
from postledger.lib.errors import NotFoundError, RefusedError
from postledger.web.dashboard import formats, refusals
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.components.finding_words import describe_refusal
from postledger.web.dashboard.editor import (
    content_checks,
    outlook_card,
    people,
    preflight,
    readings,
)
from postledger.web.dashboard.editor.preflight import Preflight
from postledger.web.dashboard.editor.readings import ReaderUnknownError
from postledger.web.dashboard.editor.turns import Turns, TurnTakenError
from postledger.web.dashboard.frame import render_fragment, render_page
from postledger.web.dashboard.pages.campaigns.editor import list_steps
from postledger.web.dashboard.parameters import read_text
from postledger.web.dashboard.runs import rows
from postledger.web.shared import throttle
from postledger.web.shared.sentences import translate
from postledger.web.shared.throttle import RateExceededError

_ON_A_PAGE = 100
_SETTLED = {RunState.OPEN, RunState.SENT, RunState.CLOSED, RunState.CANCELLED}
LINK_TURNS = Turns()


@require_safe
def show(request: HttpRequest, visitor: Visitor, campaign_id: int) -> HttpResponse:
    """Everything that is computed from the draft, from one reading; a page without htmx."""
    campaign = _find_draft(visitor, campaign_id)
    try:
        checked = preflight.run_preflight(visitor, campaign, now=datetime.now(UTC))
    except TurnTakenError:
        return _show_busy(request, visitor, campaign, "editor_busy.html")
    return show_checks(request, visitor, checked, {})


def _show_busy(
    request: HttpRequest, visitor: Visitor, campaign: CampaignFacts, part: str
) -> HttpResponse:
    """The part asks again by itself."""
    if "HX-Request" in request.headers:
        url = reverse("campaign_links", args=[visitor.workspace.pk, campaign.id])
        values = {"campaign": campaign, "url": url}
        return render_fragment(request, visitor, f"dashboard/{part}", values)
    return refusals.refuse(
        request,
        HTTPStatus.TOO_MANY_REQUESTS,
        _("A campaign of this workspace is being checked"),
        _("Only one is checked at a time. Go back, and try again in a moment."),
    )


def show_checks(
    request: HttpRequest,
    visitor: Visitor,
    checked: Preflight,
    typed: Mapping[str, Any],
    *,
    status: int = 200,
) -> HttpResponse:
    campaign = checked.campaign
    is_part = "HX-Request" in request.headers
    values = {
        "title": _("Check and launch %(name)s") % {"name": formats.isolate(campaign.name)},
        "campaign": campaign,
        "preflight": checked,
        "people": people.show_people(visitor.workspace.pk, campaign, checked.counts),
        "forecast": outlook_card.make_card(visitor, campaign, checked.outlook),
        "steps": list_steps(campaign, is_ready=not checked.problems),
        **_list_tests(visitor, campaign),
        "test_to": accounts.test_emails(visitor.workspace.pk) or visitor.user.email,
        "is_part": is_part,
        **typed,
    }
    if is_part:
        return render_fragment(request, visitor, "dashboard/editor_checks.html", values)
    return render_page(request, visitor, "dashboard/editor_checks_page.html", values, status=status)


@require_safe
def show_links(request: HttpRequest, visitor: Visitor, campaign_id: int) -> HttpResponse:
    """Asks the links of the email; asked by htmx, the lines of the preflight, else the page."""
    campaign, trouble = _find_draft(visitor, campaign_id), ""
    reports: Sequence[LinkReport] | None = None
    is_part = "HX-Request" in request.headers
    try:
        with LINK_TURNS.take(visitor.workspace.pk):
            reports = _read_links(visitor, campaign)
    except TurnTakenError:
        return _show_busy(request, visitor, campaign, "editor_links_pending.html")
    except RateExceededError as exceeded:
        what = _("Too many links were checked.")
        trouble = throttle.describe_wait(what, exceeded.retry_after)
    if is_part:
        return _answer_links(request, visitor, reports or (), trouble)
    if trouble:
        messages.warning(request, trouble)
    return _show_asked_links(request, visitor, campaign, reports)


def _read_links(visitor: Visitor, campaign: CampaignFacts) -> Sequence[LinkReport]:
    """Raises RateExceededError; a check that asks no link counts for nothing."""
    workspace_id, now = visitor.workspace.pk, datetime.now(UTC)
    links = content_checks.list_links(workspace_id, campaign, now=now, patience=audience.PATIENCE)
    reports = link_reports.recall_reports(workspace_id, links)
    if reports is not None:
        return reports
    throttle.count_visit(settings.LINK_CHECKS_OF_ONE, "links", str(workspace_id))
    return link_reports.read_reports(workspace_id, links)


def _answer_links(
    request: HttpRequest, visitor: Visitor, reports: Sequence[LinkReport], trouble: str
) -> HttpResponse:
    """The preflight asks again for reports that are remembered; others are told here."""
    links = [report.url for report in reports]
    is_remembered = link_reports.recall_reports(visitor.workspace.pk, links) is not None
    values = {
        "trouble": trouble,
        "checks": ()
        if is_remembered
        else list(content_checks.describe_links(reports, recipient_count=None)),
        "is_counted": is_remembered and not trouble,
        "is_part": True,
    }
    response = render_fragment(request, visitor, "dashboard/editor_links.html", values)
    if values["is_counted"]:
        response.headers["HX-Trigger"] = "looked-up"
    return response


def _show_asked_links(
    request: HttpRequest,
    visitor: Visitor,
    campaign: CampaignFacts,
    reports: Sequence[LinkReport] | None,
) -> HttpResponse:
    now = datetime.now(UTC)
    try:
        checked = preflight.run_preflight(visitor, campaign, now=now, asked_links=reports)
    except TurnTakenError:
        return _show_busy(request, visitor, campaign, "editor_links_pending.html")
    return show_checks(request, visitor, checked, {})


def _find_draft(visitor: Visitor, campaign_id: int) -> CampaignFacts:
    return drafts.find_campaign(visitor.workspace.pk, campaign_id)


def _list_tests(visitor: Visitor, campaign: CampaignFacts) -> Mapping[str, Any]:
    """The tests so far, whether one is under way, and why the last one failed."""
    workspace_id, now = visitor.workspace.pk, datetime.now(UTC)
    runs = listing.list_launches(workspace_id, campaign.id, now=now)
    failures: Sequence[report.Failure] = ()
    if runs and runs[0].books.counts[State.FAILED]:
        failures = report.list_failures(workspace_id, runs[0].run_id)
    return {
        "runs": [rows.make_run_row(workspace_id, run, now=now) for run in runs],
        "is_testing": bool(runs) and runs[0].state not in _SETTLED,
        "test_failures": failures,
    }


@require_safe
def show_audience(request: HttpRequest, visitor: Visitor, campaign_id: int) -> HttpResponse:
    """The contacts behind one number of the audience."""
    campaign = _find_draft(visitor, campaign_id)
    reason = read_text(request.GET, "reason") or people.RECIPIENTS
    listed, trouble, now = [], "", datetime.now(UTC)
    try:
        listed = list(
            recipients.list_people(
                visitor.workspace.pk,
                campaign,
                reason=None if reason == people.RECIPIENTS else reason,
                after=read_text(request.GET, "after"),
                limit=_ON_A_PAGE + 1,
                now=now,
            )
        )
    except FilterTooCostlyError as error:
        trouble = translate(error)
    is_recipients = reason == people.RECIPIENTS
    values = {
        "title": _("Will get it") if is_recipients else people.describe_reason(reason),
        "campaign": campaign,
        "listed": people.list_behind(visitor.workspace.pk, listed[:_ON_A_PAGE], now=now),
        "trouble": trouble,
        "next_after": listed[_ON_A_PAGE - 1].sort_key if len(listed) > _ON_A_PAGE else "",
        "reason": reason,
    }
    return render_page(request, visitor, "dashboard/editor_audience.html", values)


@require_http_methods(["GET", "HEAD", "POST"])
def test(request: HttpRequest, visitor: Visitor, campaign_id: int) -> HttpResponse:
    """POST sends a test; GET is asked by htmx for how the tests go."""
    campaign = _find_draft(visitor, campaign_id)
    if request.method == "POST":
        return _send_test(request, visitor, campaign)
    if "HX-Request" in request.headers:
        return _answer_test(request, visitor, campaign, {})
    return redirect("campaign_checks", visitor.workspace.pk, campaign_id)


def _send_test(request: HttpRequest, visitor: Visitor, campaign: CampaignFacts) -> HttpResponse:
    is_part = "HX-Request" in request.headers
    to, reader = read_text(request.POST, "to"), read_text(request.POST, "as").strip()
    try:
        known = (visitor.user.email, *accounts.test_emails(visitor.workspace.pk).split(", "))
        test_sends.refuse_wrong_addresses(to, known=known)
        launching.send_test(
            visitor.workspace.pk,
            campaign.id,
            addresses=to,
            contact_id=_find_reader(visitor, reader),
            actor=visitor.actor,
            member_id=visitor.member.pk,
            now=datetime.now(UTC),
        )
    except NotFoundError:
        raise
    except RefusedError as error:
        field = "test_as_error" if isinstance(error, ReaderUnknownError) else "test_to_error"
        typed = {"test_to": to, "test_as": reader, field: _describe_test(error)}
        if is_part:
            return _answer_test(request, visitor, campaign, typed)
        return _show_refused_test(request, visitor, campaign, typed, _describe_test(error))
    if is_part:
        return _answer_test(request, visitor, campaign, {})
    messages.success(request, _("The test is on its way; its state is below."))
    url = reverse("campaign_edit", args=[visitor.workspace.pk, campaign.id])
    return redirect(f"{url}#launch")


def _show_refused_test(
    request: HttpRequest,
    visitor: Visitor,
    campaign: CampaignFacts,
    typed: Mapping[str, Any],
    trouble: str,
) -> HttpResponse:
    try:
        checked = preflight.run_preflight(visitor, campaign, now=datetime.now(UTC))
    except TurnTakenError:
        text = _("%(trouble)s Go back: the form still holds what you typed.")
        title = _("The test was not sent")
        return refusals.refuse(request, 422, title, text % {"trouble": trouble})
    return show_checks(request, visitor, checked, typed, status=422)


def _describe_test(error: RefusedError) -> str:
    if isinstance(error, NoTestAddressError):
        return _("There is no address to send a test to. Write one as name@example.com.")
    return describe_refusal(error)


def _answer_test(
    request: HttpRequest, visitor: Visitor, campaign: CampaignFacts, typed: Mapping[str, Any]
) -> HttpResponse:
    """The parts of the page that a test changes: what is typed stays."""
    values = {
        "campaign": campaign,
        "is_answer": True,
        "is_post": request.method == "POST",
        **_list_tests(visitor, campaign),
        **typed,
    }
    return render_fragment(request, visitor, "dashboard/editor_test_answer.html", values)


def _find_reader(visitor: Visitor, address: str) -> int | None:
    return readings.find_contact_id(visitor.workspace.pk, address) if address else None
