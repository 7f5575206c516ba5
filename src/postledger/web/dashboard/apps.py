"""Registers the dashboard as an app: its templates come before those of allauth."""

from typing import override

from django.apps import AppConfig
from django.contrib.auth.management import create_permissions
from django.contrib.contenttypes.management import create_contenttypes
from django.db.models.signals import post_migrate


class DashboardConfig(AppConfig):
    name = "postledger.web.dashboard"

    @override
    def ready(self) -> None:
        """Keeps Django's own permissions out: roles of members say who may do what."""
        post_migrate.disconnect(
            dispatch_uid="django.contrib.auth.management.create_permissions",
            receiver=create_permissions,
        )
        post_migrate.disconnect(create_contenttypes)
