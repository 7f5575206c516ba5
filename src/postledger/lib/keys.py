"""Keys that are made from names."""

from django.utils.text import slugify

# Letters that are one by themselves, so that no accent can be taken off.
_PLAIN_LETTERS = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "\u0131": "i"}
)


def make_key(name: str, *, longest: int) -> str:
    """Lowercase letters from a to z, digits and hyphens that resemble a name: `Grüße` → `grusse`.

    Empty for a name without a Latin letter or a digit.
    """
    plain = name.casefold().translate(_PLAIN_LETTERS)
    return slugify(plain).replace("_", "-")[:longest].strip("-")
