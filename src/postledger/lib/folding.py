"""Texts as people type them: with or without capitals and accents."""

import unicodedata

_SIGNS = str.maketrans("", "", " -_.")


def fold_accents(text: str) -> str:
    """The text without capitals and accents."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def fold_words(text: str) -> str:
    """In lowercase, without accents and the signs between the words."""
    return fold_accents(text.translate(_SIGNS))
