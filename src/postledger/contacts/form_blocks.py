"""Addresses that no subscribe form may mail: their owners said "never again", or may not join."""

from typing import LiteralString

from postledger.contacts import sql

_BLOCK: LiteralString = """
INSERT INTO contacts_formblock (workspace_id, address_hash)
VALUES (%(workspace)s, contacts_fingerprint(%(hash_key)s::bytea, %(address)s))
ON CONFLICT (workspace_id, address_hash) DO NOTHING
"""
_LIFT: LiteralString = """
DELETE FROM contacts_formblock
WHERE workspace_id = %(workspace)s
  AND address_hash = contacts_fingerprint(%(hash_key)s::bytea, %(address)s)
"""
# Who only left a list may come back; whom an operator or a report suppressed for it may not.
_IS_BLOCKED: LiteralString = """
WITH given AS MATERIALIZED (
    SELECT contacts_fingerprint(%(hash_key)s::bytea, %(address)s) AS hash
)
SELECT EXISTS (
    SELECT FROM contacts_formblock AS block, given
    WHERE block.workspace_id = %(workspace)s AND block.address_hash = given.hash
) OR EXISTS (
    SELECT FROM contacts_suppression AS suppression, given
    WHERE suppression.workspace_id = %(workspace)s AND suppression.address_hash = given.hash
      AND suppression.reason <> 'unsubscribed'
      AND suppression.list_id IN (
          SELECT id FROM contacts_list WHERE workspace_id = %(workspace)s AND key = %(list)s
      )
)
"""


def block(workspace_id: int, *, address: str) -> bool:
    """Lets no form of the workspace mail a canonical address; False when it was so already."""
    return bool(sql.execute(_BLOCK, {"workspace": workspace_id, "address": address}))


def lift(workspace_id: int, *, address: str) -> bool:
    return bool(sql.execute(_LIFT, {"workspace": workspace_id, "address": address}))


def is_blocked(workspace_id: int, *, address: str, list_key: str) -> bool:
    """Whether the form of a list must not mail the address. One statement, whoever it is."""
    params = {"workspace": workspace_id, "address": address, "list": list_key}
    [(blocked,)] = sql.rows(_IS_BLOCKED, params)
    return bool(blocked)
