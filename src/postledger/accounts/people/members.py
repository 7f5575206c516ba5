"""The members of workspaces: adds and removes them, and changes their roles and limits."""

from datetime import datetime

from django.db import transaction
from django.db.models.functions import Now

from postledger.accounts import constraints, limits, trail
from postledger.accounts.models import Member, Workspace
from postledger.accounts.people.roles import Role
from postledger.accounts.queries import MemberUnknownError
from postledger.lib.errors import ConflictError
from postledger.lib.sentences import say
from postledger.providers import addresses


class MemberExistsError(ConflictError):
    code = "member_exists"


class LastOwnerError(ConflictError):
    code = "last_owner"


def add_member(workspace_id: int, *, email: str, role: Role, name: str = "", actor: str) -> int:
    """Adds a membership that belongs to nobody yet: an invitation makes it a person's."""
    email = addresses.canonical(email)
    if name:
        constraints.check_name("a member", name)
    exists = MemberExistsError(say("%(email)s is already a member of this workspace.", email=email))
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


def change_role(workspace_id: int, *, member_id: int, role: Role, actor: str) -> None:
    with transaction.atomic():
        member = lock_member(workspace_id, member_id)
        if member.role == role:
            return
        if member.role == Role.OWNER:
            _keep_an_owner(workspace_id, member_id)
        Member.objects.filter(pk=member_id).update(role=role.value)
        trail.note(
            workspace_id,
            actor=actor,
            action="member.role_changed",
            subject=f"member {member_id}",
            data={"from": member.role, "to": role.value},
        )


def remove_member(workspace_id: int, *, member_id: int, now: datetime, actor: str) -> None:
    """Ends a membership at once. Runs and keys that name the member keep doing so."""
    with transaction.atomic():
        member = lock_member(workspace_id, member_id)
        if member.role == Role.OWNER:
            _keep_an_owner(workspace_id, member_id)
        Member.objects.filter(pk=member_id).update(
            removed_at=now, invitation_hash=None, invited_until=None
        )
        trail.note(
            workspace_id,
            actor=actor,
            action="member.removed",
            subject=f"member {member_id}",
            data={"email": member.email},
        )


def lock_member(workspace_id: int, member_id: int) -> Member:
    """The member as it is until the transaction ends; every change of members waits for it."""
    # The workspace first, so that of two owners who remove each other one stays. Without its key:
    # who joins has locked the member, and then notes it in the trail of the workspace.
    Workspace.objects.select_for_update(no_key=True).filter(pk=workspace_id).first()
    members = Member.objects.select_for_update(no_key=True)
    member = members.filter(workspace_id=workspace_id, pk=member_id, removed_at=None).first()
    if member is None:
        raise _unknown(member_id)
    return member


def _keep_an_owner(workspace_id: int, member_id: int) -> None:
    """Refuses to take the last owner who can sign in."""
    others = Member.objects.filter(
        workspace_id=workspace_id, role=Role.OWNER, removed_at=None, user__isnull=False
    ).exclude(pk=member_id)
    if not others.exists():
        raise LastOwnerError(
            say(
                "A workspace needs an owner who can sign in, and this is the last one: make"
                " another member an owner first."
            )
        )


def set_daily_limit(
    workspace_id: int, *, member_id: int, daily_limit: int | None, actor: str
) -> None:
    """Sets how many mails a day the runs of a member may send; None: no limit."""
    limits.check_count(daily_limit, limits.DAY)
    members = Member.objects.filter(workspace_id=workspace_id, pk=member_id, removed_at=None)
    with transaction.atomic():
        if daily_limit is not None:
            members.filter(daily_limit=None).update(counted_since=Now())
        if not members.update(daily_limit=daily_limit):
            raise _unknown(member_id)
        trail.note(
            workspace_id,
            actor=actor,
            action="member.limit_changed",
            subject=f"member {member_id}",
            data={"daily_limit": daily_limit},
        )


def _unknown(member_id: int) -> MemberUnknownError:
    return MemberUnknownError(
        say(
            "This workspace has no member %(member_id)s: use one of its members.",
            member_id=str(member_id),
        )
    )
