"""Tests whether what a provider reports comes back: mails its simulator, and watches."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from postledger.accounts import queries
from postledger.accounts.models import Sender
from postledger.accounts.people.roles import Permission
from postledger.deliveries import queries as ledger
from postledger.feedback import event_flow, loop_test
from postledger.feedback.loop_test import Probe, ProbeResult
from postledger.lib.ids import DeliveryId
from postledger.web.dashboard import formats
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.frame import render_fragment, render_page
from postledger.web.dashboard.senders import dns_words
from postledger.web.shared import throttle
from postledger.web.shared.throttle import RateExceededError

_PATIENCE = timedelta(minutes=2)
_REPORTS = {
    "delivered": gettext_lazy("Delivered"),
    "bounced": gettext_lazy("Bounced"),
    "soft_bounced": gettext_lazy("Bounced for now"),
    "complained": gettext_lazy("Marked as spam"),
    "on_suppression_list": gettext_lazy("On the stop list of the provider"),
}


@dataclass(frozen=True, slots=True)
class ProbeRow:
    address: str
    expected: str
    is_back: bool
    took: str
    url: str  # of the email


@require_POST
def start(request: HttpRequest, visitor: Visitor, sender_id: int) -> HttpResponse:
    sender = queries.get_sender(visitor.workspace.pk, sender_id)
    trouble = _find_trouble(visitor, sender)
    if trouble or sender.account is None:
        messages.error(request, trouble)
        return redirect("sender", visitor.workspace.pk, sender_id)
    probes = loop_test.send_probes(sender, sender.account.kind)
    return redirect("feedback_test", visitor.workspace.pk, sender_id, probes[0].stream_id)


def _find_trouble(visitor: Visitor, sender: Sender) -> str:
    """Why no test can be sent; empty if it can."""
    if sender.account is None or not loop_test.has_simulator(sender.account.kind):
        return _("Its provider has no simulator. Mail yourself instead, and look at that email.")
    if event_flow.find_flow(sender.pk, now=datetime.now(UTC)) is None:
        return _("Nothing would come back: its provider is not set up to report to us yet.")
    try:
        throttle.count_visit(
            settings.PROVIDER_CHECKS_OF_ONE, "feedback test", str(visitor.workspace.pk)
        )
    except RateExceededError as exceeded:
        return throttle.describe_wait(_("Too many tests."), exceeded.retry_after)
    return ""


@require_safe
def follow(request: HttpRequest, visitor: Visitor, sender_id: int, stream_id: int) -> HttpResponse:
    sender = queries.get_sender(visitor.workspace.pk, sender_id)
    stream = ledger.find_stream(stream_id)
    if stream is None or not stream.is_trial or stream.sender_id != sender.pk:
        raise Http404
    probes = loop_test.find_probes(visitor.workspace.pk, stream_id)
    if not probes:  # such as the test of a campaign
        raise Http404
    rows = _list_rows(visitor, probes, loop_test.read_results(probes))
    age = datetime.now(UTC) - stream.created_at
    is_complete = all(row.is_back for row in rows)
    context = {
        "sender": sender,
        "provider": dns_words.name_provider(sender),
        "rows": rows,
        "started_at": stream.created_at,
        "is_complete": is_complete,
        "is_late": not is_complete and age >= _PATIENCE,
        "url": reverse("feedback_test", args=[visitor.workspace.pk, sender_id, stream_id]),
        "may_set_up": visitor.may(Permission.SET_UP),
    }
    if "HX-Request" in request.headers:
        return render_fragment(request, visitor, "dashboard/senders/feedback_rows.html", context)
    return render_page(request, visitor, "dashboard/senders/feedback_test.html", context)


def _list_rows(
    visitor: Visitor, probes: Sequence[Probe], results: Sequence[ProbeResult]
) -> list[ProbeRow]:
    return [
        ProbeRow(
            probe.address.partition("@")[0] + "@",
            str(_REPORTS[probe.expected]),
            result.has_expected,
            _describe_delay(result),
            reverse(
                "message",
                args=[visitor.workspace.pk, DeliveryId(probe.stream_id, probe.position).uuid()],
            ),
        )
        for probe, result in zip(probes, results, strict=True)
    ]


def _describe_delay(result: ProbeResult) -> str:
    if not result.has_expected or not result.reports:
        return ""
    return formats.span(max(result.reports.values()))
