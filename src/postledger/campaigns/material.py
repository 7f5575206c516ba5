"""What a campaign says: its own words, a template, an article of slices, or a page of Notion."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from postledger.content.source import Format


@dataclass(frozen=True, slots=True)
class Words:
    """A subject and a body of its own, in one language."""

    subject: str
    body: str
    format: Format
    text: str = ""
    locale: str = "en"
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OfTemplate:
    """A template of the workspace; without a version, the newest one at launch."""

    key: str
    version: int | None = None


@dataclass(frozen=True, slots=True)
class OfArticle:
    """The published slices of an article, put together for each recipient's places."""

    key: str


@dataclass(frozen=True, slots=True)
class OfPage:
    """A page of Notion, read at launch."""

    page_id: str


type Material = Words | OfTemplate | OfArticle | OfPage

_KINDS: Mapping[str, type[Words | OfTemplate | OfArticle | OfPage]] = {
    "words": Words,
    "template": OfTemplate,
    "article": OfArticle,
    "page": OfPage,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def written(material: Material) -> dict[str, Any]:
    return {"kind": _NAMES[type(material)], **asdict(material)}


def read(stored: Mapping[str, Any]) -> Material:
    fields = {name: value for name, value in stored.items() if name != "kind"}
    if stored["kind"] == "words":
        fields["format"] = Format(fields["format"])
        fields["required"] = tuple(fields["required"])
        fields["optional"] = tuple(fields["optional"])
    return _KINDS[stored["kind"]](**fields)


def article_of(stored: Mapping[str, Any]) -> str:
    """The key of the article that a campaign says; empty where it says something else."""
    return str(stored["key"]) if stored["kind"] == "article" else ""
