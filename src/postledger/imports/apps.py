"""Registers the app that imports files into contacts."""

from django.apps import AppConfig


class ImportsConfig(AppConfig):
    name = "postledger.imports"
