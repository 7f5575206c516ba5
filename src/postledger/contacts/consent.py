"""Values of consent: the origin of a change, reports about addresses, and preferences."""

from dataclasses import dataclass
from datetime import datetime

from postledger.contacts import states
from postledger.contacts.states import (
    ConsentAction,
    ContactState,
    SuppressionReason,
    SuppressionStatus,
)

PERMANENT = "Permanent"
# What a person decides, whatever address they have by then; an import or a sync goes by addresses.
WISHES = frozenset({ConsentAction.UNSUBSCRIBED, ConsentAction.COMPLAINED})

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
class Origin:
    """Where a change came from; together with its time, the proof of a consent."""

    source: str  # the form, page, file or event
    actor: str
    text_version: str = ""  # of the text that the contact agreed to
    ip: str | None = None


@dataclass(frozen=True, slots=True)
class ConsentChange:
    """One change of consent, as the history records it."""

    action: ConsentAction
    origin: Origin
    at: datetime | None = None  # None: now
    detail: str = ""


@dataclass(frozen=True, slots=True)
class StateReport:
    """What a provider, an import or a person reports about an address."""

    address: str
    action: ConsentAction
    at: datetime | None  # None: now
    state: ContactState | None = None  # None leaves the contact's state alone
    reason: SuppressionReason | None = None  # None: the report does not suppress the address
    bounce_type: str | None = None
    bounce_subtype: str | None = None


def complaint_report(address: str, *, at: datetime) -> StateReport:
    return suppression_report(address, reason=SuppressionReason.COMPLAINED, at=at)


def bounce_report(
    address: str,
    *,
    bounce_type: str,
    bounce_subtype: str,
    at: datetime,
    is_final: bool | None = None,
) -> StateReport:
    """A provider's bounce; only a final one changes the state, as a rule a permanent one."""
    is_permanent = bounce_type == PERMANENT if is_final is None else is_final
    return StateReport(
        address,
        ConsentAction.BOUNCED,
        at,
        state=ContactState.BOUNCED if is_permanent else None,
        reason=SuppressionReason.BOUNCED if is_permanent else None,
        bounce_type=bounce_type,
        bounce_subtype=bounce_subtype,
    )


def import_report(address: str, *, state: ContactState, at: datetime) -> StateReport:
    """The state in an import or a sync; it can end a consent and never create one."""
    reason = _REASONS.get(state)
    return StateReport(address, ConsentAction.IMPORTED, at, state=state, reason=reason)


def suppression_report(
    address: str, *, reason: SuppressionReason, at: datetime | None = None
) -> StateReport:
    """An address that must not be mailed; by hand, the state of the contact stays."""
    is_by_hand = reason is SuppressionReason.BY_HAND
    state = None if is_by_hand else states.implied_state(SuppressionStatus(reason))
    return StateReport(address, ACTIONS[reason], at, state=state, reason=reason)


@dataclass(frozen=True, slots=True)
class StateChange:
    """What a report changed; without a contact, the address is suppressed now."""

    address: str
    contact_id: int | None
    before: ContactState | None
    after: ContactState | None


@dataclass(frozen=True, slots=True)
class Preferences:
    """When, how often and about what a subscriber wants to be mailed; None sets no limit."""

    notify_on: tuple[str, ...] | None = None
    max_notifications: int | None = None
    window_from: int | None = None
    window_until: int | None = None
    snooze_until: datetime | None = None
    locale: str | None = None
