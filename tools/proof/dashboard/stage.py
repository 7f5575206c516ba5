"""A workspace with a full ledger, an owner who can sign in, and a sender with a rate."""

import json
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import connection

from postledger.accounts import keys, provider_accounts, senders, workspaces
from postledger.accounts.keys import Scope
from postledger.accounts.models import Member, Sender, Workspace
from postledger.accounts.people import first_run
from postledger.accounts.queries import Organisation
from postledger.campaigns.models import Run
from postledger.lib.ids import DeliveryId
from tests.web.dashboard import browser

ADDRESS = "watched@acme.example"
OWNER = "owner@acme.example"
_GROUP = "watched"
_SINGLE = """
SELECT s.id, first.position FROM deliveries_stream s CROSS JOIN LATERAL (
    SELECT position FROM deliveries_delivery WHERE stream_id = s.id ORDER BY position LIMIT 1
) AS first
WHERE s.workspace_id = %s AND s.kind = 'transactional' ORDER BY s.id LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Stage:
    workspace_id: int
    sender_id: int
    token: str


def furnish(workspace_id: int, folder: Path, *, rate: float, contacts: int) -> Stage:
    """Gives a workspace what a campaign and its watcher need."""
    footer = Organisation("Acme", "1 Main St", "https://acme.example/unsubscribe")
    workspaces.set_organisation(workspace_id, footer, actor="proof")
    account_id = provider_accounts.create_account(
        workspace_id,
        name="watched",
        kind="sandbox",
        settings={"journal": str(folder / "journal")},
        actor="proof",
    )
    sender_id = senders.create_sender(
        workspace_id, address=ADDRESS, account_id=account_id, actor="proof"
    )
    # Before the first mail, so that nothing has to be counted anew.
    Sender.objects.filter(pk=sender_id).update(rate_per_second=rate)
    made = keys.create_key(workspace_id, name="proof", scopes=tuple(Scope), actor="proof")
    _add_contacts(workspace_id, contacts)
    _create_owner(workspace_id)
    return Stage(workspace_id, sender_id, made.token)


def _create_owner(workspace_id: int) -> None:
    """The first run makes the owner of the first workspace."""
    assert Workspace.objects.order_by("pk").values_list("pk", flat=True)[0] == workspace_id
    code = first_run.issue_code()
    assert code is not None
    first_run.create_owner(code, email=OWNER, name="Owner", password=browser.PASSWORD)


def _add_contacts(workspace_id: int, number: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO contacts_contact (workspace_id, address, name, attributes, created_at)"
            " SELECT %s, 'reader-' || n || '@watched.example', 'Reader ' || n,"
            " jsonb_build_object('group', %s::text), now() FROM generate_series(1, %s) AS n",
            [workspace_id, _GROUP, number],
        )
        cursor.execute("ANALYZE contacts_contact")


def launch(origin: str, stage: Stage) -> UUID:
    """Writes a campaign and launches it, both by the API; returns the run."""
    campaign = {
        "tag": "watched",
        "name": "A campaign that is watched",
        "sender": ADDRESS,
        "audience_filter": {"group": _GROUP},
        "content": {
            "kind": "inline",
            "subject": "News for {{ name }}",
            "format": "markdown",
            "body": "Hello, **{{ name }}**.",
        },
    }
    written = _post(f"{origin}/v1/campaigns", stage.token, campaign)
    launched = _post(f"{origin}/v1/campaigns/{written['id']}/launch", stage.token, None)
    return UUID(launched["run_id"])


def name_examples(stage: Stage, run_id: UUID) -> dict[str, Any]:
    """What the URLs of pages name, by the names of their values."""
    run = Run.objects.get(pk=run_id)
    with connection.cursor() as cursor:
        cursor.execute(_SINGLE, [stage.workspace_id])
        [(single_stream, single_position)] = cursor.fetchall()
    return {
        "workspace_id": stage.workspace_id,
        "campaign_id": run.campaign_id,
        "run_id": run_id,
        "stream_id": run.stream_id,
        "sender_id": stage.sender_id,
        "mail_id": DeliveryId(run.stream_id, 1).uuid(),
        "email_id": DeliveryId(single_stream, single_position).uuid(),
        "member_id": Member.objects.filter(workspace_id=stage.workspace_id)[0].pk,
    }


def _post(url: str, token: str, body: Mapping[str, object] | None) -> Any:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = b"" if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers, method="POST")  # noqa: S310  our own server
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return json.load(answer)
