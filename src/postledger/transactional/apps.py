"""Names the app that takes single mails, one request each."""

from django.apps import AppConfig


class TransactionalConfig(AppConfig):
    name = "postledger.transactional"
