"""The fence in the drill: whether the database is fenced, and the verbs that people use."""

import subprocess
import sys
from pathlib import Path

from django.db import connection

from tools.drill import books

_COMMAND = str(Path(sys.executable).parent / "postledger")


def is_built() -> bool:
    """Whether this installation knows epochs at all."""
    return bool(_ask("SELECT to_regclass('deliveries_epoch') IS NOT NULL"))


def epoch() -> int:
    """The number of the epoch that is current."""
    return int(str(_ask("SELECT max(number) FROM deliveries_epoch")))


def is_down() -> bool:
    """Whether nothing may be armed until a person says so."""
    return bool(_ask("SELECT lifted_at IS NULL FROM deliveries_epoch ORDER BY number DESC LIMIT 1"))


def show() -> str:
    """The gap, as people are shown it."""
    return _run("show")


def lift() -> None:
    """A person has looked, and lets every stream go on."""
    _run("lift", "--all", "--without-consent")


def _run(*words: str) -> str:
    ran = subprocess.run([_COMMAND, "fence", *words], check=True, capture_output=True, text=True)
    return ran.stdout


def _ask(statement: str) -> object:
    def read_value() -> object:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            row = cursor.fetchone()
        return row[0] if row else None

    return books.persistently(read_value)
