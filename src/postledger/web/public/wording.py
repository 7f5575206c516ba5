"""The words of the public pages in three languages, and which of them a visitor reads."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources

from django.utils.translation.trans_real import parse_accept_lang_header

type Words = Mapping[str, Mapping[str, str]]

# The first serves whoever reads none of them.
LANGUAGES = ("en", "ru", "pt")


def language(asked: str, *, accepted: str) -> str:
    """The language that was asked for by its code, else the best of an Accept-Language header."""
    weighed = parse_accept_lang_header(accepted.lower())
    told = [asked.lower(), *(code for code, weight in weighed if weight)]
    known = (code.partition("-")[0] for code in told)
    return next((code for code in known if code in LANGUAGES), LANGUAGES[0])


@cache
def words(code: str) -> Words:
    file = resources.files("postledger.web.public") / "words" / f"{code}.toml"
    return tomllib.loads(file.read_text("utf-8"))


def filled(told: Words, **values: str) -> Words:
    """The words with values in their places; a place without a value stays as it is."""
    return {
        section: {key: _put(text, values) for key, text in texts.items()}
        for section, texts in told.items()
    }


def _put(text: str, values: Mapping[str, str]) -> str:
    """One pass, so that what stands in braces inside a value is never filled in."""
    parts = text.split("{")
    put = [parts[0]]
    for part in parts[1:]:
        name, brace, rest = part.partition("}")
        put.append(values[name] + rest if brace and name in values else "{" + part)
    return "".join(put)
