"""The three validations at the door, each with its code, and in their order."""

import string
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postledger.lib.ids import DeliveryId
from postledger.providers import mime
from postledger.providers.base import Attachment, Mailbox, Parts
from postledger.transactional import validation, values
from postledger.transactional.values import MailRequest, Reference, Validation
from tests.transactional.asked import SOUND, mail

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
INVALID = Validation.INVALID_PAYLOAD
PDF = Attachment("a.pdf", "application/pdf", b"x")


def places(asked: MailRequest) -> list[str]:
    flaws = validation.integrity(asked, now=NOW)
    assert {flaw.code for flaw in flaws} <= {INVALID}
    return [flaw.place for flaw in flaws]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"to_name": "Ålice", "reply_to": "help@example.com", "text": "Thank you."},
        {"headers": {"X-Order": "5", "List-Unsubscribe": "<https://example.com>"}},
        {"tags": tuple(f"tag-{n}" for n in range(10))},
        {"attachments": (PDF,) * 10},
        {"attachments": (Attachment("a", "text/plain", bytes(7_340_032)),)},
        {"send_at": NOW + timedelta(days=30)},
        {"send_at": NOW - timedelta(days=400)},
        {"recipient": Reference("ALICE@example.com", id=5)},
        {"recipient": Reference("alice@example.com", external_id="a-5")},
    ],
)
def test_a_request_that_agrees_with_itself_passes(changes: dict[str, Any]) -> None:
    assert places(mail(**changes)) == []


@pytest.mark.parametrize(
    ("changes", "place"),
    [
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
        ({"tags": ("a b",)}, "tags"),
        ({"tags": ("",)}, "tags"),
        ({"tags": ("a\n",)}, "tags"),
        ({"tags": ("x" * 65,)}, "tags"),
        ({"tags": tuple(f"t{n}" for n in range(11))}, "tags"),
        ({"attachments": (PDF,) * 11}, "attachments"),
        ({"attachments": (Attachment("a", "text/plain", bytes(7_340_033)),)}, "attachments"),
        ({"attachments": (Attachment("a\nb", "text/plain", b""),)}, "attachments"),
        ({"attachments": (Attachment("x" * 256, "text/plain", b""),)}, "attachments"),
        ({"attachments": (Attachment("a", "multipart/mixed", b""),)}, "attachments"),
        ({"attachments": (Attachment("a", "text/plain\r\nX: y", b""),)}, "attachments"),
        ({"send_at": NOW + timedelta(days=30, seconds=1)}, "send_at"),
        ({"send_at": NOW.replace(tzinfo=None)}, "send_at"),
        ({"recipient": Reference("alice@example.com")}, "recipient"),
        ({"recipient": Reference("bob@example.com", id=5)}, "recipient.email"),
        ({"html": "a\x00b"}, "html"),
        ({"text": "\ud800"}, "text"),
        ({"sender": "\x00"}, "sender"),
        (
            {"recipient": Reference("alice@example.com", external_id="\x00")},
            "recipient.external_id",
        ),
        ({"headers": {"X-A": "\udfff"}}, "headers"),
    ],
)
def test_a_request_that_cannot_be_kept_or_written_is_an_invalid_payload(
    changes: dict[str, Any], place: str
) -> None:
    assert places(mail(**changes)) == [place]


@pytest.mark.parametrize(
    "to", ["", "alice", "a@b@", "a b@example.com", "a.@example.com", "x" * 300]
)
def test_an_address_that_is_none_is_an_invalid_email(to: str) -> None:
    [flaw] = validation.recipient(mail(to=to), contact_address=None)

    assert (flaw.code, flaw.place) == (Validation.INVALID_EMAIL, "to")


@pytest.mark.parametrize(
    ("contact_address", "code"),
    [
        ("alice@example.com", None),
        ("ALICE@EXAMPLE.COM", None),
        ("bob@example.com", Validation.RECIPIENT_NOT_FOUND),
        (None, Validation.RECIPIENT_NOT_FOUND),
    ],
)
def test_a_named_contact_must_be_there_and_have_the_address(
    contact_address: str | None, code: Validation | None
) -> None:
    asked = mail(recipient=Reference("alice@example.com", id=5))

    flaws = validation.recipient(asked, contact_address=contact_address)

    assert [flaw.code for flaw in flaws] == ([code] if code else [])


@pytest.mark.parametrize(
    "changes", [{"subject": ""}, {"html": " "}, {"html": "<script>"}, {"subject": "x" * 151}]
)
def test_what_must_not_be_sent_is_an_invalid_template(changes: dict[str, str]) -> None:
    [flaw] = validation.template(mail(**changes))

    assert flaw.code == Validation.INVALID_TEMPLATE
    assert flaw.detail


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
def test_what_the_door_takes_the_composer_never_refuses(asked: MailRequest) -> None:
    if validation.integrity(asked, now=NOW) or validation.recipient(asked, contact_address=None):
        return
    letter = Parts(
        sender=Mailbox("news@acme.example"),
        to=Mailbox(asked.to, asked.to_name),
        subject=asked.subject,
        date=NOW,
        html=asked.html,
        text=asked.text,
        reply_to=(Mailbox(asked.reply_to),) if asked.reply_to else (),
        headers=asked.headers,
        attachments=asked.attachments,
    )

    assert mime.compose(letter, reference=DeliveryId(1, 1).text())


@pytest.mark.parametrize(
    "changes",
    [
        {"subject": "Other"},
        {"html": "<p>Other</p>"},
        {"to_name": "Other"},
        {"headers": {"X-A": "1"}},
        {"tags": ("a",)},
        {"send_at": NOW},
        {"sender": "news@acme.example"},
        {"attachments": (PDF,)},
        {"recipient": Reference("alice@example.com", id=1)},
    ],
)
def test_another_request_has_another_digest(changes: dict[str, Any]) -> None:
    same = values.digest([SOUND], is_test=False)

    assert values.digest([mail()], is_test=False) == same
    assert values.digest([mail(**changes)], is_test=False) != same
    assert values.digest([SOUND], is_test=True) != same
    assert values.digest([SOUND, SOUND], is_test=False) != same


def test_the_digest_covers_what_is_attached() -> None:
    one, other = (mail(attachments=(Attachment("a", "b/c", text),)) for text in (b"1", b"2"))

    assert values.digest([one], is_test=False) != values.digest([other], is_test=False)
