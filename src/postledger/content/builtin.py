"""The templates that come with the product, read once from the files beside this module."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from postledger.content import wording
from postledger.content.source import Format, Source
from postledger.content.wording import Version


@dataclass(frozen=True, slots=True)
class Builtin:
    """A template that every workspace sees; its first version has the number 1."""

    key: str
    name: str
    versions: tuple[Version, ...]


@cache
def templates() -> Mapping[str, Builtin]:
    """All of them, by key."""
    folder = resources.files("postledger.content") / "builtin"
    found = (_read(template) for template in folder.iterdir() if template.is_dir())
    return {template.key: template for template in sorted(found, key=lambda read: read.key)}


def _read(folder: Traversable) -> Builtin:
    """A folder with one folder for each version, named v1, v2 and so on without a gap."""
    count = sum(version.is_dir() for version in folder.iterdir())
    numbered = [_version(folder / f"v{number}") for number in range(1, count + 1)]
    return Builtin(folder.name, numbered[-1][0], tuple(version for _, version in numbered))


def _version(folder: Traversable) -> tuple[str, Version]:
    told = tomllib.loads((folder / "version.toml").read_text("utf-8"))
    texts = tuple(
        Source(
            subject=subject,
            body=(folder / f"{locale}.md").read_text("utf-8"),
            format=Format.MARKDOWN,
            locale=locale,
        )
        for locale, subject in told["subjects"].items()
    )
    version = Version(
        required=tuple(told["required"]),
        optional=tuple(told["optional"]),
        # A locale that is not there is told as missing: nobody gets a language they cannot read.
        fallback_locale="",
        texts=texts,
    )
    return told["name"], wording.checked(version)
