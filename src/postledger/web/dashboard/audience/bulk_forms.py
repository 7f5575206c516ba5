"""What a person says for many contacts at once: add to a list, remove from one, or suppress."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, override

from django import forms
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from postledger.contacts import lists
from postledger.contacts.actions import bulk
from postledger.contacts.actions.bulk import BulkResult
from postledger.contacts.consent import Origin
from postledger.contacts.states import ListKind
from postledger.lib.digests import digest_json
from postledger.web.dashboard import formats
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.audience.import_figures import KEPT_BACK
from postledger.web.dashboard.forms import PageForm, ReasonField

_PAGE = "contacts page"  # the source of what ends a consent there


class Deed(StrEnum):
    ADD = "add"
    REMOVE = "remove"
    SUPPRESS = "suppress"


_UNCHANGED: Mapping[str, Promise | str] = {
    **KEPT_BACK,
    "active": gettext_lazy("On the list already"),
    "paused": gettext_lazy("On the list already, and paused"),
    "pending": gettext_lazy("Asked for the list, and did not confirm yet"),
    "not_on_list": gettext_lazy("Not on the list"),
    "suppressed_already": gettext_lazy("Suppressed already"),
}


class BulkForm(PageForm):
    """Asks again if the people are others than those whom its question was about."""

    people = forms.CharField(widget=forms.HiddenInput)

    def __init__(
        self, workspace_id: int, contact_ids: Sequence[int], given: QueryDict | None = None
    ) -> None:
        actual = _digest(contact_ids)
        self.is_outdated = given is not None and given.get("people") != actual
        if given is not None:
            given = given.copy()
            given["people"] = actual
        super().__init__(given, initial={"people": actual})
        if "list" in self.fields:
            own = lists.list_all(workspace_id).filter(archived_at=None, kind=ListKind.LIST.value)
            choices = lists.name_apart(own)
            self.fields["list"].choices = choices  # type: ignore[attr-defined]  # of a choice field

    @override
    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if self.is_outdated:
            text = _("These are no longer the same people. Look at who they are, and decide again.")
            self.add_error(None, text)
        return cleaned

    def carry_out(self, visitor: Visitor, contact_ids: Sequence[int], now: datetime) -> BulkResult:
        raise NotImplementedError


class AddForm(BulkForm):
    list = forms.ChoiceField(label=gettext_lazy("List"))
    source = forms.CharField(
        label=gettext_lazy("How they agreed to it"),
        max_length=200,
        help_text=gettext_lazy("Such as: asked at the fair on 12 May. It is kept as the proof."),
    )

    @override
    def carry_out(self, visitor: Visitor, contact_ids: Sequence[int], now: datetime) -> BulkResult:
        return bulk.add_to_list(
            visitor.workspace.pk,
            contact_ids,
            list_key=self.cleaned_data["list"],
            origin=Origin(self.cleaned_data["source"], visitor.actor),
            now=now,
        )


class RemoveForm(BulkForm):
    list = forms.ChoiceField(label=gettext_lazy("List"))

    @override
    def carry_out(self, visitor: Visitor, contact_ids: Sequence[int], now: datetime) -> BulkResult:
        return bulk.remove_from_list(
            visitor.workspace.pk,
            contact_ids,
            list_key=self.cleaned_data["list"],
            origin=Origin(_PAGE, visitor.actor),
            now=now,
        )


class SuppressForm(BulkForm):
    reason = ReasonField(required=False)

    @override
    def carry_out(self, visitor: Visitor, contact_ids: Sequence[int], now: datetime) -> BulkResult:
        return bulk.suppress(
            visitor.workspace.pk,
            contact_ids,
            reason=self.cleaned_data["reason"],
            origin=Origin(_PAGE, visitor.actor),
        )


FORMS: Mapping[Deed, type[BulkForm]] = {
    Deed.ADD: AddForm,
    Deed.REMOVE: RemoveForm,
    Deed.SUPPRESS: SuppressForm,
}


def _digest(contact_ids: Sequence[int]) -> str:
    """Other people have another one, also if they are as many."""
    return digest_json(sorted(contact_ids))


def describe_deed(deed: Deed, number: int) -> tuple[str, list[str], str]:
    """The question, what it means, and the words of the button."""
    shown = {"number": formats.count(number)}
    match deed:
        case Deed.ADD:
            heading = ngettext(
                "Add %(number)s person to a list?", "Add %(number)s people to a list?", number
            )
            sentences = [
                _("Only for people who agreed: they get the emails of the list from now on."),
                _(
                    "Who unsubscribed from this list or from everything, bounced, reported spam or"
                    " is suppressed stays off."
                ),
            ]
            return heading % shown, sentences, _("Add to the list")
        case Deed.REMOVE:
            heading = ngettext(
                "Remove %(number)s person from a list?",
                "Remove %(number)s people from a list?",
                number,
            )
            sentences = [
                _("It counts as their unsubscribe: only they, or you with a reason, bring it back.")
            ]
            return heading % shown, sentences, _("Remove from the list")
        case Deed.SUPPRESS:
            heading = ngettext("Suppress %(number)s person?", "Suppress %(number)s people?", number)
            sentences = [
                _(
                    "They get no email any more, not even what waits already, and no receipts and"
                    " password resets either."
                )
            ]
            return heading % shown, sentences, _("Suppress")


def describe_result(result: BulkResult) -> tuple[str, str]:
    """What was done, and for how many it was not, and why; empty if it was for all."""
    done = ngettext(
        "Done for %(number)s person.", "Done for %(number)s people.", result.changed
    ) % {"number": formats.count(result.changed)}
    reasons = sorted(result.unchanged.items(), key=lambda item: -item[1])
    parts = [f"{_UNCHANGED.get(key, key)}: {formats.count(count)}" for key, count in reasons]
    return done, _("Not for these. %(reasons)s.") % {"reasons": "; ".join(parts)} if parts else ""
