"""Creates the database that DATABASE_URL names."""

from django.core.management.base import CommandError
from django.db import OperationalError, ProgrammingError
from django.db.backends.base.base import NO_DB_ALIAS
from psycopg import sql
from psycopg.errors import InsufficientPrivilege

from postledger.cli.doctor import postgres


def create_if_missing() -> bool:
    """Whether it was missing and is there now; False too where the server lets nobody in."""
    server = postgres.open_own_connection().copy(NO_DB_ALIAS)
    name, role = server.settings_dict["NAME"], server.settings_dict["USER"]
    # Every cluster has this database, for connections that need no other one.
    server.settings_dict = {**server.settings_dict, "NAME": "postgres"}
    try:
        with server.cursor() as cursor:
            cursor.execute("SELECT FROM pg_database WHERE datname = %s", [name])
            if cursor.fetchone() is not None:
                return False
            cursor.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    except OperationalError:
        return False
    except ProgrammingError as error:
        if not isinstance(error.__cause__, InsufficientPrivilege):
            raise
        raise CommandError(
            f"There is no database {name}, and the role {role} may not create one."
            f" Let an administrator of PostgreSQL run createdb --owner {role} {name}."
        ) from None
    finally:
        server.close()
    return True
