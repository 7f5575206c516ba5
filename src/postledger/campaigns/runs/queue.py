"""The queue of a workspace's runs: which one is being sent, and what the others wait for.

Everything but the books of one run is read from the view campaign_queue.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import LiteralString
from uuid import UUID

from django.db import connection

from postledger.deliveries import queries
from postledger.deliveries.states import State


class QueueStatus(StrEnum):
    PENDING = "PENDING"
    PROCESSING = "PROCESSING"
    COMPLETED = "COMPLETED"


@dataclass(frozen=True, slots=True)
class QueuedRun:
    """One run that is not over."""

    status: QueueStatus
    stream_id: int
    campaign_id: int
    run_id: UUID
    name: str
    campaign_tag: str
    defer_reason: str | None
    deferred_until: datetime | None
    created_at: datetime
    started_at: datetime | None


@dataclass(frozen=True, slots=True)
class ActiveCampaign:
    """The run that has been sent for the longest time, with its books."""

    id: int
    name: str
    campaign_tag: str
    run_id: UUID
    planned: int
    sent: int
    failed: int
    waiting: int
    started_at: datetime | None


@dataclass(frozen=True, slots=True)
class QueueProgress:
    active_campaign: ActiveCampaign | None
    queued_count: int
    next_campaign_at: datetime | None
    reason_code: str | None
    next_run_at: datetime | None


# Runs that are over are left out before the view looks at their work.
_QUEUE: LiteralString = """
SELECT q.status, q.id, q.campaign_id, q.run_id, c.name, c.tag, q.defer_reason, q.deferred_until,
       q.created_at, q.started_at
FROM campaigns_run r
JOIN campaign_queue q ON q.run_id = r.id
JOIN campaigns_campaign c ON c.id = r.campaign_id
WHERE r.workspace_id = %s AND r.ended_at IS NULL AND q.status <> 'COMPLETED'
ORDER BY q.created_at, q.id
"""


def read_progress(workspace_id: int) -> QueueProgress:
    """What is being sent in a workspace, what waits, and what for."""
    with connection.cursor() as cursor:
        cursor.execute(_QUEUE, [workspace_id])
        runs = [QueuedRun(QueueStatus(status), *row) for status, *row in cursor.fetchall()]
    active, shown = choose_active(runs), choose_shown(runs)
    deferred = [run.deferred_until for run in runs if run.deferred_until is not None]
    return QueueProgress(
        active_campaign=None if active is None else _add_books(active),
        queued_count=sum(run.status is QueueStatus.PENDING for run in runs),
        next_campaign_at=min(deferred, default=None),
        reason_code=None if shown is None else shown.defer_reason,
        next_run_at=None if shown is None else shown.deferred_until,
    )


def choose_active(runs: Sequence[QueuedRun]) -> QueuedRun | None:
    """The run that has been sent for the longest time."""
    processing = [run for run in runs if run.status is QueueStatus.PROCESSING]
    return min(processing, key=lambda run: run.started_at or run.created_at, default=None)


def choose_shown(runs: Sequence[QueuedRun]) -> QueuedRun | None:
    """The deferred run that goes on first; one without a known end comes last."""
    deferred = [run for run in runs if run.defer_reason is not None]
    return min(
        deferred,
        key=lambda run: (run.deferred_until is None, run.deferred_until or run.created_at),
        default=None,
    )


def _add_books(run: QueuedRun) -> ActiveCampaign:
    books = queries.read_books([run.stream_id])[run.stream_id]
    return ActiveCampaign(
        id=run.campaign_id,
        name=run.name,
        campaign_tag=run.campaign_tag,
        run_id=run.run_id,
        planned=books.planned,
        sent=books.counts[State.ACCEPTED],
        failed=books.counts[State.FAILED],
        waiting=books.waiting,
        started_at=run.started_at,
    )
