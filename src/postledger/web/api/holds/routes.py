"""Routes for held senders and streams."""

from collections.abc import Sequence
from typing import Annotated

from ninja import Query

from postledger.accounts import sender_checks
from postledger.accounts.keys import Scope
from postledger.deliveries.attention import holds
from postledger.deliveries.entries import Hold
from postledger.deliveries.explanations import why
from postledger.lib.check_results import Level
from postledger.web.api.common.decisions import show_text, show_title
from postledger.web.api.common.fields import path_id
from postledger.web.api.common.pagination import OldestFirstQuery, cut_page
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.holds.schemas import (
    HeldSenders,
    HeldStreamPage,
    Released,
    SenderTest,
)

routes = Routes("holds", read=Scope.DECISIONS_READ, write=Scope.DECISIONS_WRITE)

SenderId = Annotated[int, path_id("The number of the sender.")]
StreamId = Annotated[int, path_id("The number of the stream.")]


@routes.get("/senders", HeldSenders)
def list_held_senders(call: Call) -> dict[str, object]:
    """The senders that are held, with all causes. Limits of their streams are not among them."""
    held = holds.list_held_senders(call.workspace_id, now=call.now)
    return {
        "senders": [
            {
                "id": item.sender.pk,
                "address": item.sender.address,
                "account_id": item.sender.account_id,
                "waiting": item.waiting,
                "causes": _show(call, item.holds),
            }
            for item in held
        ]
    }


@routes.get("/streams", HeldStreamPage)
def list_held_streams(call: Call, query: Query[OldestFirstQuery]) -> dict[str, object]:
    """The streams that are held by themselves. Limits and hours are no causes here."""
    rows = holds.list_held_streams(call.workspace_id, after=query.after, limit=query.limit + 1)
    page = cut_page("streams", rows, query.limit, lambda row: row.stream.id)
    shown = [
        {
            "id": item.stream.id,
            "kind": item.stream.kind,
            "title": show_title(call, item.stream.kind, item.stream.title),
            "waiting": item.waiting,
            "causes": _show(call, item.holds),
        }
        for item in rows[: query.limit]
    ]
    return {**page, "streams": shown}


@routes.post("/senders/{int:sender_id}/release", Released, shown_with=None)
def release_sender(call: Call, sender_id: SenderId) -> dict[str, object]:
    """Ends all holds of a sender, and with them those of its account. Mend what held it first."""
    is_released = holds.release_sender(call.workspace_id, sender_id, actor=call.actor)
    return {"is_released": is_released}


@routes.post("/senders/{int:sender_id}/test", SenderTest)
def test_sender(call: Call, sender_id: SenderId) -> dict[str, object]:
    """Asks the sender's provider whether it takes mail of it; sends nothing, changes nothing.

    It may take up to 25 seconds.
    """
    findings = sender_checks.check_sender(call.workspace_id, sender_id)
    works = all(finding.level is not Level.PROBLEM for finding in findings)
    return {"works": works, "findings": findings}


@routes.post("/streams/{int:stream_id}/release", Released, shown_with=None)
def release_stream(call: Call, stream_id: StreamId) -> dict[str, object]:
    """Ends the holds of a stream by a person, the guard or its content; limits hold it still."""
    is_released = holds.release_stream(call.workspace_id, stream_id, actor=call.actor)
    return {"is_released": is_released}


def _show(call: Call, held: Sequence[Hold]) -> list[dict[str, object]]:
    explained = [(hold, why.explain_hold(hold)) for hold in held]
    return [
        {
            "code": cause.code,
            "sentence": show_text(call, cause.sentence),
            "since": cause.since,
            "until": cause.until,
            "resumed_by": cause.resumed_by,
            "advice": cause.advice,
            "fails_at": hold.fails_at,
        }
        for hold, cause in explained
    ]
