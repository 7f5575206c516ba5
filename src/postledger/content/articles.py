"""A workspace's articles and their slices: creates, changes and reads them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from dataclasses import fields as dataclass_fields
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count, QuerySet
from django.db.models.functions import Now

from postledger.accounts import constraints, trail
from postledger.content import models, slice_checks
from postledger.content.slice_checks import InvalidSliceError
from postledger.content.slices import Slice, SliceFields
from postledger.lib import moments
from postledger.lib.errors import ConflictError, NotFoundError, RefusedError
from postledger.lib.sentences import say


class ArticleExistsError(ConflictError):
    code = "article_exists"


class ArticleUnknownError(NotFoundError):
    code = "article_unknown"


class InvalidArticleKeyError(RefusedError):
    code = "invalid_article_key"


class SliceUnknownError(NotFoundError):
    code = "slice_unknown"


@dataclass(frozen=True, slots=True)
class ArticleSummary:
    """An article in a list."""

    key: str
    title: str
    slice_count: int
    created_at: datetime
    updated_at: datetime


def create(workspace_id: int, *, key: str, title: str, actor: str) -> int:
    constraints.check_name("an article", title)
    taken = ArticleExistsError(
        say(
            "This workspace has an article “%(key)s” already: change it, or choose another key.",
            key=key,
        )
    )
    wrong = InvalidArticleKeyError(
        say(
            "'%(key)s' cannot be the key of an article: use up to 200 lowercase letters,"
            " digits and hyphens.",
            key=key[:64],
        )
    )
    with constraints.refusing(content_article_once=taken, content_article_key=wrong):
        article = models.Article.objects.create(workspace_id=workspace_id, key=key, title=title)
        _note(workspace_id, actor, "article.created", f"article {key}", title=title)
    return article.pk


def update(workspace_id: int, *, key: str, title: str, actor: str) -> None:
    constraints.check_name("an article", title)
    with transaction.atomic():
        own = models.Article.objects.filter(workspace_id=workspace_id, key=key)
        if not own.update(title=title, updated_at=Now()):
            raise _unknown(key)
        _note(workspace_id, actor, "article.updated", f"article {key}", title=title)


def lock(workspace_id: int, *, key: str) -> None:
    """Keeps an article from being deleted until the caller's transaction ends."""
    own = models.Article.objects.filter(workspace_id=workspace_id, key=key)
    if own.select_for_update(no_key=True).first() is None:
        raise _unknown(key)


def delete(workspace_id: int, *, key: str, actor: str) -> None:
    """Deletes an article with all its slices; letters that were made of it stay."""
    with transaction.atomic():
        article_id = _lock_and_touch(workspace_id, key)
        count, _ = models.Slice.objects.filter(article_id=article_id).delete()
        article = models.Article.objects.get(pk=article_id)
        article.delete()
        facts: dict[str, trail.Fact] = {"title": article.title, "slices": count}
        _note(workspace_id, actor, "article.deleted", f"article {key}", **facts)


def list_articles(workspace_id: int) -> list[ArticleSummary]:
    return [ArticleSummary(*row) for row in _summaries(workspace_id).order_by("key")]


def find_article(workspace_id: int, *, key: str) -> ArticleSummary:
    row = _summaries(workspace_id).filter(key=key).first()
    if row is None:
        raise _unknown(key)
    return ArticleSummary(*row)


def _summaries(workspace_id: int) -> QuerySet[models.Article, tuple[Any, ...]]:
    return (
        models.Article.objects.filter(workspace_id=workspace_id)
        .annotate(slice_count=Count("slice"))
        .values_list("key", "title", "slice_count", "created_at", "updated_at")
    )


def add_slice(workspace_id: int, *, article_key: str, fields: SliceFields, actor: str) -> int:
    _check(workspace_id, article_key, fields)
    with _storing(fields):
        article_id = _lock_and_touch(workspace_id, article_key)
        added = models.Slice.objects.create(article_id=article_id, **asdict(fields))
        _note(workspace_id, actor, "slice.added", f"slice {added.pk}", article=article_key)
    return added.pk


def change_slice(
    workspace_id: int, *, article_key: str, slice_id: int, fields: SliceFields, actor: str
) -> None:
    """Replaces all fields of a slice."""
    _check(workspace_id, article_key, fields)
    with _storing(fields):
        article_id = _lock_and_touch(workspace_id, article_key)
        slices = models.Slice.objects.filter(pk=slice_id, article_id=article_id)
        if not slices.update(**asdict(fields), updated_at=Now()):
            raise _unknown_slice(article_key, slice_id)
        _note(workspace_id, actor, "slice.changed", f"slice {slice_id}", article=article_key)


def delete_slice(workspace_id: int, *, article_key: str, slice_id: int, actor: str) -> None:
    with transaction.atomic():
        article_id = _lock_and_touch(workspace_id, article_key)
        deleted, _ = models.Slice.objects.filter(pk=slice_id, article_id=article_id).delete()
        if not deleted:
            raise _unknown_slice(article_key, slice_id)
        _note(workspace_id, actor, "slice.deleted", f"slice {slice_id}", article=article_key)


def lock_slice(workspace_id: int, *, article_key: str, slice_id: int) -> Slice:
    """The slice as it is until the transaction ends; changes of its article wait for it."""
    own = models.Article.objects.filter(workspace_id=workspace_id, key=article_key)
    own.select_for_update(no_key=True).first()
    slices = _read(workspace_id, article_key, id=slice_id)
    if not slices:
        raise _unknown_slice(article_key, slice_id)
    return slices[0]


def list_slices(workspace_id: int, *, article_key: str) -> list[Slice]:
    """Every slice of an article, drafts too, by section and index."""
    return _read(workspace_id, article_key)


def list_published(workspace_id: int, *, article_key: str) -> list[Slice]:
    """The slices that a campaign makes letters of; windows are not checked."""
    return _read(workspace_id, article_key, is_published=True)


_FIELDS = [field.name for field in dataclass_fields(Slice)]


def _read(workspace_id: int, article_key: str, **conditions: object) -> list[Slice]:
    rows = (
        models.Slice.objects.filter(article__workspace_id=workspace_id, article__key=article_key)
        .filter(**conditions)
        .order_by("section_order", "sort_index", "id")
        .values(*_FIELDS)
    )
    slices = [Slice(**row) for row in rows]
    if not slices:
        find_article(workspace_id, key=article_key)  # an unknown article is refused
    return slices


def _lock_and_touch(workspace_id: int, key: str) -> int:
    """The article's id; its row is marked as changed and locked, so that no slice outlives it."""
    own = models.Article.objects.filter(workspace_id=workspace_id, key=key)
    if not own.update(updated_at=Now()):
        raise _unknown(key)
    return own.values_list("pk", flat=True).get()


def _check(workspace_id: int, article_key: str, fields: SliceFields) -> None:
    """Apart from the transaction, which waits for nobody who writes Liquid."""
    slice_checks.check_texts(fields)
    slice_checks.check_place(fields)
    others = list_slices(workspace_id, article_key=article_key)
    slice_checks.check_values(workspace_id, fields, others)


@contextmanager
def _storing(fields: SliceFields) -> Iterator[None]:
    """A transaction in which fields are stored, or refused by the constraint that they break."""
    scope = slice_checks.refuse_place(fields.scope_ocd_id or "")
    window = InvalidSliceError(
        say(
            "The slice was not stored: the time until which readers get it is not after the time"
            " from which they get it. Correct one of them, or leave one out."
        ),
        "published_until",
    )
    headline = InvalidSliceError(
        say(
            "The slice was not stored: a headline needs a title, or a dek (the short text under"
            " it). Write one, or let the slice be no headline."
        ),
        "title",
    )
    years = InvalidSliceError(
        say(
            "The slice was not stored: published_from and published_until take years from %(first)s"
            " to %(last)s. Correct them, or leave them out.",
            first=str(moments.FIRST_YEAR),
            last=str(moments.LAST_YEAR),
        ),
        "published_until",
    )
    with constraints.refusing(
        content_slice_scope=scope,
        content_slice_window=window,
        content_slice_headline=headline,
        content_slice_years=years,
    ):
        yield


def _unknown(key: str) -> ArticleUnknownError:
    return ArticleUnknownError(say("Article “%(key)s” not found in this workspace.", key=key[:64]))


def _unknown_slice(key: str, slice_id: int) -> SliceUnknownError:
    return SliceUnknownError(
        say(
            "Slice %(number)s not found in the article “%(key)s”: it may have been deleted.",
            number=str(slice_id),
            key=key[:64],
        )
    )


def _note(
    workspace_id: int, actor: str, action: trail.Action, subject: str, **data: trail.Fact
) -> None:
    trail.note(workspace_id, actor=actor, action=action, subject=subject, data=data)
