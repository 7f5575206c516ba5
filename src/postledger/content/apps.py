"""The Django app of templates, articles and letters."""

from django.apps import AppConfig


class ContentConfig(AppConfig):
    name = "postledger.content"
