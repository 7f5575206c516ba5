"""Takes a person out of the lines that are settled; the lines stay, and so do the books."""

from dataclasses import dataclass
from typing import LiteralString

from django.db import transaction

from postledger.deliveries.ledger import sql

# Stands where an address stood; no mail can be sent to it.
ERASED = "erased"


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How many lines were emptied, and how many still wait: they are emptied once they ended."""

    lines: int
    waiting: int


# Looks at every line of the workspace: no index leads from a person to campaign mail, because
# every planned mail would pay for it, and few people ask.
_FIND: LiteralString = """
SELECT d.stream_id, d.position, d.state = 'waiting'
FROM deliveries_stream s JOIN deliveries_delivery d ON d.stream_id = s.id
WHERE s.workspace_id = %(workspace)s AND lower(d.address) = lower(%(address)s)
"""

_CHOSEN: LiteralString = (
    " unnest(%(streams)s::bigint[], %(positions)s::bigint[]) AS c (stream_id, position)"
    " WHERE t.stream_id = c.stream_id AND t.position = c.position"
)
_LINES: LiteralString = (
    "UPDATE deliveries_delivery t SET address = %(erased)s, variables = NULL, contact_id = NULL,"
    " dedupe_key = NULL FROM" + _CHOSEN + " AND t.state <> 'waiting'"
)
_BODIES: LiteralString = (
    "UPDATE deliveries_body t SET subject = '', html = '', text = '', headers = NULL,"
    " to_name = '', reply_to = '', tags = NULL, attachments = NULL FROM" + _CHOSEN
)
_ATTEMPTS: LiteralString = "UPDATE deliveries_attempt t SET detail = NULL FROM" + _CHOSEN
_EVENTS: LiteralString = "UPDATE deliveries_deliveryevent t SET data = '{}' FROM" + _CHOSEN
_WORDS: LiteralString = "DELETE FROM deliveries_word t USING" + _CHOSEN


def forget(workspace_id: int, *, address: str) -> Forgotten:
    """Empties every settled line to an address: its words, its values, what was said of it.

    Idempotent. States, counts and ids stay, so the books balance as before, and a provider's
    word on such a mail still finds its line.
    """
    with transaction.atomic():
        found = sql.rows(_FIND, {"workspace": workspace_id, "address": address})
        ended = [(stream, position) for stream, position, is_waiting in found if not is_waiting]
        if ended:
            chosen = {
                "streams": sql.Bigints(stream for stream, _ in ended),
                "positions": sql.Bigints(position for _, position in ended),
                "erased": ERASED,
            }
            for statement in (_LINES, _BODIES, _ATTEMPTS, _EVENTS, _WORDS):
                sql.rows(statement, chosen)
    return Forgotten(lines=len(ended), waiting=len(found) - len(ended))
