"""The door for transactional mail: send one, send many, look at one, search."""

from datetime import UTC, datetime
from typing import Annotated, ClassVar

from django.http import HttpRequest, HttpResponse
from ninja import Header, Query, Router
from pydantic import BaseModel

from postledger.accounts.keys import Scope
from postledger.deliveries import mails, search
from postledger.lib.errors import RefusedError
from postledger.lib.ids import DeliveryId
from postledger.observability import context
from postledger.transactional import actions
from postledger.transactional.values import Answer, MailRequest
from postledger.web.api import looking, outgoing
from postledger.web.api.incoming import BatchIn, MailIn
from postledger.web.api.looking import Question
from postledger.web.shared import auth, request_ids
from postledger.web.shared.problems import KINDS, Problem

router = Router(tags=["email"])

# Any operation may end with any of these.
_PROBLEMS = frozenset(KINDS)

_sender = auth.ApiKey(Scope.SEND)
_reader = auth.ApiKey(Scope.READ)

IdempotencyKey = Annotated[
    str | None,
    Header(
        None,
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=r"^[\x20-\x7e]+$",
        description="Your name for this request: sent again under it, it is not done again.",
    ),
]


class MailNotFoundError(RefusedError):
    code: ClassVar[str] = "not_found"

    def __init__(self) -> None:
        super().__init__("This workspace has no mail with this id. Check the id and the key.")


@router.post(
    "/send",
    auth=_sender,
    response={202: outgoing.Taken, _PROBLEMS: Problem},
    operation_id="sendMail",
    summary="Send one mail",
)
def send(
    request: HttpRequest, payload: MailIn, idempotency_key: IdempotencyKey = None
) -> HttpResponse:
    """Stores the mail and answers with its id; it is sent at once, or at `send_at`."""
    answer = _accept(request, [payload.request()], idempotency_key)
    context.bind(outbox_id=answer.ids[0])
    return _taken(outgoing.taken(answer))


@router.post(
    "/batch",
    auth=_sender,
    response={202: outgoing.TakenBatch, _PROBLEMS: Problem},
    operation_id="sendMails",
    summary="Send up to 500 mails",
)
def batch(
    request: HttpRequest, payload: BatchIn, idempotency_key: IdempotencyKey = None
) -> HttpResponse:
    """Stores all of the mails or none; if some are wrong, `errors` names each by its index."""
    answer = _accept(request, payload.requests(), idempotency_key)
    return _taken(outgoing.taken_batch(answer))


def _taken(receipt: BaseModel) -> HttpResponse:
    # Finished here, because ninja would validate it, take it apart and encode it again.
    body = receipt.model_dump_json().encode()
    return HttpResponse(body, status=202, content_type="application/json; charset=utf-8")


def _accept(request: HttpRequest, asked: list[MailRequest], key: str | None) -> Answer:
    caller = auth.caller(request)
    return actions.accept(
        caller.workspace_id,
        mails=asked,
        is_test=caller.is_test,
        request_id=request_ids.of(request),
        idempotency_key=key,
        now=datetime.now(UTC),
    )


@router.get(
    "",
    auth=_reader,
    response={200: outgoing.FoundPage, _PROBLEMS: Problem},
    operation_id="searchMails",
    summary="Search mails",
)
def find(request: HttpRequest, question: Query[Question]) -> outgoing.FoundPage:
    """The workspace's mails, newest first, a page at a time."""
    looking.refuse_unknown(request.GET)
    found = search.search(
        auth.caller(request).workspace_id,
        question.filters(),
        limit=question.limit,
        after=question.after(),
        now=datetime.now(UTC),
    )
    return outgoing.page(found)


@router.get(
    "/{id}",
    auth=_reader,
    response={200: outgoing.WholeMail, _PROBLEMS: Problem},
    operation_id="getMail",
    summary="Look at one mail",
)
def look(request: HttpRequest, id: str) -> outgoing.WholeMail:  # noqa: A002  its name in the path
    """Where the mail stands, what happened to it, and why it waits while it does."""
    named = DeliveryId.parse(id)
    workspace_id = auth.caller(request).workspace_id
    mail = mails.find(workspace_id, named, now=datetime.now(UTC)) if named else None
    if named is None or mail is None:
        raise MailNotFoundError
    return outgoing.whole(named.text(), mail)
