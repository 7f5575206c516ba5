"""Names the app that knows whose mail this is."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "postledger.accounts"
