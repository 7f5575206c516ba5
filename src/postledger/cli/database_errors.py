"""Explains to an operator what is wrong with the database: what happened, and what to do."""

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError
from psycopg.errors import ReadOnlySqlTransaction, UndefinedColumn, UndefinedTable

from postledger.cli.doctor import postgres


def explain(error: DatabaseError | InterfaceError) -> str | None:
    """One line about a database that is away, unprepared or failing; None about anything else."""
    cause = error.__cause__
    if isinstance(cause, UndefinedTable | UndefinedColumn):
        return "The database lacks tables of this version. Run postledger setup, which adds them."
    if isinstance(cause, ReadOnlySqlTransaction):
        return (
            "The database is a standby, which accepts no changes. Name the primary in DATABASE_URL."
        )
    if not isinstance(error, OperationalError | InterfaceError):
        return None
    if getattr(cause, "sqlstate", None) is None:  # no server answered, or it refused the connection
        refusal = postgres.judge_refusal(str(error), name=settings.DATABASES["default"]["NAME"])
        return f"{refusal.message} {refusal.remedy}"
    return f"PostgreSQL failed ({type(cause).__name__}). Run postledger doctor, and try again."
