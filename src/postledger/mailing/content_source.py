"""The source of a mail's content: inline, a template, an article's slices, or a Notion page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter

from postledger.content import articles, templates
from postledger.content.articles import ArticleUnknownError
from postledger.content.rendering.source import Format, Source
from postledger.content.slices import Slice
from postledger.content.templates import TemplateUnknownError
from postledger.content.versions import Version
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import Sentence, say


class ContentUnknownError(RefusedError):
    """The campaign exists, but not the content that it names."""

    code = "content_unknown"


@dataclass(frozen=True, slots=True)
class InlineSource:
    """A subject and a body in one language."""

    subject: str
    body: str
    format: Format
    text: str = ""
    locale: str = "en"
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    preheader: str = ""
    kind: Literal["inline"] = "inline"

    @property
    def source(self) -> Source:
        return Source(self.subject, self.body, self.format, self.text, self.locale, self.preheader)


@dataclass(frozen=True, slots=True)
class TemplateSource:
    """A template of the workspace; without a version, the newest one at launch."""

    key: str
    version: int | None = None
    kind: Literal["template"] = "template"


@dataclass(frozen=True, slots=True)
class ArticleSource:
    """The published slices of an article, assembled for each recipient's places."""

    key: str
    kind: Literal["article"] = "article"


@dataclass(frozen=True, slots=True)
class PageSource:
    """A Notion page, read at launch."""

    page_id: str
    kind: Literal["page"] = "page"


type ContentSource = InlineSource | TemplateSource | ArticleSource | PageSource

_JSON: TypeAdapter[ContentSource] = TypeAdapter(ContentSource)
_TEXT_JSON: TypeAdapter[InlineSource | None] = TypeAdapter(InlineSource | None)


def to_json(content: ContentSource) -> dict[str, Any]:
    stored: dict[str, Any] = _JSON.dump_python(content, mode="json")
    return stored


def from_json(stored: Mapping[str, Any]) -> ContentSource:
    return _JSON.validate_python(stored)


def text_from_json(stored: Mapping[str, Any] | None) -> InlineSource | None:
    return _TEXT_JSON.validate_python(stored)


def find_template(workspace_id: int, content: TemplateSource) -> Version:
    try:
        return templates.find_version(workspace_id, key=content.key, number=content.version)
    except TemplateUnknownError:
        raise ContentUnknownError(_say_unknown(content)) from None


def _say_unknown(content: TemplateSource) -> Sentence:
    key = content.key[:64]
    if content.version is None:
        return say(
            "This workspace has no active template '%(key)s', which the campaign names. Create it,"
            " or choose other content.",
            key=key,
        )
    return say(
        "This workspace has no active template '%(key)s' with a version %(version)s, which the"
        " campaign names. Create it, or choose other content.",
        key=key,
        version=str(content.version),
    )


def find_slices(workspace_id: int, content: ArticleSource) -> tuple[Slice, ...]:
    try:
        return tuple(articles.list_published(workspace_id, article_key=content.key))
    except ArticleUnknownError:
        raise ContentUnknownError(
            say(
                "This workspace has no article '%(key)s', which the campaign names. Create it,"
                " or choose other content.",
                key=content.key[:200],
            )
        ) from None
