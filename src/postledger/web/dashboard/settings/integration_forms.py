"""The forms of integrations that people may set up on pages; secrets are taken, never shown.

Supabase is not among them: its URL is a server that ours would call, so only the operator gives it.
"""

from collections.abc import Mapping
from typing import override

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from postledger.accounts import constraints, integrations
from postledger.accounts.integrations import IntegrationKind
from postledger.accounts.people.roles import Permission
from postledger.web.dashboard.forms import PageForm

_SECRET = {"autocomplete": "new-password"}
_LONGEST = 500


class IntegrationForm(PageForm):
    """An empty secret of an integration that is set stays as it is."""

    secret = ""

    def __init__(
        self, values: Mapping[str, object] | None = None, *, stored: Mapping[str, object] | None
    ) -> None:
        """`stored` are the settings without the secret; None: it is not set up."""
        super().__init__(values, initial=stored)
        if stored is not None:
            field = self.fields[self.secret]
            field.required = False
            field.help_text = gettext_lazy("It is stored, and not shown. Empty: it stays.")

    def list_changes(self) -> dict[str, object]:
        return {
            name: value for name, value in self.cleaned_data.items() if value or name != self.secret
        }


class NotionForm(IntegrationForm):
    secret = "token"  # noqa: S105  the name of a field

    token = forms.CharField(
        label=gettext_lazy("Token of the integration"),
        max_length=_LONGEST,
        widget=forms.PasswordInput(_SECRET),
        help_text=gettext_lazy("Notion shows it under Settings, Connections."),
    )
    mailouts = forms.CharField(
        label=gettext_lazy("Database of mailouts"),
        max_length=_LONGEST,
        required=False,
        help_text=gettext_lazy("Its id. With it, only pages of this database are mailed."),
    )
    errors_database = forms.CharField(
        label=gettext_lazy("Database of errors"),
        max_length=_LONGEST,
        required=False,
        help_text=gettext_lazy("Its id. What is wrong with a mailout is written there."),
    )

    @override
    def list_changes(self) -> dict[str, object]:
        changes = super().list_changes()
        changes["errors"] = changes.pop("errors_database")
        return changes


class AdminForm(IntegrationForm):
    secret = "password"  # noqa: S105  the name of a field

    password = forms.CharField(
        label=gettext_lazy("Password"),
        strip=False,
        min_length=constraints.SHORTEST_PASSWORD,
        max_length=_LONGEST,
        widget=forms.PasswordInput(_SECRET),
        help_text=gettext_lazy("At least 16 characters. A program sends articles with it."),
    )


FORMS: Mapping[IntegrationKind, type[IntegrationForm]] = {
    IntegrationKind.NOTION: NotionForm,
    IntegrationKind.ADMIN: AdminForm,
}


NAMES: Mapping[IntegrationKind, str | Promise] = {
    IntegrationKind.NOTION: "Notion",
    IntegrationKind.SUPABASE: "Supabase",
    IntegrationKind.ADMIN: gettext_lazy("Admin password"),
}


def find_permission(kind: IntegrationKind) -> Permission:
    """Who may set it up or remove it.

    Who has the admin password sends campaigns: a developer may not set it. Supabase, once removed,
    is connected again by the operator alone.
    """
    is_of_owners = kind is IntegrationKind.ADMIN or kind not in FORMS
    return Permission.MANAGE_MEMBERS if is_of_owners else Permission.SET_UP


def read_stored(workspace_id: int, kind: IntegrationKind) -> dict[str, object]:
    """What a form shows of an integration that is set up."""
    notion = integrations.notion(workspace_id) if kind is IntegrationKind.NOTION else None
    if notion is None:
        return {}
    return {"mailouts": notion.mailouts, "errors_database": notion.errors}
