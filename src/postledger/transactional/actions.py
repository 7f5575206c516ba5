"""Accepts requests for mail: validates them, and writes all mails of a request or none."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction
from django.db.models import Q

from postledger.accounts.queries import SenderArchivedError, SenderUnknownError
from postledger.contacts.models import Contact
from postledger.content import letters
from postledger.deliveries import ledger, transactional_mail
from postledger.deliveries.entries import Body, NewDelivery
from postledger.deliveries.reasons import Reason
from postledger.lib import crashpoints, wake
from postledger.lib.crashpoints import Point
from postledger.lib.errors import RefusedError
from postledger.lib.ids import DeliveryId
from postledger.observability import metrics
from postledger.providers import addresses
from postledger.transactional import idempotency, rendering, sender_streams, validation
from postledger.transactional.idempotency import Key, KeyTakenError
from postledger.transactional.rendering import RequestBudget
from postledger.transactional.requests import (
    ContactReference,
    InvalidMailError,
    MailIssue,
    MailRequest,
    MailWarning,
    Receipt,
    Validation,
)
from postledger.transactional.sender_streams import SenderStream

type _Contacts = Mapping[ContactReference, Contact]


@dataclass(frozen=True, slots=True)
class _Request:
    workspace_id: int
    is_test: bool
    request_id: str
    now: datetime


@dataclass(frozen=True, slots=True)
class _PreparedMail:
    """A valid mail, its stream, and the time it is due."""

    stream: SenderStream
    line: NewDelivery
    due_at: datetime | None  # None: at once, by the database's clock
    warnings: Sequence[MailWarning] = ()

    @property
    def reason(self) -> Reason:
        return Reason.SCHEDULED if self.due_at else Reason.READY


def accept(  # noqa: PLR0913  the parts of a request, each by its name
    workspace_id: int,
    *,
    mails: Sequence[MailRequest],
    request_id: str,
    now: datetime,
    is_test: bool = False,
    idempotency_key: str | None = None,
) -> Receipt:
    """Stores all of the mails or none. Idempotent by (workspace, key), apart for test and live: a
    repeat writes nothing and returns the first receipt.

    Without a key, mails of one sender are one statement, which is its own transaction.
    """
    request = _Request(workspace_id, is_test, request_id, now)
    if idempotency_key is None:
        return _accept(request, mails, None)
    key = idempotency.make_key(idempotency_key, mails, is_test=is_test)
    try:
        return _accept(request, mails, key)
    except (KeyTakenError, RefusedError):
        # A request that is refused now may have been accepted the first time.
        receipt = idempotency.find_receipt(workspace_id, key=key)
        if receipt is None:
            raise
        return _warn_again(workspace_id, mails, receipt)


def _warn_again(workspace_id: int, mails: Sequence[MailRequest], receipt: Receipt) -> Receipt:
    """The receipt with the warnings that the first request got: letters never change."""
    ids = {
        index: id_
        for index, mail in enumerate(mails)
        if mail.template and (id_ := DeliveryId.parse(receipt.ids[index]))
    }
    digests = transactional_mail.read_letters(list(ids.values())) if ids else {}
    letters_by_digest = {
        digest: letters.find(workspace_id, digest=digest) for digest in set(digests.values())
    }
    warnings: dict[int, Sequence[MailWarning]] = {}
    for index, id_ in ids.items():
        letter, template = letters_by_digest.get(digests.get(id_, "")), mails[index].template
        if letter and template:
            warnings[index] = rendering.warn_of_variables(letter, template)
    return replace(receipt, warnings=warnings)


def find_issues(
    workspace_id: int, mails: Mapping[int, MailRequest], *, is_test: bool, now: datetime
) -> list[MailIssue]:
    """What is wrong with some mails of a request that is refused anyway, by their indexes."""
    _, issues = _prepare_all(_Request(workspace_id, is_test, "", now), mails)
    return issues


def _accept(request: _Request, mails: Sequence[MailRequest], key: Key | None) -> Receipt:
    prepared, issues = _prepare_all(request, dict(enumerate(mails)))
    if issues:
        raise InvalidMailError(issues)
    try:
        receipt = _write(request, prepared, key)
    except ledger.StreamClosedError:
        streams = {
            stream: sender_streams.replace_if_cancelled(
                request.workspace_id, stream, is_test=request.is_test
            )
            for stream in {mail.stream for mail in prepared}
        }
        prepared = [replace(mail, stream=streams[mail.stream]) for mail in prepared]
        receipt = _write(request, prepared, key)
    crashpoints.reached(Point.AFTER_ACCEPT_BEFORE_WAKE_UP)
    for stream_id in {mail.stream.stream_id for mail in prepared if mail.reason is Reason.READY}:
        _wake_after_commit(stream_id)
    return receipt


def _wake_after_commit(stream_id: int) -> None:
    def wake_stream() -> None:
        wake.notify(stream_id)

    # Robust: a failed wake-up delays the mail, and must not fail a request that was accepted.
    transaction.on_commit(wake_stream, robust=True)


def _prepare_all(
    request: _Request, mails: Mapping[int, MailRequest]
) -> tuple[list[_PreparedMail], list[MailIssue]]:
    """The valid mails, and the issues of every invalid one; raises RequestTooCostlyError."""
    budget = RequestBudget()
    rendered = {index: _render(request, mail, budget) for index, mail in mails.items()}
    contacts = _find_contacts(
        request.workspace_id,
        [
            mail.recipient
            for mail in rendered.values()
            if isinstance(mail, MailRequest) and mail.recipient
        ],
    )
    prepared: list[_PreparedMail] = []
    issues: list[MailIssue] = []
    for index, mail in rendered.items():
        result = _prepare(request, mail, contacts) if isinstance(mail, MailRequest) else mail
        if isinstance(result, _PreparedMail):
            prepared.append(result)
        else:
            metrics.VALIDATION_FAILURES.add(code=result[0].code)
            issues += [replace(issue, index=index) for issue in result]
    return prepared, issues


def _render(
    request: _Request, mail: MailRequest, budget: RequestBudget
) -> MailRequest | list[MailIssue]:
    if issues := validation.check_variables(mail):
        return issues
    rendered = rendering.render(request.workspace_id, mail, budget, is_test=request.is_test)
    if not isinstance(rendered, MailRequest):
        return rendered
    issues = validation.check_payload(rendered, now=request.now)
    if issues or not request.is_test:
        return issues or rendered
    # A test key must not learn from an answer who is a contact.
    return replace(rendered, recipient=None)


def _find_contacts(workspace_id: int, references: Sequence[ContactReference]) -> _Contacts:
    """The contacts that are not deleted; where a reference has two ids, both must match.

    One statement for any number of references, and no statement without any.
    """
    if not references:
        return {}
    ids = [reference.id for reference in references if reference.id is not None]
    names = [reference.external_id for reference in references if reference.external_id is not None]
    rows = Contact.objects.only("pk", "external_id", "address").filter(
        Q(pk__in=ids) | Q(external_id__in=names), workspace_id=workspace_id, deleted_at=None
    )
    by_id = {contact.pk: contact for contact in rows}
    by_name = {contact.external_id: contact for contact in by_id.values()}
    contacts: dict[ContactReference, Contact] = {}
    for reference in references:
        if reference.id is None:
            contact = by_name.get(reference.external_id)
        else:
            contact = by_id.get(reference.id)
        if contact and reference.external_id in {None, contact.external_id}:
            contacts[reference] = contact
    return contacts


def _prepare(
    request: _Request, mail: MailRequest, contacts: _Contacts
) -> _PreparedMail | list[MailIssue]:
    contact = contacts.get(mail.recipient) if mail.recipient else None
    try:
        stream = sender_streams.find_stream(
            request.workspace_id, sender=mail.sender, is_test=request.is_test, now=request.now
        )
    except (SenderUnknownError, SenderArchivedError) as error:
        return [MailIssue(Validation.INVALID_PAYLOAD, "sender", str(error))]
    issues = validation.check_recipient(mail, contact_address=contact.address if contact else None)
    issues = issues or validation.check_content(mail)
    if issues:
        return issues
    is_later = mail.send_at is not None and mail.send_at > request.now
    line = NewDelivery(
        addresses.canonical(mail.to),
        contact_id=contact.pk if contact else None,
        variables=mail.template.variables if mail.template else None,
        body=_body(mail, request.request_id),
    )
    due_at = mail.send_at if is_later else None
    return _PreparedMail(stream, line, due_at, mail.warnings)


def _body(mail: MailRequest, request_id: str) -> Body:
    return Body(
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
        secret_until=mail.secret_until,
    )


def _write(request: _Request, prepared: Sequence[_PreparedMail], key: Key | None) -> Receipt:
    groups: defaultdict[tuple[int, datetime | None, Reason], list[int]] = defaultdict(list)
    for index, mail in enumerate(prepared):
        groups[mail.stream.stream_id, mail.due_at, mail.reason].append(index)
    ids: dict[int, str] = {}
    is_one_statement = key is None and len(groups) == 1
    with nullcontext() if is_one_statement else transaction.atomic():
        for (stream_id, due_at, reason), indexes in groups.items():
            lines = [prepared[index].line for index in indexes]
            positions = ledger.enqueue(stream_id, lines, due_at=due_at, reason=reason)
            for index, position in zip(indexes, positions, strict=True):
                ids[index] = DeliveryId(stream_id, position).text()
        receipt = Receipt(
            request.request_id,
            tuple(ids[index] for index in range(len(prepared))),
            {index: mail.warnings for index, mail in enumerate(prepared) if mail.warnings},
        )
        if key is not None:
            idempotency.store_receipt(request.workspace_id, key=key, receipt=receipt)
    return receipt
