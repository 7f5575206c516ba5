"""The form of a workspace's settings, and how what was changed in it is stored."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from postledger.accounts import constraints, queries, workspaces
from postledger.accounts.constraints import InvalidNameError
from postledger.accounts.models import Workspace
from postledger.accounts.trail import Action
from postledger.accounts.workspaces import InvalidOrganisationError, WorkspaceExistsError
from postledger.campaigns.launches import test_sends
from postledger.deliveries import account_changes
from postledger.lib.errors import RefusedError
from postledger.providers import addresses
from postledger.web.dashboard import time_zones
from postledger.web.dashboard.shared_form import SharedForm
from postledger.web.shared.sentences import translate

_PAGE = "unsubscribe_base_url"
_LONGEST_URL = 500
_LONGEST_ADDRESSES = 2_000


class WorkspaceForm(SharedForm):
    changed_by: ClassVar[Mapping[str, Action]] = {
        "name": "workspace.renamed",
        "time_zone": "workspace.zone_changed",
        _PAGE: "workspace.unsubscribe_page_changed",
        "test_emails": "workspace.tests_changed",
    }

    name = forms.CharField(
        label=pgettext_lazy("of a thing", "Name"),
        max_length=constraints.LONGEST_NAME,
        widget=forms.TextInput({"autocomplete": "off"}),
        help_text=gettext_lazy(
            "Commands use this name, too: tell your operator when you change it. Links to subscribe"
            " forms that contain the old name stop working; those shown on the pages of lists go on"
            " working."
        ),
    )
    time_zone = forms.ChoiceField(
        label=gettext_lazy("Time zone"),
        help_text=gettext_lazy(
            "For these pages, for daily limits, and for contacts and working hours that have none."
        ),
    )
    unsubscribe_base_url = forms.CharField(
        label=gettext_lazy("Unsubscribe page"),
        max_length=_LONGEST_URL,
        required=False,
        help_text=gettext_lazy(
            "Leave it empty for the page of this installation. Another one has an address without"
            " ? and #."
        ),
    )
    test_emails = forms.CharField(
        label=gettext_lazy("Recipients of tests"),
        max_length=_LONGEST_ADDRESSES,
        required=False,
        help_text=gettext_lazy("Addresses with commas between them."),
    )

    def __init__(
        self, workspace: Workspace, values: Mapping[str, object] | None = None, *, own_address: str
    ) -> None:
        super().__init__(self._list_stored(workspace), values)
        self._own_address = own_address
        zones = time_zones.list_choices(workspace.time_zone, posted=self["time_zone"].data)
        self.fields["time_zone"].choices = zones  # type: ignore[attr-defined]  # of a choice field

    def clean_test_emails(self) -> str:
        """Names what is no address: a test would only leave it out."""
        text: str = self.cleaned_data["test_emails"]
        words = text.replace(",", " ").replace(";", " ").split()
        known = [self._own_address]
        wrong = [
            word
            for word in words
            if not addresses.is_valid(word)
            or addresses.lacks_ending(addresses.canonical(word), known=known)
        ]
        if wrong:
            raise ValidationError(
                _("Not an email address: %(words)s"), params={"words": ", ".join(wrong[:5])}
            )
        return text

    def clean_unsubscribe_base_url(self) -> str:
        """Puts a refusal beside its field, together with those of the others."""
        text: str = self.cleaned_data["unsubscribe_base_url"]
        try:
            workspaces.check_unsubscribe_url(text)
        except InvalidOrganisationError as refused:
            raise ValidationError(translate(refused)) from None
        return text

    def store(self, workspace_id: int, *, actor: str) -> bool:
        """Stores what was changed, all or nothing; False if something is refused or in conflict."""
        steps: Mapping[str, Callable[[int, str], None]] = {
            "name": self._rename,
            "time_zone": self._move,
            _PAGE: self._lead,
            "test_emails": self._address,
        }
        with transaction.atomic():
            if not self.take_over(self._list_stored(workspaces.lock_workspace(workspace_id))):
                return False
            for field, store in steps.items():
                if field in self.changed:
                    self._try(field, partial(store, workspace_id, actor))
            if self.errors:
                transaction.set_rollback(True)
        return not self.errors

    def _list_stored(self, workspace: Workspace) -> Mapping[str, object]:
        return {name: getattr(workspace, name) for name in self.base_fields}

    def _try(self, field: str, store: Callable[[], None]) -> None:
        """Puts a refusal beside its field."""
        try:
            store()
        except WorkspaceExistsError:
            self.add_error(field, _("Another workspace has this name. Choose another one."))
        except InvalidNameError:
            self.add_error(field, _("Use printable characters only."))
        except RefusedError as refused:
            self.add_error(field, translate(refused))

    def _rename(self, workspace_id: int, actor: str) -> None:
        workspaces.rename_workspace(workspace_id, self.cleaned_data["name"], actor=actor)

    def _move(self, workspace_id: int, actor: str) -> None:
        """Mail that waits for the end of a former day is looked at again."""
        workspaces.set_time_zone(workspace_id, self.cleaned_data["time_zone"], actor=actor)
        account_changes.limits_changed(queries.sender_ids(workspace_id))

    def _lead(self, workspace_id: int, actor: str) -> None:
        workspaces.set_unsubscribe_page(workspace_id, self.cleaned_data[_PAGE], actor=actor)

    def _address(self, workspace_id: int, actor: str) -> None:
        text = self.cleaned_data["test_emails"].strip()
        parsed = test_sends.parse_addresses(text) if text else ()
        workspaces.set_test_emails(workspace_id, ", ".join(parsed), actor=actor)
