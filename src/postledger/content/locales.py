"""Which of a template's locales serves a reader: the one asked for, its language, or a fallback."""

import re
from collections.abc import Collection

from postledger.lib.errors import RefusedError

LONGEST = 35

_FORM = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*")
_REGION = 2
_SCRIPT = 4


class MissingLocaleError(RefusedError):
    code = "template_missing_locale"


class InvalidLocaleError(RefusedError):
    code = "invalid_locale"


def choose(asked: str, *, available: Collection[str], fallback: str = "") -> str:
    """The locale that serves who asks for `asked`, spelt as in `available`.

    A locale that is not there is shortened from its end until one is: zh-Hant-TW is served by
    zh-Hant, and then by zh. Nothing is ever made longer: who asks for pt gets no pt-BR.
    """
    spelt = {_folded(locale): locale for locale in available}
    wanted = _folded(asked)
    while wanted:
        if wanted in spelt:
            return spelt[wanted]
        wanted = wanted.rpartition("-")[0]
    if fallback and _folded(fallback) in spelt:
        return spelt[_folded(fallback)]
    raise MissingLocaleError(
        f"The template has no text for the locale {asked[:LONGEST]!r}; it has"
        f" {', '.join(sorted(available)) or 'none'}. Ask for one of these, or add a version of the"
        " template that has this one or a fallback."
    )


def canonical(locale: str) -> str:
    """A locale as BCP 47 recommends to write it: pt-BR for pt_br, zh-Hant-TW for ZH-hant-tw."""
    written = locale.replace("_", "-")
    if len(written) > LONGEST or not _FORM.fullmatch(written):
        raise InvalidLocaleError(
            f"{locale[:LONGEST]!r} is not a locale: write a language like en, and a region after"
            " a hyphen where it matters, like pt-BR."
        )
    language, *others = written.lower().split("-")
    return "-".join([language, *map(_cased, others)])


def _cased(subtag: str) -> str:
    if len(subtag) == _REGION:
        return subtag.upper()
    return subtag.capitalize() if len(subtag) == _SCRIPT else subtag


def _folded(locale: str) -> str:
    return locale.strip().replace("_", "-").lower()
