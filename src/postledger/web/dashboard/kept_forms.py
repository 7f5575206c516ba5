"""A form that arrives after its sender was signed out, or with a token of before they signed in.

What was typed comes back on a page that sends it again, by a click of the person who typed it.
"""

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.template.loader import render_to_string

from postledger.web.shared import bodies

_NOT_KEPT = "csrfmiddlewaretoken"


def ask_to_sign_in(request: HttpRequest) -> HttpResponse:
    if "HX-Request" in request.headers:
        # The page around the part knows whether it can be left: what is half written stays.
        return HttpResponse(status=401)
    if request.method == "POST" and _is_own(request):
        return _show_again(request, 401)
    return redirect_to_login(request.get_full_path())


def offer_again(request: HttpRequest) -> HttpResponse | None:
    """In place of the refusal of an outdated token; None if the form may be another site's."""
    if not request.path_info.startswith("/w/") or not _is_own(request):
        return None
    if "HX-Request" in request.headers:
        return HttpResponse(status=403, headers={"X-CSRF-Token": get_token(request)})
    return _show_again(request, 403)


def _is_own(request: HttpRequest) -> bool:
    """Whether a browser says that it comes from a page of ours; no other site can say so."""
    own = f"{request.scheme}://{request.get_host()}"
    return request.headers.get("Origin") in {own, *settings.CSRF_TRUSTED_ORIGINS}


def _show_again(request: HttpRequest, status: int) -> HttpResponse:
    is_signed_in = request.user.is_authenticated
    # Of a stranger only what was read already.
    is_kept = is_signed_in or int(request.META.get("CONTENT_LENGTH") or 0) <= bodies.SMALL
    values = {
        "is_signed_in": is_signed_in,
        "is_kept": is_kept,
        "lacks_files": is_kept and bool(request.FILES),
        "url": request.get_full_path(),
        "fields": [
            (name, value)
            for name, sent in (request.POST.lists() if is_kept else ())
            for value in sent
            if name != _NOT_KEPT
        ],
    }
    page = render_to_string("dashboard/kept_form.html", values, request)
    return HttpResponse(page, status=status)
