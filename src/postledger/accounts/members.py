"""Adds members to workspaces."""

from enum import StrEnum

from postledger.accounts import constraints, trail
from postledger.accounts.models import Member
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
