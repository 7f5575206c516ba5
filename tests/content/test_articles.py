"""Articles and their slices are kept as they were written, each in its own workspace."""

from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError, transaction

from postledger.accounts import workspaces
from postledger.accounts.constraints import InvalidNameError
from postledger.accounts.models import AuditEntry
from postledger.content import articles, models, slices
from postledger.content.articles import (
    ArticleExistsError,
    ArticleUnknownError,
    InvalidArticleKeyError,
    SliceUnknownError,
)
from postledger.content.rendering.html.checks import UnstorableTextError
from postledger.content.slice_checks import InvalidSliceError
from postledger.content.slices import Slice, SliceFields
from tests import round_trips

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
OHIO = "ocd-division/country:us/state:oh"
FULL = SliceFields(
    scope_ocd_id=OHIO,
    section="News",
    section_order=2,
    sort_index=3,
    is_headline=True,
    title="Title",
    dek="Dek",
    body_md="Body.",
    published_from=NOW,
    published_until=NOW + timedelta(days=1),
    is_published=True,
)


@pytest.fixture
def acme(db: None) -> int:
    return workspaces.create_workspace("acme", actor="alice")


@pytest.fixture
def globex(db: None) -> int:
    return workspaces.create_workspace("globex", actor="charlie")


def make(workspace_id: int, key: str = "november") -> int:
    return articles.create(workspace_id, key=key, title="November", actor="alice")


def add(workspace_id: int, draft: SliceFields = FULL, key: str = "november") -> int:
    return articles.add_slice(workspace_id, article_key=key, fields=draft, actor="alice")


def change(workspace_id: int, slice_id: int, draft: SliceFields, key: str = "november") -> None:
    articles.change_slice(
        workspace_id, article_key=key, slice_id=slice_id, fields=draft, actor="bob"
    )


def as_value(slice_id: int) -> Slice:
    return Slice(id=slice_id, **asdict(FULL))


def test_a_slice_is_read_as_it_was_written_and_changed_and_published_when_it_is_ready(
    acme: int,
) -> None:
    def published() -> list[Slice]:
        return articles.list_published(acme, article_key="november")

    make(acme)
    assert published() == []
    slice_id = add(acme)
    assert published() == articles.list_slices(acme, article_key="november") == [as_value(slice_id)]

    change(acme, slice_id, SliceFields(title="New", body_md="New."))
    changed = Slice(id=slice_id, **asdict(SliceFields(title="New", body_md="New.")))
    assert published() == []
    other = add(acme)
    listed = articles.list_slices(acme, article_key="november")
    assert sorted(piece.id for piece in listed) == [slice_id, other]
    assert changed in listed
    assert [piece.id for piece in published()] == [other]


def test_published_slices_make_a_letter_in_one_question(acme: int) -> None:
    make(acme)
    for number in range(30):
        add(acme, replace(FULL, sort_index=number))

    with round_trips.counted() as asked:
        published = articles.list_published(acme, article_key="november")

    assert asked() == 1
    letter = slices.assemble(published, ocd_ids=frozenset({OHIO}), now=NOW)
    assert letter.body_md == "\n\n".join(["Body."] * 30)


def test_a_deleted_slice_is_gone_and_an_article_takes_its_slices_along(acme: int) -> None:
    make(acme)
    make(acme, "december")
    slice_id, kept = add(acme), add(acme)
    other = add(acme, key="december")

    articles.delete_slice(acme, article_key="november", slice_id=slice_id, actor="bob")
    assert [piece.id for piece in articles.list_slices(acme, article_key="november")] == [kept]
    with pytest.raises(SliceUnknownError, match=f"Slice {slice_id} not found"):
        articles.delete_slice(acme, article_key="november", slice_id=slice_id, actor="bob")

    articles.delete(acme, key="november", actor="bob")
    with pytest.raises(ArticleUnknownError):
        articles.list_published(acme, article_key="november")
    assert list(models.Slice.objects.values_list("pk", flat=True)) == [other]
    assert make(acme)


def test_charlie_meets_acmes_article_as_one_that_does_not_exist(acme: int, globex: int) -> None:
    make(acme)
    make(acme, "december")
    slice_id = add(acme)

    for attempt in (
        lambda: articles.list_published(globex, article_key="november"),
        lambda: articles.list_slices(globex, article_key="november"),
        lambda: articles.update(globex, key="november", title="Mine", actor="charlie"),
        lambda: articles.delete(globex, key="november", actor="charlie"),
        lambda: add(globex),
        lambda: change(globex, slice_id, SliceFields()),
        lambda: articles.delete_slice(
            globex, article_key="november", slice_id=slice_id, actor="charlie"
        ),
    ):
        with pytest.raises(ArticleUnknownError, match="Article “november” not found"):
            attempt()
    assert articles.list_articles(globex) == []

    # Neither one of the same key elsewhere nor another article leads to the slice.
    make(globex)
    for workspace_id, key in ((acme, "december"), (globex, "november")):
        with pytest.raises(SliceUnknownError):
            change(workspace_id, slice_id, SliceFields(), key=key)
        with pytest.raises(SliceUnknownError):
            articles.delete_slice(workspace_id, article_key=key, slice_id=slice_id, actor="charlie")
    assert articles.list_published(globex, article_key="november") == []
    assert articles.list_slices(acme, article_key="november") == [as_value(slice_id)]
    assert {article.title for article in articles.list_articles(acme)} == {"November"}


def test_what_is_no_key_a_taken_one_or_no_title_is_refused(acme: int, globex: int) -> None:
    for key in ("", "November", "a_b", "a b", "a\n", "é", "a" * 201):
        with pytest.raises(InvalidArticleKeyError, match="use up to 200 lowercase letters, digits"):
            make(acme, key)
    make(acme)
    make(globex)
    with pytest.raises(ArticleExistsError, match="has an article “november” already: change it"):
        make(acme)
    with pytest.raises(InvalidNameError):
        articles.update(acme, key="november", title=" ", actor="bob")


def test_a_slice_nobody_could_get_or_keep_is_refused(acme: int) -> None:
    make(acme)
    slice_id = add(acme)
    years = [datetime(year, 12, 31, tzinfo=UTC) for year in (1, 1968, 9002, 9999)]

    for draft, message in [
        (SliceFields(scope_ocd_id=""), "'' is no OCD id"),
        (SliceFields(scope_ocd_id="ocd-division/country:us "), "is no OCD id"),
        (SliceFields(scope_ocd_id="Berlin"), "'Berlin' is no OCD id. Write one like ocd-div"),
        (SliceFields(body_md="Hello {{ first_name }}"), "no email has a value first_name for it"),
        (SliceFields(title="{{ x | default: 1 }}"), "can use email, from_name, name, unsubs"),
        (
            SliceFields(published_from=NOW, published_until=NOW),
            "the time until which readers get it is not after",
        ),
        (SliceFields(is_headline=True, title=" \n"), "a headline needs a title, or a dek"),
        *((SliceFields(title="A", published_from=at), "years from 1970 to 9000") for at in years),
    ]:
        with pytest.raises(InvalidSliceError, match=message):
            add(acme, draft)
        with pytest.raises(InvalidSliceError, match=message):
            change(acme, slice_id, draft)
    for body, message in [
        ("a\x00b", r"The body_md was not stored: it contains a NUL byte"),
        ("\ud800", "unpaired surrogate"),
        ("é" * 262_145, "524,290 bytes as UTF-8, and a mail may have at most 524,288"),
    ]:
        with pytest.raises(UnstorableTextError, match=message):
            add(acme, SliceFields(body_md=body))

    assert articles.list_slices(acme, article_key="november") == [as_value(slice_id)]


def test_the_trail_says_who_changed_what(acme: int) -> None:
    make(acme)
    slice_id = add(acme)
    change(acme, slice_id, SliceFields())
    articles.delete_slice(acme, article_key="november", slice_id=slice_id, actor="bob")
    articles.update(acme, key="november", title="Eleventh", actor="bob")
    articles.delete(acme, key="november", actor="bob")

    entries = AuditEntry.objects.exclude(action="workspace.created").order_by("pk")

    assert [(entry.actor, entry.action, entry.subject, entry.data) for entry in entries] == [
        ("alice", "article.created", "article november", {"title": "November"}),
        ("alice", "slice.added", f"slice {slice_id}", {"article": "november"}),
        ("bob", "slice.changed", f"slice {slice_id}", {"article": "november"}),
        ("bob", "slice.deleted", f"slice {slice_id}", {"article": "november"}),
        ("bob", "article.updated", "article november", {"title": "Eleventh"}),
        ("bob", "article.deleted", "article november", {"title": "Eleventh", "slices": 0}),
    ]


def letter(workspace_id: int, digest: bytes = b"d" * 32) -> models.Letter:
    return models.Letter.objects.create(
        workspace_id=workspace_id, digest=digest, source={"subject": "Hello"}
    )


def test_a_letter_is_kept_once_by_its_digest_and_never_changed(acme: int, globex: int) -> None:
    stored = letter(acme)
    letter(globex)

    with pytest.raises(IntegrityError, match="content_letter_once"), transaction.atomic():
        letter(acme)
    with pytest.raises(IntegrityError, match="are never changed"), transaction.atomic():
        models.Letter.objects.filter(pk=stored.pk).update(source={})
    for size in (31, 33):
        with pytest.raises(IntegrityError, match="content_letter_digest"), transaction.atomic():
            letter(acme, b"d" * size)


def test_a_slice_uses_what_every_mail_has_and_what_another_slice_names(acme: int) -> None:
    make(acme)
    add(acme, SliceFields(body_md="{% assign region = 'the north' %}"))

    add(acme, SliceFields(title="Dear {{ name }}", body_md="To {{ region }}, {{ email }}"))

    assert len(articles.list_slices(acme, article_key="november")) == 2
