"""The look of a workspace on its public pages: its logo, and its colour on what can be pressed."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from postledger.content import brandings

# What a policy may name: a host outside ASCII, or with a name before it, has no logo here.
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?")


@dataclass(frozen=True, slots=True)
class Look:
    style: str = ""  # beside that of all pages
    logo_url: str = ""
    logo_origin: str = ""  # pictures may come from there


PLAIN = Look()  # of errors, which belong to no workspace


def find_look(workspace_id: int) -> Look:
    branding = brandings.find_branding(workspace_id)
    origin = _find_origin(branding.logo_url)
    is_safe = _ORIGIN.fullmatch(origin) is not None
    return Look(
        style=_colour(branding.accent) if branding.accent else "",
        logo_url=branding.logo_url if is_safe else "",
        logo_origin=origin if is_safe else "",
    )


def _find_origin(url: str) -> str:
    """Empty if nobody can read the URL: rules were laxer when it was stored."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}"


def _colour(accent: str) -> str:
    """It was checked against white alone, so only what lies on the white card has it."""
    return f"@media (prefers-color-scheme: light) {{ main {{ --deed: {accent}; }} }}"
