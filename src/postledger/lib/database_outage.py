"""Tells an unreachable database from one wrong statement.

A standby, which takes no writes, counts as unreachable.
"""

from django.db import InterfaceError, InternalError, OperationalError, connection
from psycopg.errors import ReadOnlySqlTransaction

# What an outage raises; InternalError is that of a standby. A deadlock or a full disk raises the
# same types: the dispatcher repeats its step after all of them, other jobs ask `is_away`.
OUTAGE_ERRORS = (OperationalError, InterfaceError, InternalError)


def is_away(error: Exception) -> bool:
    """Whether an outage raised the error; sends a query on the connection to find out.

    If true, the job did not cause the error: re-raise it, and let the next call repeat the job.
    """
    if not isinstance(error, OUTAGE_ERRORS):
        return False
    return isinstance(error.__cause__, ReadOnlySqlTransaction) or not connection.is_usable()
