"""Brings a subscription to the state that a program requests, as far as consent allows."""

from datetime import datetime
from enum import StrEnum
from typing import TypedDict

from django.db import transaction

from postledger.contacts import lists, queries, sql
from postledger.contacts.actions import subscriptions, suppression
from postledger.contacts.actions.subscriptions import SubscriptionUnknownError
from postledger.contacts.consent import Origin, Preferences
from postledger.contacts.models import Subscription
from postledger.contacts.states import SubscriptionState
from postledger.contacts.unsubscribe_links import UnsubscribeRequest
from postledger.lib.errors import ConflictError
from postledger.lib.sentences import say


class DesiredState(StrEnum):
    """The states that a program may request; only an address can be `suppressed`."""

    PENDING = "pending"
    ACTIVE = "active"
    PAUSED = "paused"
    UNSUBSCRIBED = "unsubscribed"


class SubscriptionNotActiveError(ConflictError):
    code = "subscription_not_active"


class _Target(TypedDict):
    contact_id: int
    list_key: str
    origin: Origin
    now: datetime


def update_subscription(  # noqa: PLR0913  each part by its name
    workspace_id: int,
    *,
    contact_id: int,
    list_key: str,
    state: DesiredState | None = None,
    preferences: Preferences | None = None,
    origin: Origin,
    now: datetime,
) -> None:
    """Sets the state and all preferences, each unless it is None: both or neither.

    Idempotent, and so it never confirms: a program that repeats every night which contacts it
    takes for active would revive those who unsubscribed. They are pending until they confirm.
    """
    [list_id] = lists.get_ids(workspace_id, [list_key]).values()
    target = _Target(contact_id=contact_id, list_key=list_key, origin=origin, now=now)
    with transaction.atomic():
        if state is DesiredState.UNSUBSCRIBED:  # its address cannot change from here on
            sql.take_consent_lock(workspace_id)
        address = queries.get_contact(workspace_id, contact_id=contact_id).address
        current = _current_state(contact_id, list_id)
        if state is DesiredState.UNSUBSCRIBED and current is not None:
            request = UnsubscribeRequest(address, list_key)
            suppression.unsubscribe(workspace_id, request=request, origin=origin, now=now)
        else:
            _move(workspace_id, target, state, current)
        if preferences is not None:
            subscriptions.set_preferences(workspace_id, **target, preferences=preferences)


def _move(
    workspace_id: int,
    target: _Target,
    state: DesiredState | None,
    current: SubscriptionState | None,
) -> None:
    match state, current:
        case DesiredState.PENDING, _:
            subscriptions.subscribe(workspace_id, **target)
        case DesiredState.ACTIVE, SubscriptionState.PAUSED:
            subscriptions.resume(workspace_id, **target)
        case (
            DesiredState.ACTIVE,
            None | SubscriptionState.UNSUBSCRIBED | SubscriptionState.SUPPRESSED,
        ):
            subscriptions.subscribe(workspace_id, **target, is_confirmed=True)
        case _, None:
            raise SubscriptionUnknownError(
                say(
                    "This contact was never subscribed to '%(list_key)s'. Make the subscription"
                    " active or pending first.",
                    list_key=target["list_key"],
                )
            )
        case DesiredState.PAUSED, _ if current is not SubscriptionState.PAUSED:
            if not subscriptions.pause(workspace_id, **target):
                raise SubscriptionNotActiveError(
                    say(
                        "The subscription to '%(list_key)s' is %(state)s, and only an active one"
                        " can be paused. Let the contact subscribe or confirm first.",
                        list_key=target["list_key"],
                        state=current,
                    )
                )
        case _:
            pass  # no state is requested, it is so already, or only the contact can confirm


def _current_state(contact_id: int, list_id: int) -> SubscriptionState | None:
    """Read without a lock: each action decides for itself, under the locks in their order."""
    subscriptions_to_list = Subscription.objects.filter(contact_id=contact_id, list_id=list_id)
    state = subscriptions_to_list.values_list("state", flat=True).first()
    return SubscriptionState(state) if state else None
