"""Registers the app that tells members what needs a person."""

from django.apps import AppConfig


class AlertsConfig(AppConfig):
    name = "postledger.alerts"
