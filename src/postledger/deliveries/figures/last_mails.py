"""The last mail to each of some people: a campaign's or a single one; for a page of contacts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.deliveries.ledger import sql
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId


@dataclass(frozen=True, slots=True)
class LastMail:
    id: str
    at: datetime  # when it was settled, or else planned
    state: State


# The newest streams of single mails that are searched; a workspace has one a month and sender.
_MOST_STREAMS = 50
# One look-up by deliveries_delivery_once for each address, from the newest month backwards, and one
# by the key of deliveries_word for each address and stream. The LIMIT 1 and the OFFSET 0 keep them
# look-ups, whatever the planner expects of a month.
_LAST: LiteralString = """
WITH single AS MATERIALIZED (
    SELECT id FROM deliveries_stream
    WHERE workspace_id = %(workspace)s AND kind = 'transactional' AND NOT is_test
    ORDER BY id DESC LIMIT %(streams)s
)
SELECT DISTINCT ON (given.number) given.number, mail.stream_id, mail.position,
       coalesce(mail.settled_at, mail.planned_at) AS at, mail.state
FROM unnest(%(addresses)s::text[]) WITH ORDINALITY AS given (address, number)
CROSS JOIN LATERAL (
    (
        SELECT d.stream_id, d.position, d.planned_at, d.settled_at, d.state
        FROM deliveries_delivery AS d
        WHERE d.dedupe_key = given.address COLLATE "C" AND EXISTS (
            SELECT FROM deliveries_stream AS s
            WHERE s.id = d.stream_id AND s.workspace_id = %(workspace)s AND NOT s.is_test OFFSET 0
        )
        ORDER BY d.stream_id DESC LIMIT 1
    )
    UNION ALL
    (
        SELECT d.stream_id, d.position, d.planned_at, d.settled_at, d.state
        FROM single
        CROSS JOIN LATERAL (
            SELECT w.position FROM deliveries_word AS w
            WHERE w.stream_id = single.id AND w.word = ('to:' || given.address) COLLATE "C"
            ORDER BY w.position DESC LIMIT 1
        ) AS word
        CROSS JOIN LATERAL (
            SELECT * FROM deliveries_delivery AS d
            WHERE d.stream_id = single.id AND d.position = word.position LIMIT 1
        ) AS d
        ORDER BY word.position DESC LIMIT 1
    )
) AS mail
ORDER BY given.number, at DESC
"""


def find_last_mails(workspace_id: int, addresses: Sequence[str]) -> Mapping[str, LastMail]:
    """The last mail of each address that got one, by lower-case address."""
    params = {
        "workspace": workspace_id,
        "addresses": sql.Texts(address.lower() for address in addresses),
        "streams": _MOST_STREAMS,
    }
    return {
        addresses[number - 1].lower(): LastMail(
            DeliveryId(stream_id, position).text(), at, State(state)
        )
        for number, stream_id, position, at, state in sql.rows(_LAST, params)
    }
