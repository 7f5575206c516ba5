"""Makes the mails of one round: who gets none, and for everyone else the exact bytes."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from postledger.content import checks, listing
from postledger.content.letter import Letter, LetterError
from postledger.content.listing import Listing
from postledger.content.program import MissingVariableError, RenderError
from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import Body, Entry, Kind, Recipient, Window
from postledger.deliveries.queries import StreamFacts
from postledger.dispatch.rounds import gates
from postledger.dispatch.rounds.round_input import LetterGoneError, RoundInput
from postledger.lib import crashpoints
from postledger.lib.crashpoints import Point
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
    errors: list[tuple[int, Exception]] = field(default_factory=list)  # unforeseen, by position


class Composer:
    """Composes for one stream; pure, given the moment that the mails will bear as their date.

    `sign` makes the reference of the id of a try.
    """

    def __init__(
        self, stream: StreamFacts, sender: Mailbox, now: datetime, sign: Callable[[str], str]
    ) -> None:
        self._stream = stream
        self._sender = sender
        self._now = now
        self._sign = sign
        self._shared: dict[int, Stencil | RefusedError] = {}

    def draft(self, windows: Sequence[Window], read: RoundInput) -> Draft:
        draft = Draft()
        ordered = sorted(windows, key=lambda window: window.batch.lo)
        starts = [window.batch.lo for window in ordered]
        for recipient in read.recipients:
            batch = ordered[bisect_right(starts, recipient.position) - 1].batch
            try:
                found = self._judged(recipient, read, batch.try_number)
            except (BrokenContentError, MemoryError):
                raise
            except Exception as error:  # noqa: BLE001  it is the verdict on this one mail
                draft.errors.append((recipient.position, error))
                found = _failed(recipient.position, error)
            (draft.mails if isinstance(found, Mail) else draft.verdicts).append(found)  # type: ignore[arg-type]
        return draft

    def _judged(self, recipient: Recipient, read: RoundInput, try_number: int) -> Mail | Entry:
        position = recipient.position
        place = position if position in read.bodies else ledger.shared(recipient.letter)
        body = read.bodies.get(place)
        if body is None:
            return entries.invalid(
                position, code=gates.OUTBOX_NOT_FOUND, detail="Its content is not there."
            )
        verdict = gates.verdict(recipient, read.standings)
        if verdict is not None:
            return verdict
        delivery_id = DeliveryId(self._stream.id, position, try_number).text()
        reference = self._sign(delivery_id)
        crashpoints.reached(Point.COMPOSE, recipient.address)
        try:
            if place == position:
                stencil = self._made(body, delivery_id)
                content = stencil.fill(Mailbox(recipient.address, body.to_name), reference)
            else:
                content = self._of_many(recipient, place, read, reference)
        except RefusedError as refused:
            return entries.invalid(position, code=_code(refused), detail=str(refused))
        message = OutgoingMessage(
            id=delivery_id,
            reference=reference,
            sender=self._sender.address,
            recipient=recipient.address,
            content=content,
            tags={"request_id": body.request_id} if body.request_id else {},
        )
        return Mail(position, try_number, recipient.attempts, body.request_id, message)

    def _of_many(self, recipient: Recipient, place: int, read: RoundInput, reference: str) -> bytes:
        body, letter = read.bodies[place], read.letters.get(place)
        stencil = self._of_all(place, body, letter)
        if not isinstance(letter, Letter):
            return stencil.fill(Mailbox(recipient.address, body.to_name), reference)
        link, lines = None, ""
        if read.unsubscribe is not None:
            link = read.unsubscribe.url(recipient.address, list_key=body.list_key)
            lines = listing.leaving(link)
        values = values_of(recipient.address, recipient.variables, link=link)
        filled = letter.fill(values)
        to = Mailbox(recipient.address, _one_line(values["name"]))
        own_name = _one_line(values.get("from_name"))
        sender = replace(self._sender, name=own_name) if own_name else None
        return stencil.fill(to, reference, filled, lines=lines, sender=sender)

    def _of_all(self, place: int, body: Body, letter: Letter | RefusedError | None) -> Stencil:
        """Made, or found wanting, once for all mails of one letter."""
        found = self._shared.get(place)
        if found is None:
            found = letter if isinstance(letter, RefusedError) else self._made_for_all(body, letter)
            self._shared[place] = found
        if isinstance(found, RefusedError):
            raise found.with_traceback(None)
        return found

    def _made_for_all(self, body: Body, letter: Letter | None) -> Stencil | RefusedError:
        try:
            return self._made(body, str(self._stream.id), letter)
        except RefusedError as refused:
            return refused
        except Exception as error:
            raise BrokenContentError(type(error).__name__) from error

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


def _failed(position: int, error: Exception) -> Entry:
    detail = f"Composing it failed: {type(error).__name__}. The worker's log says where."
    return entries.invalid(position, code=gates.INVALID_TEMPLATE, detail=detail)


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


class BrokenContentError(Exception):
    """What all mails of a letter share could not be made, for a reason that nobody foresaw."""
