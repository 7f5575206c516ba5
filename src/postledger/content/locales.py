"""Which of a template's locales serves a reader: the one asked for, its language, or a fallback."""

import re
from collections.abc import Collection

from postledger.lib.errors import RefusedError
from postledger.lib.sentences import Sentence, say
from postledger.lib.values import LOCALE_PATTERN, LONGEST_LOCALE, describe_no_locale

LONGEST = LONGEST_LOCALE

# As of a contact, or nobody would match; programs may also ask for a variant, like de-1996.
_LOCALE = re.compile(rf"{LOCALE_PATTERN}(-([a-z0-9]{{5,8}}|[0-9][a-z0-9]{{3}}))*")
_REGION = 2
_SCRIPT = 4


class MissingLocaleError(RefusedError):
    code = "template_missing_locale"


class InvalidLocaleError(RefusedError):
    code = "invalid_locale"


def choose(requested: str, *, available: Collection[str], fallback: str = "") -> str:
    """The locale that serves a reader of `requested`, spelled as in `available`.

    A locale that is not available is shortened from its end until one is: zh-Hant-TW is served by
    zh-Hant, and then by zh. No locale is ever made longer: pt is not served by pt-BR.
    """
    if len(requested) > LONGEST:
        raise MissingLocaleError(
            say(
                "'%(requested)s' goes on for %(size)s characters, and a locale has at most"
                " %(longest)s. Ask for a language like en, or a region like pt-BR.",
                requested=requested[:LONGEST],
                size=len(requested),
                longest=LONGEST,
            )
        )
    spelling = {_fold(locale): locale for locale in available}
    wanted = _fold(requested)
    while wanted:
        if wanted in spelling:
            return spelling[wanted]
        wanted = wanted.rpartition("-")[0]
    if fallback and _fold(fallback) in spelling:
        return spelling[_fold(fallback)]
    raise MissingLocaleError(_say_missing(requested, ", ".join(sorted(available)) or say("none")))


def _say_missing(requested: str, available: str | Sentence) -> Sentence:
    if not requested:
        return say(
            "The template has no text for readers without a language; it has %(available)s. Ask"
            " for one of these, or add a version of the template that has a fallback.",
            available=available,
        )
    return say(
        "The template has no text for the locale '%(requested)s'; it has %(available)s. Ask"
        " for one of these, or add a version of the template that has this one or a"
        " fallback.",
        requested=requested,
        available=available,
    )


def canonical(locale: str) -> str:
    """A locale as BCP 47 recommends to write it: pt-BR for pt_br, zh-Hant-TW for ZH-hant-tw."""
    language, *others = locale.replace("_", "-").lower().split("-")
    written = "-".join([language, *map(_capitalize, others)])
    # Before it was spelled so: ß and the like have several spellings.
    if len(locale) > LONGEST or not locale.isascii() or not _LOCALE.fullmatch(written):
        raise InvalidLocaleError(describe_no_locale(locale))
    return written


def _capitalize(subtag: str) -> str:
    if len(subtag) == _REGION:
        return subtag.upper()
    return subtag.capitalize() if len(subtag) == _SCRIPT and subtag.isalpha() else subtag


def _fold(locale: str) -> str:
    return locale.strip().replace("_", "-").lower()
