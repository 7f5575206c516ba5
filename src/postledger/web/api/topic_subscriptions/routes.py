"""Routes for one topic subscription."""

from typing import Annotated

from postledger.accounts.keys import Scope
from postledger.contacts.consent import Origin
from postledger.notifications.subscriptions import queries as subscription_queries
from postledger.notifications.subscriptions import subscriptions
from postledger.notifications.subscriptions.queries import SubscriptionFacts
from postledger.web.api.common.fields import path_id
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.topic_subscriptions.schemas import (
    TopicSubscriptionChangeIn,
    TopicSubscriptionOut,
)

routes = Routes(
    "topic subscriptions", read=Scope.NOTIFICATIONS_READ, write=Scope.NOTIFICATIONS_WRITE
)

SubscriptionId = Annotated[int, path_id("The id of the topic subscription.")]


@routes.get("/{int:subscription_id}", TopicSubscriptionOut)
def get_topic_subscription(call: Call, subscription_id: SubscriptionId) -> SubscriptionFacts:
    """What the contact is told, when, and the status that counts now."""
    return subscription_queries.get_subscription(call.workspace_id, subscription_id)


@routes.patch("/{int:subscription_id}", TopicSubscriptionOut)
def change_topic_subscription(
    call: Call, subscription_id: SubscriptionId, payload: TopicSubscriptionChangeIn
) -> SubscriptionFacts:
    """Replaces the preferences."""
    subscriptions.set_preferences(
        call.workspace_id,
        subscription_id=subscription_id,
        preferences=payload.preferences.preferences(),
        origin=payload.consent.origin(call.actor),
        now=call.now,
    )
    return subscription_queries.get_subscription(call.workspace_id, subscription_id)


@routes.post("/{int:subscription_id}/pause", TopicSubscriptionOut)
def pause_topic_subscription(call: Call, subscription_id: SubscriptionId) -> SubscriptionFacts:
    """Tells the contact nothing until it resumes. Idempotent."""
    subscriptions.pause(
        call.workspace_id, subscription_id=subscription_id, origin=_origin(call), now=call.now
    )
    return subscription_queries.get_subscription(call.workspace_id, subscription_id)


@routes.post("/{int:subscription_id}/resume", TopicSubscriptionOut)
def resume_topic_subscription(call: Call, subscription_id: SubscriptionId) -> SubscriptionFacts:
    """Ends a pause. Idempotent; what happened meanwhile is not told later."""
    subscriptions.resume(
        call.workspace_id, subscription_id=subscription_id, origin=_origin(call), now=call.now
    )
    return subscription_queries.get_subscription(call.workspace_id, subscription_id)


@routes.delete("/{int:subscription_id}")
def end_topic_subscription(call: Call, subscription_id: SubscriptionId) -> None:
    """Ends the subscription. The contact's other ones, and its consent to the list, stay."""
    subscriptions.unsubscribe(
        call.workspace_id, subscription_id=subscription_id, origin=_origin(call), now=call.now
    )


def _origin(call: Call) -> Origin:
    return Origin("api", call.actor)
