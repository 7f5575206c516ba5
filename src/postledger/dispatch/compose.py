"""Makes the mails of one round: who gets none, and for everyone else the exact bytes."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from postledger.content import checks, listing
from postledger.content.letter import Letter, LetterError
from postledger.content.listing import Listing
from postledger.content.program import MissingVariableError, RenderError
from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import Body, Entry, Kind, Recipient, Window
from postledger.deliveries.queries import StreamFacts
from postledger.dispatch import gates
from postledger.dispatch.page import LetterGoneError, Page
from postledger.lib.errors import RefusedError
from postledger.lib.ids import DeliveryId
from postledger.providers import addresses
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
        self._shared: dict[int, Stencil | RefusedError] = {}

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
        place = position if position in page.bodies else ledger.shared(recipient.letter)
        body = page.bodies.get(place)
        if body is None:
            return entries.invalid(
                position, code=gates.OUTBOX_NOT_FOUND, detail="Its content is not there."
            )
        verdict = gates.verdict(recipient, page.standings, try_number=try_number)
        if verdict is not None:
            return verdict
        delivery_id = DeliveryId(self._stream.id, position, try_number).text()
        try:
            if place == position:
                content = self._alone(recipient, body, delivery_id)
            else:
                content = self._of_many(recipient, place, page, delivery_id)
        except RefusedError as refused:
            return entries.invalid(position, code=_code(refused), detail=str(refused))
        message = OutgoingMessage(
            id=delivery_id,
            sender=self._sender.address,
            recipient=recipient.address,
            content=content,
            tags={"request_id": body.request_id} if body.request_id else {},
        )
        return Mail(position, try_number, recipient.attempts, body.request_id, message)

    def _alone(self, recipient: Recipient, body: Body, delivery_id: str) -> bytes:
        stencil = self._made(body, delivery_id)
        return stencil.fill(Mailbox(recipient.address, body.to_name), delivery_id)

    def _of_many(self, recipient: Recipient, place: int, page: Page, delivery_id: str) -> bytes:
        body, letter = page.bodies[place], page.letters.get(place)
        stencil = self._of_all(place, body, letter)
        if not isinstance(letter, Letter):
            return stencil.fill(Mailbox(recipient.address, body.to_name), delivery_id)
        link, lines = None, ""
        if page.leaving is not None:
            link = page.leaving.url(recipient.address, list_key=body.list_key)
            lines = listing.leaving(link)
        values = values_of(recipient.address, recipient.variables, link=link)
        filled = letter.fill(values)
        to = Mailbox(recipient.address, _one_line(values["name"]))
        own_name = _one_line(values.get("from_name"))
        sender = replace(self._sender, name=own_name) if own_name else None
        return stencil.fill(to, delivery_id, filled, lines=lines, sender=sender)

    def _of_all(self, place: int, body: Body, letter: Letter | RefusedError | None) -> Stencil:
        """Made, or found wanting, once for all mails of one letter."""
        found = self._shared.get(place)
        if found is None:
            try:
                if isinstance(letter, RefusedError):
                    raise letter
                found = self._made(body, str(self._stream.id), letter)
            except RefusedError as refused:
                found = refused
            self._shared[place] = found
        if isinstance(found, RefusedError):
            raise found.with_traceback(None)
        return found

    def _made(self, body: Body, boundary: str, letter: Letter | None = None) -> Stencil:
        if letter is None:
            found = checks.findings(subject=body.subject, html=body.html)
            if found:
                raise BadContentError(" ".join(finding.remedy for finding in found))
        parts = Parts(
            sender=self._sender,
            to=Mailbox(""),
            subject=body.subject,
            date=self._now,
            html=body.html,
            text=body.text,
            reply_to=(Mailbox(body.reply_to),) if body.reply_to else (),
            headers={**self._headers(body), **(body.headers or {})},
            attachments=tuple(body.attachments),
        )
        if letter is None:
            return Stencil(parts, boundary=boundary)
        return Stencil(parts, boundary=boundary, text=letter.text_pattern, html=letter.html_pattern)

    def _headers(self, body: Body) -> dict[str, str]:
        if not body.list_key:
            return {}
        is_campaign = self._stream.kind is Kind.CAMPAIGN
        return Listing(
            workspace_id=self._stream.workspace_id,
            list_key=body.list_key,
            domain=addresses.domain_of(self._sender.address),
            mail_class=listing.Class.CAMPAIGN if is_campaign else listing.Class.NOTIFICATION,
            stream_id=self._stream.id,
        ).fixed()


def values_of(
    address: str, variables: Mapping[str, object] | None, *, link: str | None
) -> dict[str, object]:
    """What a letter is filled in with for one reader; `link` is how they leave."""
    values = {"name": "", **(variables or {}), "email": address}
    return values if link is None else {**values, "unsubscribe_url": link}


def _one_line(name: object) -> str:
    """A contact's names may hold line ends; a header is one line."""
    return " ".join(name.split()) if isinstance(name, str) else ""


def _code(refused: RefusedError) -> str:
    match refused:
        case MissingVariableError():
            return refused.code
        case BadContentError() | LetterError() | RenderError():
            return gates.INVALID_TEMPLATE
        case LetterGoneError():
            return gates.OUTBOX_NOT_FOUND
        case _:
            return gates.INVALID_PAYLOAD


class BadContentError(RefusedError):
    code = "invalid_template"
