"""What journeys begin with: a sender on a sandbox that keeps a journal, and mail for it."""

from collections import Counter
from pathlib import Path

from django.db import connection
from psycopg import sql as pg

from postledger.accounts import provider_accounts
from postledger.accounts.models import Sender, Workspace
from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import Body, StreamKind
from postledger.deliveries.states import State

LETTER = Body(subject="News", html="<p>News</p>", text="News")


def database() -> str:
    """The test's own database, as another process reaches it."""
    named = connection.settings_dict
    return f"postgresql://{named['USER']}@{named['HOST']}:{named['PORT']}/{named['NAME']}"


def sender(workspace: str, kind: str = "sandbox", **settings: object) -> Sender:
    tenant, _ = Workspace.objects.get_or_create(name=workspace)
    account = provider_accounts.create_account(
        tenant.pk, name=kind, kind=kind, settings=settings, actor="test"
    )
    return Sender.objects.create(
        workspace=tenant,
        account_id=account,
        address=f"news@{workspace}.example",
        is_default=True,
    )


def stream(owner: Sender, kind: StreamKind, *, body: Body | None = None) -> int:
    return ledger.open_stream(
        owner.workspace_id,
        sender_id=owner.pk,
        kind=kind,
        title="News",
        body=body,
    )


_PEOPLE = pg.SQL(
    "SELECT 'r' || n || '@example.com' AS address, NULL::text AS dedupe_key,"
    " NULL::bigint AS contact_id, NULL::text AS variables, 0 AS letter, NULL::text AS kept_back"
    " FROM generate_series(%(first)s::int, %(last)s::int) AS n (n)"
)


def bulk(owner: Sender, mails: int) -> int:
    opened = stream(owner, StreamKind.CAMPAIGN, body=LETTER)
    for first in range(0, mails, 10_000):
        numbers = {"first": first, "last": min(first + 10_000, mails) - 1}
        ledger.plan(opened, source=_PEOPLE, params=numbers)
    return opened


def taken(journal: Path) -> Counter[str]:
    """How often the sandbox took each mail, by its recipient."""
    return Counter(line.split()[1] for line in journal.read_text().splitlines())


def count(stream_id: int, state: State = State.ACCEPTED) -> int:
    return queries.read_books([stream_id])[stream_id].counts[state]
