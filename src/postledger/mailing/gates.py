"""Decides at the last moment which mails must not be sent."""

from collections.abc import Sequence

from postledger.contacts import reach, states
from postledger.contacts.standings import Standings
from postledger.contacts.states import (
    ContactState,
    Purpose,
    SubscriptionState,
    SuppressionReason,
)
from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import RECIPIENT_NOT_FOUND, Entry, Recipient
from postledger.providers import addresses

INVALID_EMAIL = "INVALID_EMAIL"
# Of the list alone; the codes without `list_` are about all mail.
LIST_UNSUBSCRIBED = "list_unsubscribed"
LIST_SUPPRESSED = "list_suppressed"
LIST_PENDING = "list_pending"
LIST_PAUSED = "list_paused"


def find_verdict(recipient: Recipient, standings: Standings) -> Entry | None:
    """Why this recipient gets no mail; None when the mail may be sent."""
    position = recipient.position
    address = recipient.address.lower()
    if not addresses.is_valid(recipient.address):
        return _judge_bad_address(recipient)
    # Before the contact: an erased person has no contact any more, and that is no failure.
    reason = _suppression(address, standings)
    if reason is not None:
        return entries.suppressed(position, code=reason)
    if recipient.contact_id is not None and standings.contacts.get(recipient.contact_id) != address:
        detail = "The contact was deleted, or has another address now."
        return entries.invalid(position, code=RECIPIENT_NOT_FOUND, detail=detail)
    match standings.purpose:
        case Purpose.SERVICE:
            return _judge_service(recipient, standings)
        case Purpose.NEWS:
            return _judge_news(recipient, address, standings)


def _judge_bad_address(recipient: Recipient) -> Entry:
    if recipient.address == ledger.ERASED:
        # Its person was erased after it had failed, and then somebody requeued it.
        return entries.suppressed(recipient.position, code=ledger.ERASED)
    detail = "This is not an address that mail can be sent to."
    return entries.invalid(recipient.position, code=INVALID_EMAIL, detail=detail)


def withdrawn_since(recipients: Sequence[Recipient], then: Standings, now: Standings) -> set[int]:
    """The positions of those who may not be mailed any more: the recipients passed at `then`."""
    if then == now:
        return set()
    return {item.position for item in recipients if find_verdict(item, now) is not None}


def _suppression(address: str, standings: Standings) -> str | None:
    """Why an address gets no mail for this purpose.

    An unsubscribe does not stop service mail, such as a password reset. A dead address, a spam
    complaint or a member's block stops it as well.
    """
    reason = standings.suppressed.get(address)
    if standings.purpose is Purpose.SERVICE and reason not in states.STOPS_EVERYTHING:
        return None
    return reason


def _judge_service(recipient: Recipient, standings: Standings) -> Entry | None:
    """A mail that one person needs."""
    if _state(recipient, standings) is ContactState.BOUNCED:
        return entries.suppressed(recipient.position, code=ContactState.BOUNCED.value)
    return None


def _judge_news(recipient: Recipient, address: str, standings: Standings) -> Entry | None:
    """A mail to many: every no counts, to all mail and to its list."""
    position = recipient.position
    state = _state(recipient, standings)
    if state is not ContactState.ACTIVE:
        return entries.suppressed(position, code=state.value)
    left = standings.left.get(address)
    if left is not None:
        is_own_wish = left == SuppressionReason.UNSUBSCRIBED
        return entries.suppressed(
            position, code=LIST_UNSUBSCRIBED if is_own_wish else LIST_SUPPRESSED
        )
    unreached = standings.unreached.get(recipient.contact_id or 0)
    if unreached == reach.ON_BREAK:
        return entries.skipped(position, code=unreached)
    if unreached is not None:
        return entries.suppressed(position, code=unreached)
    return _judge_subscription(recipient, standings)


def _judge_subscription(recipient: Recipient, standings: Standings) -> Entry | None:
    """A recipient without a subscription was chosen in another way, and may unsubscribe."""
    position = recipient.position
    match standings.subscriptions.get(recipient.contact_id or 0):
        case SubscriptionState.UNSUBSCRIBED:
            return entries.suppressed(position, code=LIST_UNSUBSCRIBED)
        case SubscriptionState.SUPPRESSED:
            return entries.suppressed(position, code=LIST_SUPPRESSED)
        case SubscriptionState.PENDING:
            return entries.skipped(position, code=LIST_PENDING)
        case SubscriptionState.PAUSED:
            return entries.skipped(position, code=LIST_PAUSED)
        case SubscriptionState.ACTIVE | None:
            return None


def _state(recipient: Recipient, standings: Standings) -> ContactState:
    return standings.states.get(recipient.contact_id or 0, ContactState.ACTIVE)
