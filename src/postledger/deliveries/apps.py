"""Names the app that keeps the books."""

from django.apps import AppConfig


class DeliveriesConfig(AppConfig):
    name = "postledger.deliveries"
