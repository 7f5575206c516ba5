"""A queue's messages are stored before they are deleted, once each, and only of its own topic."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from moto.server import ThreadedMotoServer
from structlog.testing import capture_logs

from postledger.feedback import queues, topics
from postledger.feedback.models import InboxMessage, Topic
from postledger.feedback.topics import ListenedTopic
from postledger.providers.ses.aws_client import open_client
from postledger.providers.ses.settings import SesSettings
from postledger.workers.sqs_poller import SqsPoller
from tests.feedback import sns
from tests.feedback.topics import SETTINGS, listen, new_arn

PATIENCE = 120.0
# Of the account; nothing answers there.
SES = "http://127.0.0.1:9"
URL = SES + sns.PATH


@pytest.fixture(scope="session")
def sqs_endpoint() -> Iterator[str]:
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def client(sqs_endpoint: str) -> Any:
    settings = SesSettings.model_validate({**SETTINGS, "sqs_endpoint": sqs_endpoint})
    return open_client(settings, "sqs", read_timeout=30.0)


def new_queue(client: Any, **attributes: str) -> str:
    queue_url: str = client.create_queue(QueueName=f"q-{uuid4()}", Attributes=attributes)[
        "QueueUrl"
    ]
    return queue_url


def hear(client: Any, sqs_endpoint: str, **attributes: str) -> ListenedTopic:
    """A new topic with a queue of its own."""
    arn = new_arn()
    queue_url = new_queue(client, **attributes)
    listen(arn, queue_url=queue_url, endpoint=SES, sqs_endpoint=sqs_endpoint)
    topic = topics.find_topic(arn)
    assert topic is not None
    return topic


def send(client: Any, topic: ListenedTopic, body: str | None = None) -> None:
    envelope = body if body is not None else json.dumps(sns.notification(topic.arn, URL))
    client.send_message(QueueUrl=topic.queue_url, MessageBody=envelope)


def is_empty(client: Any, queue_url: str) -> bool:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    counts = client.get_queue_attributes(QueueUrl=queue_url, AttributeNames=names)["Attributes"]
    return {counts[name] for name in names} == {"0"}


@pytest.mark.django_db
def test_a_message_is_stored_and_then_deleted(client: Any, sqs_endpoint: str) -> None:
    topic = hear(client, sqs_endpoint)
    for _ in range(12):
        send(client, topic)

    assert [queues.poll(client, topic, wait_seconds=0) for _ in range(3)] == [10, 2, 0]

    rows = InboxMessage.objects.filter(account_id=topic.account_id)
    assert [(row.body, row.fault) for row in rows] == [(sns.EVENT, "")] * 12
    assert is_empty(client, topic.queue_url)


@pytest.mark.django_db
def test_a_message_that_comes_again_or_by_https_too_is_stored_once(
    client: Any, sqs_endpoint: str
) -> None:
    topic = hear(client, sqs_endpoint, VisibilityTimeout="0")
    fields = sns.notification(topic.arn, URL)
    send(client, topic, json.dumps(fields))
    queues.store(topic, queues.receive(client, topic, wait_seconds=0))
    # Here a worker died: SQS shows the message again. SNS gives it one id on every way.
    send(client, topic, json.dumps(fields))

    assert queues.poll(client, topic, wait_seconds=0) == 2

    assert InboxMessage.objects.get().message_id == fields["MessageId"]
    assert is_empty(client, topic.queue_url)


FOREIGN = sns.notification("arn:aws:sns:eu-west-1:123456789012:other", URL)


@pytest.mark.django_db
def test_a_message_that_cannot_be_read_is_kept_with_its_fault_and_deleted(
    client: Any, sqs_endpoint: str
) -> None:
    other = sns.confirmation("arn:aws:sns:eu-west-1:123456789012:other", URL)
    for body, fault in (
        (sns.EVENT, "Raw message delivery is on"),
        ("no JSON", "It is not JSON"),
        ("{}", "It has no text Type"),
        (json.dumps(FOREIGN), "It is of another topic"),
        (json.dumps(other), "It is of another topic"),
    ):
        topic = hear(client, sqs_endpoint)
        send(client, topic, body)
        send(client, topic)

        with capture_logs() as lines:
            assert queues.poll(client, topic, wait_seconds=0) == 2, fault

        rows = InboxMessage.objects.filter(account_id=topic.account_id)
        faulty = rows.exclude(fault="").get()
        assert faulty.fault.startswith(fault)
        assert faulty.body == body, fault
        assert faulty.message_id.startswith("sqs:"), fault
        assert rows.filter(fault="").count() == 1, fault
        assert is_empty(client, topic.queue_url), fault
        assert [line["event"] for line in lines] == ["queue_message_faulty"], fault


@pytest.mark.django_db
def test_a_foreign_message_cannot_take_the_place_of_a_real_one(
    client: Any, sqs_endpoint: str
) -> None:
    topic = hear(client, sqs_endpoint)
    real = sns.notification(topic.arn, URL)
    send(client, topic, json.dumps({**FOREIGN, "MessageId": real["MessageId"]}))
    send(client, topic, json.dumps(real))

    queues.poll(client, topic, wait_seconds=0)

    assert InboxMessage.objects.get(message_id=real["MessageId"]).fault == ""


@pytest.mark.django_db
def test_nothing_is_taken_for_a_topic_that_was_removed(client: Any, sqs_endpoint: str) -> None:
    topic = hear(client, sqs_endpoint)
    send(client, topic)
    topics.remove_topic(topic.workspace_id, topic.account_id, arn=topic.arn, actor="alice")
    topics._known.clear()  # as after five seconds

    assert queues.poll(client, topic, wait_seconds=0) == 0

    assert not InboxMessage.objects.exists()
    assert not is_empty(client, topic.queue_url)


def wait_until(condition: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_worker_reads_the_queues_of_all_topics_and_reports_the_one_it_cannot_read(
    client: Any, sqs_endpoint: str
) -> None:
    first = hear(client, sqs_endpoint)
    broken = hear(client, sqs_endpoint)
    client.delete_queue(QueueUrl=broken.queue_url)
    for _ in range(25):
        send(client, first)
    is_stored = threading.Event()
    poller = SqsPoller(is_stored.set)

    poller.start()
    try:
        wait_until(lambda: InboxMessage.objects.count() == 25)
        assert is_stored.wait(PATIENCE)
        wait_until(lambda: is_empty(client, first.queue_url))
        # A topic that comes later is noticed.
        later = hear(client, sqs_endpoint)
        send(client, later)
        wait_until(lambda: InboxMessage.objects.filter(account_id=later.account_id).exists())
        wait_until(lambda: Topic.objects.get(pk=broken.id).trouble)
        wait_until(lambda: Topic.objects.get(pk=first.id).last_polled_at)
    finally:
        poller.stop()

    assert "NonExistentQueue" in Topic.objects.get(pk=broken.id).trouble
    assert Topic.objects.get(pk=first.id).trouble == ""
    wait_until(lambda: not any(t.name == "sqs" for t in threading.enumerate()))
