"""An envelope of SNS is read strictly, and its signature covers what it says."""

from datetime import UTC, datetime, timedelta

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


def test_a_message_of_sns_is_believed() -> None:
    for version in ("1", "2"):
        for more in ({}, {"Subject": "Grüße"}, {"Message": "text\nMessageId\nx"}):
            assert find_forgery(sns.notification(ARN, URL, version=version, **more)) is None, more
    assert find_forgery({**sns.notification(ARN, URL), "Subject": None}) is None
    for name in ("sns.amazonaws.com", "sns.eu-west-1.amazonaws.com"):
        assert find_forgery(sns.notification(ARN, URL), sns.certificate(name)) is None, name
    for kind in (Kind.SUBSCRIPTION, Kind.UNSUBSCRIPTION):
        fields = sns.confirmation(ARN, URL, kind=kind)
        assert (read(fields).kind, read(fields).token) == (kind, "token-1")
        assert find_forgery(fields) is None, kind
    assert read(without("Signature")).signature is None, "a queue needs none"


def test_the_test_message_of_ses_is_recognised() -> None:
    text = "Successfully validated SNS topic for Amazon SES event publishing."

    assert read(sns.notification(ARN, URL, Message=text)).is_test
    assert not read(sns.notification(ARN, URL)).is_test


def test_another_url_is_no_certificate_of_the_topics_region() -> None:
    for url in (
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
        "file:///etc/passwd",
        "HTTPS://SNS.EU-WEST-1.AMAZONAWS.COM" + sns.PATH,
        "",
    ):
        assert sns_envelope.is_certificate_url(URL, origin=ORIGIN), url
        assert not sns_envelope.is_certificate_url(url, origin=ORIGIN), url


def test_another_certificate_proves_nothing() -> None:
    for why, pem in {
        "expired": sns.certificate(ends_in=timedelta(days=-1)),
        "foreign name": sns.certificate("sns.evil.example"),
        "another region": sns.certificate("sns.us-east-1.amazonaws.com"),
        "longer name": sns.certificate("sns.amazonaws.com.evil.example"),
        "another key": sns.certificate(key="another"),
    }.items():
        assert find_forgery(sns.notification(ARN, URL), pem), why
    for pem in (b"", b"no PEM", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"):
        assert sns_envelope.load_certificate(pem) is None, pem


def test_a_changed_field_breaks_the_signature() -> None:
    fields = sns.notification(ARN, URL, Subject="Amazon SES Email Event Notification")
    others = {"MessageId": "another", "Timestamp": "2026-05-04T09:15:06.002Z"}
    for name in ("Message", "MessageId", "Subject", "Timestamp"):
        forged = {**fields, name: others.get(name, "other")}
        assert find_forgery(forged) == "Its signature does not fit its content.", name
    for name in ("Token", "SubscribeURL", "Message"):
        assert find_forgery({**sns.confirmation(ARN, URL), name: "other"}), name
    for signature in ("", "no base64!", "AAAA", "ä"):
        assert find_forgery({**fields, "Signature": signature}), signature
    assert find_forgery({**sns.confirmation(ARN, URL), "Type": "Notification"})


def test_a_signature_counts_for_its_own_version_only() -> None:
    for signed, said in (("1", "2"), ("2", "1"), ("2", "3"), ("2", "")):
        fields = sns.notification(ARN, URL, version=signed)

        assert find_forgery({**fields, "SignatureVersion": said}), (signed, said)


def without(name: str) -> sns.Fields:
    fields = sns.notification(ARN, URL)
    del fields[name]
    return fields


def changed(**fields: object) -> bytes:
    return sns.as_body({**sns.notification(ARN, URL), **fields})


def test_what_is_no_envelope_is_malformed() -> None:
    for body in (
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
        sns.as_body(sns.notification(ARN, URL))[:-1] + b', "x": {"a": 1, "a": 2}}',
    ):
        assert isinstance(sns_envelope.parse(body), Malformed), body[:80]


def test_why_a_message_is_malformed_repeats_nothing_of_it() -> None:
    malformed = sns_envelope.parse(b'{"Type": "person@example.com"}')

    assert isinstance(malformed, Malformed)
    assert "person" not in malformed.why
