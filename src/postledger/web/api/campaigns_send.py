"""The door for sending an article in one request, with a key or with the admin's password."""

import hmac
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import cast

from django.conf import settings
from django.http import HttpRequest
from ninja import Router
from ninja.responses import Status

from postledger.accounts import queries as accounts
from postledger.accounts.keys import Caller, Scope
from postledger.campaigns import drafts, launching
from postledger.observability import context
from postledger.web.api import run_forms
from postledger.web.api.campaign_asking import SendIn
from postledger.web.api.run_forms import Launched
from postledger.web.public import visitors
from postledger.web.shared import auth
from postledger.web.shared.problems import KINDS, Problem

router = Router(tags=["campaigns"])

_PROBLEMS = frozenset(KINDS)


@dataclass(frozen=True, slots=True)
class Admin:
    """Whoever knows the installation's password."""

    workspace_id: int
    actor: str = "admin password"
    is_test: bool = False


def by_password(request: HttpRequest) -> Admin | None:
    """Nobody while no password is set; whoever tries many is slowed down before they are judged."""
    given = _password(request)
    if not settings.ADMIN_PASSWORD or given is None:
        return None
    visitors.take(settings.PUBLIC_RATE, "admin", visitors.network(visitors.address(request)))
    if not hmac.compare_digest(_hash(given), _hash(settings.ADMIN_PASSWORD)):
        return None
    workspace_id = accounts.default_workspace_id()
    if workspace_id is None:
        return None
    context.bind(workspace_id=workspace_id)
    return Admin(workspace_id)


def _password(request: HttpRequest) -> str | None:
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError):
        return None
    given = body.get("admin_password") if isinstance(body, dict) else None
    return given if isinstance(given, str) else None


def _hash(password: str) -> bytes:
    """Of one length, so that the comparison tells nothing of the other's."""
    return sha256(password.encode(errors="surrogatepass")).digest()


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
    campaign = drafts.put(
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
