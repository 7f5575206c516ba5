"""Reports of a run: every line as CSV, and its failures grouped by cause with what to do."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from postledger.campaigns.launching import unknown_run
from postledger.campaigns.models import Run
from postledger.contacts.importing.formulas import safe
from postledger.deliveries import reporting
from postledger.deliveries.entries import Outcome
from postledger.deliveries.reporting import Cause, Reported
from postledger.deliveries.states import State

COLUMNS = ("email", "status", "error_message", "message_id", "sent_at")


def rows(workspace_id: int, run_id: UUID) -> Iterator[str]:
    """The lines of the file, read while they are asked for; an unknown run is refused at once."""
    return _lines(_stream(workspace_id, run_id))


def _lines(stream_id: int) -> Iterator[str]:
    buffer = io.StringIO()
    write = csv.writer(buffer).writerow
    write(COLUMNS)
    for mail in reporting.lines(stream_id):
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
        write(map(safe, _cells(mail)))
    yield buffer.getvalue()


def _cells(mail: Reported) -> Sequence[str]:
    error = ": ".join(filter(None, (mail.code, mail.detail)))
    sent_at = mail.accepted_at.isoformat(timespec="seconds") if mail.accepted_at else ""
    return (mail.address, _word(mail.state), error, mail.message_id, sent_at)


def _word(state: State) -> str:
    """A state as readers of such files know it: what was accepted, they call sent."""
    return "sent" if state is State.ACCEPTED else state.value


@dataclass(frozen=True, slots=True)
class Failure:
    """Mails that failed, or are in doubt, for one cause, and what can be done about it."""

    state: State
    code: str
    count: int
    since: datetime
    example: str
    remedy: str


def failures(workspace_id: int, run_id: UUID) -> list[Failure]:
    """The most frequent cause first."""
    return [_failure(cause) for cause in reporting.causes(_stream(workspace_id, run_id))]


def _failure(cause: Cause) -> Failure:
    remedy = _DOUBT if cause.state is State.IN_DOUBT else _REMEDIES.get(cause.outcome, _REFUSED)
    return Failure(cause.state, cause.code, cause.count, cause.since, cause.example, remedy)


_REFUSED = (
    "The provider refused these mails for good. Mend what the example names, then retry this cause;"
    " addresses that do not exist are better left alone."
)
_DOUBT = (
    "These were handed over, and nobody knows whether the provider took them. Look at the"
    " provider's own log, then decide with postledger resolve."
)
_NOT_SENT = (
    "Nobody knew whether the provider took these, and somebody counted them as not sent. Retry this"
    " cause to send them again."
)
_REMEDIES = {
    Outcome.TRY_LATER: "The provider said later until no attempts were left."
    " When it takes mail again, retry this cause.",
    Outcome.INVALID: "No mail could be made of these. Mend the contacts or the content that the"
    " example names, then retry this cause.",
    Outcome.IN_DOUBT: _NOT_SENT,
    Outcome.LEASE_LOST: _NOT_SENT,
    Outcome.POISON: "Workers died of these. Find out why in their logs before you retry them.",
}


def _stream(workspace_id: int, run_id: UUID) -> int:
    found = Run.objects.filter(workspace_id=workspace_id, pk=run_id)
    stream_id = found.values_list("stream_id", flat=True).first()
    if stream_id is None:
        raise unknown_run()
    return stream_id
