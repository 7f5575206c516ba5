"""Makes workspaces and lets people into them."""

from dataclasses import dataclass
from enum import StrEnum

from django.db import transaction

from postledger.accounts import constraints, names, trail
from postledger.accounts.actions.senders import create_sender
from postledger.accounts.models import Member, Workspace
from postledger.lib.errors import RefusedError
from postledger.providers import addresses

DEFAULT = "default"


class Role(StrEnum):
    """What a member may do; the table lets in no other word."""

    OWNER = "owner"  # everything, and letting others in
    MEMBER = "member"  # everything but that


class WorkspaceExistsError(RefusedError):
    code = "workspace_exists"


class MemberExistsError(RefusedError):
    code = "member_exists"


def create_workspace(name: str, *, actor: str) -> int:
    names.check("a workspace", name)
    taken = WorkspaceExistsError(
        f"There is a workspace “{name}” already, and capitals make no difference:"
        " choose another name."
    )
    with constraints.kept(accounts_workspace_once=taken):
        workspace = Workspace.objects.create(name=name)
        trail.note(
            workspace.pk,
            actor=actor,
            action="workspace.created",
            subject=f"workspace {workspace.pk}",
            data={"name": name},
        )
    return workspace.pk


def add_member(workspace_id: int, *, email: str, role: Role, name: str = "", actor: str) -> int:
    email = addresses.canonical(email)
    if name:
        names.check("a member", name)
    known = MemberExistsError(f"{email} is a member of this workspace already.")
    with constraints.kept(accounts_member_once=known):
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


@dataclass(frozen=True, slots=True)
class FirstWorkspace:
    workspace_id: int
    sender_address: str | None


def ensure_default_workspace(
    *, from_email: str, from_name: str, actor: str
) -> FirstWorkspace | None:
    """Makes the first workspace, with a sender when one is named; None once there is any.

    The environment speaks only here: from then on the rows are what counts.
    """
    try:
        with transaction.atomic():
            if Workspace.objects.exists():
                return None
            workspace_id = create_workspace(DEFAULT, actor=actor)
            if from_email:
                create_sender(workspace_id, address=from_email, name=from_name, actor=actor)
    except WorkspaceExistsError:  # another process was faster
        return None
    return FirstWorkspace(workspace_id, from_email or None)
