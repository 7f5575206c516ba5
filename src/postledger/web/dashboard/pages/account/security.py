"""Your account: who you are, and how you sign in."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language, gettext_lazy, override
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from postledger.accounts.models import User
from postledger.accounts.people import profiles, second_factors
from postledger.lib.errors import RefusedError
from postledger.web.dashboard.access import Visitor, find_visitor
from postledger.web.dashboard.frame import render_page
from postledger.web.shared import last_workspace
from postledger.web.shared.sentences import translate

_LANGUAGES = [
    ("", gettext_lazy("As my browser asks")),
    ("en", "English"),
    ("ru", "Русский"),
    ("pt", "Português"),
]


class ProfileForm(forms.Form):
    name = forms.CharField(required=False, strip=True)
    language = forms.ChoiceField(choices=_LANGUAGES, required=False)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def security_page(request: HttpRequest) -> HttpResponse:
    user = request.user
    assert isinstance(user, User)  # noqa: S101  by the decorator
    if request.method != "POST":
        return _render(request, user, ProfileForm({"name": user.name, "language": user.language}))
    form = ProfileForm(request.POST)
    if form.is_valid() and _save(user, form):
        with override(form.cleaned_data["language"] or get_language()):
            messages.success(request, _("Saved."))
        return redirect("security")
    return _render(request, user, form, status=422)


def _save(user: User, form: ProfileForm) -> bool:
    try:
        profiles.change_profile(user, **form.cleaned_data)
    except RefusedError as refused:
        form.add_error("name", translate(refused))
    return not form.errors


def _render(
    request: HttpRequest, user: User, form: ProfileForm, *, status: int = 200
) -> HttpResponse:
    values: dict[str, Any] = {
        "user": user,
        "form": form,
        "factors": second_factors.describe_factors(user),
    }
    visitor = _find_any_visitor(request, user)
    if visitor is None:
        return render(request, "dashboard/security.html", values, status=status)
    return render_page(request, visitor, "dashboard/security.html", values, status=status)


def _find_any_visitor(request: HttpRequest, user: User) -> Visitor | None:
    """The person in the workspace that they saw last, or in any; None without a membership."""
    workspace_id = last_workspace.find(request, user)
    return None if workspace_id is None else find_visitor(user, workspace_id)
