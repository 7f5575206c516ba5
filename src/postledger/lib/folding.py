"""Texts as people type them: with or without capitals and accents."""

import unicodedata


def fold_accents(text: str) -> str:
    """The text without capitals and accents."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))
