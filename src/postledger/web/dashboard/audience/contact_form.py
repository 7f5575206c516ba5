"""The form of a contact, new or known: details, attributes and lists."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, override

from django import forms
from django.core.exceptions import ValidationError
from django.forms.utils import flatatt
from django.http import QueryDict
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from postledger.accounts.models import Workspace
from postledger.contacts import details, lists, queries
from postledger.contacts.csv_columns import PARTS_OF_NAME
from postledger.contacts.details import Details, InvalidContactError, Value
from postledger.contacts.models import Contact
from postledger.contacts.states import ListKind, SubscriptionState
from postledger.imports.locales import read_locale
from postledger.lib import zones
from postledger.web.dashboard import time_zones
from postledger.web.dashboard.audience import attribute_rows, words
from postledger.web.dashboard.audience.attribute_rows import WrongRowError
from postledger.web.dashboard.editor.choices import list_attributes
from postledger.web.dashboard.forms import AddressField, PageForm
from postledger.web.shared.sentences import translate

_ON_LIST = {SubscriptionState.PENDING, SubscriptionState.ACTIVE, SubscriptionState.PAUSED}
_LONGEST_SOURCE = 200


class ContactForm(PageForm):
    """What was typed stays, with what is wrong beside it."""

    address = AddressField(label=gettext_lazy("Email address"))
    name = forms.CharField(
        label=gettext_lazy("Name"), max_length=details.LONGEST_TEXT, required=False
    )
    locale = forms.CharField(
        label=gettext_lazy("Language"),
        max_length=35,
        required=False,
        help_text=gettext_lazy("Such as German, de or pt-BR. Empty: not known."),
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}),
    )
    time_zone = forms.ChoiceField(label=gettext_lazy("Time zone"), required=False)
    ocd_ids = forms.CharField(
        label=gettext_lazy("Places (OCD ids)"),
        required=False,
        help_text=gettext_lazy("One on each line, such as ocd-division/country:us/state:oh."),
        widget=forms.Textarea({"rows": 3, "class": "area", "spellcheck": "false"}),
    )
    lists = forms.MultipleChoiceField(
        label=gettext_lazy("Lists"), required=False, widget=forms.CheckboxSelectMultiple
    )
    source = forms.CharField(
        label=gettext_lazy("How they agreed to the lists"),
        max_length=_LONGEST_SOURCE,
        required=False,
        help_text=gettext_lazy("Such as: asked at the fair on 12 May. It is kept as the proof."),
    )
    was_on = forms.CharField(required=False, widget=forms.HiddenInput)
    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    accepts_address = forms.BooleanField(label=gettext_lazy("Save it all the same"), required=False)

    def __init__(
        self, workspace: Workspace, contact: Contact | None, given: QueryDict | None = None
    ) -> None:
        self.stored: Mapping[str, Value] = contact.attributes if contact else {}
        states = _list_states(workspace.pk, contact)
        super().__init__(given, initial=_read_contact(contact, states))
        self.known_names = sorted({*PARTS_OF_NAME, *list_attributes(workspace.pk)})
        self.rows = (
            attribute_rows.list_rows(self.stored, offered=() if contact else PARTS_OF_NAME)
            if given is None
            else attribute_rows.read_rows(given, self.stored)
        )
        self.names = _list_names(workspace.pk)
        self.set_choices("lists", _list_choices(self.names, states))
        self.set_choices("time_zone", _list_zones(workspace, contact))
        self.attribute_changes: Mapping[str, Value | None] = {}
        self.attribute_error = ""
        self.wrong_row: int | None = None  # to which the error belongs

    def set_choices(self, name: str, choices: Sequence[time_zones.Choice]) -> None:
        self.fields[name].choices = choices  # type: ignore[attr-defined]  # of a choice field

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if not name.isprintable():
            raise ValidationError(_("Use printable characters only."))
        return name

    def clean_locale(self) -> str:
        """A language by its code, or by its name, as an import reads it."""
        locale = read_locale(self.cleaned_data["locale"])
        try:
            if locale:
                details.check_locale(locale)
        except InvalidContactError as error:
            raise ValidationError(translate(error)) from None
        return locale

    def clean_ocd_ids(self) -> list[str]:
        """The places by the rules of the API."""
        lines = (line.strip() for line in self.cleaned_data["ocd_ids"].splitlines())
        ocd_ids = list(dict.fromkeys(filter(None, lines)))
        try:
            details.check_details(Details(ocd_ids=ocd_ids))
        except InvalidContactError as error:
            raise ValidationError(translate(error)) from None
        return ocd_ids

    @override
    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if self.joined and not cleaned.get("source"):
            self.add_error("source", _("Say how they agreed: nobody joins a list unasked."))
        try:
            self.attribute_changes = attribute_rows.build_changes(
                self.rows, self.stored, self.known_names
            )
        except ValidationError as error:
            self.attribute_error = " ".join(error.messages)
            self.wrong_row = error.number if isinstance(error, WrongRowError) else None
            self.add_error(None, _("Look at the attributes below."))
        return cleaned

    @property
    @override
    def yields_focus(self) -> bool:
        """To the attribute, if nothing above it is wrong."""
        return self.wrong_row is not None and len(self.errors) == 1

    @property
    def wrong_attributes(self) -> SafeString:
        """Of the element that is wrong in the list of attributes."""
        return flatatt(
            {
                "aria-invalid": "true",
                "aria-describedby": "attribute-error",
                "autofocus": self.yields_focus,
            }
        )

    @property
    def joined(self) -> list[str]:
        """The lists that were ticked."""
        was_on = self._list_was_on()
        return [key for key in self.cleaned_data.get("lists", ()) if key not in was_on]

    @property
    def left(self) -> list[str]:
        """The lists whose tick was taken away."""
        chosen = self.cleaned_data.get("lists", ())
        return [key for key in self._list_was_on() if key in self.names and key not in chosen]

    def _list_was_on(self) -> list[str]:
        text: str = self.cleaned_data.get("was_on", "")
        return text.split()

    def show_again(self, contact: Contact) -> None:
        """Lets the next answer overwrite what another person stored meanwhile."""
        given = QueryDict(mutable=True)
        given.update(self.data)
        given["seen"] = write_version(contact.updated_at)
        self.data = given


def write_version(updated_at: datetime) -> str:
    return updated_at.isoformat()


def _list_names(workspace_id: int) -> dict[str, str]:
    active = lists.list_all(workspace_id).filter(archived_at=None, kind=ListKind.LIST.value)
    return dict(lists.name_apart(active))


def _list_zones(workspace: Workspace, contact: Contact | None) -> list[time_zones.Choice]:
    """What a contact may have, and what it has, although nobody knows that zone any more."""
    own = _("As the workspace: %(zone)s") % {"zone": workspace.time_zone}
    kept = (contact.time_zone if contact else None) or ""
    if kept in {"", *zones.list_zones()}:
        return [("", own), *time_zones.list_choices(kept)]
    unknown = (kept, _("%(zone)s (not known any more)") % {"zone": kept})
    return [("", own), unknown, *time_zones.list_choices()]


def _list_states(workspace_id: int, contact: Contact | None) -> dict[str, SubscriptionState]:
    if contact is None:
        return {}
    subscriptions = queries.list_subscriptions(workspace_id, contact_id=contact.pk)
    return {one.list.key: SubscriptionState(one.state) for one in subscriptions}


def _list_choices(
    names: Mapping[str, str], states: Mapping[str, SubscriptionState]
) -> list[tuple[str, str]]:
    """Each list, with its state where that is not plain from the tick."""
    return [
        (key, f"{name} ({words.SUBSCRIPTION_STATES[states[key]][0]})")
        if key in states and states[key] is not SubscriptionState.ACTIVE
        else (key, name)
        for key, name in names.items()
    ]


def _read_contact(
    contact: Contact | None, states: Mapping[str, SubscriptionState]
) -> dict[str, Any]:
    if contact is None:
        return {}
    on_lists = [key for key, state in states.items() if state in _ON_LIST]
    return {
        "address": contact.address,
        "name": contact.name,
        "locale": contact.locale or "",
        "time_zone": contact.time_zone or "",
        "ocd_ids": "\n".join(contact.ocd_ids),
        "lists": on_lists,
        "was_on": " ".join(on_lists),
        "seen": write_version(contact.updated_at),
    }
