"""Pages in place of one that a visitor cannot have."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from postledger.web.shared import bodies, requests


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:  # noqa: ARG001  Django passes it
    return refuse(
        request,
        404,
        _("Page not found"),
        _("There is no such page, or it belongs to a workspace that you are not a member of."),
    )


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:  # noqa: ARG001  Django passes it
    return refuse(
        request,
        403,
        _("Your role does not allow this"),
        _("Ask an owner of the workspace to do it, or to change your role."),
    )


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001  Django passes it
    return refuse(
        request,
        403,
        _("This form is out of date"),
        _(
            "It was opened before you signed in or out, or by another site."
            " Go back, reload the page and send it again."
        ),
    )


def too_large(request: HttpRequest, **_of_view: Any) -> HttpResponse:
    return refuse(request, 413, _("That was too large"), describe_too_large(request))


def describe_too_large(request: HttpRequest) -> str:
    """How large the form may be, and where what was typed is still found."""
    text = _(
        "What you sent may have %(most)s at most, so nothing of it was saved. Go back: the form"
        " still holds it. Make it shorter, and send it again."
    )
    return text % {"most": find_most(request)}


def find_most(request: HttpRequest) -> str:
    return filesizeformat(bodies.find_largest(request.path_info))


def too_late(request: HttpRequest) -> HttpResponse:
    return refuse(
        request,
        408,
        _("That took too long"),
        _(
            "What you sent did not arrive in time, so nothing of it was saved. Go back and send it"
            " again, over a faster connection if you can."
        ),
    )


def server_fault(request: HttpRequest) -> HttpResponse:
    return refuse(
        request,
        500,
        _("Something failed here"),
        _("The error was logged. Try again; if it stays, give the operator the id below."),
    )


def unavailable(request: HttpRequest) -> HttpResponse:
    return refuse(
        request,
        503,
        _("The database does not answer"),
        _("Nothing is lost: what was accepted stays accepted. Try again in a moment."),
    )


def refuse(request: HttpRequest, status: int, title: str, text: str) -> HttpResponse:
    values = {"title": title, "text": text, "request_id": requests.id_of(request)}
    # Without the request: its session may be what cannot be read.
    return HttpResponse(render_to_string("dashboard/refusal.html", values), status=status)
