"""The campaigns of a workspace as a table: each with its last run, and why that waits."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from postledger.campaigns.models import Campaign, Run
from postledger.campaigns.runs import progress, run_causes
from postledger.campaigns.runs.progress import Progress, ReadRun
from postledger.campaigns.states import RunState
from postledger.deliveries import queries
from postledger.deliveries.entries import Hold
from postledger.deliveries.explanations.why import Cause
from postledger.deliveries.queries import Books
from postledger.lib.ids import LAST_ID

# Campaigns whose run is not over are read at once, to tell those that move from those that wait:
# the newest. Behind them are old ones, whose failures nobody has closed; they count as open.
_MOST_UNDER_WAY = 500


class CampaignGroup(StrEnum):
    DRAFT = "draft"  # was never launched
    MOVING = "moving"  # is planned or sent
    WAITING = "waiting"  # a hold, a limit or its time keeps all its mail back
    OPEN = "open"  # everything has a result, and some failed or are in doubt
    DONE = "done"  # sent, closed or cancelled


_DONE = {RunState.SENT, RunState.CLOSED, RunState.CANCELLED}


@dataclass(frozen=True, slots=True)
class CampaignRow:
    """One campaign and its last launch, if it has one; tests are left out."""

    id: int
    tag: str
    name: str
    list_key: str  # empty: all that the workspace sends
    lacks_list: bool  # nobody has chosen yet between the lists and all
    sender: str
    created_by: str
    created_at: datetime
    updated_at: datetime
    group: CampaignGroup
    run: Progress | None  # books, state, pace with its end, who launched and who ended it
    causes: Sequence[Cause]  # why its mail waits, first what ends last


@dataclass(frozen=True, slots=True)
class CampaignPage:
    """Some campaigns, the newest first, and how many campaigns of the workspace each group has."""

    rows: Sequence[CampaignRow]
    counts: Mapping[CampaignGroup, int]


def read_page(  # noqa: PLR0913  the parts of a query, each by its name
    workspace_id: int,
    *,
    name: str = "",
    group: CampaignGroup | None = None,
    before: int = LAST_ID,
    after: int | None = None,
    limit: int = 50,
    now: datetime,
) -> CampaignPage:
    """A page of campaigns; `before` is the last id of the previous page, and `after` the first id
    of the page that the newer ones are wanted of.

    Ten queries for any number of rows, or eleven where more are under way than are read. `name`
    finds campaigns that have it in their name or tag. The counts add up to all campaigns of the
    workspace.
    """
    unfinished = _find_campaigns(workspace_id, CampaignGroup.OPEN)
    under_way = list(unfinished.order_by("-pk")[:_MOST_UNDER_WAY])
    matching = _choose(workspace_id, group, under_way).filter(pk__lt=before)
    if name:
        matching = matching.filter(Q(name__icontains=name) | Q(tag__icontains=name))
    # Those under way that are of another group are left out when they have been read.
    most = limit if group in {None, CampaignGroup.DRAFT} else limit + len(under_way)
    if after is None:
        chosen = list(matching.order_by("-pk")[:most])
    else:
        chosen = list(matching.filter(pk__gt=after).order_by("pk")[:most])
    campaigns = {campaign.pk: campaign for campaign in (*under_way, *chosen)}
    rows = {row.id: row for row in _read_rows(list(campaigns.values()), now)}
    listed = [rows[one.pk] for one in chosen if group is None or rows[one.pk].group is group]
    counts = _count_groups(workspace_id, Counter(rows[one.pk].group for one in under_way))
    return CampaignPage(listed[:limit] if after is None else listed[:limit][::-1], counts)


def _choose(
    workspace_id: int, group: CampaignGroup | None, under_way: Sequence[Campaign]
) -> QuerySet[Campaign]:
    """The campaigns that may be of the group."""
    if group in {CampaignGroup.MOVING, CampaignGroup.WAITING}:
        ids = [campaign.pk for campaign in under_way]
        return _find_campaigns(workspace_id, None).filter(pk__in=ids)
    if group is CampaignGroup.DONE:
        # A run that was cancelled is over for people before its last mail is booked.
        return _find_campaigns(workspace_id, None).filter(Exists(_launches()))
    return _find_campaigns(workspace_id, group)


def _count_groups(
    workspace_id: int, under_way: Counter[CampaignGroup]
) -> Mapping[CampaignGroup, int]:
    drafts = _find_campaigns(workspace_id, CampaignGroup.DRAFT).count()
    every = Campaign.objects.filter(workspace_id=workspace_id).count()
    unread = _count_unread(workspace_id, under_way.total())
    ended = every - drafts - under_way.total() - unread
    more = {CampaignGroup.DRAFT: drafts, CampaignGroup.OPEN: unread, CampaignGroup.DONE: ended}
    return {group: under_way[group] + more.get(group, 0) for group in CampaignGroup}


def _count_unread(workspace_id: int, read: int) -> int:
    """How many campaigns are under way behind those that were read."""
    if read < _MOST_UNDER_WAY:
        return 0
    return _find_campaigns(workspace_id, CampaignGroup.OPEN).count() - read


@dataclass(frozen=True, slots=True)
class LaunchRow:
    """One run of a campaign, or a test of it."""

    run_id: UUID
    campaign_id: int
    is_test: bool
    launched_at: datetime
    starts_at: datetime | None  # of its first mail, as it was scheduled; None: at once
    state: RunState
    books: Books
    next_due_at: datetime | None  # of its first waiting mail; None: none waits
    holds: Sequence[Hold]  # first the one that ends last


def list_launches(workspace_id: int, campaign_id: int, *, now: datetime) -> list[LaunchRow]:
    """The last runs of a campaign, the newest first, tests too; four queries."""
    runs = list(
        Run.objects.filter(workspace_id=workspace_id, campaign_id=campaign_id).order_by(
            "-stream_id"
        )[: progress.PAGE]
    )
    waits = queries.summarise_all_waits([run.stream_id for run in runs])
    return [
        LaunchRow(
            run.pk,
            run.campaign_id,
            run.is_test,
            run.launched_at,
            progress.find_start(run),
            state,
            books,
            min((wait.next_due_at for wait in waits.get(run.stream_id, ())), default=None),
            holds,
        )
        for run, (state, books, holds) in zip(
            runs, progress.read_states(runs, now=now), strict=True
        )
    ]


def find_last_run(workspace_id: int, campaign_id: int) -> UUID | None:
    """The last launch of a campaign; None if it was never launched. Tests are left out."""
    runs = Run.objects.filter(workspace_id=workspace_id, campaign_id=campaign_id)
    launches = runs.filter(is_test=False, is_sandboxed=False).order_by("-stream_id")
    return launches.values_list("pk", flat=True).first()


def list_drafts_of_article(workspace_id: int, key: str) -> list[Campaign]:
    """The campaigns that were never launched and name an article, by name."""
    drafts = _find_campaigns(workspace_id, CampaignGroup.DRAFT)
    return list(drafts.filter(content__kind="article", content__key=key).order_by("name", "pk"))


def list_drafts_to_list(workspace_id: int, key: str) -> list[Campaign]:
    """The campaigns that were never launched and go to a list, by name."""
    drafts = _find_campaigns(workspace_id, CampaignGroup.DRAFT)
    return list(drafts.filter(list_key=key).order_by("name", "pk"))


def _find_campaigns(workspace_id: int, group: CampaignGroup | None) -> QuerySet[Campaign]:
    """Campaigns that may be of a group, each with its last launch: those under way are told apart
    by their books.
    """
    last = _launches().order_by("-stream_id")
    campaigns = (
        Campaign.objects.filter(workspace_id=workspace_id)
        .select_related("sender")
        .annotate(run_id=Subquery(last.values("pk")[:1]))
    )
    match group:
        case None:
            return campaigns
        case CampaignGroup.DRAFT:
            return campaigns.filter(run_id=None)
        case _:
            ended_at = Subquery(last.values("ended_at")[:1])
            return campaigns.exclude(run_id=None).annotate(ended_at=ended_at).filter(ended_at=None)


def _launches() -> QuerySet[Run]:
    """Of the campaign that a query is about: tests, also those of test keys, are none."""
    return Run.objects.filter(campaign=OuterRef("pk"), is_test=False, is_sandboxed=False)


def _read_rows(campaigns: Sequence[Campaign], now: datetime) -> list[CampaignRow]:
    run_ids = [run_id for campaign in campaigns if (run_id := _run_id(campaign)) is not None]
    runs = list(Run.objects.filter(pk__in=run_ids)) if run_ids else []
    reads = progress.read_runs(runs, now=now) if runs else []
    by_run: dict[UUID | None, ReadRun] = {read.progress.run_id: read for read in reads}
    return [_make_row(campaign, by_run.get(_run_id(campaign)), now) for campaign in campaigns]


def _run_id(campaign: Campaign) -> UUID | None:
    return campaign.run_id  # type: ignore[attr-defined, no-any-return]  # annotated


def _make_row(campaign: Campaign, read: ReadRun | None, now: datetime) -> CampaignRow:
    return CampaignRow(
        id=campaign.pk,
        tag=campaign.tag,
        name=campaign.name,
        list_key=campaign.list_key,
        lacks_list=campaign.lacks_list,
        sender=campaign.sender.address,
        created_by=campaign.created_by,
        created_at=campaign.created_at,
        updated_at=campaign.updated_at,
        group=CampaignGroup.DRAFT if read is None else find_group(read, now=now),
        run=None if read is None else read.progress,
        causes=() if read is None else run_causes.explain_run(read, now=now),
    )


def find_group(read: ReadRun, *, now: datetime) -> CampaignGroup:
    """The group of a campaign by its last launch. Pure."""
    run = read.progress
    if run.state in _DONE:
        return CampaignGroup.DONE
    if run.state is RunState.OPEN:
        return CampaignGroup.OPEN
    is_kept_back = bool(run.holds) or run.audience_wait is not None or bool(run.trouble)
    is_later = bool(read.waits) and all(wait.next_due_at > now for wait in read.waits)
    is_later = is_later or (run.starts_at is not None and run.starts_at > now)
    if run.state is RunState.PAUSED or is_kept_back or is_later:
        return CampaignGroup.WAITING
    return CampaignGroup.MOVING
