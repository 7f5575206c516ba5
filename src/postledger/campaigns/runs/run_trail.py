"""Who did what with a run: its launch and every decision about it, from the audit trail."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q

from postledger.accounts.models import AuditEntry

MOST = 50
# An entry has the time of the database's clock, a launch that of the process.
_CLOCKS_DIFFER_BY = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class TrailEntry:
    at: datetime
    actor: str
    action: str
    data: Mapping[str, Any]


def list_entries(workspace_id: int, run_id: UUID, *, launched_at: datetime) -> list[TrailEntry]:
    """The latest entries about a run, the newest first."""
    about_it = Q(subject=f"run {run_id}") | Q(
        subject__startswith="campaign ", data__run=str(run_id)
    )
    # From the launch on: that is what the index of the newest entries can serve.
    since = launched_at - _CLOCKS_DIFFER_BY
    entries = AuditEntry.objects.filter(about_it, workspace_id=workspace_id, at__gte=since)
    newest = entries.order_by("-at", "-pk")[:MOST]
    return [TrailEntry(entry.at, entry.actor, entry.action, entry.data) for entry in newest]
