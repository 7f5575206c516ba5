"""Counts questions to PostgreSQL where they leave the process: in libpq, whoever asks them."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def counted() -> Iterator[Callable[[], int]]:
    """How many round trips the connection made inside; ask when it is over."""
    connection.ensure_connection()
    raw = connection.connection.pgconn
    asked = 0
    with tempfile.TemporaryFile("w+") as trace:
        raw.trace(trace.fileno())
        try:
            yield lambda: asked
        finally:
            raw.untrace()
            trace.seek(0)
            # A simple query, or the end of an extended one: libpq waits for an answer to each.
            asked = sum(_ends_a_question(line) for line in trace)


def _ends_a_question(line: str) -> bool:
    match line.split("\t"):
        case [_, "F", _, kind, *_]:
            return kind.split()[0] in {"Query", "Sync"}
        case _:
            return False  # a statement of several lines
