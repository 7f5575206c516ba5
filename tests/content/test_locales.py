"""Which locale serves a reader, and how one is written."""

import pytest

from postledger.content import locales
from postledger.content.locales import InvalidLocaleError, MissingLocaleError


def test_a_locale_is_served_by_itself_or_by_what_it_begins_with() -> None:
    for asked, available, chosen in [
        ("pt-BR", ["en", "pt", "pt-BR"], "pt-BR"),
        ("pt_BR", ["en", "pt", "pt-BR"], "pt-BR"),
        ("PT-br", ["en", "pt", "pt-BR"], "pt-BR"),
        (" pt-BR ", ["pt-BR"], "pt-BR"),
        ("pt-BR", ["en", "pt"], "pt"),
        ("pt_br", ["en", "PT"], "PT"),
        ("zh-Hant-TW", ["zh", "zh-Hant"], "zh-Hant"),
        ("zh-Hant-TW", ["zh"], "zh"),
    ]:
        assert locales.choose(asked, available=available, fallback="en") == chosen, asked


def test_any_other_locale_is_served_by_the_fallback_or_missing() -> None:
    for asked in ["fr", "fr-CA", "pt", "ptx", "", "-", "?!"]:
        assert locales.choose(asked, available=["de", "pt-BR"], fallback="DE") == "de", asked
    for fallback in ["", "en"]:
        with pytest.raises(MissingLocaleError, match=r"'fr-CA'; it has pt-BR, ru\.") as refused:
            locales.choose("fr-CA", available=["ru", "pt-BR"], fallback=fallback)

        assert refused.value.code == "template_missing_locale", fallback
        with pytest.raises(MissingLocaleError, match=r"without a language; it has pt-BR, ru\."):
            locales.choose("", available=["ru", "pt-BR"], fallback=fallback)
    with pytest.raises(MissingLocaleError, match="200,000 characters"):
        locales.choose("a-" * 100_000, available=["a"], fallback="a")


def test_a_locale_is_written_in_one_way() -> None:
    for written, canonical in [
        ("EN", "en"),
        ("pt_br", "pt-BR"),
        ("ZH-hant-tw", "zh-Hant-TW"),
        ("es-419", "es-419"),
        ("ca-VALENCIA", "ca-valencia"),
        ("de-1996", "de-1996"),
    ]:
        assert locales.canonical(written) == canonical, written


def test_what_is_no_locale_is_refused() -> None:
    for written in [
        "",
        "e",
        "1a",
        "pt-",
        "pt--BR",
        "pt BR",
        "en\n",
        "en-" + "a" * 9,
        "en" + "-aa" * 12,
        "deutsch",
        "English",
        "de-D",
        "pt-Brasil-BR",
    ]:
        with pytest.raises(InvalidLocaleError, match="is not the code of a language: write"):
            locales.canonical(written)
