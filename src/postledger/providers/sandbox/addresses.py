"""What each sandbox address makes happen; every other address is accepted and delivered."""

from enum import StrEnum

from postledger.providers.events import Kind


class Behaviour(StrEnum):
    """The word before the @, or before a + in it, as in refuse+17@example.com."""

    REFUSE = "refuse"  # refused for good
    LATER = "later"  # asked to try later
    THROTTLE = "throttle"  # too fast
    BLOCK = "block"  # the sender is refused
    BROKEN = "broken"  # the line breaks before anything is taken
    VANISH = "vanish"  # taken, and then the answer is lost
    SLOW = "slow"  # taken after a while
    HANG = "hang"  # taken at once, never answered


# Accepted, and then this is reported instead of a delivery.
REPORTS = {
    "bounce": Kind.BOUNCED,
    "softbounce": Kind.SOFT_BOUNCED,
    "complaint": Kind.COMPLAINED,
    "unsubscribe": Kind.UNSUBSCRIBED,
    "drop": Kind.DROPPED,
    "open": Kind.OPENED,
    "click": Kind.CLICKED,
}

_BEHAVIOURS = {str(behaviour): behaviour for behaviour in Behaviour}


def behaviour(address: str) -> Behaviour | None:
    return _BEHAVIOURS.get(_word(address))


def report(address: str) -> Kind:
    """What becomes of a mail to this address after it was taken."""
    return REPORTS.get(_word(address), Kind.DELIVERED)


def _word(address: str) -> str:
    return address.partition("@")[0].partition("+")[0].lower()
