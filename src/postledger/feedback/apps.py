"""Registers the app that takes what providers report of mail."""

from django.apps import AppConfig


class FeedbackConfig(AppConfig):
    name = "postledger.feedback"
