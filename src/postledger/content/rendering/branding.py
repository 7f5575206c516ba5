"""How mail in our layout shows whose it is: a logo above the content, and the colour of links."""

import re
from dataclasses import dataclass
from html import escape

LEAST_CONTRAST = 4.5  # WCAG 2.2 AA, of text
_WHITE = 1.0
_COLOUR = re.compile(r"#[0-9a-f]{6}")


@dataclass(frozen=True, slots=True)
class Branding:
    logo_url: str = ""
    logo_alt: str = ""
    accent: str = ""  # as #1d4ed8; empty: the layout's own


NO_BRANDING = Branding()


def render_logo(branding: Branding) -> str:
    """A row of the layout; empty without a logo. It lies on white in the dark too: most have dark
    letters on nothing.
    """
    if not branding.logo_url:
        return ""
    return (
        '<tr><td style="padding:24px 32px 0"><img'
        f' src="{escape(branding.logo_url)}" alt="{escape(branding.logo_alt)}" height="48"'
        ' style="height:48px;width:auto;max-width:100%;border:0;background-color:#ffffff">'
        "</td></tr>"
    )


def is_colour(text: str) -> bool:
    return _COLOUR.fullmatch(text) is not None


def find_contrast(colour: str) -> float:
    """Of the colour on white, as WCAG 2.2 computes it: 1 for white, 21 for black."""
    parts = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    red, green, blue = map(_linearize, parts)
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return (_WHITE + 0.05) / (luminance + 0.05)


def _linearize(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4  # noqa: PLR2004  of the standard
