"""What somebody may pass on to a key or a member: never more than they have. Pure."""

from collections.abc import Collection, Mapping
from typing import Final

from postledger.accounts.keys import Scope
from postledger.accounts.people import roles
from postledger.accounts.people.roles import Permission, Role
from postledger.lib.errors import ForbiddenError
from postledger.lib.sentences import say

READING: Final = frozenset(scope for scope in Scope if scope.value.endswith(":read"))
_SENDING = {
    *(Scope.SEND, Scope.CONTENT_WRITE, Scope.CONTACTS_WRITE),
    *(Scope.NOTIFICATIONS_WRITE, Scope.EVENTS_PUBLISH),
}
_SCOPES: Final[Mapping[Permission, frozenset[Scope]]] = {
    Permission.READ: READING,
    Permission.RUN_CAMPAIGNS: frozenset({*_SENDING, Scope.CAMPAIGNS_WRITE}),
    Permission.WRITE_CONTENT: frozenset({Scope.CONTENT_WRITE}),
    Permission.MANAGE_CONTACTS: frozenset({Scope.CONTACTS_WRITE, Scope.CONTACTS_ERASE}),
    Permission.DECIDE: frozenset({Scope.DECISIONS_WRITE}),
    # Who sets up programs gives them what they send with.
    Permission.SET_UP: frozenset({*_SENDING, Scope.SETUP_WRITE}),
    Permission.MANAGE_MEMBERS: frozenset({Scope.MEMBERS_WRITE}),
}


class GrantRefusedError(ForbiddenError):
    code = "grant_refused"


def scopes_of(role: Role) -> frozenset[Scope]:
    """What a key may have that a member of this role creates."""
    held = [scopes for permission, scopes in _SCOPES.items() if roles.may(role, permission)]
    return frozenset().union(*held)


def check_scopes(scopes: Collection[str], *, granted: Collection[str]) -> None:
    """Refuses to pass on scopes that the one who grants lacks."""
    missing = sorted(set(scopes) - set(granted))
    if missing:
        raise GrantRefusedError(
            say(
                "A key gets no scope that its creator lacks: %(missing)s. Leave these out, or use"
                " a key that has them.",
                missing=", ".join(missing),
            )
        )


def check_member(member_id: int | None, *, of_granter: int | None) -> None:
    """Refuses to leave the daily limit of a member by a key of another, or of none."""
    if of_granter is not None and member_id != of_granter:
        raise GrantRefusedError(
            say(
                "This key is of member %(member_id)s, and so are the keys that it creates or"
                " rotates. Give member_id %(member_id)s, or use a key of no member.",
                member_id=str(of_granter),
            )
        )


def check_role(role: Role, *, granted: Collection[str]) -> None:
    """Refuses to make a member of a role that may do more than the one who grants."""
    missing = sorted(scope for scope in scopes_of(role) if scope not in granted)
    if missing:
        raise GrantRefusedError(
            say(
                "The role %(role)s may do more than this key, which lacks %(missing)s. Choose"
                " another role, or use a key that has these scopes.",
                role=role.value,
                missing=", ".join(missing),
            )
        )
