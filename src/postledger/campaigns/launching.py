"""Launches campaigns: to everybody once, under the name of a batch, as a test, or to the rest."""

from datetime import datetime
from typing import ClassVar
from uuid import UUID, uuid4

from django.db import transaction

from postledger.accounts import queries as accounts
from postledger.campaigns import earlier, freezing, mailout_once, material, runs, testing
from postledger.campaigns.models import Campaign, Run
from postledger.campaigns.runs import Launch
from postledger.content.notion.pages import Page
from postledger.lib.errors import RefusedError


class CampaignUnknownError(RefusedError):
    code: ClassVar[str] = "campaign_unknown"


class AlreadyLaunchedError(RefusedError):
    code: ClassVar[str] = "campaign_already_launched"


class CampaignChangedError(RefusedError):
    code: ClassVar[str] = "campaign_changed"


class BatchTakenError(RefusedError):
    code: ClassVar[str] = "send_batch_taken"


def launch(
    workspace_id: int, campaign_id: int, *, actor: str, now: datetime, is_sandboxed: bool = False
) -> UUID:
    """Sends a campaign to its audience; once, whoever asks how often."""
    wanted = Launch(actor, now, uuid4(), is_sandboxed=is_sandboxed)
    return _launched(workspace_id, campaign_id, wanted, is_first=not is_sandboxed)


def send_batch(
    campaign: Campaign, *, batch_id: UUID, actor: str, now: datetime, is_sandboxed: bool = False
) -> UUID:
    """Sends a campaign under a name for this sending; repeated, it is the same run.

    What became of its content meanwhile makes no difference to one that is repeated.
    """
    known = find(campaign, batch_id, is_sandboxed=is_sandboxed)
    if known is not None:
        return known
    wanted = Launch(actor, now, batch_id, is_sandboxed=is_sandboxed, as_of=campaign.updated_at)
    return _launched(campaign.workspace_id, campaign.pk, wanted)


def test(  # noqa: PLR0913  what a test is, each part by its name
    workspace_id: int,
    campaign_id: int,
    *,
    addresses: str | None,
    actor: str,
    now: datetime,
    is_sandboxed: bool = False,  # noqa: PT028  it is no test of pytest's
) -> UUID:
    """Sends a campaign to some addresses, or to the workspace's own for tests; may be repeated."""
    given = accounts.test_emails(workspace_id) if addresses is None else addresses
    named = testing.addresses(given)
    wanted = Launch(actor, now, uuid4(), test_addresses=named, is_sandboxed=is_sandboxed)
    return _launched(workspace_id, campaign_id, wanted)


def launch_said(workspace_id: int, campaign_id: int, wanted: Launch) -> UUID:
    """Sends what was made of the campaign's page already; to everybody once."""
    return _launched(workspace_id, campaign_id, wanted, is_first=not wanted.is_test)


def rest(
    workspace_id: int, run_id: UUID, *, actor: str, now: datetime, is_sandboxed: bool = False
) -> UUID:
    """Sends what the campaign says now to those whom the run meant and none tried to reach."""
    run = Run.objects.filter(workspace_id=workspace_id, pk=run_id, is_test=False).first()
    if run is None:
        raise unknown_run()
    root_id = run.root_id or run.pk
    earlier.check_root(root_id)
    wanted = Launch(actor, now, uuid4(), root_id=root_id, is_sandboxed=is_sandboxed)
    return _launched(workspace_id, run.campaign_id, wanted)


def unknown_run() -> CampaignUnknownError:
    return CampaignUnknownError("This workspace has no such run: its campaign lists those it has.")


def unknown() -> CampaignUnknownError:
    return CampaignUnknownError("This workspace has no such campaign: choose one of the list.")


def _launched(
    workspace_id: int, campaign_id: int, wanted: Launch, *, is_first: bool = False
) -> UUID:
    campaign = Campaign.objects.filter(workspace_id=workspace_id, pk=campaign_id).first()
    if campaign is None:
        raise unknown()
    # Before the transaction: a page is read over the network.
    said = wanted.said or freezing.said(
        workspace_id, material.read(campaign.material), now=wanted.now
    )
    with transaction.atomic():
        # Of two at once, the second one sees what the first one made.
        now_there = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        if now_there.updated_at != (wanted.as_of or campaign.updated_at):
            raise CampaignChangedError(
                "Somebody changed the campaign at this very moment. Look at it, and try again."
            )
        known = find(campaign, wanted.batch_id, is_sandboxed=wanted.is_sandboxed)
        if known is not None:
            return known
        if is_first and Run.objects.filter(campaign=campaign, is_test=False).exists():
            raise AlreadyLaunchedError(
                "This campaign was launched before, and is never sent to everybody twice."
                " Send it to the rest, or make a new one."
            )
        if said.page is not None and not wanted.is_test:
            _check_page(workspace_id, said.page, is_rest=wanted.root_id is not None)
        return runs.make(campaign, wanted, said)


def _check_page(workspace_id: int, page: Page, *, is_rest: bool) -> None:
    """The rest of a page goes although the page was mailed: that is what it is the rest of."""
    if is_rest:
        mailout_once.check_live(page)
    else:
        mailout_once.check_alone(workspace_id, page)


def find(campaign: Campaign, batch_id: UUID, *, is_sandboxed: bool = False) -> UUID | None:
    """The run that was made of a campaign under this name; other input under it is refused."""
    run = Run.objects.filter(campaign_id=campaign.pk, batch_id=batch_id).first()
    if run is None:
        return None
    if bytes(run.input_digest) != runs.digest(campaign, is_sandboxed=is_sandboxed):
        raise BatchTakenError(
            "This send_batch_id was used with other input. Use a new one to send something else;"
            " to see what became of it, repeat it with the same input."
        )
    return run.pk
