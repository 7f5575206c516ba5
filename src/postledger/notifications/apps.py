"""Registers the app of topics, their events and the notifications about them."""

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    name = "postledger.notifications"
