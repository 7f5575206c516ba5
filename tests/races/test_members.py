"""Members who join or change their address while somebody decides about them."""

from datetime import UTC, datetime
from functools import partial

import pytest

from postledger.accounts.models import Member, User
from postledger.accounts.people import address_changes, invitations, members
from postledger.accounts.people.address_changes import AddressLinkUnknownError, AddressTakenError
from postledger.accounts.people.invitations import AlreadyJoinedError, InvitationUnknownError
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
        removal = collide.waiting(partial(_remove, member_id))

    joining.answer()
    removal.answer()
    assert Member.objects.get(pk=member_id).removed_at == NOW


def test_who_joins_meanwhile_gets_no_further_invitation() -> None:
    member_id, user, token = _invite()
    join = partial(invitations.join_as_user, token, user=user, now=NOW)

    with collide.uncommitted(join):
        invitation = collide.waiting(partial(_renew, member_id))

    with pytest.raises(AlreadyJoinedError):
        invitation.answer()
    assert Member.objects.get(pk=member_id).invitation_hash is None


def _change_address(user: User, address: str) -> None:
    address_changes.change_address(user, address=address, now=NOW, actor="anna")


def test_of_two_people_who_claim_one_address_one_has_it_and_the_other_is_refused() -> None:
    _, vera, token = _invite()
    invitations.join_as_user(token, user=vera, now=NOW)
    olga = User.objects.create(email="olga@example.com")
    wanted = "vera@new.example"

    with collide.uncommitted(partial(_change_address, vera, wanted)):
        late = collide.waiting(partial(_change_address, olga, wanted))

    with pytest.raises(AddressTakenError, match="Somebody else signs in with this address"):
        late.answer()
    assert Member.objects.get(user=vera).email == wanted
    assert User.objects.get(pk=olga.pk).email == "olga@example.com"


def test_a_link_to_a_new_address_that_is_used_twice_at_once_works_once() -> None:
    user = User.objects.create(email="vera@example.com", password="x")
    path = address_changes.make_link(user, address="vera@new.example", now=NOW).path
    use = partial(
        address_changes.change_by_link, path.rstrip("/").rpartition("/")[2], user=user, now=NOW
    )

    with collide.uncommitted(use):
        again = collide.waiting(use)

    with pytest.raises(AddressLinkUnknownError):
        again.answer()


def test_who_joins_while_their_address_changes_does_not_join_with_the_former_one() -> None:
    member_id, user, token = _invite()

    with collide.uncommitted(partial(_change_address, user, "vera@new.example")):
        joining = collide.waiting(partial(invitations.join_as_user, token, user=user, now=NOW))

    with pytest.raises(InvitationUnknownError):
        joining.answer()
    assert Member.objects.get(pk=member_id).user is None


def test_who_is_removed_while_their_address_changes_is_removed() -> None:
    member_id, user, token = _invite()
    invitations.join_as_user(token, user=user, now=NOW)

    with collide.uncommitted(partial(_change_address, user, "vera@new.example")):
        removal = collide.waiting(partial(_remove, member_id))

    removal.answer()
    assert Member.objects.get(pk=member_id).removed_at == NOW
    assert User.objects.get(pk=user.pk).email == "vera@new.example"
