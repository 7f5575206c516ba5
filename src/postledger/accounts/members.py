"""Adds members to workspaces, and limits the mail of the runs that they launch."""

from enum import StrEnum

from django.db import transaction
from django.db.models.functions import Now

from postledger.accounts import constraints, limits, trail
from postledger.accounts.models import Member
from postledger.accounts.queries import MemberUnknownError
from postledger.lib.errors import ConflictError
from postledger.providers import addresses


class Role(StrEnum):
    """The permissions of a member; a constraint of the table lists the same values."""

    OWNER = "owner"  # everything, adding members included
    MEMBER = "member"  # everything but adding members


class MemberExistsError(ConflictError):
    code = "member_exists"


def add_member(workspace_id: int, *, email: str, role: Role, name: str = "", actor: str) -> int:
    email = addresses.canonical(email)
    if name:
        constraints.check_name("a member", name)
    exists = MemberExistsError(f"{email} is already a member of this workspace.")
    with constraints.refusing(accounts_member_once=exists):
        member = Member.objects.create(
            workspace_id=workspace_id, email=email, role=role.value, name=name
        )
        trail.note(
            workspace_id,
            actor=actor,
            action="member.added",
            subject=f"member {member.pk}",
            data={"email": email, "role": role.value},
        )
    return member.pk


def set_daily_limit(
    workspace_id: int, *, member_id: int, daily_limit: int | None, actor: str
) -> None:
    """Sets how many mails a day the runs of a member may send; None: no limit."""
    limits.check_count(daily_limit, "a day")
    members = Member.objects.filter(workspace_id=workspace_id, pk=member_id)
    with transaction.atomic():
        if daily_limit is not None:
            members.filter(daily_limit=None).update(counted_since=Now())
        if not members.update(daily_limit=daily_limit):
            raise MemberUnknownError(
                f"This workspace has no member {member_id}: use one of its members."
            )
        trail.note(
            workspace_id,
            actor=actor,
            action="member.limit_changed",
            subject=f"member {member_id}",
            data={"daily_limit": daily_limit},
        )
