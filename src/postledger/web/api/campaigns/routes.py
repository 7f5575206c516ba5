"""Routes for campaigns: drafts, previews, tests and launches."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated

import structlog
from django.conf import settings
from django.http import HttpRequest
from ninja import Query

from postledger.accounts import integrations
from postledger.accounts import queries as accounts
from postledger.accounts.integrations import AdminSettings
from postledger.accounts.keys import Scope
from postledger.campaigns.drafts import drafts, forecasts, preview
from postledger.campaigns.drafts.drafts import CampaignFacts
from postledger.campaigns.drafts.preview import AudienceCheck
from postledger.campaigns.launches import launching
from postledger.campaigns.runs import progress
from postledger.dispatch import heartbeat
from postledger.lib.secrets import UnsealableError
from postledger.mailing.content_source import ArticleSource, TemplateSource
from postledger.observability import context
from postledger.pacing.outlook import Outlook
from postledger.web.api.campaigns.schemas import (
    CampaignChangeIn,
    CampaignOut,
    CampaignPage,
    CampaignPreview,
    CampaignPreviewIn,
    CampaignTestIn,
    NewCampaignIn,
    SendIn,
)
from postledger.web.api.common.fields import path_id
from postledger.web.api.common.pagination import NewestFirstQuery, cut_page
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.common.schemas import preview_fields
from postledger.web.api.runs.routes import hide_addresses
from postledger.web.api.runs.schemas import ForecastOut, Launched, RunPage
from postledger.web.shared import guesses, throttle

routes = Routes("campaigns", read=Scope.CAMPAIGNS_READ, write=Scope.CAMPAIGNS_WRITE)

CampaignId = Annotated[int, path_id("The id of the campaign.")]

_HEADER = "X-Admin-Password"
_log = structlog.get_logger(__name__)


@routes.get("", CampaignPage)
def list_campaigns(call: Call, query: Query[NewestFirstQuery]) -> dict[str, object]:
    """The workspace's campaigns, the newest first."""
    campaigns = drafts.list_campaigns(call.workspace_id, before=query.before, limit=query.limit + 1)
    return cut_page("campaigns", campaigns, query.limit, lambda campaign: campaign.id)


@routes.post("", CampaignOut, status=201, shown_with=None)
def create_campaign(call: Call, payload: NewCampaignIn) -> CampaignFacts:
    """Stores the content, the audience and the timing. Sends nothing."""
    campaign_id = drafts.create_campaign(
        call.workspace_id, payload.draft(), actor=call.actor, now=call.now
    )
    return drafts.find_campaign(call.workspace_id, campaign_id)


@routes.get("/{int:campaign_id}", CampaignOut)
def get_campaign(call: Call, campaign_id: CampaignId) -> CampaignFacts:
    """The content, the audience and the timing. Its runs have the results."""
    return drafts.find_campaign(call.workspace_id, campaign_id)


@routes.patch("/{int:campaign_id}", CampaignOut)
def change_campaign(
    call: Call, campaign_id: CampaignId, payload: CampaignChangeIn
) -> CampaignFacts:
    """Changes the fields that are sent. Launched runs do not change."""
    drafts.change_campaign(
        call.workspace_id, campaign_id, payload.changes(), actor=call.actor, now=call.now
    )
    return drafts.find_campaign(call.workspace_id, campaign_id)


@routes.delete("/{int:campaign_id}")
def delete_campaign(call: Call, campaign_id: CampaignId) -> None:
    """Deletes a campaign that was never launched. Mail of its tests stays in the books."""
    drafts.delete_campaign(call.workspace_id, campaign_id, actor=call.actor)


@routes.post("/{int:campaign_id}/preview", CampaignPreview, scopes=[Scope.CAMPAIGNS_READ])
def preview_campaign(
    call: Call, campaign_id: CampaignId, payload: CampaignPreviewIn
) -> dict[str, object]:
    """Renders the campaign for a contact, for a made-up recipient, or with variable names.

    Templates and articles take the scope content:read, too; a contact and `check_audience` take
    contacts:read.
    """
    campaign = drafts.find_campaign(call.workspace_id, campaign_id)
    if isinstance(campaign.content, TemplateSource | ArticleSource):
        call.require(Scope.CONTENT_READ)
    recipient = payload.reader.recipient() if payload.reader else preview.ANYBODY
    if payload.contact_id is not None:
        call.require_live_key()
        call.require(Scope.CONTACTS_READ)
        recipient = preview.find_recipient(
            call.workspace_id, payload.contact_id, list_key=campaign.list_key
        )
    rendered = preview.render_preview(call.workspace_id, campaign, recipient, now=call.now)
    return preview_fields(
        rendered.mail,
        sender=campaign.sender,
        from_name=rendered.from_name,
        audience=_check_audience(call, campaign) if payload.check_audience else None,
    )


def _check_audience(call: Call, campaign: CampaignFacts) -> AudienceCheck:
    call.require_live_key()
    call.require(Scope.CONTACTS_READ)
    return preview.check_audience(call.workspace_id, campaign, now=call.now)


@routes.post("/{int:campaign_id}/test", Launched, status=202, shown_with=None)
def test_campaign(
    call: Call, campaign_id: CampaignId, payload: CampaignTestIn
) -> dict[str, object]:
    """Sends the campaign to the addresses, or to the workspace's test addresses, only.

    Every mail is marked as a test, in its subject and in a header. With a contact_id, which takes
    the scope contacts:read, it has the content that this contact would get.
    """
    if payload.contact_id is not None:
        call.require_live_key()
        call.require(Scope.CONTACTS_READ)
    run_id = launching.send_test(
        call.workspace_id,
        campaign_id,
        addresses=None if payload.addresses is None else " ".join(payload.addresses),
        contact_id=payload.contact_id,
        actor=call.actor,
        member_id=call.member_id,
        now=call.now,
        is_sandboxed=call.is_test,
    )
    return {"run_id": run_id}


@routes.post("/{int:campaign_id}/launch", Launched, status=202, shown_with=None)
def launch_campaign(call: Call, campaign_id: CampaignId) -> dict[str, object]:
    """Launches a campaign: freezes its content and sends it to its audience.

    A second launch is refused.
    """
    run_id = launching.launch_campaign(
        call.workspace_id,
        campaign_id,
        actor=call.actor,
        member_id=call.member_id,
        now=call.now,
        is_sandboxed=call.is_test,
    )
    return {"run_id": run_id}


@routes.get("/{int:campaign_id}/forecast", ForecastOut)
def forecast_campaign(call: Call, campaign_id: CampaignId) -> Outlook:
    """When its mails would have gone if it was launched now; after a launch, when they will have.

    Counts the audience, or estimates it if that takes more than 5 seconds.
    """
    return forecasts.forecast_campaign(
        call.workspace_id,
        campaign_id,
        worker_count=heartbeat.count_alive(),
        member_id=call.member_id,
        now=call.now,
    )


@routes.get("/{int:campaign_id}/runs", RunPage)
def list_runs(
    call: Call, campaign_id: CampaignId, query: Query[NewestFirstQuery]
) -> dict[str, object]:
    """Launches and tests of the campaign, the newest first; a test key gets those of test keys."""
    runs = progress.list_progress(
        call.workspace_id,
        campaign_id,
        only_sandboxed=call.is_test,
        before=query.before,
        limit=query.limit + 1,
        now=call.now,
    )
    shown = [hide_addresses(call, run) for run in runs]
    return cut_page("runs", shown, query.limit, lambda run: run.number)


@dataclass(frozen=True, slots=True)
class Admin:
    """A caller who knows the admin password of the first workspace."""

    workspace_id: int
    actor: str = "admin password"
    is_test: bool = False
    scopes: Collection[str] = ()
    member_id: int | None = None


def authenticate_admin(request: HttpRequest) -> Admin | None:
    """Accepts the admin password if one is set; guesses are limited before the body is read."""
    network = throttle.client_network(request.META)
    throttle.count_visit(settings.PUBLIC_RATE, "admin", network)
    workspace_id = accounts.first_workspace_id()
    admin = None if workspace_id is None else _find_admin(workspace_id)
    password = None if admin is None else _read_password(request)
    if workspace_id is None or admin is None or password is None:
        return None
    guesses.PASSWORDS.check(password, network)
    if not admin.admits(password):
        guesses.PASSWORDS.note_wrong(password, network)
        return None
    guesses.PASSWORDS.note_right(password)
    context.bind(workspace_id=workspace_id)
    return Admin(workspace_id)


def _find_admin(workspace_id: int) -> AdminSettings | None:
    """None if the password cannot be decrypted: the operator must fix that, not the caller."""
    try:
        return integrations.admin(workspace_id)
    except UnsealableError as refused:
        _log.error("admin_password_unsealable", code=refused.code, detail=str(refused))
        return None


def _read_password(request: HttpRequest) -> str | None:
    """From its header, or from the body, where older programs send it."""
    if header := request.headers.get(_HEADER):
        return header
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError):
        return None
    password = body.get("admin_password") if isinstance(body, dict) else None
    return password if isinstance(password, str) else None


@routes.post("/send", Launched, status=202, shown_with=None, auth=[authenticate_admin])
def send_campaign(call: Call, payload: SendIn) -> dict[str, object]:
    """Creates or changes the campaign of this tag and launches it.

    Idempotent: a repeated request answers with the same run.
    """
    campaign = drafts.put_campaign(
        call.workspace_id,
        payload.draft(),
        launch_id=payload.send_batch_id,
        actor=call.actor,
        now=call.now,
    )
    run_id = launching.launch_once(
        campaign,
        launch_id=payload.send_batch_id,
        actor=call.actor,
        member_id=call.member_id,
        now=call.now,
    )
    return {"run_id": run_id}
