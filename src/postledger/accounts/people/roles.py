"""What a member of a workspace may do, by role."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """A constraint of the members' table lists the same values."""

    OWNER = "owner"
    MANAGER = "manager"
    DEVELOPER = "developer"
    VIEWER = "viewer"


class Permission(StrEnum):
    READ = "read"  # every figure and every mail of the workspace
    RUN_CAMPAIGNS = "run_campaigns"  # launch, pause, resume, cancel and retry them
    WRITE_CONTENT = "write_content"  # templates, articles, and how mail looks
    MANAGE_CONTACTS = "manage_contacts"  # import, suppress, restore and erase them, and their lists
    DECIDE = "decide"  # doubts, dead letters, held senders and alerts
    SET_UP = "set_up"  # senders, provider accounts, API keys and integrations
    MANAGE_MEMBERS = "manage_members"  # invite and remove people, and change their roles


_READ = {Permission.READ}
_PERMISSIONS: Final[Mapping[Role, frozenset[Permission]]] = {
    Role.OWNER: frozenset(Permission),
    Role.MANAGER: frozenset(
        _READ
        | {
            Permission.RUN_CAMPAIGNS,
            Permission.WRITE_CONTENT,
            Permission.MANAGE_CONTACTS,
            Permission.DECIDE,
        }
    ),
    Role.DEVELOPER: frozenset(
        _READ | {Permission.WRITE_CONTENT, Permission.DECIDE, Permission.SET_UP}
    ),
    Role.VIEWER: frozenset(_READ),
}


def may(role: Role, permission: Permission) -> bool:
    return permission in _PERMISSIONS[role]


def roles_with(permission: Permission) -> list[Role]:
    return [role for role in Role if may(role, permission)]
