"""The words of consent: how contacts and subscriptions stand, and what outranks what."""

from dataclasses import dataclass
from enum import StrEnum


class ContactState(StrEnum):
    """Whether a contact is mailed, in the order of priority: what is told later wins."""

    ACTIVE = "active"  # nothing speaks against mailing it
    UNSUBSCRIBED = "unsubscribed"  # it wants nothing that the workspace sends to many
    BOUNCED = "bounced"  # its address takes no mail, for good

    @property
    def priority(self) -> int:
        return list(ContactState).index(self)


class SubscriptionState(StrEnum):
    """Whether a contact gets the mail of one list; an end is later in this order."""

    PENDING = "pending"  # asked for, and not confirmed yet
    ACTIVE = "active"  # gets what the list sends
    PAUSED = "paused"  # wants a break
    UNSUBSCRIBED = "unsubscribed"  # ended by the contact
    SUPPRESSED = "suppressed"  # kept back by an operator or a provider's word


class SuppressionReason(StrEnum):
    """Why an address must not be mailed, weakest first: a stronger reason replaces a weaker."""

    UNSUBSCRIBED = "unsubscribed"  # its owner wants no mail of that kind
    BY_HAND = "by_hand"  # a member of the workspace said so
    COMPLAINED = "complained"  # its owner called our mail spam
    BOUNCED = "bounced"  # the provider reported that it takes no mail, for good


class Purpose(StrEnum):
    """What a mail is for, which decides whose no it obeys."""

    SERVICE = "service"  # one person needs it now: a receipt, a way back into an account
    NEWS = "news"  # it goes to many who agreed to it: campaigns and notifications


class ListKind(StrEnum):
    """What can be subscribed to."""

    LIST = "list"  # what campaigns are sent to
    TOPIC = "topic"  # what notifications are about


class ConsentAction(StrEnum):
    """What happened to a consent; kept for ever, as the proof of it."""

    SUBSCRIBED = "subscribed"  # somebody asked for a list
    CONFIRMED = "confirmed"  # the owner of the address said yes
    IMPORTED = "imported"  # the workspace brought it from elsewhere
    PREFERENCES_CHANGED = "preferences_changed"  # when, how often and about what
    PAUSED = "paused"  # a break
    RESUMED = "resumed"  # the end of a break
    UNSUBSCRIBED = "unsubscribed"  # a list, or everything, was left
    UNDONE = "undone"  # the recipient took a leaving back
    RESTORED = "restored"  # an operator did, with a reason
    BOUNCED = "bounced"  # the provider's word that the address takes no mail
    COMPLAINED = "complained"  # the provider's word that our mail was called spam
    SUPPRESSED = "suppressed"  # a member of the workspace keeps the address back


# Reasons that stop even a mail its recipient needs: the address is dead, or sending to it harms
# the sender, or the workspace decided so. Who merely left the newsletter still gets a receipt.
STOPS_EVERYTHING = frozenset(
    {SuppressionReason.BY_HAND, SuppressionReason.COMPLAINED, SuppressionReason.BOUNCED}
)


@dataclass(frozen=True, slots=True)
class Kept:
    """What keeps an address back, for all mail or for one list; no reason: nothing does."""

    reason: SuppressionReason | None = None
    has_left: bool = False  # its owner left, even if there is a stronger reason by now


NOTHING = Kept()


def state_under(kept: Kept) -> ContactState:
    """How a contact stands whose address is kept back from all mail, or is not."""
    match kept.reason:
        case SuppressionReason.BOUNCED:
            return ContactState.BOUNCED
        case SuppressionReason.COMPLAINED | SuppressionReason.UNSUBSCRIBED:
            return ContactState.UNSUBSCRIBED
        case SuppressionReason.BY_HAND | None:
            return ContactState.UNSUBSCRIBED if kept.has_left else ContactState.ACTIVE


def undone(kept: Kept) -> Kept:
    """What still keeps an address back after its owner took the leaving back."""
    return NOTHING if kept.reason is SuppressionReason.UNSUBSCRIBED else Kept(kept.reason)


def restored(kept: Kept) -> Kept:
    """The same after an operator's word: the wish of the owner comes to light again."""
    if kept.has_left and kept.reason is not SuppressionReason.UNSUBSCRIBED:
        return Kept(SuppressionReason.UNSUBSCRIBED, has_left=True)
    return NOTHING


def asked(
    current: SubscriptionState | None, kept: Kept, *, is_confirmed: bool
) -> SubscriptionState | None:
    """How a subscription stands that its contact asks for; None when it is kept back.

    Who has left the list is pending until they confirm, whoever else says they did already.
    """
    if current is SubscriptionState.SUPPRESSED or kept.reason in STOPS_EVERYTHING:
        return None
    if kept.has_left or current is SubscriptionState.UNSUBSCRIBED:
        return SubscriptionState.PENDING
    if current in {SubscriptionState.ACTIVE, SubscriptionState.PAUSED}:
        return current
    return SubscriptionState.ACTIVE if is_confirmed else SubscriptionState.PENDING
