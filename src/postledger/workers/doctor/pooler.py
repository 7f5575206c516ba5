"""Whether each connection is PostgreSQL's own, or a pooler's that lends one for a transaction."""

from collections.abc import Iterator

from django.db.backends.base.base import BaseDatabaseWrapper

from postledger.workers.doctor import database
from postledger.workers.doctor.findings import Finding, ok, warning

_ROUNDS = 3  # a pooler that others use at this moment may lend each the same one again


def look() -> Iterator[Finding]:
    first, second = database.own_connection(), database.own_connection()
    try:
        yield judge(is_lent=any(_is_lent(first, second) for _ in range(_ROUNDS)))
    finally:
        first.close()
        second.close()


def judge(*, is_lent: bool) -> Finding:
    if not is_lent:
        return ok("pooler", "A connection stays the same from one transaction to the next.")
    return warning(
        "pooler",
        "DATABASE_URL leads to a pooler that lends a connection for one transaction: a statement"
        " that was prepared on one is missing on the next, and fails.",
        "Give PostgreSQL's own port in DATABASE_URL, or that of the pooler's session mode"
        " (at Supabase 5432, not 6543).",
    )


def _is_lent(first: BaseDatabaseWrapper, second: BaseDatabaseWrapper) -> bool:
    """Whether the second one gets what served the first one, or drives the first one to another.

    The order matters: a pooler with a single connection would let the last question wait.
    """
    before = _server_process(first)
    second.set_autocommit(False)
    try:
        return _server_process(second) == before or _server_process(first) != before
    finally:
        second.rollback()
        second.set_autocommit(True)


def _server_process(asked: BaseDatabaseWrapper) -> int:
    with asked.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (process,) = cursor.fetchone()
    return int(process)
