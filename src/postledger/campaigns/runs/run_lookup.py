"""Finds a run, the streams of a run or a campaign, and the runs of streams."""

from collections.abc import Collection
from uuid import UUID

from django.db.models import Q

from postledger.campaigns.models import Campaign, Run
from postledger.lib.errors import NotFoundError
from postledger.lib.sentences import say

_MOST = 1_000


class CampaignUnknownError(NotFoundError):
    code = "campaign_unknown"


def find_run(workspace_id: int, run_id: UUID, *, only_sandboxed: bool = False) -> Run:
    run = Run.objects.filter(workspace_id=workspace_id, pk=run_id).first()
    if run is None or (only_sandboxed and not run.is_sandboxed):
        raise CampaignUnknownError(say("Run not found."))
    return run


def name_campaign(workspace_id: int, run_id: UUID) -> str:
    """What the campaign of a run is called now."""
    campaign_id = find_run(workspace_id, run_id).campaign_id
    return Campaign.with_deleted.values_list("name", flat=True).get(pk=campaign_id)


def find_run_ids(workspace_id: int, stream_ids: Collection[int]) -> dict[int, UUID]:
    """The runs of those streams that have one, by stream."""
    runs = Run.objects.filter(workspace_id=workspace_id, stream_id__in=list(stream_ids))
    return dict(runs.values_list("stream_id", "pk"))


def find_stream_of_run(workspace_id: int, run_id: UUID) -> int | None:
    runs = Run.objects.filter(workspace_id=workspace_id, pk=run_id)
    return runs.values_list("stream_id", flat=True).first()


def list_streams(workspace_id: int, campaign_id: int) -> list[int]:
    """The streams of a campaign's runs, tests too; none of a campaign of another workspace."""
    runs = Run.objects.filter(workspace_id=workspace_id, campaign_id=campaign_id)
    return list(runs.values_list("stream_id", flat=True))


def find_streams_named(workspace_id: int, words: str) -> list[int]:
    """The newest runs of campaigns whose name has these words, or whose tag is this."""
    runs = Run.objects.filter(workspace_id=workspace_id).filter(
        Q(campaign__name__icontains=words) | Q(campaign__tag=words.lower())
    )
    return list(runs.order_by("-stream_id").values_list("stream_id", flat=True)[:_MOST])
