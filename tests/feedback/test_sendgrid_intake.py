"""What SendGrid posts is stored once before it is answered; what it did not sign is refused."""

import asyncio
import errno
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import OperationalError, connection, connections
from django.test import Client, RequestFactory
from pytest_django import Settings
from structlog.testing import capture_logs

from postledger.feedback import webhook_keys
from postledger.feedback.models import InboxMessage, WebhookKey
from postledger.observability.metrics import FEEDBACK_MESSAGES, PENDING
from postledger.web.front.answers import Django
from postledger.web.front.front import Front
from postledger.web.shared import bodies
from postledger.web.shared.bodies import FailedBody
from tests.feedback import topics
from tests.feedback.sendgrid import (
    SIGNATURE,
    TIMESTAMP,
    Webhook,
    event,
    listen,
    new_account,
    post,
    write_body,
)
from tests.web.callers import caller
from tests.web.front import asgi

USER = "user@recipient.example"
NOTHING: dict[str, str] = {}
BODY = write_body([event("delivered", USER, "a-reference"), event("open", USER, "a-reference")])


@pytest.fixture
def webhook(db: None) -> Webhook:
    return listen()


def send(webhook: Webhook, body: bytes = BODY) -> Any:
    return post(webhook.account_id, body, webhook.headers(body))


def test_a_post_is_stored_as_it_came(webhook: Webhook) -> None:
    body = '[{"event":"open","email":"ü@example.com"}]\r\n'.encode()
    headers = webhook.headers(body)

    assert post(webhook.account_id, body, headers).status_code == 200

    row = InboxMessage.objects.get()
    assert (row.account_id, row.body.encode(), row.fault) == (webhook.account_id, body, "")
    assert row.sent_at == datetime.fromtimestamp(int(headers[TIMESTAMP]), UTC)


def test_a_repeated_post_is_stored_once_for_each_account_also_if_it_is_signed_anew(
    webhook: Webhook,
) -> None:
    headers = webhook.headers(BODY) | {"host": "moved.example"}
    later = webhook.headers(BODY, str(int(headers[TIMESTAMP]) + 1))

    replies = [post(webhook.account_id, BODY, each) for each in (headers, headers, later)]

    assert [reply.status_code for reply in replies] == [200] * 3
    assert InboxMessage.objects.count() == 1
    assert send(listen("globex")).status_code == 200
    assert InboxMessage.objects.count() == 2


def test_1500_events_in_768_kb_are_stored_before_the_answer(webhook: Webhook) -> None:
    events = [event("click", USER, "x" * 180, seconds=number) for number in range(1_500)]
    body = write_body(events)
    assert 700_000 < len(body) <= 768 * 1024 <= bodies.find_largest("/sendgrid-events/1")

    assert send(webhook, body).status_code == 200

    assert json.loads(InboxMessage.objects.get().body) == events


def test_what_was_signed_and_cannot_be_read_is_kept_so_that_it_is_not_sent_for_a_day(
    webhook: Webhook,
) -> None:
    bodies_read = (b"no JSON", b"", b"\xff\xfe[]", b'[{"a":"\0"}]')
    for body in bodies_read:
        assert send(webhook, body).status_code == 200, body

    # They get their fault when they are applied, and can be retried.
    assert list(InboxMessage.objects.values_list("fault", flat=True)) == [""] * len(bodies_read)


def test_both_keys_are_believed_and_noted_as_used_until_the_old_one_is_removed(
    webhook: Webhook,
) -> None:
    before = datetime.now(UTC)
    row = WebhookKey.objects.get()
    new = Webhook(webhook.account_id)
    ids = (row.workspace_id, row.account_id)
    webhook_keys.register_key(*ids, public_key=new.public_key, actor="alice")
    both = [send(each, b"[%d]" % number).status_code for number, each in enumerate((webhook, new))]
    used = WebhookKey.objects.filter(last_used_at__range=(before, datetime.now(UTC)))
    assert (both, used.count()) == ([200, 200], 2)

    webhook_keys.remove_key(*ids, public_key=webhook.public_key, actor="alice")

    assert [send(each, b"[2]").status_code for each in (webhook, new)] == [403, 200]
    assert InboxMessage.objects.count() == 3


def test_a_post_is_taken_though_its_use_cannot_be_noted(webhook: Webhook) -> None:
    def fail(execute: Callable[..., object], sql: str, *rest: object) -> object:
        if "feedback_webhookkey" in sql and "FOR UPDATE" in sql:
            raise OperationalError("the connection is lost")
        return execute(sql, *rest)

    with connection.execute_wrapper(fail):
        assert send(webhook).status_code == 200

    assert InboxMessage.objects.count() == 1
    assert WebhookKey.objects.get().last_used_at is None


# -- refusals


@dataclass(frozen=True)
class Forgery:
    account_id: int | str
    body: bytes
    headers: dict[str, str]


def _forgeries(webhook: Webhook) -> dict[str, Forgery]:
    account_id, now = webhook.account_id, int(datetime.now(UTC).timestamp())
    good, other = webhook.headers(BODY, str(now)), listen("globex")

    def forge(
        body: bytes = BODY, account_id: int = account_id, headers: Mapping[str, str] = NOTHING
    ) -> Forgery:
        return Forgery(account_id, body, {**good, **headers})

    def sign_at(at: int) -> Forgery:
        return Forgery(account_id, BODY, webhook.headers(BODY, str(at)))

    return {
        "signed by a key of nobody": Forgery(account_id, BODY, Webhook().headers(BODY)),
        "signed by another account's key": Forgery(account_id, BODY, other.headers(BODY)),
        "sent to another account": forge(account_id=other.account_id),
        "sent to an account without a key": forge(account_id=new_account()[1]),
        "sent to an account of SES": forge(account_id=topics.new_account()[1]),
        "sent to an account of nobody": forge(account_id=2**62),
        "sent to a number that no account can have": forge(account_id=10**40),
        "with a changed byte": forge(BODY.replace(b"delivered", b"delivereD")),
        "with a byte more": forge(BODY + b" "),
        "without its last byte": forge(BODY[:-1]),
        "written anew": forge(json.dumps(json.loads(BODY)).encode()),
        "with nothing": forge(b""),
        "with another timestamp": forge(headers={TIMESTAMP: str(now + 1)}),
        "with a timestamp that is none": forge(headers={TIMESTAMP: "now"}),
        "without a timestamp": forge(headers={TIMESTAMP: ""}),
        "without a signature": forge(headers={SIGNATURE: ""}),
        "with a signature that is no base64": forge(headers={SIGNATURE: "?" * 96}),
        "with a signature that is no DER": forge(headers={SIGNATURE: "A" * 96}),
        "with a huge signature": forge(headers={SIGNATURE: "A" * 60_000}),
        "too old": sign_at(now - 25 * 3600 - 60),
        "from the future": sign_at(now + 600),
    }


def test_forged_posts_are_refused(webhook: Webhook) -> None:
    for name, forgery in _forgeries(webhook).items():
        reply = post(forgery.account_id, forgery.body, forgery.headers)

        assert (name, reply.status_code, reply.json()["code"]) == (name, 403, "signature_invalid")
        assert reply["Content-Type"] == "application/problem+json"
    assert not InboxMessage.objects.exists()
    assert not WebhookKey.objects.exclude(last_used_at=None).exists()


def test_an_account_that_is_not_there_is_refused_like_one_with_another_key(
    webhook: Webhook,
) -> None:
    headers = Webhook().headers(BODY) | {"X-Request-Id": "one"}

    replies = [
        post(account_id, BODY, headers)
        for account_id in (webhook.account_id, new_account()[1], webhook.account_id + 10**6)
    ]

    assert {(reply.status_code, reply.content) for reply in replies} == {(403, replies[0].content)}
    assert "No key of the account in this URL" in replies[0].json()["detail"]


def test_another_method_is_refused_and_a_url_without_an_account_not_found() -> None:
    for path in ("/sendgrid-events/1", "/ses-events"):
        reply = Client().get(path)
        assert (reply.status_code, reply["Allow"]) == (405, "POST"), path
    for path in ("/sendgrid-events/", "/sendgrid-events/x", "/sendgrid-events/-1"):
        reply = Client().post(path, BODY, content_type="application/json")
        assert (reply.status_code, reply["Content-Type"]) == (404, "application/problem+json"), path


def test_outcomes_are_counted_and_no_address_is_logged(webhook: Webhook) -> None:
    PENDING.take()
    headers = webhook.headers(BODY)

    with capture_logs() as lines:
        for body in (BODY, BODY, BODY + b" "):
            post(webhook.account_id, body, headers)

    counted = {
        labels: count
        for (name, labels), count in PENDING.take().items()
        if name == FEEDBACK_MESSAGES.name
    }
    assert counted == {("stored",): 1, ("repeated",): 1, ("signature_invalid",): 1}
    assert [line["event"] for line in lines] == ["feedback_refused", "request"]
    assert "recipient" not in str(lines)


# -- trouble that may pass


def test_a_database_that_takes_no_writes_is_a_503(webhook: Webhook) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")  # as on a standby

    reply = send(webhook)

    assert (reply.status_code, reply.json()["code"]) == (503, "not_now")
    assert int(reply["Retry-After"]) > 0


@pytest.mark.parametrize(("number", "status"), [(errno.ETIMEDOUT, 503), (errno.EFBIG, 413)])
def test_only_a_body_that_is_too_large_is_refused_for_good(
    webhook: Webhook, number: int, status: int
) -> None:
    path = f"/sendgrid-events/{webhook.account_id}"
    environ = RequestFactory().post(path, headers=webhook.headers(BODY)).environ
    environ |= {"wsgi.input": FailedBody(number), "CONTENT_LENGTH": "9"}

    assert Django().answer(environ).status == status


def test_a_large_body_is_not_awaited_from_those_who_cannot_be_sendgrid() -> None:
    client, front = asgi.Client([BODY], stalls=True), Front(thread_count=1)
    headers = ("content-length", str(768 * 1024)), ("expect", "100-continue")

    reply = asyncio.run(asgi.ask(front, "POST", "/sendgrid-events/1", *headers, client=client))

    assert (reply.status, client.received) == (403, 0)


@pytest.mark.django_db(transaction=True)
def test_slow_bodies_of_strangers_keep_neither_keys_nor_sendgrid_waiting(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PROXY_COUNT = 1
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)  # as with a pool
    webhook, key, front = listen(), caller("acme").token, Front(thread_count=1)
    body = BODY + b" " * 100_000
    size = ("content-length", str(len(body)))
    made_up = Webhook().headers(body)

    async def send_to(path: str, network: str, client: asgi.Client, **headers: str) -> int:
        named = (size, ("x-forwarded-for", network), *headers.items())
        return (await asgi.ask(front, "POST", path, *named, client=client)).status

    async def ask_meanwhile() -> tuple[list[int], list[bool]]:
        url = f"/sendgrid-events/{webhook.account_id}"
        clients = [asgi.Client([b"["], stalls=True) for _ in range(40)]
        slow = [
            asyncio.create_task(send_to(url, f"198.51.100.{number % 8}", client, **made_up))
            for number, client in enumerate(clients)
        ]
        while sum(client.received for client in clients) < 16:  # noqa: ASYNC110  they tell nobody
            await asyncio.sleep(0.01)
        token = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        whole = asgi.Client([body]), asgi.Client([body])
        statuses = [
            await send_to("/v1/email/send", "203.0.113.1", whole[0], **token),
            await send_to(url, "203.0.113.2", whole[1], **webhook.headers(body)),
        ]
        are_over = [task.done() for task in slow]
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        return statuses, are_over

    statuses, are_over = asyncio.run(ask_meanwhile())

    assert statuses == [422, 200]
    assert not any(are_over)  # nobody waited until they had given up
