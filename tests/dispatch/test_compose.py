"""What is put on the wire for each recipient, read back as a mail program would read it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from itertools import product

from postledger.contacts.standings import Standings
from postledger.content.rendering.html import checks
from postledger.deliveries.entries import AttemptOutcome, Batch, Body, Recipient, StreamKind, Window
from postledger.deliveries.ledger import shared_position
from postledger.deliveries.queries import StreamFacts
from postledger.dispatch.rounds import compose
from postledger.dispatch.rounds.compose import ComposedRound, Composer
from postledger.dispatch.rounds.round_input import RoundInput
from postledger.lib.ids import DeliveryId
from postledger.mailing import gates
from postledger.providers import mime
from postledger.providers.base import Attachment, Form, Mailbox, Parts
from tests.providers.messages import NOON

STREAM = 1_382_979_469_313
PLACES = (0, shared_position(0))  # of a body of its own, and of one for all
SENDER = Mailbox("news@acme.example", "Acme Nëws")
PLAIN = Body(subject="Hello", html="<p>Good morning.</p>", text="Good morning.")
FULL = Body(
    subject="Grüße",
    html="<p>Good morning, <b>Alice</b>.</p>",
    text="Good morning, Alice.",
    headers={"X-Campaign": "spring", "List-Unsubscribe": "<https://acme.example/u>"},
    request_id="req-1",
    to_name="Alice Ärmel",
    reply_to="desk@acme.example",
    attachments=(
        Attachment("bill.pdf", "application/pdf", b"%PDF-1.7\x00\xff"),
        Attachment("größe.txt", "text/plain", b"42"),
    ),
)


def facts(kind: StreamKind) -> StreamFacts:
    return StreamFacts(
        id=STREAM,
        workspace_id=1,
        sender_id=2,
        kind=kind,
        title="News",
        is_test=False,
        created_at=NOON,
        cancelled_at=None,
        cancelled_by=None,
        holds=(),
    )


def recipients(*addresses: str, attempts: int = 0) -> list[Recipient]:
    return [Recipient(at, address, None, None, attempts) for at, address in enumerate(addresses)]


def draft(
    to: Sequence[Recipient],
    bodies: Mapping[int, Body],
    *,
    try_number: int = 1,
    suppressed: Mapping[str, str] | None = None,
    form: Form = Form.MIME,
) -> ComposedRound:
    batch = Batch(1, STREAM, 0, len(to) or 1, try_number, 0)
    page = RoundInput(to, bodies, Standings(suppressed or {}, {}))
    composer = Composer(facts(StreamKind.CAMPAIGN), SENDER, NOON, sign=str, form=form)
    return composer.compose([Window(batch, batch.hi)], page)


def single(body: Body, *, try_number: int = 1) -> EmailMessage:
    [mail] = draft(recipients("alice@example.com"), {0: body}, try_number=try_number).mails
    return read(mail.message.content)


def read(content: object) -> EmailMessage:
    assert isinstance(content, bytes)
    strict = policy.default.clone(raise_on_defect=True)
    parsed = BytesParser(policy=strict).parsebytes(content)
    assert isinstance(parsed, EmailMessage)
    return parsed


def test_a_mail_has_the_headers_it_needs_and_no_empty_ones() -> None:
    message, plain = single(FULL), single(PLAIN)

    assert str(message["From"]) == "Acme Nëws <news@acme.example>"
    assert str(message["To"]) == "Alice Ärmel <alice@example.com>"
    assert str(message["Reply-To"]) == "desk@acme.example"
    assert str(message["Subject"]) == "Grüße"
    assert str(message["X-Campaign"]) == "spring"
    assert str(message["List-Unsubscribe"]) == "<https://acme.example/u>"
    assert message["Date"].datetime == NOON
    assert str(plain["To"]) == "alice@example.com"
    assert plain["Reply-To"] is None
    assert single(Body(subject="Hello", html="<p>Hi.</p>")).get_content_type() == "text/html"


def test_the_message_id_is_that_of_the_mail_and_our_own_that_of_the_try() -> None:
    for try_number in (1, 2, 4000):
        message = single(PLAIN, try_number=try_number)

        assert str(message["Message-ID"]) == f"<{DeliveryId(STREAM, 0).uuid()}@acme.example>"
        assert str(message["X-Postledger-Id"]) == str(DeliveryId(STREAM, 0, try_number).uuid())


def test_the_envelope_bears_the_try_the_addresses_and_the_request() -> None:
    [mail] = draft(recipients("alice@example.com", attempts=2), {0: FULL}, try_number=3).mails

    assert (mail.position, mail.try_number, mail.attempts) == (0, 3, 2)
    assert mail.request_id == "req-1"
    assert mail.message.id == DeliveryId(STREAM, 0, 3).text()
    assert mail.message.sender == "news@acme.example"
    assert mail.message.recipient == "alice@example.com"
    assert mail.message.tags == {"request_id": "req-1"}


def test_text_html_and_attachments_arrive_as_they_were_given() -> None:
    message = single(FULL)

    text, html = message.get_body(("plain",)), message.get_body(("html",))
    assert text is not None
    assert html is not None
    assert text.get_content().strip() == FULL.text
    assert html.get_content().strip() == FULL.html
    assert [
        (part.get_filename(), part.get_content_type(), part.get_payload(decode=True))
        for part in message.iter_attachments()
    ] == [
        (attachment.filename, attachment.content_type, attachment.content)
        for attachment in FULL.attachments
    ]


def test_bad_content_ends_the_mail_and_says_how_to_mend_it() -> None:
    bad = [
        (Body(subject="", html="<p>x</p>"), "Give the mail a subject"),
        (Body(subject="x" * 151, html="<p>x</p>"), "shorten it to 150"),
        (Body(subject="Hi", html="  "), "Give the mail an HTML body"),
        (Body(subject="Hi", html="<script>1</script>"), "Remove the script element"),
        (Body(subject="Hi", html="<a href='javascript:x'>y</a>"), "javascript: URL"),
        (Body(subject="Hi", html="<p onclick='x'>y</p>"), "Remove the event handler"),
        (Body(subject="Hi", html="x" * (checks.MAX_HTML_BYTES + 1)), "shorten it to 524,288"),
    ]
    for (body, remedy), place in product(bad, PLACES):
        composed = draft(recipients("alice@example.com"), {place: body})

        [verdict] = composed.verdicts
        assert not composed.mails
        assert (verdict.position, verdict.outcome) == (0, AttemptOutcome.INVALID)
        assert verdict.code == compose.INVALID_TEMPLATE
        assert remedy in (verdict.detail or ""), place


def test_what_would_smuggle_a_header_in_ends_the_mail() -> None:
    plain = Body(subject="Hello", html="<p>x</p>")
    smuggling = [
        replace(plain, subject="Hello\r\nBcc: eve@example.com"),
        replace(plain, headers={"X-Tag": "a\r\nBcc: eve@example.com"}),
        replace(plain, headers={"X-Tag\r\nBcc": "eve@example.com"}),
        replace(plain, headers={"Bcc": "eve@example.com"}),
        replace(plain, reply_to="a@b.example\r\nBcc: eve@example.com"),
        replace(plain, to_name="Alice\r\nBcc: eve@example.com"),
        replace(plain, attachments=(Attachment("a\r\nBcc: eve@example.com", "text/plain", b""),)),
        replace(plain, attachments=(Attachment("a", "text/plain\r\nBcc: eve@example.com", b""),)),
    ]
    for body, place, form in product(smuggling, PLACES, Form):
        composed = draft(recipients("alice@example.com"), {place: body}, form=form)

        assert not composed.mails, (body, place, form)
        assert [verdict.code for verdict in composed.verdicts] == [compose.INVALID_PAYLOAD]


def test_the_parts_of_a_mail_make_the_same_mail() -> None:
    to = recipients("alice@example.com")

    for body, place in product((PLAIN, FULL), PLACES):
        [as_parts] = draft(to, {place: body}, form=Form.PARTS).mails
        [as_bytes] = draft(to, {place: body}).mails

        assert isinstance(as_parts.message.content, Parts)
        composed = mime.compose(as_parts.message.content, reference=as_parts.message.reference)
        assert _without_boundary(composed) == _without_boundary(as_bytes.message.content)


def test_a_mail_whose_content_is_not_there_ends() -> None:
    composed = draft(recipients("alice@example.com"), {})

    assert [verdict.code for verdict in composed.verdicts] == [compose.OUTBOX_NOT_FOUND]


def test_bad_shared_content_ends_every_mail_with_the_same_words() -> None:
    composed = draft(
        recipients("a@example.com", "b@example.com", "c@example.com"),
        {shared_position(0): Body("", "")},
    )

    assert [verdict.position for verdict in composed.verdicts] == [0, 1, 2]
    assert len({verdict.detail for verdict in composed.verdicts}) == 1


def test_one_mail_that_must_not_go_leaves_the_others() -> None:
    to = recipients("a@example.com", "b@example.com", "nobody", "c@example.com")

    composed = draft(to, {shared_position(0): PLAIN}, suppressed={"b@example.com": "bounced"})

    assert [mail.message.recipient for mail in composed.mails] == ["a@example.com", "c@example.com"]
    assert [(verdict.position, verdict.code) for verdict in composed.verdicts] == [
        (1, "bounced"),
        (2, gates.INVALID_EMAIL),
    ]


def test_each_mail_bears_the_try_of_its_own_batch() -> None:
    windows = [
        Window(Batch(2, STREAM, 5, 9, 3, 0), 9),
        Window(Batch(1, STREAM, 0, 5, 1, 0), 5),
        Window(Batch(3, STREAM, 20, 21, 7, 0), 21),
    ]
    to = [Recipient(at, f"r{at}@example.com", None, None, 0) for at in (0, 4, 5, 8, 20)]

    composer = Composer(facts(StreamKind.CAMPAIGN), SENDER, NOON, sign=str)
    composed = composer.compose(
        windows, RoundInput(to, {shared_position(0): PLAIN}, Standings({}, {}))
    )

    assert [mail.try_number for mail in composed.mails] == [1, 1, 3, 3, 7]


def test_a_shared_body_gives_the_bytes_that_composing_alone_gives() -> None:
    to = recipients("alice@example.com", "bob@example.com")

    for body in (PLAIN, FULL):
        shared = draft(to, {shared_position(0): body}).mails
        alone = draft(to, {0: body, 1: body}).mails

        assert [_without_boundary(one.message.content) for one in shared] == [
            _without_boundary(one.message.content) for one in alone
        ]
        assert [one.message.id for one in shared] == [one.message.id for one in alone]


def _without_boundary(content: object) -> bytes:
    assert isinstance(content, bytes)
    return re.sub(rb"=_[0-9a-f-]+?(?=-a|--|\"|\r)", b"=_boundary", content)
