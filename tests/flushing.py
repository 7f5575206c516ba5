"""Empties the tables after a test that committed, as Django does, in a thirtieth of the time.

TRUNCATE gives every table and every index a new file, however few rows a test left.
"""

from collections.abc import Sequence
from functools import cache

from django.core.management.color import Style
from django.db import connection

# What the fence remembers beyond a test; `tests/epochs.py` puts it back where a test changed it.
_OF_THE_FENCE = {"deliveries_epoch", "deliveries_tokenmark", "deliveries_unmatched"}
# Of one table. What is deleted still takes room: beyond this, new files are cheaper.
LARGEST = 512 * 1024

# The locks of TRUNCATE: a transaction that a dead process left running ends first.
_FLUSH = """
DO $$
DECLARE
    leaves regclass[];
    leaf regclass;
BEGIN
    LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE;
    leaves := ARRAY(
        SELECT oid FROM pg_class
        WHERE relkind = 'r' AND pg_relation_size(oid) > 0
        AND COALESCE(pg_partition_root(oid), oid) = ANY ('{{{tables}}}'::regclass[])
    );
    IF NOT current_setting('is_superuser')::boolean
        OR (SELECT max(pg_relation_size(file)) FROM unnest(leaves) AS file) > {largest}
    THEN
        TRUNCATE {tables};
        RETURN;
    END IF;
    SET LOCAL session_replication_role = replica; -- no triggers, no order of foreign keys
    FOREACH leaf IN ARRAY leaves LOOP
        EXECUTE format('DELETE FROM %s', leaf);
    END LOOP;
END
$$"""


def use() -> None:
    """Makes the `flush` of this process's main connection do it."""
    connection.ops.sql_flush = _sql_flush  # type: ignore[assignment, method-assign]


def _sql_flush(
    _style: Style,
    tables: Sequence[str],
    *,
    reset_sequences: bool = False,
    allow_cascade: bool = False,
) -> list[str]:
    assert not reset_sequences
    assert not allow_cascade
    names = ", ".join(map(connection.ops.quote_name, [*tables, *list_ledger_tables()]))
    return [_FLUSH.format(tables=names, largest=LARGEST)]


@cache
def list_ledger_tables() -> Sequence[str]:
    """They have no models, from which Django knows what to empty."""
    names = connection.introspection.table_names()
    return [name for name in names if name.startswith("deliveries_") and name not in _OF_THE_FENCE]
