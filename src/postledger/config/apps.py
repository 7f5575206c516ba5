"""Registers the system checks when Django starts."""

from typing import override

from django.apps import AppConfig
from django.core.checks import Tags, register

from postledger.config import checks
from postledger.lib.check_results import SETTINGS_TAG


class ConfigApp(AppConfig):
    name = "postledger.config"

    @override
    def ready(self) -> None:
        register(checks.secret_key, Tags.security, SETTINGS_TAG)
        register(checks.addresses, SETTINGS_TAG)
        register(checks.database_server, Tags.database)
        _check_connections()


def _check_connections() -> None:
    """Makes every process notice a restored database before it uses it."""
    from django.conf import settings

    from postledger.dispatch.fence import ConnectionCheck, Fence
    from postledger.dispatch.witness import TokenWitness

    options = settings.DISPATCH_OPTIONS
    witness = TokenWitness(redis_url=options.redis_url, folder=options.state_folder)
    ConnectionCheck(Fence(witness, is_logging=False)).start()
