"""The frame in which a page shows a letter."""

from django.http import HttpResponse

# A letter is somebody's HTML: it runs nothing, loads nothing, and belongs to no origin.
_HEADERS = {
    "Content-Security-Policy": (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:;"
        " frame-ancestors 'self'"
    ),
    "X-Frame-Options": "SAMEORIGIN",
}


def show_in_frame(html: str) -> HttpResponse:
    return HttpResponse(html, headers=_HEADERS)
