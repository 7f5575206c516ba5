"""The form that keeps email from an address: all of it, what unsubscribing ends, or one list."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from postledger.contacts import lists
from postledger.contacts.actions import suppression
from postledger.contacts.states import SuppressionReason
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.audience import words
from postledger.web.dashboard.forms import AddressField, PageForm, ReasonField

NEWS = "unsubscribed general"  # no list has such a key


class SuppressForm(PageForm):
    """Of a contact's address."""

    scope = forms.ChoiceField(
        label=gettext_lazy("What they no longer get"),
        required=False,
        help_text=gettext_lazy(
            "All email includes receipts and password resets. Without campaigns and notifications,"
            " as if they had unsubscribed, they still get those."
        ),
    )
    reason = ReasonField(required=False)

    def __init__(self, workspace_id: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        active = lists.list_all(workspace_id).filter(archived_at=None)
        general = [("", words.name_scope(None)), (NEWS, words.name_news())]
        scopes = [*general, *lists.name_apart(active)]
        self.fields["scope"].choices = scopes  # type: ignore[attr-defined]  # of a ChoiceField

    def carry_out(self, visitor: Visitor, address: str, contact_id: int | None = None) -> bool:
        """Whether anything changed. A contact that is named must have the address."""
        scope: str = self.cleaned_data["scope"]
        is_news = scope == NEWS
        return suppression.suppress(
            visitor.workspace.pk,
            address=address,
            contact_id=contact_id,
            list_key=None if is_news else scope or None,
            reason=SuppressionReason.UNSUBSCRIBED if is_news else SuppressionReason.BY_HAND,
            note=self.cleaned_data["reason"],
            actor=visitor.actor,
        )


class SuppressAddressForm(SuppressForm):
    """Of any address, whether a contact has it or not."""

    address = AddressField(label=gettext_lazy("Email address"))

    field_order = ("address", "scope", "reason")
