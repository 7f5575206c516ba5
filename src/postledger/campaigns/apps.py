"""Django's name for the campaigns."""

from django.apps import AppConfig


class CampaignsConfig(AppConfig):
    name = "postledger.campaigns"
    label = "campaigns"
