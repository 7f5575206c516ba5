"""Names the app that knows what mail says."""

from django.apps import AppConfig


class ContentConfig(AppConfig):
    name = "postledger.content"
