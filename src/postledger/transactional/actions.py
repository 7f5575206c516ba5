"""Takes requests for mail: validates them, and writes all of a request or nothing."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction

from postledger.deliveries import ledger
from postledger.deliveries.entries import Body, Line
from postledger.deliveries.reasons import Reason
from postledger.lib import crashpoints, wake
from postledger.lib.crashpoints import Point
from postledger.lib.errors import RefusedError
from postledger.lib.ids import DeliveryId
from postledger.observability import metrics
from postledger.providers import addresses
from postledger.transactional import filling, flows, idempotency, recipients, validation, values
from postledger.transactional.flows import Flow
from postledger.transactional.idempotency import Key, KeyTakenError
from postledger.transactional.recipients import Found
from postledger.transactional.values import Answer, Flaw, MailRequest, Reference, Validation


@dataclass(frozen=True, slots=True)
class _Asking:
    """Who asks, in which request, and when."""

    workspace_id: int
    is_test: bool
    request_id: str
    now: datetime


@dataclass(frozen=True, slots=True)
class _Post:
    """A mail that may be written: into which stream, and when it is due."""

    flow: Flow
    line: Line
    due_at: datetime | None  # None: at once, by the database's clock
    reason: Reason


def accept(  # noqa: PLR0913  what a request is, each part by its name
    workspace_id: int,
    *,
    mails: Sequence[MailRequest],
    request_id: str,
    now: datetime,
    is_test: bool = False,
    idempotency_key: str | None = None,
) -> Answer:
    """Takes some mails, all of them or none, and says under which ids.

    Idempotent by (workspace, key): a repeat writes nothing and gets the answer of the first.
    Without a key, mails of one sender are one statement, which is its own transaction.
    """
    asking = _Asking(workspace_id, is_test, request_id, now)
    if idempotency_key is None:
        return _taken(asking, mails, None)
    key = Key(idempotency_key, values.digest(mails, is_test=is_test))
    try:
        return _taken(asking, mails, key)
    except (KeyTakenError, RefusedError):
        # What is refused today may have been taken when it was first asked for.
        known = idempotency.answered(workspace_id, key=key)
        if known is None:
            raise
        return known


def _taken(asking: _Asking, mails: Sequence[MailRequest], key: Key | None) -> Answer:
    posts = _posts(asking, mails)
    try:
        answer = _written(asking, posts, key)
    except ledger.StreamClosedError:
        fresh = {flow: _reopened(asking, flow) for flow in {post.flow for post in posts}}
        posts = [replace(post, flow=fresh[post.flow]) for post in posts]
        answer = _written(asking, posts, key)
    crashpoints.reached(Point.AFTER_ACCEPT_BEFORE_BELL)
    for stream_id in {post.flow.stream_id for post in posts if post.reason is Reason.READY}:
        _ring_after_commit(stream_id)
    return answer


def _ring_after_commit(stream_id: int) -> None:
    def ring() -> None:
        wake.ring(stream_id)

    # Robust: a bell that cannot be rung costs time, not mail. The request was taken.
    transaction.on_commit(ring, robust=True)


def _reopened(asking: _Asking, flow: Flow) -> Flow:
    return flows.reopened(asking.workspace_id, flow, is_test=asking.is_test)


def _posts(asking: _Asking, mails: Sequence[MailRequest]) -> list[_Post]:
    """What is to be written; one wrong mail is the refusal of the whole request."""
    put = [filling.filled(asking.workspace_id, mail) for mail in mails]
    broken = [
        validation.integrity(mail, now=asking.now) if isinstance(mail, MailRequest) else mail
        for mail in put
    ]
    sound = [mail for mail in put if isinstance(mail, MailRequest)]
    contacts = recipients.find(
        asking.workspace_id, [mail.recipient for mail in sound if mail.recipient is not None]
    )
    posts: list[_Post] = []
    all_flaws: list[Flaw] = []
    for index, (mail, flaws) in enumerate(zip(put, broken, strict=True)):
        post = flaws or _post(asking, mail, contacts)  # type: ignore[arg-type]  # sound without flaws
        if isinstance(post, _Post):
            posts.append(post)
        else:
            metrics.VALIDATION_FAILURES.add(code=post[0].code)
            all_flaws += [replace(flaw, index=index) for flaw in post]
    if all_flaws:
        raise values.refusal(all_flaws)
    return posts


def _post(
    asking: _Asking, mail: MailRequest, contacts: Mapping[Reference, Found]
) -> _Post | list[Flaw]:
    contact = contacts.get(mail.recipient) if mail.recipient else None
    try:
        flow = flows.find(
            asking.workspace_id, sender=mail.sender, is_test=asking.is_test, now=asking.now
        )
    except (flows.UnknownSenderError, flows.SenderRequiredError) as error:
        return [Flaw(Validation.INVALID_PAYLOAD, "sender", str(error))]
    flaws = validation.recipient(mail, contact_address=contact.address if contact else None)
    flaws = flaws or validation.template(mail)
    if flaws:
        return flaws
    is_later = mail.send_at is not None and mail.send_at > asking.now
    return _Post(
        flow=flow,
        line=_line(mail, contact, asking.request_id),
        due_at=mail.send_at if is_later else None,
        reason=Reason.SCHEDULED if is_later else Reason.READY,
    )


def _line(mail: MailRequest, contact: Found | None, request_id: str) -> Line:
    body = Body(
        subject=mail.subject,
        html=mail.html,
        text=mail.text,
        headers=mail.headers,
        request_id=request_id,
        to_name=mail.to_name,
        reply_to=addresses.canonical(mail.reply_to) if mail.reply_to else "",
        tags=tuple(dict.fromkeys(mail.tags)),
        attachments=mail.attachments,
        letter=mail.letter,
    )
    return Line(
        addresses.canonical(mail.to),
        contact_id=contact.id if contact else None,
        variables=mail.template.variables if mail.template else None,
        body=body,
    )


def _written(asking: _Asking, posts: Sequence[_Post], key: Key | None) -> Answer:
    groups: defaultdict[tuple[int, datetime | None, Reason], list[int]] = defaultdict(list)
    for index, post in enumerate(posts):
        groups[post.flow.stream_id, post.due_at, post.reason].append(index)
    ids: dict[int, str] = {}
    is_one_statement = key is None and len(groups) == 1
    with nullcontext() if is_one_statement else transaction.atomic():
        for (stream_id, due_at, reason), indexes in groups.items():
            lines = [posts[index].line for index in indexes]
            positions = ledger.enqueue(stream_id, lines, due_at=due_at, reason=reason)
            for index, position in zip(indexes, positions, strict=True):
                ids[index] = DeliveryId(stream_id, position).text()
        answer = Answer(asking.request_id, tuple(ids[index] for index in range(len(posts))))
        if key is not None:
            idempotency.remember(asking.workspace_id, key=key, answer=answer)
    return answer
