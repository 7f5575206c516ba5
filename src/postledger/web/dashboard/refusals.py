"""Pages in place of one that a visitor cannot have."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.defaultfilters import filesizeformat
from django.template.loader import render_to_string
from django.urls import Resolver404, is_valid_path
from django.utils.http import escape_leading_slashes
from django.utils.translation import gettext as _

from postledger.web.dashboard import kept_forms
from postledger.web.shared import bodies, requests


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    nearby = _find_nearby(request) if isinstance(exception, Resolver404) else ""
    if nearby:
        return redirect(nearby)
    return refuse(
        request,
        404,
        _("Page not found"),
        _("There is no such page, or it belongs to a workspace that you are not a member of."),
    )


def _find_nearby(request: HttpRequest) -> str:
    """The same page with, or without, the slash at the end; empty if there is none either.

    People type it so, and a mailed link may lose it.
    """
    path = request.path_info
    nearby = path.removesuffix("/") if path.endswith("/") else f"{path}/"
    is_read = request.method in {"GET", "HEAD"} and not requests.is_api(request)
    if not is_read or not is_valid_path(nearby):
        return ""
    query = request.META.get("QUERY_STRING", "")
    return escape_leading_slashes(f"{nearby}?{query}" if query else nearby)


def wrong_method(request: HttpRequest) -> HttpResponse:
    """In place of the empty answer to a method that a page does not take.

    Who asks for the address of a form is led to its page: a browser does so after signing in
    again, or by Enter in the address bar below a refused form.
    """
    page = _find_page_above(request.path_info) if request.method in {"GET", "HEAD"} else ""
    if page:
        messages.warning(request, _("Nothing was changed. Fill in the form again."))
        return redirect(page)
    return refuse(
        request,
        405,
        _("This address takes no such request"),
        _("Go back to the page that you came from, and use its buttons."),
    )


def _find_page_above(path: str) -> str:
    """Of a workspace; it may lead further up."""
    while path.startswith("/w/") and (path := f"{path.rstrip('/').rpartition('/')[0]}/") != "/w/":
        if is_valid_path(path):
            return path
    return ""


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:  # noqa: ARG001  Django passes it
    return refuse(
        request,
        403,
        _("Your role does not allow this"),
        _("Ask an owner of the workspace to do it, or to change your role."),
    )


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001  Django passes it
    return kept_forms.offer_again(request) or refuse(
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
