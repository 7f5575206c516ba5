"""Opens streams, and tells who would add to one that takes no more mail."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, LiteralString

from django.db import IntegrityError, transaction
from psycopg.errors import CheckViolation

from postledger.deliveries import partitions
from postledger.deliveries.entries import Body, Kind
from postledger.deliveries.ledger import bodies, lanes, sql
from postledger.lib import ids
from postledger.lib.errors import RefusedError

_PRIORITIES = {Kind.TRANSACTIONAL: 0, Kind.TOPIC: 1, Kind.CAMPAIGN: 2}


class StreamClosedError(RefusedError):
    code: ClassVar[str] = "stream_closed"


_OPEN: LiteralString = """
WITH stream AS (
    INSERT INTO deliveries_stream (id, workspace_id, sender_id, kind, title, is_test, epoch)
    SELECT %(first)s + nextval('deliveries_stream_number'), %(workspace)s, %(sender)s, %(kind)s,
           %(title)s, %(is_test)s, max(number)
    FROM deliveries_epoch
    RETURNING id
)
INSERT INTO deliveries_lane (stream_id, priority, turn_at)
SELECT id, %(priority)s, clock_timestamp() FROM stream
RETURNING stream_id
"""


def open_stream(  # noqa: PLR0913  what a stream is, each by its name
    workspace_id: int,
    *,
    sender_id: int,
    kind: Kind,
    title: str,
    is_test: bool = False,
    body: Body | None = None,
    month: int | None = None,
) -> int:
    """Opens a stream in this month, by the database's clock, or in another one that is named.

    It stays in that month's partition for ever. A month that was dropped takes no stream.
    `body` is the content that all its lines share; a test stream's mails go to the sandbox.
    """
    if month is None:
        month = partitions.this_month()
    if not partitions.exists(month):
        partitions.make(month)
    params = {
        "first": ids.first_stream_of(month),
        "workspace": workspace_id,
        "sender": sender_id,
        "kind": kind.value,
        "title": title,
        "is_test": is_test,
        "priority": _PRIORITIES[kind],
    }
    with transaction.atomic():
        [(stream_id,)] = sql.rows(_OPEN, params)
        if body is not None:
            bodies.store(stream_id, [(bodies.SHARED, body)])
    return int(stream_id)


def kept_open(stream_id: int) -> Kind:
    kind = lanes.keep_lane(stream_id)
    if kind is None:
        raise closed(stream_id)
    return kind


@contextmanager
def refusing_dropped_months(stream_id: int) -> Iterator[None]:
    try:
        yield
    except IntegrityError as error:
        if isinstance(error.__cause__, CheckViolation):
            raise closed(stream_id) from error
        raise


def closed(stream_id: int) -> StreamClosedError:
    return StreamClosedError(
        f"Stream {stream_id} takes no more mail: it was cancelled, its month was dropped, or it"
        " does not exist. Open a new stream for what is still to be sent."
    )
