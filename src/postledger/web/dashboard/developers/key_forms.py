"""The forms of API keys: what a new key may do, and how long a rotated one still works."""

import secrets
from collections.abc import Mapping
from datetime import timedelta

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy, pgettext_lazy

from postledger.accounts import constraints, queries
from postledger.accounts.keys import Scope
from postledger.accounts.people import grants
from postledger.accounts.people.roles import Permission
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.forms import PageForm

SCOPES: Mapping[Scope, Promise] = {
    Scope.SEND: gettext_lazy("send emails"),
    Scope.READ: gettext_lazy("read the state of emails"),
    Scope.CONTENT_READ: gettext_lazy("read templates and articles"),
    Scope.CONTENT_WRITE: gettext_lazy("change templates and articles"),
    Scope.CONTACTS_READ: gettext_lazy("read contacts and lists"),
    Scope.CONTACTS_WRITE: gettext_lazy("change and import contacts and lists"),
    Scope.CONTACTS_ERASE: gettext_lazy("erase people for good, also from sent emails"),
    Scope.CAMPAIGNS_READ: gettext_lazy("read campaigns and their reports"),
    Scope.CAMPAIGNS_WRITE: gettext_lazy("write and launch campaigns"),
    Scope.NOTIFICATIONS_READ: gettext_lazy("read topics, subscriptions and events"),
    Scope.NOTIFICATIONS_WRITE: gettext_lazy("change topics and subscriptions"),
    Scope.DECISIONS_READ: gettext_lazy("read what needs a person"),
    Scope.DECISIONS_WRITE: gettext_lazy("decide what needs a person"),
    Scope.SETUP_READ: gettext_lazy("read senders, provider accounts and keys"),
    Scope.SETUP_WRITE: gettext_lazy("change senders, provider accounts and keys"),
    Scope.MEMBERS_READ: gettext_lazy("read who the members are"),
    Scope.MEMBERS_WRITE: gettext_lazy("invite, change and remove members"),
    # The others are pairs, side by side.
    Scope.EVENTS_PUBLISH: gettext_lazy("publish events"),
}
_FIRST_SCOPES = [Scope.SEND.value, Scope.READ.value]
_LIVE, _TEST = "live", "test"
_OVERLAPS: Mapping[str, tuple[timedelta, Promise]] = {
    "none": (timedelta(0), gettext_lazy("Not at all: it ends at once")),
    "hour": (timedelta(hours=1), gettext_lazy("One more hour")),
    "day": (timedelta(days=1), gettext_lazy("One more day")),
    "week": (timedelta(days=7), gettext_lazy("One more week")),
}


class NewKeyForm(PageForm):
    """Offers the scopes that the visitor may pass on."""

    nonce = forms.CharField(  # a resent form has the same
        widget=forms.HiddenInput, required=False, max_length=64, initial=secrets.token_urlsafe
    )
    name = forms.CharField(
        label=pgettext_lazy("of a thing", "Name"),
        max_length=constraints.LONGEST_NAME,
        help_text=gettext_lazy("The program that will use it."),
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    mode = forms.ChoiceField(
        label=gettext_lazy("Where its emails go"),
        choices=[
            (_LIVE, gettext_lazy("To their recipients")),
            (_TEST, gettext_lazy("To the sandbox only: a test key")),
        ],
    )
    member = forms.ChoiceField(
        label=gettext_lazy("Its campaigns count for"),
        required=False,
        help_text=gettext_lazy(
            "The member whose daily limit counts the campaigns that this key launches."
        ),
    )
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("It may"),
        widget=forms.CheckboxSelectMultiple,
        initial=_FIRST_SCOPES,
        error_messages={"required": gettext_lazy("Choose at least one thing that it may do.")},
    )

    def __init__(self, visitor: Visitor, values: Mapping[str, object] | None = None) -> None:
        super().__init__(values)
        granted = grants.scopes_of(visitor.role)
        self.fields["scopes"].choices = [  # type: ignore[attr-defined]  # of a choice field
            (scope.value, label) for scope, label in SCOPES.items() if scope in granted
        ]
        if visitor.may(Permission.MANAGE_MEMBERS):
            people = queries.members(visitor.workspace.pk)
            self.fields["member"].choices = [  # type: ignore[attr-defined]  # of a choice field
                ("", gettext_lazy("Nobody")),
                *((str(member.pk), member.name or member.email) for member in people),
            ]
        else:
            del self.fields["member"]

    @property
    def chosen_scopes(self) -> list[Scope]:
        return [Scope(value) for value in self.cleaned_data["scopes"]]

    @property
    def is_test(self) -> bool:
        return bool(self.cleaned_data["mode"] == _TEST)

    @property
    def member_id(self) -> int | None:
        chosen = self.cleaned_data.get("member")
        return int(chosen) if chosen else None


class RotationForm(PageForm):
    overlap = forms.ChoiceField(
        label=gettext_lazy("How long the old key still works"),
        choices=[(name, label) for name, (_, label) in _OVERLAPS.items()],
        initial="day",
        help_text=gettext_lazy("Long enough to give the new one to every program."),
    )

    @property
    def chosen_overlap(self) -> timedelta:
        return _OVERLAPS[self.cleaned_data["overlap"]][0]
