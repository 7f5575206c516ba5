"""Forgets a person: what is known of them goes, and a hash stays that keeps them from our mail."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from postledger.accounts import trail
from postledger.contacts import locks, profiles, sql
from postledger.contacts.actions import suppressing
from postledger.contacts.models import Contact, Subscription
from postledger.contacts.states import SuppressionReason
from postledger.contacts.supabase.models import SupabaseSubscriber
from postledger.providers import addresses


@dataclass(frozen=True, slots=True)
class Erased:
    contacts: int
    consents: int


_CONSENTS = "SELECT contacts_erase_consent(%(workspace)s, %(contact)s)"
_CONSENTS_OF_ADDRESS = "SELECT contacts_erase_address(%(workspace)s, %(address)s)"
# The hash was written with the address, and is all that is left of it.
_UNNAME = """
UPDATE contacts_suppression SET address = NULL
WHERE workspace_id = %(workspace)s
  AND address_hash = contacts_fingerprint((SELECT salt FROM contacts_salt), %(address)s)
"""
_FORGET_FORMER = """
UPDATE contacts_contact
SET former_addresses = nullif(array_remove(former_addresses, lower(%(address)s)), '{}')
WHERE workspace_id = %(workspace)s AND former_addresses @> ARRAY[lower(%(address)s)]
"""


def erase(workspace_id: int, *, address: str, actor: str, now: datetime) -> Erased:
    """Erases every contact of an address, deleted ones too; idempotent.

    The address is suppressed for good under its salted hash: a later import cannot bring it back.
    """
    canonical = addresses.canonical(address)
    params: dict[str, int | str] = {"workspace": workspace_id, "address": canonical}
    with transaction.atomic():
        locks.leaving(workspace_id)
        suppressing.suppress(
            workspace_id, address=canonical, reason=SuppressionReason.UNSUBSCRIBED, actor=actor
        )
        found = profiles.ids_of(workspace_id, address=canonical)
        consents = sum(_emptied(workspace_id, contact_id, now) for contact_id in found)
        # Also those from before there was a contact, and from after it was deleted.
        [(nameless,)] = sql.rows(_CONSENTS_OF_ADDRESS, params)
        consents += nameless
        sql.changed(_UNNAME, params)
        sql.changed(_FORGET_FORMER, params)
        trail.note(
            workspace_id,
            actor=actor,
            action="contact.erased",
            subject=f"{len(found)} contacts",
            data={"consents": consents},
        )
    return Erased(contacts=len(found), consents=consents)


def _emptied(workspace_id: int, contact_id: int, now: datetime) -> int:
    """How many proofs of consent went with it: they prove something of somebody we forgot."""
    row = sql.one(_CONSENTS, {"workspace": workspace_id, "contact": contact_id})
    Subscription.objects.filter(contact_id=contact_id).delete()
    SupabaseSubscriber.objects.filter(contact_id=contact_id).delete()
    Contact.objects.filter(pk=contact_id).update(
        address=f"erased-{contact_id}",
        former_addresses=None,
        external_id=None,
        name="",
        from_name=None,
        locale=None,
        time_zone=None,
        attributes={},
        ocd_ids=[],
        is_unconfirmed=False,
        bounce_type=None,
        bounce_subtype=None,
        deleted_at=now,
        updated_at=now,
    )
    return int(row[0]) if row else 0
