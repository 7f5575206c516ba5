"""What topics know of a person: shown to them, and forgotten when they ask for it."""

from collections.abc import Sequence

from django.db.models import BinaryField, Func

from postledger.notifications.models import Notification, TopicSubscription
from postledger.notifications.states import TopicSubscriptionState

# Another one for each row: the same would tell which rows were one person's.
_RANDOM_DIGEST = Func(template="sha256(uuid_send(gen_random_uuid()))", output_field=BinaryField())
_PREFERENCES = ("notify_on", "max_notifications", "window_from", "window_until", "snooze_until")


def list_of_contacts(contact_ids: Sequence[int]) -> list[dict[str, object]]:
    """The topic subscriptions of some contacts, each with the events that matched it."""
    own = TopicSubscription.objects.filter(contact_id__in=contact_ids)
    return [_describe(row) for row in own.select_related("topic__list").order_by("pk")]


def _describe(row: TopicSubscription) -> dict[str, object]:
    notifications = Notification.objects.filter(subscription=row).order_by("pk")
    return {
        "id": row.pk,
        "topic": row.topic.list.key,
        "match": row.match,
        "state": row.state,
        "locale": row.locale,
        "preferences": {name: getattr(row, name) for name in _PREFERENCES},
        "created_at": row.created_at,
        "changed_at": row.changed_at,
        "notifications": [
            {
                "id": notification.pk,
                "event_id": notification.event_id,
                "end": notification.end,
                "code": notification.code,
                "created_at": notification.created_at,
            }
            for notification in notifications
        ],
    }


def forget_contacts(contact_ids: Sequence[int]) -> None:
    """Ends the topic subscriptions of some contacts, and keeps no trace of whose they were.

    Their rows stay, so that the fan-outs of past events still add up.
    """
    own = TopicSubscription.objects.filter(contact_id__in=contact_ids)
    own.update(
        contact=None,
        state=TopicSubscriptionState.UNSUBSCRIBED.value,
        locale="",
        match={},
        match_digest=_RANDOM_DIGEST,
        **dict.fromkeys(_PREFERENCES),
    )
