"""Names the app that hands mail over to providers."""

from django.apps import AppConfig


class DispatchConfig(AppConfig):
    name = "postledger.dispatch"
