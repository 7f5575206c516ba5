"""Names the app that keeps the leases of work."""

from django.apps import AppConfig


class LibConfig(AppConfig):
    name = "postledger.lib"
