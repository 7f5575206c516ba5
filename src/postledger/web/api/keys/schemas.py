"""API keys as callers send and get them; a token is shown once."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from postledger.accounts.keys import LONGEST_OVERLAP, Scope
from postledger.lib.ids import LAST_ID
from postledger.web.api.common.fields import Name
from postledger.web.api.common.pagination import NextCursor
from postledger.web.api.common.schemas import RequestSchema, ResponseSchema

_MOST_SECONDS = int(LONGEST_OVERLAP.total_seconds())


class NewKeyIn(RequestSchema):
    """A key with some of the scopes that the key has which creates it."""

    name: Name
    scopes: list[Annotated[Scope, Field(strict=False)]] = Field(min_length=1, max_length=len(Scope))
    is_test: bool = Field(default=False, description="Whether its mail goes to the sandbox.")
    member_id: Annotated[int, Field(ge=1, le=LAST_ID)] | None = Field(
        default=None, description="Whose daily limit counts the runs that it launches."
    )


class RotateKeyIn(RequestSchema):
    """How a key is replaced by a successor."""

    overlap_seconds: int = Field(
        default=86_400,
        ge=0,
        le=_MOST_SECONDS,
        description="How long the old key stays valid; 24 hours by default.",
    )


class KeyOut(ResponseSchema):
    prefix: str = Field(description="The part of the token before the dot; no secret.")
    name: str
    scopes: list[str]
    is_test: bool
    member_id: int | None
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None = Field(description="Of a key that was rotated.")
    revoked_at: datetime | None


class KeyPage(ResponseSchema):
    """In the order in which they were created."""

    keys: list[KeyOut]
    next: NextCursor


class NewKeyOut(ResponseSchema):
    """A new key; nobody can read its token again."""

    prefix: str
    token: str
