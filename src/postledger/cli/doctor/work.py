"""Checks that mail moves: heartbeats, upkeep, the oldest due work, holds and doubts."""

from collections.abc import Iterator

from postledger.deliveries import backlog
from postledger.dispatch import heartbeat
from postledger.lib.check_results import CheckResult, ok, problem, warning

SOON_SECONDS = 60.0
LATE_SECONDS = 900.0
_START = "Start a worker: postledger worker."


def check_workers() -> Iterator[CheckResult]:
    yield judge_workers(heartbeat.count_alive(), backlog.due_oldest_seconds())


def judge_workers(alive_count: int, due_seconds: float | None) -> CheckResult:
    if alive_count:
        return ok("workers", f"Workers with a recent heartbeat: {alive_count}.")
    if due_seconds is None:
        return warning("workers", "No worker has a recent heartbeat; nothing is due yet.", _START)
    duration = format_duration(due_seconds)
    message = f"No worker has a recent heartbeat, and work has been due for {duration}."
    return problem("workers", message, _START)


def check_upkeep() -> Iterator[CheckResult]:
    """The sweep runs every few seconds; an expired lease that stays shows that it does not."""
    seconds = backlog.unswept_seconds()
    if seconds <= SOON_SECONDS:
        yield ok("upkeep", "No expired lease waits for the sweep.")
    else:
        message = f"The sweep does not run: a lease expired {format_duration(seconds)} ago."
        yield problem("upkeep", message, "Start a worker with beat: postledger worker --beat.")


def check_beat() -> Iterator[CheckResult]:
    count = heartbeat.hearing_beat().count()
    if count or not heartbeat.alive().exists():
        yield ok("beat", f"Workers that receive ticks from beat: {count}.")
    else:
        message = "No worker receives ticks from beat: due work is found late."
        yield warning("beat", message, "Start one worker with beat: postledger worker --beat.")


def check_due_work() -> Iterator[CheckResult]:
    yield judge_due_work(backlog.due_oldest_seconds())


def judge_due_work(due_seconds: float | None) -> CheckResult:
    if due_seconds is None or due_seconds <= SOON_SECONDS:
        return ok("due", "No due work waits too long for a worker.")
    message = f"The oldest due work has waited {format_duration(due_seconds)} for a worker."
    remedy = "Read the workers' logs, and start more workers if all are busy."
    level = problem if due_seconds > LATE_SECONDS else warning
    return level("due", message, remedy)


def check_holds() -> Iterator[CheckResult]:
    held = backlog.count_holds()
    if held.stream_count or held.sender_count:
        message = f"Held: {held.stream_count} streams with work, {held.sender_count} senders."
        remedy = (
            "postledger stream list and postledger sender list show what is held, and postledger"
            " why NUMBER who held a stream and why; postledger stream release NUMBER or postledger"
            " sender release ends a hold."
        )
        yield warning("holds", message, remedy)
    else:
        yield ok("holds", "No stream with work and no sender is held.")


def check_doubts() -> Iterator[CheckResult]:
    count = backlog.count_in_doubt()
    if count:
        message = f"Mails in doubt: {count}; it is unknown whether the provider accepted them."
        remedy = (
            "postledger resolve lists them; decide with --sent, --not-sent or --send-again,"
            " as docs/runbook/in-doubt.md says."
        )
        yield warning("doubts", message, remedy)
    else:
        yield ok("doubts", "No mail is in doubt.")


def format_duration(seconds: float) -> str:
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"
