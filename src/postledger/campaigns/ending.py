"""Ends the runs whose books balance: not before everything has a result that nobody must decide."""

from collections.abc import Sequence
from itertools import batched

from django.db import transaction
from django.db.models.functions import Now

from postledger.accounts import trail
from postledger.campaigns import progress, states
from postledger.campaigns.models import Run
from postledger.campaigns.states import Ending
from postledger.deliveries import queries

SYSTEM = "postledger"
AT_ONCE = 1_000


def end_all() -> int:
    """Looks at every run that is planned and not over; says how many ended."""
    alive = Run.objects.filter(ended_at=None, planned_at__isnull=False).order_by("launched_at")
    # What it froze may be large, and says nothing of how it stands.
    slim = alive.only("workspace_id", "stream_id", "planned_at", "ended_as")
    return sum(map(_end, batched(slim.iterator(chunk_size=AT_ONCE), AT_ONCE)))


def _end(runs: Sequence[Run]) -> int:
    """All are looked at together: one that nobody closes is looked at for ever."""
    stream_ids = [run.stream_id for run in runs]
    books, streams = queries.books_of(stream_ids), queries.streams_of(stream_ids)
    ended = 0
    for run in runs:
        is_cancelled = queries.is_cancelled(streams.get(run.stream_id))
        found = progress.facts(run, books[run.stream_id], is_cancelled=is_cancelled, is_held=False)
        ending = states.ending_of(found)
        ended += ending is not None and _stored(run, ending)
    return ended


def _stored(run: Run, ending: Ending) -> bool:
    with transaction.atomic():
        alive = Run.objects.filter(pk=run.pk, ended_at=None)
        if not alive.update(ended_at=Now(), ended_as=ending.value, ended_by=SYSTEM):
            return False
        trail.note(
            run.workspace_id,
            actor=SYSTEM,
            action=f"campaign.{ending.value}",
            subject=f"run {run.pk}",
        )
    return True
