"""What follows from an event of a provider: proof, counter, and the state of the contact."""

from datetime import datetime
from enum import StrEnum

from postledger.contacts import consent
from postledger.contacts.consent import PERMANENT, StateReport
from postledger.contacts.states import SuppressionReason
from postledger.providers.base import BLOCKED, ON_SUPPRESSION_LIST, EventKind, ProviderEvent

# The recipient took the mail out of the spam folder.
NOT_SPAM = "not-spam"

# Addresses of providers for tests of the way that events take; nobody reads their mail.
SES_SIMULATOR = "simulator.amazonses.com"
SENDGRID_SIMULATOR = "sink.sendgrid.net"  # takes all mail, and drops it
SANDBOX_SIMULATOR = "simulator.invalid"
_SIMULATORS = (f"@{SES_SIMULATOR}", f"@{SENDGRID_SIMULATOR}", f"@{SANDBOX_SIMULATOR}")

# Only what was accepted can have these.
_PROOFS = frozenset(
    {
        EventKind.ACCEPTED,
        EventKind.DELIVERED,
        EventKind.DEFERRED,
        EventKind.BOUNCED,
        EventKind.SOFT_BOUNCED,
        EventKind.DROPPED,
        EventKind.COMPLAINED,
        EventKind.UNSUBSCRIBED,
        EventKind.OPENED,
        EventKind.CLICKED,
    }
)
# What may change a contact.
CONTACT_KINDS = frozenset(
    {
        EventKind.BOUNCED,
        EventKind.SOFT_BOUNCED,
        EventKind.COMPLAINED,
        EventKind.UNSUBSCRIBED,
    }
)
_COUNTERS = {
    EventKind.DELIVERED: "delivered",
    EventKind.BOUNCED: "bounced",
    EventKind.SOFT_BOUNCED: "soft_bounced",
    EventKind.COMPLAINED: "complained",
    EventKind.DROPPED: "dropped",
    EventKind.OPENED: "opened",
    EventKind.CLICKED: "clicked",
}


class TransientBounce(StrEnum):
    """What a bounce that is not permanent does to its contact."""

    KEEP = "keep"  # its type and subtype are noted
    APPLY = "apply"  # the contact is bounced, as by a permanent one


def is_proof(event: ProviderEvent) -> bool:
    """Whether the event proves that the provider accepted the mail; no event proves the reverse."""
    return event.kind in _PROOFS


def find_counter(event: ProviderEvent) -> str | None:
    """The counter of the stream that the event adds its delivery to.

    What the account's own list stopped says nothing of the recipients of this run, so it is counted
    apart.
    """
    if event.bounce_subtype == ON_SUPPRESSION_LIST:
        return "on_suppression_list"
    return None if event.feedback_type == NOT_SPAM else _COUNTERS.get(event.kind)


def date_event(event: ProviderEvent, received_at: datetime) -> datetime:
    """When it happened; a foreign server may date a bounce, but not after we have heard of it."""
    return min(event.at, received_at) if event.at else received_at


def describe_code(event: ProviderEvent) -> str:
    """The provider's own classification, else the code of the recipient's server."""
    kinds = (event.bounce_type, event.bounce_subtype, event.feedback_type)
    return "/".join(filter(None, kinds)) or event.code


def report_contact(
    event: ProviderEvent, *, at: datetime, transient: TransientBounce
) -> StateReport | None:
    """What the event says of the contact with its address; None where it says nothing.

    A simulator's address stays usable: its bounces and complaints are made up.
    """
    if event.address is None or event.address.lower().endswith(_SIMULATORS):
        return None
    match event.kind:
        case EventKind.SOFT_BOUNCED if event.bounce_type == BLOCKED:
            return None
        case EventKind.BOUNCED | EventKind.SOFT_BOUNCED:
            is_applied = event.bounce_type == PERMANENT or transient is TransientBounce.APPLY
            return consent.bounce_report(
                event.address,
                bounce_type=event.bounce_type,
                bounce_subtype=event.bounce_subtype,
                at=at,
                is_final=is_applied,
            )
        case EventKind.COMPLAINED if event.feedback_type != NOT_SPAM:
            return consent.complaint_report(event.address, at=at)
        case EventKind.UNSUBSCRIBED:
            reason = SuppressionReason.UNSUBSCRIBED
            return consent.suppression_report(event.address, reason=reason, at=at)
        case _:
            return None
