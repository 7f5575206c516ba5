"""What becomes of a mail to one recipient, and which events SES publishes about it; pure."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import ClassVar

from pydantic import ConfigDict

from postledger.fakes.ses.addresses import SIMULATOR
from postledger.fakes.ses.draws import draw


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


@dataclass(frozen=True, slots=True)
class Shares:
    """How many of the recipients meet each outcome, from 0 to 1; all others get their mail.

    The same seed and address always meet the same outcome, as a dead mailbox does.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")
    bounced: float = 0.0
    mailbox_full: float = 0.0
    out_of_office: float = 0.0
    complained: float = 0.0
    not_spam: float = 0.0
    rejected: float = 0.0
    delayed: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        shares = [share for _, share in self._list()]
        if any(share < 0 for share in shares) or sum(shares) > 1:
            raise ValueError("Shares are at least 0, and at most 1 together")

    def choose(self, address: str) -> Outcome:
        drawn = draw(self.seed, address.lower())
        for outcome, share in self._list():
            if drawn < share:
                return outcome
            drawn -= share
        return Outcome.DELIVERED

    def _list(self) -> list[tuple[Outcome, float]]:
        names = (field.name for field in fields(self) if field.name != "seed")
        return [(Outcome(name), getattr(self, name)) for name in names]


ALL_DELIVERED = Shares()


def choose_outcome(address: str, shares: Shares, *, is_suppressed: bool) -> Outcome:
    if is_suppressed:
        return Outcome.SUPPRESSED
    local, _, domain = address.lower().rpartition("@")
    word = local.partition("+")[0]
    if domain == SIMULATOR:
        return _SIMULATED.get(word, Outcome.DELIVERED)
    outcome = WORDS.get(word)
    if outcome is None:
        return Outcome.DELIVERED if shares is ALL_DELIVERED else shares.choose(address)
    return outcome


def list_reports(recipients: Sequence[str], outcomes: Sequence[Outcome]) -> list[Report]:
    """All events of a mail; recipients with the same outcome are in one."""
    reports = [Report(Event.SEND, None, tuple(recipients))]
    for outcome in dict.fromkeys(outcomes):
        pairs = zip(recipients, outcomes, strict=True)
        group = tuple(address for address, its_outcome in pairs if its_outcome is outcome)
        reports += [Report(event, outcome, group) for event in EVENTS[outcome]]
    return reports
