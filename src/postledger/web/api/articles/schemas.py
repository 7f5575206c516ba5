"""Articles and their slices as callers send and get them."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from postledger.content.slices import SliceFields
from postledger.web.api.common.fields import (
    LAST_NUMBER,
    MOST_OCD_IDS,
    ArticleKey,
    Moment,
    Name,
    OcdId,
    Scope,
    Text,
)
from postledger.web.api.common.schemas import PreviewOut, RequestSchema, ResponseSchema

Rank = Annotated[int, Field(ge=-LAST_NUMBER - 1, le=LAST_NUMBER)]


class ArticleChangeIn(RequestSchema):
    title: Name


class NewArticleIn(ArticleChangeIn):
    """A new article without slices."""

    key: ArticleKey


class SliceIn(RequestSchema):
    """A part of an article."""

    scope_ocd_id: Scope | None = Field(
        default=None, description="Only recipients in this place get it; null means everybody."
    )
    section: str = Field(default="", max_length=200)
    section_order: Rank = Field(default=0, description="First sort key of the body.")
    sort_index: Rank = Field(
        default=0, description="Last sort key; between the two, broad places come first."
    )
    is_headline: bool = Field(
        default=False,
        description="The narrowest headline gives the mail its title, dek and preheader.",
    )
    title: str = Field(default="", max_length=500)
    dek: str = Field(default="", max_length=2_000, description="Shown below the title.")
    preheader: str = Field(
        default="",
        max_length=2_000,
        description="Of a headline: hidden text that mail programs show beside the subject.",
    )
    body_md: Text = Field(default="", description="Markdown, up to 524,288 bytes of UTF-8.")
    published_from: Moment | None = Field(
        default=None, description="Readers get the slice from this time on."
    )
    published_until: Moment | None = Field(
        default=None, description="Readers get the slice until this time."
    )
    is_published: bool = False

    def slice_fields(self) -> SliceFields:
        return SliceFields(**dict(self))


class ArticlePreviewIn(RequestSchema):
    ocd_ids: list[OcdId] = Field(
        max_length=MOST_OCD_IDS, description="The divisions of the recipient."
    )
    at: Moment | None = Field(default=None, description="Now by default.")


class ArticleOut(ResponseSchema):
    key: str = Field(examples=["may-news"])
    title: str
    slice_count: int
    created_at: datetime
    updated_at: datetime = Field(description="When it or one of its slices last changed.")


class ArticleList(ResponseSchema):
    articles: list[ArticleOut]


class SliceOut(ResponseSchema):
    id: int
    scope_ocd_id: str | None
    section: str
    section_order: int
    sort_index: int
    is_headline: bool
    title: str
    dek: str
    preheader: str
    body_md: str
    published_from: datetime | None
    published_until: datetime | None
    is_published: bool


class SliceList(ResponseSchema):
    """Ordered by section and index."""

    slices: list[SliceOut]


class ArticlePreview(PreviewOut):
    """The letter for a recipient in these divisions, with the workspace's footer if it has one."""

    dek: str | None
    slice_ids: list[int] = Field(description="The slices of the body, in order.")
