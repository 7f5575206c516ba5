"""Turns the database's own no into a refusal that a person understands."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.db import IntegrityError, transaction

from postledger.lib.errors import RefusedError


@contextmanager
def kept(**refusals: RefusedError) -> Iterator[None]:
    """A transaction; a write inside that breaks a constraint named here is refused as it says.

    Asking first would only repeat the constraint, and lose to whoever writes in between.
    """
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        refusal = refusals.get(_broken(error))
        if refusal is None:
            raise
        # Without its cause: PostgreSQL's words repeat the row that was refused.
        raise refusal from None


def _broken(error: IntegrityError) -> str:
    cause = error.__cause__
    return (cause.diag.constraint_name or "") if isinstance(cause, psycopg.Error) else ""
