"""What every HTML page shares: security headers and the choice of a language."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256

from django.conf import settings
from django.http import HttpResponse
from django.utils.translation.trans_real import parse_accept_lang_header

# The first of each is the default.
MEMBER_LANGUAGES = tuple(code for code, _ in settings.LANGUAGES)
READER_LANGUAGES = tuple(code for code, _ in settings.READER_LANGUAGES)


def choose_language(requested: str, *, accept_language: str, offered: Sequence[str]) -> str:
    """The requested language if it is offered, otherwise the best of the Accept-Language header."""
    weighed = parse_accept_lang_header(accept_language.lower())
    codes = [requested.lower(), *(code for code, weight in weighed if weight)]
    languages = (code.partition("-")[0] for code in codes)
    return next((code for code in languages if code in offered), offered[0])


def is_offered(requested: str, *, offered: Sequence[str]) -> bool:
    return requested.lower().partition("-")[0] in offered


def find_first_language(accept_language: str) -> str:
    """The language that a browser prefers, without its region; empty if it names none."""
    weighed = parse_accept_lang_header(accept_language.lower())
    return next((code.partition("-")[0] for code, weight in weighed if weight), "")


def write_policy(*styles: bytes, picture_origin: str = "") -> str:
    """The policy of a page without scripts that has these style elements, and pictures of one
    origin or none.
    """
    hashes = " ".join(f"'sha256-{b64encode(sha256(one).digest()).decode()}'" for one in styles)
    pictures = f" img-src {picture_origin};" if picture_origin else ""
    return (
        f"default-src 'none'; style-src {hashes};{pictures}"
        " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )


def security_headers(style: bytes) -> Mapping[str, str]:
    """Headers of a page without scripts whose only style element is `style`."""
    return {
        "Content-Security-Policy": write_policy(style),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Robots-Tag": "noindex, nofollow",
        "Cache-Control": "no-store",
        "Vary": "Accept, Accept-Language",
    }


def finish(response: HttpResponse, *, headers: Mapping[str, str], language: str) -> HttpResponse:
    """A header that the response has already stays as it is."""
    for name, value in headers.items():
        response.setdefault(name, value)
    response["Content-Language"] = language
    # Stops Django's own log line: the middleware writes one for every request.
    response._has_been_logged = True  # type: ignore[attr-defined]  # noqa: SLF001  its own switch
    return response
