"""What callers ask of campaigns: a preview, a test, and an article that is sent at once."""

from typing import Self
from uuid import UUID

from pydantic import Field, model_validator

from postledger.campaigns import drafts, testing
from postledger.campaigns.drafts import Draft
from postledger.campaigns.material import OfArticle
from postledger.campaigns.preview import Reader
from postledger.web.api.article_forms import MOST_PLACES, Place
from postledger.web.api.campaign_forms import Tag
from postledger.web.api.incoming import Incoming
from postledger.web.api.looking import AskedAddress
from postledger.web.api.words import ArticleKey, Locale, Values


class ReaderIn(Incoming):
    """Somebody made up."""

    name: str | None = Field(default=None, max_length=500)
    email: AskedAddress | None = None
    locale: Locale | None = None
    ocd_ids: list[Place] = Field(default=[], max_length=MOST_PLACES)
    attributes: Values = Field(default={})

    def reader(self) -> Reader:
        return Reader(
            self.name,
            self.email,
            locale=self.locale or "",
            ocd_ids=self.ocd_ids,
            attributes=self.attributes,
        )


class CampaignPreviewIn(Incoming):
    """As whom to read it; as nobody in particular, unless said."""

    contact_id: int | None = Field(default=None, ge=1, le=2**63 - 1)
    reader: ReaderIn | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if self.contact_id is not None and self.reader is not None:
            raise ValueError("give contact_id or reader, not both")
        return self


class CampaignTestIn(Incoming):
    """To whom; to the workspace's addresses for tests, unless said."""

    addresses: list[AskedAddress] | None = Field(
        default=None, min_length=1, max_length=testing.MOST_ADDRESSES
    )

    def written(self) -> str | None:
        return None if self.addresses is None else " ".join(self.addresses)


class SendIn(Incoming):
    """Sends an article, once for each send_batch_id."""

    campaign_tag: Tag
    article_key: ArticleKey
    audience_filter: dict[str, str] | None = Field(
        default=None,
        description="Attributes and their values; `list` names a list.",
        examples=[{"state": "OH"}],
    )
    send_batch_id: UUID = Field(strict=False, description="Repeated, nothing is sent again.")
    admin_password: str | None = Field(
        default=None,
        description="In place of a key, for the first workspace.",
        json_schema_extra={"format": "password", "writeOnly": True},
    )

    def draft(self) -> Draft:
        pairs = dict(self.audience_filter or {})
        list_key = pairs.pop("list", None)
        return Draft(
            self.campaign_tag,
            self.campaign_tag[: drafts.LONGEST_NAME],
            OfArticle(self.article_key),
            list_key=list_key,
            audience=pairs,
        )
