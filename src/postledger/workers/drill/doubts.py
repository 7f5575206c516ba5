"""Which doubts the harness can explain by what it saw; pure.

A mail is in doubt when nobody knows whether the provider took it. The ledger's own word for what
was armed would explain any number of doubts, so it is not asked. Each doubtful try is held against
the wire, where all mails of a drill have addresses of their own:

- The try was **on the wire**. Then this very try must have met something: its answer was cut off
  by the proxy; or the answer came later than the client waits; or a process was lost or stopped
  while the transaction was open, or before its answer had to be booked. An answer that the client
  heard must be booked within `BOOKED_WITHIN`, in which time counts only while the database can
  book. Any other doubt about a try on the wire is a known answer that was thrown away.
- The try was **never on the wire**: its process was lost between arm and the first byte. Nobody
  outside can tell these mails from those that waited, so they are counted. One lost process
  explains at most what it may arm at once by its configuration (stream workers x batches of a
  claim x window), and no more than was still to be sent at that moment.
- **The fence** put it in doubt: then it must be one of the mails that its rules name.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from postledger.workers.drill.accounts import Accounts, Booked, Exchange, Wire

IN_DOUBT = "in_doubt"
LOST_TIME = "lost_time"
DOUBTFUL = frozenset({IN_DOUBT, "lease_lost", LOST_TIME})
PROOFS = frozenset({"proved_accepted", "proved_not_accepted"})

# A window is booked from its start: an answer may have to wait for a slower one before it, which
# takes as long as the client waits for answers, and then for the next settle.
BOOKED_WITHIN = 1.5
# The server reads a byte a little later than the client wrote it, and the other way round.
BLUR = 0.25


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
class Explained:
    causes: Mapping[Doubt, Cause]
    most_armed: int  # how many doubts the faults explain that were never on the wire

    def of(self, cause: Cause) -> list[Doubt]:
        return [doubt for doubt, found in self.causes.items() if found is cause]

    @property
    def most(self) -> int:
        """How many doubts what was seen accounts for."""
        certain = len(self.causes) - len(self.of(Cause.ARMED)) - len(self.of(Cause.NONE))
        return certain + self.most_armed


def found(mail: str, booked: Booked) -> list[Doubt]:
    """The tries of one mail that nobody can vouch for: evidence ended the others."""
    proved = {note.try_number for note in booked.notes if note.name in PROOFS}
    return [
        Doubt(mail, booked.address, note.try_number, note.name)
        for note in booked.notes
        if note.name in DOUBTFUL and note.try_number not in proved
    ]


def explain(accounts: Accounts) -> Explained:
    seen = _by_address(accounts.wire.exchanges)
    causes = {
        doubt: _cause(doubt, seen, accounts)
        for mail, booked in accounts.ledger.items()
        if booked.notes
        for doubt in found(mail, booked)
    }
    return Explained(causes, sum(fault.most_armed for fault in accounts.wire.faults))


def _by_address(exchanges: Iterable[Exchange]) -> Mapping[str, list[Exchange]]:
    seen: defaultdict[str, list[Exchange]] = defaultdict(list)
    for exchange in exchanges:
        seen[exchange.address].append(exchange)
    return seen


def _cause(doubt: Doubt, seen: Mapping[str, list[Exchange]], accounts: Accounts) -> Cause:
    if (doubt.mail, doubt.try_number) in accounts.wire.earlier:
        return Cause.EARLIER
    # What was armed where the restored state ends is swept; all else the fence puts in doubt.
    if doubt.mail in accounts.fenced:
        return Cause.FENCED
    if doubt.name == LOST_TIME:
        return Cause.NONE
    if doubt.address in accounts.wire.cut:
        return Cause.CUT
    return _cause_on_the_wire(doubt, seen.get(doubt.address, []), accounts.wire)


def _cause_on_the_wire(doubt: Doubt, seen: list[Exchange], wire: Wire) -> Cause:
    this_try = (doubt.mail, doubt.try_number)
    of_this_try = [one for one in seen if (one.mail, one.try_number) == this_try]
    unnamed = [one for one in seen if one.mail is None]
    if any(_met_a_fault(exchange, wire) for exchange in [*of_this_try, *unnamed]):
        return Cause.AT_FAULT
    if any(exchange.ended_at - exchange.began_at > wire.answer_time for exchange in of_this_try):
        return Cause.LATE
    # Its bytes never arrived: whatever else was said to this address concerned another try.
    return Cause.NONE if of_this_try else Cause.ARMED


def _met_a_fault(exchange: Exchange, wire: Wire) -> bool:
    """Whether a fault struck between its beginning and the moment it had to be booked by."""
    booked_by = _booked_by(exchange.ended_at, wire)
    return any(
        exchange.began_at - BLUR <= fault.until and fault.since <= booked_by
        for fault in wire.faults
    )


def _booked_by(answered_at: float, wire: Wire) -> float:
    """When an answer is booked at the latest; the time in which nothing can be booked is added."""
    by = answered_at + wire.answer_time + BOOKED_WITHIN
    for since, until in sorted(wire.outages):
        if since <= by and until > answered_at:
            by += until - max(since, answered_at)
    return by
