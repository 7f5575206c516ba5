"""Articles and their slices as callers send and get them."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from postledger.content.articles import ArticleFacts, Draft
from postledger.content.slices import Slice
from postledger.web.api.fields import Moment
from postledger.web.api.findings import PreviewOut
from postledger.web.api.incoming import Incoming
from postledger.web.api.words import ArticleKey, Name, Text

MOST_PLACES = 1_000

Place = Annotated[
    str, Field(pattern=r"^\S+$", max_length=500, examples=["ocd-division/country:us/state:oh"])
]
Rank = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]


class NewArticleIn(Incoming):
    """A new article, still without a slice."""

    key: ArticleKey
    title: Name


class ArticleChangeIn(Incoming):
    title: Name


class SliceIn(Incoming):
    """A piece of an article; what is left out is as shown here."""

    scope_ocd_id: Place | None = Field(
        default=None, description="Only for readers in this place; null means everybody."
    )
    section: str = Field(default="", max_length=200)
    section_order: Rank = Field(default=0, description="The first rank in the body.")
    sort_index: Rank = Field(default=0, description="The last; between, broad before narrow.")
    is_headline: bool = Field(
        default=False, description="Of these, the narrowest gives the mail its title and dek."
    )
    title: str = Field(default="", max_length=500)
    dek: str = Field(default="", max_length=2_000, description="What stands under the title.")
    body_md: Text = Field(default="", description="Markdown, up to 524,288 bytes of UTF-8.")
    published_from: Moment | None = Field(default=None, description="Not before then.")
    published_until: Moment | None = Field(default=None, description="Only before then.")
    is_published: bool = False

    def draft(self) -> Draft:
        return Draft(**dict(self))


class ArticlePreviewIn(Incoming):
    """For whom, and when."""

    ocd_ids: list[Place] = Field(max_length=MOST_PLACES, description="Where the reader is.")
    at: Moment | None = Field(default=None, description="Now, unless said.")


class ArticleOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    key: str = Field(examples=["may-news"])
    title: str
    slice_count: int
    created_at: datetime
    updated_at: datetime = Field(description="When it or one of its slices last changed.")


class ArticleList(BaseModel):
    articles: list[ArticleOut]


class SliceOut(BaseModel):
    id: int
    scope_ocd_id: str | None
    section: str
    section_order: int
    sort_index: int
    is_headline: bool
    title: str
    dek: str
    body_md: str
    published_from: datetime | None
    published_until: datetime | None
    is_published: bool


class SliceList(BaseModel):
    """By section and index."""

    slices: list[SliceOut]


class ArticlePreview(PreviewOut):
    """The letter of a reader in these places, with the workspace's footer if it has one."""

    dek: str | None
    slice_ids: list[int] = Field(description="What it was made of, in the order of the body.")


def article(facts: ArticleFacts) -> ArticleOut:
    return ArticleOut.model_validate(facts)


def slice_(found: Slice) -> SliceOut:
    return SliceOut(**asdict(found))


def stored(slice_id: int, draft: Draft) -> SliceOut:
    return SliceOut(id=slice_id, **asdict(draft))
