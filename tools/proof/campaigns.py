"""Campaigns of workspaces that a proof creates, with limits that people would set."""

from collections.abc import Mapping
from datetime import UTC, datetime

from django.db import connection

from postledger.accounts.models import Sender
from postledger.campaigns.drafts import drafts
from postledger.campaigns.drafts.drafts import Draft
from postledger.campaigns.launches import launching
from postledger.campaigns.models import Run
from postledger.content.rendering.source import Format
from postledger.deliveries import ledger
from postledger.mailing.content_source import InlineSource
from tools.drill.drill import Drill
from tools.proof import feedback_tenants
from tools.proof.feedback_tenants import Tenant


def launch(
    drill: Drill, name: str, *, contacts: int, limits: Mapping[str, float]
) -> tuple[Tenant, int]:
    """A workspace of this name, and the stream of its campaign, which is being sent."""
    tenant = feedback_tenants.create(drill, name)
    # Before the first mail, so that nothing has to be counted anew.
    Sender.objects.filter(pk=tenant.sender_id).update(**limits)
    draft_id = write(tenant.workspace_id, "news", contacts=contacts)
    return tenant, start(tenant.workspace_id, draft_id).stream_id


def write(workspace_id: int, tag: str, *, contacts: int) -> int:
    """A campaign to so many new contacts of its own, which is not launched yet; its id."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO contacts_contact (workspace_id, address, name, attributes, created_at)"
            " SELECT %s, %s || '-' || n || '@drill.example', 'Reader',"
            " jsonb_build_object('group', %s::text), now()"
            " FROM generate_series(1, %s) AS n",
            [workspace_id, tag, tag, contacts],
        )
    source = InlineSource("News", "News for {{ email }}", Format.MARKDOWN)
    draft = Draft(tag, "News", source, audience={"group": tag})
    return drafts.create_campaign(workspace_id, draft, actor="proof", now=datetime.now(UTC))


def start(workspace_id: int, campaign_id: int) -> Run:
    run_id = launching.launch_campaign(
        workspace_id, campaign_id, actor="proof", now=datetime.now(UTC)
    )
    return Run.objects.get(pk=run_id)


def cancel(stream_id: int) -> None:
    ledger.cancel(stream_id, actor="proof")
