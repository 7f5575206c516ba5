"""Connects a further sender; its page says which steps are left."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.first_steps import connecting
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.senders import steps


@require_http_methods(["GET", "HEAD", "POST"])
def connect(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    attempt = connecting.try_to_connect(request, visitor)
    if attempt.sender is not None:
        connecting.tell_success(request, attempt.sender)
        return redirect("sender", visitor.workspace.pk, attempt.sender.pk)
    context = {**attempt.describe(), "steps": steps.list_first_steps()}
    status = 422 if attempt.form.errors else 200
    return render_page(request, visitor, "dashboard/senders/connect.html", context, status=status)
