"""Whether mail moves: signs of life, upkeep, the oldest due work, holds and doubts."""

from collections.abc import Iterator

from postledger.deliveries import backlog
from postledger.dispatch import heartbeat
from postledger.workers.doctor.findings import Finding, ok, problem, warning

SOON_SECONDS = 60.0
LATE_SECONDS = 900.0
_START = "Start a worker: postledger worker."


def workers() -> Iterator[Finding]:
    yield crew(heartbeat.alive().count(), backlog.due_oldest_seconds())


def crew(alive_count: int, due_seconds: float | None) -> Finding:
    if alive_count:
        return ok("workers", f"Workers that showed a sign of life just now: {alive_count}.")
    if due_seconds is None:
        return warning("workers", "No worker shows a sign of life; nothing is due yet.", _START)
    found = f"No worker shows a sign of life, and work has been due for {span(due_seconds)}."
    return problem("workers", found, _START)


def upkeep() -> Iterator[Finding]:
    """The sweep comes every few seconds; a lease that it leaves alone shows that nobody rings."""
    seconds = backlog.unswept_seconds()
    if seconds <= SOON_SECONDS:
        yield ok("upkeep", "No lease waits for the sweep.")
    else:
        found = f"Nobody sweeps: a lease has been over for {span(seconds)}."
        yield problem(
            "upkeep", found, "Start a worker that rings for it: postledger worker --beat."
        )


def beat() -> Iterator[Finding]:
    yield ticking(heartbeat.alive().count(), heartbeat.hearing_beat().count())


def ticking(alive_count: int, hearing_count: int) -> Finding:
    if hearing_count or not alive_count:
        return ok("beat", f"Workers that heard beat just now: {hearing_count}.")
    found = "No worker hears beat: what comes due is found late, and counters are not folded."
    return warning("beat", found, "Start one worker with it: postledger worker --beat.")


def due() -> Iterator[Finding]:
    yield lateness(backlog.due_oldest_seconds())


def lateness(due_seconds: float | None) -> Finding:
    if due_seconds is None or due_seconds <= SOON_SECONDS:
        return ok("due", "No work waits longer for a worker than it should.")
    found = f"The oldest due work has waited {span(due_seconds)} for a worker."
    remedy = "Look at the workers' log lines, and start more workers if they are all busy."
    kind = problem if due_seconds > LATE_SECONDS else warning
    return kind("due", found, remedy)


def holds() -> Iterator[Finding]:
    held = backlog.holds()
    if held.stream_count or held.sender_count:
        found = f"Held: {held.stream_count} streams with work, {held.sender_count} senders."
        remedy = (
            "postledger stream list shows what is held, and postledger why NUMBER by whom and why;"
            " postledger stream release NUMBER or postledger sender release ends a hold."
        )
        yield warning("holds", found, remedy)
    else:
        yield ok("holds", "No stream with work and no sender is held.")


def doubts() -> Iterator[Finding]:
    count = backlog.in_doubt()
    if count:
        found = f"Mails in doubt: {count}; nobody knows whether they were taken."
        remedy = (
            "postledger resolve lists them; decide with --sent, --not-sent or --send-again,"
            " as docs/runbook/in-doubt.md says."
        )
        yield warning("doubts", found, remedy)
    else:
        yield ok("doubts", "No mail is in doubt.")


def span(seconds: float) -> str:
    """A length of time as people say it."""
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"
