"""Rules that the database and the code keep together: unique rows, and names people can read."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import psycopg
from django.db import IntegrityError, transaction

from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say

LONGEST_NAME = 100
SHORTEST_PASSWORD = 16
# What has a name, as the refusal of a bad one says it.
_THINGS: Final[Mapping[str, str]] = {
    str(thing): thing
    for thing in (
        say("a campaign"),
        say("a key"),
        say("a list"),
        say("a member"),
        say("a person"),
        say("a segment"),
        say("a template"),
        say("a workspace"),
        say("an account"),
        say("an article"),
    )
}


class InvalidNameError(RefusedError):
    code = "invalid_name"


def check_name(what: str, name: str) -> None:
    """Refuses names that are invisible, or look alike, in a list."""
    if name and name == name.strip() and name.isprintable() and len(name) <= LONGEST_NAME:
        return
    raise InvalidNameError(
        say(
            "'%(name)s' cannot be the name of %(what)s: use 1 to %(longest)s printable characters,"
            " without a space at either end.",
            name=name[:LONGEST_NAME],
            what=_THINGS.get(what, what),
            longest=LONGEST_NAME,
        )
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
