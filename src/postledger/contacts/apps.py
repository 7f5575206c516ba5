"""The Django app of contacts, lists and consent."""

from django.apps import AppConfig


class ContactsConfig(AppConfig):
    name = "postledger.contacts"
