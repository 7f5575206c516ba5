"""Rules that the database and the code keep together: unique rows, and names people can read."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.db import IntegrityError, transaction

from postledger.lib.errors import RefusedError

LONGEST_NAME = 100
SHORTEST_PASSWORD = 16


class InvalidNameError(RefusedError):
    code = "invalid_name"


def check_name(what: str, name: str) -> None:
    """Refuses names that are invisible, or look alike, in a list."""
    if name and name == name.strip() and name.isprintable() and len(name) <= LONGEST_NAME:
        return
    raise InvalidNameError(
        f"{name[:LONGEST_NAME]!r} cannot be the name of {what}: use 1 to {LONGEST_NAME} printable"
        " characters, without a space at either end."
    )


@contextmanager
def refusing(**refusals: RefusedError) -> Iterator[None]:
    """A transaction that raises the given refusal when the constraint of its name is violated.

    A query beforehand would only repeat the constraint, and lose a race.
    """
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        cause = error.__cause__
        name = cause.diag.constraint_name if isinstance(cause, psycopg.Error) else None
        refusal = refusals.get(name or "")
        if refusal is None:
            raise
        # Without its cause: PostgreSQL's message repeats the refused row.
        raise refusal from None
