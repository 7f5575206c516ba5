"""Brings a subscription to the state that a program wants, as far as its contact's words allow."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.db import transaction

from postledger.contacts import lists, queries
from postledger.contacts.actions import contacts, leaving, preferences, subscriptions
from postledger.contacts.actions.subscriptions import SubscriptionUnknownError
from postledger.contacts.consent import Origin, Preferences
from postledger.contacts.models import Subscription
from postledger.contacts.states import SubscriptionState
from postledger.contacts.unsubscribe import Wish
from postledger.lib.errors import RefusedError


class Wanted(StrEnum):
    """The states that a program may ask for; `suppressed` is a word on an address."""

    PENDING = "pending"
    ACTIVE = "active"
    PAUSED = "paused"
    UNSUBSCRIBED = "unsubscribed"


class SubscriptionNotActiveError(RefusedError):
    code = "subscription_not_active"


@dataclass(frozen=True, slots=True)
class _Act:
    """Whose subscription it is, and what all its verbs are told."""

    workspace_id: int
    contact_id: int
    address: str
    list_key: str
    origin: Origin
    now: datetime

    def do(self, verb: Callable[..., object], **more: object) -> bool:
        return bool(
            verb(
                self.workspace_id,
                contact_id=self.contact_id,
                list_key=self.list_key,
                origin=self.origin,
                now=self.now,
                **more,
            )
        )


def bring(  # noqa: PLR0913  each part of a wish by its name
    workspace_id: int,
    *,
    contact_id: int,
    list_key: str,
    wanted: Wanted | None = None,
    wishes: Preferences | None = None,
    origin: Origin,
    now: datetime,
) -> None:
    """Sets the state and all preferences, each unless it is None: both or neither.

    Idempotent, and so it never confirms: a program that repeats every night whom it takes for
    active would bring back who left. They are pending until they confirm.
    """
    known = queries.find(workspace_id, contact_id=contact_id)
    if known is None:
        raise contacts.unknown(contact_id)
    [list_id] = lists.ids(workspace_id, [list_key]).values()
    act = _Act(workspace_id, contact_id, known.address, list_key, origin, now)
    with transaction.atomic():
        _move(act, wanted, _state(contact_id, list_id))
        if wishes is not None:
            act.do(preferences.set_preferences, preferences=wishes)


def _move(act: _Act, wanted: Wanted | None, current: SubscriptionState | None) -> None:
    match wanted, current:
        case Wanted.PENDING, _:
            act.do(subscriptions.subscribe)
        case Wanted.ACTIVE, SubscriptionState.PAUSED:
            act.do(subscriptions.resume)
        case Wanted.ACTIVE, None | SubscriptionState.UNSUBSCRIBED | SubscriptionState.SUPPRESSED:
            act.do(subscriptions.subscribe, is_confirmed=True)
        case _, None:
            raise SubscriptionUnknownError(
                f"This contact was never subscribed to {act.list_key!r}: make it active or"
                " pending first."
            )
        case Wanted.PAUSED, _:
            _pause(act, current)
        case Wanted.UNSUBSCRIBED, _:
            wish = Wish(act.address, act.list_key)
            leaving.unsubscribe(act.workspace_id, wish=wish, origin=act.origin, now=act.now)
        case _:
            pass  # nothing is wanted, it is so, or it is pending, which only its contact ends


def _pause(act: _Act, current: SubscriptionState) -> None:
    if current is not SubscriptionState.PAUSED and not act.do(subscriptions.pause):
        raise SubscriptionNotActiveError(
            f"The subscription to {act.list_key!r} is {current}, and only an active one can be"
            " paused: let its contact subscribe or confirm first."
        )


def _state(contact_id: int, list_id: int) -> SubscriptionState | None:
    """Read without a lock: each verb decides for itself, under the locks in their order."""
    there = Subscription.objects.filter(contact_id=contact_id, list_id=list_id)
    state = there.values_list("state", flat=True).first()
    return SubscriptionState(state) if state else None
