"""The words of a template in all their locales, and which of them are taken as a version."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from postledger.content import locales, scripts, storable
from postledger.content.letter import Letter
from postledger.content.source import Source
from postledger.lib.errors import RefusedError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_LONGEST_SHOWN = 64


@dataclass(frozen=True, slots=True)
class Version:
    """A template in all its locales, and the variables that fill it."""

    required: tuple[str, ...]
    optional: tuple[str, ...]
    fallback_locale: str  # empty: a locale that is not there is missing
    texts: tuple[Source, ...]

    def locales(self) -> list[str]:
        return sorted(text.locale for text in self.texts)

    def text(self, locale: str) -> Source:
        """The text that serves who asks for this locale; refused when there is none."""
        chosen = locales.choose(locale, available=self.locales(), fallback=self.fallback_locale)
        return next(text for text in self.texts if text.locale == chosen)


class InvalidVersionError(RefusedError):
    code = "invalid_template_version"


def checked(version: Version) -> Version:
    """The version with its locales written in one way; refused when it could not be used."""
    canonical = replace(
        version,
        fallback_locale=version.fallback_locale and locales.canonical(version.fallback_locale),
        texts=tuple(replace(text, locale=locales.canonical(text.locale)) for text in version.texts),
    )
    flaw = next(_flaws(canonical), None)
    if flaw:
        raise InvalidVersionError(f"The version was not stored: {flaw}")
    for text in canonical.texts:
        for place, words in (("subject", text.subject), ("body", text.body), ("text", text.text)):
            storable.check(place, words)
        _try(text, canonical)
    return canonical


def _try(text: Source, version: Version) -> None:
    """Makes a letter, so that what no mail can be made of is not found out at the first one."""
    try:
        Letter(scripts.of_source(text, required=version.required, optional=version.optional))
    except RefusedError as refused:
        raise InvalidVersionError(
            f"The version was not stored: no mail can be made of its text for the locale"
            f" {text.locale}. {refused}"
        ) from refused


def _flaws(version: Version) -> Iterator[str]:
    if not version.texts:
        yield "it has no text. Give it one in at least one locale."
    for locale in _repeated(version.locales()):
        yield f"it has two texts for the locale {locale}. Keep one of them."
    if version.fallback_locale and version.fallback_locale not in version.locales():
        yield (
            f"it has no text for its fallback locale {version.fallback_locale}. Add one, or name"
            f" one of {', '.join(version.locales())}."
        )
    yield from _wrong_names([*version.required, *version.optional])
    for text in version.texts:
        yield from _wrong_words(text)


def _wrong_names(names: list[str]) -> Iterator[str]:
    for name in names:
        if not _NAME.fullmatch(name):
            yield (
                f"{name[:_LONGEST_SHOWN]!r} cannot be the name of a variable. Write up to 64"
                " letters, digits and _, and no digit first."
            )
    for name in _repeated(names):
        yield f"the variable {name} is declared twice. Keep it as required or as optional."


def _wrong_words(text: Source) -> Iterator[str]:
    where = f"for the locale {text.locale}"
    if not text.subject.strip():
        yield f"it has no subject {where}. Write one."
    if not text.body.strip():
        yield f"it has no body {where}. Write one."


def _repeated(words: list[str]) -> list[str]:
    return [word for word, count in Counter(words).items() if count > 1]
