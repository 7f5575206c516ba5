"""Who may see a page: signed in, a member of the workspace, with the permission of the page."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate
from zoneinfo import ZoneInfo

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone

from postledger.accounts.models import Member, User, Workspace
from postledger.accounts.people.invitations import actor_of
from postledger.accounts.people.roles import Permission, Role, may
from postledger.lib.errors import NotFoundError
from postledger.observability import context
from postledger.web.dashboard import kept_forms
from postledger.web.shared import last_workspace


@dataclass(frozen=True, slots=True)
class Visitor:
    """The signed-in person who asks for a page of a workspace."""

    user: User
    member: Member
    workspace: Workspace

    @property
    def role(self) -> Role:
        return Role(self.member.role)

    @property
    def actor(self) -> str:
        """Their name in the audit trail."""
        return actor_of(self.user)

    def may(self, permission: Permission) -> bool:
        return may(self.role, permission)


type Page[**P] = Callable[Concatenate[HttpRequest, Visitor, P], HttpResponseBase]


def member_page[**P](view: Page[P], permission: Permission) -> Callable[..., HttpResponseBase]:
    """The view for members of the workspace in the URL who have the permission.

    A stranger is asked to sign in, a member of other workspaces gets 404, a member whose role
    lacks the permission 403.
    """

    @wraps(view)
    def show(
        request: HttpRequest, workspace_id: int, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponseBase:
        if not isinstance(request.user, User):
            return kept_forms.ask_to_sign_in(request)
        visitor = find_visitor(request.user, workspace_id)
        if visitor is None:
            raise Http404
        context.bind(workspace_id=workspace_id)
        if not visitor.may(permission):
            raise PermissionDenied
        last_workspace.remember(request, workspace_id)
        with timezone.override(ZoneInfo(visitor.workspace.time_zone)):
            try:
                return view(request, visitor, *args, **kwargs)
            except NotFoundError as error:
                raise Http404 from error

    show.permission = permission  # type: ignore[attr-defined]  # the table of pages reads it
    return show


def find_visitor(user: User, workspace_id: int) -> Visitor | None:
    member = (
        Member.objects.select_related("workspace")
        .filter(user=user, workspace_id=workspace_id, removed_at=None)
        .first()
    )
    return None if member is None else Visitor(user, member, member.workspace)
