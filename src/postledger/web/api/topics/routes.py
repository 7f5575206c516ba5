"""Routes for topics, their events and their subscriptions."""

from typing import Annotated

from ninja import Path, Query

from postledger.accounts.keys import Scope
from postledger.notifications.events import publishing
from postledger.notifications.events import queries as event_queries
from postledger.notifications.models import Topic
from postledger.notifications.subscriptions import queries as subscription_queries
from postledger.notifications.subscriptions import subscriptions
from postledger.notifications.subscriptions.queries import SubscriptionFacts
from postledger.notifications.topics import topics
from postledger.web.api.common.fields import ListKey
from postledger.web.api.common.pagination import ByKeyQuery, NewestFirstQuery, cut_page
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.email.routes import IdempotencyKey
from postledger.web.api.events.schemas import EventPage, EventsIn, PublishedEvents
from postledger.web.api.topic_subscriptions.schemas import (
    NewTopicSubscriptionIn,
    TopicSubscriptionOut,
    TopicSubscriptionPage,
    TopicSubscriptionsQuery,
)
from postledger.web.api.topics.schemas import NewTopicIn, TopicChangeIn, TopicOut, TopicPage

routes = Routes("topics", read=Scope.NOTIFICATIONS_READ, write=Scope.NOTIFICATIONS_WRITE)

TopicKey = Annotated[ListKey, Path(description="The key of the topic.", examples=["seats"])]


@routes.get("", TopicPage)
def list_topics(call: Call, query: Query[ByKeyQuery]) -> dict[str, object]:
    """The topics of the workspace by key, archived ones included."""
    rows = topics.list_topics(call.workspace_id, after=query.after, limit=query.limit + 1)
    return cut_page("topics", rows, query.limit, lambda topic: topic.list.key)


@routes.post("", TopicOut, status=201, shown_with=None)
def create_topic(call: Call, payload: NewTopicIn) -> Topic:
    """Creates a topic and its list. The key stays taken for good, like that of any list."""
    return topics.create_topic(
        call.workspace_id, key=payload.key, fields=payload.fields(), actor=call.actor
    )


@routes.get("/{topic}", TopicOut)
def get_topic(call: Call, topic: TopicKey) -> Topic:
    """What its events look like, and the mail that they become."""
    return topics.get_topic(call.workspace_id, topic)


@routes.patch("/{topic}", TopicOut)
def change_topic(call: Call, topic: TopicKey, payload: TopicChangeIn) -> Topic:
    """Changes the fields that are sent, for later events."""
    return topics.change_topic(
        call.workspace_id, key=topic, changes=payload.changes(), actor=call.actor
    )


@routes.post("/{topic}/archive", TopicOut)
def archive_topic(call: Call, topic: TopicKey) -> Topic:
    """Closes the topic to events and subscribers. What was published before is still sent."""
    return topics.archive_topic(call.workspace_id, key=topic, actor=call.actor)


@routes.post("/{topic}/restore", TopicOut)
def restore_topic(call: Call, topic: TopicKey) -> Topic:
    """Takes an archived topic into use again."""
    return topics.restore_topic(call.workspace_id, key=topic, actor=call.actor)


@routes.post(
    "/{topic}/events",
    PublishedEvents,
    status=202,
    scopes=[Scope.EVENTS_PUBLISH],
    shown_with=None,
)
def publish_events(
    call: Call, topic: TopicKey, payload: EventsIn, idempotency_key: IdempotencyKey = None
) -> dict[str, object]:
    """Stores up to 1,000 events, all or none; those who match them are mailed at once.

    An event with the id of an earlier one is not published again; with other content it is a
    conflict. Under an Idempotency-Key, events without an id get one, so the request can be
    repeated.
    """
    published = publishing.publish_events(
        topics.get_topic(call.workspace_id, topic),
        payload.new_events(idempotency_key),
        actor=call.actor,
        now=call.now,
    )
    return {"events": published}


@routes.get("/{topic}/events", EventPage)
def list_events(call: Call, topic: TopicKey, query: Query[NewestFirstQuery]) -> dict[str, object]:
    """The topic's events, the newest first."""
    events = event_queries.list_events(
        topics.get_topic(call.workspace_id, topic), before=query.before, limit=query.limit + 1
    )
    return cut_page("events", events, query.limit, lambda event: event.pk)


@routes.post("/{topic}/subscriptions", TopicSubscriptionOut, status=201)
def subscribe_contact(
    call: Call, topic: TopicKey, payload: NewTopicSubscriptionIn
) -> SubscriptionFacts:
    """Subscribes a contact to the events with this match. Idempotent.

    It is pending until the contact has confirmed the list of the topic.
    """
    if payload.is_confirmed:
        call.require(Scope.CONTACTS_WRITE)
    preferences = payload.preferences
    subscription_id = subscriptions.subscribe(
        topics.get_topic(call.workspace_id, topic),
        contact_id=payload.contact_id,
        match=payload.match,
        preferences=preferences.preferences() if preferences else None,
        is_confirmed=payload.is_confirmed,
        origin=payload.consent.origin(call.actor),
        now=call.now,
    )
    return subscription_queries.get_subscription(call.workspace_id, subscription_id)


@routes.get("/{topic}/subscriptions", TopicSubscriptionPage)
def list_topic_subscriptions(
    call: Call, topic: TopicKey, query: Query[TopicSubscriptionsQuery]
) -> dict[str, object]:
    """The topic's subscriptions, the newest first."""
    subscriptions = subscription_queries.list_of_topic(
        topics.get_topic(call.workspace_id, topic),
        status=query.status,
        contact_id=query.contact_id,
        before=query.before,
        limit=query.limit + 1,
    )
    return cut_page("subscriptions", subscriptions, query.limit, lambda facts: facts.id)
