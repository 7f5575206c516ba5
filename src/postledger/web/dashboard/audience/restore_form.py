"""The form that lifts what keeps email from an address: nothing but what it has shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from postledger.contacts.actions import restoration
from postledger.contacts.models import Suppression
from postledger.contacts.states import SuppressionReason, SuppressionStatus
from postledger.contacts.unsubscribe_links import GENERAL
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.audience import words
from postledger.web.dashboard.forms import PageForm, ReasonField


@dataclass(frozen=True, slots=True)
class Restorable:
    """All email or a list that somebody does not get; without a reason, by their state alone."""

    list_key: str
    reason: SuppressionReason | None
    name: str

    @property
    def value(self) -> str:
        """Of the option: another one as soon as another reason stands there."""
        return f"{self.reason or 'state'} {self.list_key}"


def make_restorable(kept: Suppression) -> Restorable:
    list_key = kept.list.key if kept.list else GENERAL
    return Restorable(list_key, SuppressionReason(kept.reason), words.describe_suppression(kept))


def describe_state() -> Restorable:
    """What a contact's state ends without a suppression, as it came with an old table."""
    return Restorable(GENERAL, None, words.name_scope(None))


class RestoreForm(PageForm):
    """Asks again if there is another reason by now, so that a second click lifts nothing more."""

    scope = forms.ChoiceField(
        label=gettext_lazy("What they may get again"),
        error_messages={
            "invalid_choice": gettext_lazy(
                "This has changed meanwhile. Look at what keeps email from them now, and decide"
                " again."
            )
        },
    )
    reason = ReasonField()

    def __init__(self, restorables: Sequence[Restorable], posted: Any = None) -> None:
        super().__init__(posted)
        self.restorables: Mapping[str, Restorable] = {
            restorable.value: restorable for restorable in restorables
        }
        choices = [(restorable.value, restorable.name) for restorable in restorables]
        self.fields["scope"].choices = choices  # type: ignore[attr-defined]  # of a ChoiceField

    def carry_out(self, visitor: Visitor, address: str, now: datetime) -> Restorable:
        """Lifts what was chosen; refuses if it has changed since the choices were read."""
        chosen = self.restorables[self.cleaned_data["scope"]]
        restoration.restore(
            visitor.workspace.pk,
            address=address,
            list_key=chosen.list_key,
            expected=SuppressionStatus(chosen.reason),
            reason=self.cleaned_data["reason"],
            actor=visitor.actor,
            now=now,
        )
        return chosen
