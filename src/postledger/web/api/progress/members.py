"""Lets members who signed in on the dashboard read the progress of their workspace."""

from collections.abc import Collection
from dataclasses import dataclass

from django.http import HttpRequest

from postledger.accounts.keys import Scope
from postledger.accounts.models import Member, User
from postledger.accounts.people.invitations import actor_of
from postledger.lib.errors import NotFoundError
from postledger.observability import context
from postledger.web.shared import last_workspace

_LONGEST_ID = 18


class WorkspaceUnknownError(NotFoundError):
    code = "workspace_unknown"


@dataclass(frozen=True, slots=True)
class MemberCaller:
    """A member in place of a key; every role may read."""

    workspace_id: int
    actor: str
    member_id: int
    is_test: bool = False
    scopes: Collection[str] = (Scope.CAMPAIGNS_READ,)


def authenticate_member(request: HttpRequest) -> MemberCaller | None:
    """The member of the workspace that the request names, or of the one that they saw last."""
    user = request.user
    if not isinstance(user, User):
        return None
    workspace_id = _read_workspace(request, user)
    own = Member.objects.filter(user=user, removed_at=None)
    member = None if workspace_id is None else own.filter(workspace_id=workspace_id).first()
    if member is None:
        raise WorkspaceUnknownError("There is no such workspace, or you are not a member of it.")
    context.bind(workspace_id=member.workspace_id)
    return MemberCaller(member.workspace_id, actor_of(user), member.pk)


def _read_workspace(request: HttpRequest, user: User) -> int | None:
    name = request.GET.get("workspace")
    if name is None:
        return last_workspace.find(request, user)
    is_number = name.isascii() and name.isdecimal() and len(name) <= _LONGEST_ID
    return int(name) if is_number else None
