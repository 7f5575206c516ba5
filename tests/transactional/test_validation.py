"""The three validations of a request, each with its code, and in their order."""

import string
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from postledger.lib.ids import DeliveryId
from postledger.providers import mime
from postledger.providers.base import Attachment, Mailbox, Parts
from postledger.transactional import idempotency, validation
from postledger.transactional.requests import ContactReference, MailRequest, Validation
from tests.transactional.mails import SOUND, mail

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
INVALID = Validation.INVALID_PAYLOAD
PDF = Attachment("a.pdf", "application/pdf", b"x")


def invalid_fields(request: MailRequest) -> list[str]:
    issues = validation.check_payload(request, now=NOW)
    assert {issue.code for issue in issues} <= {INVALID}
    return [issue.field for issue in issues]


def test_a_request_that_agrees_with_itself_passes() -> None:
    for changes in (
        {},
        {"to_name": "Ålice", "reply_to": "help@example.com", "text": "Thank you."},
        {"headers": {"X-Order": "5", "List-Unsubscribe": "<https://example.com>"}},
        {"tags": tuple(f"tag-{n}" for n in range(10))},
        {"attachments": (PDF,) * 10},
        {"attachments": (Attachment("a", "text/plain", bytes(7_340_032)),)},
        {"send_at": NOW + timedelta(days=30)},
        {"send_at": NOW - timedelta(days=400)},
        {"recipient": ContactReference("ALICE@example.com", id=5)},
        {"recipient": ContactReference("alice@example.com", external_id="a-5")},
    ):
        assert invalid_fields(mail(**changes)) == [], changes.keys()


def test_a_request_that_cannot_be_kept_or_written_is_an_invalid_payload() -> None:
    for changes, field in (
        ({"subject": "a\nb"}, "subject"),
        ({"to_name": "a\rb"}, "to.name"),
        ({"to_name": "x" * 256}, "to.name"),
        ({"reply_to": "nobody"}, "reply_to"),
        ({"reply_to": ""}, "reply_to"),
        ({"reply_to": "a@example.com\r\nBcc: b@example.com"}, "reply_to"),
        ({"text": "x" * 524_289}, "text"),
        ({"headers": {"Bcc": "b@example.com"}}, "headers"),
        ({"headers": {"X-A": "1", "x-a": "2"}}, "headers"),
        ({"headers": {"X A": "1"}}, "headers"),
        ({"headers": {"X-A": "a\r\nBcc: b@example.com"}}, "headers"),
        ({"headers": {"X-A": "x" * 2_001}}, "headers"),
        ({"headers": {f"X-{n}": "1" for n in range(21)}}, "headers"),
        # What is too large is not looked at any further.
        ({"headers": {"Bcc": "b@example.com", **{f"X-{n}": "1" for n in range(20)}}}, "headers"),
        ({"tags": ("a b",)}, "tags"),
        ({"tags": ("",)}, "tags"),
        ({"tags": ("a\n",)}, "tags"),
        ({"tags": ("x" * 65,)}, "tags"),
        ({"tags": tuple(f"t{n}" for n in range(11))}, "tags"),
        ({"attachments": (PDF,) * 11}, "attachments"),
        ({"attachments": (Attachment("a", "text/plain", bytes(7_340_033)),)}, "attachments"),
        ({"attachments": (Attachment("a\nb", "text/plain", b"x"),)}, "attachments"),
        ({"attachments": (Attachment("x" * 256, "text/plain", b"x"),)}, "attachments"),
        ({"attachments": (PDF, Attachment("a", "text/plain", b""))}, "attachments"),
        ({"attachments": (Attachment("a", "multipart/mixed", b"x"),)}, "attachments"),
        ({"attachments": (Attachment("a", "text/plain\r\nX: y", b"x"),)}, "attachments"),
        ({"send_at": NOW + timedelta(days=30, seconds=1)}, "send_at"),
        ({"send_at": NOW.replace(tzinfo=None)}, "send_at"),
        ({"recipient": ContactReference("alice@example.com")}, "recipient"),
        ({"recipient": ContactReference("bob@example.com", id=5)}, "recipient.email"),
        ({"html": "a\x00b"}, "html"),
        ({"text": "\ud800"}, "text"),
        ({"sender": "\x00"}, "sender"),
        (
            {"recipient": ContactReference("alice@example.com", external_id="\x00")},
            "recipient.external_id",
        ),
        ({"headers": {"X-A": "\udfff"}}, "headers"),
    ):
        assert invalid_fields(mail(**changes)) == [field], field


def test_text_that_is_not_an_address_is_an_invalid_email() -> None:
    for to in ("", "alice", "a@b@", "a b@example.com", "a.@example.com", "x" * 300):
        [issue] = validation.check_recipient(mail(to=to), contact_address=None)

        assert (issue.code, issue.field) == (Validation.INVALID_EMAIL, "to"), to


def test_a_named_contact_must_exist_and_have_the_address() -> None:
    for contact_address, code in (
        ("alice@example.com", None),
        ("ALICE@EXAMPLE.COM", None),
        ("bob@example.com", Validation.RECIPIENT_NOT_FOUND),
        (None, Validation.RECIPIENT_NOT_FOUND),
    ):
        request = mail(recipient=ContactReference("alice@example.com", id=5))

        issues = validation.check_recipient(request, contact_address=contact_address)

        assert [issue.code for issue in issues] == ([code] if code else []), contact_address


def test_content_that_must_not_be_sent_is_an_invalid_template() -> None:
    for changes in ({"subject": ""}, {"html": " "}, {"html": "<script>"}, {"subject": "x" * 151}):
        [issue] = validation.check_content(mail(**changes))

        assert issue.code == Validation.INVALID_TEMPLATE, changes
        assert issue.detail, changes


TEXTS = st.text(max_size=20)
SOME_TEXTS = st.text(
    alphabet=string.ascii_letters + '\r\n\t\x00\x85\u2028=?é :-_,;<>"@.', max_size=20
)
MAILS = st.builds(
    MailRequest,
    to=st.one_of(st.just("a@example.com"), SOME_TEXTS, st.emails()),
    subject=TEXTS,
    html=SOME_TEXTS,
    text=SOME_TEXTS,
    to_name=st.one_of(TEXTS, SOME_TEXTS),
    reply_to=st.one_of(st.none(), st.emails(), SOME_TEXTS),
    headers=st.dictionaries(SOME_TEXTS, st.one_of(TEXTS, SOME_TEXTS), max_size=3),
    attachments=st.lists(
        st.builds(
            Attachment,
            st.one_of(TEXTS, SOME_TEXTS),
            st.sampled_from(["text/plain", "a/b\n", "x", "message/rfc822"]),
            st.binary(max_size=5),
        ),
        max_size=2,
    ).map(tuple),
)


@given(MAILS)
def test_the_composer_never_refuses_an_accepted_mail(request: MailRequest) -> None:
    issues = validation.check_payload(request, now=NOW)
    if issues or validation.check_recipient(request, contact_address=None):
        return
    letter = Parts(
        sender=Mailbox("news@acme.example"),
        to=Mailbox(request.to, request.to_name),
        subject=request.subject,
        date=NOW,
        html=request.html,
        text=request.text,
        reply_to=(Mailbox(request.reply_to),) if request.reply_to else (),
        headers=request.headers,
        attachments=request.attachments,
    )

    assert mime.compose(letter, reference=DeliveryId(1, 1).text())


def test_another_request_has_another_digest() -> None:
    same = idempotency.digest_request([SOUND])
    others: list[dict[str, Any]] = [
        {"subject": "Other"},
        {"html": "<p>Other</p>"},
        {"to_name": "Other"},
        {"headers": {"X-A": "1"}},
        {"tags": ("a",)},
        {"send_at": NOW},
        {"sender": "news@acme.example"},
        *({"attachments": (Attachment("a", "b/c", text),)} for text in (b"1", b"2")),
        {"recipient": ContactReference("alice@example.com", id=1)},
    ]
    digests = {idempotency.digest_request([mail(**changes)]) for changes in others}

    assert idempotency.digest_request([mail()]) == same
    assert len({same, idempotency.digest_request([SOUND, SOUND]), *digests}) == len(others) + 2
