"""Routes for mails in doubt."""

from typing import Annotated
from uuid import UUID

from ninja import Path, Query

from postledger.accounts.keys import Scope
from postledger.deliveries.attention import doubts
from postledger.deliveries.attention.doubts import Doubt, DoubtGroup
from postledger.feedback import event_flow
from postledger.web.api.common.decisions import (
    DecidedOut,
    decided_fields,
    read_id,
    read_ids,
    show_text,
    show_title,
)
from postledger.web.api.common.pagination import cut_page, decode_mail_key, encode_mail_key
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.doubts.schemas import (
    DecisionIn,
    DoubtDecisionsIn,
    DoubtGroups,
    DoubtPage,
    DoubtsQuery,
)

routes = Routes("doubts", read=Scope.DECISIONS_READ, write=Scope.DECISIONS_WRITE)

DoubtId = Annotated[UUID, Path(description="The `id` or the `try_id` of a mail in doubt.")]


@routes.get("", DoubtPage)
def list_doubts(call: Call, query: Query[DoubtsQuery]) -> dict[str, object]:
    """The mails in doubt, with what is known of them.

    Without the scope contacts:read, addresses are masked.
    """
    rows = doubts.list_doubts(
        call.workspace_id,
        stream_id=query.stream_id,
        after=decode_mail_key(query.cursor),
        limit=query.limit + 1,
    )
    page = cut_page("doubts", rows, query.limit, lambda row: encode_mail_key(row.key))
    shown = rows[: query.limit]
    events = event_flow.describe_senders(sorted({row.sender_id for row in shown}), now=call.now)
    return {**page, "doubts": [_show(call, row, events[row.sender_id]) for row in shown]}


@routes.get("/groups", DoubtGroups)
def list_doubt_groups(call: Call) -> dict[str, object]:
    """The mails in doubt by stream and cause."""
    groups = doubts.group_doubts(call.workspace_id)
    events = event_flow.describe_senders(sorted({row.sender_id for row in groups}), now=call.now)
    return {"groups": [_show_group(call, row, events[row.sender_id]) for row in groups]}


@routes.post("/resolve", DecidedOut, shown_with=None)
def resolve_doubts(call: Call, payload: DoubtDecisionsIn) -> dict[str, object]:
    """Ends some doubts, or those of a stream: up to 1,000 in one request.

    With `next` in the answer, send the request again with it as `cursor`. A mail that has changed
    is left alone, and counted with its reason.
    """
    if payload.ids is not None:
        decided = doubts.resolve_doubts(
            call.workspace_id,
            read_ids(payload.ids),
            decision=payload.decision,
            actor=call.actor,
        )
    else:
        decided = doubts.resolve_stream(
            call.workspace_id,
            payload.stream_id or 0,
            decision=payload.decision,
            after=decode_mail_key(payload.cursor).position,
            actor=call.actor,
        )
    return decided_fields(decided)


@routes.post("/{uuid:doubt_id}/resolve", None, status=204)
def resolve_doubt(call: Call, doubt_id: DoubtId, payload: DecisionIn) -> None:
    """Ends one doubt. If the mail has changed, the answer is 409 and says how it is."""
    doubts.resolve_doubt(
        call.workspace_id, read_id(doubt_id), decision=payload.decision, actor=call.actor
    )


def _show(call: Call, doubt: Doubt, events: str) -> dict[str, object]:
    return {
        "id": doubt.id,
        "try_id": doubt.try_id,
        "stream_id": doubt.stream_id,
        "kind": doubt.kind,
        "title": show_title(call, doubt.kind, doubt.title),
        "is_test": doubt.is_test,
        "address": show_text(call, doubt.address),
        "since": doubt.since,
        "tries": doubt.doubts,
        "outcome": doubt.outcome,
        "detail": show_text(call, doubt.detail),
        "tried_at": doubt.tried_at,
        "events": events,
        "may_be_sent_again": doubt.may_be_sent_again(call.now),
        "resend_after": doubt.resend_after,
    }


def _show_group(call: Call, group: DoubtGroup, events: str) -> dict[str, object]:
    return {
        "stream_id": group.stream_id,
        "kind": group.kind,
        "title": show_title(call, group.kind, group.title),
        "is_test": group.is_test,
        "outcome": group.outcome,
        "count": group.count,
        "since": group.since,
        "detail": show_text(call, group.detail),
        "addresses": [show_text(call, address) for address in group.addresses],
        "events": events,
        "resend_after": group.resend_after,
    }
