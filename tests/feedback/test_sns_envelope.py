"""An envelope of SNS is read strictly, and its signature covers what it says."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from postledger.providers.ses.events import sns_envelope
from postledger.providers.ses.events.sns_envelope import Envelope, Kind, Malformed
from tests.feedback import sns

ARN = "arn:aws:sns:eu-west-1:123456789012:events"
ORIGIN = "https://sns.eu-west-1.amazonaws.com"
URL = ORIGIN + sns.PATH
NOW = datetime.now(UTC)


def read(fields: sns.Fields) -> Envelope:
    envelope = sns_envelope.parse(sns.as_body(fields))
    assert isinstance(envelope, Envelope)
    return envelope


def find_forgery(fields: sns.Fields, pem: bytes | None = None) -> str | None:
    certificate = sns_envelope.load_certificate(pem or sns.certificate())
    assert certificate is not None
    return sns_envelope.find_forgery(read(fields), certificate, now=NOW)


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("more", [{}, {"Subject": "Grüße"}, {"Message": "text\nMessageId\nx"}])
def test_a_message_of_sns_is_believed(version: str, more: dict[str, str]) -> None:
    assert find_forgery(sns.notification(ARN, URL, version=version, **more)) is None


@pytest.mark.parametrize("kind", [Kind.SUBSCRIPTION, Kind.UNSUBSCRIPTION])
def test_a_confirmation_of_sns_is_believed(kind: Kind) -> None:
    fields = sns.confirmation(ARN, URL, kind=kind)

    assert read(fields).kind is kind
    assert read(fields).token == "token-1"
    assert find_forgery(fields) is None


def test_an_absent_subject_may_be_null() -> None:
    assert find_forgery({**sns.notification(ARN, URL), "Subject": None}) is None


@pytest.mark.parametrize("common_name", ["sns.amazonaws.com", "sns.eu-west-1.amazonaws.com"])
def test_the_names_of_snss_certificates_are_believed(common_name: str) -> None:
    assert find_forgery(sns.notification(ARN, URL), sns.certificate(common_name)) is None


def test_the_test_message_of_ses_is_recognised() -> None:
    text = "Successfully validated SNS topic for Amazon SES event publishing."

    assert read(sns.notification(ARN, URL, Message=text)).is_test
    assert not read(sns.notification(ARN, URL)).is_test


@pytest.mark.parametrize(
    "url",
    [
        "https://sns.s3-us-west-2.amazonaws.com" + sns.PATH,
        "https://sns.us-east-1.amazonaws.com" + sns.PATH,
        "http://sns.eu-west-1.amazonaws.com" + sns.PATH,
        f"{ORIGIN}:443{sns.PATH}",
        f"{ORIGIN}:8443{sns.PATH}",
        f"https://sns.eu-west-1.amazonaws.com@evil.example{sns.PATH}",
        f"https://user@sns.eu-west-1.amazonaws.com{sns.PATH}",
        f"{ORIGIN}.evil.example{sns.PATH}",
        f"{ORIGIN}.cn{sns.PATH}",
        f"{URL}?x=1",
        f"{URL}#x",
        f"{URL}\n",
        f"{ORIGIN}//evil.example{sns.PATH}",
        f"{ORIGIN}/a/..{sns.PATH}",
        f"{ORIGIN}/SimpleNotificationService-.pem",
        f"{ORIGIN}/SimpleNotificationService-0123.pem.exe",
        f"{ORIGIN}/other.pem",
        "HTTPS://SNS.EU-WEST-1.AMAZONAWS.COM" + sns.PATH,
        "",
    ],
)
def test_another_url_is_no_certificate_of_the_topics_region(url: str) -> None:
    assert sns_envelope.is_certificate_url(URL, origin=ORIGIN)
    assert not sns_envelope.is_certificate_url(url, origin=ORIGIN)


@pytest.mark.parametrize(
    "pem",
    [
        sns.certificate(ends_in=timedelta(days=-1)),
        sns.certificate("sns.evil.example"),
        sns.certificate("sns.us-east-1.amazonaws.com"),
        sns.certificate("sns.amazonaws.com.evil.example"),
        sns.certificate(key="another"),
    ],
    ids=["expired", "foreign name", "another region", "longer name", "another key"],
)
def test_another_certificate_proves_nothing(pem: bytes) -> None:
    assert find_forgery(sns.notification(ARN, URL), pem)


@pytest.mark.parametrize("name", ["Message", "MessageId", "Subject", "Timestamp"])
def test_a_changed_field_breaks_the_signature(name: str) -> None:
    fields = sns.notification(ARN, URL, Subject="Amazon SES Email Event Notification")
    other = {"MessageId": "another", "Timestamp": "2026-05-04T09:15:06.002Z"}.get(name, "other")

    assert find_forgery({**fields, name: other}) == "Its signature does not fit its content."


@pytest.mark.parametrize("name", ["Token", "SubscribeURL", "Message"])
def test_a_changed_field_of_a_confirmation_breaks_the_signature(name: str) -> None:
    assert find_forgery({**sns.confirmation(ARN, URL), name: "other"})


@pytest.mark.parametrize(("signed", "said"), [("1", "2"), ("2", "1"), ("2", "3"), ("2", "")])
def test_a_signature_counts_for_its_own_version_only(signed: str, said: str) -> None:
    fields = sns.notification(ARN, URL, version=signed)

    assert find_forgery({**fields, "SignatureVersion": said})


def test_a_confirmation_cannot_pass_for_a_notification() -> None:
    assert find_forgery({**sns.confirmation(ARN, URL), "Type": "Notification"})


@pytest.mark.parametrize("signature", ["", "no base64!", "AAAA", "ä"])
def test_what_is_no_signature_proves_nothing(signature: str) -> None:
    assert find_forgery({**sns.notification(ARN, URL), "Signature": signature})


@pytest.mark.parametrize(
    "pem", [b"", b"no PEM", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_what_is_no_certificate_is_not_loaded(pem: bytes) -> None:
    assert sns_envelope.load_certificate(pem) is None


def without(name: str) -> sns.Fields:
    fields = sns.notification(ARN, URL)
    del fields[name]
    return fields


def changed(**fields: object) -> bytes:
    return sns.as_body({**sns.notification(ARN, URL), **fields})


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe{}",
        "{}".encode("utf-16"),
        b"[]",
        b'"text"',
        b"{}",
        b'{"Type": NaN}',
        b'{"Type": "Notification", "Type": "Notification"}',
        b"[" * 100_000,
        b'{"a": ' + b"1" * 5_000 + b"}",
        b" " * (512 * 1024 + 1),
        *(sns.as_body(without(name)) for name in ("Type", "Message", "MessageId", "TopicArn")),
        sns.as_body(without("Timestamp")),
        sns.as_body(without("SignatureVersion")),
        sns.as_body(without("SigningCertURL")),
        changed(Type="Nonsense"),
        changed(Message={"eventType": "Send"}),
        changed(TopicArn=[ARN]),
        changed(MessageId=1),
        changed(MessageId="a b"),
        changed(Subject=1),
        changed(Signature=None),
        changed(Timestamp="yesterday"),
        changed(Timestamp="2026-05-04T09:15:06"),
        changed(Message="\ud800"),
        sns.EVENT.encode(),
    ],
)
def test_what_is_no_envelope_is_malformed(body: bytes) -> None:
    assert isinstance(sns_envelope.parse(body), Malformed)


def test_a_repeated_name_inside_another_field_is_malformed_too() -> None:
    body = json.dumps(sns.notification(ARN, URL))[:-1] + ', "x": {"a": 1, "a": 2}}'

    assert isinstance(sns_envelope.parse(body.encode()), Malformed)


def test_a_queue_needs_no_signature() -> None:
    assert read(without("Signature")).signature is None


def test_why_a_message_is_malformed_repeats_nothing_of_it() -> None:
    malformed = sns_envelope.parse(b'{"Type": "person@example.com"}')

    assert isinstance(malformed, Malformed)
    assert "person" not in malformed.why
