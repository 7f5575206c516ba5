"""Reads the language in a cell, as a code or by its name."""

import re

from django.conf.locale import LANG_INFO

from postledger.lib.folding import fold_accents
from postledger.lib.values import LOCALE_PATTERN

_LOCALE = re.compile(LOCALE_PATTERN)


def read_locale(cell: str) -> str:
    """The locale that a cell means, such as pt-BR for pt_br; the cell itself if it means none.

    A language is also read by its name in English, or its own: German, Deutsch. A code is read in
    other letters than those of a locale only if its language is a known one: AT is no language.
    """
    if _LOCALE.fullmatch(cell):
        return cell
    if code := _BY_NAME.get(fold_accents(cell)):
        return code
    spelled = _spell(cell)
    is_known = spelled.partition("-")[0] in _LANGUAGES
    return spelled if is_known and _LOCALE.fullmatch(spelled) else cell


def _spell(code: str) -> str:
    language, *others = code.replace("_", "-").split("-")
    parts = (part.title() if len(part) == len("Hant") else part.upper() for part in others)
    return "-".join((language.lower(), *parts))


_LANGUAGES = {code.partition("-")[0] for code in LANG_INFO}
_BY_NAME = {
    fold_accents(info[name]): _spell(info["code"])
    for info in LANG_INFO.values()
    for name in ("name", "name_local")
    if name in info
}
