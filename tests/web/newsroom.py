"""Where campaigns are made over HTTP: what a workspace needs for them, and what is tried."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.conf import LazySettings

from postledger.accounts import workspaces
from postledger.accounts.queries import Organisation
from postledger.campaigns.models import Run
from postledger.campaigns.planning import planning
from postledger.deliveries import entries
from postledger.deliveries.entries import Entry
from tests import cast
from tests.web.callers import Caller

NEW: dict[str, Any] = {
    "tag": "may-news",
    "name": "News of May",
    "content": {
        "kind": "inline",
        "subject": "News for {{ name }}",
        "format": "markdown",
        "body": "Hello, **{{ name }}**.",
    },
}
BATCH = "6f1c1f4e-3f0e-4a55-9d7c-0d2f9d3f6a11"


def furnish(who: Caller, settings: LazySettings) -> None:
    """Gives a caller's workspace all that campaigns need: a footer, and the secret of its links."""
    settings.UNSUBSCRIBE_SECRET = "only-for-tests, and long enough here"
    page = "https://acme.example/unsubscribe"
    workspaces.set_organisation(
        who.workspace_id, Organisation("Acme", "1 Road", page), actor="test"
    )


def make_campaign(who: Caller, **changes: Any) -> int:
    reply = who.post("/v1/campaigns", {**NEW, **changes})
    assert reply.status == 201, reply.body
    return int(reply.body["id"])


def people(who: Caller, count: int, **details: Any) -> list[int]:
    return [
        int(who.post("/v1/contacts", {"address": f"r{n}@example.com", **details}).body["id"])
        for n in range(count)
    ]


def launched(who: Caller, campaign_id: int) -> str:
    """A run whose audience is planned."""
    reply = who.post(f"/v1/campaigns/{campaign_id}/launch", None)
    assert reply.status == 202, reply.body
    plan(reply.body["run_id"])
    return str(reply.body["run_id"])


def plan(run_id: str) -> None:
    planning.plan_run(UUID(run_id))


def stream_of(run_id: str) -> int:
    return Run.objects.get(pk=run_id).stream_id


def book(run_id: str, result: Callable[[int], Entry], *, size: int = 10) -> None:
    """What a worker would do with the next mails of a run."""
    cast.book(stream_of(run_id), result, size=size)


def taken(position: int) -> Entry:
    return entries.accepted(position, message_id=f"m{position}")


def refused(position: int) -> Entry:
    return entries.refused(position, code="550 5.1.1")
