"""Another address to sign in with: asked for under Your account, and confirmed by a mailed link."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from allauth.account.internal.flows import reauthentication
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from postledger.accounts.models import User
from postledger.accounts.people import address_changes
from postledger.accounts.people.address_changes import AddressLinkUnknownError, AddressTakenError
from postledger.transactional import address_letters
from postledger.transactional.own_letters import NoLetterSenderError
from postledger.web.dashboard.forms import PageForm
from postledger.web.dashboard.refusals import refuse
from postledger.web.dashboard.sign_in import lock_out
from postledger.web.dashboard.sign_in.adapter import describe_wait
from postledger.web.dashboard.sign_in.forms import OwnAddressField
from postledger.web.shared import requests
from postledger.web.shared.sentences import translate

_LETTERS = "change_address"  # the limit that counts them


class AddressForm(PageForm):
    email = OwnAddressField(
        label=gettext_lazy("New address"),
        widget=forms.EmailInput({"autocomplete": "email", "autofocus": True}),
    )

    def __init__(self, former: str, values: Mapping[str, Any] | None) -> None:
        super().__init__(values)
        self._former = former

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        if email == self._former:
            raise ValidationError(_("This is your address already."), code="same")
        return email


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def change_page(request: HttpRequest) -> HttpResponse:
    """Answers the same for every address: whether it is free is found out by its owner alone."""
    user = request.user
    assert isinstance(user, User)  # noqa: S101  by the decorator
    reauthentication.raise_if_reauthentication_required(request, app="allauth.account")
    form = AddressForm(user.email, request.POST or None)
    if not address_letters.can_send_link(user):
        return _render(request, None)
    if request.method != "POST" or not form.is_valid():
        return _render(request, form, status=422 if form.errors else 200)
    return _mail_link(request, user, form)


def _mail_link(request: HttpRequest, user: User, form: AddressForm) -> HttpResponse:
    address = form.cleaned_data["email"]
    if not lock_out.take(request, _LETTERS, address):
        wait = lock_out.find_wait(request, _LETTERS, address)
        form.add_error("email", describe_wait(wait))
        response = _render(request, form, status=429)
        response["Retry-After"] = str(max(1, math.ceil(wait)))
        return response
    try:
        address_letters.send_link(
            user, address=address, request_id=requests.id_of(request), now=datetime.now(UTC)
        )
    except NoLetterSenderError:  # it was held meanwhile
        return _render(request, None)
    return render(request, "dashboard/address_sent.html", {"address": address})


def _render(request: HttpRequest, form: AddressForm | None, *, status: int = 200) -> HttpResponse:
    """Without a form it says why no letter can be sent, and what helps."""
    context = {"form": form, "has_public_url": bool(settings.PUBLIC_URL)}
    return render(request, "dashboard/address.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
def link_page(request: HttpRequest, token: str) -> HttpResponse:
    """Opening the link changes nothing: programs that look at mail open every link."""
    try:
        response = _answer(request, token)
    except AddressLinkUnknownError as refused:
        response = refuse(request, 404, _("This link does not work any more"), translate(refused))
    except AddressTakenError as refused:
        response = refuse(request, 409, _("This address is taken"), translate(refused))
    # The path is a secret. Not no-referrer, with which browsers send forms as from nowhere.
    response["Referrer-Policy"] = "strict-origin"
    return response


def _answer(request: HttpRequest, token: str) -> HttpResponse:
    now = datetime.now(UTC)
    change = address_changes.find_change(token, now=now)
    is_theirs = request.user == change.user
    if not is_theirs or request.method != "POST":
        context = {"change": change, "is_theirs": is_theirs}
        return render(request, "dashboard/address_link.html", context)
    with transaction.atomic():
        change = address_changes.change_by_link(token, user=change.user, now=now)
        address_letters.tell_former(change, request_id=requests.id_of(request), now=now)
    messages.success(
        request, _("From now on you sign in with %(address)s.") % {"address": change.address}
    )
    return redirect("security")
