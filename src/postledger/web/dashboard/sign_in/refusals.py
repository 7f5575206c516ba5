"""Pages in place of a sign-in that cannot be tried now."""

import math

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from postledger.web.dashboard.refusals import refuse
from postledger.web.dashboard.sign_in import adapter, lock_out

# The pages whose attempts are counted, with the names of their limits.
_COUNTED = {
    "account_login": "login",
    "account_reset_password": "reset_password",
    "account_reset_password_from_key": "reset_password_from_key",
    "account_change_password": "change_password",
    "account_reauthenticate": "reauthenticate",
}


def too_many_attempts(request: HttpRequest) -> HttpResponse:
    match = request.resolver_match
    action = _COUNTED.get(match.url_name or "" if match else "", "")
    email = request.POST.get("email", "").lower()
    wait = lock_out.find_wait(request, action, email) if action else 0.0
    response = refuse(request, 429, _("Too many attempts"), adapter.describe_wait(wait))
    response["Retry-After"] = str(max(1, math.ceil(wait)))
    return response


def unavailable(request: HttpRequest) -> HttpResponse:
    return refuse(
        request,
        503,
        _("Sign-in is not possible right now"),
        _(
            "Attempts cannot be counted, because Redis does not answer. Nothing is wrong with your"
            " password. Try again in a few minutes, or tell the operator the id below."
        ),
    )
