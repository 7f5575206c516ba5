"""Names the app that forgets people."""

from django.apps import AppConfig


class PrivacyConfig(AppConfig):
    name = "postledger.privacy"
