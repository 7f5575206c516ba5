"""Members of a workspace as callers send and get them."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from postledger.accounts import limits
from postledger.accounts.models import Member
from postledger.accounts.people.roles import Role
from postledger.web.api.common.fields import Address
from postledger.web.api.common.pagination import NextCursor
from postledger.web.api.common.schemas import RequestSchema, ResponseSchema

_ROLE = "What the member may do; no more than the caller's key."
Count = Annotated[int, Field(ge=1, le=limits.MOST)]


class NewMemberIn(RequestSchema):
    """A membership; an invitation, from the dashboard, makes it a person's."""

    email: Address
    role: Role = Field(strict=False, description=_ROLE, examples=["viewer"])
    name: str = Field(default="", max_length=200)


class MemberChangeIn(RequestSchema):
    """Absent fields do not change."""

    role: Role = Field(
        default_factory=lambda: Role.VIEWER,
        strict=False,
        description=_ROLE,
        examples=["manager"],
    )
    daily_limit: Count | None = Field(
        default_factory=lambda: None,
        description="Mails a day of the runs that the member launches; null for no limit.",
    )


class MemberOut(ResponseSchema):
    id: int
    email: str
    name: str
    role: Role
    has_joined: bool = Field(description="Whether a person has accepted the invitation.")
    daily_limit: int | None
    created_at: datetime


class MemberPage(ResponseSchema):
    """In the order in which they were added."""

    members: list[MemberOut]
    next: NextCursor


def member_fields(member: Member) -> dict[str, object]:
    return {
        "id": member.pk,
        "email": member.email,
        "name": member.name,
        "role": member.role,
        "has_joined": member.user_id is not None,
        "daily_limit": member.daily_limit,
        "created_at": member.created_at,
    }
