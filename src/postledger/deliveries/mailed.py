"""What the lines hold of people: every mail to one of them, and how many a month remembers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.deliveries.ledger import sql
from postledger.lib import ids
from postledger.lib.ids import DeliveryId


@dataclass(frozen=True, slots=True)
class Mailed:
    id: str
    address: str
    about: str  # the stream's title
    state: str
    planned_at: datetime
    settled_at: datetime | None
    subject: str
    text: str
    variables: Mapping[str, object] | None
    # Of mail to many: what it was filled in from, and the list that its reader may leave.
    letter: str
    list_key: str


# As in forgetting, no index leads from a person to their mail; it takes as long as it takes. The
# body that many share lies before all mails, where `ledger.shared` says.
_TO: LiteralString = """
SELECT d.stream_id, d.position, d.address, s.title, d.state, d.planned_at, d.settled_at,
       coalesce(b.subject, ''), coalesce(b.text, ''), d.variables, coalesce(b.letter, ''),
       coalesce(b.list_key, '')
FROM deliveries_stream s
JOIN deliveries_delivery d ON d.stream_id = s.id
LEFT JOIN LATERAL (
    SELECT subject, text, letter, list_key FROM deliveries_body
    WHERE stream_id = d.stream_id AND position IN (d.position, -1 - d.letter)
    ORDER BY position LIMIT 1
) AS b ON true
WHERE s.workspace_id = %(workspace)s
  AND (d.contact_id = ANY(%(contacts)s::bigint[]) OR lower(d.address) = lower(%(address)s))
ORDER BY d.planned_at, d.stream_id, d.position
"""


def to_person(workspace_id: int, *, address: str, contact_ids: Sequence[int]) -> list[Mailed]:
    """Every mail to an address, or to its contacts under another one that they had."""
    params = {"workspace": workspace_id, "address": address, "contacts": sql.Bigints(contact_ids)}
    found = sql.rows(_TO, params)
    return [Mailed(DeliveryId(stream, at).text(), *rest) for stream, at, *rest in found]


_OF_MONTH: LiteralString = """
SELECT count(*) FROM deliveries_delivery WHERE stream_id >= %(first)s AND stream_id < %(end)s
"""


def lines_of_month(month: int) -> int:
    """Counted one by one: whoever is about to drop them wants to know exactly."""
    bounds = {"first": ids.first_stream_of(month), "end": ids.first_stream_of(month + 1)}
    [(count,)] = sql.rows(_OF_MONTH, bounds)
    return int(count)
