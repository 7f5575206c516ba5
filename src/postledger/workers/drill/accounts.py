"""The accounts that the oracle compares: the provider's, the ledger's, the caller's, and what the
harness itself did and saw; values only.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Taken:
    """One mail that the provider took, as its journal has it."""

    mail: str  # the delivery's id, whichever try it was
    try_number: int
    address: str  # of the envelope
    at: datetime | None = None
    inside: Sequence[str] = ()  # the recipients that the bytes themselves name


@dataclass(frozen=True, slots=True)
class Exchange:
    """One SMTP transaction as the provider's side of the wire saw it; seconds of the wall clock."""

    address: str
    began_at: float
    ended_at: float  # when it was answered, or when the client was gone
    code: int | None  # of the last reply; None: the client left before there was one
    mail: str | None = None  # known once the bytes have arrived
    try_number: int | None = None

    @property
    def is_final(self) -> bool:
        """Whether the mail needs no further try: it was taken, or refused for good."""
        return self.code is not None and self.code // 100 in {2, 5}


@dataclass(frozen=True, slots=True)
class Note:
    """One line of a mail's history in the ledger: an attempt's outcome, or an event's kind."""

    name: str
    try_number: int
    outcome: str | None = None  # what the evidence said, for evidence


@dataclass(frozen=True, slots=True)
class Booked:
    """One line of the ledger."""

    address: str
    state: str
    settled_at: datetime | None = None
    last_try: int = 1
    notes: Sequence[Note] = ()  # in the order in which they were written
    kind: str = "campaign"
    is_cancelled: bool = False  # its stream was


@dataclass(frozen=True, slots=True)
class Fault:
    """A moment at which a process that sends was lost or stopped.

    `most_armed` is how many mails it may have armed at once: by its configuration, and by what
    was still to be sent then. The ledger is not asked.
    """

    since: float  # it struck between these two moments, or lasted from one to the other
    until: float
    most_armed: int


@dataclass(frozen=True, slots=True)
class Wire:
    """What the harness saw of hand-overs, and what it did to them."""

    exchanges: Sequence[Exchange] = ()
    faults: Sequence[Fault] = ()
    cut: Collection[str] = ()  # addresses whose answer never reached the client whole and in time
    outages: Sequence[tuple[float, float]] = ()  # from and to when the database could book nothing
    answer_time: float = 4.0  # how long the client waits for an answer
    earlier: Collection[tuple[str, int]] = ()  # tries whose doubt an earlier verdict explained


@dataclass(frozen=True, slots=True)
class Accounts:
    """All that a drill knows when it is over."""

    journal: Sequence[Taken]
    ledger: Mapping[str, Booked]
    promised: Collection[str] = ()
    wire: Wire = field(default_factory=Wire)
    refused: Collection[str] | None = None  # addresses that got a 5xx; None: nobody kept account
    poisoned: Collection[str] = ()  # addresses whose mail kills its worker, by the scenario
    attempts: Mapping[str, int] = field(default_factory=dict)  # what the retry policies allow
    fenced: Collection[str] = ()  # mails that the fence has to put in doubt, by its rules
    in_gap: Collection[str] = ()  # mails, or addresses, of a time that a restore took away
    findings: Sequence[str] = ()  # of the recount
    leaks: Sequence[str] = ()
