"""What SNS posts is stored once before it is answered, and trouble that may pass is a 503."""

import asyncio
import errno
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
import trustme
from django.db import connection
from django.test import RequestFactory
from structlog.testing import capture_logs

from postledger.accounts.models import ProviderAccount
from postledger.feedback import certificates, topics
from postledger.feedback.certificates import Certificates
from postledger.feedback.models import InboxMessage, Topic
from postledger.observability.metrics import FEEDBACK_MESSAGES, PENDING
from postledger.web.front.answers import Django
from postledger.web.front.front import Front
from postledger.web.shared import bodies
from postledger.web.shared.bodies import FailedBody
from tests.feedback.hook import post
from tests.feedback.sns import PATH, Fields, SnsServer, as_body, confirmation
from tests.feedback.sns import notification as signed_notification
from tests.feedback.topics import listen, new_arn
from tests.web.front import asgi
from tests.web.front.asgi import Reply

PATIENCE = 60.0
LENGTH = ("content-length", "10000")


@pytest.fixture(autouse=True)
def fresh_certificates() -> None:
    certificates.install(Certificates(most_waiting=3))


@pytest.fixture
def arn(db: None, sns: SnsServer) -> str:
    arn = new_arn()
    listen(arn, endpoint=sns.origin)
    return arn


def notification(arn: str, server: SnsServer, **fields: str) -> Fields:
    return signed_notification(arn, server.certificate_url, **fields)


def test_a_message_is_stored_as_it_came(arn: str, sns: SnsServer) -> None:
    body = '{"eventType":"Send","mail":{"destination":["ü@example.com"]}}'
    for version in ("1", "2"):
        fields = notification(arn, sns, version=version, Message=body)

        assert post(fields, host="moved.example").status_code == 200, version

        row = InboxMessage.objects.get(message_id=fields["MessageId"])
        assert (row.body, row.fault) == (body, ""), version
        assert row.sent_at == datetime(2026, 5, 4, 9, 15, 6, 1000, tzinfo=UTC), version


def test_a_repeated_message_is_stored_once_and_its_certificate_fetched_once(
    arn: str, sns: SnsServer
) -> None:
    fields = notification(arn, sns)

    assert [post(fields).status_code for _ in range(3)] == [200] * 3

    assert InboxMessage.objects.count() == 1
    assert len(sns.requested) == 1


def test_the_test_message_of_ses_is_accepted_and_not_stored(arn: str, sns: SnsServer) -> None:
    text = "Successfully validated SNS topic for Amazon SES event publishing."

    assert post(notification(arn, sns, Message=text)).status_code == 200

    assert not InboxMessage.objects.exists()


def test_a_removed_topic_is_refused(arn: str, sns: SnsServer) -> None:
    topic = Topic.objects.get(arn=arn)
    topics.remove_topic(topic.workspace_id, topic.account_id, arn=arn, actor="alice")

    reply = post(notification(arn, sns))

    assert (reply.status_code, reply.json()["code"]) == (403, "topic_unknown")


def test_outcomes_are_counted_and_no_address_is_logged(arn: str, sns: SnsServer) -> None:
    PENDING.take()
    fields = notification(arn, sns, Message='{"mail":{"destination":["person@example.com"]}}')

    with capture_logs() as lines:
        for body in (fields, fields, {**fields, "Message": "person@example.com"}):
            post(body)

    counted = {
        labels: n for (name, labels), n in PENDING.take().items() if name == FEEDBACK_MESSAGES.name
    }
    assert counted == {("stored",): 1, ("repeated",): 1, ("signature_invalid",): 1}
    # Of a campaign come millions: those that were taken are counted, and have no line.
    assert [line["event"] for line in lines] == ["feedback_refused", "request"]
    assert "person" not in str(lines)


# -- trouble that may pass


def test_a_certificate_that_cannot_be_fetched_is_not_remembered(arn: str, sns: SnsServer) -> None:
    page = sns.pages.pop(PATH)

    reply = post(notification(arn, sns))

    assert (reply.status_code, reply.json()["code"]) == (503, "not_now")
    assert int(reply["Retry-After"]) > 0
    sns.pages[PATH] = page
    assert post(notification(arn, sns)).status_code == 200


def test_a_server_without_a_trusted_certificate_is_not_believed(db: None) -> None:
    arn = new_arn()
    with SnsServer().running_with_tls(trustme.CA()) as server:
        listen(arn, endpoint=server.origin)

        assert post(notification(arn, server)).status_code == 503

        assert server.requested == []


def test_a_database_that_takes_no_writes_is_a_503(arn: str, sns: SnsServer) -> None:
    assert post(notification(arn, sns)).status_code == 200
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")  # as on a standby

    reply = post(notification(arn, sns))

    assert (reply.status_code, reply.json()["code"]) == (503, "not_now")
    assert int(reply["Retry-After"]) > 0


def test_an_account_that_cannot_be_read_is_a_503(sns: SnsServer, arn: str) -> None:
    ProviderAccount.objects.filter(topic__arn=arn).update(sealed_settings=b"sealed otherwise")

    assert post(notification(arn, sns)).status_code == 503


def test_those_who_need_one_certificate_wait_for_one_fetch(sns: SnsServer) -> None:
    kept = Certificates(most_waiting=3)
    sns.may_answer.clear()
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(kept.find, sns.certificate_url) for _ in range(3)]
        assert sns.is_asked.wait(PATIENCE)
        wait_until(lambda: kept._waiting == 3)

        # A fourth would take the last thread of the process.
        assert kept.find(sns.certificate_url) is None
        assert not any(future.done() for future in waiting)

        sns.may_answer.set()
        assert all(future.result(PATIENCE) for future in waiting)
    assert len(sns.requested) == 1


def test_a_certificate_is_kept_for_a_day_and_fifty_of_them_at_most(sns: SnsServer) -> None:
    now = 0.0
    kept = Certificates(most_waiting=1, clock=lambda: now)
    assert kept.find(sns.certificate_url)

    now = 24 * 3600 - 1.0
    assert kept.find(sns.certificate_url)
    assert len(sns.requested) == 1
    now += 2
    assert kept.find(sns.certificate_url)
    assert len(sns.requested) == 2

    for _ in range(50):
        assert kept.find(sns.serve(sns.pages[PATH][2]))
    assert len(kept._kept) == 50
    assert kept.find(sns.certificate_url)
    assert len(sns.requested) == 53


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_a_network_with_too_many_bodies_on_their_way_hears_503() -> None:
    front = Front(thread_count=1)

    async def send_body(*, stalls: bool) -> Reply:
        client = asgi.Client([b"{"], stalls=stalls)
        return await asgi.ask(front, "POST", "/ses-events", LENGTH, client=client)

    async def send_many() -> tuple[Reply, Reply]:
        broken_off = await send_body(stalls=False)
        slow = [asyncio.create_task(send_body(stalls=True)) for _ in range(64)]
        await asyncio.sleep(0)
        refused = await send_body(stalls=True)
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        return broken_off, refused

    for reply in asyncio.run(send_many()):
        assert reply.status == 503
        assert int(reply.headers["retry-after"]) > 0


def test_a_network_with_too_many_requests_waiting_hears_503() -> None:
    front, may_end = Front(thread_count=2), threading.Event()

    async def ask_many() -> Reply:
        held = [
            asyncio.create_task(front._event_threads.run("192.0.2.1", may_end.wait))
            for _ in range(202)
        ]
        await asyncio.sleep(0)
        refused = await asgi.ask(front, "POST", "/ses-events", client=asgi.Client([b"{}"]))
        may_end.set()
        await asyncio.gather(*held)
        return refused

    reply = asyncio.run(ask_many())

    assert (reply.status, reply.headers["retry-after"]) == (503, "1")


def test_other_requests_keep_no_event_waiting() -> None:
    front, may_end = Front(thread_count=2), threading.Event()

    async def ask_among_many() -> Reply:
        others = [
            asyncio.create_task(front._threads.run(number, may_end.wait)) for number in range(402)
        ]
        await asyncio.sleep(0)
        reply = await asgi.ask(front, "POST", "/ses-events", client=asgi.Client([b"{}"]))
        may_end.set()
        await asyncio.gather(*others)
        return reply

    assert asyncio.run(ask_among_many()).status == 400  # it is no message of SNS


def test_only_a_body_that_is_too_large_is_refused_for_good(db: None) -> None:
    for number, status in ((errno.ETIMEDOUT, 503), (errno.EFBIG, 413)):
        environ = RequestFactory().post("/ses-events").environ
        environ |= {"wsgi.input": FailedBody(number), "CONTENT_LENGTH": "9"}

        assert Django().answer(environ).status == status, number


def test_a_body_of_256_kib_in_an_envelope_is_read(arn: str, sns: SnsServer) -> None:
    fields = notification(arn, sns, Message='"' * (255 * 1024))

    assert len(as_body(fields)) <= bodies.find_largest("/ses-events")
    assert post(fields).status_code == 200


# -- subscriptions


def test_a_subscription_is_confirmed_through_the_api_and_its_url_never_fetched(
    arn: str, sns: SnsServer
) -> None:
    canary = f"{sns.origin}/subscribe"

    reply = post(confirmation(arn, sns.certificate_url, SubscribeURL=canary))

    assert reply.status_code == 200
    [call] = sns.calls
    assert (call["Action"], call["TopicArn"]) == (["ConfirmSubscription"], [arn])
    assert (call["Token"], call["AuthenticateOnUnsubscribe"]) == (["token-1"], ["true"])
    assert sns.requested == [PATH]
    assert Topic.objects.get(arn=arn).confirmed_at is not None


def test_a_subscription_that_cannot_be_confirmed_is_asked_for_again(
    arn: str, sns: SnsServer
) -> None:
    sns.api_status = 403

    reply = post(confirmation(arn, sns.certificate_url))

    assert reply.status_code == 503
    topic = Topic.objects.get(arn=arn)
    assert topic.confirmed_at is None
    assert topic.trouble.startswith("SNS did not confirm the subscription")
    sns.api_status = 200
    assert post(confirmation(arn, sns.certificate_url)).status_code == 200
    assert Topic.objects.get(arn=arn).trouble == ""


def test_an_old_confirmation_changes_nothing(arn: str, sns: SnsServer) -> None:
    sent_at = datetime.now(UTC) - timedelta(days=4)
    fields = confirmation(arn, sns.certificate_url, Timestamp=sent_at.isoformat())

    assert post(fields).status_code == 200

    assert sns.calls == []
    assert Topic.objects.get(arn=arn).confirmed_at is None


def test_an_ended_subscription_is_shown_and_not_made_again(arn: str, sns: SnsServer) -> None:
    ended = confirmation(arn, sns.certificate_url, kind="UnsubscribeConfirmation")

    with capture_logs() as lines:
        assert post(ended).status_code == 200

    assert "was ended" in Topic.objects.get(arn=arn).trouble
    assert "subscription_ended" in [line["event"] for line in lines]
    assert sns.calls == []
    # Once it was confirmed again, the old message is no news.
    assert post(confirmation(arn, sns.certificate_url)).status_code == 200
    assert post(ended).status_code == 200
    assert Topic.objects.get(arn=arn).trouble == ""
