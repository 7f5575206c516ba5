"""SQL about the one delivery that has a key in a stream, for those who gave it the key."""

from typing import LiteralString

# Served by the unique key of a stream's deliveries; `{stream}` and `{key}` are of the query around.
WAITS: LiteralString = """
EXISTS (
    SELECT FROM deliveries_delivery AS keyed
    WHERE keyed.stream_id = {stream} AND keyed.dedupe_key = {key} AND keyed.state = 'waiting'
)
"""
# Also what is in doubt: it may have been sent.
WAS_SENT: LiteralString = """
EXISTS (
    SELECT FROM deliveries_delivery AS keyed
    WHERE keyed.stream_id = {stream} AND keyed.dedupe_key = {key}
      AND keyed.state IN ('accepted', 'in_doubt')
)
"""
# Its window is with the provider, or may be. Of batches that never overlap, the last that begins at
# or before a position is the only one that can have it.
IS_ARMED: LiteralString = """
EXISTS (
    SELECT FROM deliveries_delivery AS keyed
    CROSS JOIN LATERAL (
        SELECT armed_to FROM deliveries_batch
        WHERE stream_id = keyed.stream_id AND lo <= keyed.position
        ORDER BY lo DESC LIMIT 1
    ) AS batch
    WHERE keyed.stream_id = {stream} AND keyed.dedupe_key = {key} AND keyed.state = 'waiting'
      AND batch.armed_to > keyed.position
)
"""
WAS_SENT_SINCE: LiteralString = """
EXISTS (
    SELECT FROM deliveries_delivery AS keyed
    WHERE keyed.stream_id = {stream} AND keyed.dedupe_key = {key}
      AND keyed.state IN ('accepted', 'in_doubt') AND keyed.settled_at > {since}
)
"""
