"""What the server's processes have used of the processor, by the kernel's own account."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from django.db import connection

from tests import children

# The web process connects under this name; so its backends are told from those of the workers.
APPLICATION = "postledger-web"
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Meter:
    """User and system time of the web server, with its children, and of its database backends.

    A backend may end before it is asked again: `note` often, and little of it is lost.
    """

    web_pid: int
    _first: dict[int, float] = field(default_factory=dict)
    _last: dict[int, float] = field(default_factory=dict)

    def start(self) -> None:
        self._first = dict(self._read())
        self._last = dict(self._first)

    def note(self) -> None:
        self._last.update(self._read())

    @property
    def used(self) -> float:
        """Seconds since the start."""
        return sum(used - self._first.get(pid, 0.0) for pid, used in self._last.items())

    @property
    def of_database(self) -> float:
        """The part of it that the backends used."""
        web = set(_list_family(self.web_pid))
        rest = {pid: used for pid, used in self._last.items() if pid not in web}
        return sum(used - self._first.get(pid, 0.0) for pid, used in rest.items())

    def _read(self) -> Iterator[tuple[int, float]]:
        for pid in [*_list_family(self.web_pid), *_list_backends()]:
            used = _read_used(pid)
            if used is not None:
                yield pid, used


def _list_family(pid: int) -> list[int]:
    return [pid, *(one for child in children.pids(pid) for one in _list_family(child))]


def _list_backends() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = %s", [APPLICATION]
        )
        return [pid for (pid,) in cursor.fetchall()]


def _read_used(pid: int) -> float | None:
    """None if it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may hold spaces; the state comes next.
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / _TICKS
