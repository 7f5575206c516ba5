"""The audience as a bar and a sum: who would get it, who is left out and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from postledger.campaigns.drafts.drafts import CampaignFacts
from postledger.campaigns.drafts.recipients import RecipientCounts
from postledger.contacts import reach, spellings
from postledger.contacts.filters.expressions import Filter
from postledger.contacts.reach import Reach
from postledger.deliveries.states import State
from postledger.mailing.chunks import Recipient
from postledger.web.dashboard import formats
from postledger.web.dashboard.components import balance
from postledger.web.dashboard.editor import choices
from postledger.web.dashboard.editor.conditions import ATTRIBUTE
from postledger.web.dashboard.runs import words

RECIPIENTS = "recipients"  # in place of a reason
_SUPPRESSED = frozenset(
    {
        "unsubscribed",
        "bounced",
        "by_hand",
        "list_unsubscribed",
        "list_suppressed",
        reach.LEFT_EVERY_LIST,
    }
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
    on_no_list: str  # how many of the recipients are, or may be; empty if none is


@dataclass(frozen=True, slots=True)
class ListedPerson:
    of: Recipient
    reach: Reach | None  # of a campaign to all contacts: says when a break ends


def show_people(workspace_id: int, campaign: CampaignFacts, counts: RecipientCounts) -> People:
    url = reverse("campaign_audience", args=[workspace_id, campaign.id])
    rows = [Row(_("Will get it"), State.ACCEPTED, counts.number, find_url(url, RECIPIENTS))]
    for reason, number in sorted(counts.excluded.items(), key=lambda one: -one[1]):
        state = State.SUPPRESSED if reason in _SUPPRESSED else State.SKIPPED
        rows.append(Row(describe_reason(reason), state, number, find_url(url, reason)))
    return People(counts, rows, _draw(rows), describe_on_no_list(counts))


def describe_on_no_list(counts: RecipientCounts) -> str:
    """How many would get a campaign to all contacts without being on a list; empty if none.

    An estimate does not know their number, and says that there may be some.
    """
    if counts.on_no_list is None:
        return _("Some recipients may be on no list: no list records that they agreed")
    if not counts.on_no_list:
        return ""
    return ngettext(
        "%(number)s recipient is on no list: no list records that they agreed",
        "%(number)s recipients are on no list: no list records that they agreed",
        counts.on_no_list,
    ) % {"number": formats.count(counts.on_no_list)}


def describe_spellings(workspace_id: int, audience: Filter, *, patience: timedelta) -> list[str]:
    """A sentence for each text that nobody has but in other capitals."""
    others = spellings.find_other_spellings(workspace_id, audience, patience=patience)
    names = choices.name_fields(workspace_id) if others else {}
    text = _("Nobody has %(text)s as %(field)s. Did you mean %(known)s (%(number)s)?")
    return [
        text
        % {
            "text": formats.isolate(other.text),
            "field": formats.isolate(names.get(f"{ATTRIBUTE}{other.key}", other.key)),
            "known": formats.isolate(other.known),
            "number": formats.count(other.count),
        }
        for other in others
    ]


def list_behind(
    workspace_id: int, listed: Sequence[Recipient], *, now: datetime
) -> list[ListedPerson]:
    """People behind a number, each with the break that leaves them out."""
    ids = [one.contact_id for one in listed if one.kept_back == reach.ON_BREAK]
    reaches = reach.read_reach(workspace_id, ids, now=now) if ids else {}
    return [ListedPerson(one, reaches.get(one.contact_id)) for one in listed]


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
