"""Which texts of authors can be kept."""

from postledger.content import checks
from postledger.lib.errors import RefusedError


class UnstorableTextError(RefusedError):
    code = "invalid_text"


def check(place: str, text: str) -> None:
    """Refuses what PostgreSQL stores not, and what is larger than any mail may be."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise _unwritten(place) from None
    if "\x00" in text:
        raise _unwritten(place)
    if size > checks.MAX_HTML_BYTES:
        raise UnstorableTextError(
            f"The {place} was not stored: it has {size} bytes as UTF-8, and no mail may have more"
            f" than {checks.MAX_HTML_BYTES}. Shorten it."
        )


def _unwritten(place: str) -> UnstorableTextError:
    return UnstorableTextError(
        f"The {place} was not stored: it holds U+0000 or half a character. Remove it."
    )
