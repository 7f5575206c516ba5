"""The page behind an invitation: a new person chooses a password, a known one signs in."""

from datetime import UTC, datetime

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from postledger.accounts.models import User
from postledger.accounts.people import invitations
from postledger.accounts.people.invitations import (
    AlreadyJoinedError,
    Invitation,
    InvitationUnknownError,
)
from postledger.web.dashboard.forms import PersonForm
from postledger.web.dashboard.people import arrivals
from postledger.web.dashboard.people.roles import ROLE_NAMES


@require_http_methods(["GET", "HEAD", "POST"])
def join_page(request: HttpRequest, token: str) -> HttpResponse:
    """Opening the link uses nothing up: programs that look at mail open every link."""
    try:
        response = _answer(request, token)
    except InvitationUnknownError:
        response = render(request, "dashboard/join_unknown.html", status=404)
    # The path is a secret. Not no-referrer, with which browsers send forms as from nowhere.
    response["Referrer-Policy"] = "strict-origin"
    return response


def _answer(request: HttpRequest, token: str) -> HttpResponse:
    invitation = invitations.find_invitation(token, now=datetime.now(UTC))
    if isinstance(request.user, User):
        return _join_signed_in(request, request.user, invitation, token)
    if invitation.has_user:
        return _render(request, invitation, "dashboard/join_sign_in.html")
    form = PersonForm(request.POST or None, initial={"name": invitation.name})
    if request.method == "POST" and form.is_valid():
        form.check_password(invitation.email)
        if not form.errors and _create(request, form, token):
            return redirect("overview", invitation.workspace_id)
    return _render(request, invitation, "dashboard/join.html", form)


def _create(request: HttpRequest, form: PersonForm, token: str) -> bool:
    try:
        user = invitations.join_as_new_user(
            token,
            name=form.cleaned_data["name"],
            password=form.cleaned_data["password"],
            now=datetime.now(UTC),
        )
    except AlreadyJoinedError:
        form.add_error(None, _("Somebody with this address signs in already. Reload this page."))
        return False
    arrivals.sign_in(request, user)
    return True


def _join_signed_in(
    request: HttpRequest, user: User, invitation: Invitation, token: str
) -> HttpResponse:
    if invitation.email.lower() != user.email:
        return _render(request, invitation, "dashboard/join_other.html")
    if request.method != "POST":
        return _render(request, invitation, "dashboard/join_confirm.html")
    try:
        invitations.join_as_user(token, user=user, now=datetime.now(UTC))
    except AlreadyJoinedError:
        messages.error(request, _("You are a member of this workspace already."))
    return redirect("overview", invitation.workspace_id)


def _render(
    request: HttpRequest, invitation: Invitation, template: str, form: PersonForm | None = None
) -> HttpResponse:
    context = {"invitation": invitation, "role": ROLE_NAMES[invitation.role], "form": form}
    status = 422 if form is not None and form.errors else 200
    return render(request, template, context, status=status)
