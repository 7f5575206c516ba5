"""Provider accounts as callers send and get them; settings are never shown."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, JsonValue

from postledger.accounts import limits
from postledger.accounts.models import ProviderAccount
from postledger.lib import values
from postledger.web.api.common.fields import Name
from postledger.web.api.common.pagination import NextCursor
from postledger.web.api.common.schemas import RequestSchema, ResponseSchema

_LARGEST_SETTINGS = 16_384  # bytes


def _storable(given: dict[str, JsonValue]) -> dict[str, JsonValue]:
    issue = values.find_flaw(given, most=_LARGEST_SETTINGS)
    if issue:
        raise ValueError(issue)
    return given


Kind = Literal["sandbox", "sendgrid", "ses", "smtp"]
Settings = Annotated[
    dict[str, JsonValue],
    AfterValidator(_storable),
    Field(
        description="As the commands name them, credentials included; stored sealed, never shown.",
        examples=[{"host": "smtp.acme.example", "username": "acme", "password": "secret"}],
    ),
]
Rate = Annotated[float, Field(gt=0, le=limits.FASTEST, allow_inf_nan=False)]


class NewAccountIn(RequestSchema):
    """An account at a provider."""

    name: Name
    kind: Kind
    settings: Settings = Field(default={})


class AccountChangeIn(RequestSchema):
    """Absent fields do not change."""

    # One that an account of any provider takes.
    model_config = ConfigDict(json_schema_extra={"examples": [{"rate_per_second": 5}]})

    settings: Settings = Field(
        default_factory=dict,
        description="The settings to change; null removes one, and the others stay.",
    )
    is_anew: bool = Field(
        default=False, description="Whether all stored settings are dropped first."
    )
    rate_per_second: Rate | None = Field(
        default_factory=lambda: None,
        description="Mails a second of all its senders; null for what the provider says.",
    )


class QuotaSourceIn(RequestSchema):
    """Where the quota of an account is read; stored sealed, never shown."""

    url: str = Field(max_length=2_000, examples=["https://api.example.com/v1/credits"])
    path: str = Field(
        max_length=500, description="To the number in the JSON there.", examples=["data.0.left"]
    )
    header: str | None = Field(
        default=None, max_length=100, description="With the token; Authorization by default."
    )
    token: str | None = Field(default=None, max_length=2_000)


class QuotaOut(ResponseSchema):
    """What the provider said when it was last asked."""

    remaining: int | None = Field(description="Mails that are left; null if unlimited or unknown.")
    size: int | None
    max_rate: float | None = Field(description="Mails a second, where the provider says it.")
    is_limit: bool = Field(
        description="Whether mail waits when none is left; if not, the provider may charge for it."
    )
    synced_at: datetime | None = Field(description="Of the last answer; null: there was none.")
    next_sync_at: datetime
    failed_since: datetime | None
    error: str = Field(
        description="Why it was not read; without failed_since: why the keys may not read it."
    )


class AccountOut(ResponseSchema):
    id: int
    name: str
    kind: str
    rate_per_second: float | None
    quota: QuotaOut | None = Field(description="Null if it is not read.")
    has_quota_source: bool
    created_at: datetime
    updated_at: datetime
    archived_at: datetime | None = Field(description="From then on no sender is attached to it.")


class AccountPage(ResponseSchema):
    """In the order in which they were created."""

    accounts: list[AccountOut]
    next: NextCursor


def account_fields(account: ProviderAccount) -> dict[str, object]:
    """Names what is shown: the sealed columns are not among it."""
    return {
        "id": account.pk,
        "name": account.name,
        "kind": account.kind,
        "rate_per_second": account.rate_per_second,
        "quota": getattr(account, "accountquota", None),
        "has_quota_source": account.sealed_quota_source is not None,
        "created_at": account.created_at,
        "updated_at": account.updated_at,
        "archived_at": account.archived_at,
    }
