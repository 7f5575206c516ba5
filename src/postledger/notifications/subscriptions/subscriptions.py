"""Topic subscriptions: what a contact wants to be told of a topic, and when.

The consent is the one to the topic's list. So a first subscription is pending until the list's is
confirmed, and who leaves the list is told nothing more, whatever the topic subscriptions say.
"""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db import transaction

from postledger.contacts.actions import contact_state
from postledger.contacts.actions import subscriptions as list_subscriptions
from postledger.contacts.consent import ConsentChange, Origin, Preferences
from postledger.contacts.models import Contact
from postledger.contacts.states import ConsentAction, SubscriptionState
from postledger.lib.errors import ConflictError, NotFoundError, RefusedError
from postledger.notifications.models import Topic, TopicSubscription
from postledger.notifications.states import TopicSubscriptionState
from postledger.notifications.subscriptions import early_departures
from postledger.notifications.topics import matching, topics

LONGEST_VALUE = 200
MOST_OF_CONTACT = 200  # of one topic


class TopicSubscriptionUnknownError(NotFoundError):
    code = "topic_subscription_unknown"


class TopicSubscriptionEndedError(ConflictError):
    code = "topic_subscription_ended"


class TooManySubscriptionsError(ConflictError):
    code = "too_many_topic_subscriptions"


class InvalidMatchError(RefusedError):
    code = "invalid_match"


def subscribe(  # noqa: PLR0913  each part of a consent by its name
    topic: Topic,
    *,
    contact_id: int,
    match: Mapping[str, str],
    preferences: Preferences | None = None,
    locale: str = "",
    is_confirmed: bool = False,
    origin: Origin,
    now: datetime,
) -> int:
    """Subscribes a contact to the events that have this match, and returns the subscription's id.

    Idempotent: one that exists is returned as it is, with the preferences if they are given; one
    that had ended begins again. The list is subscribed to as by any program: it stays pending until
    the contact confirms, unless `is_confirmed` says that this has happened. A new one without a
    locale among its preferences has the given one, else the contact's.
    """
    topics.refuse_archived(topic)
    check_match(topic, match)
    if preferences is not None:
        list_subscriptions.check_preferences(preferences, now=now)
    with transaction.atomic():
        state = list_subscriptions.subscribe(
            topic.workspace_id,
            contact_id=contact_id,
            list_key=topic.list.key,
            is_confirmed=is_confirmed,
            origin=origin,
            now=now,
        )
        subscription, is_new = _get_or_create(topic, contact_id, match, now)
        columns = {} if preferences is None else _columns(preferences)
        if is_new and not columns.get("locale"):
            columns["locale"] = locale or _find_locale(contact_id)
        if subscription.state == TopicSubscriptionState.UNSUBSCRIBED:
            columns["state"] = TopicSubscriptionState.ACTIVE.value
        changed = _set(subscription, columns, now)
        if is_new or changed:
            _record(subscription, "subscribed", origin, now, state)
    return subscription.pk


def check_match(topic: Topic, match: Mapping[str, str]) -> None:
    """Refuses fields that the topic does not match on, and values that no event has."""
    for field, value in match.items():
        if field not in topic.match_fields:
            raise InvalidMatchError(
                f"The topic {topic.list.key!r} does not match on {field[:64]!r}. Use"
                f" {', '.join(topic.match_fields) or 'no field: every event matches'}."
            )
        if not (0 < len(value) <= LONGEST_VALUE and value.isprintable()):
            raise InvalidMatchError(
                f"The value of {field} has 1 to {LONGEST_VALUE} visible characters."
            )


def find_same(topic: Topic, *, contact_id: int, match: Mapping[str, str]) -> bool:
    """Whether the contact has a subscription with this match that has not ended."""
    own = TopicSubscription.objects.filter(topic=topic, contact_id=contact_id)
    same = own.filter(match_digest=matching.digest_match(match))
    return same.exclude(state=TopicSubscriptionState.UNSUBSCRIBED).exists()


def pause(workspace_id: int, *, subscription_id: int, origin: Origin, now: datetime) -> None:
    """Sends nothing until it resumes; idempotent."""
    _move(workspace_id, subscription_id, TopicSubscriptionState.PAUSED, origin, now)


def resume(workspace_id: int, *, subscription_id: int, origin: Origin, now: datetime) -> None:
    """Ends a pause; idempotent. What happened meanwhile is not told later."""
    _move(workspace_id, subscription_id, TopicSubscriptionState.ACTIVE, origin, now)


def unsubscribe(workspace_id: int, *, subscription_id: int, origin: Origin, now: datetime) -> None:
    """Ends one topic subscription; idempotent. The consent to the list, and others, stay."""
    _move(workspace_id, subscription_id, TopicSubscriptionState.UNSUBSCRIBED, origin, now)


def set_preferences(
    workspace_id: int,
    *,
    subscription_id: int,
    preferences: Preferences,
    origin: Origin,
    now: datetime,
) -> None:
    """Replaces all preferences; one that is None is that of the subscription to the list.

    What waits for the contact goes at once if it may now.
    """
    list_subscriptions.check_preferences(preferences, now=now)
    with transaction.atomic():
        subscription = _lock(workspace_id, subscription_id)
        changed = _set(subscription, _columns(preferences), now)
        if changed:
            _record(subscription, ", ".join(changed), origin, now)
        if changed and subscription.contact_id is not None:
            early_departures.bring_forward(workspace_id, contact_id=subscription.contact_id)


def _move(
    workspace_id: int,
    subscription_id: int,
    state: TopicSubscriptionState,
    origin: Origin,
    now: datetime,
) -> None:
    with transaction.atomic():
        subscription = _lock(workspace_id, subscription_id)
        before = TopicSubscriptionState(subscription.state)
        if before is state:
            return
        if before is TopicSubscriptionState.UNSUBSCRIBED:
            raise TopicSubscriptionEndedError(
                f"The topic subscription {subscription_id} has ended. Subscribe the contact again."
            )
        _set(subscription, {"state": state.value}, now)
        _record(subscription, f"{before} → {state}", origin, now)


def _lock(workspace_id: int, subscription_id: int) -> TopicSubscription:
    own = TopicSubscription.objects.filter(
        pk=subscription_id, topic__workspace_id=workspace_id, contact__deleted_at=None
    ).exclude(contact=None)
    locking = own.select_for_update(no_key=True, of=("self",)).select_related("topic__list")
    subscription = locking.first()
    if subscription is None:
        raise TopicSubscriptionUnknownError(
            f"There is no topic subscription {subscription_id}, or its contact was deleted."
        )
    return subscription


def _get_or_create(
    topic: Topic, contact_id: int, match: Mapping[str, str], now: datetime
) -> tuple[TopicSubscription, bool]:
    """The list's subscription is locked or new, so nobody counts or adds at the same time."""
    own = TopicSubscription.objects.filter(topic=topic, contact_id=contact_id)
    ended = TopicSubscriptionState.UNSUBSCRIBED
    digest = matching.digest_match(match)
    if own.exclude(state=ended).exclude(match_digest=digest).count() >= MOST_OF_CONTACT:
        raise TooManySubscriptionsError(
            f"The contact has {MOST_OF_CONTACT} subscriptions to the topic {topic.list.key!r}. End"
            " some of them, or subscribe it with fewer match fields."
        )
    return TopicSubscription.objects.select_related("topic__list").get_or_create(
        topic=topic,
        contact_id=contact_id,
        match_digest=digest,
        defaults={"match": dict(match), "created_at": now, "changed_at": now},
    )


def _columns(preferences: Preferences) -> dict[str, Any]:
    columns = asdict(preferences)
    notify_on = preferences.notify_on
    columns["notify_on"] = None if notify_on is None else list(notify_on)
    columns["locale"] = preferences.locale or ""
    return columns


def _find_locale(contact_id: int) -> str:
    return Contact.objects.values_list("locale", flat=True).get(pk=contact_id) or ""


def _set(subscription: TopicSubscription, columns: Mapping[str, Any], now: datetime) -> list[str]:
    """Returns the names of the columns that changed."""
    changed = [name for name in columns if getattr(subscription, name) != columns[name]]
    if changed:
        rows = TopicSubscription.objects.filter(pk=subscription.pk)
        rows.update(**{name: columns[name] for name in changed}, changed_at=now)
    return changed


def _record(
    subscription: TopicSubscription,
    what: str,
    origin: Origin,
    now: datetime,
    state: SubscriptionState | None = None,
) -> None:
    """The contact's history has it as a change of preferences: the consent itself stays."""
    topic = subscription.topic
    detail = f"topic subscription {subscription.pk}: {what}"
    contact_state.record(
        topic.workspace_id,
        ConsentChange(ConsentAction.PREFERENCES_CHANGED, origin, now, detail),
        contact_id=subscription.contact_id,
        list_id=topic.list_id,
        before=state,
        after=state,
    )
