"""The names of the time zone database."""

from functools import cache
from zoneinfo import available_timezones


@cache
def list_zones() -> frozenset[str]:
    """All of them; read once, because it opens each file of the database."""
    return frozenset(available_timezones())
