"""What a person decides about a contact: suppress it, restore it with a reason, or erase it."""

from datetime import UTC, datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from postledger.contacts import queries, suppressions
from postledger.contacts.actions.restoration import SuppressionChangedError
from postledger.contacts.models import Contact
from postledger.contacts.queries import AddressChangedError
from postledger.contacts.states import ContactState
from postledger.contacts.unsubscribe_links import GENERAL
from postledger.lib.errors import RefusedError
from postledger.privacy import erasure
from postledger.privacy.erasure import Erasure
from postledger.web.dashboard import formats
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.audience import restore_form
from postledger.web.dashboard.audience.questions import Question, ask
from postledger.web.dashboard.audience.restore_form import Restorable, RestoreForm
from postledger.web.dashboard.audience.suppress_form import SuppressForm
from postledger.web.dashboard.forms import PageForm
from postledger.web.shared.sentences import translate

_asks = require_http_methods(["GET", "HEAD", "POST"])


class EraseForm(PageForm):
    typed = forms.CharField(
        label=gettext_lazy("Type the address to confirm"),
        max_length=254,
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, address: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.address = address

    def clean_typed(self) -> str:
        typed: str = self.cleaned_data["typed"]
        if typed.strip().lower() != self.address.lower():
            raise forms.ValidationError(
                _("That is another address. Type it as it stands above, or go back.")
            )
        return typed


@_asks
def suppress(request: HttpRequest, visitor: Visitor, contact_id: int) -> HttpResponse:
    contact = _find(visitor, contact_id)
    form = SuppressForm(visitor.workspace.pk, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            has_changed = form.carry_out(visitor, contact.address, contact_id)
        except RefusedError as error:  # its list was archived, or its address corrected meanwhile
            form.add_error("scope", translate(error))
            contact = _find(visitor, contact_id)
        else:
            done = _("Suppressed.") if has_changed else _("It was suppressed already.")
            return _leave(request, visitor, contact, done)
    question = Question(
        heading=_("Suppress %(address)s?") % {"address": contact.address},
        sentences=[
            _("They get no more of what you choose below, not even what waits already."),
        ],
        go=_("Suppress"),
        stay=_("Leave it"),
        back_url=_find_url(visitor, contact),
        back_title=contact.name or contact.address,
    )
    return ask(request, visitor, question, form)


@_asks
def restore(request: HttpRequest, visitor: Visitor, contact_id: int) -> HttpResponse:
    contact = _find(visitor, contact_id)
    restorables = _list_restorable(visitor, contact)
    if not restorables:
        return _leave(request, visitor, contact, _("Nothing keeps email from them."))
    form = RestoreForm(restorables, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            lifted = form.carry_out(visitor, contact.address, datetime.now(UTC))
        except SuppressionChangedError as error:  # in this very moment
            messages.error(request, translate(error))
            return redirect(request.path)
        remaining = {
            restorable.list_key: restorable.name
            for restorable in _list_restorable(visitor, contact)
        }
        left = remaining.get(lifted.list_key)
        done = _("Restored.") if left is None else _("Restored; this remains: %(left)s.")
        return _leave(request, visitor, contact, done % {"left": left} if left else done)
    question = Question(
        heading=_("Restore %(address)s?") % {"address": contact.address},
        sentences=[
            _(
                "A bounce, a complaint or a suppression by hand is lifted first. If they had"
                " unsubscribed too, that stays, and restoring again lifts it."
            ),
            _(
                "Restore only people who want your email: the law protects their wish, and spam"
                " reports cost you reputation."
            ),
        ],
        go=_("Restore"),
        stay=_("Leave it"),
        back_url=_find_url(visitor, contact),
        back_title=contact.name or contact.address,
    )
    return ask(request, visitor, question, form)


@_asks
def erase(request: HttpRequest, visitor: Visitor, contact_id: int) -> HttpResponse:
    contact = _find(visitor, contact_id)
    form = EraseForm(contact.address, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            erased = erasure.erase(
                visitor.workspace.pk,
                address=contact.address,
                contact_id=contact_id,
                actor=visitor.actor,
                now=datetime.now(UTC),
            )
        except AddressChangedError as error:
            form.add_error("typed", translate(error))
            contact = _find(visitor, contact_id)
        else:
            messages.success(request, _describe_erasure(erased))
            return redirect("contacts", visitor.workspace.pk)
    question = Question(
        heading=_("Erase %(address)s for good?") % {"address": contact.address},
        sentences=[
            _(
                "Their details, consents and the text of every email to them are deleted."
                " The books keep their numbers, without the person."
            ),
            _(
                "The address, and those they had before, stay suppressed as hashes, so that no"
                " import brings them back."
            ),
            _(
                "An import that names them and is not started yet is cancelled, and its file"
                " deleted: upload it again without them. One that is running does not bring them"
                " back: it refuses their rows that are still to come."
            ),
            _("Nobody can undo this. Export their data first if they asked for it."),
        ],
        go=_("Erase for good"),
        stay=_("Keep them"),
        back_url=_find_url(visitor, contact),
        back_title=contact.name or contact.address,
    )
    return ask(request, visitor, question, form)


def _describe_erasure(erased: Erasure) -> str:
    text = ngettext(
        "Erased, also from %(number)s email. The address stays suppressed.",
        "Erased, also from %(number)s emails. The address stays suppressed.",
        erased.mails,
    )
    cancelled = ngettext(
        "%(number)s import that named them was cancelled.",
        "%(number)s imports that named them were cancelled.",
        erased.uploads,
    )
    said = [text % {"number": formats.count(erased.mails)}]
    if erased.uploads:
        said.append(cancelled % {"number": formats.count(erased.uploads)})
    return " ".join(said)


def _find(visitor: Visitor, contact_id: int) -> Contact:
    return queries.get_contact(visitor.workspace.pk, contact_id=contact_id)


def _list_restorable(visitor: Visitor, contact: Contact) -> list[Restorable]:
    """The lists, or all email, that something keeps from the contact."""
    kept = suppressions.list_of_address(visitor.workspace.pk, address=contact.address)
    restorables = [restore_form.make_restorable(row) for row in kept]
    contact.refresh_from_db(fields=["state"])
    if contact.state != ContactState.ACTIVE and GENERAL not in {
        restorable.list_key for restorable in restorables
    }:
        restorables.append(restore_form.describe_state())
    return restorables


def _find_url(visitor: Visitor, contact: Contact) -> str:
    return reverse("contact", args=[visitor.workspace.pk, contact.pk])


def _leave(request: HttpRequest, visitor: Visitor, contact: Contact, text: str) -> HttpResponse:
    messages.success(request, text)
    return redirect(_find_url(visitor, contact))
