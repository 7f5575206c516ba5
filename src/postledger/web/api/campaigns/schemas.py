"""Campaigns as callers send and get them."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import (
    BeforeValidator,
    Field,
    JsonValue,
    computed_field,
    model_validator,
)

from postledger.campaigns.drafts import draft_checks, drafts
from postledger.campaigns.drafts.drafts import Draft
from postledger.campaigns.drafts.preview import PreviewRecipient
from postledger.campaigns.launches import test_sends
from postledger.lib.ids import LAST_ID
from postledger.mailing.content_source import (
    ArticleSource,
    ContentSource,
    InlineSource,
    PageSource,
    TemplateSource,
)
from postledger.mailing.send_times import SendTime
from postledger.web.api.campaigns.timing import DeliveryWindow, Timing, timing_of, window_of
from postledger.web.api.common.fields import (
    MOST_OCD_IDS,
    ArticleKey,
    CanonicalAddress,
    ListKey,
    Locale,
    Matching,
    Name,
    OcdId,
    TemplateKey,
    Values,
    Variables,
    VersionNumber,
)
from postledger.web.api.common.pagination import NextCursor
from postledger.web.api.common.schemas import PreviewOut, RequestSchema, ResponseSchema, SourceIn

Tag = Annotated[
    str,
    Matching(f"^{draft_checks.TAG}$", "use up to 200 lowercase letters, digits and hyphens"),
    Field(examples=["may-news"]),
]
NotionPageId = Annotated[
    str,
    Matching(
        "^[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}$",
        "write the 32 hexadecimal digits of the page, with or without hyphens",
    ),
]
Filter = Annotated[dict[str, JsonValue], Field(examples=[{"state": "OH"}])]


class InlineContent(SourceIn):
    """Content of its own, in one language."""

    kind: Literal["inline"]
    locale: Locale = "en"
    required: Variables = Field(default=[], description="Attributes that every contact has.")
    optional: Variables = Field(default=[], description="Attributes that a contact may lack.")

    def content_source(self) -> ContentSource:
        return InlineSource(
            self.subject,
            self.body,
            self.format,
            self.text,
            self.locale,
            tuple(self.required),
            tuple(self.optional),
            self.preheader,
        )


class TemplateContent(RequestSchema):
    """A template, in the language of each recipient."""

    kind: Literal["template"]
    id: TemplateKey
    version: VersionNumber | None = Field(
        default=None, description="The newest at launch by default."
    )

    def content_source(self) -> ContentSource:
        return TemplateSource(self.id, self.version)


class ArticleContent(RequestSchema):
    """An article, assembled for the divisions of each recipient."""

    kind: Literal["article"]
    key: ArticleKey

    def content_source(self) -> ContentSource:
        return ArticleSource(self.key)


class NotionContent(RequestSchema):
    """A Notion page, as it is at launch."""

    kind: Literal["page"]
    page_id: NotionPageId

    def content_source(self) -> ContentSource:
        return PageSource(self.page_id)


Content = Annotated[
    InlineContent | TemplateContent | ArticleContent | NotionContent, Field(discriminator="kind")
]


def _content_of(source: ContentSource) -> Content:
    match source:
        case InlineSource():
            return InlineContent.model_validate(asdict(source), strict=False)
        case TemplateSource(key, version):
            return TemplateContent(kind="template", id=key, version=version)
        case ArticleSource(key):
            return ArticleContent(kind="article", key=key)
        case PageSource(page_id):
            return NotionContent(kind="page", page_id=page_id)


class NewCampaignIn(RequestSchema):
    """A new campaign; nothing is sent before its launch."""

    tag: Tag
    name: Name
    content: Content
    sender: CanonicalAddress | None = Field(
        default=None, description="A sender of the workspace; its default by default."
    )
    list: ListKey | None = Field(
        default=None, description="The list whose subscribers get it; all contacts by default."
    )
    audience_filter: Filter | None = Field(default=None, description="Which of them get it.")
    timing: Timing | None = Field(default=None, description="At once by default.")
    delivery_window: DeliveryWindow | None = Field(
        default=None, description="At all hours by default."
    )

    def draft(self) -> Draft:
        return Draft(
            self.tag,
            self.name,
            self.content.content_source(),
            self.sender,
            self.list,
            self.audience_filter,
            self.timing.send_time() if self.timing else SendTime(),
            self.delivery_window.hours() if self.delivery_window else None,
        )


class CampaignChangeIn(RequestSchema):
    """Absent fields do not change; null resets one to its default."""

    # No default in the OpenAPI document: `model_fields_set` tells which fields were sent.
    tag: Tag = Field(default_factory=str)
    name: Name = Field(default_factory=str)
    content: Content = Field(default_factory=lambda: ArticleContent(kind="article", key="-"))
    sender: CanonicalAddress | None = Field(default_factory=lambda: None)
    list: ListKey | None = Field(default_factory=lambda: None)
    audience_filter: Filter | None = Field(default_factory=lambda: None)
    timing: Timing | None = Field(default_factory=lambda: None)
    delivery_window: DeliveryWindow | None = Field(default_factory=lambda: None)

    def changes(self) -> dict[str, Any]:
        """The changed fields of a `Draft`."""
        window = self.delivery_window
        changed = {
            "tag": ("tag", self.tag),
            "name": ("name", self.name),
            "content": ("content", self.content.content_source()),
            "sender": ("sender", self.sender),
            "list": ("list_key", self.list),
            "audience_filter": ("audience", self.audience_filter or {}),
            "timing": ("timing", self.timing.send_time() if self.timing else SendTime()),
            "delivery_window": ("delivery_window", window.hours() if window else None),
        }
        return dict(changed[name] for name in self.model_fields_set)


class ReaderIn(RequestSchema):
    """A made-up recipient."""

    name: str | None = Field(default=None, max_length=500)
    email: CanonicalAddress | None = None
    locale: Locale | None = None
    ocd_ids: list[OcdId] = Field(default=[], max_length=MOST_OCD_IDS)
    attributes: Values = Field(default={})

    def recipient(self) -> PreviewRecipient:
        return PreviewRecipient(
            self.name,
            self.email,
            locale=self.locale or "",
            ocd_ids=self.ocd_ids,
            attributes=self.attributes,
        )


class CampaignPreviewIn(RequestSchema):
    """The recipient; without one, variables are shown by their names."""

    contact_id: int | None = Field(default=None, ge=1, le=LAST_ID)
    reader: ReaderIn | None = None
    check_audience: bool = Field(
        default=False, description="Whether to list the contacts that lack a required value."
    )

    @model_validator(mode="after")
    def _refuse_both(self) -> Self:
        if self.contact_id is not None and self.reader is not None:
            raise ValueError("give contact_id or reader, not both")
        return self


class CampaignTestIn(RequestSchema):
    addresses: list[CanonicalAddress] | None = Field(
        default=None,
        min_length=1,
        max_length=test_sends.MAX_ADDRESSES,
        description="The workspace's test addresses by default.",
    )
    contact_id: int | None = Field(
        default=None,
        ge=1,
        le=LAST_ID,
        description="The contact whose values and language all of them get.",
    )


class SendIn(RequestSchema):
    """Sends an article once for each send_batch_id."""

    campaign_tag: Tag
    article_key: ArticleKey
    audience_filter: dict[str, str] | None = Field(
        default=None,
        description="Attributes and their values; `list` names a list.",
        examples=[{"state": "OH"}],
    )
    send_batch_id: UUID = Field(
        strict=False, description="If you repeat an id, nothing is sent again."
    )
    admin_password: str | None = Field(
        default=None,
        description="In place of an API key, for the first workspace.",
        json_schema_extra={"format": "password", "writeOnly": True},
    )

    def draft(self) -> Draft:
        attributes = dict(self.audience_filter or {})
        list_key = attributes.pop("list", None)
        return Draft(
            self.campaign_tag,
            self.campaign_tag[: drafts.MAX_NAME],
            ArticleSource(self.article_key),
            list_key=list_key,
            audience=attributes,
        )


class CampaignOut(ResponseSchema):
    id: int
    tag: str = Field(examples=["may-news"])
    name: str
    sender: str
    list: str | None = Field(validation_alias="list_key")
    audience_filter: dict[str, JsonValue] = Field(validation_alias="audience")
    content: Annotated[Content, BeforeValidator(_content_of)]
    timing: Annotated[Timing, BeforeValidator(timing_of)]
    delivery_window: Annotated[DeliveryWindow | None, BeforeValidator(window_of)]
    created_by: str
    created_at: datetime
    updated_at: datetime

    @computed_field  # type: ignore[prop-decorator]
    @property
    def links(self) -> dict[str, str]:
        campaign = f"/v1/campaigns/{self.id}"
        return {"self": campaign, "runs": f"{campaign}/runs"}


class CampaignPage(ResponseSchema):
    """The newest first."""

    campaigns: list[CampaignOut]
    next: NextCursor


class LackingContactOut(ResponseSchema):
    id: int
    email: str = Field(validation_alias="address")


class MissingValueOut(ResponseSchema):
    """A required variable that contacts of the audience lack."""

    variable: str = Field(examples=["city"])
    count: int
    contacts: list[LackingContactOut] = Field(description="The first 100 of them, by address.")


class AudienceCheckOut(ResponseSchema):
    """The contacts whose mail would fail, by the variable that they lack."""

    is_complete: bool = Field(
        description="False if the audience is too large: then its first 10,000 contacts count."
    )
    missing_values: list[MissingValueOut] | None = Field(
        description="The most frequent first. Null if nobody was checked, because even that took"
        " too long: narrow the audience."
    )


class CampaignPreview(PreviewOut):
    """What one recipient would get."""

    sender: str = Field(description="The sender's address.")
    from_name: str = Field(description="The sender's name: the contact's own, if it has one.")
    audience: AudienceCheckOut | None = Field(description="Null unless `check_audience` is true.")
