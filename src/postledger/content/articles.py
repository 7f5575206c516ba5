"""A workspace's articles and their slices: makes and changes them, and reads them as values."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import datetime

from django.db import transaction
from django.db.models import Count, FilteredRelation, Q
from django.db.models.functions import Now

from postledger.accounts import constraints, names, trail
from postledger.content import models, storable
from postledger.content.slices import Slice
from postledger.lib.errors import RefusedError


class ArticleExistsError(RefusedError):
    code = "article_exists"


class ArticleUnknownError(RefusedError):
    code = "article_unknown"


class InvalidArticleKeyError(RefusedError):
    code = "invalid_article_key"


class SliceUnknownError(RefusedError):
    code = "slice_unknown"


class InvalidSliceError(RefusedError):
    code = "invalid_slice"


@dataclass(frozen=True, slots=True)
class ArticleFacts:
    """An article in a list."""

    key: str
    title: str
    slice_count: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """All that an author says of a slice."""

    scope_ocd_id: str | None = None
    section: str = ""
    section_order: int = 0
    sort_index: int = 0
    is_headline: bool = False
    title: str = ""
    dek: str = ""
    body_md: str = ""
    published_from: datetime | None = None
    published_until: datetime | None = None
    is_published: bool = False


def create(workspace_id: int, *, key: str, title: str, actor: str) -> int:
    names.check("an article", title)
    taken = ArticleExistsError(
        f"This workspace has an article {key!r} already: change that one, or choose another key."
    )
    wrong = InvalidArticleKeyError(
        f"{key[:64]!r} cannot be the key of an article: write up to 200 small letters, digits and"
        " hyphens."
    )
    with constraints.kept(content_article_once=taken, content_article_key=wrong):
        article = models.Article.objects.create(workspace_id=workspace_id, key=key, title=title)
        _note(workspace_id, "article.created", key, actor=actor, data={"title": title})
    return article.pk


def update(workspace_id: int, *, key: str, title: str, actor: str) -> None:
    names.check("an article", title)
    with transaction.atomic():
        own = models.Article.objects.filter(workspace_id=workspace_id, key=key)
        if not own.update(title=title, updated_at=Now()):
            raise _unknown(key)
        _note(workspace_id, "article.updated", key, actor=actor, data={"title": title})


def delete(workspace_id: int, *, key: str, actor: str) -> None:
    """Deletes an article with all its slices; what was sent of it stays in the letters."""
    with transaction.atomic():
        article_id = _touched(workspace_id, key)
        gone, _ = models.Slice.objects.filter(article_id=article_id).delete()
        models.Article.objects.filter(pk=article_id).delete()
        _note(workspace_id, "article.deleted", key, actor=actor, data={"slices": gone})


def listing(workspace_id: int) -> list[ArticleFacts]:
    rows = (
        models.Article.objects.filter(workspace_id=workspace_id)
        .annotate(slice_count=Count("slice"))
        .order_by("key")
        .values_list("key", "title", "slice_count", "created_at", "updated_at")
    )
    return [ArticleFacts(*row) for row in rows]


def add_slice(workspace_id: int, *, article_key: str, draft: Draft, actor: str) -> int:
    with _kept(draft):
        article_id = _touched(workspace_id, article_key)
        added = models.Slice.objects.create(article_id=article_id, **asdict(draft))
        _note_slice(workspace_id, "slice.added", article_key, added.pk, actor=actor)
    return added.pk


def change_slice(
    workspace_id: int, *, article_key: str, slice_id: int, draft: Draft, actor: str
) -> None:
    """Says everything of a slice anew."""
    with _kept(draft):
        article_id = _touched(workspace_id, article_key)
        there = models.Slice.objects.filter(pk=slice_id, article_id=article_id)
        if not there.update(**asdict(draft), updated_at=Now()):
            raise _unknown_slice(article_key, slice_id)
        _note_slice(workspace_id, "slice.changed", article_key, slice_id, actor=actor)


def delete_slice(workspace_id: int, *, article_key: str, slice_id: int, actor: str) -> None:
    with transaction.atomic():
        article_id = _touched(workspace_id, article_key)
        gone, _ = models.Slice.objects.filter(pk=slice_id, article_id=article_id).delete()
        if not gone:
            raise _unknown_slice(article_key, slice_id)
        _note_slice(workspace_id, "slice.deleted", article_key, slice_id, actor=actor)


def slices_of(workspace_id: int, *, article_key: str) -> list[Slice]:
    """Every slice of an article, drafts too, by section and index."""
    return _read(workspace_id, article_key, Q(slice__id__gt=0))


def published(workspace_id: int, *, article_key: str) -> list[Slice]:
    """What a campaign assembles letters from, in one statement; the windows are not judged here."""
    return _read(workspace_id, article_key, Q(slice__is_published=True))


_FIELDS = [field.name for field in fields(Slice)]


def _read(workspace_id: int, article_key: str, wanted: Q) -> list[Slice]:
    # From the article outwards: one that is there without a slice still gives a row.
    rows = list(
        models.Article.objects.filter(workspace_id=workspace_id, key=article_key)
        .annotate(chosen=FilteredRelation("slice", condition=wanted))
        .order_by("chosen__section_order", "chosen__sort_index", "chosen__id")
        .values_list(*(f"chosen__{name}" for name in _FIELDS))
    )
    if not rows:
        raise _unknown(article_key)
    return [Slice(*row) for row in rows if row[0] is not None]


def _touched(workspace_id: int, key: str) -> int:
    """The article, marked as changed; its row stays locked, so that no slice outlives it."""
    own = models.Article.objects.filter(workspace_id=workspace_id, key=key)
    if not own.update(updated_at=Now()):
        raise _unknown(key)
    return own.values_list("pk", flat=True).get()


@contextmanager
def _kept(draft: Draft) -> Iterator[None]:
    """A transaction in which a draft is stored, or refused by the constraint that it breaks."""
    for place in ("scope_ocd_id", "section", "title", "dek", "body_md"):
        storable.check(place, getattr(draft, place) or "")
    scope = InvalidSliceError(
        f"The slice was not stored: {(draft.scope_ocd_id or '')[:64]!r} is no OCD id. Write one"
        " like ocd-division/country:us/state:oh, or none when the slice is for everybody."
    )
    window = InvalidSliceError(
        "The slice was not stored: it would be published until a time that is not after the time"
        " it is published from. Correct one of them, or leave one out."
    )
    headline = InvalidSliceError(
        "The slice was not stored: a headline needs a title or a dek. Write one, or make it no"
        " headline."
    )
    with constraints.kept(
        content_slice_scope=scope, content_slice_window=window, content_slice_headline=headline
    ):
        yield


def _unknown(key: str) -> ArticleUnknownError:
    return ArticleUnknownError(f"This workspace has no article {key!r}: choose one of its own.")


def _unknown_slice(key: str, slice_id: int) -> SliceUnknownError:
    return SliceUnknownError(
        f"The article {key!r} has no slice {slice_id}; perhaps it was deleted. Look at its list."
    )


def _note_slice(workspace_id: int, action: str, key: str, slice_id: int, *, actor: str) -> None:
    trail.note(
        workspace_id,
        actor=actor,
        action=action,
        subject=f"slice {slice_id}",
        data={"article": key},
    )


def _note(
    workspace_id: int, action: str, key: str, *, actor: str, data: dict[str, trail.Fact]
) -> None:
    trail.note(workspace_id, actor=actor, action=action, subject=f"article {key}", data=data)
