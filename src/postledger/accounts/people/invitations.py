"""Invitations: a link, used once, that makes a membership a person's."""

import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256

from django.db import transaction

from postledger.accounts import constraints, trail
from postledger.accounts.models import Member, User
from postledger.accounts.people import members
from postledger.accounts.people.roles import Role
from postledger.lib.errors import ConflictError, NotFoundError
from postledger.lib.sentences import say

VALID_FOR = timedelta(days=7)
_TOKEN_BYTES = 32


class InvitationUnknownError(NotFoundError):
    code = "invitation_unknown"


class AlreadyJoinedError(ConflictError):
    code = "already_joined"


@dataclass(frozen=True, slots=True)
class Invitation:
    member_id: int
    workspace_id: int
    workspace_name: str
    email: str
    name: str
    role: Role
    has_user: bool  # somebody with this address signs in already


@dataclass(frozen=True, slots=True)
class NewInvitation:
    """An invitation with its token, which is mailed once and not stored."""

    member_id: int
    email: str
    valid_until: datetime
    token: str = field(repr=False)


def invite_member(workspace_id: int, *, member_id: int, now: datetime, actor: str) -> NewInvitation:
    """Makes a new link for a member who has not joined yet; an earlier link stops working."""
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    valid_until = now + VALID_FOR
    with transaction.atomic():
        member = members.lock_member(workspace_id, member_id)
        if member.user_id is not None:
            raise AlreadyJoinedError(
                say("%(email)s has joined already; no invitation is needed.", email=member.email)
            )
        Member.objects.filter(pk=member_id).update(
            invitation_hash=_hash(token), invited_until=valid_until
        )
        trail.note(
            workspace_id, actor=actor, action="member.invited", subject=f"member {member_id}"
        )
    return NewInvitation(member_id, member.email, valid_until, token)


def find_invitation(token: str, *, now: datetime) -> Invitation:
    member = _find_member(token, now)
    return Invitation(
        member.pk,
        member.workspace_id,
        member.workspace.name,
        member.email,
        member.name,
        Role(member.role),
        User.objects.filter(email=member.email.lower()).exists(),
    )


def join_as_new_user(token: str, *, name: str, password: str, now: datetime) -> User:
    """Creates the person and their membership; the password was validated by the caller."""
    exists = AlreadyJoinedError(
        say("Somebody with this address signs in already: sign in to join.")
    )
    with constraints.refusing(accounts_user_email_key=exists):
        member = _find_member(token, now, is_locked=True)
        user = User(email=member.email.lower(), name=name or member.name)
        user.set_password(password)
        user.save()
        _take(member, user)
    return user


def join_as_user(token: str, *, user: User, now: datetime) -> None:
    """Joins with a user who signed in; only the person who was invited may."""
    joined = AlreadyJoinedError(say("You are a member of this workspace already."))
    with constraints.refusing(accounts_member_user_once=joined):
        member = _find_member(token, now, is_locked=True)
        # Their address may be changing: its workspaces are those that they have joined by then.
        user = User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if member.email.lower() != user.email:
            raise InvitationUnknownError(say("This invitation is for another address."))
        _take(member, user)


def _take(member: Member, user: User) -> None:
    Member.objects.filter(pk=member.pk).update(
        user=user, invitation_hash=None, invited_until=None, name=user.name
    )
    trail.note(
        member.workspace_id,
        actor=actor_of(user),
        action="member.joined",
        subject=f"member {member.pk}",
    )


def actor_of(user: User) -> str:
    """The name of a signed-in person in the audit trail."""
    return f"user {user.pk}"


def _find_member(token: str, now: datetime, *, is_locked: bool = False) -> Member:
    rows = Member.objects.select_related("workspace").filter(
        invitation_hash=_hash(token), invited_until__gt=now, removed_at=None
    )
    member = (rows.select_for_update(of=("self",)) if is_locked else rows).first()
    if member is None:
        raise InvitationUnknownError(
            say(
                "This invitation was used, replaced or withdrawn, or it is older than %(days)s"
                " days. Ask for a new one.",
                days=VALID_FOR.days,
            )
        )
    return member


def _hash(token: str) -> bytes:
    """A fast hash is enough: 256 random bits cannot be guessed."""
    return sha256(token.encode(errors="surrogatepass")).digest()
