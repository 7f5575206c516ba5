"""After which mail people left: the last one that a campaign had sent them before."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.contacts.link_unsubscribes import Leaver
from postledger.deliveries.ledger import sql

# Served by deliveries_delivery_once: a look-up in the stream for each address, and for those it
# finds one in each month.
_LEFT_AFTER: LiteralString = """
FROM unnest(%(contacts)s::bigint[], %(addresses)s::text[], %(moments)s::timestamptz[])
    AS left_by (contact_id, address, at)
CROSS JOIN LATERAL (
    SELECT settled_at FROM deliveries_delivery
    WHERE stream_id = %(stream)s AND dedupe_key = left_by.address COLLATE "C"
      AND contact_id = left_by.contact_id AND state = 'accepted' AND settled_at <= left_by.at
    OFFSET 0
) AS this
WHERE NOT EXISTS (
    SELECT FROM deliveries_delivery AS later
    WHERE later.dedupe_key = left_by.address COLLATE "C" AND later.stream_id <> %(stream)s
      AND later.state = 'accepted'
      AND later.settled_at > this.settled_at AND later.settled_at <= left_by.at
      AND EXISTS (
          SELECT FROM deliveries_stream AS s
          WHERE s.id = later.stream_id AND s.workspace_id = %(workspace)s
            AND s.kind = 'campaign' AND NOT s.is_test AND NOT s.is_trial
      )
)
"""
_COUNT: LiteralString = "SELECT count(DISTINCT left_by.contact_id)" + _LEFT_AFTER
_LIST: LiteralString = (
    "SELECT left_by.contact_id, max(left_by.at)"
    + _LEFT_AFTER
    + "GROUP BY left_by.contact_id ORDER BY 2 DESC, 1 DESC LIMIT %(limit)s OFFSET %(skip)s"
)


@dataclass(frozen=True, slots=True)
class LeftAfter:
    contact_id: int
    at: datetime


def count_left_after(workspace_id: int, stream_id: int, leavers: Sequence[Leaver]) -> int:
    """How many of them left when a stream's mail was the last that a campaign had sent them."""
    return sql.count(_COUNT, _make_params(workspace_id, stream_id, leavers)) if leavers else 0


def list_left_after(
    workspace_id: int, stream_id: int, leavers: Sequence[Leaver], *, skip: int, limit: int
) -> list[LeftAfter]:
    """The same people, who left last first."""
    params = _make_params(workspace_id, stream_id, leavers) | {"skip": skip, "limit": limit}
    return [LeftAfter(*row) for row in sql.rows(_LIST, params)] if leavers else []


def _make_params(workspace_id: int, stream_id: int, leavers: Sequence[Leaver]) -> dict[str, object]:
    return {
        "workspace": workspace_id,
        "stream": stream_id,
        "contacts": sql.Bigints(leaver.contact_id for leaver in leavers),
        "addresses": sql.Texts(leaver.address for leaver in leavers),
        "moments": sql.Moments(leaver.at for leaver in leavers),
    }
