"""The topics of a workspace: their events and subscriptions, and the fan-out of one event."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from postledger.contacts import queries as contacts
from postledger.deliveries.states import State
from postledger.lib.ids import LAST_ID, DeliveryId
from postledger.notifications.events import figures
from postledger.notifications.events import queries as event_queries
from postledger.notifications.events.queries import FanOutCount, FanOutRow
from postledger.notifications.fan_out import skip_texts
from postledger.notifications.models import Event, Topic
from postledger.notifications.subscriptions import queries as subscription_queries
from postledger.notifications.subscriptions.queries import SubscriptionFacts
from postledger.notifications.subscriptions.standing import SubscriptionStatus
from postledger.notifications.subscriptions.windows import format_minute
from postledger.notifications.topics import topics
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.components import badges
from postledger.web.dashboard.components.badges import Badge
from postledger.web.dashboard.components.balance import Balance, build_balance
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.parameters import read_number, read_text

_MOST_TOPICS = 500
_ON_A_PAGE = 50
_LONGEST_ADDRESS = 254


@require_safe
def show(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    topics = figures.list_topics(visitor.workspace.pk, limit=_MOST_TOPICS)
    values = {"title": _("Topics"), "topics": topics, "most": figures.MOST_COUNTED}
    return render_page(request, visitor, "dashboard/topics.html", values)


@dataclass(frozen=True, slots=True)
class EventRow:
    """One event of the list."""

    event: Event
    match: str  # its values of the topic's match fields
    status: str
    notifications: int


@require_safe
def show_topic(request: HttpRequest, visitor: Visitor, key: str) -> HttpResponse:
    topic = _find_topic(visitor, key)
    before = read_number(request.GET, "before")
    events = event_queries.list_events(topic, before=before or LAST_ID, limit=_ON_A_PAGE + 1)
    shown = events[:_ON_A_PAGE]
    counts = figures.count_notifications([event.pk for event in shown])
    values = {
        "title": topic.list.name,
        "topic": topic,
        "rows": [_make_event(topic, event, counts[event.pk]) for event in shown],
        "most": figures.MOST_COUNTED,
        "newest_url": "?" if before else "",
        "older_url": f"?before={shown[-1].pk}" if len(events) > _ON_A_PAGE else "",
    }
    return render_page(request, visitor, "dashboard/topic.html", values)


def _make_event(topic: Topic, event: Event, notifications: int) -> EventRow:
    match = " · ".join(str(event.data[name]) for name in topic.match_fields if name in event.data)
    status = str(event.data.get(topic.status_field, ""))
    return EventRow(event, match or str(event.pk), status, notifications)


@dataclass(frozen=True, slots=True)
class SubscriptionLine:
    """One subscription of the list, and what holds for it in words."""

    subscription: SubscriptionFacts
    status: Promise | str
    window: str  # hours of the local day; empty: always


@require_safe
def show_subscriptions(request: HttpRequest, visitor: Visitor, key: str) -> HttpResponse:
    topic = _find_topic(visitor, key)
    address = read_text(request.GET, "q").strip()[:_LONGEST_ADDRESS]
    before = read_number(request.GET, "before")
    subscriptions = _list_subscriptions(topic, address, before or LAST_ID)
    shown = subscriptions[:_ON_A_PAGE]
    older = {"q": address, "before": shown[-1].id} if len(subscriptions) > _ON_A_PAGE else {}
    values = {
        "title": _("Subscriptions to %(topic)s") % {"topic": topic.list.name},
        "topic": topic,
        "address": address,
        "lines": [_make_line(one) for one in shown],
        "newest_url": f"?{urlencode({'q': address})}" if before else "",
        "older_url": f"?{urlencode(older)}" if older else "",
    }
    return render_page(request, visitor, "dashboard/topic_subscriptions.html", values)


@dataclass(frozen=True, slots=True)
class CauseRow:
    """How many notifications ended, or wait, for one cause."""

    badge: Badge
    code: str
    sentence: str
    count: int
    url: str


@dataclass(frozen=True, slots=True)
class ToldRow:
    """One notification of the list."""

    notification: FanOutRow
    badge: Badge
    sentence: str
    url: str  # of its email; empty: it has none


@require_safe
def show_event(request: HttpRequest, visitor: Visitor, key: str, event_id: int) -> HttpResponse:
    event = event_queries.get_event(visitor.workspace.pk, event_id)
    if event.topic.list.key != key:
        raise Http404
    state, code = _read_filter(request)
    counts = event_queries.count_fan_out(event)
    rows = event_queries.list_notifications(
        event,
        state=state,
        code=code,
        after=read_number(request.GET, "after") or 0,
        limit=_ON_A_PAGE + 1,
    )
    shown = rows[:_ON_A_PAGE]
    values = {
        "title": _("Event %(number)s") % {"number": event.pk},
        "event": event,
        "match": {name: event.data.get(name, "") for name in event.topic.match_fields},
        "status": event.data.get(event.topic.status_field, ""),
        "balance": _balance(counts, request.path),
        "causes": [_make_cause(count) for count in counts],
        "rows": [_make_row(visitor, row) for row in shown],
        "is_filtered": state is not None,
        "older_url": (
            _url(state, code, after=shown[-1].subscription_id) if len(rows) > _ON_A_PAGE else ""
        ),
    }
    return render_page(request, visitor, "dashboard/event.html", values)


def _find_topic(visitor: Visitor, key: str) -> Topic:
    topic = topics.find_topic(visitor.workspace.pk, key)
    if topic is None:
        raise Http404
    return topic


def _list_subscriptions(topic: Topic, address: str, before: int) -> Sequence[SubscriptionFacts]:
    contact = contacts.find_contacts(topic.workspace_id, [address]).get(address.lower())
    if address and contact is None:
        return ()
    return subscription_queries.list_of_topic(
        topic, contact_id=contact.pk if contact else None, before=before, limit=_ON_A_PAGE + 1
    )


_STATUSES = {
    SubscriptionStatus.PENDING: gettext_lazy("Not confirmed yet"),
    SubscriptionStatus.ACTIVE: gettext_lazy("Active"),
    SubscriptionStatus.PAUSED: gettext_lazy("Paused"),
    SubscriptionStatus.SUPPRESSED: gettext_lazy("Suppressed"),
    SubscriptionStatus.UNSUBSCRIBED: gettext_lazy("Unsubscribed"),
}


def _make_line(subscription: SubscriptionFacts) -> SubscriptionLine:
    start, end = subscription.preferences.window_from, subscription.preferences.window_until
    window = ""
    if start is not None and end is not None and start != end:
        window = f"{format_minute(start)}–{format_minute(end)}"  # noqa: RUF001  the dash of a range
    return SubscriptionLine(subscription, _STATUSES[subscription.status], window)


def _read_filter(request: HttpRequest) -> tuple[State | None, str | None]:
    """A state and a code of the causes; what cannot be read is left out."""
    state = read_text(request.GET, "state")
    if state not in set(State):
        return None, None
    return State(state), read_text(request.GET, "code") if "code" in request.GET else None


def _url(state: State | None, code: str | None, **more: object) -> str:
    values = {"state": state, "code": code, **more}
    return f"?{urlencode({name: value for name, value in values.items() if value is not None})}"


def _balance(counts: Sequence[FanOutCount], url: str) -> Balance:
    states = dict.fromkeys(State, 0)
    for count in counts:
        states[count.state] += count.count
    return build_balance(sum(states.values()), states, url=url)


def _make_cause(count: FanOutCount) -> CauseRow:
    return CauseRow(
        badges.badge_of(count.state),
        count.code or "",
        skip_texts.explain_code(count.code or ""),
        count.count,
        _url(count.state, count.code),
    )


def _make_row(visitor: Visitor, row: FanOutRow) -> ToldRow:
    mail_id = DeliveryId.parse(row.mail_id) if row.mail_id else None
    url = reverse("message", args=[visitor.workspace.pk, mail_id.uuid()]) if mail_id else ""
    return ToldRow(row, badges.badge_of(row.state), skip_texts.explain_code(row.code or ""), url)
