"""Whether the database has the tables that this version of the code expects."""

from functools import cache

from django.apps import apps
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder


def unapplied() -> list[str]:
    """The migrations that were not run on this database, as app.name, in order."""
    return _named(_known() - _applied())


def unknown() -> list[str]:
    """The migrations of our apps that were run on this database and that no file of this version
    holds, as app.name, in order.
    """
    ours = {app.label for app in apps.get_app_configs() if app.name.startswith("postledger.")}
    return _named({(app, name) for app, name in _applied() - _known() if app in ours})


def _applied() -> set[tuple[str, str]]:
    return set(MigrationRecorder(connection).applied_migrations())


def _named(migrations: set[tuple[str, str]]) -> list[str]:
    return sorted(f"{app}.{name}" for app, name in migrations)


@cache
def _known() -> set[tuple[str, str]]:
    """Read from disk once: the code of a running process does not change."""
    return set(MigrationLoader(None).disk_migrations)
