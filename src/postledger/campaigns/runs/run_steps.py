"""What a person can do with a run now, and what stands in the way of the rest. Pure.

The actions check again: a run may move between the look and the click.
"""

from collections.abc import Iterable
from enum import StrEnum

from postledger.campaigns.runs.progress import Progress, RunHold
from postledger.campaigns.runs.retry_outlook import RetryOutlook
from postledger.campaigns.states import RunState
from postledger.deliveries.entries import Hold, HoldScope
from postledger.deliveries.reasons import LIMIT_REASONS
from postledger.deliveries.states import State


class Step(StrEnum):
    """A decision about a whole run."""

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    RETRY = "retry"
    SEND_REMAINING = "remaining"
    CLOSE = "close"


class Obstacle(StrEnum):
    """Why a step is not possible now."""

    OVER = "over"  # the run has ended
    CANCELLED = "cancelled"  # for good
    NOTHING_WAITS = "nothing_waits"
    MAIL_WAITS = "mail_waits"
    PAUSED_ALREADY = "paused_already"
    NOT_PAUSED = "not_paused"
    NOTHING_FAILED = "nothing_failed"
    NOBODY_MAILABLE = "nobody_mailable"  # the addresses of all that failed take no mail any more
    NOBODY_LEFT = "nobody_left"  # everybody of its audience got a mail, or was tried
    IS_TEST = "is_test"


_OVER = frozenset({RunState.SENT, RunState.CLOSED, RunState.CANCELLED})


def is_over(run: Progress) -> bool:
    return run.state in _OVER


def is_paused(holds: Iterable[Hold | RunHold]) -> bool:
    """Whether a resume would end a hold of the run itself."""
    return any(
        hold.scope is HoldScope.STREAM and hold.reason not in LIMIT_REASONS for hold in holds
    )


def count_remaining(run: Progress, retry: RetryOutlook) -> int:
    """At most so many people would get the mail if it was sent to the rest.

    Whose mail was cancelled, who was left out when the run was planned, and who has another address
    than a mail that failed for it: these are looked at again then. `retry` is of those failures.
    """
    moved = retry.moved + (retry.rest or 0)
    return run.books.counts[State.CANCELLED] + sum(run.excluded.values()) + moved


def find_obstacle(step: Step, run: Progress, retry: RetryOutlook) -> Obstacle | None:
    """What stands in the way of the step; None if it is possible."""
    match step:
        case Step.PAUSE:
            return Obstacle.PAUSED_ALREADY if is_paused(run.holds) else _without_waiting(run)
        case Step.RESUME:
            return _when_over(run) or (None if is_paused(run.holds) else Obstacle.NOT_PAUSED)
        case Step.CANCEL:
            return _without_waiting(run)
        case Step.RETRY:
            return _when_cancelled(run) or _before_retry(run, retry)
        case Step.SEND_REMAINING:
            return _before_remaining(run, retry)
        case Step.CLOSE:
            return _when_over(run) or (Obstacle.MAIL_WAITS if _has_work(run) else None)


def _before_retry(run: Progress, retry: RetryOutlook) -> Obstacle | None:
    if not run.books.counts[State.FAILED]:
        return Obstacle.NOTHING_FAILED
    # Failures that came between the two looks were not looked at.
    is_stopped = bool(retry.stopped) and retry.is_hopeless
    return Obstacle.NOBODY_MAILABLE if is_stopped else None


def _has_work(run: Progress) -> bool:
    return run.planned_at is None or run.waiting > 0


def _when_cancelled(run: Progress) -> Obstacle | None:
    return Obstacle.CANCELLED if run.state is RunState.CANCELLED else None


def _when_over(run: Progress) -> Obstacle | None:
    return _when_cancelled(run) or (Obstacle.OVER if is_over(run) else None)


def _without_waiting(run: Progress) -> Obstacle | None:
    return _when_over(run) or (None if _has_work(run) else Obstacle.NOTHING_WAITS)


def _before_remaining(run: Progress, retry: RetryOutlook) -> Obstacle | None:
    if run.is_test:
        return Obstacle.IS_TEST
    if _has_work(run) and not is_over(run):
        return Obstacle.MAIL_WAITS
    # A cancelled run books its waiting mail as cancelled in a moment. Failures that were not looked
    # at may be of contacts with another address.
    is_possible = count_remaining(run, retry) or run.waiting or retry.rest is None
    return None if is_possible else Obstacle.NOBODY_LEFT
