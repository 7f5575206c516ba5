"""The records that the oracle compares: of the provider, the ledger, the caller and the harness."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from postledger.deliveries.states import State


@dataclass(frozen=True, slots=True)
class Taken:
    """One mail that the provider took, as its journal has it."""

    mail: str  # the delivery's id, whichever try it was
    try_number: int
    address: str  # in the envelope
    at: datetime | None = None
    inside: Sequence[str] = ()  # the recipients named in the message


@dataclass(frozen=True, slots=True)
class Exchange:
    """One hand-over as the provider's side saw it; times are seconds of the wall clock."""

    address: str
    began_at: float
    ended_at: float  # when the server answered, or when the client disconnected
    code: int | None  # of SMTP, for the last reply; None: there was none, or the client had left
    mail: str | None = None  # known once the message has arrived
    try_number: int | None = None

    @property
    def is_final(self) -> bool:
        """Whether the mail was taken, or refused for good."""
        return self.code is not None and self.code // 100 in {2, 5}


@dataclass(frozen=True, slots=True)
class Note:
    """One entry of a mail's history: an attempt's outcome, or an event's kind."""

    name: str
    try_number: int
    outcome: str | None = None  # of evidence only


@dataclass(frozen=True, slots=True)
class Booked:
    """One delivery of the ledger."""

    address: str
    state: State
    settled_at: datetime | None = None
    last_try: int = 1
    kind: str = "campaign"
    is_cancelled: bool = False  # its stream was
    notes: Sequence[Note] = ()  # in the order of writing


@dataclass(frozen=True, slots=True)
class Fault:
    """A time at which a sending process was killed or stopped.

    `most_armed` is how many mails it may have had armed, by its configuration and by the number of
    unsent mails; the ledger is not consulted.
    """

    since: float  # it happened between these times, or lasted from one to the other
    until: float
    most_armed: int


@dataclass(frozen=True, slots=True)
class Wire:
    """Hand-overs as the harness observed and disturbed them."""

    exchanges: Sequence[Exchange] = ()
    faults: Sequence[Fault] = ()
    cut: Collection[str] = ()  # addresses whose answer did not reach the client in time
    outages: Sequence[tuple[float, float]] = ()  # when the database could book nothing
    answer_time: float = 4.0  # how long the client waits for an answer
    earlier: Collection[tuple[str, int]] = ()  # tries whose doubt an earlier verdict explained
    unanswered: Collection[tuple[str, int]] = ()  # tries that no client can know the end of


@dataclass(frozen=True, slots=True)
class Records:
    """Everything that is known after a drill."""

    journal: Sequence[Taken]
    ledger: Mapping[str, Booked]
    promised: Collection[str] = ()
    wire: Wire = field(default_factory=Wire)
    refused: Collection[str] | None = None  # addresses that got a 5xx; None: not recorded
    poisoned: Collection[str] = ()  # addresses whose mail kills its worker
    attempts: Mapping[str, int] = field(default_factory=dict)  # allowed by the retry policies
    fenced: Collection[str] = ()  # mails that the fence must put in doubt
    in_gap: Collection[str] = ()  # mails or addresses of the lost time
    findings: Sequence[str] = ()  # of the audit
    leaks: Sequence[str] = ()
