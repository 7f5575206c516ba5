"""Databases for tests, copied from one that was migrated once: that takes less than a second."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.sql import SQL, Identifier

_DEFAULT_URL = "postgresql://postgres@127.0.0.1:5432/postledger"
# Under the secrets of the tests, as pytest would do it.
_MIGRATE = """
import django
from django.core.management import call_command
django.setup()
from tests import conftest
conftest.pytest_configure()
call_command("migrate", verbosity=0)
"""
# A copy would take itself for a restored database, and send nothing.
_BEGIN_ANEW = """
UPDATE deliveries_epoch SET database_oid = here.database_oid FROM deliveries_identity() AS here
"""


@dataclass(frozen=True, slots=True)
class Databases:
    """The databases of some processes of pytest, and what they are copied from."""

    server: str
    name: str
    copies: list[str]

    @property
    def url(self) -> str:
        return f"{self.server}/{self.name}"

    def renew(self) -> None:
        """As they are before the first test."""
        for copy in self.copies:
            self.drop(copy)
            self._execute("CREATE DATABASE {} TEMPLATE {}", copy, self.name)
            with psycopg.connect(f"{self.server}/{copy}") as connection:
                connection.execute(_BEGIN_ANEW)

    def create(self) -> None:
        self.drop(self.name)
        self._execute("CREATE DATABASE {}", self.name)

    def drop(self, name: str) -> None:
        self._execute("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)

    def _execute(self, statement: str, *names: str) -> None:
        with psycopg.connect(f"{self.server}/postgres", autocommit=True) as connection:
            connection.execute(SQL(statement).format(*map(Identifier, names)))


@contextmanager
def migrated(root: Path, python: str, processes: int) -> Iterator[Databases]:
    """The databases of a checkout; they are dropped in the end."""
    server, _, configured = os.environ.get("DATABASE_URL", _DEFAULT_URL).rpartition("/")
    name = f"{configured.partition('?')[0]}_breaks"
    copies = [f"test_{name}_gw{number}" for number in range(processes)] or [f"test_{name}"]
    databases = Databases(server, name, copies)
    databases.create()
    settings = {
        "DATABASE_URL": databases.url,
        "DJANGO_SETTINGS_MODULE": "postledger.config.settings",
    }
    try:
        subprocess.run(
            [python, "-c", _MIGRATE], cwd=root, env={**os.environ, **settings}, check=True
        )
        yield databases
    finally:
        for each in (*copies, name):
            databases.drop(each)
