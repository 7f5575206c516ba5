"""Who left by a link of an email: told from the history of consents."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from postledger.contacts import sql

# The sources of changes that begin with the link of an email.
ONE_CLICK = "one-click"
UNSUBSCRIBE_PAGE = "unsubscribe page"
PREFERENCES_PAGE = "preferences page"
MOST = 10_000


@dataclass(frozen=True, slots=True)
class Leaver:
    contact_id: int
    address: str  # in lower case: the contact's, or one that it had before
    at: datetime


# Served by contacts_consent_left, and the contacts' primary key. A contact that never
# changed its address has one row, the others have one for each address.
_LEAVERS: LiteralString = """
SELECT event.contact_id, lower(known.address), event.at
FROM contacts_consentevent AS event
JOIN contacts_contact AS contact ON contact.id = event.contact_id
CROSS JOIN LATERAL unnest(array_append(contact.former_addresses, contact.address))
    AS known (address)
WHERE event.workspace_id = %(workspace)s AND event.action = 'unsubscribed'
  AND event.at >= %(since)s AND event.at < %(until)s
  AND event.source = ANY(%(sources)s::text[])
  AND (event.list_id IS NULL OR event.list_id = (
      SELECT id FROM contacts_list WHERE workspace_id = %(workspace)s AND key = %(list)s
  ))
LIMIT %(limit)s
"""


def list_leavers(
    workspace_id: int, *, list_key: str, since: datetime, until: datetime
) -> Sequence[Leaver] | None:
    """Those who left a list, or all mail; None if there are too many to look at each."""
    params = {
        "workspace": workspace_id,
        "list": list_key,
        "since": since,
        "until": until,
        "sources": [ONE_CLICK, UNSUBSCRIBE_PAGE, PREFERENCES_PAGE],
        "limit": MOST + 1,
    }
    rows = sql.rows(_LEAVERS, params)
    return None if len(rows) > MOST else [Leaver(*row) for row in rows]
