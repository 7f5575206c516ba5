"""Waits for the locks of a process that was killed: its backend ends a moment later."""

from postledger.deliveries.ledger import sql
from tests.journeys import rig

_HELD = """
SELECT count(*) FROM pg_locks
WHERE locktype = 'advisory'
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


def wait_until_free() -> None:
    rig.until(lambda: sql.rows(_HELD, {}) == [(0,)])
