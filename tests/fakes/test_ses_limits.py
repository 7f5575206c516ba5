"""The limits of SES are refused with its own errors, and nothing beyond them is accepted."""

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.fakes import ses
from tools.fakes.ses.account import Identity, Status
from tools.fakes.ses.errors import SesError
from tools.fakes.ses.quota import UNLIMITED, Quota
from tools.fakes.ses.send_email import MAX_MESSAGE_SIZE, read_mail
from tools.fakes.ses.server import FakeSes
from tools.fakes.ses.service import Service

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
NOT_VERIFIED = (
    "Email address is not verified. The following identities failed the check in region US-EAST-1:"
)


def refuse(client: Any, **parameters: Any) -> tuple[str, str]:
    """Name and message of the error that SendEmail ends with."""
    with pytest.raises(ClientError) as raised:
        client.send_email(**parameters)
    error = raised.value.response["Error"]
    return error["Code"], error["Message"]


def tag(name: str = "a", value: str = "b") -> dict[str, Any]:
    return {"EmailTags": [{"Name": name, "Value": value}]}


def headers(*pairs: tuple[str, str]) -> dict[str, Any]:
    given = [{"Name": name, "Value": value} for name, value in pairs]
    return {"Content": ses.simple(Headers=given)}


def test_a_request_beyond_a_limit_is_a_bad_request(fake: FakeSes, client: Any) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"Destination": {"ToAddresses": ["ann"]}}, "Missing final '@domain'"),
        ({"Destination": {"CcAddresses": ["ann@"]}}, "Missing domain"),
        ({"Destination": {"ToAddresses": ["Ann <@example.com>"]}}, "Missing local part"),
        ({"Destination": {"ToAddresses": ["a nn@example.com"]}}, "control or whitespace"),
        ({"Destination": {"ToAddresses": ["änn@example.com"]}}, "Local address contains illegal"),
        ({"Destination": {"BccAddresses": ["ann@exämple.com"]}}, "Domain contains illegal"),
        ({"Destination": {}}, "At least one recipient"),
        (
            {"Destination": {"ToAddresses": [f"{i}@example.com" for i in range(51)]}},
            "Recipient count exceeds 50.",
        ),
        (tag(name="a b"), "Invalid tag name"),
        (tag(name="a" * 257), "Tag name is longer"),
        (tag(value="ü"), "Invalid tag value"),
        (tag(value="a" * 257), "Tag value is longer"),
        ({"EmailTags": tag()["EmailTags"] * 2}, "Duplicate tag"),
        ({"ConfigurationSetName": "a" * 65}, "Invalid configuration set name"),
        ({"ConfigurationSetName": "a.b"}, "Invalid configuration set name"),
        (headers(*[("X-A", "b")] * 16), "at most 15 headers"),
        (headers(("X A", "b")), "Invalid header name"),
        (headers(("X:A", "b")), "Invalid header name"),
        (headers(("X-A", "b\r\nBcc: c")), "Invalid value of header"),
        (headers(("X-A", "ü")), "Invalid value of header"),
        (headers(("X" * 100, "a" * 897)), "longer than 996"),
        ({"Content": {"Simple": {"Subject": {"Data": "Hi"}, "Body": {}}}}, "Text or Html"),
        ({"Content": {"Raw": {"Data": b"Subject: Hi\n\nHi"}}, "FromEmailAddress": ""}, "'From'"),
        ({"Content": {}}, "Content must have"),
    ]
    for more, message in cases:
        name, text = refuse(client, **{**ses.mail(), **more})

        assert name == "BadRequestException", message
        assert message in text
    assert ses.recipients(fake) == []


def test_a_message_may_have_forty_megabytes_in_base64() -> None:
    longest = b64encode(ses.RAW.ljust(MAX_MESSAGE_SIZE, b"."))
    too_long = b64encode(ses.RAW.ljust(MAX_MESSAGE_SIZE + 1, b"."))

    mail = read_mail(ses.mail(raw=longest.decode()))

    assert len(mail.raw) == MAX_MESSAGE_SIZE
    assert len(longest) == 40_000_000
    assert len(longest) + 1_000_000 < Service.max_body
    with pytest.raises(SesError) as raised:
        read_mail(ses.mail(raw=too_long.decode()))
    assert raised.value.message == "Message length is more than 30000000 bytes long: '30000001'."


def test_what_is_no_json_of_the_api_is_a_serialization_error(fake: FakeSes) -> None:
    for body in (b"{", b"[]", b'{"Content": 1}', b'{"Content": {"Raw": {"Data": "!"}}}'):
        with ses.Wire(fake.port) as wire:
            wire.socket.sendall(ses.sign(fake.port, body))
            answer = wire.read_answer()

        assert (answer.status, answer.error_type) == (400, "SerializationException"), body


def test_mail_comes_from_verified_identities_only(fake: FakeSes, client: Any) -> None:
    account = fake.service.account
    account.add_identities("ann@globex.example")
    account.identities["pending.example"] = Identity("pending.example", Status.PENDING)
    for sender, is_verified in [
        ("news@acme.example", True),
        ("Acme <NEWS@Acme.Example>", True),
        ("news@mail.acme.example", True),
        ("news@xacme.example", False),
        ("news@example", False),
        ("ann@globex.example", True),
        ("bob@globex.example", False),
        ("news@pending.example", False),
    ]:
        mail = ses.mail(raw=b"Subject: Hi\r\n\r\nHi", FromEmailAddress=sender)
        if is_verified:
            client.send_email(**mail)
        else:
            assert refuse(client, **mail) == ("MessageRejected", f"{NOT_VERIFIED} {sender}")
    assert len(fake.service.kept) == 4

    raw = ses.RAW.replace(b"news@acme.example>", b"ceo@other.example>", 1)
    refused = refuse(client, **ses.mail(raw=raw))
    assert refused == ("MessageRejected", f"{NOT_VERIFIED} ceo@other.example")


def test_without_production_access_recipients_must_be_verified_too(
    fake: FakeSes, client: Any
) -> None:
    fake.service.account.has_production_access = False

    client.send_email(**ses.mail("ann@acme.example", "bounce@simulator.amazonses.com"))
    name, text = refuse(client, **ses.mail(*(f"{i}@example.com" for i in range(6))))

    shown = ", ".join(f"{i}@example.com" for i in range(5))
    assert (name, text) == ("MessageRejected", f"{NOT_VERIFIED} {shown}, ...")
    assert len(fake.service.kept) == 1


def test_the_configuration_set_of_a_mail_or_of_its_identity_decides(
    fake: FakeSes, client: Any
) -> None:
    client.create_configuration_set(
        ConfigurationSetName="paused", SendingOptions={"SendingEnabled": False}
    )
    assert refuse(client, **ses.mail(ConfigurationSetName="gone")) == (
        "NotFoundException",
        "Configuration set <gone> does not exist.",
    )
    assert refuse(client, **ses.mail(ConfigurationSetName="paused"))[0] == "SendingPausedException"

    client.create_configuration_set(ConfigurationSetName="main")
    fake.service.account.identities[ses.DOMAIN].configuration_set = "main"
    client.send_email(**ses.mail())
    client.delete_configuration_set(ConfigurationSetName="main")

    assert refuse(client, **ses.mail())[0] == "NotFoundException"
    assert [accepted.configuration_set for accepted in fake.service.kept] == ["main"]


def test_an_account_that_may_not_send_says_why(fake: FakeSes, client: Any) -> None:
    account = fake.service.account
    too_many = "TooManyRequestsException"
    account.quota = Quota(UNLIMITED, max_send_rate=0.001)
    client.send_email(**ses.mail())
    assert refuse(client, **ses.mail()) == (too_many, "Maximum sending rate exceeded.")

    account.quota = Quota(max_24_hour_send=1, max_send_rate=UNLIMITED)
    client.send_email(**ses.mail())
    assert refuse(client, **ses.mail()) == (too_many, "Daily message quota exceeded.")
    assert len(fake.service.kept) == 2

    account.is_sending_enabled = False
    assert client.get_account()["SendingEnabled"] is False
    assert refuse(client, **ses.mail())[0] == "SendingPausedException"
    account.is_sending_enabled, account.enforcement_status = True, "SHUTDOWN"
    assert refuse(client, **ses.mail())[0] == "AccountSuspendedException"


def count(quota: Quota, recipients: int, after: timedelta) -> bool:
    try:
        quota.count(recipients, NOW + after)
    except SesError:
        return False
    return True


def test_a_rate_allows_a_second_at_once_and_a_quota_counts_recipients_of_24_hours() -> None:
    rate = Quota(UNLIMITED, max_send_rate=2)
    moments = [0.0, 0.0, 0.0, 0.4, 0.5, 0.9, 1.0, 60.0, 60.0, 60.0]
    taken = [count(rate, 1, timedelta(seconds=moment)) for moment in moments]
    assert taken == [True, True, False, False, True, False, True, True, True, False]

    daily = Quota(max_24_hour_send=10, max_send_rate=UNLIMITED)
    hours = [(6, 0), (5, 1), (4, 12), (1, 23), (6, 24)]
    taken = [count(daily, recipients, timedelta(hours=hour)) for recipients, hour in hours]
    assert taken == [True, False, True, False, True]
    assert daily.sent_last_24_hours(NOW + timedelta(hours=24)) == 10
