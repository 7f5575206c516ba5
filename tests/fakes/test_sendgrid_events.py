"""What the fake posts to webhooks: shapes, signatures, batches, tries, and what is disturbed."""

import json
import signal
import time
from base64 import b64decode
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key

from tests.fakes import processes, sendgrid
from tests.fakes.processes import FakeProcess
from tests.fakes.sns import Post, Sink
from tests.fakes.wire import PATIENCE
from tools.drill.waiting import until
from tools.fakes.events.delivery import Parcel
from tools.fakes.sendgrid.events import posts, reported_mail
from tools.fakes.sendgrid.events.outcomes import EVENTS, WORDS, Outcome
from tools.fakes.sendgrid.server import FakeSendGrid
from tools.fakes.sendgrid.service import SENDING_KEY

WEBHOOKS = "/v3/user/webhooks/event/settings"
EVERY_EVENT = dict.fromkeys(
    (
        *("processed", "dropped", "deferred", "delivered", "bounce", "open", "click"),
        *("spam_report", "unsubscribe", "group_unsubscribe", "group_resubscribe"),
    ),
    True,
)


def listen(fake: FakeSendGrid | FakeProcess, sink: Sink, **settings: object) -> dict[str, Any]:
    """A signed webhook, by the API alone."""
    fields = {"enabled": True, "url": sink.url, **EVERY_EVENT, **settings}
    answer = sendgrid.call(fake, "POST", WEBHOOKS, fields)
    assert answer.status_code == 201, answer.text
    path = f"{WEBHOOKS}/signed/{answer.json()['id']}"
    return cast("dict[str, Any]", sendgrid.call(fake, "PATCH", path, {"enabled": True}).json())


def read(post: Post) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", json.loads(post.body))


def list_events(sink: Sink) -> list[dict[str, Any]]:
    return [event for post in list(sink.posts) for event in read(post)]


def wait_for(condition: Callable[[], bool]) -> None:
    until(condition, seconds=PATIENCE, every=0.01)


def is_signed(post: Post, public_key: str) -> bool:
    key = load_der_public_key(b64decode(public_key))
    assert isinstance(key, ec.EllipticCurvePublicKey)
    name = "x-twilio-email-event-webhook"
    text = post.headers[f"{name}-timestamp"].encode() + post.body
    try:
        key.verify(b64decode(post.headers[f"{name}-signature"]), text, ec.ECDSA(SHA256()))
    except InvalidSignature:
        return False
    return True


def test_the_recipient_decides_what_is_posted(sendgrid_fake: FakeSendGrid, sink: Sink) -> None:
    listen(sendgrid_fake, sink)
    words = {**WORDS, "ann": Outcome.DELIVERED}
    recipients = [f"{word}+1@example.com" for word in words]
    id_ = sendgrid.send(sendgrid_fake, *recipients, categories=["news"])
    expected = Counter(
        (name, event.value)
        for name, outcome in zip(recipients, words.values(), strict=True)
        for event in EVENTS[outcome]
    )
    wait_for(lambda: len(list_events(sink)) >= expected.total())

    events = list_events(sink)
    assert Counter((event["email"], event["event"]) for event in events) == expected
    for event in events:
        assert event["sg_message_id"].partition(".")[0] == id_
        assert event[sendgrid.REFERENCE] == f"reference of {event['email']}"
        assert event["category"] == ["news"]
        assert abs(event["timestamp"] - time.time()) < 60 + PATIENCE
    assert len({event["sg_event_id"] for event in events}) == len(events)
    types = {event["email"]: event["type"] for event in events if event["event"] == "bounce"}
    assert types == {"bounce+1@example.com": "bounce", "blocked+1@example.com": "blocked"}
    reasons = {event["reason"] for event in events if event["event"] == "dropped"}
    assert reasons == {"Bounced Address", "Spam Content"}


def test_posts_are_signed_and_keys_can_be_replaced(sendgrid_fake: FakeSendGrid, sink: Sink) -> None:
    first = listen(sendgrid_fake, sink)
    sendgrid.send(sendgrid_fake, "drop@example.com")
    [post] = sink.wait(1)
    assert is_signed(post, first["public_key"])

    [second] = sendgrid.control(sendgrid_fake, "POST", f"webhooks/{first['id']}/keys")
    sendgrid.send(sendgrid_fake, "drop@example.com")
    _, later = sink.wait(2)

    assert second["public_key"] != first["public_key"]
    assert not is_signed(later, first["public_key"])
    assert is_signed(later, second["public_key"])


def test_a_post_has_at_most_768_kb() -> None:
    transport = posts.WebhookTransport(cast("Any", None), cast("Any", None))
    waiting = [Parcel(b"x" * 1000, cast("Any", None)) for _ in range(1000)]

    count = transport.count_together(waiting)

    written = len(b"[" + b",\r\n".join(parcel.message for parcel in waiting[:count]) + b"]\r\n")
    assert written <= 768 * 1024 < written + 1003
    assert transport.count_together([Parcel(b"x" * 2**20, cast("Any", None))]) == 1


def test_a_post_is_tried_until_it_is_taken_by_a_webhook_that_wants_it(
    sendgrid_fake: FakeSendGrid, sink: Sink
) -> None:
    id_ = listen(sendgrid_fake, sink, processed=False)["id"]
    publisher = sendgrid_fake.service.publisher
    publisher.retry_seconds = 0.01
    sink.status = 404
    sendgrid.send(sendgrid_fake, "drop@example.com")
    sink.wait(5)
    sink.status = 204
    wait_for(lambda: publisher.waiting == 0)
    assert publisher.counts == {"published": 1, "delivered": 1}
    assert len({event["sg_event_id"] for event in list_events(sink)}) == 1

    sink.posts.clear()
    sendgrid.send(sendgrid_fake, "spamreport@example.com")
    wait_for(lambda: publisher.waiting == 0)
    assert [event["event"] for event in list_events(sink)] == ["delivered", "spamreport"]
    sendgrid.call(sendgrid_fake, "PATCH", f"{WEBHOOKS}/{id_}", {"enabled": False})
    sendgrid.send(sendgrid_fake)
    assert publisher.waiting == 0

    transport = posts.WebhookTransport(cast("Any", None), cast("Any", None), pause=1.0)
    assert [transport.pause_after(failures) for failures in (1, 2, 3, 99)] == [1, 2, 4, 64]


def test_webhooks_are_set_up_by_the_api(sendgrid_fake: FakeSendGrid, sink: Sink) -> None:
    def ask(method: str, path: str, document: object = None) -> tuple[int, Any]:
        answer = sendgrid.call(sendgrid_fake, method, f"{WEBHOOKS}{path}", document)
        return answer.status_code, answer.json() if answer.content else None

    key = listen(sendgrid_fake, sink, friendly_name="ours", open=False)
    _, listed = ask("GET", "/all")
    [webhook] = listed["webhooks"]
    assert listed["max_allowed"] == 5
    assert (webhook["id"], webhook["public_key"]) == (key["id"], key["public_key"])
    assert (webhook["friendly_name"], webhook["open"], webhook["click"]) == ("ours", False, True)
    assert ask("GET", f"/{key['id']}") == (200, webhook)
    assert ask("GET", f"/signed/{key['id']}") == (200, key)

    assert ask("PATCH", f"/{key['id']}", {"open": True})[1]["open"] is True
    assert ask("PATCH", f"/signed/{key['id']}", {"enabled": False})[1]["public_key"] == ""
    for document in ({"url": sink.url}, {"url": "ftp://a"}, {"url": sink.url, "open": "yes"}):
        assert ask("POST", "", document)[0] == 400
    assert ask("DELETE", f"/{key['id']}") == (204, None)
    assert ask("GET", f"/{key['id']}")[1]["errors"][0]["message"] == "Invalid id provided."
    forbidden = sendgrid.call(sendgrid_fake, "GET", f"{WEBHOOKS}/all", key=SENDING_KEY)
    assert forbidden.status_code == 403


@pytest.mark.slow
def test_every_event_is_posted_although_the_fake_is_killed(tmp_path: Path, sink: Sink) -> None:
    path = tmp_path / "journal"
    command = [
        *("tools.fakes.sendgrid", "--port", "0", "--identity", sendgrid.DOMAIN),
        *("--journal", str(path), "--webhook", sink.url, "--retry-seconds", "0.05"),
    ]
    sink.status = 503
    with processes.running(command) as fake:
        accepted = [sendgrid.send(fake, f"{number}@example.com") for number in range(12)]
        sink.wait(1)
        [first] = sendgrid.control(fake, "GET", "webhooks")
        [before] = sendgrid.control(fake, "POST", f"webhooks/{first['id']}/keys")
        fake.process.send_signal(signal.SIGKILL)
        fake.process.wait()
    sink.posts.clear()
    sink.status = 200

    with processes.running(command) as fake:
        [after] = sendgrid.control(fake, "GET", "webhooks")
        # By the journal: a fake that has just started may not have read what waits.
        wait_for(lambda: reported_mail.read_books(path).count_unfinished() == 0)

    facts = {
        (event["sg_message_id"].partition(".")[0], event["event"]) for event in list_events(sink)
    }
    assert facts == {(name, kind) for name in accepted for kind in ("processed", "delivered")}
    assert first != before == after
    assert all(is_signed(post, after["public_key"]) for post in sink.posts)
    books = reported_mail.read_books(path)
    assert (books.count_unfinished(), books.list_unreported()) == (0, [])
