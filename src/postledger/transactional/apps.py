"""Registers the app that accepts mail by API request."""

from django.apps import AppConfig


class TransactionalConfig(AppConfig):
    name = "postledger.transactional"
