"""The runs whose recipients a rest leaves out, and whether it is known what became of them."""

from typing import ClassVar
from uuid import UUID

from django.db.models import F, Q, QuerySet

from postledger.campaigns.models import Run
from postledger.deliveries import lineage
from postledger.deliveries.partitions import MonthDroppedError
from postledger.lib import ids
from postledger.lib.errors import RefusedError

_NUMBER = (1 << ids.NUMBER_BITS) - 1
# The number of a stream is drawn under the campaign's lock, so that of two launches at one moment
# one is before the other; its month is by the database's clock, which may have been set back.
ORDER = F("stream_id").bitand(_NUMBER)


class EarlierRunBusyError(RefusedError):
    code: ClassVar[str] = "earlier_run_busy"


def streams(run: Run) -> list[int]:
    return list(_of(run).values_list("stream_id", flat=True))


def check(run: Run) -> None:
    """Refuses a rest as long as it cannot be told who is left."""
    found = streams(run)
    _check_remembered(found)
    if _of(run).filter(planned_at=None).exists():
        raise EarlierRunBusyError(
            "Who is left to be mailed is known when the run before this one is planned."
            " Then it goes on by itself."
        )
    if lineage.is_draining(found):
        raise EarlierRunBusyError(
            "What was cancelled of a run before this one is still being booked."
            " When it is, this one goes on by itself."
        )


def is_interrupted(run: Run) -> bool:
    """Whether a restore interrupted the planning of a run whose rest this is."""
    return any(
        lineage.was_interrupted(stream_id, planned_at=planned_at)
        for stream_id, planned_at in _of(run).values_list("stream_id", "planned_at")
    )


def check_root(root_id: UUID) -> None:
    """Refuses a rest for which it will never be told who is left."""
    _check_remembered(list(_sharing(root_id).values_list("stream_id", flat=True)))


def _check_remembered(found: list[int]) -> None:
    if lineage.is_forgotten(found):
        raise MonthDroppedError(
            "The month of an earlier run was dropped from the ledger, so nobody knows whom it"
            " reached. Make a new campaign for those you are sure of."
        )


def _of(run: Run) -> QuerySet[Run]:
    if run.root_id is None:
        return Run.objects.none()
    numbered = _sharing(run.root_id).annotate(number=ORDER)
    return numbered.filter(number__lt=run.stream_id & _NUMBER)


def _sharing(root_id: UUID) -> QuerySet[Run]:
    # Of a test nobody got mail who was not named for it.
    return Run.objects.filter(Q(root_id=root_id) | Q(id=root_id), is_test=False)
