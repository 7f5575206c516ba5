"""Reads the SQS queue of a topic: receives messages, stores them, and only then deletes them.

The queue's policy lets only its topic write there, which stands for the signature of SNS.
"""

import json
from collections.abc import Sequence
from typing import Any

import structlog

from postledger.feedback import inbox, topics
from postledger.feedback.inbox import IncomingMessage
from postledger.feedback.topics import ListenedTopic
from postledger.observability import metrics
from postledger.providers.ses.events import sns_envelope
from postledger.providers.ses.events.sns_envelope import Kind, Malformed

MOST_AT_ONCE = 10  # messages; SQS's own limit

type SqsMessage = dict[str, Any]

_RAW = (
    "Raw message delivery is on, and raw messages have no topic and no id. Disable raw message"
    " delivery for this subscription in SNS."
)

_log = structlog.get_logger(__name__)


def poll(client: Any, topic: ListenedTopic, *, wait_seconds: int) -> int:
    """Takes up to ten messages from a queue, and returns how many there were.

    A message is deleted after it was stored. After a crash in between it comes again, and is not
    stored again. Nothing is taken for a topic that was removed meanwhile.
    """
    messages = receive(client, topic, wait_seconds=wait_seconds)
    if not messages or topics.find_topic(topic.arn) != topic:
        return 0
    store(topic, messages)
    _delete(client, topic, messages)
    return len(messages)


def receive(client: Any, topic: ListenedTopic, *, wait_seconds: int) -> list[SqsMessage]:
    answer = client.receive_message(
        QueueUrl=topic.queue_url, MaxNumberOfMessages=MOST_AT_ONCE, WaitTimeSeconds=wait_seconds
    )
    messages: list[SqsMessage] = answer.get("Messages", [])
    return messages


def store(topic: ListenedTopic, messages: Sequence[SqsMessage]) -> None:
    """Stores what the account has not received before; durable on return."""
    read = [_read(topic, message) for message in messages]
    sound = [message for message in read if message is not None and not message.fault]
    faulty = [message for message in read if message is not None and message.fault]
    stored = inbox.store(topic.account_id, sound)
    if faulty:
        inbox.store(topic.account_id, faulty)
    metrics.FEEDBACK_MESSAGES.add(stored, outcome="stored")
    metrics.FEEDBACK_MESSAGES.add(len(sound) - stored, outcome="repeated")
    metrics.FEEDBACK_MESSAGES.add(len(faulty), outcome="faulty")
    metrics.FEEDBACK_MESSAGES.add(read.count(None), outcome="test")


def _read(topic: ListenedTopic, message: SqsMessage) -> IncomingMessage | None:
    """None for the text by which SES tries out a topic."""
    body = message["Body"]
    envelope = sns_envelope.parse(body.encode(errors="surrogatepass"))
    if isinstance(envelope, Malformed):
        return _fault(topic, message, _RAW if _is_raw(body) else envelope.why)
    if envelope.topic_arn != topic.arn:
        return _fault(topic, message, "It is of another topic than the queue.")
    if envelope.kind is not Kind.NOTIFICATION:
        return _fault(topic, message, f"It is a {envelope.kind}, which reports no mail.")
    if envelope.is_test:
        return None
    return IncomingMessage(envelope.message_id, envelope.message, envelope.sent_at)


def _is_raw(body: str) -> bool:
    """Whether it is an event of SES without an envelope."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and bool({"eventType", "notificationType"} & value.keys())


def _fault(topic: ListenedTopic, message: SqsMessage, fault: str) -> IncomingMessage:
    """By SQS's id: by one that it states itself it could take the place of a real message."""
    _log.warning("queue_message_faulty", topic=topic.arn, id=message["MessageId"], fault=fault)
    return IncomingMessage(f"sqs:{message['MessageId']}", message["Body"], None, fault)


def _delete(client: Any, topic: ListenedTopic, messages: Sequence[SqsMessage]) -> None:
    answer = client.delete_message_batch(
        QueueUrl=topic.queue_url,
        Entries=[
            {"Id": str(number), "ReceiptHandle": message["ReceiptHandle"]}
            for number, message in enumerate(messages)
        ],
    )
    if failed := answer.get("Failed"):
        # They come again, and are not stored again.
        _log.warning("queue_messages_not_deleted", topic=topic.arn, count=len(failed))
