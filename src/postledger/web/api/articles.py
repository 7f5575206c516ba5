"""The door for articles and their slices: write them, and see what a reader gets."""

from datetime import UTC, datetime
from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Path, Router
from ninja.responses import Status

from postledger.accounts.keys import Scope
from postledger.content import article_letters, articles, slices, trials
from postledger.content.articles import ArticleUnknownError
from postledger.content.checks import Finding
from postledger.content.slices import Slice, SubjectRequiredError
from postledger.content.trials import Trial
from postledger.web.api import article_forms, findings
from postledger.web.api.article_forms import (
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
from postledger.web.api.words import ArticleKey
from postledger.web.shared import auth
from postledger.web.shared.problems import KINDS, Problem

router = Router(tags=["articles"])

_PROBLEMS = frozenset(KINDS)

_reader = auth.ApiKey(Scope.CONTENT_READ)
_writer = auth.ApiKey(Scope.CONTENT_WRITE)

Key = Path[ArticleKey]
SliceId = Annotated[int, Path(ge=1, le=2**63 - 1)]


@router.get(
    "",
    auth=_reader,
    response={200: ArticleList, _PROBLEMS: Problem},
    operation_id="listArticles",
    summary="List articles",
)
def listing(request: HttpRequest) -> ArticleList:
    """All of the workspace's, by key."""
    found = articles.listing(auth.caller(request).workspace_id)
    return ArticleList(articles=[article_forms.article(facts) for facts in found])


@router.post(
    "",
    auth=_writer,
    response={201: ArticleOut, _PROBLEMS: Problem},
    operation_id="createArticle",
    summary="Create an article",
)
def create(request: HttpRequest, payload: NewArticleIn) -> Status[ArticleOut]:
    """Makes an article without a slice."""
    caller = auth.caller(request)
    articles.create(caller.workspace_id, key=payload.key, title=payload.title, actor=caller.actor)
    return Status(201, _article(caller.workspace_id, payload.key))


@router.get(
    "/{key}",
    auth=_reader,
    response={200: ArticleOut, _PROBLEMS: Problem},
    operation_id="getArticle",
    summary="Look at an article",
)
def look(request: HttpRequest, key: Key) -> ArticleOut:
    """The article without its slices."""
    return _article(auth.caller(request).workspace_id, key)


@router.patch(
    "/{key}",
    auth=_writer,
    response={200: ArticleOut, _PROBLEMS: Problem},
    operation_id="changeArticle",
    summary="Give an article another title",
)
def change(request: HttpRequest, key: Key, payload: ArticleChangeIn) -> ArticleOut:
    """The title is for those who write it; readers see the titles of slices."""
    caller = auth.caller(request)
    articles.update(caller.workspace_id, key=key, title=payload.title, actor=caller.actor)
    return _article(caller.workspace_id, key)


@router.delete(
    "/{key}",
    auth=_writer,
    response={204: None, _PROBLEMS: Problem},
    operation_id="deleteArticle",
    summary="Delete an article and its slices",
)
def delete(request: HttpRequest, key: Key) -> HttpResponse:
    """Deletes it for good; mail that was made from it stays as it is."""
    caller = auth.caller(request)
    articles.delete(caller.workspace_id, key=key, actor=caller.actor)
    return HttpResponse(status=204)


@router.get(
    "/{key}/slices",
    auth=_reader,
    response={200: SliceList, _PROBLEMS: Problem},
    operation_id="listSlices",
    summary="List an article's slices",
)
def list_slices(request: HttpRequest, key: Key) -> SliceList:
    """All of them with their words, whether they are published or not."""
    found = articles.slices_of(auth.caller(request).workspace_id, article_key=key)
    return SliceList(slices=[article_forms.slice_(piece) for piece in found])


@router.post(
    "/{key}/slices",
    auth=_writer,
    response={201: SliceOut, _PROBLEMS: Problem},
    operation_id="addSlice",
    summary="Add a slice",
)
def add_slice(request: HttpRequest, key: Key, payload: SliceIn) -> Status[SliceOut]:
    """Readers get it once `is_published` is true and its time has come."""
    caller, draft = auth.caller(request), payload.draft()
    slice_id = articles.add_slice(
        caller.workspace_id, article_key=key, draft=draft, actor=caller.actor
    )
    return Status(201, article_forms.stored(slice_id, draft))


@router.put(
    "/{key}/slices/{int:slice_id}",
    auth=_writer,
    response={200: SliceOut, _PROBLEMS: Problem},
    operation_id="changeSlice",
    summary="Write a slice anew",
)
def change_slice(request: HttpRequest, key: Key, slice_id: SliceId, payload: SliceIn) -> SliceOut:
    """Says everything of it anew; what is left out is as in a new one."""
    caller, draft = auth.caller(request), payload.draft()
    articles.change_slice(
        caller.workspace_id, article_key=key, slice_id=slice_id, draft=draft, actor=caller.actor
    )
    return article_forms.stored(slice_id, draft)


@router.delete(
    "/{key}/slices/{int:slice_id}",
    auth=_writer,
    response={204: None, _PROBLEMS: Problem},
    operation_id="deleteSlice",
    summary="Delete a slice",
)
def delete_slice(request: HttpRequest, key: Key, slice_id: SliceId) -> HttpResponse:
    """Deletes it for good."""
    caller = auth.caller(request)
    articles.delete_slice(
        caller.workspace_id, article_key=key, slice_id=slice_id, actor=caller.actor
    )
    return HttpResponse(status=204)


@router.post(
    "/{key}/preview",
    auth=_reader,
    response={200: ArticlePreview, _PROBLEMS: Problem},
    operation_id="previewArticle",
    summary="See what a reader gets",
)
def preview(request: HttpRequest, key: Key, payload: ArticlePreviewIn) -> ArticlePreview:
    """Puts together what is published for a reader in these places."""
    workspace_id = auth.caller(request).workspace_id
    now = payload.at or datetime.now(UTC)
    published = articles.published(workspace_id, article_key=key)
    chosen = slices.relevant(published, ocd_ids=frozenset(payload.ocd_ids), now=now)
    dek, trial = _tried(workspace_id, chosen, ocd_ids=frozenset(payload.ocd_ids), now=now)
    return findings.preview(
        ArticlePreview, trial, dek=dek, slice_ids=[piece.id for piece in chosen]
    )


def _tried(
    workspace_id: int, chosen: list[Slice], *, ocd_ids: frozenset[str], now: datetime
) -> tuple[str | None, Trial]:
    try:
        letter = slices.assemble(chosen, ocd_ids=ocd_ids, now=now)
    except SubjectRequiredError as refused:
        return None, Trial((Finding(refused.code, "subject", str(refused)),))
    source = article_letters.source(letter)
    return letter.dek, trials.of(source, values={}, footing=trials.footing(workspace_id))


def _article(workspace_id: int, key: str) -> ArticleOut:
    for facts in articles.listing(workspace_id):
        if facts.key == key:
            return article_forms.article(facts)
    raise ArticleUnknownError
