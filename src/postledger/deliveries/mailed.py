"""What the lines hold of people: every mail to one of them, and how many a month remembers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.deliveries.ledger import sql
from postledger.lib import ids
from postledger.lib.ids import DeliveryId


@dataclass(frozen=True, slots=True)
class Mailed:
    id: str
    about: str  # the stream's title
    state: str
    planned_at: datetime
    settled_at: datetime | None
    subject: str
    text: str
    variables: Mapping[str, object] | None


# As in forgetting, no index leads from a person to their mail; it takes as long as it takes.
_TO: LiteralString = """
SELECT d.stream_id, d.position, s.title, d.state, d.planned_at, d.settled_at,
       coalesce(b.subject, ''), coalesce(b.text, ''), d.variables
FROM deliveries_stream s
JOIN deliveries_delivery d ON d.stream_id = s.id
LEFT JOIN deliveries_body b ON b.stream_id = d.stream_id AND b.position = d.position
WHERE s.workspace_id = %(workspace)s AND lower(d.address) = lower(%(address)s)
ORDER BY d.planned_at, d.stream_id, d.position
"""


def to_address(workspace_id: int, *, address: str) -> list[Mailed]:
    found = sql.rows(_TO, {"workspace": workspace_id, "address": address})
    return [Mailed(DeliveryId(stream, at).text(), *rest) for stream, at, *rest in found]


_OF_MONTH: LiteralString = """
SELECT count(*) FROM deliveries_delivery WHERE stream_id >= %(first)s AND stream_id < %(end)s
"""


def lines_of_month(month: int) -> int:
    """Counted one by one: whoever is about to drop them wants to know exactly."""
    bounds = {"first": ids.first_stream_of(month), "end": ids.first_stream_of(month + 1)}
    [(count,)] = sql.rows(_OF_MONTH, bounds)
    return int(count)
