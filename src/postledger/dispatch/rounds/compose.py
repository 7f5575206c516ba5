"""Composes the mails of one round; recipients who must not be mailed get a verdict instead."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType

from postledger.content import list_headers
from postledger.content.rendering.compiled_template import MissingVariableError, RenderError
from postledger.content.rendering.html import checks
from postledger.content.rendering.letter import TO_NAME, Letter, LetterError
from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import Body, Entry, Recipient, StreamKind, Window
from postledger.deliveries.queries import StreamFacts
from postledger.dispatch.rounds.round_input import LetterGoneError, RoundInput
from postledger.lib import crashpoints
from postledger.lib.crashpoints import Point
from postledger.lib.errors import RefusedError
from postledger.lib.ids import DeliveryId
from postledger.mailing import gates
from postledger.mailing.terms import NO_JOB, NO_TERMS, JobPolicy
from postledger.providers import addresses, headers, mime
from postledger.providers.base import JOB_TAGS, Form, Mailbox, OutgoingMessage, Parts
from postledger.providers.mime import Filling, Stencil

INVALID_PAYLOAD = "INVALID_PAYLOAD"
INVALID_TEMPLATE = "INVALID_TEMPLATE"
OUTBOX_NOT_FOUND = "OUTBOX_NOT_FOUND"

_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ComposedMail:
    """One mail to send, and what is needed to book its answer."""

    position: int
    try_number: int
    attempts: int
    request_id: str
    message: OutgoingMessage
    policy: JobPolicy = NO_JOB  # of its job, where it has one


@dataclass(frozen=True, slots=True)
class ComposedRound:
    """The mails to send, and the verdicts on those that must not be sent."""

    mails: list[ComposedMail] = field(default_factory=list)
    verdicts: list[Entry] = field(default_factory=list)
    errors: list[tuple[int, Exception]] = field(default_factory=list)  # unforeseen, by position

    def date_verdicts(self, seconds: float) -> None:
        """Gives the verdicts the time that the round took to come to them."""
        duration_ms = int(seconds * 1000)
        self.verdicts[:] = [replace(entry, duration_ms=duration_ms) for entry in self.verdicts]

    def list_errors(self) -> Iterator[tuple[Entry, Exception]]:
        """The unforeseen errors, each with the verdict that it led to."""
        verdicts = {entry.position: entry for entry in self.verdicts}
        return ((verdicts[position], error) for position, error in self.errors)


@dataclass(frozen=True, slots=True)
class _Template:
    """The content that several mails, or one, are filled in from; made once."""

    parts: Parts
    stencil: Stencil
    letter: Letter | None


class Composer:
    """Composes for one stream; pure, given the moment that the mails will bear as their date.

    `sign` makes the reference of the id of a try; `form` is that of the provider.
    """

    def __init__(
        self,
        stream: StreamFacts,
        sender: Mailbox,
        now: datetime,
        sign: Callable[[str], str],
        form: Form = Form.MIME,
    ) -> None:
        self._stream = stream
        self._sender = sender
        self._now = now
        self._sign = sign
        self._form = form
        self._shared: dict[int, _Template | RefusedError] = {}

    def has_untried_tags(self, read: RoundInput) -> bool:
        """Whether a letter with Liquid tags or filters is in the round for the first time."""
        return any(
            isinstance(letter, Letter) and not letter.is_plain and position not in self._shared
            for position, letter in read.letters.items()
        )

    def compose(self, windows: Sequence[Window], read: RoundInput) -> ComposedRound:
        composed = ComposedRound()
        for _ in self.compose_each(windows, read, composed):
            pass
        return composed

    def compose_each(
        self, windows: Sequence[Window], read: RoundInput, composed: ComposedRound
    ) -> Iterator[None]:
        """Adds one mail or verdict for each step; another thread may take the next step."""
        ordered = sorted(windows, key=lambda window: window.batch.lo)
        starts = [window.batch.lo for window in ordered]
        for recipient in read.recipients:
            batch = ordered[bisect_right(starts, recipient.position) - 1].batch
            try:
                result = self._compose_mail(recipient, read, batch.try_number)
            except (BrokenContentError, MemoryError):
                raise
            except Exception as error:  # noqa: BLE001  it is the verdict on this one mail
                composed.errors.append((recipient.position, error))
                result = _failed(recipient.position, error)
            if isinstance(result, ComposedMail):
                composed.mails.append(result)
            else:
                composed.verdicts.append(result)
            yield

    def _compose_mail(
        self, recipient: Recipient, read: RoundInput, try_number: int
    ) -> ComposedMail | Entry:
        position = recipient.position
        terms = read.terms.get(position, NO_TERMS)
        if terms.verdict is not None:  # also of one that has no letter
            return terms.verdict
        is_own = position in read.bodies
        body_position = position if is_own else ledger.shared_position(recipient.letter)
        body = read.bodies.get(body_position)
        if body is None:
            return entries.invalid(
                position, code=OUTBOX_NOT_FOUND, detail="Its content does not exist."
            )
        if body.secret_until is not None and not body.text:
            detail = "The link in it does not work any more, or is no longer kept."
            return entries.expired(position, detail=detail)
        verdict = gates.find_verdict(recipient, read.standings)
        if verdict is not None:
            return verdict
        delivery_id = DeliveryId(self._stream.id, position, try_number).text()
        reference = self._sign(delivery_id)
        crashpoints.reached(Point.COMPOSE, recipient.address)
        try:
            if is_own:
                template = self._make_template(body, delivery_id, None)
                content = self._write(template, reference, Mailbox(recipient.address, body.to_name))
            else:
                content = self._fill_shared(recipient, body_position, read, reference)
        except RefusedError as refused:
            return entries.invalid(position, code=_failure_code(refused), detail=str(refused))
        message = OutgoingMessage(
            id=delivery_id,
            reference=reference,
            sender=self._sender.address,
            recipient=recipient.address,
            content=content,
            tags={"request_id": body.request_id} if body.request_id else terms.tags,
        )
        request_id = body.request_id or terms.tags.get("traceId", "")
        attempts = recipient.attempts
        return ComposedMail(position, try_number, attempts, request_id, message, terms.policy)

    def _fill_shared(
        self, recipient: Recipient, body_position: int, read: RoundInput, reference: str
    ) -> Parts | bytes:
        body, letter = read.bodies[body_position], read.letters.get(body_position)
        template = self._shared_template(body_position, body, letter)
        if not isinstance(letter, Letter):
            return self._write(template, reference, Mailbox(recipient.address, body.to_name))
        link, manage_link, lines = None, None, ""
        if read.unsubscribe is not None:
            link, page = read.unsubscribe.urls(recipient.address, list_key=body.list_key)
            lines = list_headers.write_unsubscribe(link)
            manage_link = page if self._stream.kind is StreamKind.TOPIC else None
        values = letter_values(
            recipient.address, recipient.variables, link=link, manage_link=manage_link
        )
        filling = letter.fill(values)
        to = Mailbox(recipient.address, _single_line(values.get(TO_NAME, values["name"])))
        own_name = _single_line(values.get("from_name"))
        sender = replace(self._sender, name=own_name) if own_name else None
        own = write_tag_headers(read.terms.get(recipient.position, NO_TERMS).tags)
        return self._write(
            template, reference, to, filling, lines=lines, own_headers=own, sender=sender
        )

    def _write(  # noqa: PLR0913  what one mail has of its own
        self,
        template: _Template,
        reference: str,
        to: Mailbox,
        filling: Filling | None = None,
        *,
        lines: str = "",
        own_headers: Mapping[str, str] = _NO_HEADERS,
        sender: Mailbox | None = None,
    ) -> Parts | bytes:
        """The content in the provider's form; `lines` are finished headers of this mail alone, and
        `own_headers` some of ours that are still to be written.
        """
        if self._form is Form.MIME:
            lines += "".join([headers.text(name, value) for name, value in own_headers.items()])
            return template.stencil.fill(to, reference, filling, lines=lines, sender=sender)
        finished = dict(line.split(": ", 1) for line in lines.splitlines())
        parts = replace(
            template.parts,
            to=to,
            sender=sender or self._sender,
            headers={**template.parts.headers, **finished, **own_headers},
        )
        if filling and template.letter:
            html, text = template.letter.join(filling)
            parts = replace(parts, subject=filling.subject, html=html, text=text)
        mime.check_own(parts)
        return parts

    def _shared_template(
        self, body_position: int, body: Body, letter: Letter | RefusedError | None
    ) -> _Template:
        """Made, or refused, once for all mails of one letter."""
        template = self._shared.get(body_position)
        if template is None:
            try:
                template = (
                    letter
                    if isinstance(letter, RefusedError)
                    else self._make_template(body, str(self._stream.id), letter)
                )
            except RefusedError as refused:
                template = refused
            except Exception as error:
                raise BrokenContentError(type(error).__name__) from error
            self._shared[body_position] = template
        if isinstance(template, RefusedError):
            raise template.with_traceback(None)
        return template

    def _make_template(self, body: Body, boundary: str, letter: Letter | None) -> _Template:
        if letter is None:
            findings = checks.recheck(subject=body.subject, html=body.html)
            if findings:
                raise BadContentError(" ".join(finding.remedy for finding in findings))
        parts = Parts(
            sender=self._sender,
            to=Mailbox(""),
            subject=body.subject,
            date=self._now,
            html=body.html,
            text=body.text,
            reply_to=(Mailbox(body.reply_to),) if body.reply_to else (),
            headers={**self._list_headers(body), **(body.headers or {})},
            attachments=tuple(body.attachments),
        )
        text, html = (letter.text_pattern, letter.html_pattern) if letter else (None, None)
        return _Template(parts, Stencil(parts, boundary=boundary, text=text, html=html), letter)

    def _list_headers(self, body: Body) -> dict[str, str]:
        if not body.list_key:
            return {}
        return list_headers.identify_list(
            body.list_key,
            workspace_id=self._stream.workspace_id,
            stream_id=self._stream.id,
            domain=addresses.domain_of(self._sender.address),
            is_campaign=self._stream.kind is StreamKind.CAMPAIGN,
        )


def letter_values(
    address: str,
    variables: Mapping[str, object] | None,
    *,
    link: str | None,
    manage_link: str | None = None,
) -> dict[str, object]:
    """The values that a letter is filled in with for one reader.

    `link` unsubscribes them; `manage_link` is where readers of a topic change what they get, and a
    job may name other pages for both in the text. The footer's link stays ours.
    """
    values = {"name": "", **(variables or {}), "email": address}
    if link is None:
        return values
    if manage_link is not None:
        values = {"manageUrl": manage_link, "unsubscribeUrl": link, **values}
    return {**values, "unsubscribe_url": link}


def write_tag_headers(tags: Mapping[str, str]) -> dict[str, str]:
    """The tags of a notification as headers, for services that have no tags."""
    return {JOB_TAGS[name]: value for name, value in tags.items() if name in JOB_TAGS}


def _failed(position: int, error: Exception) -> Entry:
    detail = f"Composing it failed: {type(error).__name__}. The worker's log says where."
    return entries.invalid(position, code=INVALID_TEMPLATE, detail=detail)


def _single_line(name: object) -> str:
    """A contact's names may contain line ends; a header is one line."""
    return " ".join(name.split()) if isinstance(name, str) else ""


def _failure_code(refused: RefusedError) -> str:
    match refused:
        case MissingVariableError():
            return refused.code
        case BadContentError() | LetterError() | RenderError():
            return INVALID_TEMPLATE
        case LetterGoneError():
            return OUTBOX_NOT_FOUND
        case _:
            return INVALID_PAYLOAD


class BadContentError(RefusedError):
    code = "invalid_template"


class BrokenContentError(Exception):
    """An unforeseen error while the shared template of a letter was made."""
