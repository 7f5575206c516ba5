"""Routes for transactional mail."""

from dataclasses import asdict
from typing import Annotated

from django.http import HttpResponse
from ninja import Header, Query
from pydantic import BaseModel

from postledger.accounts.keys import Scope
from postledger.deliveries import search, transactional_mail
from postledger.lib.errors import NotFoundError
from postledger.lib.ids import DeliveryId
from postledger.observability import context
from postledger.transactional import actions, cancelling
from postledger.transactional.requests import MailRequest, Receipt
from postledger.web.api.common.pagination import encode_mail_cursor
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.email.schemas import (
    AcceptedBatch,
    AcceptedMail,
    AcceptedRequest,
    BatchIn,
    MailIn,
    MailOut,
    MailPage,
    MailsQuery,
    id_fields,
)
from postledger.web.shared import requests

routes = Routes("email", read=Scope.READ, write=Scope.SEND)

IdempotencyKey = Annotated[
    str | None,
    Header(
        None,
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=r"^[\x20-\x7e]+$",
        description="Makes the request safe to repeat: nothing is sent twice under one key.",
    ),
]


@routes.post("/send", AcceptedRequest, status=202, shown_with=None)
def send_mail(call: Call, payload: MailIn, idempotency_key: IdempotencyKey = None) -> HttpResponse:
    """Stores the mail and answers with its id. It is sent at once, or at `send_at`."""
    receipt = _accept(call, [payload.request()], idempotency_key)
    [mail_id] = receipt.ids
    context.bind(outbox_id=mail_id)
    return _accepted(AcceptedRequest(request_id=receipt.request_id, **id_fields(mail_id)))


@routes.post("/batch", AcceptedBatch, status=202, shown_with=None)
def send_mails(
    call: Call, payload: BatchIn, idempotency_key: IdempotencyKey = None
) -> HttpResponse:
    """Stores up to 500 mails, all or none; `errors` names invalid mails by their index."""
    receipt = _accept(call, payload.requests(), idempotency_key)
    accepted = [AcceptedMail(**id_fields(mail_id)) for mail_id in receipt.ids]
    return _accepted(AcceptedBatch(request_id=receipt.request_id, mails=accepted))


def _accept(call: Call, wanted: list[MailRequest], idempotency_key: str | None) -> Receipt:
    return actions.accept(
        call.workspace_id,
        mails=wanted,
        is_test=call.is_test,
        request_id=requests.id_of(call.request),
        idempotency_key=idempotency_key,
        now=call.now,
    )


def _accepted(accepted: BaseModel) -> HttpResponse:
    # Encoded here, because ninja would convert it to Python values first, which is slower.
    body = accepted.model_dump_json().encode()
    return HttpResponse(body, status=202, content_type="application/json; charset=utf-8")


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
def get_mail(call: Call, id: str) -> dict[str, object]:  # noqa: A002  its name in the path
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
    }


@routes.delete("/{id}")
def cancel_mail(call: Call, id: str) -> None:  # noqa: A002  its name in the path
    """Cancels a mail that waits, also for its time or a retry. Idempotent.

    A mail that the provider has or may have, or that has another result, is a conflict.
    """
    delivery_id = DeliveryId.parse(id)
    if delivery_id is None:
        raise NotFoundError
    cancelling.cancel_mail(
        call.workspace_id, delivery_id, only_tests=call.is_test, actor=call.actor
    )
