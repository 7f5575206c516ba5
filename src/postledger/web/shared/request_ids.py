"""Gives each request an id: the caller's own where it is sane, else a new one."""

import re
from uuid import uuid4

from django.http import HttpRequest

HEADER = "X-Request-Id"

_SANE = re.compile(r"[A-Za-z0-9._-]{1,128}")
_GIVEN = "HTTP_X_REQUEST_ID"
_PLACE = "postledger.request_id"


def assign(request: HttpRequest) -> str:
    given = str(request.META.get(_GIVEN, ""))
    request_id = given if _SANE.fullmatch(given) else str(uuid4())
    request.META[_PLACE] = request_id
    return request_id


def of(request: HttpRequest) -> str:
    return str(request.META[_PLACE])
