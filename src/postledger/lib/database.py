"""How errors show that the database is away, and not that one statement was wrong."""

from django.db import InterfaceError, InternalError, OperationalError, connection

# The database is away, closed this connection, or is a standby that takes no writes.
CONNECTION_LOST = (OperationalError, InterfaceError, InternalError)


def is_away(error: Exception) -> bool:
    """Whether the connection broke: a job at whose edge this is true is not to blame, and must
    leave everything to the next call.
    """
    return isinstance(error, (InterfaceError, OperationalError)) and not connection.is_usable()
