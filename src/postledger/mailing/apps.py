"""Registers the app that senders of letters share."""

from django.apps import AppConfig


class MailingConfig(AppConfig):
    name = "postledger.mailing"
