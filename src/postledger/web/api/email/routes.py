"""Routes for transactional mail."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from django.http import HttpResponse
from ninja import Header, Path, Query
from pydantic import BaseModel, Field, ValidationError

from postledger.accounts.keys import Scope
from postledger.deliveries import queries, search, transactional_mail
from postledger.deliveries.states import State
from postledger.feedback import event_flow
from postledger.lib.errors import MOST_ISSUES, NotFoundError
from postledger.lib.ids import DeliveryId
from postledger.observability import context
from postledger.transactional import actions, cancelling
from postledger.transactional.requests import (
    InvalidMailError,
    MailIssue,
    MailRequest,
    Receipt,
    Validation,
)
from postledger.web.api.common import schema_errors
from postledger.web.api.common.fields import Matching
from postledger.web.api.common.pagination import encode_mail_cursor
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.email.answers import (
    AcceptedBatch,
    AcceptedMail,
    AcceptedRequest,
    MailOut,
    MailPage,
    accepted_fields,
    id_fields,
)
from postledger.web.api.email.schemas import BatchIn, MailIn, MailsQuery
from postledger.web.shared import requests as request_ids

routes = Routes("email", read=Scope.READ, write=Scope.SEND)

_REPLAYED_HEADER = "Idempotency-Replayed"
_PrintableKey = Annotated[
    str,
    Field(min_length=1, max_length=255),
    Matching(r"^[\x20-\x7e]+$", "use up to 255 printable ASCII characters"),
]
IdempotencyKey = Annotated[
    _PrintableKey | None,
    Header(
        None,
        alias="Idempotency-Key",
        description="Makes the request safe to repeat: nothing is sent twice under one key.",
    ),
]
MailId = Annotated[
    str, Path(description="The id of the mail.", examples=["01420000-0007-8000-8000-00000000002a"])
]
# A repeat is told from the first request by this header alone.
_REPLAYED: dict[str, Any] = {
    "responses": {
        202: {
            "headers": {
                _REPLAYED_HEADER: {
                    "description": "`true` for a repeat: an earlier request with this key got it.",
                    "schema": {"type": "string", "const": "true"},
                }
            }
        }
    }
}


@routes.post("/send", AcceptedRequest, status=202, shown_with=None, openapi_extra=_REPLAYED)
def send_mail(call: Call, payload: MailIn, idempotency_key: IdempotencyKey = None) -> HttpResponse:
    """Stores the mail and answers with its id. It is sent at once, or at `send_at`."""
    receipt = _accept(call, [payload.request()], idempotency_key)
    [mail_id] = receipt.ids
    context.bind(outbox_id=mail_id)
    shown = accepted_fields(mail_id, receipt.warnings.get(0, ()))
    return _accepted(receipt, AcceptedRequest(request_id=receipt.request_id, **shown))


@routes.post("/batch", AcceptedBatch, status=202, shown_with=None, openapi_extra=_REPLAYED)
def send_mails(
    call: Call, payload: BatchIn, idempotency_key: IdempotencyKey = None
) -> HttpResponse:
    """Stores up to 500 mails, all or none; `errors` names invalid mails by their index."""
    requests, errors = payload.split()
    if errors:
        raise _refuse_batch(call, requests, errors)
    receipt = _accept(call, list(requests.values()), idempotency_key)
    accepted = [
        AcceptedMail(**accepted_fields(mail_id, receipt.warnings.get(index, ())))
        for index, mail_id in enumerate(receipt.ids)
    ]
    return _accepted(receipt, AcceptedBatch(request_id=receipt.request_id, mails=accepted))


def _refuse_batch(
    call: Call, requests: Mapping[int, MailRequest], errors: Mapping[int, ValidationError]
) -> InvalidMailError:
    """Names the mails that do not match the schema together with those that cannot be sent."""
    issues: list[MailIssue] = []
    unlisted = 0
    for index, error in errors.items():
        described = [] if len(issues) >= MOST_ISSUES else _describe_mail(error)
        issues += [
            MailIssue(Validation.INVALID_PAYLOAD, place, detail, index)
            for place, detail in described
        ]
        unlisted += max(0, error.error_count() - len(described))
    issues += actions.find_issues(call.workspace_id, requests, is_test=call.is_test, now=call.now)
    return InvalidMailError(sorted(issues, key=lambda issue: issue.index), unlisted=unlisted)


def _describe_mail(error: ValidationError) -> list[tuple[str, str]]:
    """At least one issue; one about the mail itself is at `mails`."""
    described = schema_errors.describe_errors(error, MailIn)
    if not described:
        detail = f"Has {error.error_count():,} errors, too many to list. Compare it with /docs."
        return [("mails", detail)]
    return [(place or "mails", detail) for place, detail in described]


def _accept(call: Call, wanted: list[MailRequest], idempotency_key: str | None) -> Receipt:
    return actions.accept(
        call.workspace_id,
        mails=wanted,
        is_test=call.is_test,
        request_id=request_ids.id_of(call.request),
        idempotency_key=idempotency_key,
        now=call.now,
    )


def _accepted(receipt: Receipt, accepted: BaseModel) -> HttpResponse:
    # Encoded here, because ninja would convert it to Python values first, which is slower.
    body = accepted.model_dump_json().encode()
    headers = {_REPLAYED_HEADER: "true"} if receipt.is_repeat else {}
    return HttpResponse(
        body, status=202, content_type="application/json; charset=utf-8", headers=headers
    )


@routes.get("", MailPage)
def search_mails(call: Call, query: Query[MailsQuery]) -> dict[str, object]:
    """The workspace's mails, the newest first; a test key finds those of test keys."""
    page = search.search(
        call.workspace_id,
        query.filters(only_tests=call.is_test),
        limit=query.limit,
        after=query.after,
        now=call.now,
    )
    return {
        "mails": [
            {**asdict(mail), **id_fields(DeliveryId(mail.stream_id, mail.position).text())}
            for mail in page.mails
        ],
        "next": encode_mail_cursor(page.after) if page.after else None,
    }


@routes.get("/{id}", MailOut)
def get_mail(call: Call, id: MailId) -> dict[str, object]:  # noqa: A002  its name in the path
    """The state of the mail, its timeline, and why it waits if it does."""
    delivery_id = DeliveryId.parse(id)
    if delivery_id is None:
        raise NotFoundError
    mail = transactional_mail.find_mail(call.workspace_id, delivery_id, now=call.now)
    if mail is None or (call.is_test and not mail.facts.is_test):
        raise NotFoundError
    return {
        **asdict(mail.facts),
        **id_fields(delivery_id.text()),
        "waiting": mail.waiting,
        "timeline": mail.timeline,
        "events": _describe_events(call, mail.facts.state, delivery_id),
    }


def _describe_events(call: Call, state: State, id_: DeliveryId) -> str | None:
    """Of a mail in doubt: whether the events of its sender arrive, which would end the doubt."""
    stream = queries.find_stream(id_.stream_id) if state is State.IN_DOUBT else None
    if stream is None or stream.is_test:
        return None
    flow = event_flow.find_flow(stream.sender_id, now=call.now)
    return event_flow.describe(flow, now=call.now)


@routes.delete("/{id}")
def cancel_mail(call: Call, id: MailId) -> None:  # noqa: A002  its name in the path
    """Cancels a mail that waits, also for its time or a retry. Idempotent.

    A mail that the provider has or may have, or that has another result, is a conflict.
    """
    delivery_id = DeliveryId.parse(id)
    if delivery_id is None:
        raise NotFoundError
    cancelling.cancel_mail(
        call.workspace_id, delivery_id, only_tests=call.is_test, actor=call.actor
    )
