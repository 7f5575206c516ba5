"""Whether the database has every table this version of the code expects."""

from functools import cache

from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder


def unapplied() -> list[str]:
    """The migrations that were not run on this database, as app.name, in order."""
    missing = _known() - MigrationRecorder(connection).applied_migrations().keys()
    return sorted(f"{app}.{name}" for app, name in missing)


@cache
def _known() -> frozenset[tuple[str, str]]:
    """Read from disk once: the code of a running process does not change."""
    return frozenset(MigrationLoader(None).disk_migrations)
