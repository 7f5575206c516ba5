"""The addresses that a workspace must not mail, and SQL that statements about them share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import LiteralString

from django.db.models import QuerySet
from psycopg import sql as pg

from postledger.accounts import hash_key
from postledger.contacts import sql
from postledger.contacts.models import Suppression
from postledger.contacts.states import (
    NOT_SUPPRESSED,
    ConsentAction,
    SuppressionReason,
    SuppressionStatus,
)
from postledger.lib.errors import NotFoundError
from postledger.lib.ids import LAST_ID
from postledger.lib.sentences import say


class SuppressionUnknownError(NotFoundError):
    code = "suppression_unknown"


# Ends every INSERT INTO contacts_suppression AS s: the strongest reason stays, and once the owner
# of an address has left, that stays too; so does a complaint under a bounce, which may be lifted.
# Rows that do not change are not returned.
KEEP_STRONGEST = pg.SQL("""
ON CONFLICT (workspace_id, address_hash, list_id) DO UPDATE SET
    reason = CASE
        WHEN array_position({order}::text[], excluded.reason)
             > array_position({order}::text[], s.reason)
        THEN excluded.reason ELSE s.reason
    END,
    has_left = s.has_left OR excluded.has_left
        OR ARRAY[s.reason, excluded.reason] @> ARRAY['bounced', 'complained']
WHERE NOT s.has_left AND (
    excluded.has_left OR ARRAY[s.reason, excluded.reason] @> ARRAY['bounced', 'complained']
)
   OR array_position({order}::text[], excluded.reason) > array_position({order}::text[], s.reason)
""").format(order=pg.Literal([reason.value for reason in SuppressionReason]))

# `states.implied_state` of a row `suppression` for all mail, whose columns are NULL without one.
IMPLIED_STATE = pg.SQL("""
CASE WHEN suppression.reason = 'bounced' THEN 'bounced'
     WHEN suppression.reason IN ('complained', 'unsubscribed') OR suppression.has_left
     THEN 'unsubscribed' ELSE 'active' END
""")

_OF_ADDRESS: LiteralString = """
SELECT * FROM contacts_suppression
WHERE workspace_id = %(workspace)s
  AND address_hash = contacts_fingerprint(%(hash_key)s::bytea, %(address)s)
ORDER BY list_id NULLS FIRST
"""


def list_page(workspace_id: int, *, before: int = LAST_ID, limit: int) -> QuerySet[Suppression]:
    """A page, newest first; `before` is the id of the last row of the page before it."""
    rows = Suppression.objects.filter(workspace_id=workspace_id, pk__lt=before)
    return rows.select_related("list").order_by("-pk")[:limit]


def list_of_address(workspace_id: int, *, address: str) -> list[Suppression]:
    """All suppressions of a canonical address: that for all mail first, then those for lists."""
    params = {"workspace": workspace_id, "address": address, "hash_key": hash_key.read()}
    return list(Suppression.objects.raw(_OF_ADDRESS, params).prefetch_related("list"))


# Served by contacts_contact_once, contacts_consent_newest and contacts_consent_of_address.
_SOURCES: LiteralString = """
SELECT given.id, event.source, event.actor, event.detail
FROM contacts_suppression AS given
LEFT JOIN LATERAL (
    SELECT id FROM contacts_contact
    WHERE workspace_id = given.workspace_id AND deleted_at IS NULL
      AND lower(address) COLLATE "C" = lower(given.address) COLLATE "C"
    OFFSET 0
) AS contact ON true
CROSS JOIN LATERAL (
    SELECT * FROM (
        SELECT id, source, actor, detail, list_id, action, after FROM contacts_consentevent
        WHERE contact_id = contact.id
        UNION ALL
        SELECT id, source, actor, detail, list_id, action, after FROM contacts_consentevent
        WHERE contact_id IS NULL AND workspace_id = given.workspace_id
          AND address_hash = given.address_hash
    ) AS event
    WHERE event.list_id IS NOT DISTINCT FROM given.list_id AND event.action = ANY(%(actions)s)
      AND event.after IS DISTINCT FROM 'unconfirmed'
    ORDER BY event.id DESC LIMIT 1
) AS event
WHERE given.id = ANY(%(ids)s::bigint[])
"""
_ENDING = [
    action.value
    for action in (
        ConsentAction.UNSUBSCRIBED,
        ConsentAction.SUPPRESSED,
        ConsentAction.COMPLAINED,
        ConsentAction.BOUNCED,
        ConsentAction.IMPORTED,
    )
]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a suppression came from, by whom, and what was said of it."""

    name: str
    actor: str
    note: str


def find_sources(suppressions: Sequence[Suppression]) -> dict[int, Source]:
    """The sources of some suppressions, as far as the history of consents knows them."""
    params = {"ids": [row.pk for row in suppressions], "actions": _ENDING}
    return {id_: Source(*values) for id_, *values in sql.rows(_SOURCES, params)}


def get_suppression(workspace_id: int, suppression_id: int) -> Suppression:
    rows = Suppression.objects.filter(pk=suppression_id, workspace_id=workspace_id)
    row = rows.select_related("list").first()
    if row is None:
        raise SuppressionUnknownError(say("There is no such suppression; it may have been lifted."))
    return row


_STATUS: LiteralString = """
SELECT reason, has_left FROM contacts_suppression
WHERE workspace_id = %(workspace)s AND list_id IS NOT DISTINCT FROM %(list)s
  AND address_hash = contacts_fingerprint(%(hash_key)s::bytea, %(address)s)
"""


def find_status(
    workspace_id: int, *, address: str, list_id: int | None = None
) -> SuppressionStatus:
    """How an address is suppressed for one list, or without a list for all mail."""
    row = sql.first(_STATUS, {"workspace": workspace_id, "list": list_id, "address": address})
    return SuppressionStatus(SuppressionReason(row[0]), row[1]) if row else NOT_SUPPRESSED


_ANY_WISH: LiteralString = """
SELECT EXISTS (
    SELECT FROM contacts_suppression
    WHERE workspace_id = %(workspace)s AND list_id IS NOT DISTINCT FROM %(list)s
      AND address_hash = ANY (ARRAY(
          SELECT contacts_fingerprint(%(hash_key)s::bytea, address)
          FROM unnest(%(addresses)s::text[]) AS given (address)
      ))
      AND (has_left OR reason = 'complained')
)
"""


def is_any_wish(workspace_id: int, addresses: Sequence[str], *, list_id: int | None = None) -> bool:
    """Whether the owner of one of some addresses unsubscribed or complained: of one list, or
    without a list of all mail.
    """
    params = {"workspace": workspace_id, "addresses": list(addresses), "list": list_id}
    [(is_any,)] = sql.rows(_ANY_WISH, params)
    return bool(is_any)
