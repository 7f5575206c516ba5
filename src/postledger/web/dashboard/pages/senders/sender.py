"""One sender: its limits, its records in DNS, its feedback; and what may be changed of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from postledger.accounts import queries, sealing, sender_dns, senders, sending_limits
from postledger.accounts.models import Sender
from postledger.accounts.people.roles import Permission
from postledger.accounts.provider_accounts import AccountChangedError, InvalidSettingsError
from postledger.accounts.sender_dns import DnsReport
from postledger.deliveries import account_changes
from postledger.deliveries.attention import holds
from postledger.deliveries.reasons import Reason
from postledger.feedback import loop_test, sender_health
from postledger.lib.secrets import UnsealableError
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.forms import PageForm
from postledger.web.dashboard.frame import render_fragment, render_page
from postledger.web.dashboard.senders import (
    dns_words,
    gauges,
    hours_words,
    limits_form,
    report_steps,
    steps,
)
from postledger.web.dashboard.senders.dns_words import DnsLine
from postledger.web.dashboard.senders.limits_form import LimitsForm
from postledger.web.shared import throttle
from postledger.web.shared.sentences import translate
from postledger.web.shared.throttle import RateExceededError

_SELECTOR_KIND = "smtp"  # others say themselves where their keys are


class SelectorForm(PageForm):
    selector = forms.CharField(
        label=gettext_lazy("DKIM selector"),
        max_length=100,
        required=False,
        help_text=gettext_lazy("What stands before ._domainkey in the record of your server."),
        widget=forms.TextInput({"class": "input mono", "autocomplete": "off"}),
    )


@dataclass(frozen=True, slots=True)
class DnsCard:
    """Not looked up yet where there is no report."""

    url: str
    report: DnsReport | None = None
    lines: Sequence[DnsLine] = ()
    domain: str = ""  # in which records are to be changed; empty: none are
    trouble: str = ""


@require_safe
def show(request: HttpRequest, visitor: Visitor, sender_id: int) -> HttpResponse:
    """Asks nobody: the page of DNS is fetched when this one is there."""
    return _show(request, visitor, queries.get_limited_sender(visitor.workspace.pk, sender_id))


@require_safe
def show_dns(request: HttpRequest, visitor: Visitor, sender_id: int) -> HttpResponse:
    """Looks the records up; asked by htmx, the card, or the lines of the editor's preflight."""
    sender = queries.get_limited_sender(visitor.workspace.pk, sender_id)
    card = _look_up(visitor, sender, is_anew="again" in request.GET)
    if "HX-Request" not in request.headers:
        return _show(request, visitor, sender, card)
    part = "dns_lines" if "lines" in request.GET else "dns"
    context = {**_describe_dns(visitor, sender, card), "sender": sender}
    response = render_fragment(request, visitor, f"dashboard/senders/{part}.html", context)
    if part == "dns_lines" and card.lines:
        response.headers["HX-Trigger"] = "looked-up"  # the preflight counts them then
    return response


def _look_up(visitor: Visitor, sender: Sender, *, is_anew: bool) -> DnsCard:
    url, now = _find_dns_url(sender), datetime.now(UTC)
    report = None if is_anew else sender_dns.recall_report(sender, now=now)
    if report is None and sender_dns.is_looked_up(sender):
        try:
            throttle.count_visit(settings.PROVIDER_CHECKS_OF_ONE, "dns", str(visitor.workspace.pk))
        except RateExceededError as exceeded:
            trouble = throttle.describe_wait(_("Too many look-ups."), exceeded.retry_after)
            return DnsCard(url, trouble=trouble)
        report = sender_dns.read_report(sender, now=now, is_anew=is_anew)
    return _describe_report(sender, report)


def _describe_report(sender: Sender, report: DnsReport | None) -> DnsCard:
    lines = dns_words.describe_verdicts(sender, report.verdicts) if report else ()
    has_records = any(line.records for line in lines)
    domain = sender.address.rpartition("@")[2] if has_records else ""
    return DnsCard(_find_dns_url(sender), report, lines, domain)


def _find_dns_url(sender: Sender) -> str:
    return reverse("sender_dns", args=[sender.workspace_id, sender.pk])


def _show(  # noqa: PLR0913  the parts of the page
    request: HttpRequest,
    visitor: Visitor,
    sender: Sender,
    card: DnsCard | None = None,
    more: Mapping[str, Any] | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    workspace_id, now = visitor.workspace.pk, datetime.now(UTC)
    limits = sending_limits.describe(sender)
    usage = gauges.read_usage(workspace_id, zone=limits.zone, now=now)
    all_held = holds.list_held_senders(workspace_id, now=now)
    held = next((each for each in all_held if each.sender.pk == sender.pk), None)
    health = next(
        (
            row
            for row in sender_health.list_sender_health(workspace_id, now=now)
            if row.sender_id == sender.pk
        ),
        None,
    )
    card = card or _describe_report(sender, sender_dns.recall_report(sender, now=now))
    kind = sender.account.kind if sender.account else ""
    shown_gauges = gauges.build_gauges(sender, usage, now=now)
    context = {
        "sender": sender,
        "provider": dns_words.name_provider(sender),
        "senders": [each for each in queries.senders(workspace_id) if each.archived_at is None],
        "gauges": shown_gauges,
        "has_limits": any(gauge.share is not None for gauge in shown_gauges),
        "hours": hours_words.list_hours(limits),
        "opening": hours_words.describe_opening(limits, now=now),
        "held": held,
        "is_paused": held is not None and any(hold.reason is Reason.PAUSED for hold in held.holds),
        "health": health,
        "steps": steps.list_steps(sender, card.report, health),
        "can_connect_reports": kind in report_steps.PATHS,
        "can_test": loop_test.has_simulator(kind),
        "may_decide": visitor.may(Permission.DECIDE),
        **_describe_dns(visitor, sender, card),
        **(more or {}),
    }
    return render_page(request, visitor, "dashboard/senders/sender.html", context, status=status)


def _describe_dns(visitor: Visitor, sender: Sender, card: DnsCard) -> dict[str, Any]:
    may_set_up = visitor.may(Permission.SET_UP)
    has_selector = sender.account is not None and sender.account.kind == _SELECTOR_KIND
    first = {"selector": _read_selector(sender)} if has_selector else {}
    return {
        "dns": card,
        "is_looked_up": sender_dns.is_looked_up(sender),
        "may_set_up": may_set_up,
        "selector_form": SelectorForm(initial=first) if has_selector and may_set_up else None,
    }


def _read_selector(sender: Sender) -> str:
    """The only setting of an account that a page shows: it stands in DNS for everybody."""
    try:
        stored = sealing.unseal_settings(sender.account) if sender.account else {}
    except UnsealableError:
        return ""
    return str(stored.get("dkim_selector", ""))


@require_http_methods(["GET", "HEAD", "POST"])
def change_selector(request: HttpRequest, visitor: Visitor, sender_id: int) -> HttpResponse:
    sender = queries.get_limited_sender(visitor.workspace.pk, sender_id)
    page = redirect("sender", visitor.workspace.pk, sender_id)
    if request.method != "POST" or sender.account is None or sender.account.kind != _SELECTOR_KIND:
        return page
    form = SelectorForm(request.POST)
    if form.is_valid():
        try:
            account_changes.update_account(
                visitor.workspace.pk,
                account_id=sender.account.pk,
                changes={"dkim_selector": form.cleaned_data["selector"] or None},
                actor=visitor.actor,
            )
        except InvalidSettingsError:
            form.add_error("selector", _("Use letters, digits, hyphens and dots, as mail2026."))
        except (AccountChangedError, UnsealableError) as refused:
            form.add_error("selector", translate(refused))
        else:
            messages.success(request, _("Saved."))
            return page
    return _show(request, visitor, sender, more={"selector_form": form}, status=422)


@require_http_methods(["GET", "HEAD", "POST"])
def change_limits(request: HttpRequest, visitor: Visitor, sender_id: int) -> HttpResponse:
    sender = queries.get_limited_sender(visitor.workspace.pk, sender_id)
    form = LimitsForm(
        limits_form.read_stored(sender),
        request.POST or None,
        workspace_zone=visitor.workspace.time_zone,
    )
    if request.method == "POST" and form.is_valid() and _store_limits(form, visitor, sender):
        messages.success(request, _("Saved. Workers follow within 10 seconds."))
        return redirect("sender", visitor.workspace.pk, sender_id)
    context = {"sender": sender, "form": form}
    template = "dashboard/senders/limits.html"
    return render_page(request, visitor, template, context, status=form.status)


def _store_limits(form: LimitsForm, visitor: Visitor, sender: Sender) -> bool:
    """Stores what was changed; False if somebody else changed it meanwhile."""
    workspace_id, actor = visitor.workspace.pk, visitor.actor
    with transaction.atomic():
        stored = senders.lock_sender(workspace_id, sender.pk)
        if not form.take_over(limits_form.read_stored(stored)):
            url = reverse("sender_limits", args=[workspace_id, sender.pk])
            form.describe_conflict(visitor, subjects=[f"sender {sender.pk}"], url=url)
            return False
        if changes := form.list_changes():
            account_changes.set_sender_limits(
                workspace_id, sender_id=sender.pk, actor=actor, **changes
            )
        if form.has_new_hours:
            account_changes.set_sender_hours(
                workspace_id, sender_id=sender.pk, hours=form.hours, actor=actor
            )
    return True
