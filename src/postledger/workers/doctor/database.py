"""Whether PostgreSQL answers, and whether it keeps what it was told."""

from collections.abc import Iterator, Mapping

from django.core.checks import Tags, run_checks
from django.db import OperationalError, connection, transaction

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
        "does not exist",
        "PostgreSQL answers, but the database {name} is not there.",
        "Run createdb {name}, then postledger migrate.",
    ),
)

_SETTINGS = """
SELECT name, setting FROM pg_settings
WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'default_transaction_isolation')
"""


def reach() -> Iterator[Finding]:
    """Opens a connection of its own, which gives up soon and takes none from a pool."""
    own = connection.copy()
    options = {key: value for key, value in own.settings_dict["OPTIONS"].items() if key != "pool"}
    options.setdefault("connect_timeout", CONNECT_SECONDS)
    own.settings_dict = {**own.settings_dict, "OPTIONS": options}
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
    findings += _isolation()
    yield from findings or [
        ok("server", "PostgreSQL keeps what it commits, and is new enough for the ledger.")
    ]


def durability(settings: Mapping[str, str]) -> Iterator[Finding]:
    """After a power cut, a commit that was forgotten would let a mail be sent a second time."""
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        if settings[name] == "off":
            yield problem(
                "server",
                f"PostgreSQL runs with {name} off: a power cut can lose what was sent.",
                f"Run ALTER SYSTEM SET {name} = on, then SELECT pg_reload_conf().",
            )
    if settings["default_transaction_isolation"] != "read committed":
        yield _wrong_isolation(settings["default_transaction_isolation"])


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
