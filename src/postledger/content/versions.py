"""Versions of templates: which are accepted, and the built-in ones."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from postledger.content import isolation, locales
from postledger.content.rendering import letter
from postledger.content.rendering.html import checks
from postledger.content.rendering.source import Format, Source, make_script
from postledger.lib.errors import RefusedError, TooManyRequestsError
from postledger.lib.sentences import say

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class Version:
    """A template in all its locales, and the variables that fill it."""

    required: tuple[str, ...]
    optional: tuple[str, ...]
    fallback_locale: str  # empty: a locale without a text is missing
    texts: tuple[Source, ...]
    number: int = 0  # 0 until it is stored

    def locales(self) -> list[str]:
        return sorted(text.locale for text in self.texts)

    def text(self, locale: str) -> Source:
        """The text that serves a reader of this locale; refused when no text does."""
        chosen = locales.choose(locale, available=self.locales(), fallback=self.fallback_locale)
        return next(text for text in self.texts if text.locale == chosen)


@dataclass(frozen=True, slots=True)
class BuiltinTemplate:
    """A template that every workspace sees; its first version has the number 1."""

    key: str
    name: str
    versions: tuple[Version, ...]


class InvalidVersionError(RefusedError):
    code = "invalid_template_version"


def check_version(version: Version, *, workspace_id: int | None) -> Version:
    """The version with its locales spelled canonically; refused when no mail can be made of it."""
    canonical = replace(
        version,
        fallback_locale=version.fallback_locale and locales.canonical(version.fallback_locale),
        texts=tuple(replace(text, locale=locales.canonical(text.locale)) for text in version.texts),
    )
    for flaw in _flaws(canonical):
        raise InvalidVersionError(say("The version was not stored: %(flaw)s", flaw=flaw))
    for text in canonical.texts:
        for place in ("subject", "preheader", "body", "text"):
            checks.refuse_unstorable(place, getattr(text, place))
        try:
            script = isolation.render(
                workspace_id,
                make_script,
                text,
                required=version.required,
                optional=version.optional,
            )
            isolation.render(workspace_id, letter.check, script)
        except TooManyRequestsError:
            raise  # says nothing about the version
        except RefusedError as refused:
            raise InvalidVersionError(
                say(
                    "The version was not stored: no mail can be made of its text for the"
                    " locale %(locale)s. %(refused)s",
                    locale=text.locale,
                    refused=refused.sentence,
                )
            ) from refused
    return canonical


def _flaws(version: Version) -> Iterator[str]:
    if not version.texts:
        yield say("it has no text. Give it one in at least one locale.")
    for locale in _repeated(version.locales()):
        yield say("it has two texts for the locale %(locale)s. Keep one of them.", locale=locale)
    if version.fallback_locale and version.fallback_locale not in version.locales():
        yield (
            say(
                "it has no text for its fallback locale %(fallback_locale)s. Add one, or name"
                " one of %(locales)s.",
                fallback_locale=version.fallback_locale,
                locales=", ".join(version.locales()),
            )
        )
    yield from _name_flaws([*version.required, *version.optional])
    for text in version.texts:
        if not text.subject.strip():
            yield say("it has no subject for the locale %(locale)s. Write one.", locale=text.locale)
        if not text.body.strip():
            yield say("it has no body for the locale %(locale)s. Write one.", locale=text.locale)


def _name_flaws(names: list[str]) -> Iterator[str]:
    for name in names:
        if not _NAME.fullmatch(name):
            yield (
                say(
                    "'%(name)s' cannot be the name of a variable. Use up to 64 letters, digits"
                    " and _, and begin with no digit.",
                    name=name[:64],
                )
            )
    for name in _repeated(names):
        yield say(
            "the variable %(name)s is declared twice. Keep it as required or as optional.",
            name=name,
        )


def _repeated(values: list[str]) -> list[str]:
    return [value for value, count in Counter(values).items() if count > 1]


@cache
def builtin_templates() -> Mapping[str, BuiltinTemplate]:
    """The templates that come with the product, by key; read once from files."""
    folder = resources.files("postledger.content") / "builtin"
    builtins = (_read_template(template) for template in folder.iterdir() if template.is_dir())
    return {template.key: template for template in sorted(builtins, key=lambda read: read.key)}


def _read_template(folder: Traversable) -> BuiltinTemplate:
    """A folder with one folder for each version, named v1, v2 and so on without a gap."""
    count = sum(version.is_dir() for version in folder.iterdir())
    numbered = [_read_version(folder, number) for number in range(1, count + 1)]
    return BuiltinTemplate(folder.name, numbered[-1][0], tuple(version for _, version in numbered))


def _read_version(template: Traversable, number: int) -> tuple[str, Version]:
    folder = template / f"v{number}"
    meta = tomllib.loads((folder / "version.toml").read_text("utf-8"))
    texts = tuple(
        Source(subject, (folder / f"{locale}.md").read_text("utf-8"), Format.MARKDOWN, "", locale)
        for locale, subject in meta["subjects"].items()
    )
    # Without a fallback locale: nobody gets a language that they did not ask for.
    version = Version(tuple(meta["required"]), tuple(meta["optional"]), "", texts, number)
    return meta["name"], check_version(version, workspace_id=None)
