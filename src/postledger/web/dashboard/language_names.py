"""Languages by their names, in the language of the page; a code without a name stays a code."""

from collections.abc import Iterable, Mapping
from functools import cache

from babel import Locale, UnknownLocaleError
from django.conf.locale import LANG_INFO
from django.utils.translation import get_language

from postledger.imports.locales import read_locale
from postledger.lib.folding import fold_accents
from postledger.web.shared import page_frame

type Choice = tuple[str, str]


def name_language(code: str) -> str:
    return _name(code, get_language() or "en")


def name_languages(codes: str) -> str:
    """The names of codes between commas."""
    return ", ".join(map(name_language, codes.split(", ")))


def read_codes(typed: str) -> str:
    """The codes of names between commas, or of one name; what is none stays as it was typed."""
    if code := _list_codes().get(fold_accents(typed.strip())):
        return code
    return ", ".join(_read_code(text.strip()) for text in typed.split(","))


def list_choices(used: Iterable[str]) -> tuple[list[Choice], list[Choice]]:
    """The languages that are used, and the others that have names."""
    codes = {code for code in used if code}
    others = {code for code in _list_known(get_language() or "en").values() if code not in codes}
    return _sort_by_name(codes), _sort_by_name(others)


def _sort_by_name(codes: Iterable[str]) -> list[Choice]:
    choices = ((code, name_language(code)) for code in codes)
    return sorted(choices, key=lambda choice: fold_accents(choice[1]))


def _read_code(text: str) -> str:
    return _list_codes().get(fold_accents(text)) or read_locale(text)


@cache
def _list_codes() -> Mapping[str, str]:
    """By name in any language of the dashboard: a colleague may have another one."""
    return {
        fold_accents(name): code
        for language in page_frame.MEMBER_LANGUAGES
        for name, code in _list_known(language).items()
    }


@cache
def _list_known(language: str) -> Mapping[str, str]:
    """Codes by name; of codes with the same name, one."""
    codes = map(read_locale, LANG_INFO)
    names = ((_name(code, language), code) for code in codes)
    return {name: code for name, code in names if name != code}


def _name(code: str, language: str) -> str:
    try:
        name = Locale.parse(code, sep="-").get_display_name(language) or code
    except (UnknownLocaleError, ValueError):
        return code
    return name[:1].upper() + name[1:]
