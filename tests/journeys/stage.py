"""What journeys begin with: a sender on a sandbox that keeps a journal, and mail for it."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from django.db import connection

from postledger.accounts import actions
from postledger.accounts.models import Sender, Workspace
from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import Body, Kind, Line
from postledger.deliveries.states import State

LETTER = Body(subject="News", html="<p>News</p>", text="News")


def database() -> str:
    """The test's own database, as another process reaches it."""
    named = connection.settings_dict
    return f"postgresql://{named['USER']}@{named['HOST']}:{named['PORT']}/{named['NAME']}"


def sender(workspace: str, kind: str = "sandbox", **settings: object) -> Sender:
    tenant, _ = Workspace.objects.get_or_create(name=workspace)
    account = actions.create_account(
        tenant.pk, name=kind, kind=kind, settings=settings, actor="test"
    )
    return Sender.objects.create(
        workspace=tenant, account_id=account, address=f"news@{workspace}.example"
    )


def stream(owner: Sender, kind: Kind, *, body: Body | None = None) -> int:
    return ledger.open_stream(
        owner.workspace_id,
        sender_id=owner.pk,
        kind=kind,
        title="News",
        now=datetime.now(UTC),
        body=body,
    )


def bulk(owner: Sender, mails: int, *, body: Body = LETTER) -> int:
    opened = stream(owner, Kind.CAMPAIGN, body=body)
    for first in range(0, mails, 1000):
        numbers = range(first, min(first + 1000, mails))
        ledger.enqueue(opened, [Line(f"r{number}@example.com") for number in numbers])
    return opened


def taken(journal: Path) -> Counter[str]:
    """How often the sandbox took each mail, by its recipient."""
    return Counter(line.split()[1] for line in journal.read_text().splitlines())


def count(stream_id: int, state: State = State.ACCEPTED) -> int:
    return queries.books_of([stream_id])[stream_id].counts[state]
