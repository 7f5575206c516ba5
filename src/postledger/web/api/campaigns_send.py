"""The door for sending an article in one request, with a key or with the admin's password."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

import structlog
from django.conf import settings
from django.http import HttpRequest
from ninja import Router
from ninja.responses import Status

from postledger.accounts import integrations
from postledger.accounts import queries as accounts
from postledger.accounts.keys import Caller, Scope
from postledger.campaigns import batches, launching
from postledger.lib.secrets import UnsealableError
from postledger.observability import context
from postledger.web.api import run_forms
from postledger.web.api.campaign_asking import SendIn
from postledger.web.api.run_forms import Launched
from postledger.web.public import visitors
from postledger.web.shared import auth
from postledger.web.shared.problems import KINDS, Problem

router = Router(tags=["campaigns"])

_PROBLEMS = frozenset(KINDS)

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Admin:
    """Whoever knows the first workspace's password."""

    workspace_id: int
    actor: str = "admin password"
    is_test: bool = False


def by_password(request: HttpRequest) -> Admin | None:
    """Nobody while no password is set; whoever tries many is slowed down before they are judged."""
    given = _password(request)
    if given is None:
        return None
    workspace_id = accounts.default_workspace_id()
    if workspace_id is None or (admin := _admin(workspace_id)) is None:
        return None
    visitors.take(settings.PUBLIC_RATE, "admin", visitors.network(visitors.address(request)))
    if not admin.admits(given):
        return None
    context.bind(workspace_id=workspace_id)
    return Admin(workspace_id)


def _admin(workspace_id: int) -> integrations.Admin | None:
    """What cannot be opened admits nobody, and is the operator's to mend, not the visitor's."""
    try:
        return integrations.admin(workspace_id)
    except UnsealableError as refused:
        _log.error("admin_password_unsealable", code=refused.code, detail=str(refused))
        return None


def _password(request: HttpRequest) -> str | None:
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError):
        return None
    given = body.get("admin_password") if isinstance(body, dict) else None
    return given if isinstance(given, str) else None


@router.post(
    "/send",
    auth=[auth.ApiKey(Scope.CAMPAIGNS_WRITE), by_password],
    response={202: Launched, _PROBLEMS: Problem},
    operation_id="sendCampaign",
    summary="Send an article",
)
def send(request: HttpRequest, payload: SendIn) -> Status[Launched]:
    """Makes or changes the campaign of this tag and launches it; repeated, it is the same run."""
    caller = cast("Caller | Admin", request.auth)  # type: ignore[attr-defined]  # ninja puts it there
    now = datetime.now(UTC)
    campaign = batches.put(
        caller.workspace_id,
        payload.draft(),
        batch_id=payload.send_batch_id,
        actor=caller.actor,
        now=now,
        is_sandboxed=caller.is_test,
    )
    run_id = launching.send_batch(
        campaign,
        batch_id=payload.send_batch_id,
        actor=caller.actor,
        now=now,
        is_sandboxed=caller.is_test,
    )
    return Status(202, run_forms.launched(run_id))
