"""Only requests that the right key signed, for this service, here and now, are taken."""

from datetime import UTC, datetime, timedelta

import pytest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from tests.fakes import ses
from tests.fakes.wire import WireAnswer
from tools.fakes.http.exchanges import Request
from tools.fakes.ses import sigv4
from tools.fakes.ses.errors import SesError
from tools.fakes.ses.server import FakeSes
from tools.fakes.ses.service import (
    ACCESS_KEY_ID,
    SECRET_ACCESS_KEY,
    SESSION_KEY_ID,
    SESSION_TOKEN,
)
from tools.fakes.ses.sigv4 import Credential

SESSION = Credentials(SESSION_KEY_ID, SECRET_ACCESS_KEY, SESSION_TOKEN)
BODY = ses.document()


def send(fake: FakeSes, request: bytes) -> WireAnswer:
    with ses.Wire(fake.port) as wire:
        wire.socket.sendall(request)
        return wire.read_answer()


def test_wrong_credentials_are_refused_as_403(fake: FakeSes) -> None:
    for key, secret, token, region, name in [
        ("AKIAUNKNOWN", SECRET_ACCESS_KEY, None, "us-east-1", "UnrecognizedClientException"),
        (ACCESS_KEY_ID, "wrong", None, "us-east-1", "InvalidSignatureException"),
        (ACCESS_KEY_ID, SECRET_ACCESS_KEY, None, "eu-west-1", "InvalidSignatureException"),
        (SESSION_KEY_ID, SECRET_ACCESS_KEY, None, "us-east-1", "UnrecognizedClientException"),
        (SESSION_KEY_ID, SECRET_ACCESS_KEY, "wrong", "us-east-1", "UnrecognizedClientException"),
        (ACCESS_KEY_ID, SECRET_ACCESS_KEY, "any", "us-east-1", "UnrecognizedClientException"),
    ]:
        client = ses.connect(fake.endpoint, Credentials(key, secret, token), region)

        with pytest.raises(ClientError) as raised:
            client.send_email(**ses.mail())

        assert raised.value.response["Error"]["Code"] == name
        assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
    assert ses.recipients(fake) == []


def test_a_session_is_taken_until_it_ends(fake: FakeSes) -> None:
    client = ses.connect(fake.endpoint, SESSION)
    client.send_email(**ses.mail())

    ended = Credential(SECRET_ACCESS_KEY, SESSION_TOKEN, datetime.now(UTC))
    fake.service.credentials[SESSION_KEY_ID] = ended

    with pytest.raises(ClientError, match="ExpiredTokenException"):
        client.send_email(**ses.mail())
    assert len(fake.service.kept) == 1


def test_a_request_that_was_changed_on_its_way_is_refused(fake: FakeSes) -> None:
    signed = ses.sign(fake.port, BODY)
    for old, new, name in [
        (b"news@acme", b"boss@acme", "InvalidSignatureException"),
        (b"ann@example.com", b"eve@example.com", "InvalidSignatureException"),
        (b"application/json", b"application/xml", "InvalidSignatureException"),
        (b"content-type;host;", b"content-type;", "InvalidSignatureException"),
        (b"Content-Type:", b"X-Amz-Other: 1\r\nContent-Type:", "InvalidSignatureException"),
        (b"SignedHeaders=", b"SignedHeaders=x-missing;", "InvalidSignatureException"),
        (b"aws4_request", b"aws5_request", "InvalidSignatureException"),
        (b"Authorization:", b"X-Authorization:", "MissingAuthenticationTokenException"),
        (b"AWS4-HMAC-SHA256", b"AWS3-HMAC-SHA256", "IncompleteSignatureException"),
        (b"Signature=", b"Sig=", "IncompleteSignatureException"),
        (b"X-Amz-Date:", b"X-Date:", "IncompleteSignatureException"),
    ]:
        changed = signed.replace(old, new)
        assert changed != signed, old

        answer = send(fake, changed)

        assert (answer.status, answer.error_type) == (403, name), old
    assert ses.recipients(fake) == []
    assert send(fake, signed).status == 200


def test_a_signature_is_good_for_fifteen_minutes() -> None:
    signed_at = datetime(2026, 1, 31, 23, 50, tzinfo=UTC)
    stamp = signed_at.strftime("%Y%m%dT%H%M%SZ")
    scope = f"{stamp[:8]}/us-east-1/ses/aws4_request"
    headers = {"host": "here", "x-amz-date": stamp}
    credential = Credential("secret")
    unsigned = Request("GET", "/v2/email/account", headers)
    signature = sigv4.sign(unsigned, ("host", "x-amz-date"), credential, scope)
    authorization = (
        f"{sigv4.ALGORITHM} Credential=key/{scope}, SignedHeaders=host;x-amz-date,"
        f" Signature={signature}"
    )
    signed = Request("GET", unsigned.target, {**headers, "authorization": authorization})

    def verify(age: timedelta) -> str:
        return sigv4.verify(signed, {"key": credential}, "us-east-1", signed_at + age)

    for minutes in (15.0, -15.0):
        assert verify(timedelta(minutes=minutes)) == "key", minutes
    for minutes, message in [(15.1, "Signature expired"), (-15.1, "Signature not yet current")]:
        with pytest.raises(SesError, match="InvalidSignatureException") as raised:
            verify(timedelta(minutes=minutes))
        assert message in (raised.value.message or ""), minutes
