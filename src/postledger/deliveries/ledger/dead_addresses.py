"""The refusals that say that an address does not work, on their way to the contacts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.deliveries.entries import Entry
from postledger.deliveries.ledger import sql


@dataclass(frozen=True, slots=True)
class DeadAddress:
    """One refused address, as its delivery names it now."""

    workspace_id: int
    address: str
    code: str
    at: datetime


_NOTE: LiteralString = """
INSERT INTO deliveries_deadaddress (stream_id, position, code)
SELECT %(stream)s, position, code
FROM unnest(%(positions)s::bigint[], %(codes)s::text[]) AS dead (position, code)
ORDER BY position
ON CONFLICT DO NOTHING
"""


def note_dead_addresses(stream_id: int, refusals: Sequence[Entry]) -> None:
    """Notes which addresses a provider has refused as dead; a repetition adds nothing.

    True of an address whatever becomes of its delivery, so it may be noted before that is settled.
    """
    params = {
        "stream": stream_id,
        "positions": sql.Bigints(entry.position for entry in refusals),
        "codes": sql.Texts(entry.bounce_code for entry in refusals),
    }
    sql.rows(_NOTE, params)


# Deliveries of a dropped month are gone, and an erased one has no address any more.
_TAKE: LiteralString = """
WITH next AS MATERIALIZED (
    SELECT stream_id, position FROM deliveries_deadaddress
    ORDER BY stream_id, position LIMIT %(limit)s::bigint
    FOR UPDATE SKIP LOCKED
), taken AS (
    DELETE FROM deliveries_deadaddress dead USING next
    WHERE dead.stream_id = next.stream_id AND dead.position = next.position
    RETURNING dead.stream_id, dead.position, dead.code, dead.at
)
SELECT s.workspace_id, coalesce(d.address, ''), taken.code, taken.at
FROM taken
JOIN deliveries_stream s ON s.id = taken.stream_id
LEFT JOIN deliveries_delivery d
  ON d.stream_id = taken.stream_id AND d.position = taken.position
"""


def take_dead_addresses(limit: int) -> list[DeadAddress]:
    """Takes some of the noted addresses; the caller's transaction applies them, or puts them back.

    Two callers at once share them.
    """
    return [DeadAddress(*row) for row in sql.rows(_TAKE, {"limit": limit})]
