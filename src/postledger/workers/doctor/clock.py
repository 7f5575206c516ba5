"""Whether this machine and the database agree about the time, by which leases end."""

import time
from collections.abc import Iterator

from django.db import connection

from postledger.workers.doctor.findings import Finding, ok, problem, warning

WARN_SECONDS = 2.0
FAIL_SECONDS = 30.0
_REMEDY = (
    "Let both machines follow a time server: timedatectl set-ntp true, then chronyc tracking"
    " or timedatectl timesync-status."
)


def look() -> Iterator[Finding]:
    yield judge(_offset())


def judge(offset: float) -> Finding:
    """`offset` is by how many seconds the database's clock is ahead of this machine's."""
    if abs(offset) <= WARN_SECONDS:
        return ok("clock", "This machine and the database agree about the time.")
    where = "ahead of" if offset > 0 else "behind"
    found = f"The database's clock is {abs(offset):.0f} s {where} this machine's."
    kind = problem if abs(offset) > FAIL_SECONDS else warning
    return kind("clock", found, _REMEDY)


def _offset() -> float:
    """Taken in the middle of the question, so that a slow network is no skew."""
    before = time.time()
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
        (theirs,) = cursor.fetchone()
    return float(theirs) - (before + time.time()) / 2
