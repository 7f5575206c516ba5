"""Makes the mails of one round: who gets none, and for everyone else the exact bytes."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from postledger.content import checks
from postledger.deliveries import entries
from postledger.deliveries.entries import Body, Entry, Recipient, Window
from postledger.deliveries.ledger import SHARED
from postledger.deliveries.queries import StreamFacts
from postledger.dispatch import gates
from postledger.dispatch.page import Page
from postledger.lib.errors import RefusedError
from postledger.lib.ids import DeliveryId
from postledger.providers.base import Mailbox, OutgoingMessage, Parts
from postledger.providers.mime import Stencil


@dataclass(frozen=True, slots=True)
class Mail:
    """One mail that is to go, and what its answer will be weighed with."""

    position: int
    try_number: int
    attempts: int
    request_id: str
    message: OutgoingMessage


@dataclass(frozen=True, slots=True)
class Draft:
    """One round, composed: the mails that go, and the verdicts on those that do not."""

    mails: list[Mail] = field(default_factory=list)
    verdicts: list[Entry] = field(default_factory=list)


class Composer:
    """Composes for one stream; pure, given the moment that the mails will bear as their date."""

    def __init__(self, stream: StreamFacts, sender: Mailbox, now: datetime) -> None:
        self._stream = stream
        self._sender = sender
        self._now = now
        self._shared: Stencil | RefusedError | None = None

    def draft(self, windows: Sequence[Window], page: Page) -> Draft:
        draft = Draft()
        ordered = sorted(windows, key=lambda window: window.batch.lo)
        starts = [window.batch.lo for window in ordered]
        for recipient in page.recipients:
            batch = ordered[bisect_right(starts, recipient.position) - 1].batch
            found = self._judged(recipient, page, batch.try_number)
            (draft.mails if isinstance(found, Mail) else draft.verdicts).append(found)  # type: ignore[arg-type]
        return draft

    def _judged(self, recipient: Recipient, page: Page, try_number: int) -> Mail | Entry:
        position = recipient.position
        body = page.bodies.get(position) or page.bodies.get(SHARED)
        if body is None:
            return entries.invalid(
                position, code=gates.OUTBOX_NOT_FOUND, detail="Its content is not there."
            )
        verdict = gates.verdict(recipient, page.standings, try_number=try_number)
        if verdict is not None:
            return verdict
        return self._composed(recipient, body, try_number, is_shared=position not in page.bodies)

    def _composed(
        self, recipient: Recipient, body: Body, try_number: int, *, is_shared: bool
    ) -> Mail | Entry:
        delivery_id = DeliveryId(self._stream.id, recipient.position, try_number).text()
        try:
            stencil = self._of_all(body) if is_shared else self._made(body, delivery_id)
            content = stencil.fill(Mailbox(recipient.address, body.to_name), delivery_id)
        except BadContentError as bad:
            return entries.invalid(recipient.position, code=gates.INVALID_TEMPLATE, detail=str(bad))
        except RefusedError as refused:
            return entries.invalid(
                recipient.position, code=gates.INVALID_PAYLOAD, detail=str(refused)
            )
        message = OutgoingMessage(
            id=delivery_id,
            sender=self._sender.address,
            recipient=recipient.address,
            content=content,
            tags={"request_id": body.request_id} if body.request_id else {},
        )
        return Mail(recipient.position, try_number, recipient.attempts, body.request_id, message)

    def _of_all(self, body: Body) -> Stencil:
        """Made, or found wanting, once for all mails."""
        if self._shared is None:
            try:
                self._shared = self._made(body, str(self._stream.id))
            except RefusedError as refused:
                self._shared = refused
        if isinstance(self._shared, RefusedError):
            raise self._shared.with_traceback(None)
        return self._shared

    def _made(self, body: Body, boundary: str) -> Stencil:
        found = checks.findings(subject=body.subject, html=body.html)
        if found:
            raise BadContentError(" ".join(finding.remedy for finding in found))
        letter = Parts(
            sender=self._sender,
            to=Mailbox(""),
            subject=body.subject,
            date=self._now,
            html=body.html,
            text=body.text,
            reply_to=(Mailbox(body.reply_to),) if body.reply_to else (),
            headers=body.headers or {},
            attachments=tuple(body.attachments),
        )
        return Stencil(letter, boundary=boundary)


class BadContentError(RefusedError):
    code = "invalid_template"
