"""System checks of settings that are valid but cannot work, each with an id and a hint."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

SECRET_KEY_LENGTH = 50
OLDEST_POSTGRESQL = 15
EXTENSIONS = ("btree_gist",)
BROKER_SCHEMES = ("amqp", "amqps", "redis", "rediss")
REDIS_SCHEMES = ("redis", "rediss", "unix")


def secret_key(**_options: Any) -> list[CheckMessage]:
    hint = (
        "Run postledger init in an empty folder, or set SECRET_KEY, or SECRET_KEY_FILE to a file,"
        " with 50 or more random characters."
    )
    if settings.DEBUG:
        return []
    try:
        key = settings.SECRET_KEY
    except ImproperlyConfigured:  # Django's answer to an empty one
        key = ""
    if not key:
        return [Error("SECRET_KEY is missing.", hint=hint, id="postledger.E001")]
    if len(key) < SECRET_KEY_LENGTH:
        return [Error("SECRET_KEY is too short.", hint=hint, id="postledger.E002")]
    return []


def addresses(**_options: Any) -> list[CheckMessage]:
    return [
        *_scheme("BROKER_URL", settings.CELERY_BROKER_URL, BROKER_SCHEMES, "postledger.E004"),
        *_scheme("REDIS_URL", settings.REDIS_URL, REDIS_SCHEMES, "postledger.E005"),
    ]


def database_server(
    *, databases: Sequence[str] | None = None, **_options: Any
) -> list[CheckMessage]:
    return [
        problem for alias in databases or () for problem in connection_problems(connections[alias])
    ]


def connection_problems(connection: BaseDatabaseWrapper) -> list[CheckMessage]:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('server_version_num')::int / 10000")
            (version,) = cursor.fetchone()
            cursor.execute("SELECT name FROM pg_available_extensions")
            available = {name for (name,) in cursor.fetchall()}
    except OperationalError:
        hint = "Start PostgreSQL, create the database, or correct DATABASE_URL."
        return [Error("The database does not answer.", hint=hint, id="postledger.E006")]
    return [*version_problems(version), *extension_problems(available)]


def version_problems(version: int) -> list[CheckMessage]:
    if version >= OLDEST_POSTGRESQL:
        return []
    text = f"PostgreSQL {version} is too old."
    hint = f"Postledger needs PostgreSQL {OLDEST_POSTGRESQL} or newer."
    return [Error(text, hint=hint, id="postledger.E007")]


def extension_problems(available: set[str]) -> list[CheckMessage]:
    """Checks which extensions the server can load: the first migration loads them."""
    hint = "Install the server's contrib package; Debian's postgresql package contains it."
    return [
        Error(f"PostgreSQL lacks the extension {name}.", hint=hint, id="postledger.E008")
        for name in EXTENSIONS
        if name not in available
    ]


def _scheme(variable: str, url: str, schemes: tuple[str, ...], check_id: str) -> list[CheckMessage]:
    if urlsplit(url).scheme in schemes:
        return []
    choices = ", ".join(f"{scheme}://" for scheme in schemes)
    hint = f"Begin {variable} with one of {choices}."
    return [Error(f"{variable} has an unknown scheme.", hint=hint, id=check_id)]
