"""The door for campaigns: write them, see what a reader gets, test them, and launch them."""

from datetime import UTC, datetime
from typing import Annotated

from django.http import HttpRequest
from ninja import Path, Query, Router
from ninja.responses import Status

from postledger.accounts.keys import Scope
from postledger.campaigns import drafts, launching, preview, progress
from postledger.web.api import campaign_forms, findings, looking, run_forms
from postledger.web.api.campaign_asking import CampaignPreviewIn, CampaignTestIn
from postledger.web.api.campaign_forms import (
    CampaignChangeIn,
    CampaignOut,
    CampaignPage,
    CampaignPreview,
    NewCampaignIn,
)
from postledger.web.api.contacts_looking import History
from postledger.web.api.run_forms import Launched, RunPage
from postledger.web.shared import auth
from postledger.web.shared.problems import KINDS, Problem

router = Router(tags=["campaigns"])

_PROBLEMS = frozenset(KINDS)

_reader = auth.ApiKey(Scope.CAMPAIGNS_READ)
_writer = auth.ApiKey(Scope.CAMPAIGNS_WRITE)

CampaignId = Annotated[int, Path(ge=1, le=2**63 - 1)]


@router.get(
    "",
    auth=_reader,
    response={200: CampaignPage, _PROBLEMS: Problem},
    operation_id="listCampaigns",
    summary="List campaigns",
)
def listing(request: HttpRequest, question: Query[History]) -> CampaignPage:
    """The workspace's, the newest first, a page at a time."""
    looking.refuse_unknown(request.GET, History)
    found = drafts.listing(
        auth.caller(request).workspace_id, before=question.before(), limit=question.limit + 1
    )
    return campaign_forms.page(found, limit=question.limit)


@router.post(
    "",
    auth=_writer,
    response={201: CampaignOut, _PROBLEMS: Problem},
    operation_id="createCampaign",
    summary="Create a campaign",
)
def create(request: HttpRequest, payload: NewCampaignIn) -> Status[CampaignOut]:
    """Stores what is to be said, to whom and when; sends nothing."""
    caller = auth.caller(request)
    campaign_id = drafts.create(
        caller.workspace_id, payload.draft(), actor=caller.actor, now=datetime.now(UTC)
    )
    return Status(201, _campaign(caller.workspace_id, campaign_id))


@router.get(
    "/{int:campaign_id}",
    auth=_reader,
    response={200: CampaignOut, _PROBLEMS: Problem},
    operation_id="getCampaign",
    summary="Look at a campaign",
)
def look(request: HttpRequest, campaign_id: CampaignId) -> CampaignOut:
    """What it says, to whom and when; what became of it, its runs tell."""
    return _campaign(auth.caller(request).workspace_id, campaign_id)


@router.patch(
    "/{int:campaign_id}",
    auth=_writer,
    response={200: CampaignOut, _PROBLEMS: Problem},
    operation_id="changeCampaign",
    summary="Change a campaign",
)
def change(request: HttpRequest, campaign_id: CampaignId, payload: CampaignChangeIn) -> CampaignOut:
    """Changes what is named; what was launched goes on as it was then."""
    caller = auth.caller(request)
    drafts.change(
        caller.workspace_id,
        campaign_id,
        payload.changes(),
        actor=caller.actor,
        now=datetime.now(UTC),
    )
    return _campaign(caller.workspace_id, campaign_id)


@router.post(
    "/{int:campaign_id}/preview",
    auth=_reader,
    response={200: CampaignPreview, _PROBLEMS: Problem},
    operation_id="previewCampaign",
    summary="See what a reader gets",
)
def show(
    request: HttpRequest, campaign_id: CampaignId, payload: CampaignPreviewIn
) -> CampaignPreview:
    """As a contact, as somebody made up, or with every value shown by its name."""
    workspace_id = auth.caller(request).workspace_id
    facts = drafts.find(workspace_id, campaign_id)
    reader = payload.reader.reader() if payload.reader else preview.SOMEBODY
    if payload.contact_id is not None:
        reader = preview.contact(workspace_id, payload.contact_id, list_key=facts.list_key)
    shown = preview.of(workspace_id, facts, reader, now=datetime.now(UTC))
    return findings.preview(
        CampaignPreview, shown.trial, sender=facts.sender, from_name=shown.from_name
    )


@router.post(
    "/{int:campaign_id}/test",
    auth=_writer,
    response={202: Launched, _PROBLEMS: Problem},
    operation_id="testCampaign",
    summary="Send a test",
)
def test(
    request: HttpRequest, campaign_id: CampaignId, payload: CampaignTestIn
) -> Status[Launched]:
    """To some addresses, or to the workspace's own for tests, and to nobody else."""
    caller = auth.caller(request)
    run_id = launching.test(
        caller.workspace_id,
        campaign_id,
        addresses=payload.written(),
        actor=caller.actor,
        now=datetime.now(UTC),
        is_sandboxed=caller.is_test,
    )
    return Status(202, run_forms.launched(run_id))


@router.post(
    "/{int:campaign_id}/launch",
    auth=_writer,
    response={202: Launched, _PROBLEMS: Problem},
    operation_id="launchCampaign",
    summary="Launch a campaign",
)
def launch(request: HttpRequest, campaign_id: CampaignId) -> Status[Launched]:
    """Freezes what it says and sends it to its audience; once, whoever asks how often."""
    caller = auth.caller(request)
    run_id = launching.launch(
        caller.workspace_id,
        campaign_id,
        actor=caller.actor,
        now=datetime.now(UTC),
        is_sandboxed=caller.is_test,
    )
    return Status(202, run_forms.launched(run_id))


@router.get(
    "/{int:campaign_id}/runs",
    auth=_reader,
    response={200: RunPage, _PROBLEMS: Problem},
    operation_id="listRuns",
    summary="List a campaign's runs",
)
def runs(request: HttpRequest, campaign_id: CampaignId, question: Query[History]) -> RunPage:
    """Its launches and its tests, the newest first, a page at a time."""
    looking.refuse_unknown(request.GET, History)
    found = progress.listing(
        auth.caller(request).workspace_id,
        campaign_id,
        before=question.before(),
        limit=question.limit + 1,
        now=datetime.now(UTC),
    )
    return run_forms.page(found, limit=question.limit)


def _campaign(workspace_id: int, campaign_id: int) -> CampaignOut:
    return campaign_forms.campaign(drafts.find(workspace_id, campaign_id))
