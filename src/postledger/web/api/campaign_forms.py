"""Campaigns as callers send and get them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, Field, JsonValue

from postledger.campaigns import drafts
from postledger.campaigns.drafts import CampaignFacts, Draft
from postledger.campaigns.timing import AtOnce
from postledger.web.api import campaign_content
from postledger.web.api.campaign_content import ArticleContent, Content, Timing
from postledger.web.api.findings import PreviewOut
from postledger.web.api.incoming import Incoming, ListKey
from postledger.web.api.looking import AskedAddress
from postledger.web.api.words import Name

Tag = Annotated[str, Field(pattern=f"^{drafts.TAG}$", examples=["may-news"])]
Filter = Annotated[dict[str, JsonValue], Field(examples=[{"state": "OH"}])]


class NewCampaignIn(Incoming):
    """A new campaign; nothing is sent before it is launched."""

    tag: Tag
    name: Name
    content: Content
    sender: AskedAddress | None = Field(
        default=None, description="A sender of the workspace; needed where it has several."
    )
    list: ListKey | None = Field(
        default=None, description="Whose subscribers get it; without one, all contacts."
    )
    audience_filter: Filter | None = Field(default=None, description="Who of them gets it.")
    timing: Timing | None = Field(default=None, description="At once, unless said.")

    def draft(self) -> Draft:
        return Draft(
            self.tag,
            self.name,
            self.content.material(),
            self.sender,
            self.list,
            self.audience_filter,
            self.timing.when() if self.timing else AtOnce(),
        )


class CampaignChangeIn(Incoming):
    """What becomes different; what is left out stays, and null is as in a new one."""

    # Without a default in the description: what was given is read from `model_fields_set`.
    tag: Tag = Field(default_factory=str)
    name: Name = Field(default_factory=str)
    content: Content = Field(default_factory=lambda: ArticleContent(kind="article", key="-"))
    sender: AskedAddress | None = Field(default_factory=lambda: None)
    list: ListKey | None = Field(default_factory=lambda: None)
    audience_filter: Filter | None = Field(default_factory=lambda: None)
    timing: Timing | None = Field(default_factory=lambda: None)

    def changes(self) -> dict[str, Any]:
        given: dict[str, Any] = {
            "tag": self.tag,
            "name": self.name,
            "content": self.content.material(),
            "sender": self.sender,
            "list": self.list,
            "audience_filter": self.audience_filter or {},
            "timing": self.timing.when() if self.timing else AtOnce(),
        }
        return {_FIELDS.get(name, name): given[name] for name in self.model_fields_set}


_FIELDS = {
    "content": "material",
    "list": "list_key",
    "audience_filter": "audience",
    "timing": "when",
}


class CampaignOut(BaseModel):
    id: int
    tag: str = Field(examples=["may-news"])
    name: str
    sender: str
    list: str | None
    audience_filter: dict[str, JsonValue]
    content: Content
    timing: Timing
    created_by: str
    created_at: datetime
    updated_at: datetime
    links: dict[str, str]


class CampaignPage(BaseModel):
    """The newest first."""

    campaigns: list[CampaignOut]
    next: str | None = Field(description="Send it as cursor to go on.")


class CampaignPreview(PreviewOut):
    """What one reader would get."""

    sender: str = Field(description="The address it comes from.")
    from_name: str = Field(description="The name it comes from: the contact's own, if it has one.")


def campaign(facts: CampaignFacts) -> CampaignOut:
    return CampaignOut(
        id=facts.id,
        tag=facts.tag,
        name=facts.name,
        sender=facts.sender,
        list=facts.list_key,
        audience_filter=dict(facts.audience),
        content=campaign_content.content(facts.material),
        timing=campaign_content.timing_(facts.when),
        created_by=facts.created_by,
        created_at=facts.created_at,
        updated_at=facts.updated_at,
        links={"self": f"/v1/campaigns/{facts.id}", "runs": f"/v1/campaigns/{facts.id}/runs"},
    )


def page(found: Sequence[CampaignFacts], *, limit: int) -> CampaignPage:
    """`found` has one more than fits, where there are more."""
    shown = found[:limit]
    return CampaignPage(
        campaigns=[campaign(facts) for facts in shown],
        next=str(shown[-1].id) if len(found) > limit else None,
    )
