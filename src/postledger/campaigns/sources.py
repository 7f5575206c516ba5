"""Finds what a campaign's material names: a template of the workspace, or an article's slices."""

from typing import ClassVar

from postledger.content import articles, templates
from postledger.content.articles import ArticleUnknownError
from postledger.content.slices import Slice
from postledger.content.templates import TemplateUnknownError
from postledger.content.wording import Version
from postledger.lib.errors import RefusedError


class ContentUnknownError(RefusedError):
    """Of the campaign itself nothing is wrong: what it is to say is not there."""

    code: ClassVar[str] = "content_unknown"


def template(workspace_id: int, key: str, version: int | None) -> Version:
    try:
        _, found = templates.whole(workspace_id, key=key, version=version)
    except TemplateUnknownError:
        raise ContentUnknownError(
            f"The workspace has no template {key[:64]!r} in use"
            f"{'' if version is None else f' with a version {version}'}, which the campaign is to"
            " say. Make it, or let the campaign say something else."
        ) from None
    return found


def slices(workspace_id: int, key: str) -> tuple[Slice, ...]:
    try:
        return tuple(articles.published(workspace_id, article_key=key))
    except ArticleUnknownError:
        raise ContentUnknownError(
            f"The workspace has no article {key[:200]!r}, which the campaign is to say."
            " Write it, or let the campaign say something else."
        ) from None
