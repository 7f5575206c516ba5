"""The state of a run, decided from its books."""

from dataclasses import dataclass
from enum import StrEnum


class RunState(StrEnum):
    """The state of one launch of a campaign."""

    PLANNING = "planning"  # its audience is being written into the ledger; mail may go already
    SENDING = "sending"  # mail is being sent, or waits for its time
    PAUSED = "paused"  # a person holds it, or its sender is held
    OPEN = "open"  # everything has a result, and some failed or are in doubt: a person decides
    SENT = "sent"  # everything has a result, without a failure or a doubt
    CLOSED = "closed"  # a person closed it with its failures
    CANCELLED = "cancelled"  # a person ended it before everything had gone


class Ending(StrEnum):
    """The final state of a run that is over."""

    SENT = "sent"
    CLOSED = "closed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Everything that the state of a run depends on."""

    is_planned: bool
    is_held: bool
    is_cancelled: bool
    ended_as: Ending | None
    waiting: int
    failed: int
    in_doubt: int


def state_of(run: RunFacts) -> RunState:
    """A run is over without a waiting mail, a failure or a doubt, or by a person's decision."""
    # A mail of a closed run may be requeued, by a person or by late evidence.
    if run.ended_as is not None and not run.waiting:
        return RunState(run.ended_as.value)
    if run.is_cancelled:
        return RunState.CANCELLED
    if run.is_planned and not run.waiting:
        return RunState.OPEN if run.failed or run.in_doubt else RunState.SENT
    if run.is_held:
        return RunState.PAUSED
    return RunState.SENDING if run.is_planned else RunState.PLANNING


def ending_of(run: RunFacts) -> Ending | None:
    """How a run ends by itself; None while mail waits or a person must decide."""
    if run.ended_as is not None or not run.is_planned or run.waiting or run.in_doubt:
        return None
    if run.is_cancelled:
        return Ending.CANCELLED
    return None if run.failed else Ending.SENT
