"""Registers the system checks, and the check of connections, when Django starts."""

from functools import cache
from typing import TYPE_CHECKING, override

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import Tags, register
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from postledger.config import checks
from postledger.lib.check_results import SETTINGS_TAG

if TYPE_CHECKING:
    from postledger.dispatch.fence import ConnectionCheck


class ConfigApp(AppConfig):
    name = "postledger.config"

    @override
    def ready(self) -> None:
        register(checks.secret_key, Tags.security, SETTINGS_TAG)
        register(checks.addresses, SETTINGS_TAG)
        register(checks.database_server, Tags.database)
        connection_created.connect(_check_connection, weak=False)


def _check_connection(connection: BaseDatabaseWrapper, **_: object) -> None:
    """Makes every process notice a restored database before it uses it."""
    _connection_check().check(connection)


@cache
def _connection_check() -> "ConnectionCheck":
    """Made for the first connection: it loads the client of Redis, which is large."""
    from postledger.dispatch.fence import ConnectionCheck, Fence
    from postledger.dispatch.witness import TokenWitness

    options = settings.DISPATCH_OPTIONS
    witness = TokenWitness(redis_url=options.redis_url, folder=options.state_folder)
    return ConnectionCheck(Fence(witness, is_logging=False))
