"""Ends the runs whose books balance: not before everything has a result that nobody must decide."""

from django.db import transaction
from django.db.models.functions import Now

from postledger.accounts import trail
from postledger.campaigns import progress, states
from postledger.campaigns.models import Run
from postledger.campaigns.states import Ending
from postledger.deliveries import queries

SYSTEM = "postledger"


def end_all() -> int:
    """Looks at every run that is planned and not over; says how many ended."""
    alive = Run.objects.filter(ended_at=None, planned_at__isnull=False).order_by("launched_at")
    return sum(_ended(run) for run in alive.iterator(chunk_size=200))


def _ended(run: Run) -> bool:
    books = queries.books_of([run.stream_id])[run.stream_id]
    stream = queries.stream(run.stream_id)
    is_cancelled = stream is None or stream.cancelled_at is not None
    ending = states.ending_of(progress.facts(run, books, is_cancelled=is_cancelled, is_held=False))
    return ending is not None and _stored(run, ending)


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
