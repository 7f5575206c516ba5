"""SendGrid gets the parts of one mail, and nothing in its account changes or counts them."""

import json
from base64 import b64decode
from dataclasses import replace
from typing import Any

import pytest

from postledger.lib import ids, references
from postledger.providers.base import (
    Attachment,
    Failure,
    Mailbox,
    Outcome,
    OutgoingMessage,
    Parts,
    Refused,
    SenderBlocked,
)
from postledger.providers.sendgrid import requests
from tests.providers.messages import KEY, WIRE, a_letter, a_message

# Those that SendGrid refuses, and Date, which it writes itself.
RESERVED = {
    *("x-sg-id", "x-sg-eid", "received", "dkim-signature", "content-type"),
    *("content-transfer-encoding", "to", "from", "subject", "reply-to", "cc", "bcc", "date"),
}
PDF = Attachment("größe.pdf", "Application/PDF", b"%PDF-1.7\x00\xff")
FULL = replace(
    a_letter(),
    sender=Mailbox("news@acme.example", "Acme Nëws"),
    to=Mailbox("alice@example.com", "Ärmel, Alice"),
    subject="Grüße",
    reply_to=(Mailbox("desk@acme.example", "Desk"),),
    headers={
        "List-Unsubscribe": f"<https://acme.example/u?token={'a' * 200}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        "Feedback-ID": "1:news:campaign:1",
        "X-Campaign": "Frühling",
    },
    attachments=(PDF, Attachment("a.txt", "text/plain", b"42")),
)


def write(message: OutgoingMessage) -> dict[str, Any]:
    body = requests.write_body(message)
    assert isinstance(body, bytes)
    document = json.loads(body)
    assert isinstance(document, dict)
    return document


def refuse(message: OutgoingMessage) -> Failure:
    body = requests.write_body(message)
    assert not isinstance(body, bytes)
    return body


def write_letter(**changes: Any) -> dict[str, Any]:
    return write(a_message(content=replace(a_letter(), **changes)))


def test_a_mail_is_one_personalization_with_names_and_the_reference() -> None:
    message = a_message(content=FULL)
    document = write(message)

    assert document["personalizations"] == [
        {
            "to": [{"email": "alice@example.com", "name": "Ärmel, Alice"}],
            "custom_args": {"postledger-id": message.reference},
        }
    ]
    assert document["from"] == {"email": "news@acme.example", "name": "Acme Nëws"}
    assert document["reply_to"] == {"email": "desk@acme.example", "name": "Desk"}
    assert document["subject"] == "Grüße"
    reference = references.read(message.reference, [KEY])
    assert reference is not None
    assert reference.delivery_id.text() == message.id

    least = Parts(Mailbox("news@acme.example"), Mailbox("a@example.com"), "Hi", a_letter().date)
    document = write(a_message("anna@bücher.example", content=least))
    assert document["from"] == {"email": "news@acme.example"}
    assert document["personalizations"][0]["to"] == [{"email": "anna@xn--bcher-kva.example"}]


def test_text_comes_before_html_and_what_is_empty_is_left_out() -> None:
    text, html = ("text/plain", "Good morning."), ("text/html", "<p>Good morning.</p>")

    def contents(**changes: str) -> list[tuple[str, str]]:
        found = write_letter(**changes)["content"]
        return [(content["type"], content["value"]) for content in found]

    assert contents() == [text, html]
    assert contents(text="") == [html]
    assert contents(html="") == [text]
    [(kind, value)] = contents(text="", html="")
    assert (kind, value.strip(), bool(value)) == ("text/plain", "", True)


def test_attachments_arrive_as_they_were_given() -> None:
    found = write(a_message(content=FULL))["attachments"]

    assert [(each["filename"], each["type"], each["disposition"]) for each in found] == [
        ("größe.pdf", "application/pdf", "attachment"),
        ("a.txt", "text/plain", "attachment"),
    ]
    assert [b64decode(each["content"]) for each in found] == [b"%PDF-1.7\x00\xff", b"42"]
    assert "attachments" not in write_letter()


def test_headers_are_those_of_smtp_but_for_what_sendgrid_writes() -> None:
    message = a_message(content=FULL)
    headers = write(message)["headers"]

    assert headers["Message-ID"] == f"<{ids.without_try(message.id)}@acme.example>"
    assert headers["X-Postledger-Id"] == message.reference
    for name in ("List-Unsubscribe", "List-Unsubscribe-Post", "Feedback-ID"):
        assert headers[name] == FULL.headers[name]
    assert headers["X-Campaign"].startswith("=?utf-8?b?")  # ASCII, as SMTP has it
    assert not RESERVED & {name.lower() for name in headers}


def test_a_header_that_sendgrid_refuses_is_none_that_a_caller_may_give() -> None:
    for name in sorted(RESERVED):
        message = a_message(content=replace(FULL, headers={name: "x"}))

        assert refuse(message).code == "invalid_header", name


def test_nothing_in_the_account_changes_the_mail_or_counts_its_reader() -> None:
    document = write_letter()

    tracking = document["tracking_settings"]
    assert {name: setting["enable"] for name, setting in tracking.items()} == {
        "click_tracking": False,
        "ganalytics": False,
        "open_tracking": False,
        "subscription_tracking": False,
    }
    assert tracking["click_tracking"]["enable_text"] is False
    assert document["mail_settings"] == {"footer": {"enable": False}}


def test_what_sendgrid_keeps_for_ever_has_no_address_and_nothing_that_a_caller_chose() -> None:
    tags = {"request_id": "alice@example.com", "event": "delivered"}
    document = write(replace(a_message(content=FULL), tags=tags))

    [personalization] = document["personalizations"]
    assert list(personalization["custom_args"]) == ["postledger-id"]
    assert "@" not in str(personalization["custom_args"])
    assert "categories" not in document


def test_the_tags_of_a_notification_are_custom_arguments() -> None:
    tags = {"dedupeKey": "seat-1", "traceId": "t1", "term": "92026", "request_id": "r1"}
    message = replace(a_message(content=FULL), tags=tags)

    [personalization] = write(message)["personalizations"]

    assert personalization["custom_args"] == {
        "dedupeKey": "seat-1",
        "traceId": "t1",
        "term": "92026",
        "postledger-id": message.reference,
    }


def test_several_addresses_for_replies_are_a_list() -> None:
    desk, shop = Mailbox("desk@acme.example"), Mailbox("shop@acme.example", "Shop")

    document = write_letter(reply_to=(desk, shop))

    assert "reply_to" not in document
    assert document["reply_to_list"] == [
        {"email": "desk@acme.example"},
        {"email": "shop@acme.example", "name": "Shop"},
    ]


def test_text_that_looks_encoded_is_encoded_so_that_readers_show_it_as_it_is() -> None:
    trap = "=?utf-8?q?hi=0ABcc=3A_eve=40example.com?="

    document = write_letter(subject=trap, to=Mailbox("alice@example.com", trap))

    for text in (document["subject"], document["personalizations"][0]["to"][0]["name"]):
        assert trap not in text
        words = [word.split("?")[3] for word in text.split()]
        assert b"".join(map(b64decode, words)).decode() == trap


REFUSED: dict[str, tuple[dict[str, Any], str, type[Outcome]]] = {
    "sender": ({"sender": Mailbox("nürnberg@acme.example")}, "utf8_unsupported", SenderBlocked),
    "reply": ({"reply_to": (Mailbox("björn@example.com"),)}, "utf8_unsupported", Refused),
    "subject": ({"subject": "Hi\r\nBcc: eve@example.com"}, "invalid_header", Refused),
    "name": ({"to": Mailbox("a@example.com", "A\nB")}, "invalid_header", Refused),
    "header": ({"headers": {"X-Tag": "a\r\nBcc: e@example.com"}}, "invalid_header", Refused),
    "filename": (
        {"attachments": (Attachment("a\nb", "text/plain", b"x"),)},
        "invalid_header",
        Refused,
    ),
    "type": (
        {"attachments": (Attachment("a", "multipart/mixed", b"x"),)},
        "invalid_content",
        Refused,
    ),
    "surrogate": ({"html": "<p>\ud800</p>"}, "invalid_content", Refused),
}


def test_what_sendgrid_cannot_take_is_refused_before_anything_is_sent() -> None:
    for case, (changes, code, outcome) in REFUSED.items():
        failure = refuse(a_message(content=replace(a_letter(), **changes)))

        assert (failure.code, type(failure)) == (code, outcome), case
    for address in ["björn@example.com", "no address", '"},"x@example.com']:
        assert type(refuse(a_message(address, content=a_letter()))) is Refused, address


def test_finished_bytes_are_a_mistake_of_the_caller() -> None:
    with pytest.raises(TypeError):
        requests.write_body(a_message(content=WIRE))


def test_a_mail_that_fills_the_limit_is_taken() -> None:
    letter = replace(a_letter(), attachments=(Attachment("a", "text/plain", b"x" * 22_400_000),))
    body = requests.write_body(a_message(content=letter))
    assert isinstance(body, bytes)
    full = replace(letter, text=letter.text + "x" * (requests.MAX_SIZE - len(body)))

    assert isinstance(requests.write_body(a_message(content=full)), bytes)
    assert refuse(a_message(content=replace(full, text=full.text + "x"))).code == "too_big"
