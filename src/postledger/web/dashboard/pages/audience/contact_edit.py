"""Adds a contact by hand, and changes one."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from postledger.contacts import queries
from postledger.contacts.csv_columns import PARTS_OF_NAME
from postledger.contacts.models import Contact
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.audience import contact_saving, former_addresses
from postledger.web.dashboard.audience.contact_form import ContactForm
from postledger.web.dashboard.audience.contact_saving import Obstacle, ObstacleError
from postledger.web.dashboard.frame import render_page

_asks = require_http_methods(["GET", "HEAD", "POST"])


@_asks
def add(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    if request.method != "POST":
        return _show(request, visitor, ContactForm(visitor.workspace, None))
    form, obstacle = ContactForm(visitor.workspace, None, request.POST), None
    if form.is_valid():
        try:
            contact_id, pending = contact_saving.add_contact(visitor, form, now=datetime.now(UTC))
        except ObstacleError as error:
            obstacle = error.obstacle
        else:
            _tell(request, _("Added."), pending)
            _tell_of_address(request, visitor, contact_id)
            return redirect("contact", visitor.workspace.pk, contact_id)
    return _show(request, visitor, form, obstacle=obstacle)


@_asks
def change(request: HttpRequest, visitor: Visitor, contact_id: int) -> HttpResponse:
    contact = queries.get_contact(visitor.workspace.pk, contact_id=contact_id)
    if request.method != "POST":
        return _show(request, visitor, ContactForm(visitor.workspace, contact), contact)
    form, obstacle = ContactForm(visitor.workspace, contact, request.POST), None
    if form.is_valid():
        try:
            pending = contact_saving.change_contact(visitor, contact, form, now=datetime.now(UTC))
        except ObstacleError as error:
            obstacle = error.obstacle
        else:
            _tell(request, _("Saved."), pending)
            _warn_of_names(request, contact, form)
            _tell_of_address(request, visitor, contact_id, before=contact)
            return redirect("contact", visitor.workspace.pk, contact_id)
    return _show(request, visitor, form, contact, obstacle)


def _tell(request: HttpRequest, done: str, pending: Sequence[str]) -> None:
    messages.success(request, done)
    if pending:
        text = _(
            "They had left before, and confirm first: %(lists)s. Or restore them, if they ask."
        )
        messages.warning(request, text % {"lists": ", ".join(pending)})


def _tell_of_address(
    request: HttpRequest, visitor: Visitor, contact_id: int, *, before: Contact | None = None
) -> None:
    """Whether email reaches a new address; another than `before` had, if the contact is known."""
    workspace_id = visitor.workspace.pk
    contact = queries.find_contact(workspace_id, contact_id=contact_id)
    if contact is None or (before and contact.address.lower() == before.address.lower()):
        return
    for level, text in former_addresses.describe_new_address(workspace_id, contact, before=before):
        messages.add_message(request, level, text)


def _warn_of_names(request: HttpRequest, contact: Contact, form: ContactForm) -> None:
    """Emails greet with the parts of a name, which do not follow when the name is changed."""
    name: str = form.cleaned_data["name"]
    attributes = {**contact.attributes, **form.attribute_changes}
    outdated = [
        f"{key} ({value})"
        for key in PARTS_OF_NAME
        if (value := attributes.get(key)) and str(value).casefold() not in name.casefold()
    ]
    if outdated and name != contact.name.strip():
        text = _("These still have another name, and emails may greet with it: %(attributes)s.")
        messages.warning(request, text % {"attributes": ", ".join(outdated)})


def _show(
    request: HttpRequest,
    visitor: Visitor,
    form: ContactForm,
    contact: Contact | None = None,
    obstacle: Obstacle | None = None,
) -> HttpResponse:
    workspace_id = visitor.workspace.pk
    contacts_url = reverse("contacts", args=[workspace_id])
    values: dict[str, Any] = {
        "title": _("New contact") if contact is None else contact.name or contact.address,
        "contact": contact,
        "form": form,
        "obstacle": obstacle,
        "back_url": reverse("contact", args=[workspace_id, contact.pk])
        if contact
        else contacts_url,
    }
    status = 422 if form.errors or obstacle else 200
    template = "dashboard/audience/contact_edit.html"
    return render_page(request, visitor, template, values, status=status)
