"""Explains doubts by the observations of the harness; pure.

The ledger's own record of armed mails would explain any number of doubts, so it is not used. Each
doubtful try is compared with the wire, where all mails of a drill have their own addresses:

- The try was **on the wire**. Then a fault must have hit this try: the proxy cut its answer off, or
  the answer came after the client's timeout, or a process was killed or stopped while the
  transaction was open or before its answer had to be booked. A received answer must be booked
  within `BOOKED_WITHIN`, not counting database outages. Any other doubt is a lost answer.
- The try was **never on the wire**: its process was killed between arm and the first byte. Such
  mails look like waiting ones from outside, so they are counted. One killed process explains at
  most the mails it can arm at once (stream workers x batches of a claim x window), and no more
  than were unsent at that time.
- **The fence** put it in doubt: then its rules must name the mail.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tools.drill.records import Booked, Exchange, Records, Wire

IN_DOUBT = "in_doubt"
LOST_TIME = "lost_time"
DOUBTFUL = frozenset({IN_DOUBT, "lease_lost", LOST_TIME})
PROOFS = frozenset({"proved_accepted", "proved_not_accepted"})

# A window is booked from its start: an answer may wait for a slower one before it, at most the
# client's timeout, and then for the next settle.
BOOKED_WITHIN = 1.5
BLUR = 0.25  # seconds between writing a byte and reading it


class Cause(StrEnum):
    CUT = "its answer was cut off"
    LATE = "its answer came late"
    AT_FAULT = "it was on the wire at a fault"
    ARMED = "it may have been armed at a fault"
    FENCED = "the fence put it in doubt"
    EARLIER = "it was explained before"
    NONE = "nothing explains it"


@dataclass(frozen=True, slots=True)
class Doubt:
    mail: str
    address: str
    try_number: int
    name: str  # of the note that made it


@dataclass(frozen=True, slots=True)
class DoubtExplanation:
    causes: Mapping[Doubt, Cause]
    most_armed: int  # doubts never on the wire that the faults explain

    def with_cause(self, cause: Cause) -> list[Doubt]:
        return [doubt for doubt, its_cause in self.causes.items() if its_cause is cause]


def find_doubts(mail: str, booked: Booked) -> list[Doubt]:
    """The doubtful tries of one mail that no evidence has resolved."""
    proved = {note.try_number for note in booked.notes if note.name in PROOFS}
    return [
        Doubt(mail, booked.address, note.try_number, note.name)
        for note in booked.notes
        if note.name in DOUBTFUL and note.try_number not in proved
    ]


def explain(records: Records) -> DoubtExplanation:
    seen = _by_address(records.wire.exchanges)
    causes = {
        doubt: _cause(doubt, seen, records)
        for mail, booked in records.ledger.items()
        if booked.notes
        for doubt in find_doubts(mail, booked)
    }
    return DoubtExplanation(causes, sum(fault.most_armed for fault in records.wire.faults))


def _by_address(exchanges: Iterable[Exchange]) -> Mapping[str, list[Exchange]]:
    seen: defaultdict[str, list[Exchange]] = defaultdict(list)
    for exchange in exchanges:
        seen[exchange.address].append(exchange)
    return seen


def _cause(doubt: Doubt, seen: Mapping[str, list[Exchange]], records: Records) -> Cause:
    if (doubt.mail, doubt.try_number) in records.wire.earlier:
        return Cause.EARLIER
    # Mail that was armed when the restored state ends is swept; the fence doubts the others.
    if doubt.mail in records.fenced:
        return Cause.FENCED
    if doubt.name == LOST_TIME:
        return Cause.NONE
    if doubt.address in records.wire.cut:
        return Cause.CUT
    return _cause_on_the_wire(doubt, seen.get(doubt.address, []), records.wire)


def _cause_on_the_wire(doubt: Doubt, seen: list[Exchange], wire: Wire) -> Cause:
    this_try = (doubt.mail, doubt.try_number)
    of_this_try = [
        exchange for exchange in seen if (exchange.mail, exchange.try_number) == this_try
    ]
    unnamed = [exchange for exchange in seen if exchange.mail is None]
    if any(_met_a_fault(exchange, wire) for exchange in [*of_this_try, *unnamed]):
        return Cause.AT_FAULT
    if any(exchange.ended_at - exchange.began_at > wire.answer_time for exchange in of_this_try):
        return Cause.LATE
    # Its bytes never arrived: other exchanges of this address were other tries.
    return Cause.NONE if of_this_try else Cause.ARMED


def _met_a_fault(exchange: Exchange, wire: Wire) -> bool:
    """Whether a fault happened between its start and the time by which it had to be booked."""
    booked_by = _booked_by(exchange.ended_at, wire)
    return any(
        exchange.began_at - BLUR <= fault.until and fault.since <= booked_by
        for fault in wire.faults
    )


def _booked_by(answered_at: float, wire: Wire) -> float:
    """The latest time at which an answer is booked; database outages are added."""
    by = answered_at + wire.answer_time + BOOKED_WITHIN
    for since, until in sorted(wire.outages):
        if since <= by and until > answered_at:
            by += until - max(since, answered_at)
    return by
