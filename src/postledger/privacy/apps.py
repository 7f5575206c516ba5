"""Registers the app that exports and erases personal data."""

from django.apps import AppConfig


class PrivacyConfig(AppConfig):
    name = "postledger.privacy"
