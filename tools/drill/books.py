"""The drill's own look at the ledger, which goes on when the database was away for a while."""

import time
from collections.abc import Callable, Sequence

from django.db import InterfaceError, OperationalError, connection
from psycopg import sql as pg

from postledger.content import letters
from postledger.content.rendering.letter import Script
from postledger.deliveries import ledger
from postledger.deliveries.entries import Body, StreamKind
from tools.drill import reading, smtp_server

PATIENCE = 30.0

# What stands before the name tells the server what to say: `refuse+r17@drill.example`.
_PEOPLE = pg.SQL(
    "SELECT (%(words)s::text[])[1 + mod(n, array_length(%(words)s::text[], 1))] || 'r' || n"
    " || '@drill.example' AS address, 'r' || n AS dedupe_key,"
    " NULL::bigint AS contact_id, NULL::text AS variables, 0 AS letter, NULL::text AS kept_back"
    " FROM generate_series(%(first)s::int, %(last)s::int) AS n (n)"
)


def persistently[T](call: Callable[[], T]) -> T:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return call()
        except (OperationalError, InterfaceError):
            connection.close()
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def armed_by(*pids: int) -> int:
    return persistently(lambda: reading.armed_by(*pids))


def plan(stream_id: int, first: int, count: int, *, words: Sequence[str] = ("",)) -> None:
    """Adds mails to a campaign; a chunk that is repeated after a crash adds nothing.

    The words are dealt out in turn.
    """
    params = {"first": first, "last": first + count - 1, "words": list(words)}
    persistently(lambda: ledger.plan(stream_id, source=_PEOPLE, params=params))


def open_campaign(workspace_id: int, sender_id: int, title: str = "Drill") -> int:
    """A stream whose mails name their recipient in their own words."""
    words = smtp_server.mark("{{ email }}")
    script = Script("News", f"<p>News {words}</p>", f"News {words}")

    def opened() -> int:
        letter = letters.keep(workspace_id, script)
        body = Body(subject="News", letter=letter)
        return ledger.open_stream(
            workspace_id,
            sender_id=sender_id,
            kind=StreamKind.CAMPAIGN,
            title=title,
            body=body,
        )

    return persistently(opened)
