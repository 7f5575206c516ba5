"""Whether the reports of each sender's provider come back, and how many mails bounced.

Read from counters by slots of time: neither mails nor events are read, so it may be asked often.
`event_flow` reads the latest mails one by one, and says how soon events come.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef

from postledger.accounts.models import Sender
from postledger.deliveries.figures import reports
from postledger.deliveries.figures.reports import SenderReports
from postledger.feedback import event_flow

WITHIN = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class SenderHealth:
    """The reports of one sender in the last seven days."""

    sender_id: int
    address: str
    account_kind: str | None  # None: it has no account
    is_expected: bool  # whether events are expected: its account listens, or is the sandbox
    accepted: int
    delivered: int
    bounced: int
    complained: int
    last_event_at: datetime | None
    silent_since: datetime | None  # mail was accepted for an hour from then on without any event

    @property
    def bounce_rate(self) -> float | None:
        """None where it is not measured: no events are expected, or nothing was accepted."""
        return self.bounced / self.accepted if self.is_expected and self.accepted else None

    @property
    def complaint_rate(self) -> float | None:
        return self.complained / self.accepted if self.is_expected and self.accepted else None


def list_sender_health(workspace_id: int, *, now: datetime) -> list[SenderHealth]:
    """The senders of a workspace that are in use or had mail lately, by address; two queries."""
    reporting = event_flow.list_reporting_senders().filter(pk=OuterRef("pk"))
    senders = (
        Sender.objects.filter(workspace_id=workspace_id)
        .select_related("account")
        .annotate(is_expected=Exists(reporting))
    )
    counts = reports.read_sender_reports(workspace_id, since=now - WITHIN)
    return [
        _describe(sender, counts, is_expected=sender.is_expected, now=now)
        for sender in senders.order_by("address")
        if sender.archived_at is None or sender.pk in counts
    ]


def _describe(
    sender: Sender, counts: Mapping[int, SenderReports], *, is_expected: bool, now: datetime
) -> SenderHealth:
    reported = counts.get(sender.pk, reports.NO_REPORTS)
    since = reported.unreported_since
    is_silent = is_expected and since is not None and since <= now - event_flow.SILENT_AFTER
    return SenderHealth(
        sender_id=sender.pk,
        address=sender.address,
        account_kind=sender.account.kind if sender.account else None,
        is_expected=is_expected,
        accepted=reported.accepted,
        delivered=reported.delivered,
        bounced=reported.bounced,
        complained=reported.complained,
        last_event_at=reported.last_event_at,
        silent_since=since if is_silent else None,
    )
