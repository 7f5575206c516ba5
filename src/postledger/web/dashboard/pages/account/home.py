"""Where `/` leads: the first run, sign-in, or a workspace."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from postledger.accounts.models import User
from postledger.accounts.people import first_run
from postledger.web.shared import last_workspace


@require_safe
def home_page(request: HttpRequest) -> HttpResponse:
    if not isinstance(request.user, User):
        return redirect("first_run" if first_run.is_open() else "account_login")
    workspace_id = last_workspace.find(request, request.user)
    if workspace_id is not None:
        return redirect("overview", workspace_id)
    return render(request, "dashboard/no_workspace.html", status=200)
