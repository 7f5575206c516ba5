"""Names the app that keeps the totals of what is counted."""

from django.apps import AppConfig


class ObservabilityConfig(AppConfig):
    name = "postledger.observability"
