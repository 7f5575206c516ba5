"""Locks one contact or subscription, sets its state, and records the change."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import LiteralString

from django.db.models.functions import Now

from postledger.contacts import sql
from postledger.contacts.consent import ConsentChange
from postledger.contacts.models import ConsentEvent, Contact, Subscription
from postledger.contacts.states import ConsentAction, ContactState, SubscriptionState


@dataclass(frozen=True, slots=True)
class AddressOwner:
    """The contact of an address, locked until the transaction ends; or else the address's hash."""

    contact_id: int | None
    state: ContactState | None
    address_hash: bytes | None = None


_BY_ADDRESS: LiteralString = """
SELECT id, state FROM contacts_contact
WHERE workspace_id = %(workspace)s AND deleted_at IS NULL
  AND lower(address) COLLATE "C" = lower(%(address)s) COLLATE "C"
FOR NO KEY UPDATE
"""
_FINGERPRINT: LiteralString = "SELECT contacts_fingerprint(%(hash_key)s::bytea, %(address)s)"


def lock_owner(workspace_id: int, *, address: str) -> AddressOwner:
    row = sql.first(_BY_ADDRESS, {"workspace": workspace_id, "address": address})
    if row is not None:
        return AddressOwner(row[0], ContactState(row[1]))
    [(address_hash,)] = sql.rows(_FINGERPRINT, {"address": address})
    return AddressOwner(None, None, bytes(address_hash))


def set_state(
    workspace_id: int, *, contact_id: int, state: ContactState, at: datetime | None
) -> None:
    Contact.objects.filter(pk=contact_id, workspace_id=workspace_id).update(
        state=state.value, state_changed_at=at or Now(), updated_at=Now()
    )


def record(  # noqa: PLR0913  each part of an event by its name
    workspace_id: int,
    change: ConsentChange,
    *,
    contact_id: int | None,
    address_hash: bytes | None = None,
    list_id: int | None = None,
    before: ContactState | SubscriptionState | None = None,
    after: ContactState | SubscriptionState | None = None,
) -> None:
    """Adds one event to the history, in the transaction of the change itself."""
    ConsentEvent.objects.create(
        workspace_id=workspace_id,
        contact_id=contact_id,
        address_hash=address_hash,
        list_id=list_id,
        action=change.action.value,
        before=before and before.value,
        after=after and after.value,
        **asdict(change.origin),
        detail=change.detail,
        at=change.at or Now(),
    )


def find_state_before_bounce(contact_id: int) -> ContactState | None:
    """The state in which the last bounce met a contact, as far as its history knows it.

    None, too, if the contact has taken an unsubscribe back since then. Served by
    contacts_consent_newest.
    """
    bounced = ContactState.BOUNCED.value
    events = ConsentEvent.objects.filter(contact_id=contact_id, list=None)
    newest = events.filter(after=bounced).exclude(before=bounced).order_by("-pk").first()
    if newest is None or newest.before is None:
        return None
    if events.filter(pk__gt=newest.pk, action=ConsentAction.UNDONE.value).exists():
        return None
    return ContactState(newest.before)


def lock_subscription(workspace_id: int, *, contact_id: int, list_id: int) -> Subscription | None:
    """A contact's subscription to a list, locked until the transaction ends."""
    locking = Subscription.objects.select_for_update(no_key=True, of=("self",))
    return locking.filter(
        contact_id=contact_id,
        list_id=list_id,
        contact__workspace_id=workspace_id,
        contact__deleted_at=None,
    ).first()


def set_subscription(
    subscription: Subscription, *, state: SubscriptionState, at: datetime | None
) -> None:
    """Sets the state of a subscription that `lock_subscription` has locked."""
    Subscription.objects.filter(pk=subscription.pk).update(
        state=state.value, changed_at=at or Now()
    )
    if state is SubscriptionState.ACTIVE:
        confirm_contact(subscription.contact_id)


def confirm_contact(contact_id: int) -> None:
    """Must follow each subscription that becomes active: its contact agreed to a list."""
    unconfirmed = Contact.objects.filter(pk=contact_id, is_unconfirmed=True)
    unconfirmed.update(is_unconfirmed=False, updated_at=Now())


def lock_unconfirmed(contact_id: int) -> None:
    """Must precede the insertion of a subscription that may confirm the contact.

    An import locks contacts first, too, and then waits for subscriptions that others add. Without
    this lock the two would wait for each other.
    """
    unconfirmed = Contact.objects.filter(pk=contact_id, is_unconfirmed=True)
    unconfirmed.select_for_update(no_key=True).first()
