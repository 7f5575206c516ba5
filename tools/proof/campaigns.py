"""Campaigns of workspaces that a proof creates, with limits that people would set."""

from collections.abc import Mapping
from datetime import UTC, datetime

from django.db import connection

from postledger.accounts.models import Sender
from postledger.campaigns import drafts, launching
from postledger.campaigns.drafts import Draft
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
    url = f"http://127.0.0.1:{drill.fleet.web_port}/ses-events"
    tenant = feedback_tenants.create(drill, name, url=url, port=drill.ses.port)
    # Before the first mail, so that nothing has to be counted anew.
    Sender.objects.filter(pk=tenant.sender_id).update(**limits)
    return tenant, launch_again(tenant, contacts=contacts)


def launch_again(tenant: Tenant, *, contacts: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO contacts_contact (workspace_id, address, name, attributes, created_at)"
            " SELECT %s, 'r' || n || '@drill.example', 'Reader', '{}', now()"
            " FROM generate_series(1, %s) AS n",
            [tenant.workspace_id, contacts],
        )
    source = InlineSource("News", "News for {{ email }}", Format.MARKDOWN)
    draft = Draft("news", "News", source, audience={})
    now = datetime.now(UTC)
    campaign_id = drafts.create_campaign(tenant.workspace_id, draft, actor="proof", now=now)
    run_id = launching.launch_campaign(tenant.workspace_id, campaign_id, actor="proof", now=now)
    return Run.objects.get(pk=run_id).stream_id


def cancel(stream_id: int) -> None:
    ledger.cancel(stream_id, actor="proof")
