"""Installs the rules for Notion pages, which every launch of a page obeys."""

from typing import override

from django.apps import AppConfig


class CampaignsNotionConfig(AppConfig):
    name = "postledger.campaigns.notion"
    label = "campaigns_notion"

    @override
    def ready(self) -> None:
        from postledger.campaigns import launching
        from postledger.campaigns.notion import mailouts

        launching.install_page_rules(mailouts.PageLaunchRules())
