"""When the mails of a campaign will have gone: before its launch, and while its run goes on."""

from collections.abc import Sequence
from datetime import datetime

from postledger.accounts import queries as accounts
from postledger.campaigns.drafts import drafts, recipients
from postledger.campaigns.models import Campaign, Run
from postledger.campaigns.runs.progress import Progress
from postledger.campaigns.runs.run_lookup import CampaignUnknownError
from postledger.campaigns.states import RunState
from postledger.contacts import audience
from postledger.deliveries.entries import StreamKind
from postledger.lib.sentences import say
from postledger.mailing import send_times
from postledger.pacing import outlook
from postledger.pacing.outlook import Outlook, Workforce
from postledger.pacing.prospects import Part, Prospect

_PRIORITY = 2  # of campaigns in the rotation: after all mail to one person


def forecast_campaign(  # noqa: PLR0913  the parts of a question, each by its name
    workspace_id: int,
    campaign_id: int,
    *,
    worker_count: int,
    member_id: int | None = None,
    recipient_count: int | None = None,
    now: datetime,
) -> Outlook:
    """When the mails would have gone if the campaign was launched now, by this member or nobody.

    Counts the recipients unless the caller has done so. Of a campaign that was launched: when its
    last run will have ended.
    """
    campaign = Campaign.objects.filter(workspace_id=workspace_id, pk=campaign_id).first()
    if campaign is None:
        raise CampaignUnknownError(say("Campaign not found."))
    workforce = Workforce(worker_count)
    runs = Run.objects.filter(campaign_id=campaign_id, is_test=False)
    run = runs.order_by("-stream_id").first()
    if run is not None:
        return outlook.predict_end(workspace_id, run.stream_id, workforce=workforce, now=now)
    if recipient_count is None:
        recipient_count = _count_audience(campaign, now)
    newcomer = Prospect(
        stream_id=0,
        sender_id=campaign.sender_id,
        member_id=member_id,
        kind=StreamKind.CAMPAIGN,
        priority=_PRIORITY,
        opened_at=now,
        parts=tuple(_split_parts(campaign, recipient_count, now)),
        delivery_window=campaign.delivery_window,
    )
    return outlook.predict_launch(workspace_id, newcomer, workforce=workforce, now=now)


def forecast_run(
    workspace_id: int, run: Progress, *, worker_count: int, now: datetime
) -> Outlook | None:
    """When the run will have ended; None while it is planned, and when nothing waits."""
    if run.planned_at is None or not run.waiting or run.state is RunState.CANCELLED:
        return None
    workforce = Workforce(worker_count, run.pace.mails_per_second if run.pace else None)
    return outlook.predict_end(workspace_id, run.number, workforce=workforce, now=now)


def _split_parts(campaign: Campaign, count: int, now: datetime) -> list[Part]:
    """The mails by the times at which they are due; each local time is taken to have as many."""
    moments = _list_moments(campaign, now)
    shares = [count // len(moments)] * len(moments)
    shares[-1] += count % len(moments)
    return [Part(share, moment) for share, moment in zip(shares, moments, strict=True) if share]


def _list_moments(campaign: Campaign, now: datetime) -> Sequence[datetime | None]:
    send_time = send_times.from_json(campaign.timing)
    zones = audience.list_time_zones(campaign.workspace_id) if send_time.local_time else set()
    default_zone = accounts.time_zone(campaign.workspace_id)
    waves = send_times.split_waves(send_time, zones=zones, default_zone=default_zone, now=now)
    return [wave.due_at for wave in waves if not wave.is_last_look]


def _count_audience(campaign: Campaign, now: datetime) -> int:
    """The contacts that a launch would send to now; an estimate where counting takes long."""
    facts = drafts.find_campaign(campaign.workspace_id, campaign.pk)
    return recipients.count_recipients(campaign.workspace_id, facts, now=now).number
