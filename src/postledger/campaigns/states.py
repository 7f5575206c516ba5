"""How a run stands, decided from its books; and why people of its audience get no mail of it."""

from dataclasses import dataclass
from enum import StrEnum


class RunState(StrEnum):
    """Where one launch of a campaign is."""

    PLANNING = "planning"  # its audience is still being written into the ledger; mail may go
    SENDING = "sending"  # mail is on its way, or waits for a moment that comes
    PAUSED = "paused"  # a person holds it, or its sender is held
    OPEN = "open"  # everything has a result, and some failed or are in doubt: a person decides
    SENT = "sent"  # everything has a result, and none of them is a failure or a doubt
    CLOSED = "closed"  # a person closed it with its failures
    CANCELLED = "cancelled"  # a person ended it before everything had gone


class Ending(StrEnum):
    """What a run that is over is remembered as."""

    SENT = "sent"
    CLOSED = "closed"
    CANCELLED = "cancelled"


class Exclusion(StrEnum):
    """Why somebody of an audience is not planned; beside these, there are the words of the roll."""

    ALREADY_MAILED = "already_mailed"  # an earlier run has them, or this one by an address they had
    SUBJECT_REQUIRED = "subject_required"  # no slice that they would get has a title or a dek
    MISSING_LOCALE = "template_missing_locale"  # the template has no text for them
    INVALID_TEMPLATE = "invalid_template"  # their letter could not be made


@dataclass(frozen=True, slots=True)
class Facts:
    """What the state of a run depends on."""

    is_planned: bool
    is_held: bool
    is_cancelled: bool
    ended_as: Ending | None
    waiting: int
    failed: int
    in_doubt: int


def state_of(run: Facts) -> RunState:
    """A run is over when its books balance without a failure or a doubt, or by a person's word."""
    # A mail of a closed run may be given another chance, by itself or by a late proof.
    if run.ended_as is not None and not run.waiting:
        return RunState(run.ended_as.value)
    if run.is_cancelled:
        return RunState.CANCELLED
    if run.is_planned and not run.waiting:
        return RunState.OPEN if run.failed or run.in_doubt else RunState.SENT
    if run.is_held:
        return RunState.PAUSED
    return RunState.SENDING if run.is_planned else RunState.PLANNING


def ending_of(run: Facts) -> Ending | None:
    """What a run ends as by itself, now; None while something waits, or a person must decide."""
    if run.ended_as is not None or not run.is_planned or run.waiting or run.in_doubt:
        return None
    if run.is_cancelled:
        return Ending.CANCELLED
    return None if run.failed else Ending.SENT
