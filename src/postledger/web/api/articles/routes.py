"""Routes for articles and their slices."""

from dataclasses import asdict
from typing import Annotated

from ninja import Path

from postledger.accounts.keys import Scope
from postledger.campaigns import article_deletion
from postledger.content import articles, previews
from postledger.content.articles import ArticleSummary
from postledger.web.api.articles.schemas import (
    ArticleChangeIn,
    ArticleList,
    ArticleOut,
    ArticlePreview,
    ArticlePreviewIn,
    NewArticleIn,
    SliceIn,
    SliceList,
    SliceOut,
)
from postledger.web.api.common.fields import ArticleKey, path_id
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.common.schemas import preview_fields

routes = Routes("articles", read=Scope.CONTENT_READ, write=Scope.CONTENT_WRITE)

Key = Annotated[ArticleKey, Path(description="The key of the article.")]
SliceId = Annotated[int, path_id("The id of the slice.")]


@routes.get("", ArticleList)
def list_articles(call: Call) -> dict[str, object]:
    """All articles of the workspace, by key."""
    return {"articles": articles.list_articles(call.workspace_id)}


@routes.post("", ArticleOut, status=201, shown_with=None)
def create_article(call: Call, payload: NewArticleIn) -> ArticleSummary:
    """Creates an article without slices."""
    articles.create(call.workspace_id, key=payload.key, title=payload.title, actor=call.actor)
    return articles.find_article(call.workspace_id, key=payload.key)


@routes.get("/{key}", ArticleOut)
def get_article(call: Call, key: Key) -> ArticleSummary:
    """The article without its slices."""
    return articles.find_article(call.workspace_id, key=key)


@routes.patch("/{key}", ArticleOut)
def change_article(call: Call, key: Key, payload: ArticleChangeIn) -> ArticleSummary:
    """Changes the title. Only authors see it; recipients see the titles of slices."""
    articles.update(call.workspace_id, key=key, title=payload.title, actor=call.actor)
    return articles.find_article(call.workspace_id, key=key)


@routes.delete("/{key}")
def delete_article(call: Call, key: Key) -> None:
    """Deletes the article and its slices for good. Mail made from it does not change.

    Refused while drafts of campaigns are made from it.
    """
    article_deletion.delete_article(call.workspace_id, key=key, actor=call.actor)


@routes.get("/{key}/slices", SliceList)
def list_slices(call: Call, key: Key) -> dict[str, object]:
    """All slices with their texts, published or not."""
    return {"slices": articles.list_slices(call.workspace_id, article_key=key)}


@routes.post("/{key}/slices", SliceOut, status=201, shown_with=None)
def add_slice(call: Call, key: Key, payload: SliceIn) -> dict[str, object]:
    """Adds a slice. Recipients get it if `is_published` is true and its time has come."""
    fields = payload.slice_fields()
    slice_id = articles.add_slice(
        call.workspace_id, article_key=key, fields=fields, actor=call.actor
    )
    return {"id": slice_id, **asdict(fields)}


@routes.put("/{key}/slices/{int:slice_id}", SliceOut, shown_with=None)
def change_slice(call: Call, key: Key, slice_id: SliceId, payload: SliceIn) -> dict[str, object]:
    """Replaces a slice. Absent fields get their defaults."""
    fields = payload.slice_fields()
    articles.change_slice(
        call.workspace_id, article_key=key, slice_id=slice_id, fields=fields, actor=call.actor
    )
    return {"id": slice_id, **asdict(fields)}


@routes.delete("/{key}/slices/{int:slice_id}")
def delete_slice(call: Call, key: Key, slice_id: SliceId) -> None:
    """Deletes the slice for good."""
    articles.delete_slice(call.workspace_id, article_key=key, slice_id=slice_id, actor=call.actor)


@routes.post("/{key}/preview", ArticlePreview, scopes=[Scope.CONTENT_READ])
def preview_article(call: Call, key: Key, payload: ArticlePreviewIn) -> dict[str, object]:
    """Assembles the slices that are published for a recipient in these places."""
    preview = previews.preview_article(
        call.workspace_id,
        articles.list_published(call.workspace_id, article_key=key),
        ocd_ids=frozenset(payload.ocd_ids),
        now=payload.at or call.now,
    )
    slice_ids = [piece.id for piece in preview.slices]
    return preview_fields(preview.mail, dek=preview.dek, slice_ids=slice_ids)
