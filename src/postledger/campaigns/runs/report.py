"""Reports of a run: every mail as CSV, and its failures by cause with a remedy."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from postledger.accounts import trail
from postledger.campaigns.models import Campaign
from postledger.campaigns.runs import progress
from postledger.campaigns.runs.run_lookup import find_run
from postledger.contacts.csv_columns import csv_line
from postledger.deliveries import reporting
from postledger.deliveries.entries import AttemptOutcome
from postledger.deliveries.reporting import FailureCause, ReportedDelivery
from postledger.deliveries.states import State
from postledger.lib.sentences import say

_UNSAFE = re.compile(r"[^\w-]+")
_LONGEST_NAME = 80  # of a campaign, in the name of a file
COLUMNS = (
    *("email", "status", "error_message", "message_id", "sent_at"),
    *("feedback", "feedback_at"),
)


def write_csv(workspace_id: int, run_id: UUID) -> Iterator[str]:
    """The lines of the file, read lazily; an unknown run is refused at once."""
    return _write_lines(find_run(workspace_id, run_id).stream_id)


def note_download(workspace_id: int, run_id: UUID, *, actor: str) -> None:
    """Notes that the addresses of a run leave, and who takes them."""
    action: trail.Action = "campaign.report_downloaded"
    trail.note(workspace_id, actor=actor, action=action, subject=f"run {run_id}")


def name_file(workspace_id: int, run_id: UUID) -> str:
    """What the file is called: as the campaign is now, and by the day when it begins, in the
    active zone.
    """
    run = find_run(workspace_id, run_id)
    name, tag = Campaign.with_deleted.values_list("name", "tag").get(pk=run.campaign_id)
    safe = _UNSAFE.sub("-", name)[:_LONGEST_NAME].strip("-") or tag
    begins = timezone.localtime(progress.find_start(run) or run.launched_at)
    return f"{safe}-{begins:%Y-%m-%d}.csv"


def _write_lines(stream_id: int) -> Iterator[str]:
    yield csv_line(COLUMNS)
    for mail in reporting.iterate_deliveries(stream_id):
        yield csv_line(_cells(mail))


def _cells(mail: ReportedDelivery) -> Sequence[str]:
    error = ": ".join(filter(None, (mail.code, mail.detail)))
    return (
        *(mail.address, _status(mail.state), error, mail.message_id, _moment(mail.accepted_at)),
        *(mail.feedback, _moment(mail.feedback_at)),
    )


def _moment(moment: datetime | None) -> str:
    return moment.isoformat(timespec="seconds") if moment else ""


def _status(state: State) -> str:
    return "sent" if state is State.ACCEPTED else state.value


@dataclass(frozen=True, slots=True)
class Failure:
    """Mails that failed or are in doubt for one cause, and the remedy."""

    outcome: AttemptOutcome
    state: State
    code: str
    count: int
    since: datetime
    example: str
    remedy: str


def list_failures(
    workspace_id: int, run_id: UUID, *, only_sandboxed: bool = False
) -> list[Failure]:
    """The most frequent cause first."""
    return find_failures(find_run(workspace_id, run_id, only_sandboxed=only_sandboxed).stream_id)


def find_failures(stream_id: int) -> list[Failure]:
    """The same of the stream of a run."""
    return [
        Failure(
            cause.outcome,
            cause.state,
            cause.code,
            cause.count,
            cause.since,
            cause.example,
            _remedy(cause),
        )
        for cause in reporting.count_causes(stream_id)
    ]


def _remedy(cause: FailureCause) -> str:
    is_doubt = cause.state is State.IN_DOUBT
    return _DOUBT if is_doubt else _REMEDIES.get(cause.outcome, _REFUSED)


_REFUSED = say(
    "The provider refused these mails permanently. Fix what the example names, then retry"
    " this cause; do not retry addresses that do not exist."
)
_DOUBT = say(
    "It is unknown whether the provider accepted these. Look at the provider's own log, then decide"
    " under Needs attention or with postledger resolve."
)
_NOT_SENT = say(
    "These were in doubt and were counted as not sent. Retry this cause to send them again."
)
_REMEDIES = {
    AttemptOutcome.TRY_LATER: say(
        "The provider deferred these until no attempts were left. When it accepts mail again,"
        " retry this cause."
    ),
    AttemptOutcome.INVALID: say(
        "These mails could not be composed. Fix the contacts that the example names, then"
        " retry this cause. If the content is wrong, duplicate the campaign, fix the copy, and"
        " launch that; if others got this mail, narrow its audience to those who did not."
    ),
    AttemptOutcome.IN_DOUBT: _NOT_SENT,
    AttemptOutcome.LEASE_LOST: _NOT_SENT,
    AttemptOutcome.LOST_TIME: _NOT_SENT,
    AttemptOutcome.POISON: say(
        "Workers crashed on these. Find the reason in their logs before a retry."
    ),
    AttemptOutcome.GIVEN_UP: say(
        "The provider refused the sender, and nobody acted for 72 hours, or the run was"
        " cancelled meanwhile. Mend the sender and release it; then retry this cause or, after"
        " a cancel, send to the remaining recipients."
    ),
}
