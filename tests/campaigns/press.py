"""A workspace that can send campaigns: its footer, its sender, people, and campaigns to launch."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import connection
from pytest_django import Settings

from postledger.accounts import provider_accounts, senders, workspaces
from postledger.accounts.queries import Organisation
from postledger.accounts.working_hours import Hours
from postledger.campaigns.drafts import drafts
from postledger.campaigns.drafts.drafts import Draft
from postledger.campaigns.launches import launching
from postledger.campaigns.models import Run
from postledger.campaigns.planning import planning
from postledger.campaigns.runs import run_control
from postledger.content.rendering.source import Format
from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import Entry, StreamKind
from postledger.mailing.content_source import ContentSource, InlineSource
from postledger.mailing.send_times import SendTime

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
WORDS = InlineSource("News", "Hello, {{ name }}.", Format.MARKDOWN)


def set_up_workspace(settings: Settings, name: str = "acme") -> int:
    """A workspace with a footer and one sender, whose provider is the sandbox."""
    settings.UNSUBSCRIBE_SECRET = "only-for-tests, and long enough here"
    workspace_id = workspaces.create_workspace(name, actor="alice")
    workspaces.set_organisation(
        workspace_id,
        Organisation("Acme", "1 Main St", "https://acme.example/unsubscribe"),
        actor="alice",
    )
    account_id = provider_accounts.create_account(
        workspace_id, name="main", kind="sandbox", settings={}, actor="alice"
    )
    senders.create_sender(
        workspace_id,
        address=f"news@{name}.example",
        name="Acme",
        account_id=account_id,
        actor="alice",
    )
    return workspace_id


def people(workspace_id: int, count: int, *, first: int = 0) -> None:
    """Contacts r0, r1, … of a workspace; not all in small letters."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO contacts_contact (workspace_id, address, name, created_at)"
            " SELECT %s, CASE WHEN n %% 3 = 0 THEN 'R' ELSE 'r' END || n || '@example.com',"
            " 'Reader ' || n, %s FROM generate_series(%s, %s) AS n",
            [workspace_id, NOW, first, first + count - 1],
        )


def campaign(
    workspace_id: int,
    *,
    tag: str = "news-1",
    content: ContentSource = WORDS,
    list_key: str | None = None,
    audience: Mapping[str, Any] | None = None,
    timing: SendTime | None = None,
    window: Hours | None = None,
) -> int:
    draft = Draft(tag, "News", content, None, list_key, audience, timing or SendTime(), window)
    return drafts.create_campaign(workspace_id, draft, actor="alice", now=NOW)


def launch(workspace_id: int, campaign_id: int, *, now: datetime = NOW) -> UUID:
    return launching.launch_campaign(workspace_id, campaign_id, actor="alice", now=now)


def launched(workspace_id: int, campaign_id: int, *, now: datetime = NOW) -> Run:
    """A run whose audience is planned."""
    return planned(launch(workspace_id, campaign_id, now=now))


def send_test(
    workspace_id: int, campaign_id: int, addresses: str | None, *, contact_id: int | None = None
) -> UUID:
    return launching.send_test(
        workspace_id,
        campaign_id,
        addresses=addresses,
        contact_id=contact_id,
        actor="alice",
        now=NOW,
    )


def launch_rest(workspace_id: int, run_id: UUID, *, now: datetime = NOW) -> UUID:
    return launching.launch_remaining(workspace_id, run_id, actor="alice", now=now)


def put_into_month(run_id: UUID, month: int) -> None:
    """Gives a run that was not planned yet a stream of another month."""
    run = Run.objects.get(pk=run_id)
    run.stream_id = ledger.open_stream(
        run.workspace_id,
        sender_id=run.campaign.sender_id,
        kind=StreamKind.CAMPAIGN,
        title="News",
        month=month,
    )
    run.save(update_fields=["stream_id"])


def planned(run_id: UUID) -> Run:
    planning.plan_run(run_id)
    return Run.objects.get(pk=run_id)


def cancel(run: Run) -> None:
    """All of it that waits is cancelled and booked."""
    run_control.cancel_run(run.workspace_id, run.pk, actor="alice")
    while ledger.drain(run.stream_id):
        pass


def rest(run: Run, *, now: datetime = NOW) -> Run:
    """The rest of a run, its audience planned."""
    return planned(launch_rest(run.workspace_id, run.pk, now=now))


def taken(position: int) -> Entry:
    return entries.accepted(position, message_id=f"m{position}")


def refused(position: int) -> Entry:
    return entries.refused(position, code="550 5.1.1", detail="No such user.")


def lines(run: Run) -> list[tuple[Any, ...]]:
    """The run's lines in the order of positions: address, contact, values, letter."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT address, contact_id, variables, letter FROM deliveries_delivery"
            " WHERE stream_id = %s ORDER BY position",
            [run.stream_id],
        )
        return [
            (address, contact_id, json.loads(variables), letter)
            for address, contact_id, variables, letter in cursor.fetchall()
        ]


def addresses(run: Run) -> list[str]:
    return [line[0] for line in lines(run)]
