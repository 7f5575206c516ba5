"""What events of providers are made of: fields of JSON whose writers nobody knows."""

from collections.abc import Mapping
from hashlib import sha256

LONGEST_TEXT = 500
LONGEST_NAME = 100
LONGEST_ADDRESS = 320

type Document = Mapping[str, object]


def read_text(document: Document, field: str, longest: int = LONGEST_TEXT) -> str:
    """The text of a field, as `clean_text` gives it; empty if there is none."""
    return clean_text(document.get(field), longest)


def clean_text(value: object, longest: int = LONGEST_TEXT) -> str:
    """The text in one line, bounded, and without what could steer a terminal."""
    if not isinstance(value, str):
        return ""
    text = value[:longest]
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))


def write_key(*facts: str) -> str:
    """A hash of what tells an event from all others, and is the same for its repetitions."""
    return sha256("\n".join(facts).encode(errors="surrogatepass")).hexdigest()[:40]
