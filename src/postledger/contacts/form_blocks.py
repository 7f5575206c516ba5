"""Mailboxes that no subscribe form may mail: their owners said "never again", or may not join."""

from datetime import datetime
from typing import LiteralString

from postledger.contacts import sql
from postledger.providers import addresses

_BLOCK: LiteralString = """
INSERT INTO contacts_formblock (workspace_id, mailbox_hash)
VALUES (%(workspace)s, contacts_fingerprint(%(hash_key)s::bytea, %(mailbox)s))
ON CONFLICT (workspace_id, mailbox_hash) DO NOTHING
"""
_LIFT: LiteralString = """
DELETE FROM contacts_formblock
WHERE workspace_id = %(workspace)s
  AND mailbox_hash = contacts_fingerprint(%(hash_key)s::bytea, %(mailbox)s)
"""
_FIND: LiteralString = """
SELECT created_at FROM contacts_formblock
WHERE workspace_id = %(workspace)s
  AND mailbox_hash = contacts_fingerprint(%(hash_key)s::bytea, %(mailbox)s)
"""
# Who only left a list may come back; whom an operator or a report suppressed for it may not.
_IS_BLOCKED: LiteralString = """
WITH given AS MATERIALIZED (
    SELECT contacts_fingerprint(%(hash_key)s::bytea, %(mailbox)s) AS mailbox_hash,
           contacts_fingerprint(%(hash_key)s::bytea, %(address)s) AS address_hash
)
SELECT EXISTS (
    SELECT FROM contacts_formblock AS block, given
    WHERE block.workspace_id = %(workspace)s AND block.mailbox_hash = given.mailbox_hash
) OR EXISTS (
    SELECT FROM contacts_suppression AS suppression, given
    WHERE suppression.workspace_id = %(workspace)s
      AND suppression.address_hash = given.address_hash
      AND suppression.reason <> 'unsubscribed'
      AND suppression.list_id IN (
          SELECT id FROM contacts_list WHERE workspace_id = %(workspace)s AND key = %(list)s
      )
)
"""


def block(workspace_id: int, *, address: str) -> bool:
    """Lets no form of the workspace mail the mailbox of a canonical address, under any of its
    aliases; False when it was so already.
    """
    return bool(sql.execute(_BLOCK, _params(workspace_id, address)))


def lift(workspace_id: int, *, address: str) -> bool:
    return bool(sql.execute(_LIFT, _params(workspace_id, address)))


def find_start(workspace_id: int, *, address: str) -> datetime | None:
    """Since when the mailbox of a canonical address is blocked; None when it is not."""
    row = sql.first(_FIND, _params(workspace_id, address))
    return row[0] if row else None


def is_blocked(workspace_id: int, *, address: str, list_key: str) -> bool:
    """Whether the form of a list must not mail the address. One statement, whoever it is."""
    params = {**_params(workspace_id, address), "address": address, "list": list_key}
    [(blocked,)] = sql.rows(_IS_BLOCKED, params)
    return bool(blocked)


def _params(workspace_id: int, address: str) -> dict[str, int | str]:
    return {"workspace": workspace_id, "mailbox": addresses.mailbox_of(address)}
