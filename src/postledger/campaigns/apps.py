"""Registers the app of campaigns."""

from django.apps import AppConfig


class CampaignsConfig(AppConfig):
    name = "postledger.campaigns"
    label = "campaigns"
