"""Checks PostgreSQL: connection, durability, pooler and clock."""

import time
from collections.abc import Iterator, Mapping, Sequence

from django.core.checks import Tags, run_checks
from django.db import OperationalError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from postledger.cli.doctor.installation import from_system_check
from postledger.lib.check_results import CheckResult, ok, problem, warning

CONNECT_SECONDS = 5

# A part of the server's text, our message and the remedy; the first match counts.
_REFUSALS = (
    ("password", "PostgreSQL refuses the role or its password.", "Correct them in DATABASE_URL."),
    ("role ", "PostgreSQL does not know the role.", "Correct it in DATABASE_URL."),
    ("pg_hba.conf", "PostgreSQL accepts no connection from this host.", "Allow it in pg_hba.conf."),
    (
        "connection slots",
        "PostgreSQL has no connection left.",
        "Raise max_connections in postgresql.conf, or lower DATABASE_POOL_SIZE.",
    ),
    (
        "startup parameter",
        "A pooler refuses connections that ask for synchronous_commit.",
        "Give PostgreSQL's own port in DATABASE_URL, or that of the pooler's session mode.",
    ),
    (
        "does not exist",
        "PostgreSQL answers, but there is no database {name}.",
        "Run createdb {name}, then postledger migrate.",
    ),
)

_SETTINGS = """
SELECT name, setting FROM pg_settings
WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit')
"""

# Physical standbys only: a logical subscriber cannot take over, and a base backup ends. A state is
# NULL for roles without pg_monitor.
_STANDBYS = """
SELECT sync_state FROM pg_stat_replication AS standby
WHERE state IS DISTINCT FROM 'backup' AND NOT EXISTS (
    SELECT FROM pg_replication_slots AS slot
    WHERE slot.active_pid = standby.pid AND slot.slot_type = 'logical'
)
"""


def open_own_connection() -> BaseDatabaseWrapper:
    """A new connection with a short timeout, outside the pool; the caller closes it."""
    own = connection.copy()
    options = {key: value for key, value in own.settings_dict["OPTIONS"].items() if key != "pool"}
    options.setdefault("connect_timeout", CONNECT_SECONDS)
    own.settings_dict = {**own.settings_dict, "OPTIONS": options}
    return own


def check_database() -> Iterator[CheckResult]:
    own = open_own_connection()
    try:
        with own.cursor() as cursor:
            cursor.execute("SHOW server_version")
            (version,) = cursor.fetchone()
        yield ok("database", f"PostgreSQL {version.split()[0]} answers.")
    except OperationalError as error:
        yield judge_refusal(str(error), name=own.settings_dict["NAME"])
    finally:
        own.close()


def judge_refusal(text: str, *, name: str) -> CheckResult:
    """Explains a refused connection by its text: libpq gives no error code."""
    for part, message, remedy in _REFUSALS:
        if part in text:
            return problem("database", message.format(name=name), remedy.format(name=name))
    return problem(
        "database",
        "PostgreSQL does not answer.",
        "Start PostgreSQL, or correct host and port in DATABASE_URL.",
    )


def check_server() -> Iterator[CheckResult]:
    messages = run_checks(tags=[Tags.database], databases=["default"])
    findings = [from_system_check("server", message) for message in messages]
    with connection.cursor() as cursor:
        cursor.execute(_SETTINGS)
        findings += judge_durability(dict(cursor.fetchall()))
        cursor.execute(_STANDBYS)
        states = [state for (state,) in cursor.fetchall()]
        cursor.execute("SHOW synchronous_standby_names")
        (names,) = cursor.fetchone()
        findings += judge_standbys(states, names=names)
    findings += _judge_isolation(_find_isolation())
    yield from findings or [
        ok("server", "PostgreSQL is recent enough, and its commits are durable.")
    ]


def _find_isolation() -> str:
    """The level of a transaction as the ledger opens it, or a default that is another one.

    Each connection sets the level, but a pooler may drop that, and then the default counts.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SHOW transaction_isolation")
        (level,) = cursor.fetchone()
        cursor.execute("SHOW default_transaction_isolation")
        (default,) = cursor.fetchone()
    return str(default if level == "read committed" else level)


def judge_durability(settings: Mapping[str, str]) -> Iterator[CheckResult]:
    """A commit that is lost after a power cut lets a mail be sent a second time."""
    for name in ("fsync", "full_page_writes"):
        if settings[name] == "off":
            yield problem(
                "server",
                f"PostgreSQL runs with {name} off: a power cut can lose records of sent mail.",
                f"Run ALTER SYSTEM SET {name} = on, then SELECT pg_reload_conf().",
            )
    if settings["synchronous_commit"] not in {"on", "remote_apply"}:
        yield problem(
            "server",
            "A pooler dropped synchronous_commit = on from the connection, and the value is"
            f" {settings['synchronous_commit']}: a power cut or a failover can lose records of sent"
            " mail.",
            "Run ALTER ROLE … SET synchronous_commit = on, the same for the database, or give"
            " PostgreSQL's own port in DATABASE_URL.",
        )


def judge_standbys(states: Sequence[str | None], *, names: str) -> Iterator[CheckResult]:
    """`names` is synchronous_standby_names; it decides where the states are hidden."""
    are_waited_for = any(state in {"sync", "quorum"} for state in states)
    is_hidden = None in states and bool(names)
    if states and not are_waited_for and not is_hidden:
        yield problem(
            "server",
            f"Commits wait for none of the {len(states)} standbys: after a failover the records of"
            " the last sent mails are missing.",
            "Run ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)', then"
            " SELECT pg_reload_conf().",
        )


def _judge_isolation(level: str) -> Iterator[CheckResult]:
    if level != "read committed":
        yield problem(
            "server",
            f"Transactions run at isolation level {level}, but the ledger needs read committed.",
            "Run ALTER ROLE … RESET default_transaction_isolation, the same for the database,"
            " and remove isolation_level from DATABASE_URL.",
        )


_ROUNDS = 3  # a busy pooler may assign the same server connection by chance


def check_pooler() -> Iterator[CheckResult]:
    first, second = open_own_connection(), open_own_connection()
    try:
        is_pooled = any(_changes_connection(first, second) for _ in range(_ROUNDS))
    finally:
        first.close()
        second.close()
    if is_pooled:
        yield warning(
            "pooler",
            "DATABASE_URL names a pooler in transaction mode: a statement that was prepared on one"
            " server connection is missing on the next, and fails.",
            "Give PostgreSQL's own port in DATABASE_URL, or that of the pooler's session mode"
            " (at Supabase 5432, not 6543).",
        )
    else:
        yield ok("pooler", "All transactions of a connection run on one server connection.")


def _changes_connection(first: BaseDatabaseWrapper, second: BaseDatabaseWrapper) -> bool:
    """Whether both clients get the same server process, or the first one's process changes.

    The order matters: with a pooler that has one server connection, the last query would wait.
    """
    before = _server_process(first)
    second.set_autocommit(False)
    try:
        return _server_process(second) == before or _server_process(first) != before
    finally:
        second.rollback()
        second.set_autocommit(True)


def _server_process(client: BaseDatabaseWrapper) -> int:
    with client.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (process,) = cursor.fetchone()
    return int(process)


WARNING_SKEW = 2.0  # seconds
PROBLEM_SKEW = 30.0
_CLOCK_REMEDY = (
    "Synchronize both machines with a time server: timedatectl set-ntp true, then chronyc tracking"
    " or timedatectl timesync-status."
)


def check_clock() -> Iterator[CheckResult]:
    yield judge_clock(_read_clock_offset())


def judge_clock(offset: float) -> CheckResult:
    """`offset` is how many seconds the database's clock is ahead of this machine's."""
    if abs(offset) <= WARNING_SKEW:
        return ok("clock", "The clocks of this machine and of the database agree.")
    where = "ahead of" if offset > 0 else "behind"
    message = f"The database's clock is {abs(offset):.0f} s {where} this machine's."
    level = problem if abs(offset) > PROBLEM_SKEW else warning
    return level("clock", message, _CLOCK_REMEDY)


def _read_clock_offset() -> float:
    """Compares with the middle of the query, so that a slow network counts as no skew."""
    before = time.time()
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
        (database_time,) = cursor.fetchone()
    return float(database_time) - (before + time.time()) / 2
