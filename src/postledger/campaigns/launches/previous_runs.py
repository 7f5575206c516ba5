"""The previous runs whose recipients are left out, and whether those recipients are certain."""

from datetime import datetime
from uuid import UUID

from django.db.models import F, Q, QuerySet

from postledger.campaigns.models import Run
from postledger.deliveries import lineage
from postledger.deliveries.partitions import MonthDroppedError
from postledger.lib import ids
from postledger.lib.errors import ConflictError
from postledger.lib.sentences import say

_NUMBER = (1 << ids.NUMBER_BITS) - 1
# A stream's number is drawn under the campaign's lock, so it orders concurrent launches; its month
# is from the database's clock, which may have been set back.
ORDER = F("stream_id").bitand(_NUMBER)


class PreviousRunBusyError(ConflictError):
    code = "earlier_run_busy"


def list_streams(run: Run) -> list[int]:
    return list(_list_previous(run).values_list("stream_id", flat=True))


def check_lineage(run: Run) -> None:
    """Refuses a run while its remaining recipients are uncertain."""
    streams = list_streams(run)
    _check_months(streams)
    if _list_previous(run).filter(planned_at=None).exists():
        raise PreviousRunBusyError(
            say(
                "This run waits until the previous run is planned, and then continues"
                " automatically."
            )
        )
    if lineage.is_draining(streams):
        raise PreviousRunBusyError(
            say(
                "Cancelled mail of a previous run is still being booked. This run continues"
                " automatically afterwards."
            )
        )


def read_cutoff(run: Run) -> datetime:
    """Contacts that were created later get no mail of the run.

    The remaining recipients are those of the first run of the lineage that fixed its recipients: a
    run that was cancelled while it waited for Supabase did not.
    """
    first = run
    if run.root_id is not None:
        fixed = _list_lineage(run.root_id).filter(awaited_pass=None)
        first = fixed.annotate(number=ORDER).order_by("number")[0]
    return first.synced_at or first.frozen_at


def is_interrupted(run: Run) -> bool:
    """Whether a restore interrupted the planning of a previous run."""
    return any(
        lineage.was_interrupted(stream_id, planned_at=planned_at)
        for stream_id, planned_at in _list_previous(run).values_list("stream_id", "planned_at")
    )


def check_root(root_id: UUID) -> None:
    """Refuses a launch whose remaining recipients will never be certain."""
    _check_months(list(_list_lineage(root_id).values_list("stream_id", flat=True)))


def _check_months(streams: list[int]) -> None:
    if lineage.is_forgotten(streams):
        raise MonthDroppedError(
            say(
                "The month of a previous run was dropped from the ledger, so its recipients"
                " are unknown. Create a new campaign for recipients that you are sure of."
            )
        )


def _list_previous(run: Run) -> QuerySet[Run]:
    if run.root_id is None:
        return Run.objects.none()
    numbered = _list_lineage(run.root_id).annotate(number=ORDER)
    return numbered.filter(number__lt=run.stream_id & _NUMBER)


def _list_lineage(root_id: UUID) -> QuerySet[Run]:
    # A test reaches only its test addresses.
    return Run.objects.filter(Q(root_id=root_id) | Q(id=root_id), is_test=False)
