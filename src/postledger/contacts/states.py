"""The states of contacts and subscriptions, and the rules that relate them to suppressions."""

from dataclasses import dataclass
from enum import StrEnum


class ContactState(StrEnum):
    """Whether a contact is mailed, by priority: a later one replaces an earlier one."""

    ACTIVE = "active"  # may be mailed
    UNSUBSCRIBED = "unsubscribed"  # wants no campaigns and no notifications of the workspace
    BOUNCED = "bounced"  # its address permanently takes no mail

    @property
    def priority(self) -> int:
        return list(ContactState).index(self)


class SubscriptionState(StrEnum):
    """Whether a contact gets the mail of one list; a stronger end comes later in this order."""

    PENDING = "pending"  # requested, and not confirmed yet
    ACTIVE = "active"  # gets the list's mail
    PAUSED = "paused"  # gets none until it resumes
    UNSUBSCRIBED = "unsubscribed"  # ended by the contact
    SUPPRESSED = "suppressed"  # ended by an operator or by a provider's report


class SuppressionReason(StrEnum):
    """Why an address must not be mailed, weakest first: a stronger reason replaces a weaker."""

    UNSUBSCRIBED = "unsubscribed"  # its owner unsubscribed
    BY_HAND = "by_hand"  # a member of the workspace suppressed it
    COMPLAINED = "complained"  # its owner reported our mail as spam
    BOUNCED = "bounced"  # the provider reported a permanent bounce


class Purpose(StrEnum):
    """What a mail is for, which decides which suppressions apply."""

    SERVICE = "service"  # one person needs it now: a receipt, a password reset
    NEWS = "news"  # campaigns and notifications, for many who agreed to them


class ListKind(StrEnum):
    LIST = "list"  # campaigns are sent to it
    TOPIC = "topic"  # notifications are about it


class ConsentAction(StrEnum):
    """What changed a consent; recorded for ever, as its proof."""

    SUBSCRIBED = "subscribed"  # a list was requested
    CONFIRMED = "confirmed"  # the owner of the address confirmed
    IMPORTED = "imported"  # the workspace brought it from elsewhere
    PREFERENCES_CHANGED = "preferences_changed"  # when, how often and about what
    PAUSED = "paused"
    RESUMED = "resumed"
    UNSUBSCRIBED = "unsubscribed"  # from a list, or from everything
    UNDONE = "undone"  # the recipient took an unsubscribe back
    RESTORED = "restored"  # an operator lifted a suppression, for a reason
    BOUNCED = "bounced"  # the provider reported a bounce
    COMPLAINED = "complained"  # the provider reported a spam complaint
    SUPPRESSED = "suppressed"  # a member of the workspace suppressed the address


# Reasons that stop a service mail too: the address is dead, or sending to it harms the sender, or
# the workspace decided so. An unsubscribed recipient still gets a receipt.
STOPS_EVERYTHING = frozenset(
    {SuppressionReason.BY_HAND, SuppressionReason.COMPLAINED, SuppressionReason.BOUNCED}
)


@dataclass(frozen=True, slots=True)
class SuppressionStatus:
    """How an address is suppressed, for all mail or for one list; without a reason it is not."""

    reason: SuppressionReason | None = None
    # Its owner unsubscribed, or complained and bounced, even if there is a stronger reason by now.
    has_left: bool = False


NOT_SUPPRESSED = SuppressionStatus()


def implied_state(status: SuppressionStatus) -> ContactState:
    """The state of a contact whose address has this status for all mail."""
    match status.reason:
        case SuppressionReason.BOUNCED:
            return ContactState.BOUNCED
        case SuppressionReason.COMPLAINED | SuppressionReason.UNSUBSCRIBED:
            return ContactState.UNSUBSCRIBED
        case SuppressionReason.BY_HAND | None:
            return ContactState.UNSUBSCRIBED if status.has_left else ContactState.ACTIVE


def state_at_new_address(
    state: ContactState, *, new: SuppressionStatus, had_left: bool
) -> ContactState:
    """The state of a contact whose address is corrected: a bounce was of the old address alone.

    `had_left` says that the contact unsubscribed or complained, under any address that it had: a
    wish counts for every address.
    """
    if state is ContactState.BOUNCED:
        state = ContactState.UNSUBSCRIBED if had_left else ContactState.ACTIVE
    return max(state, implied_state(new), key=lambda one: one.priority)


def after_undo(status: SuppressionStatus) -> SuppressionStatus:
    """The status once the owner of the address has taken the unsubscribe back."""
    is_own = status.reason is SuppressionReason.UNSUBSCRIBED
    return NOT_SUPPRESSED if is_own else SuppressionStatus(status.reason)


def after_restore(status: SuppressionStatus) -> SuppressionStatus:
    """The status once an operator has lifted the reason: an own unsubscribe under it remains."""
    if status.has_left and status.reason is not SuppressionReason.UNSUBSCRIBED:
        return SuppressionStatus(SuppressionReason.UNSUBSCRIBED, has_left=True)
    return NOT_SUPPRESSED


def requested_state(
    current: SubscriptionState | None, status: SuppressionStatus, *, is_confirmed: bool
) -> SubscriptionState | None:
    """The state of a subscription that its contact requests; None when it is suppressed.

    After an unsubscribe it is pending until the recipient confirms, even if a program says that
    this has happened.
    """
    if current is SubscriptionState.SUPPRESSED or status.reason in STOPS_EVERYTHING:
        return None
    if status.has_left or current is SubscriptionState.UNSUBSCRIBED:
        return SubscriptionState.PENDING
    if current in {SubscriptionState.ACTIVE, SubscriptionState.PAUSED}:
        return current
    return SubscriptionState.ACTIVE if is_confirmed else SubscriptionState.PENDING
