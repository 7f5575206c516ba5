"""After which mail people left: the last one that a campaign had sent them before."""

from collections.abc import Sequence
from typing import LiteralString

from postledger.contacts.link_unsubscribes import Leaver
from postledger.deliveries.ledger import sql

# Served by deliveries_delivery_once: a look-up in the stream for each address, and for those it
# finds one in each month.
_LEFT_AFTER: LiteralString = """
SELECT count(DISTINCT left_by.contact_id)
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


def count_left_after(workspace_id: int, stream_id: int, leavers: Sequence[Leaver]) -> int:
    """How many of them left when a stream's mail was the last that a campaign had sent them."""
    if not leavers:
        return 0
    params = {
        "workspace": workspace_id,
        "stream": stream_id,
        "contacts": sql.Bigints(leaver.contact_id for leaver in leavers),
        "addresses": sql.Texts(leaver.address for leaver in leavers),
        "moments": sql.Moments(leaver.at for leaver in leavers),
    }
    return sql.count(_LEFT_AFTER, params)
