"""Keeps those who join apart from those who leave, so that neither misses the other.

A contact is made with the state its address has, and an address that leaves takes its contact
along. Two transactions that do one each would both look before the other is committed; so whoever
adds contacts or subscriptions shares a lock of the workspace, and whoever ends some has it alone.
Both take it first and keep it to the end of a short transaction: an import works in chunks.
"""

from typing import LiteralString

from postledger.contacts import sql

# The kind of the advisory lock; 1 to 3 are the ledger's (deliveries/ledger/sql.py).
_CONSENT = 4
_JOIN: LiteralString = "SELECT pg_advisory_xact_lock_shared(%(lock)s, %(workspace)s::integer)"
_LEAVE: LiteralString = "SELECT pg_advisory_xact_lock(%(lock)s, %(workspace)s::integer)"


def joining(workspace_id: int) -> None:
    """Lets others join at the same time, and waits for whoever is leaving."""
    _take(_JOIN, workspace_id)


def leaving(workspace_id: int) -> None:
    """Waits for whoever is joining or leaving, and makes both wait."""
    _take(_LEAVE, workspace_id)


def _take(statement: LiteralString, workspace_id: int) -> None:
    # A statement of its own: the next one then sees what was committed while this one waited.
    params = {"lock": _CONSENT, "workspace": workspace_id & 2**31 - 1}
    sql.rows(statement, params)
