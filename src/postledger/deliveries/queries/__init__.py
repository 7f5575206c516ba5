"""Reads of the ledger: what composing needs, the books, and the facts behind a story."""

from postledger.deliveries.queries.books import (
    Books,
    books_of,
)
from postledger.deliveries.queries.deliveries import (
    AttemptFacts,
    DeliveryFacts,
    EventFacts,
    WorkFacts,
    delivery,
    find_by_message_id,
)
from postledger.deliveries.queries.fences import FencedStream, fenced_streams, unmatched_count
from postledger.deliveries.queries.streams import (
    StreamFacts,
    Waits,
    cancelled_with_work,
    is_cancelled,
    stream,
    stream_ids,
    streams,
    streams_of,
    waits,
)
from postledger.deliveries.queries.work import (
    bodies,
    has_time,
    leased,
    waiting,
)

__all__ = [
    "AttemptFacts",
    "Books",
    "DeliveryFacts",
    "EventFacts",
    "FencedStream",
    "StreamFacts",
    "Waits",
    "WorkFacts",
    "bodies",
    "books_of",
    "cancelled_with_work",
    "delivery",
    "fenced_streams",
    "find_by_message_id",
    "has_time",
    "is_cancelled",
    "leased",
    "stream",
    "stream_ids",
    "streams",
    "streams_of",
    "unmatched_count",
    "waiting",
    "waits",
]
