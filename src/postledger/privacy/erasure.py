"""Forgets one person everywhere: as a contact, and in the mail that was sent to them."""

from dataclasses import dataclass
from datetime import datetime

from postledger.contacts.actions import erasing
from postledger.deliveries import ledger
from postledger.privacy import quoted
from postledger.providers import addresses


@dataclass(frozen=True, slots=True)
class Erasure:
    """What was erased; mails that still wait are stopped, and are emptied by erasing again."""

    contacts: int
    consents: int
    mails: int
    waiting: int


def erase(workspace_id: int, *, address: str, actor: str, now: datetime) -> Erasure:
    """Idempotent: whatever came in between goes with the next time, but for what an import that
    runs at this very moment quotes of the person.

    The contact before its mail: from then on none is planned, and what waits is stopped.
    """
    canonical = addresses.canonical(address)
    quoted.forget(workspace_id, address=canonical)
    contact = erasing.erase(workspace_id, address=canonical, actor=actor, now=now)
    mails = ledger.forget(workspace_id, address=canonical)
    return Erasure(contact.contacts, contact.consents, mails.lines, mails.waiting)
