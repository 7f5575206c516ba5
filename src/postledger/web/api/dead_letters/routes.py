"""Routes for dead letters."""

from dataclasses import replace
from typing import Annotated
from uuid import UUID

from ninja import Path, Query

from postledger.accounts.keys import Scope
from postledger.campaigns.runs import requeueing
from postledger.deliveries.attention import dead_letters, deciding
from postledger.deliveries.attention.dead_letters import DeadLetter
from postledger.deliveries.attention.deciding import Action
from postledger.lib.errors import NotFoundError
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
from postledger.web.api.dead_letters.schemas import (
    DeadLetterCauses,
    DeadLetterChoiceIn,
    DeadLetterOut,
    DeadLetterPage,
    DeadLettersQuery,
)

routes = Routes("dead letters", read=Scope.DECISIONS_READ, write=Scope.DECISIONS_WRITE)

LetterId = Annotated[UUID, Path(description="The `id` or the `try_id` of a dead letter.")]


@routes.get("", DeadLetterPage)
def list_dead_letters(call: Call, query: Query[DeadLettersQuery]) -> dict[str, object]:
    """The mails that were given up, of one cause or of all. Mail of test keys is not among them.

    Without the scope contacts:read, addresses are masked.
    """
    rows = dead_letters.list_dead_letters(
        call.workspace_id,
        cause=query.cause(),
        after=decode_mail_key(query.cursor),
        limit=query.limit + 1,
    )
    page = cut_page("dead_letters", rows, query.limit, lambda row: encode_mail_key(row.key))
    return {**page, "dead_letters": [_show(call, row) for row in rows[: query.limit]]}


@routes.get("/causes", DeadLetterCauses)
def list_dead_letter_causes(call: Call) -> dict[str, object]:
    """The dead letters by cause, with what to do about each."""
    groups = dead_letters.group_dead_letters(call.workspace_id)
    return {"causes": [replace(group, example=show_text(call, group.example)) for group in groups]}


@routes.get("/{uuid:letter_id}", DeadLetterOut)
def get_dead_letter(call: Call, letter_id: LetterId) -> dict[str, object]:
    """One dead letter; 404 if the mail is none, or none any more."""
    letter = dead_letters.find_dead_letter(call.workspace_id, read_id(letter_id))
    if letter is None:
        raise NotFoundError
    return _show(call, letter)


@routes.post("/requeue", DecidedOut, shown_with=None)
def requeue_dead_letters(call: Call, payload: DeadLetterChoiceIn) -> dict[str, object]:
    """Sends some mails again, or the dead letters of a code: up to 1,000 in one request.

    With `next` in the answer, send the request again with it as `cursor`. A mail of a run of
    which nothing was handed over is made with the contact's current values.
    """
    return _decide(call, payload, requeueing.REQUEUE)


@routes.post("/discard", DecidedOut, shown_with=None)
def discard_dead_letters(call: Call, payload: DeadLetterChoiceIn) -> dict[str, object]:
    """Lets some mails, or the dead letters of a code, ask nobody any more; up to 1,000.

    They stay failed in the books, and can still be requeued.
    """
    return _decide(call, payload, dead_letters.DISCARD)


def _decide(call: Call, payload: DeadLetterChoiceIn, action: Action) -> dict[str, object]:
    if payload.ids is not None:
        ids = read_ids(payload.ids)
        decided = deciding.decide_mails(action, call.workspace_id, ids, actor=call.actor)
    else:
        after = decode_mail_key(payload.cursor)
        decided = dead_letters.decide_cause(
            action, call.workspace_id, payload.cause(), after=after, actor=call.actor
        )
    return decided_fields(decided)


@routes.post("/{uuid:letter_id}/requeue", None, status=204)
def requeue_dead_letter(call: Call, letter_id: LetterId) -> None:
    """Sends one failed mail again. If it has changed, the answer is 409 and says how it is."""
    deciding.decide_one(requeueing.REQUEUE, call.workspace_id, read_id(letter_id), actor=call.actor)


@routes.post("/{uuid:letter_id}/discard", None, status=204)
def discard_dead_letter(call: Call, letter_id: LetterId) -> None:
    """Lets one failed mail ask nobody any more. If it has changed, or was discarded, it is 409."""
    deciding.decide_one(
        dead_letters.DISCARD, call.workspace_id, read_id(letter_id), actor=call.actor
    )


def _show(call: Call, letter: DeadLetter) -> dict[str, object]:
    return {
        "id": letter.id,
        "try_id": letter.try_id,
        "stream_id": letter.stream_id,
        "kind": letter.kind,
        "title": show_title(call, letter.kind, letter.title),
        "address": show_text(call, letter.address),
        "attempts": letter.attempts,
        "outcome": letter.outcome,
        "code": letter.code,
        "detail": show_text(call, letter.detail),
        "since": letter.since,
    }
