"""Reads alerts: of the rows, and of what no worker can have written because none runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.db.models import BooleanField, Exists, ExpressionWrapper, Q, Subquery

from postledger.accounts.models import Workspace
from postledger.alerts import detection, sentences, telling
from postledger.alerts.detection import Cause, Finding
from postledger.alerts.models import Alert, Watch
from postledger.dispatch import heartbeat
from postledger.transactional import free_senders

_MOST_OPEN = 1000


class AlertState(StrEnum):
    OPEN = "open"
    CLOSED = "closed"


class UntoldReason(StrEnum):
    """Why nobody was told by mail of an open alert."""

    NO_WORKER = "no_worker"  # nothing runs that could send it
    NO_MEMBER = "no_member"  # the workspace has nobody who may decide
    NO_FREE_SENDER = "no_free_sender"  # it is tried again
    SOON = "soon"  # the next pass tells it


@dataclass(frozen=True, slots=True)
class AlertFacts:
    """An alert as people are told of it, in the language that is active."""

    id: int | None  # None: found while reading, and not stored
    cause: Cause
    subject: str  # a sender's address; empty: the whole workspace
    title: str
    sentence: str
    advice: str
    since: datetime
    last_at: datetime
    count: int
    times: int
    opened_at: datetime
    told_at: datetime | None
    closed_at: datetime | None
    untold_reason: UntoldReason | None = None  # None: it was told, or is over

    @property
    def state(self) -> AlertState:
        return AlertState.OPEN if self.closed_at is None else AlertState.CLOSED


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page of alerts begins: behind this one, in the order of the pages."""

    is_closed: bool
    alert_id: int


def list_open(workspace_id: int, *, now: datetime) -> list[AlertFacts]:
    """The open alerts, the newest first; a missing worker comes before all."""
    return list_page(workspace_id, state=AlertState.OPEN, limit=_MOST_OPEN, now=now)


def list_page(
    workspace_id: int,
    *,
    state: AlertState | None = None,
    after: Place | None = None,
    limit: int,
    now: datetime,
) -> list[AlertFacts]:
    """Open ones first, then closed ones, each the newest first."""
    missing = _find_missing_worker(workspace_id, now)
    is_shown = missing is not None and after is None and state is not AlertState.CLOSED
    rows = _list_rows(workspace_id, state, after, limit)
    reason = _explain_untold(workspace_id, rows, missing)
    unstored = [_describe_found(missing, now)] if is_shown and missing else []
    return [*unstored, *(_describe_row(row, reason) for row in rows)][:limit]


def _list_rows(
    workspace_id: int, state: AlertState | None, after: Place | None, limit: int
) -> list[Alert]:
    is_closed = ExpressionWrapper(Q(closed_at__isnull=False), output_field=BooleanField())
    rows = Alert.objects.filter(workspace_id=workspace_id).alias(is_closed=is_closed)
    if state is not None:
        rows = rows.filter(closed_at__isnull=state is AlertState.OPEN)
    if after is not None:
        rows = rows.filter(
            Q(is_closed=after.is_closed, pk__lt=after.alert_id) | Q(is_closed__gt=after.is_closed)
        )
    return list(rows.order_by("is_closed", "-pk")[:limit])


def _find_missing_worker(workspace_id: int, now: datetime) -> Finding | None:
    """Nobody but the reader can notice: who writes alerts is a worker."""
    created_at, watched_at, has_worker = (
        Workspace.objects.filter(pk=workspace_id)
        .annotate(
            watched_at=Subquery(Watch.objects.values("watched_at")[:1]),
            has_worker=Exists(heartbeat.alive()),
        )
        .values_list("created_at", "watched_at", "has_worker")
        .get()
    )
    return detection.find_missing_worker(
        watched_at=watched_at or created_at, has_worker=has_worker, now=now
    )


def _explain_untold(
    workspace_id: int, rows: Sequence[Alert], missing: Finding | None
) -> UntoldReason | None:
    """Why the untold ones among the rows are untold; the same for all of a workspace."""
    if all(row.told_at or row.closed_at for row in rows):
        return None
    if missing is not None:
        return UntoldReason.NO_WORKER
    if not telling.list_told_members(workspace_id):
        return UntoldReason.NO_MEMBER
    is_held = free_senders.find_free_sender(workspace_id) is None
    return UntoldReason.NO_FREE_SENDER if is_held else UntoldReason.SOON


def _describe_found(finding: Finding, now: datetime) -> AlertFacts:
    told = sentences.describe(
        finding.cause, subject=finding.subject, count=finding.count, data=finding.data
    )
    return AlertFacts(
        id=None,
        cause=finding.cause,
        subject=finding.subject,
        title=told.title,
        sentence=told.sentence,
        advice=told.advice,
        since=finding.since,
        last_at=now,
        count=finding.count,
        times=1,
        opened_at=finding.since,
        told_at=None,
        closed_at=None,
        untold_reason=UntoldReason.NO_WORKER,
    )


def _describe_row(row: Alert, reason: UntoldReason | None) -> AlertFacts:
    cause = Cause(row.cause)
    told = sentences.describe(cause, subject=row.subject, count=row.count, data=row.data)
    return AlertFacts(
        id=row.pk,
        cause=cause,
        subject=row.subject,
        title=told.title,
        sentence=told.sentence,
        advice=told.advice,
        since=row.first_at,
        last_at=row.last_at,
        count=row.count,
        times=row.times,
        opened_at=row.opened_at,
        told_at=row.told_at,
        closed_at=row.closed_at,
        untold_reason=None if row.told_at or row.closed_at else reason,
    )
