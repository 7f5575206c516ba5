"""Names the app that knows who may be mailed."""

from django.apps import AppConfig


class ContactsConfig(AppConfig):
    name = "postledger.contacts"
