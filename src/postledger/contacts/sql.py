"""Runs SQL on Django's connection, with values and the hash key as parameters, and takes the
consent lock.
"""

import json
from collections.abc import Mapping
from typing import Any, LiteralString

from django.db import connection
from psycopg.sql import Composed

from postledger.accounts import hash_key

type Row = tuple[Any, ...]
type Statement = LiteralString | Composed


def rows(statement: Statement, params: Mapping[str, Any]) -> list[Row]:
    text = _text(statement)
    with connection.cursor() as cursor:
        cursor.execute(text, _with_hash_key(text, params))
        fetched: list[Row] = cursor.fetchall()
    return fetched


def first(statement: Statement, params: Mapping[str, Any]) -> Row | None:
    return next(iter(rows(statement, params)), None)


def execute(statement: Statement, params: Mapping[str, Any]) -> int:
    """Executes a statement without a result set and returns how many rows it changed."""
    text = _text(statement)
    with connection.cursor() as cursor:
        cursor.execute(text, _with_hash_key(text, params))
        return int(cursor.rowcount)


def explain(statement: Statement, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """The planner's top node for a query, which is not executed."""
    [(plan,)] = rows(f"EXPLAIN (FORMAT JSON) {_text(statement)}", params)
    top: Mapping[str, Any] = (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
    return top


def _with_hash_key(text: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Adds the key of contacts_fingerprint where a statement asks for %(hash_key)s."""
    return {**params, "hash_key": hash_key.read()} if "%(hash_key)s" in text else params


def _text(statement: Statement) -> str:
    return statement if isinstance(statement, str) else statement.as_string()


# A contact is created with the state of its address, and an address that is suppressed takes its
# contact along. Two transactions that do one each would both read before the other commits. So a
# transaction that adds contacts or subscriptions shares a lock of the workspace, and one that ends
# some holds it alone. Both take it first, and are short: an import works in chunks.
# The kind of the advisory lock; 1 to 3 are the ledger's (deliveries/ledger/sql.py).
_CONSENT = 4
_SHARE: LiteralString = "SELECT pg_advisory_xact_lock_shared(%(lock)s, %(workspace)s::integer)"
_TAKE: LiteralString = "SELECT pg_advisory_xact_lock(%(lock)s, %(workspace)s::integer)"


def share_consent_lock(workspace_id: int) -> None:
    """For transactions that add: waits only for those that hold the lock alone."""
    _lock(_SHARE, workspace_id)


def take_consent_lock(workspace_id: int) -> None:
    """For transactions that end a consent: waits for all others, and makes them wait."""
    _lock(_TAKE, workspace_id)


def _lock(statement: LiteralString, workspace_id: int) -> None:
    # A statement of its own: the next one then sees what was committed while this one waited.
    rows(statement, {"lock": _CONSENT, "workspace": workspace_id & 2**31 - 1})
