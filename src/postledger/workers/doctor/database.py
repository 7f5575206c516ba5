"""Whether PostgreSQL answers, and whether it keeps what it was told."""

from collections.abc import Iterator, Mapping, Sequence

from django.core.checks import Tags, run_checks
from django.db import OperationalError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from postledger.workers.doctor import configuration
from postledger.workers.doctor.findings import Finding, ok, problem

CONNECT_SECONDS = 5

# What the server says, the sentence a person reads, and what to do; the first that fits.
_REFUSALS = (
    ("password", "PostgreSQL refuses the role or its password.", "Correct them in DATABASE_URL."),
    ("role ", "PostgreSQL does not know the role.", "Correct it in DATABASE_URL."),
    ("pg_hba.conf", "PostgreSQL lets nobody in from here.", "Allow it in pg_hba.conf."),
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
        "PostgreSQL answers, but the database {name} is not there.",
        "Run createdb {name}, then postledger migrate.",
    ),
)

_SETTINGS = """
SELECT name, setting FROM pg_settings
WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'default_transaction_isolation')
"""


# Those that follow this server as a whole; a subscriber to some tables cannot take its place, and
# a copy for a backup ends. What somebody without pg_monitor may not see is NULL.
_STANDBYS = """
SELECT sync_state FROM pg_stat_replication AS standby
WHERE state IS DISTINCT FROM 'backup' AND NOT EXISTS (
    SELECT FROM pg_replication_slots AS slot
    WHERE slot.active_pid = standby.pid AND slot.slot_type = 'logical'
)
"""


def own_connection() -> BaseDatabaseWrapper:
    """A connection that gives up soon and is taken from no pool; the caller closes it."""
    own = connection.copy()
    options = {key: value for key, value in own.settings_dict["OPTIONS"].items() if key != "pool"}
    options.setdefault("connect_timeout", CONNECT_SECONDS)
    own.settings_dict = {**own.settings_dict, "OPTIONS": options}
    return own


def reach() -> Iterator[Finding]:
    own = own_connection()
    try:
        with own.cursor() as cursor:
            cursor.execute("SHOW server_version")
            (version,) = cursor.fetchone()
        yield ok("database", f"PostgreSQL {version.split()[0]} answers.")
    except OperationalError as error:
        yield refusal(str(error), name=own.settings_dict["NAME"])
    finally:
        own.close()


def refusal(said: str, *, name: str) -> Finding:
    """What an answer to a connection means; PostgreSQL's has no code, only words."""
    for words, found, remedy in _REFUSALS:
        if words in said:
            return problem("database", found.format(name=name), remedy.format(name=name))
    return problem(
        "database",
        "PostgreSQL does not answer.",
        "Start PostgreSQL, or correct host and port in DATABASE_URL.",
    )


def server() -> Iterator[Finding]:
    messages = run_checks(tags=[Tags.database], databases=["default"])
    findings = [configuration.from_check("server", message) for message in messages]
    with connection.cursor() as cursor:
        cursor.execute(_SETTINGS)
        findings += durability(dict(cursor.fetchall()))
        cursor.execute(_STANDBYS)
        states = [state for (state,) in cursor.fetchall()]
        cursor.execute("SHOW synchronous_standby_names")
        (names,) = cursor.fetchone()
        findings += standbys(states, names=names)
    findings += _isolation()
    yield from findings or [
        ok("server", "PostgreSQL keeps what it commits, and is new enough for the ledger.")
    ]


def durability(settings: Mapping[str, str]) -> Iterator[Finding]:
    """After a power cut, a commit that was forgotten would let a mail be sent a second time."""
    for name in ("fsync", "full_page_writes"):
        if settings[name] == "off":
            yield problem(
                "server",
                f"PostgreSQL runs with {name} off: a power cut can lose what was sent.",
                f"Run ALTER SYSTEM SET {name} = on, then SELECT pg_reload_conf().",
            )
    if settings["synchronous_commit"] not in {"on", "remote_apply"}:
        yield problem(
            "server",
            f"A pooler left out that connections ask for synchronous_commit = on, and it is"
            f" {settings['synchronous_commit']}: a power cut or a failover can lose what was sent.",
            "Run ALTER ROLE … SET synchronous_commit = on, the same for the database, or give"
            " PostgreSQL's own port in DATABASE_URL.",
        )
    if settings["default_transaction_isolation"] != "read committed":
        yield _wrong_isolation(settings["default_transaction_isolation"])


def standbys(states: Sequence[str | None], *, names: str) -> Iterator[Finding]:
    """`names` are the standbys that commits may wait for; it decides where no state is shown."""
    are_waited_for = any(state in {"sync", "quorum"} for state in states)
    is_hidden = None in states and bool(names)
    if states and not are_waited_for and not is_hidden:
        yield problem(
            "server",
            f"Commits wait for none of the standbys, of which there are {len(states)}: one that"
            " takes over does not know what was sent last.",
            "Run ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)', then"
            " SELECT pg_reload_conf().",
        )


def _isolation() -> Iterator[Finding]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SHOW transaction_isolation")
        (level,) = cursor.fetchone()
    if level != "read committed":
        yield _wrong_isolation(level)


def _wrong_isolation(level: str) -> Finding:
    return problem(
        "server",
        f"Transactions run at the level {level}, but the ledger's rules need read committed.",
        "Run ALTER ROLE … RESET default_transaction_isolation, the same for the database,"
        " and take isolation_level out of DATABASE_URL.",
    )
