"""Values of consent: where a change came from, and what others tell us of addresses."""

from dataclasses import dataclass
from datetime import datetime

from postledger.contacts import states
from postledger.contacts.states import ConsentAction, ContactState, Kept, SuppressionReason

PERMANENT = "Permanent"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a change came from; together with its time, what proves a consent."""

    source: str  # the form, page, file or event
    actor: str
    text_version: str = ""  # of the words that were agreed to
    ip: str | None = None


@dataclass(frozen=True, slots=True)
class Incoming:
    """How an address stands, as somebody tells us; built by the functions below."""

    address: str
    action: ConsentAction
    at: datetime | None  # None: now
    state: ContactState | None = None  # None leaves the contact's state alone
    reason: SuppressionReason | None = None  # why it is suppressed from now on; None: it is not
    bounce_type: str | None = None
    bounce_subtype: str | None = None


def bounced(address: str, *, bounce_type: str, bounce_subtype: str, at: datetime) -> Incoming:
    """A provider's bounce: only a permanent one says something of the state."""
    is_final = bounce_type == PERMANENT
    return Incoming(
        address,
        ConsentAction.BOUNCED,
        at,
        state=ContactState.BOUNCED if is_final else None,
        reason=SuppressionReason.BOUNCED if is_final else None,
        bounce_type=bounce_type,
        bounce_subtype=bounce_subtype,
    )


def complained(address: str, *, at: datetime) -> Incoming:
    return suppressed(address, reason=SuppressionReason.COMPLAINED, at=at)


def told(address: str, *, state: ContactState, at: datetime) -> Incoming:
    """What an import or a sync says of an address; it can end a consent and never make one."""
    reason = _REASONS.get(state)
    return Incoming(address, ConsentAction.IMPORTED, at, state=state, reason=reason)


def suppressed(address: str, *, reason: SuppressionReason, at: datetime | None = None) -> Incoming:
    """An address that gets no more mail; by hand, the contact itself stays as it is."""
    state = None if reason is SuppressionReason.BY_HAND else states.state_under(Kept(reason))
    return Incoming(address, ACTIONS[reason], at, state=state, reason=reason)


ACTIONS = {
    SuppressionReason.UNSUBSCRIBED: ConsentAction.UNSUBSCRIBED,
    SuppressionReason.BY_HAND: ConsentAction.SUPPRESSED,
    SuppressionReason.COMPLAINED: ConsentAction.COMPLAINED,
    SuppressionReason.BOUNCED: ConsentAction.BOUNCED,
}
_REASONS = {
    ContactState.UNSUBSCRIBED: SuppressionReason.UNSUBSCRIBED,
    ContactState.BOUNCED: SuppressionReason.BOUNCED,
}


@dataclass(frozen=True, slots=True)
class Applied:
    """An address of which something changed; without a contact, that it is suppressed now."""

    address: str
    contact_id: int | None
    before: ContactState | None
    after: ContactState | None


@dataclass(frozen=True, slots=True)
class Preferences:
    """When, how often and about what a subscriber wants to be mailed; None sets no bound."""

    notify_on: tuple[str, ...] | None = None
    max_notifications: int | None = None
    window_from: int | None = None
    window_until: int | None = None
    snooze_until: datetime | None = None
    locale: str | None = None
