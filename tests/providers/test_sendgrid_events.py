"""SendGrid's events are read as its documents say, and a bad one in a post stops no other."""

import json
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from postledger.lib import values
from postledger.providers.base import EventKind, ProviderEvent
from postledger.providers.sendgrid.events import parse_events
from tests.feedback import mutations
from tests.feedback.sendgrid import BLOCK, event, write_body

USER = "user@recipient.example"


def parse(*events: dict[str, Any]) -> list[ProviderEvent]:
    return parse_events({}, write_body(events))


def parse_one(name: str, **fields: Any) -> ProviderEvent:
    [found] = parse({**event(name, USER, "a-reference"), **fields})
    return found


def test_each_name_has_its_kind() -> None:
    for name, kind in [
        ("processed", EventKind.ACCEPTED),
        ("delivered", EventKind.DELIVERED),
        ("deferred", EventKind.DEFERRED),
        ("bounce", EventKind.BOUNCED),
        ("dropped", EventKind.DROPPED),
        ("open", EventKind.OPENED),
        ("click", EventKind.CLICKED),
        ("spamreport", EventKind.COMPLAINED),
        ("unsubscribe", EventKind.UNSUBSCRIBED),
        ("group_unsubscribe", EventKind.UNSUBSCRIBED),
        ("group_resubscribe", EventKind.PREFERENCES_CHANGED),
        ("account_status_change", EventKind.UNKNOWN),
    ]:
        found = parse_one(name)

        assert (found.kind, found.name, found.address) == (kind, name, USER), name
        assert (found.reference, found.provider_id) == ("a-reference", "14c5d75ce93abcdEFG"), name
        assert found.at == datetime(2026, 5, 4, 12, tzinfo=UTC), name


def test_a_bounce_has_its_classification_its_code_and_the_words_of_the_server() -> None:
    found = parse_one("bounce")

    assert (found.bounce_type, found.bounce_subtype) == ("Permanent", "Invalid Address")
    assert (found.code, found.detail) == ("5.1.1", "550 5.1.1 unknown recipient")


def test_a_bounce_of_any_other_type_than_bounce_is_a_block() -> None:
    cases: list[object] = ["blocked", "expired", "", None, 1]
    for kind in cases:
        found = parse_one("bounce", **{**BLOCK, "type": kind})

        assert (found.kind, found.bounce_type) == (EventKind.SOFT_BOUNCED, "Blocked"), kind
        assert found.bounce_subtype == "Reputation", kind


def test_a_drop_says_whether_a_list_of_sendgrid_has_the_address() -> None:
    cases: list[tuple[str | None, str]] = [
        ("Bounced Address", "OnAccountSuppressionList"),
        ("Unsubscribed Address", "OnAccountSuppressionList"),
        ("Spam Reporting Address", "OnAccountSuppressionList"),
        ("Invalid", "OnAccountSuppressionList"),
        ("Spam Content", ""),
        ("Invalid SMTPAPI header", ""),
        (None, ""),
    ]
    for reason, subtype in cases:
        assert parse_one("dropped", reason=reason).bounce_subtype == subtype, reason


def test_a_repetition_has_the_same_key_and_what_differs_in_one_of_the_facts_another() -> None:
    assert parse_one("open", sg_event_id="another").key == parse_one("open").key
    cases: list[dict[str, Any]] = [
        {"timestamp": 1777896001},
        {"email": "other@recipient.example"},
        {"event": "click"},
        {"url": "https://acme.example/other"},
        {"postledger-id": "another-reference"},
    ]
    for fields in cases:
        assert parse_one("open", **fields).key != parse_one("open").key, fields


def test_without_a_reference_the_message_id_up_to_its_first_dot_tells_mails_apart() -> None:
    one, same, other = parse(
        *[
            {**event("open", USER, None), "sg_message_id": message_id}
            for message_id in ("a.recvd-1.0", "a.recvd-2.0", "b.recvd-1.0")
        ]
    )

    assert one.reference is None
    assert (one.provider_id, other.provider_id) == ("a", "b")
    assert one.key == same.key != other.key


def test_a_category_is_ignored_whatever_its_form_and_so_are_10000_members() -> None:
    cases: list[object] = ["news", ["news", "may"], None, {"a": 1}]
    for category in cases:
        assert parse_one("open", category=category) == parse_one("open"), category
    members = {f"argument-{number}": "x" for number in range(10_000)}
    assert parse_one("open", **members) == parse_one("open")
    assert parse_events({}, b" [ ]\r\n") == []


def test_texts_are_bounded_and_steer_no_terminal() -> None:
    found = parse_one(
        "bounce",
        reason="550 \x1b[31mno\r\n such\0 user " + "x" * 10_000,
        status="5" * 10_000,
        email=USER + "x" * 10_000,
        bounce_classification="y" * 10_000,
        sg_message_id="z" * 10_000,
    )

    assert found.detail.startswith("550 ?[31mno such? user xxx")
    texts = (found.detail, found.provider_id, found.address, found.code, found.bounce_subtype)
    assert [len(text or "") for text in texts] == [498, 500, 320, 100, 100]


# Each beside a good event, which must be read.
BAD: dict[str, bytes] = {
    "nested too deeply": b'{"event":"open","a":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "an integer of 5,000 digits": b'{"event":"open","timestamp":' + b"9" * 5_000 + b"}",
    "NaN": b'{"event":"open","timestamp":NaN}',
    "Infinity": b'{"event":"open","timestamp":-Infinity}',
    "a name twice": b'{"event":"open","event":"bounce","type":"bounce"}',
    "a control character": b'{"event":"open\x01"}',
    "a missing colon": b'{"event" "open"}',
    "no object": b'"event"',
    "a list": b'[{"event":"open"}]',
    "a number": b"1e999",
    "null": b"null",
    "a bare NaN": b"NaN",
    "a bare integer of 5,000 digits": b" " + b"9" * 5_000 + b" ",
    "half a word": b"tru",
    "an empty object": b"{}",
    "brackets of two kinds": b'{"event":"open"]',
}


def test_an_element_that_cannot_be_read_is_unknown_and_stops_no_other() -> None:
    for name, element in BAD.items():
        good = json.dumps(event("delivered", USER, "a-reference")).encode()

        first, bad, last = parse_events({}, b"[" + b",".join([good, element, good]) + b"]")

        assert first == last == parse_one("delivered"), name
        assert (bad.kind, bad.name, bad.reference) == (EventKind.UNKNOWN, "unreadable", None), name


def test_a_post_has_100_elements_that_cannot_be_read_at_most() -> None:
    bad = BAD["a missing colon"]
    assert len(parse_events({}, b"[" + b",".join([bad] * 100) + b"]")) == 100

    with pytest.raises(ValueError, match="more than 100 unreadable"):
        parse_events({}, b"[" + b",".join([bad] * 101) + b"]")


ODD: dict[str, object] = {
    "a float": 1.5,
    "a huge number": 10**400,
    "a negative number": -5,
    "a truth": True,
    "nothing": None,
    "a list": [1],
    "an object": {"a": {}},
    "an unpaired surrogate": "\ud800",
    "a NUL": "\0",
    "a number as a text": "1777896000",
}


def test_a_field_of_another_type_is_as_if_it_were_not_there() -> None:
    for value in ODD.values():
        names = ("email", "timestamp", "event", "sg_message_id", "postledger-id", "url", "type")
        for name in names:
            [found] = parse({**event("bounce", USER, "a-reference"), name: value})

            assert all(values.is_storable(text) for text in _texts(found)), value
            assert found.at is None or found.at.year == 2026, value


def test_what_is_no_array_of_events_is_a_value_error() -> None:
    for body in [
        b"",
        b"{}",
        b'{"event":"open"}',
        b"[",
        b"[{}",
        b"[{},",
        b"[{}}",
        b"[{}][]",
        b'[{"event":"open]',
        b"[non sense]",
        b"[{} {}]",
        b"\xff\xfe[]",
        b"[" * 20_000,
        b'["' + b'\\"' * 100_000,
        b"[" + b"{}," * 10_000 + b"{}]",
    ]:
        with pytest.raises(ValueError, match=r"array|utf-8"):
            parse_events({}, body)


def _texts(found: ProviderEvent) -> list[str]:
    texts = (found.name, found.key, found.reference, found.provider_id, found.address, found.code)
    more = (found.detail, found.bounce_type, found.bounce_subtype, found.feedback_type)
    return [text for text in (*texts, *more) if text is not None]


def test_20000_mutated_bodies_raise_nothing_but_a_value_error() -> None:
    chance, body = Random(21), write_body([event(name, USER, "x") for name in ("bounce", "click")])
    refused = 0
    for _ in range(20_000):
        try:
            found = parse_events({}, mutations.mutate(body, chance))
        except ValueError:
            refused += 1
            continue
        assert all(values.is_storable(text) for each in found for text in _texts(each))
    assert 0 < refused < 20_000
