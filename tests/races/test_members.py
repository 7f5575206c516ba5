"""Members who join while somebody decides about them."""

from datetime import UTC, datetime
from functools import partial

import pytest

from postledger.accounts.models import Member, User
from postledger.accounts.people import invitations, members
from postledger.accounts.people.invitations import AlreadyJoinedError
from postledger.accounts.people.roles import Role
from tests import cast
from tests.races import collide

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

NOW = datetime.now(UTC)


def _invite() -> tuple[int, User, str]:
    """A person who is invited, and signs in already: the membership, the person, the token."""
    user = User.objects.create(email="vera@example.com")
    workspace_id = cast.sender().workspace_id
    member_id = members.add_member(workspace_id, email=user.email, role=Role.VIEWER, actor="anna")
    return member_id, user, _renew(member_id).token


def _renew(member_id: int) -> invitations.NewInvitation:
    workspace_id = cast.sender().workspace_id
    return invitations.invite_member(workspace_id, member_id=member_id, now=NOW, actor="anna")


def _remove(member_id: int) -> None:
    workspace_id = cast.sender().workspace_id
    members.remove_member(workspace_id, member_id=member_id, now=NOW, actor="anna")


def _lock(user: User) -> None:
    User.objects.select_for_update().get(pk=user.pk)


def test_who_is_removed_while_they_join_is_removed() -> None:
    member_id, user, token = _invite()
    join = partial(invitations.join_as_user, token, user=user, now=NOW)

    with collide.uncommitted(partial(_lock, user)):
        joining = collide.start(join)
        joining.must_wait()  # it has the member, and has not noted anything yet
        removal = collide.start(partial(_remove, member_id))
        removal.must_wait()

    joining.answer()
    removal.answer()
    assert Member.objects.get(pk=member_id).removed_at == NOW


def test_who_joins_meanwhile_gets_no_further_invitation() -> None:
    member_id, user, token = _invite()
    join = partial(invitations.join_as_user, token, user=user, now=NOW)

    with collide.uncommitted(join):
        invitation = collide.start(partial(_renew, member_id))
        invitation.must_wait()

    with pytest.raises(AlreadyJoinedError):
        invitation.answer()
    assert Member.objects.get(pk=member_id).invitation_hash is None
