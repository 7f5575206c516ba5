"""The members of a workspace as an owner sees them: who joined, and who is protected."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from allauth.mfa.models import Authenticator

from postledger.accounts import queries
from postledger.accounts.models import Member
from postledger.accounts.people.roles import Role

_FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)


class MemberState(StrEnum):
    JOINED = "joined"
    INVITED = "invited"
    EXPIRED = "expired"  # the invitation was not used in time
    ADDED = "added"  # by a command or a program, and never invited


@dataclass(frozen=True, slots=True)
class ListedMember:
    id: int
    email: str
    name: str
    role: Role
    state: MemberState
    invited_until: datetime | None
    has_second_factor: bool
    daily_limit: int | None


def list_members(workspace_id: int, *, now: datetime) -> list[ListedMember]:
    members = queries.members(workspace_id)
    protected = _list_protected([member.user_id for member in members if member.user_id])
    return [describe_member(member, protected, now=now) for member in members]


def find_member(workspace_id: int, member_id: int, *, now: datetime) -> ListedMember:
    """One member; raises MemberNotFoundError for a member of another workspace."""
    member = queries.get_member(workspace_id, member_id)
    protected = _list_protected([member.user_id] if member.user_id else [])
    return describe_member(member, protected, now=now)


def describe_member(member: Member, protected: Collection[int], *, now: datetime) -> ListedMember:
    return ListedMember(
        id=member.pk,
        email=member.email,
        name=member.name,
        role=Role(member.role),
        state=_find_state(member, now),
        invited_until=member.invited_until,
        has_second_factor=member.user_id in protected,
        daily_limit=member.daily_limit,
    )


def _find_state(member: Member, now: datetime) -> MemberState:
    if member.user_id is not None:
        return MemberState.JOINED
    if member.invited_until is None:
        return MemberState.ADDED
    return MemberState.INVITED if member.invited_until > now else MemberState.EXPIRED


def _list_protected(user_ids: Collection[int]) -> set[int]:
    """Those of the users who have a second factor; in one query."""
    factors = Authenticator.objects.filter(user_id__in=user_ids, type__in=_FACTORS)
    return set(factors.values_list("user_id", flat=True))
