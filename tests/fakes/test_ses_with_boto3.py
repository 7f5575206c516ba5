"""The fake as the real client sees it: its operations and its errors are those of the API."""

import email
from typing import Any

import pytest
from botocore.loaders import Loader

from tests.fakes import ses
from tools.fakes.http import faults
from tools.fakes.http.faults import Rule
from tools.fakes.ses.account import Identity, Status
from tools.fakes.ses.errors import SesError
from tools.fakes.ses.operations.table import TABLE
from tools.fakes.ses.quota import Quota
from tools.fakes.ses.server import FakeSes

MODEL: dict[str, Any] = Loader().load_service_model("sesv2", "service-2")
ERRORS = {
    name: shape["error"]["httpStatusCode"]
    for name, shape in MODEL["shapes"].items()
    if shape.get("exception")
}
TOPIC = "arn:aws:sns:us-east-1:123456789012:events"
DESTINATION = {
    "Enabled": True,
    "MatchingEventTypes": ["SEND", "BOUNCE"],
    "SnsDestination": {"TopicArn": TOPIC},
}


def test_operations_and_errors_are_those_of_the_api() -> None:
    for route in TABLE.routes:
        http = MODEL["operations"][route.name]["http"]
        assert (http["method"], http["requestUri"]) == (route.method, f"/v2/email/{route.path}")
    assert {name: SesError(name).status for name in ERRORS} == ERRORS
    assert set(ERRORS) <= set(SesError.known)


def test_every_scripted_error_of_send_email_is_the_exception_of_that_name(
    fake: FakeSes, client: Any
) -> None:
    for name in (error["shape"] for error in MODEL["operations"]["SendEmail"]["errors"]):
        fake.set_faults(Rule(faults.AnswerError(name, "as scripted")))

        with pytest.raises(getattr(client.exceptions, name)) as raised:
            client.send_email(**ses.mail())

        assert raised.value.response["Error"] == {"Code": name, "Message": "as scripted"}
    assert ses.recipients(fake) == []


def test_a_raw_mail_is_accepted_as_it_came(fake: FakeSes, client: Any) -> None:
    fake.service.account.add_configuration_sets("main")
    tags = [{"Name": "reference", "Value": "01-ab_C"}]

    answer = client.send_email(
        **ses.mail("ann@example.com", ConfigurationSetName="main", EmailTags=tags)
    )

    [accepted] = fake.service.kept
    assert answer["MessageId"] == accepted.message_id
    assert accepted.mail.raw == ses.RAW
    assert {**accepted.to_entry(), "time": "", "sha256": ""} == {
        "time": "",
        "message_id": accepted.message_id,
        "from": "news@acme.example",
        "destination": ("ann@example.com",),
        "tags": {"reference": "01-ab_C"},
        "configuration_set": "main",
        "message_id_header": "<1@acme.example>",
        "sha256": "",
        "size": len(ses.RAW),
        "suppressed": [],
        "outcomes": (),
        "access_key_id": "AKIAFAKEFAKEFAKEFAKE",
    }


def test_a_raw_mail_may_name_everybody_in_its_headers(fake: FakeSes, client: Any) -> None:
    raw = (
        b"from: News <news@acme.example>\n"
        b"To: Ann <ann@example.com>,\n\tbob@example.com\nBcc: eve@example.com\n\nHi\n"
    )

    client.send_email(Content={"Raw": {"Data": raw}})

    assert ses.recipients(fake) == ["ann@example.com", "bob@example.com", "eve@example.com"]


def test_a_simple_mail_is_accepted_as_a_message(fake: FakeSes, client: Any) -> None:
    content = ses.simple(
        Headers=[{"Name": "List-Id", "Value": "news"}],
        Attachments=[{"FileName": "a.txt", "RawContent": b"attached", "ContentType": "text/plain"}],
    )
    content["Simple"]["Body"]["Html"] = {"Data": "<p>Grüße</p>"}

    client.send_email(**ses.mail(Content=content))

    message = email.message_from_bytes(fake.service.kept[0].mail.raw)
    assert (message["From"], message["To"]) == (ses.SENDER, ses.RECIPIENT)
    assert message["List-Id"] == "news"
    parts = [part.get_payload(decode=True) for part in message.walk() if not part.is_multipart()]
    assert parts == [b"Hi!\r\n", "<p>Grüße</p>\r\n".encode(), b"attached"]


def test_the_account_shows_its_state_and_its_quota_in_doubles(fake: FakeSes, client: Any) -> None:
    fake.service.account.quota = Quota(max_24_hour_send=200, max_send_rate=14)
    client.send_email(**ses.mail("ann@example.com", "bob@example.com"))

    account = client.get_account()

    assert account["SendQuota"] == {
        "Max24HourSend": 200.0,
        "MaxSendRate": 14.0,
        "SentLast24Hours": 2.0,
    }
    assert account["EnforcementStatus"] == "HEALTHY"
    assert (account["ProductionAccessEnabled"], account["SendingEnabled"]) == (True, True)
    assert account["SuppressionAttributes"] == {"SuppressedReasons": ["BOUNCE", "COMPLAINT"]}


def test_mail_to_a_suppressed_address_is_accepted_and_marked(fake: FakeSes, client: Any) -> None:
    client.put_suppressed_destination(EmailAddress="ann@example.com", Reason="BOUNCE")
    client.send_email(**ses.mail("Ann@example.com", "bob@example.com"))
    client.put_account_suppression_attributes(SuppressedReasons=["COMPLAINT"])
    client.send_email(**ses.mail("ann@example.com"))

    assert [accepted.suppressed for accepted in fake.service.kept] == [["Ann@example.com"], []]


def test_configuration_sets_are_created_shown_and_deleted(client: Any) -> None:
    options = {"TlsPolicy": "REQUIRE"}
    client.create_configuration_set(ConfigurationSetName="main", DeliveryOptions=options)

    shown = client.get_configuration_set(ConfigurationSetName="main")
    assert (shown["DeliveryOptions"], shown["SendingOptions"]["SendingEnabled"]) == (options, True)
    with pytest.raises(client.exceptions.AlreadyExistsException):
        client.create_configuration_set(ConfigurationSetName="main")
    client.delete_configuration_set(ConfigurationSetName="main")
    for missing in (client.get_configuration_set, client.delete_configuration_set):
        with pytest.raises(client.exceptions.NotFoundException, match="<main> does not exist"):
            missing(ConfigurationSetName="main")


def test_event_destinations_of_a_topic_are_created_shown_changed_and_deleted(
    fake: FakeSes, client: Any
) -> None:
    named = {"ConfigurationSetName": "main", "EventDestinationName": "sns"}
    client.create_configuration_set(ConfigurationSetName="main")
    with pytest.raises(client.exceptions.BadRequestException, match="not found"):
        client.create_configuration_set_event_destination(**named, EventDestination=DESTINATION)
    fake.service.account.topics.create("events")
    client.create_configuration_set_event_destination(**named, EventDestination=DESTINATION)

    def show() -> Any:
        answer = client.get_configuration_set_event_destinations(ConfigurationSetName="main")
        return answer["EventDestinations"]

    assert show() == [{"Name": "sns", **DESTINATION}]
    with pytest.raises(client.exceptions.AlreadyExistsException):
        client.create_configuration_set_event_destination(**named, EventDestination=DESTINATION)
    with pytest.raises(client.exceptions.BadRequestException):
        client.update_configuration_set_event_destination(
            **named, EventDestination={"MatchingEventTypes": ["SEND"]}
        )
    changed = {**DESTINATION, "Enabled": False}
    client.update_configuration_set_event_destination(**named, EventDestination=changed)
    assert show() == [{"Name": "sns", **changed}]
    client.delete_configuration_set_event_destination(**named)
    assert show() == []
    with pytest.raises(client.exceptions.NotFoundException):
        client.delete_configuration_set_event_destination(**named)


def test_a_new_identity_is_pending_with_keys_for_its_dns(fake: FakeSes, client: Any) -> None:
    created = client.create_email_identity(EmailIdentity="globex.example")
    fake.service.account.identities["mail.example"] = Identity(
        "mail.example", mail_from_domain="bounce.mail.example", mail_from=Status.FAILED
    )

    pending = client.get_email_identity(EmailIdentity="globex.example")
    other = client.get_email_identity(EmailIdentity="mail.example")

    assert (created["IdentityType"], created["VerifiedForSendingStatus"]) == ("DOMAIN", False)
    assert len(created["DkimAttributes"]["Tokens"]) == 3
    assert pending["DkimAttributes"]["Status"] == pending["VerificationStatus"] == "PENDING"
    assert "MailFromDomain" not in pending["MailFromAttributes"]
    assert other["VerifiedForSendingStatus"] is True
    assert other["MailFromAttributes"] == {
        "MailFromDomain": "bounce.mail.example",
        "MailFromDomainStatus": "FAILED",
        "BehaviorOnMxFailure": "USE_DEFAULT_VALUE",
    }
    with pytest.raises(client.exceptions.NotFoundException):
        client.get_email_identity(EmailIdentity="unknown.example")
    with pytest.raises(client.exceptions.AlreadyExistsException):
        client.create_email_identity(EmailIdentity="globex.example")
