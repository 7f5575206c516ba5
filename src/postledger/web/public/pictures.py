"""Serves the pictures that mails show: each has a name made of its bytes, and never changes."""

import re
from pathlib import Path

from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest
from django.views.decorators.http import require_safe

_NAME = re.compile(r"[0-9a-f]{64}\.(png|jpg|gif|webp)")
_TYPES = {"png": "image/png", "jpg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}


@require_safe
def show(_request: HttpRequest, name: str) -> FileResponse:
    found = _NAME.fullmatch(name)
    path = Path(settings.PICTURES_FOLDER, name)
    if not settings.PICTURES_FOLDER or not found or not path.is_file():
        raise Http404
    response = FileResponse(path.open("rb"), content_type=_TYPES[found[1]])
    response["Cache-Control"] = "public, max-age=31536000, immutable"
    response["X-Content-Type-Options"] = "nosniff"
    return response
