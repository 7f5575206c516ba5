"""All senders of a workspace: how full their limits are, and whether anything keeps them back."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from postledger.accounts import queries, sending_limits
from postledger.accounts.models import Sender
from postledger.accounts.people.roles import Permission
from postledger.deliveries.attention import holds
from postledger.feedback import sender_health
from postledger.feedback.sender_health import SenderHealth
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.senders import gauges, hours_words
from postledger.web.dashboard.senders.gauges import Gauge


@dataclass(frozen=True, slots=True)
class SenderCard:
    sender: Sender
    gauges: Sequence[Gauge]
    health: SenderHealth | None
    hours: Sequence[str]
    is_held: bool


@require_safe
def show(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    workspace, now = visitor.workspace, datetime.now(UTC)
    usage = gauges.read_usage(workspace.pk, zone=workspace.time_zone, now=now)
    health = {row.sender_id: row for row in sender_health.list_sender_health(workspace.pk, now=now)}
    held = {row.sender.pk for row in holds.list_held_senders(workspace.pk, now=now)}
    cards = [
        SenderCard(
            sender,
            gauges.build_gauges(sender, usage, now=now),
            health.get(sender.pk),
            hours_words.list_hours(sending_limits.describe(sender)),
            sender.pk in held,
        )
        for sender in queries.list_limited_senders(workspace.pk)
    ]
    context = {
        "title": _("Senders"),
        "cards": [card for card in cards if card.sender.archived_at is None],
        "archived": [card.sender for card in cards if card.sender.archived_at is not None],
        "may_set_up": visitor.may(Permission.SET_UP),
    }
    return render_page(request, visitor, "dashboard/senders/senders.html", context)
