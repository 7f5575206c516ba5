"""Erases a person from the contacts: keyed hashes keep the person's addresses suppressed.

Mail to the person and the rows of Supabase are erased by privacy/erasure.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef

from postledger.accounts import trail
from postledger.contacts import queries, sql
from postledger.contacts.actions import suppression
from postledger.contacts.models import ConsentEvent, Contact, Subscription
from postledger.contacts.states import ConsentAction, SuppressionReason
from postledger.providers import addresses


@dataclass(frozen=True, slots=True)
class ErasedContacts:
    contacts: int
    consents: int


_DELETE_CONSENTS = "SELECT contacts_erase_consent(%(workspace)s, %(contact)s)"
_DELETE_CONSENTS_OF_ADDRESS = (
    "SELECT contacts_erase_address("
    "%(workspace)s, contacts_fingerprint(%(hash_key)s::bytea, %(address)s))"
)
# The hash was written with the address, and is all that remains of it.
_BLANK_SUPPRESSED_ADDRESS = """
UPDATE contacts_suppression SET address = NULL
WHERE workspace_id = %(workspace)s
  AND address_hash = contacts_fingerprint(%(hash_key)s::bytea, %(address)s)
"""
_ERASE_FORMER = """
UPDATE contacts_contact
SET former_addresses = nullif(array_remove(former_addresses, lower(%(address)s)), '{}')
WHERE workspace_id = %(workspace)s AND former_addresses @> ARRAY[lower(%(address)s)]
"""

# Every column with personal data, and what it has after an erasure; `address` is replaced.
BLANK: Mapping[str, Any] = MappingProxyType(
    {
        "former_addresses": None,
        "external_id": None,
        "name": "",
        "from_name": None,
        "locale": None,
        "time_zone": None,
        "attributes": {},
        "ocd_ids": [],
        "is_unconfirmed": False,
        "bounce_type": None,
        "bounce_subtype": None,
        "bounce_at": None,
    }
)


def erase(workspace_id: int, *, address: str, actor: str, now: datetime) -> ErasedContacts:
    """Erases every contact of an address, deleted ones too; idempotent.

    The address stays suppressed under its keyed hash, so that no later import revives it, and so
    do those that the contacts had before, unless somebody else has them now.
    """
    canonical = addresses.canonical(address)
    with transaction.atomic():
        sql.take_consent_lock(workspace_id)
        contact_ids = queries.list_contact_ids(workspace_id, address=canonical)
        former = _list_former(workspace_id, contact_ids)
        suppressed = (canonical, *former)
        for each in suppressed:
            suppression.suppress(
                workspace_id, address=each, reason=SuppressionReason.UNSUBSCRIBED, actor=actor
            )
        consents = sum(_erase_contact(workspace_id, contact_id, now) for contact_id in contact_ids)
        consents += sum(_forget_address(workspace_id, each) for each in suppressed)
        trail.note(
            workspace_id,
            actor=actor,
            action="contact.erased",
            subject=f"{len(contact_ids)} contact{'' if len(contact_ids) == 1 else 's'}",
            data={"consents": consents},
        )
    return ErasedContacts(contacts=len(contact_ids), consents=consents)


def _list_former(workspace_id: int, contact_ids: Sequence[int]) -> list[str]:
    """The addresses that only these contacts had, and nobody has now."""
    contacts = Contact.objects.filter(pk__in=contact_ids).exclude(former_addresses=None)
    lists = contacts.values_list("former_addresses", flat=True)
    former = {address for each in lists for address in each or ()}
    return sorted(former - queries.find_contacts(workspace_id, sorted(former)).keys())


def _forget_address(workspace_id: int, address: str) -> int:
    """Leaves no more of a suppressed address than its hash; returns the consents it deleted.

    Those are from before there was a contact, and from after it was deleted.
    """
    params = {"workspace": workspace_id, "address": address}
    [(consents,)] = sql.rows(_DELETE_CONSENTS_OF_ADDRESS, params)
    sql.execute(_BLANK_SUPPRESSED_ADDRESS, params)
    sql.execute(_ERASE_FORMER, params)
    return int(consents)


# Nobody confirmed. A contact with an id of the caller's own is the caller's, and
# one that an import made is the workspace's.
UNCONFIRMED_KEPT = timedelta(days=30)
_AT_ONCE = 1_000


def remove_unconfirmed(now: datetime) -> int:
    """Erases contacts that asked for lists 30 days ago and never confirmed; returns how many.

    Their addresses are not suppressed: they may ask again.
    """
    imported = ConsentEvent.objects.filter(
        contact=OuterRef("pk"), action=ConsentAction.IMPORTED.value, after="unconfirmed"
    )
    old = Contact.objects.filter(
        is_unconfirmed=True,
        deleted_at=None,
        external_id=None,
        created_at__lt=now - UNCONFIRMED_KEPT,
    ).exclude(Exists(imported))
    chosen = old.order_by("created_at").values_list("workspace_id", "pk")[:_AT_ONCE]
    return sum(_remove(workspace_id, contact_id, now) for workspace_id, contact_id in chosen)


def _remove(workspace_id: int, contact_id: int, now: datetime) -> bool:
    with transaction.atomic():
        sql.take_consent_lock(workspace_id)
        unconfirmed = Contact.objects.filter(pk=contact_id, is_unconfirmed=True, deleted_at=None)
        if not unconfirmed.exists():
            return False
        _erase_contact(workspace_id, contact_id, now)
        trail.note(
            workspace_id,
            actor="postledger",
            action="contact.unconfirmed",
            subject=f"contact {contact_id}",
        )
    return True


def _erase_contact(workspace_id: int, contact_id: int, now: datetime) -> int:
    """Returns how many consent events were deleted with the contact."""
    row = sql.first(_DELETE_CONSENTS, {"workspace": workspace_id, "contact": contact_id})
    Subscription.objects.filter(contact_id=contact_id).delete()
    Contact.objects.filter(pk=contact_id).update(
        address=f"erased-{contact_id}", deleted_at=now, updated_at=now, **BLANK
    )
    return int(row[0]) if row else 0
