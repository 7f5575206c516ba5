"""Who a sender is: its name and provider, whether it is the default, and whether it is archived."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST

from postledger.accounts import queries, senders
from postledger.accounts.models import Sender
from postledger.accounts.trail import Action
from postledger.campaigns import archiving
from postledger.campaigns.archiving import MailWaitsError
from postledger.deliveries import account_changes
from postledger.lib.errors import NotFoundError, RefusedError
from postledger.providers.headers import InvalidHeaderError
from postledger.web.dashboard import formats
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.audience.questions import Question, ask
from postledger.web.dashboard.forms import PageForm
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.shared_form import SharedForm
from postledger.web.shared.sentences import translate


class IdentityForm(SharedForm):
    changed_by: ClassVar[Mapping[str, Action]] = {
        "name": "sender.renamed",
        "account": "sender.attached",
    }

    name = forms.CharField(
        label=gettext_lazy("From name"),
        max_length=senders.LONGEST_NAME,
        required=False,
        help_text=gettext_lazy("Readers see it beside the address. Empty: the address alone."),
        widget=forms.TextInput({"autocomplete": "organization"}),
    )
    account = forms.TypedChoiceField(
        label=gettext_lazy("Provider account"),
        coerce=int,
        empty_value=None,
        required=False,
        help_text=gettext_lazy(
            "Its emails go through this account. Another account ends the holds of the former"
            " provider."
        ),
    )

    def __init__(self, sender: Sender, posted: Any = None) -> None:
        super().__init__(_list_stored(sender), posted)
        kept = {str(sender.account_id), self["account"].data}
        accounts = [
            (account.pk, f"{account.name} ({account.kind})")
            for account in queries.accounts(sender.workspace_id)
            if account.archived_at is None or str(account.pk) in kept
        ]
        self.fields["account"].choices = [  # type: ignore[attr-defined]
            ("", _("None: its emails wait")),
            *accounts,
        ]


def _list_stored(sender: Sender) -> Mapping[str, object]:
    return {"name": sender.name, "account": sender.account_id}


class ArchiveForm(PageForm):
    """Asks for a successor of the default, and about waiting mail when there is some."""

    default = forms.TypedChoiceField(
        label=gettext_lazy("The default sender from now on"), coerce=int
    )
    anyway = forms.BooleanField(
        label=gettext_lazy("Archive it all the same: what waits is still sent"), required=False
    )

    def __init__(self, sender: Sender, others: list[Sender], posted: Any = None) -> None:
        super().__init__(posted)
        self.fields["default"].choices = [  # type: ignore[attr-defined]
            (other.pk, other.address) for other in others
        ]
        if not sender.is_default:
            del self.fields["default"]
        if posted is None:
            del self.fields["anyway"]


@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, visitor: Visitor, sender_id: int) -> HttpResponse:
    sender = queries.get_sender(visitor.workspace.pk, sender_id)
    form = IdentityForm(sender, request.POST if request.method == "POST" else None)
    if form.is_valid() and _store(form, visitor, sender):
        messages.success(request, _("Saved. Workers follow within 10 seconds."))
        return redirect("sender", visitor.workspace.pk, sender_id)
    values = {"title": _("Name and provider"), "sender": sender, "form": form}
    template = "dashboard/senders/identity.html"
    return render_page(request, visitor, template, values, status=form.status)


def _store(form: IdentityForm, visitor: Visitor, sender: Sender) -> bool:
    """Both or none; False if one is refused or in conflict."""
    workspace_id, actor = visitor.workspace.pk, visitor.actor
    try:
        with transaction.atomic():
            if not form.take_over(_list_stored(senders.lock_sender(workspace_id, sender.pk))):
                url = reverse("sender_edit", args=[workspace_id, sender.pk])
                form.describe_conflict(visitor, subjects=[f"sender {sender.pk}"], url=url)
                return False
            name, account_id = form.cleaned_data["name"], form.cleaned_data["account"]
            senders.rename_sender(workspace_id, sender_id=sender.pk, name=name, actor=actor)
            if "account" in form.changed:
                account_changes.attach_sender(
                    workspace_id, sender_id=sender.pk, account_id=account_id, actor=actor
                )
    except InvalidHeaderError:
        form.add_error("name", _("Use printable characters only."))
    except NotFoundError:
        raise
    except RefusedError as error:  # the account was archived meanwhile
        form.add_error("account", translate(error))
    return form.is_valid()


@require_POST
def make_default(request: HttpRequest, visitor: Visitor, sender_id: int) -> HttpResponse:
    sender = queries.get_sender(visitor.workspace.pk, sender_id)
    try:
        senders.set_default(visitor.workspace.pk, sender_id=sender_id, actor=visitor.actor)
    except RefusedError as error:
        messages.error(request, translate(error))
    else:
        text = _("%(address)s is the default sender now.") % {"address": sender.address}
        messages.success(request, text)
    return redirect("sender", visitor.workspace.pk, sender_id)


@require_POST
def restore(request: HttpRequest, visitor: Visitor, sender_id: int) -> HttpResponse:
    queries.get_sender(visitor.workspace.pk, sender_id)
    try:
        senders.restore_sender(visitor.workspace.pk, sender_id=sender_id, actor=visitor.actor)
    except RefusedError as error:
        messages.error(request, translate(error))
    else:
        messages.success(request, _("Restored. It takes new emails again."))
    return redirect("sender", visitor.workspace.pk, sender_id)


@require_http_methods(["GET", "HEAD", "POST"])
def archive(request: HttpRequest, visitor: Visitor, sender_id: int) -> HttpResponse:
    """Asks first; the default needs a successor, and waiting mail a second word."""
    sender = queries.get_sender(visitor.workspace.pk, sender_id)
    others = _list_others(sender)
    if sender.is_default and not others:
        text = _("It is the only sender. Connect another one before you archive it.")
        messages.warning(request, text)
        return redirect("sender", visitor.workspace.pk, sender_id)
    form = ArchiveForm(sender, others, request.POST if request.method == "POST" else None)
    if form.is_valid() and _archive(form, visitor, sender):
        messages.success(request, _("Archived. It takes no new emails."))
        return redirect("senders", visitor.workspace.pk)
    question = Question(
        heading=_("Archive %(address)s?") % {"address": sender.address},
        sentences=[
            _("It takes no new emails, and campaigns that name it cannot be launched."),
            _("Nothing is deleted, and you can restore it."),
        ],
        go=_("Archive it"),
        stay=_("Leave it"),
        back_url=reverse("sender", args=[visitor.workspace.pk, sender.pk]),
        back_title=sender.address,
    )
    return ask(request, visitor, question, form)


def _list_others(sender: Sender) -> list[Sender]:
    """Those that may become the default in its place."""
    return [
        other
        for other in queries.senders(sender.workspace_id)
        if other.pk != sender.pk and other.archived_at is None
    ]


def _archive(form: ArchiveForm, visitor: Visitor, sender: Sender) -> bool:
    try:
        archiving.archive_sender(
            visitor.workspace.pk,
            sender_id=sender.pk,
            default_id=form.cleaned_data.get("default"),
            although_mail_waits=form.cleaned_data["anyway"],
            actor=visitor.actor,
        )
    except MailWaitsError as error:
        form.add_error("anyway", _describe_waiting(error))
    except NotFoundError:
        raise
    except RefusedError as error:
        form.add_error(None, translate(error))
    return form.is_valid()


def _describe_waiting(error: MailWaitsError) -> str:
    if not error.waiting:
        return _("A campaign that uses it is still being planned.")
    waiting = ngettext(
        "%(number)s email still waits for it.",
        "%(number)s emails still wait for it.",
        error.waiting,
    )
    return waiting % {"number": formats.count(error.waiting)}
