"""The audience as a bar and a sum: who would get it, who is left out and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from postledger.campaigns.drafts.drafts import CampaignFacts
from postledger.campaigns.drafts.recipients import RecipientCounts
from postledger.deliveries.states import State
from postledger.web.dashboard.components import balance
from postledger.web.dashboard.runs import words

RECIPIENTS = "recipients"  # in place of a reason
_SUPPRESSED = frozenset(
    {"unsubscribed", "bounced", "by_hand", "list_unsubscribed", "list_suppressed"}
)


@dataclass(frozen=True, slots=True)
class Row:
    label: Promise | str
    state: State  # whose pattern it has
    count: int
    url: str


@dataclass(frozen=True, slots=True)
class Bar:
    state: State
    x: str
    width: str


@dataclass(frozen=True, slots=True)
class People:
    counts: RecipientCounts
    rows: Sequence[Row]
    bars: Sequence[Bar]


def show_people(workspace_id: int, campaign: CampaignFacts, counts: RecipientCounts) -> People:
    url = reverse("campaign_audience", args=[workspace_id, campaign.id])
    rows = [Row(_("Will get it"), State.ACCEPTED, counts.number, find_url(url, RECIPIENTS))]
    for reason, number in sorted(counts.excluded.items(), key=lambda one: -one[1]):
        state = State.SUPPRESSED if reason in _SUPPRESSED else State.SKIPPED
        rows.append(Row(describe_reason(reason), state, number, find_url(url, reason)))
    return People(counts, rows, _draw(rows))


def find_url(url: str, reason: str) -> str:
    return f"{url}?{urlencode({'reason': reason})}"


def describe_reason(reason: str) -> str:
    return _("Left out: %(reason)s") % {"reason": words.describe_exclusion(reason)}


def _draw(rows: Sequence[Row]) -> list[Bar]:
    numbers: Mapping[State, int] = {
        state: sum(row.count for row in rows if row.state is state)
        for state in (State.ACCEPTED, State.SKIPPED, State.SUPPRESSED)
    }
    bars, x = [], 0.0
    for state, width in balance.find_widths(numbers).items():
        if width:
            bars.append(Bar(state, f"{x:.2f}", f"{width:.2f}"))
        x += width
    return bars
