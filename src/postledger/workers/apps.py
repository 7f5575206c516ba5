"""Names the app that holds the commands an operator runs."""

from django.apps import AppConfig


class WorkersConfig(AppConfig):
    name = "postledger.workers"
