"""Routes for members: a key makes nobody a member who may do more than itself."""

from typing import Annotated

from django.db import transaction
from ninja import Query

from postledger.accounts import queries
from postledger.accounts.keys import Scope
from postledger.accounts.people import grants, members
from postledger.accounts.people.roles import Role
from postledger.deliveries import account_changes
from postledger.web.api.common.fields import path_id
from postledger.web.api.common.pagination import OldestFirstQuery, cut_page
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.members.schemas import (
    MemberChangeIn,
    MemberOut,
    MemberPage,
    NewMemberIn,
    member_fields,
)

routes = Routes("members", read=Scope.MEMBERS_READ, write=Scope.MEMBERS_WRITE)

MemberId = Annotated[int, path_id("The number of the member.")]
# Every member reads everything.
GRANTING = [Scope.MEMBERS_WRITE, *sorted(grants.READING)]


@routes.get("", MemberPage)
def list_members(call: Call, query: Query[OldestFirstQuery]) -> dict[str, object]:
    """The members of the workspace; those who were removed are not among them."""
    rows = queries.page_members(call.workspace_id, after=query.after, limit=query.limit + 1)
    page = cut_page("members", rows, query.limit, lambda row: row.pk)
    return {**page, "members": [member_fields(row) for row in rows[: query.limit]]}


@routes.post("", MemberOut, status=201, scopes=GRANTING)
def add_member(call: Call, payload: NewMemberIn) -> dict[str, object]:
    """Adds a member who may do no more than the caller's key."""
    grants.check_role(payload.role, granted=call.scopes)
    id_ = members.add_member(
        call.workspace_id,
        email=payload.email,
        role=payload.role,
        name=payload.name,
        actor=call.actor,
    )
    return _show(call, id_)


@routes.get("/{int:member_id}", MemberOut)
def get_member(call: Call, member_id: MemberId) -> dict[str, object]:
    """One member."""
    return _show(call, member_id)


@routes.patch("/{int:member_id}", MemberOut, scopes=GRANTING)
def change_member(call: Call, member_id: MemberId, payload: MemberChangeIn) -> dict[str, object]:
    """Changes the role or the daily limit. Neither role may do more than the caller's key."""
    member = queries.get_member(call.workspace_id, member_id)
    grants.check_role(Role(member.role), granted=call.scopes)
    with transaction.atomic():
        if "role" in payload.model_fields_set:
            grants.check_role(payload.role, granted=call.scopes)
            members.change_role(
                call.workspace_id, member_id=member_id, role=payload.role, actor=call.actor
            )
        if "daily_limit" in payload.model_fields_set:
            account_changes.set_member_limit(
                call.workspace_id,
                member_id=member_id,
                daily_limit=payload.daily_limit,
                actor=call.actor,
            )
    return _show(call, member_id)


@routes.delete("/{int:member_id}", scopes=GRANTING)
def remove_member(call: Call, member_id: MemberId) -> None:
    """Ends a membership at once, of nobody who may do more than the caller's key.

    The last owner who can sign in stays.
    """
    member = queries.get_member(call.workspace_id, member_id)
    grants.check_role(Role(member.role), granted=call.scopes)
    members.remove_member(call.workspace_id, member_id=member_id, now=call.now, actor=call.actor)


def _show(call: Call, member_id: int) -> dict[str, object]:
    return member_fields(queries.get_member(call.workspace_id, member_id))
