"""Forged messages are refused, and none of them makes this installation connect anywhere."""

import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta

import pytest

from postledger.feedback import certificates
from postledger.feedback.certificates import Certificates
from postledger.feedback.models import InboxMessage, Topic
from tests.feedback import sns
from tests.feedback.hook import post
from tests.feedback.sns import Fields, SnsServer
from tests.feedback.topics import listen, new_arn

pytestmark = pytest.mark.django_db


@dataclass
class Scene:
    """A topic of acme, whose account has its SNS on this machine, and a canary beside it."""

    arn: str
    server: SnsServer
    canary: socket.socket

    @property
    def canary_origin(self) -> str:
        return f"http://127.0.0.1:{self.canary.getsockname()[1]}"

    def notification(self, **fields: str) -> Fields:
        return sns.notification(self.arn, self.server.certificate_url, **fields)

    def certified_at(self, url: str) -> Fields:
        return sns.notification(self.arn, url)

    def heard_nothing(self) -> bool:
        self.canary.settimeout(0)
        try:
            self.canary.accept()
        except BlockingIOError:
            return True
        return False


@pytest.fixture
def scene(sns: SnsServer) -> Iterator[Scene]:
    certificates.install(Certificates(most_waiting=3))
    arn = new_arn()
    listen(arn, endpoint=sns.origin)
    with closing(socket.create_server(("127.0.0.1", 0))) as canary:
        yield Scene(arn, sns, canary)


type Forge = Callable[[Scene], Fields | bytes]

PORT_9 = "http://127.0.0.1:9"


def host_of(scene: Scene) -> str:
    return scene.server.origin.removeprefix("http://")


def without(name: str) -> Forge:
    def forge(scene: Scene) -> Fields:
        fields = scene.notification()
        del fields[name]
        return fields

    return forge


def changed(**fields: object) -> Forge:
    return lambda scene: {**scene.notification(), **fields}


NO_NETWORK: dict[str, tuple[Forge, int]] = {
    "a topic of nobody": (lambda s: sns.notification(new_arn(), s.server.certificate_url), 403),
    "a topic of nobody, certified by the canary": (
        lambda s: sns.notification(new_arn(), s.canary_origin + sns.PATH),
        403,
    ),
    "the canary's certificate": (lambda s: s.certified_at(s.canary_origin + sns.PATH), 403),
    "a bucket's host": (
        lambda s: s.certified_at("https://sns.s3-us-west-2.amazonaws.com" + sns.PATH),
        403,
    ),
    "the real SNS, which is not the account's": (
        lambda s: s.certified_at("https://sns.eu-west-1.amazonaws.com" + sns.PATH),
        403,
    ),
    "the metadata service": (lambda s: s.certified_at("http://169.254.169.254" + sns.PATH), 403),
    "another scheme": (lambda s: s.certified_at(f"https://{host_of(s)}{sns.PATH}"), 403),
    "the host as a user": (
        lambda s: s.certified_at(
            f"{s.server.origin}@127.0.0.1:{s.canary.getsockname()[1]}{sns.PATH}"
        ),
        403,
    ),
    "a query": (lambda s: s.certified_at(f"{s.server.certificate_url}?next={PORT_9}"), 403),
    "no signature": (without("Signature"), 403),
    "no topic": (without("TopicArn"), 400),
    "no certificate": (without("SigningCertURL"), 400),
    "a raw event": (lambda _: sns.EVENT.encode(), 400),
    "two topics": (
        lambda s: sns.as_body(s.notification())[:-1] + f', "TopicArn": "{s.arn}"}}'.encode(),
        400,
    ),
    "no JSON": (lambda _: b"Type=Notification", 400),
    "a confirmation of a topic of nobody": (
        lambda s: sns.confirmation(
            new_arn(), s.server.certificate_url, SubscribeURL=s.canary_origin
        ),
        403,
    ),
}


def test_a_forged_message_causes_no_connection(scene: Scene) -> None:
    for name, (forge, status) in NO_NETWORK.items():
        body = forge(scene)

        with sns.watching_sockets() as seen:
            reply = post(body)

        assert reply.status_code == status, name
        assert reply["Content-Type"] == "application/problem+json"
        assert seen == [], name
        assert scene.heard_nothing(), name
    assert scene.server.requested == []
    assert not InboxMessage.objects.exists()


def sign_otherwise(scene: Scene, **fields: str) -> Fields:
    return sns.sign({**scene.notification(), **fields}, scene.server.certificate_url, key="mallory")


# With a certificate of the topic's own SNS, the only host that is asked.
CERTIFIED: dict[str, tuple[Forge, int]] = {
    "signed by another key": (sign_otherwise, 403),
    "version 2 as version 1": (changed(SignatureVersion="1"), 403),
    "another message": (changed(Message='{"eventType":"Bounce"}'), 403),
    "a signature that is no base64": (changed(Signature="?"), 403),
    "a notification as a confirmation": (
        changed(Type="SubscriptionConfirmation", Token="t", SubscribeURL=PORT_9),
        403,
    ),
    "a confirmation with another token": (
        lambda s: {
            **sns.confirmation(s.arn, s.server.certificate_url, SubscribeURL=s.canary_origin),
            "Token": "other",
        },
        403,
    ),
    "an expired certificate": (
        lambda s: s.certified_at(s.server.serve(sns.certificate(ends_in=timedelta(days=-1)))),
        403,
    ),
    "a certificate with another name": (
        lambda s: s.certified_at(s.server.serve(sns.certificate("sns.evil.example"))),
        403,
    ),
    # Of the host itself, so it may pass.
    "a redirect to the canary": (
        lambda s: s.certified_at(
            s.server.serve(b"", status=302, Location=s.canary_origin + sns.PATH)
        ),
        503,
    ),
    "a huge certificate": (
        lambda s: s.certified_at(s.server.serve(sns.certificate() + b"#" * 16_384)),
        503,
    ),
    "a certificate that is none": (lambda s: s.certified_at(s.server.serve(b"no PEM")), 503),
    "a certificate that is missing": (
        lambda s: s.certified_at(f"{s.server.origin}/SimpleNotificationService-00.pem"),
        503,
    ),
}


def test_a_forged_message_reaches_no_host_but_the_topics_own(scene: Scene) -> None:
    own = ("127.0.0.1", int(scene.server.origin.rpartition(":")[2]))
    for name, (forge, status) in CERTIFIED.items():
        certificates.install(Certificates(most_waiting=3))
        scene.server.requested.clear()
        body = forge(scene)

        with sns.watching_sockets() as seen:
            reply = post(body)

        assert reply.status_code == status, name
        assert len(scene.server.requested) == 1, name
        assert {args[1] for args in seen if len(args) == 2} <= {own}, name  # type: ignore[arg-type,index]
        assert scene.heard_nothing(), name
    assert not InboxMessage.objects.exists()
    assert Topic.objects.get(arn=scene.arn).confirmed_at is None
    assert scene.server.calls == []


def test_a_message_without_an_envelope_is_refused_with_what_to_do(scene: Scene) -> None:
    with sns.watching_sockets() as seen:
        reply = post(sns.EVENT.encode(), **{"x-amz-sns-rawdelivery": "true"})

    assert (reply.status_code, reply.json()["code"]) == (400, "raw_delivery")
    assert "Disable raw message delivery" in reply.json()["detail"]
    assert seen == []


def test_a_topic_of_another_workspace_reports_to_that_workspace_alone(scene: Scene) -> None:
    arn = new_arn()
    globex = listen(arn, workspace="globex", endpoint=scene.server.origin)
    fields = sns.notification(arn, scene.server.certificate_url)

    assert post({**fields, "TopicArn": scene.arn}).status_code == 403
    assert post(fields).status_code == 200
    # Nor is it replayed with another body.
    assert post({**fields, "Message": '{"eventType":"Complaint"}'}).status_code == 403

    kept = InboxMessage.objects.get()
    assert (kept.account_id, kept.body) == (globex, sns.EVENT)
