"""Who left by the link of an email when a run's was the last that a campaign had sent them.

A link does not name a run, so everybody counts for one run alone.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from postledger.campaigns.models import Run
from postledger.campaigns.runs.run_lookup import find_run
from postledger.contacts import link_unsubscribes
from postledger.contacts.link_unsubscribes import Leaver
from postledger.deliveries.figures import unsubscribes_after
from postledger.deliveries.figures.unsubscribes_after import LeftAfter

_COUNT_FOR = timedelta(days=30)


def count_leavers(run: Run, *, now: datetime) -> int | None:
    """None: too many left to look at each."""
    left = _find_candidates(run, now)
    if left is None:
        return None
    return unsubscribes_after.count_left_after(run.workspace_id, run.stream_id, left)


def list_leavers(
    workspace_id: int, run_id: UUID, *, skip: int, limit: int, now: datetime
) -> Sequence[LeftAfter] | None:
    """The newest first; None: too many left to look at each."""
    run = find_run(workspace_id, run_id)
    left = _find_candidates(run, now)
    if left is None:
        return None
    return unsubscribes_after.list_left_after(
        workspace_id, run.stream_id, left, skip=skip, limit=limit
    )


def _find_candidates(run: Run, now: datetime) -> Sequence[Leaver] | None:
    return link_unsubscribes.list_leavers(
        run.workspace_id,
        list_key=run.list_key,
        since=run.launched_at,
        until=(run.ended_at or now) + _COUNT_FOR,
    )
