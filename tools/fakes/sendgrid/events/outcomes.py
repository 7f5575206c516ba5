"""What becomes of a mail to one recipient, and which events SendGrid posts about it; pure."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from tools.fakes.events import shares


class Event(StrEnum):
    """As `event` names it."""

    PROCESSED = "processed"
    DROPPED = "dropped"
    DEFERRED = "deferred"
    DELIVERED = "delivered"
    BOUNCE = "bounce"
    OPEN = "open"
    CLICK = "click"
    SPAM_REPORT = "spamreport"
    UNSUBSCRIBE = "unsubscribe"
    GROUP_UNSUBSCRIBE = "group_unsubscribe"
    GROUP_RESUBSCRIBE = "group_resubscribe"


class Outcome(StrEnum):
    DELIVERED = "delivered"
    BOUNCED = "bounced"
    BLOCKED = "blocked"  # a bounce that says nothing of the address
    DROPPED = "dropped"  # the address is on one of SendGrid's own lists
    SPAM_CONTENT = "spam_content"  # dropped for what it says
    DEFERRED = "deferred"
    COMPLAINED = "complained"
    UNSUBSCRIBED = "unsubscribed"
    LEFT_GROUP = "left_group"
    JOINED_GROUP = "joined_group"
    OPENED = "opened"
    CLICKED = "clicked"


_ARRIVED = (Event.PROCESSED, Event.DELIVERED)
EVENTS: dict[Outcome, tuple[Event, ...]] = {
    Outcome.DELIVERED: _ARRIVED,
    Outcome.BOUNCED: (Event.PROCESSED, Event.BOUNCE),
    Outcome.BLOCKED: (Event.PROCESSED, Event.BOUNCE),
    Outcome.DROPPED: (Event.DROPPED,),
    Outcome.SPAM_CONTENT: (Event.DROPPED,),
    Outcome.DEFERRED: (Event.PROCESSED, Event.DEFERRED, Event.DELIVERED),
    Outcome.COMPLAINED: (*_ARRIVED, Event.SPAM_REPORT),
    Outcome.UNSUBSCRIBED: (*_ARRIVED, Event.UNSUBSCRIBE),
    Outcome.LEFT_GROUP: (*_ARRIVED, Event.GROUP_UNSUBSCRIBE),
    Outcome.JOINED_GROUP: (*_ARRIVED, Event.GROUP_RESUBSCRIBE),
    Outcome.OPENED: (*_ARRIVED, Event.OPEN),
    Outcome.CLICKED: (*_ARRIVED, Event.OPEN, Event.CLICK),
}
# How long after the acceptance it happens, in milliseconds.
_DELAYS = {Event.DEFERRED: 20, Event.DELIVERED: 40, Event.BOUNCE: 60, Event.OPEN: 80}
_LATEST = 100
# The part before the @, or before a + in it; at any domain.
WORDS = {
    "bounce": Outcome.BOUNCED,
    "blocked": Outcome.BLOCKED,
    "drop": Outcome.DROPPED,
    "spamcontent": Outcome.SPAM_CONTENT,
    "deferred": Outcome.DEFERRED,
    "spamreport": Outcome.COMPLAINED,
    "unsubscribe": Outcome.UNSUBSCRIBED,
    "groupunsubscribe": Outcome.LEFT_GROUP,
    "groupresubscribe": Outcome.JOINED_GROUP,
    "open": Outcome.OPENED,
    "click": Outcome.CLICKED,
}


@dataclass(frozen=True, slots=True)
class Report:
    """One event about a mail to one recipient."""

    event: Event
    outcome: Outcome
    place: int  # of the recipient among those of the mail
    recipient: str

    @property
    def key(self) -> tuple[str, str]:
        return self.event.value, self.recipient

    @property
    def delay(self) -> timedelta:
        first = self.event in {Event.PROCESSED, Event.DROPPED}
        return timedelta(milliseconds=0 if first else _DELAYS.get(self.event, _LATEST))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares(shares.Shares):
    bounced: float = 0.0
    blocked: float = 0.0
    dropped: float = 0.0
    spam_content: float = 0.0
    deferred: float = 0.0
    complained: float = 0.0
    unsubscribed: float = 0.0
    left_group: float = 0.0
    joined_group: float = 0.0
    opened: float = 0.0
    clicked: float = 0.0


def choose_outcome(address: str, drawn: shares.Shares) -> Outcome:
    word = address.lower().rpartition("@")[0].partition("+")[0]
    return WORDS.get(word) or Outcome(drawn.choose(address) or Outcome.DELIVERED)
