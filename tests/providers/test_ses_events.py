"""SES's events are read as its documents say, and nothing in them can break the reader."""

import json
from typing import Any

import pytest

from postledger.providers import registry
from postledger.providers.base import EventKind, ProviderEvent

MAIL = {
    "timestamp": "2026-05-04T09:15:02.012Z",
    "messageId": "0102018f-1",
    "destination": ["user@recipient.example", "second@recipient.example"],
    "tags": {"ses:operation": ["SendEmail"], "postledger-id": ["a-reference"]},
}


def parse(document: object) -> list[ProviderEvent]:
    return list(registry.load_module("ses").parse_events({}, json.dumps(document).encode()))


def an_event(name: str, **parts: Any) -> dict[str, Any]:
    return {"eventType": name, "mail": MAIL, **parts}


def a_bounce(bounce_type: str = "Permanent", **fields: object) -> dict[str, Any]:
    bounce = {
        "bounceType": bounce_type,
        "bounceSubType": "General",
        "bouncedRecipients": [
            {
                "emailAddress": "user@recipient.example",
                "status": "5.1.1",
                "diagnosticCode": "smtp; 550 5.1.1 user unknown",
            }
        ],
        "timestamp": "2026-05-04T09:15:05.669Z",
        "feedbackId": "0102018f-f",
    }
    return an_event("Bounce", bounce=bounce | fields)


def test_each_name_has_its_kind_and_the_first_recipient_without_a_list() -> None:
    for name, part, kind in [
        ("Send", "send", EventKind.ACCEPTED),
        ("Delivery", "delivery", EventKind.DELIVERED),
        ("DeliveryDelay", "deliveryDelay", EventKind.DEFERRED),
        ("Reject", "reject", EventKind.DROPPED),
        ("Open", "open", EventKind.OPENED),
        ("Click", "click", EventKind.CLICKED),
        ("Rendering Failure", "failure", EventKind.REFUSED),
        ("Subscription", "subscription", EventKind.PREFERENCES_CHANGED),
        ("Teleport", "teleport", EventKind.UNKNOWN),
    ]:
        [event] = parse(an_event(name, **{part: {}}))

        assert (event.kind, event.name, event.reference) == (kind, name, "a-reference"), name
        assert (event.address, event.provider_id) == ("user@recipient.example", "0102018f-1"), name
        assert event.at is not None, name


def test_a_bounce_is_of_the_recipients_that_it_names() -> None:
    names = [{"emailAddress": "a@x.example"}, {"emailAddress": "b@x.example"}]

    events = parse(a_bounce(bouncedRecipients=names))

    assert [event.address for event in events] == ["a@x.example", "b@x.example"]
    assert len({event.key for event in events}) == 2


def test_a_bounce_keeps_its_type_and_subtype() -> None:
    for bounce_type, kind in [
        ("Permanent", EventKind.BOUNCED),
        ("Transient", EventKind.SOFT_BOUNCED),
        ("Undetermined", EventKind.SOFT_BOUNCED),
    ]:
        [event] = parse(a_bounce(bounce_type))

        assert (event.kind, event.bounce_type, event.bounce_subtype) == (
            kind,
            bounce_type,
            "General",
        ), bounce_type
        assert (event.code, event.detail) == ("5.1.1", "smtp; 550 5.1.1 user unknown"), bounce_type


def test_identity_feedback_and_a_configuration_set_tell_one_fact_under_one_key() -> None:
    [of_set] = parse(a_bounce())
    document = {key: value for key, value in a_bounce().items() if key != "eventType"}
    mail = {key: value for key, value in MAIL.items() if key != "tags"}

    [of_identity] = parse(document | {"notificationType": "Bounce", "mail": mail})

    assert of_identity.key == of_set.key
    assert of_identity.reference is None


def test_another_fact_has_another_key() -> None:
    for other in [
        a_bounce(timestamp="2026-05-04T09:15:06.000Z"),
        a_bounce(feedbackId="another"),
        a_bounce(bouncedRecipients=[{"emailAddress": "other@recipient.example"}]),
        an_event("Delivery", delivery={}),
        a_bounce() | {"mail": MAIL | {"messageId": "another"}},
    ]:
        [event], [different] = parse(a_bounce()), parse(other)

        assert event.key != different.key, other


def test_the_greeting_of_a_new_topic_is_no_event_and_no_fault() -> None:
    greeting = b"Successfully validated SNS topic for Amazon SES event publishing."

    assert not registry.load_module("ses").parse_events({}, greeting)


def test_what_is_no_event_is_refused() -> None:
    for body in [b"", b"hello", b"[]", b"{}", b'{"eventType": 7}', b"\xff", b"NaN"]:
        with pytest.raises(ValueError, match=r"."):
            registry.load_module("ses").parse_events({}, body)


def test_parts_of_a_wrong_type_are_passed_over() -> None:
    cases: list[object] = [None, 7, "text", [], {}, [7], [[]], {"a": 1}, True]
    for wrong in cases:
        document = {"eventType": "Bounce", "bounce": wrong, "mail": wrong}
        nested = a_bounce(bouncedRecipients=wrong, timestamp=wrong, feedbackId=wrong)
        tags = a_bounce() | {
            "mail": MAIL | {"tags": {"postledger-id": wrong}, "destination": wrong}
        }

        for event in [*parse(document), *parse(nested), *parse(tags)]:
            assert event.kind in {EventKind.BOUNCED, EventKind.SOFT_BOUNCED}, wrong


def test_texts_are_bounded_can_be_stored_and_steer_no_terminal() -> None:
    recipient = {"emailAddress": "a\0" * 400, "status": "5\0", "diagnosticCode": "x\0" * 5_000}
    [event] = parse(a_bounce(bouncedRecipients=[recipient], bounceSubType="y" * 9_000))
    texts = [event.address or "", event.code, event.detail, event.bounce_subtype]
    assert all(text.isprintable() for text in texts)
    assert max(map(len, texts)) <= 500

    recipient = {"emailAddress": "a@b.example", "diagnosticCode": "550 no\r\n\x1b[2Kit \u202ewas"}
    [event] = parse(a_bounce(bouncedRecipients=[recipient], timestamp="9999-12-31T23:59:59-23:00"))
    assert event.detail == "550 no ?[2Kit ?was"
    assert event.at is None  # outside the calendar
    assert len(parse(a_bounce(bouncedRecipients=[0] * 100_000))) == 50


def complain(*addresses: str) -> ProviderEvent:
    listed = [{"emailAddress": address} for address in addresses]
    complaint = {
        "complainedRecipients": listed,
        "complaintSubType": "OnAccountSuppressionList",
        "complaintFeedbackType": "not-spam",
    }
    [event] = parse(an_event("Complaint", complaint=complaint))
    return event


def test_a_complaint_is_that_of_its_recipient_and_of_several_nobodys() -> None:
    event = complain("user@recipient.example")
    assert (event.kind, event.address) == (EventKind.COMPLAINED, "user@recipient.example")
    assert (event.bounce_subtype, event.feedback_type) == ("OnAccountSuppressionList", "not-spam")
    assert complain("user@recipient.example", "second@recipient.example").address is None
    assert complain().address is None  # the mail had two
