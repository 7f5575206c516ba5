"""Runs the statements of contacts on Django's connection; values always travel as parameters."""

import json
from collections.abc import Mapping
from typing import Any, LiteralString

from django.db import connection
from psycopg.sql import Composed

type Row = tuple[Any, ...]
type Statement = LiteralString | Composed


def rows(statement: Statement, params: Mapping[str, Any]) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(_text(statement), params)
        found: list[Row] = cursor.fetchall()
    return found


def one(statement: Statement, params: Mapping[str, Any]) -> Row | None:
    found = rows(statement, params)
    return found[0] if found else None


def changed(statement: Statement, params: Mapping[str, Any]) -> int:
    """Executes a statement that returns nothing; says how many rows it touched."""
    with connection.cursor() as cursor:
        cursor.execute(_text(statement), params)
        return int(cursor.rowcount)


def plan(statement: Statement, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """How the planner would execute a query, and what it expects; nothing is executed."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {_text(statement)}", params)
        [(found,)] = cursor.fetchall()
    explained = json.loads(found) if isinstance(found, str) else found
    top: Mapping[str, Any] = explained[0]["Plan"]
    return top


def _text(statement: Statement) -> str:
    return statement if isinstance(statement, str) else statement.as_string()
