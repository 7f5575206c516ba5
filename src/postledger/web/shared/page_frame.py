"""What every HTML page shares: security headers and the choice of a language."""

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256

from django.conf import settings
from django.http import HttpResponse
from django.utils.translation.trans_real import parse_accept_lang_header

# The first is the default.
LANGUAGES = tuple(code for code, _ in settings.LANGUAGES)


def choose_language(requested: str, *, accept_language: str) -> str:
    """The requested language if there is one, otherwise the best of the Accept-Language header."""
    weighed = parse_accept_lang_header(accept_language.lower())
    codes = [requested.lower(), *(code for code, weight in weighed if weight)]
    languages = (code.partition("-")[0] for code in codes)
    return next((code for code in languages if code in LANGUAGES), LANGUAGES[0])


def security_headers(style: bytes) -> Mapping[str, str]:
    """Headers of a page without scripts whose only style element is `style`."""
    style_hash = b64encode(sha256(style).digest()).decode()
    return {
        "Content-Security-Policy": (
            f"default-src 'none'; style-src 'sha256-{style_hash}';"
            " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        ),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Robots-Tag": "noindex, nofollow",
        "Cache-Control": "no-store",
        "Vary": "Accept, Accept-Language",
    }


def finish(response: HttpResponse, *, headers: Mapping[str, str], language: str) -> HttpResponse:
    for name, value in headers.items():
        response[name] = value
    response["Content-Language"] = language
    # Stops Django's own log line: the middleware writes one for every request.
    response._has_been_logged = True  # type: ignore[attr-defined]  # noqa: SLF001  its own switch
    return response
