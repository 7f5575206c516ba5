"""The frame in which a page shows a letter."""

from django.http import HttpResponse

from postledger.content import pictures

# A letter is somebody's HTML: it runs nothing, loads nothing but our own pictures, and belongs to
# no origin.
_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data: {pictures};"
    " frame-ancestors 'self'"
)


def show_in_frame(html: str) -> HttpResponse:
    base_url = pictures.find_base_url()
    policy = _POLICY.format(pictures=f"{base_url}/" if base_url else "").replace(" ;", ";")
    headers = {"Content-Security-Policy": policy, "X-Frame-Options": "SAMEORIGIN"}
    return HttpResponse(html, headers=headers)
