"""Where programs reach the API."""

from django.conf import settings
from django.http import HttpRequest


def find_base_url(request: HttpRequest) -> str:
    """As the operator says, else as this page was reached."""
    public_url: str = settings.PUBLIC_URL
    return public_url.rstrip("/") or request.build_absolute_uri("/").rstrip("/")
