"""What becomes of a mail to one recipient, and which events SES publishes about it; pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from tools.fakes.events import shares
from tools.fakes.ses.addresses import SIMULATOR


class Event(StrEnum):
    """As `eventType` names it."""

    SEND = "Send"
    DELIVERY = "Delivery"
    BOUNCE = "Bounce"
    COMPLAINT = "Complaint"
    REJECT = "Reject"
    DELIVERY_DELAY = "DeliveryDelay"

    @property
    def matching_type(self) -> str:
        """As MatchingEventTypes of an event destination names it."""
        return "DELIVERY_DELAY" if self is Event.DELIVERY_DELAY else self.value.upper()


class Outcome(StrEnum):
    DELIVERED = "delivered"
    BOUNCED = "bounced"
    MAILBOX_FULL = "mailbox_full"
    SUPPRESSED = "suppressed"  # on the account's suppression list
    OUT_OF_OFFICE = "out_of_office"
    COMPLAINED = "complained"
    NOT_SPAM = "not_spam"
    REJECTED = "rejected"
    DELAYED = "delayed"


EVENTS: dict[Outcome, tuple[Event, ...]] = {
    Outcome.DELIVERED: (Event.DELIVERY,),
    Outcome.BOUNCED: (Event.BOUNCE,),
    Outcome.MAILBOX_FULL: (Event.BOUNCE,),
    Outcome.SUPPRESSED: (Event.BOUNCE,),
    Outcome.OUT_OF_OFFICE: (Event.DELIVERY, Event.BOUNCE),
    Outcome.COMPLAINED: (Event.DELIVERY, Event.COMPLAINT),
    Outcome.NOT_SPAM: (Event.DELIVERY, Event.COMPLAINT),
    Outcome.REJECTED: (Event.REJECT,),
    Outcome.DELAYED: (Event.DELIVERY_DELAY, Event.DELIVERY),
}
# How long after the acceptance it happens: what follows in life follows here, too.
_DELAYS = {
    Event.SEND: timedelta(),
    Event.REJECT: timedelta(milliseconds=10),
    Event.DELIVERY_DELAY: timedelta(milliseconds=20),
    Event.DELIVERY: timedelta(milliseconds=40),
    Event.BOUNCE: timedelta(milliseconds=60),
    Event.COMPLAINT: timedelta(milliseconds=80),
}
_SIMULATED = {
    "bounce": Outcome.BOUNCED,
    "complaint": Outcome.COMPLAINED,
    "ooto": Outcome.OUT_OF_OFFICE,
    "suppressionlist": Outcome.SUPPRESSED,
}
# The part before the @, or before a + in it; at any domain.
WORDS = {
    "bounce": Outcome.BOUNCED,
    "softbounce": Outcome.MAILBOX_FULL,
    "ooto": Outcome.OUT_OF_OFFICE,
    "complaint": Outcome.COMPLAINED,
    "notspam": Outcome.NOT_SPAM,
    "drop": Outcome.REJECTED,
    "delay": Outcome.DELAYED,
}


@dataclass(frozen=True, slots=True)
class Report:
    """One event about a mail: its kind, and the recipients whose outcome it reports."""

    event: Event
    outcome: Outcome | None  # None: of Send, which is about all recipients
    recipients: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from the other events of its mail."""
        return self.event.value, self.outcome.value if self.outcome else ""

    @property
    def delay(self) -> timedelta:
        return _DELAYS[self.event]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares(shares.Shares):
    bounced: float = 0.0
    mailbox_full: float = 0.0
    out_of_office: float = 0.0
    complained: float = 0.0
    not_spam: float = 0.0
    rejected: float = 0.0
    delayed: float = 0.0


def choose_outcome(address: str, drawn: shares.Shares, *, is_suppressed: bool) -> Outcome:
    if is_suppressed:
        return Outcome.SUPPRESSED
    local, _, domain = address.lower().rpartition("@")
    word = local.partition("+")[0]
    if domain == SIMULATOR:
        return _SIMULATED.get(word, Outcome.DELIVERED)
    outcome = WORDS.get(word)
    if outcome is None:
        return Outcome(drawn.choose(address) or Outcome.DELIVERED)
    return outcome


def list_reports(recipients: Sequence[str], outcomes: Sequence[Outcome]) -> list[Report]:
    """All events of a mail; recipients with the same outcome are in one."""
    reports = [Report(Event.SEND, None, tuple(recipients))]
    for outcome in dict.fromkeys(outcomes):
        pairs = zip(recipients, outcomes, strict=True)
        group = tuple(address for address, its_outcome in pairs if its_outcome is outcome)
        reports += [Report(event, outcome, group) for event in EVENTS[outcome]]
    return reports
