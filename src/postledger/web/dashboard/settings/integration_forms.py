"""The forms of integrations that people may set up on pages; secrets are taken, never shown.

Supabase is not among them: its URL is a server that ours would call, so only the operator gives it.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from django import forms
from django.contrib.auth import password_validation
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from postledger.accounts import constraints, integrations
from postledger.accounts.integrations import IntegrationKind
from postledger.accounts.people.roles import Permission
from postledger.accounts.trail import Action
from postledger.lib import values
from postledger.web.dashboard.shared_form import SharedForm

_SECRET = {"autocomplete": "new-password"}
_LONGEST = 500
_SETTINGS = {"errors_database": "errors"}  # a form has errors of its own


class IntegrationForm(SharedForm):
    """An empty secret of an integration that is set stays as it is."""

    secret = ""

    def __init__(self, stored: Mapping[str, object] | None, posted: Any = None) -> None:
        """`stored` are the settings without the secret; None: there are none that can be read."""
        super().__init__(stored or {}, posted)
        if stored is not None:
            field = self.fields[self.secret]
            field.required = False
            field.help_text = gettext_lazy("It is stored, and not shown. Empty: it stays.")

    def list_changes(self, names: Iterable[str]) -> dict[str, object]:
        """What was entered into these fields, as the integration calls it."""
        return {_SETTINGS.get(name, name): self.cleaned_data[name] for name in names}


class NotionForm(IntegrationForm):
    secret = "token"  # noqa: S105  the name of a field
    changed_by: ClassVar[Mapping[str, Action]] = dict.fromkeys(
        ("token", "mailouts", "errors_database"), "integration.set"
    )

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
        help_text=gettext_lazy(
            "Its link or its id. With it, only pages of this database are mailed."
        ),
    )
    errors_database = forms.CharField(
        label=gettext_lazy("Database of errors"),
        max_length=_LONGEST,
        required=False,
        help_text=gettext_lazy(
            "Its link or its id. What is wrong with a mailout is written there."
        ),
    )

    def clean_mailouts(self) -> str:
        return _read_id(self.cleaned_data["mailouts"])

    def clean_errors_database(self) -> str:
        return _read_id(self.cleaned_data["errors_database"])


def _read_id(text: str) -> str:
    """As it is stored; raises ValidationError for what is neither an id nor a link."""
    try:
        return values.parse_database_id(text)
    except ValueError:
        raise forms.ValidationError(
            _("Paste the link of the database, or its id of 32 digits.")
        ) from None


class AdminForm(IntegrationForm):
    secret = "password"  # noqa: S105  the name of a field
    changed_by: ClassVar[Mapping[str, Action]] = {"password": "integration.set"}

    password = forms.CharField(
        label=gettext_lazy("Password"),
        validators=[password_validation.validate_password],
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


def read_stored(workspace_id: int, kind: IntegrationKind) -> dict[str, object] | None:
    """What a form shows of an integration; None if it is not set up.

    Raises UnsealableError if SECRET_KEY has changed since.
    """
    if kind is IntegrationKind.ADMIN:
        return None if integrations.admin(workspace_id) is None else {}
    notion = integrations.notion(workspace_id)
    if notion is None:
        return None
    return {"mailouts": notion.mailouts, "errors_database": notion.errors}
