"""Registers the system checks when Django starts."""

from typing import override

from django.apps import AppConfig
from django.core.checks import Tags, register

from postledger.config import checks


class ConfigApp(AppConfig):
    name = "postledger.config"

    @override
    def ready(self) -> None:
        register(checks.secret_key, Tags.security)
        register(checks.engine)
        register(checks.addresses)
        register(checks.database_server, Tags.database)
