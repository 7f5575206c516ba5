"""The stream that carries a topic's notifications this month; the first event of a month opens it.

A stream that was cancelled, or that is older than a restore of the database, is replaced: nothing
that is new goes into one whose mail may be in doubt. The topic keeps the former one: its failures
are still the topic's.
"""

from django.db import transaction

from postledger.accounts import queries as accounts
from postledger.accounts.models import Sender
from postledger.deliveries import ledger, lineage, partitions, queries
from postledger.deliveries.entries import StreamKind
from postledger.mailing.models import LetterStream
from postledger.notifications.models import Topic, TopicStream


def find_stream(topic: Topic) -> int:
    """The open stream for an event of now. Refuses a topic whose sender can send nothing."""
    sender = _select_sender(topic)
    month = partitions.this_month()
    with transaction.atomic():
        # The lock serializes the callers that open a stream of this topic.
        Topic.objects.select_for_update(no_key=True).get(pk=topic.pk)
        streams = TopicStream.objects.filter(topic=topic, sender=sender, month=month)
        known = streams.order_by("pk").last()
        if known is not None and _takes_new_mail(known.stream_id):
            return known.stream_id
        stream_id = ledger.open_stream(
            topic.workspace_id,
            sender_id=sender.pk,
            kind=StreamKind.TOPIC,
            title=topic.list.name,
            month=month,
        )
        streams.create(topic=topic, sender=sender, month=month, stream_id=stream_id)
    return stream_id


def make_letter_stream(topic: Topic, stream_id: int) -> LetterStream:
    """Its letters' links are about the topic's list."""
    return LetterStream(stream_id, topic.workspace_id, topic.list.key, request_id="")


def _select_sender(topic: Topic) -> Sender:
    if topic.sender is None:
        return accounts.select_sender(topic.workspace_id, address=None)
    accounts.refuse_archived(topic.sender)
    return topic.sender


def _takes_new_mail(stream_id: int) -> bool:
    facts = queries.find_stream(stream_id)
    if facts is None or facts.cancelled_at is not None:
        return False
    return not lineage.was_interrupted(stream_id, planned_at=None)
