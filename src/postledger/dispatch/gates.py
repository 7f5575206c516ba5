"""Which mails must not go, decided at the last moment before they would."""

from collections.abc import Sequence

from postledger.contacts.queries import Standings
from postledger.deliveries import entries
from postledger.deliveries.entries import Entry, Recipient
from postledger.lib import ids
from postledger.providers import addresses
from postledger.providers.addresses import InvalidAddressError

INVALID_EMAIL = "INVALID_EMAIL"
INVALID_PAYLOAD = "INVALID_PAYLOAD"
INVALID_TEMPLATE = "INVALID_TEMPLATE"
OUTBOX_NOT_FOUND = "OUTBOX_NOT_FOUND"
RECIPIENT_NOT_FOUND = "RECIPIENT_NOT_FOUND"
TOO_MANY_TRIES = "TOO_MANY_TRIES"


def verdict(recipient: Recipient, standings: Standings, *, try_number: int) -> Entry | None:
    """Why this recipient gets no mail; None when nothing speaks against it."""
    position = recipient.position
    address = recipient.address.lower()
    if try_number > ids.MOST_TRIES:
        detail = "Its numbers for tries are used up; it was never refused by the provider."
        return entries.invalid(position, code=TOO_MANY_TRIES, detail=detail)
    if not _is_address(recipient.address):
        detail = "This is not an address that mail can be sent to."
        return entries.invalid(position, code=INVALID_EMAIL, detail=detail)
    if recipient.contact_id is not None and standings.contacts.get(recipient.contact_id) != address:
        detail = "The contact was deleted, or has another address now."
        return entries.invalid(position, code=RECIPIENT_NOT_FOUND, detail=detail)
    reason = standings.suppressed.get(address)
    if reason is not None:
        return entries.suppressed(position, code=reason)
    return None


def faults(position: int, found: Sequence[str]) -> Entry:
    """The verdict on content that must not be sent."""
    return entries.invalid(position, code=INVALID_TEMPLATE, detail=" ".join(found))


def _is_address(address: str) -> bool:
    try:
        addresses.canonical(address)
    except InvalidAddressError:
        return False
    return True
