"""The parts of the settings that a visitor may open."""

from dataclasses import dataclass
from typing import Final

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from postledger.accounts.people.roles import Permission
from postledger.web.dashboard.access import Visitor


@dataclass(frozen=True, slots=True)
class Tab:
    url: str
    label: Promise
    is_current: bool


_TABS: Final = (
    ("settings", gettext_lazy("Workspace"), Permission.MANAGE_MEMBERS),
    ("members", gettext_lazy("Members"), Permission.MANAGE_MEMBERS),
    ("integrations", gettext_lazy("Integrations"), Permission.SET_UP),
    ("audit", gettext_lazy("Audit log"), Permission.READ),
)


def list_tabs(visitor: Visitor, current: str = "") -> list[Tab]:
    """By the names of their URLs; the first is where the settings begin for this visitor."""
    return [
        Tab(reverse(name, args=[visitor.workspace.pk]), label, name == current)
        for name, label, permission in _TABS
        if visitor.may(permission)
    ]
