"""Pages in place of a sign-in that cannot be tried now."""

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import structlog
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from redis.exceptions import RedisError

from postledger.web.dashboard.refusals import refuse
from postledger.web.dashboard.sign_in import adapter, lock_out

type View = Callable[..., HttpResponseBase]

_log = structlog.get_logger(__name__)

# The pages whose attempts are counted, with the names of their limits.
_COUNTED = {
    "account_login": "login",
    "account_reset_password": "reset_password",
    "account_reset_password_from_key": "reset_password_from_key",
    "account_change_password": "change_password",
    "account_reauthenticate": "reauthenticate",
}


def counted(view: View) -> View:
    """The view, refused while Redis is away: attempts that nobody counts are not allowed."""

    @wraps(view)
    def show(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except RedisError as error:
            _log.warning("sign_in_without_redis", error=type(error).__name__)
            return unavailable(request)

    return show


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
