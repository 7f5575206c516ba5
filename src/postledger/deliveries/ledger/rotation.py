"""The rotation: the streams that may have work, and which of them are served next.

The table is deliveries_lane.
"""

from collections.abc import Collection
from datetime import timedelta
from typing import LiteralString

from django.db import transaction

from postledger.deliveries.entries import StreamKind
from postledger.deliveries.ledger import sql

# The workspace whose last turn is longest ago comes first, then its stream whose last turn is:
# a workspace with a hundred streams gets no more turns than one with a single stream.
_NEXT: LiteralString = f"""
WITH {sql.EPOCH}, workspace AS (
    SELECT l.priority, s.workspace_id, max(l.turn_at) AS turn_at
    FROM deliveries_lane l JOIN deliveries_stream s ON s.id = l.stream_id
    WHERE s.kind = ANY(%(kinds)s::text[])
    GROUP BY l.priority, s.workspace_id
), ready AS (
    SELECT l.stream_id, l.priority, l.turn_at, s.workspace_id,
           row_number() OVER (PARTITION BY l.priority, s.workspace_id ORDER BY l.turn_at) AS n
    FROM deliveries_lane l
    JOIN deliveries_stream s ON s.id = l.stream_id
    WHERE {sql.MAY_SEND}
      AND s.kind = ANY(%(kinds)s::text[])
      AND l.stream_id <> ALL(%(but_streams)s::bigint[])
      AND s.workspace_id <> ALL(%(but_workspaces)s::bigint[])
      AND NOT (s.is_test AND s.workspace_id = ANY(%(but_tests_of)s::bigint[]))
      AND EXISTS (
        SELECT FROM deliveries_batch b
        WHERE b.stream_id = l.stream_id AND b.due_at <= statement_timestamp() AND b.lease IS NULL
      )
), next AS MATERIALIZED (
    SELECT r.stream_id, r.priority, r.n, w.turn_at AS workspace_turn_at
    FROM ready r JOIN workspace w USING (priority, workspace_id)
    ORDER BY r.priority, r.n, w.turn_at, r.turn_at
    LIMIT %(limit)s
), mine AS MATERIALIZED (
    SELECT l.stream_id FROM deliveries_lane l JOIN next USING (stream_id)
    FOR NO KEY UPDATE OF l SKIP LOCKED
), turned AS (
    UPDATE deliveries_lane l SET turn_at = clock_timestamp()
    FROM mine WHERE l.stream_id = mine.stream_id
    RETURNING l.stream_id
)
SELECT stream_id FROM turned JOIN next USING (stream_id) ORDER BY priority, n, workspace_turn_at
"""


def next_streams(
    *,
    limit: int,
    kinds: Collection[StreamKind] = tuple(StreamKind),
    but_streams: Collection[int] = (),
    but_workspaces: Collection[int] = (),
    but_tests_of: Collection[int] = (),
) -> list[int]:
    """The streams to serve next: with due work, not held, by kind and then fairly.

    One turn is one claim. Of two workspaces the one longest without a turn goes first, and so
    does each one's stream; two callers at once get different streams.
    """
    params = {
        "limit": limit,
        "kinds": sql.Texts(kind.value for kind in kinds),
        "but_streams": sql.Bigints(but_streams),
        "but_workspaces": sql.Bigints(but_workspaces),
        "but_tests_of": sql.Bigints(but_tests_of),
    }
    return [stream_id for (stream_id,) in sql.rows(_NEXT, params)]


def keep_stream(stream_id: int) -> StreamKind | None:
    """Keeps the stream in the rotation until this transaction ends, and after.

    Returns its kind while it takes mail, else None.
    """
    [(kind,)] = sql.rows("SELECT deliveries_keep_lane(%(stream)s)", {"stream": stream_id})
    return StreamKind(kind) if kind else None


_IDLE: LiteralString = """
SELECT l.stream_id FROM deliveries_lane l
WHERE l.turn_at < statement_timestamp() - %(idle)s
  AND NOT EXISTS (SELECT FROM deliveries_batch b WHERE b.stream_id = l.stream_id)
  AND pg_try_advisory_xact_lock(%(lane)s, (l.stream_id & 2147483647)::integer)
LIMIT 1000
"""

_RETIRE: LiteralString = """
DELETE FROM deliveries_lane l
WHERE l.stream_id = ANY(%(ids)s::bigint[])
  AND NOT EXISTS (SELECT FROM deliveries_batch b WHERE b.stream_id = l.stream_id)
RETURNING l.stream_id
"""


def retire_idle_streams(*, idle: timedelta = timedelta(hours=1)) -> int:
    """Takes streams without work out of the rotation; new work puts them back."""
    with transaction.atomic():
        params = {"idle": idle, "lane": sql.ROTATION_LOCK}
        ids = [id_ for (id_,) in sql.rows(_IDLE, params)]
        # A new statement: work added before the lock was won is visible to it.
        return len(sql.rows(_RETIRE, {"ids": sql.Bigints(ids)})) if ids else 0
