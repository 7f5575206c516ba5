"""What a person is told of topics, on the page of preferences: shown, paused, resumed and ended."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.http import QueryDict
from django.utils.translation import gettext

from postledger.contacts.consent import Origin
from postledger.contacts.models import List
from postledger.notifications.subscriptions import queries as subscription_queries
from postledger.notifications.subscriptions import subscriptions
from postledger.notifications.subscriptions.queries import SubscriptionFacts
from postledger.notifications.subscriptions.standing import SubscriptionStatus
from postledger.notifications.subscriptions.subscriptions import TopicSubscriptionEndedError
from postledger.notifications.subscriptions.windows import format_minute
from postledger.notifications.topics import topics

BREAKS = {"week": timedelta(days=7), "month": timedelta(days=30)}

_HOUR = 60
_DAY = 24 * _HOUR
_SHOWN = frozenset(
    {SubscriptionStatus.PENDING, SubscriptionStatus.ACTIVE, SubscriptionStatus.PAUSED}
)


@dataclass(frozen=True, slots=True)
class TopicChoice:
    """One topic subscription in words."""

    id: int
    topic: str
    words: str
    is_pending: bool
    is_paused: bool
    earliest: str  # of the day, as a form field has it; empty: at any time
    latest: str
    break_end: datetime | None


def list_choices(workspace_id: int, *, contact_id: int | None, now: datetime) -> list[TopicChoice]:
    """The topic subscriptions of a person that have not ended, by topic."""
    if contact_id is None:
        return []
    own = subscription_queries.list_of_contact(workspace_id, contact_id=contact_id)
    names = dict(
        List.objects.filter(workspace_id=workspace_id, archived_at=None).values_list("key", "name")
    )
    titles = topics.find_titles(workspace_id, {facts.topic for facts in own})
    return [
        _describe(facts, names[facts.topic], titles, now)
        for facts in own
        if facts.status in _SHOWN and facts.topic in names
    ]


def subscribe_to_all(
    workspace_id: int, *, contact_id: int, list_key: str, origin: Origin, now: datetime
) -> None:
    """Subscribes to all events of a topic that has no match fields; other lists have no events."""
    topic = topics.find_topic(workspace_id, list_key)
    if topic is not None and not topic.match_fields:
        subscriptions.subscribe(topic, contact_id=contact_id, match={}, origin=origin, now=now)


def change(
    workspace_id: int, *, contact_id: int | None, form: QueryDict, origin: Origin, now: datetime
) -> None:
    """Changes one of the person's own topic subscriptions; one of another person stays as it is."""
    own = subscription_queries.list_of_contact(workspace_id, contact_id=contact_id or 0)
    facts = next((facts for facts in own if str(facts.id) == form.get("subscription")), None)
    if facts is None:
        return
    move = {
        "topic-pause": subscriptions.pause,
        "topic-resume": subscriptions.resume,
        "topic-end": subscriptions.unsubscribe,
    }.get(form.get("do", ""))
    try:
        if move is not None:
            move(workspace_id, subscription_id=facts.id, origin=origin, now=now)
        else:
            _save(workspace_id, facts, form, origin, now)
    except TopicSubscriptionEndedError:
        pass  # an old page; the new one shows that it has ended


def _save(
    workspace_id: int, facts: SubscriptionFacts, form: QueryDict, origin: Origin, now: datetime
) -> None:
    earliest, latest = _read_minute(form.get("from", "")), _read_minute(form.get("until", ""))
    if None in {earliest, latest}:
        earliest = latest = None
    snooze = form.get("snooze", "")
    kept = facts.preferences.snooze_until
    until = now + BREAKS[snooze] if snooze in BREAKS else None if snooze == "off" else kept
    wanted = replace(
        facts.preferences, window_from=earliest, window_until=latest, snooze_until=until
    )
    subscriptions.set_preferences(
        workspace_id, subscription_id=facts.id, preferences=wanted, origin=origin, now=now
    )


def _describe(
    facts: SubscriptionFacts, topic: str, titles: Mapping[tuple[str, str], str], now: datetime
) -> TopicChoice:
    own, snooze_until = facts.preferences, facts.preferences.snooze_until
    return TopicChoice(
        id=facts.id,
        topic=topic,
        words=_write_match(facts, titles),
        is_pending=facts.status is SubscriptionStatus.PENDING,
        is_paused=facts.status is SubscriptionStatus.PAUSED,
        earliest=_write_minute(own.window_from),
        latest=_write_minute(own.window_until),
        break_end=snooze_until if snooze_until and snooze_until > now else None,
    )


def _write_match(facts: SubscriptionFacts, titles: Mapping[tuple[str, str], str]) -> str:
    if not facts.match:
        return gettext("Everything about this topic")
    return ", ".join(
        f"{titles.get((facts.topic, field), field)}: {value}"
        for field, value in facts.match.items()
    )


def _write_minute(minute: int | None) -> str:
    return "" if minute is None else format_minute(minute)


def _read_minute(text: str) -> int | None:
    hour, _, minute = text.partition(":")
    is_time = len(text) == len("00:00") and f"{hour}{minute}".isascii() and hour.isdecimal()
    if not is_time or not minute.isdecimal() or int(hour) >= _DAY // _HOUR or int(minute) >= _HOUR:
        return None
    return int(hour) * _HOUR + int(minute)
