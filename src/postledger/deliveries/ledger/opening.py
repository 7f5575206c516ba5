"""Opens streams, and refuses mail to a stream that takes no more."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import LiteralString

from django.db import IntegrityError, transaction
from psycopg.errors import CheckViolation

from postledger.deliveries import partitions
from postledger.deliveries.entries import Body, StreamKind
from postledger.deliveries.ledger import bodies, rotation, sql
from postledger.lib import ids
from postledger.lib.errors import ConflictError
from postledger.lib.sentences import say

_PRIORITIES = {StreamKind.TRANSACTIONAL: 0, StreamKind.TOPIC: 1, StreamKind.CAMPAIGN: 2}


class StreamClosedError(ConflictError):
    code = "stream_closed"


_OPEN: LiteralString = """
WITH stream AS (
    INSERT INTO deliveries_stream (
        id, workspace_id, sender_id, member_id, kind, title, is_test, is_trial,
        delivery_window, epoch
    )
    SELECT %(first)s + nextval('deliveries_stream_number'), %(workspace)s, %(sender)s, %(member)s,
           %(kind)s, %(title)s, %(is_test)s, %(is_trial)s, %(window)s::jsonb,
           max(number)
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
    kind: StreamKind,
    title: str,
    is_test: bool = False,
    is_trial: bool = False,
    member_id: int | None = None,
    delivery_window: Mapping[str, object] | None = None,
    body: Body | None = None,
    month: int | None = None,
) -> int:
    """Opens a stream in this month, by the database's clock, or in another one that is named.

    It stays in that month's partition for ever. A month that was dropped takes no stream.
    `body` is the content that all its mails share; a test stream's mails go to the sandbox, a
    trial's to its testers, and reports about them change no contact. `member_id` is the member who
    launched it, whose daily limit counts its mails. `delivery_window` are hours of each recipient's
    own day, as `accounts.working_hours` writes them: outside them its mail waits.
    """
    if month is None:
        month = partitions.this_month()
    if not partitions.exists(month):
        partitions.create(month)
    params = {
        "first": ids.first_stream_of(month),
        "workspace": workspace_id,
        "sender": sender_id,
        "member": member_id,
        "kind": kind.value,
        "title": title,
        "is_test": is_test,
        "is_trial": is_trial,
        "window": None if delivery_window is None else json.dumps(delivery_window),
        "priority": _PRIORITIES[kind],
    }
    with transaction.atomic():
        [(stream_id,)] = sql.rows(_OPEN, params)
        if body is not None:
            bodies.add_letters(stream_id, {0: body})
    return int(stream_id)


def keep_open(stream_id: int) -> None:
    if rotation.keep_stream(stream_id) is None:
        raise closed_error(stream_id)


@contextmanager
def refusing_dropped_months(stream_id: int) -> Iterator[None]:
    try:
        yield
    except IntegrityError as error:
        if isinstance(error.__cause__, CheckViolation):
            raise closed_error(stream_id) from error
        raise


def closed_error(stream_id: int) -> StreamClosedError:
    return StreamClosedError(
        say(
            "Stream %(stream_id)s takes no more mail: it was cancelled, its month was dropped, or"
            " it does not exist. Open a new stream for what is still to be sent.",
            stream_id=str(stream_id),
        )
    )
