"""Forgets one person everywhere: as a contact, and in the mail that was sent to them."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from postledger.contacts import locks, profiles
from postledger.contacts.actions import erasing
from postledger.deliveries import ledger
from postledger.privacy import pending, quoted
from postledger.providers import addresses


@dataclass(frozen=True, slots=True)
class Erasure:
    """What was erased; mails that still wait are emptied by themselves once they ended."""

    contacts: int
    consents: int
    mails: int
    waiting: int


def erase(workspace_id: int, *, address: str, actor: str, now: datetime) -> Erasure:
    """Idempotent: whatever came in between goes with the next time, but for what an import that
    runs at this very moment quotes of the person.

    The contact before its mail: from then on none is planned. Mail to any address that the
    contact ever had goes too, and is looked for once more when all that runs now is over.
    """
    canonical = addresses.canonical(address)
    quoted.forget(workspace_id, address=canonical)
    with transaction.atomic():
        locks.leaving(workspace_id)
        contact_ids = profiles.ids_of(workspace_id, address=canonical)
        contact = erasing.erase(workspace_id, address=canonical, actor=actor, now=now)
        pending.keep(workspace_id, address=canonical, contact_ids=contact_ids)
    mails = ledger.forget(workspace_id, address=canonical, contact_ids=contact_ids)
    return Erasure(contact.contacts, contact.consents, mails.lines, mails.waiting)
