"""Another address to sign in with: by a link that works once and for an hour, or at once."""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.core import signing
from django.urls import reverse
from django.utils.http import base36_to_int, int_to_base36

from postledger.accounts import constraints, trail
from postledger.accounts.models import Member, User
from postledger.accounts.people.invitations import actor_of
from postledger.lib.errors import ConflictError, NotFoundError
from postledger.lib.sentences import say
from postledger.observability import masking
from postledger.providers import addresses

VALID_FOR = timedelta(hours=1)


class AddressTakenError(ConflictError):
    code = "address_taken"


class AddressLinkUnknownError(NotFoundError):
    code = "address_link_unknown"


@dataclass(frozen=True, slots=True)
class AddressLink:
    valid_until: datetime
    path: str = field(repr=False)  # below PUBLIC_URL


@dataclass(frozen=True, slots=True)
class AddressChange:
    user: User
    former: str
    address: str


def make_link(user: User, *, address: str, now: datetime) -> AddressLink:
    """A link of which nothing is stored: it is signed with the person's address and password, and
    a change of either ends it.
    """
    valid_until = now + VALID_FOR
    signed = _signer(user).sign_object([address, valid_until.timestamp()])
    path = reverse("address_link", args=[f"{int_to_base36(user.pk)}-{signed}"])
    return AddressLink(valid_until, path)


def find_change(token: str, *, now: datetime) -> AddressChange:
    """What a link would change."""
    try:
        user = User.objects.filter(pk=base36_to_int(token.partition("-")[0])).first()
    except ValueError:
        user = None
    if user is None:
        raise _unknown()
    return AddressChange(user, user.email, _read_address(token, user, now))


def change_by_link(token: str, *, user: User, now: datetime) -> AddressChange:
    """Only the person who asked for the link may use it."""
    with _refusing_taken():
        user = _lock(user)
        return _change(user, _read_address(token, user, now), now=now, actor=actor_of(user))


def change_address(user: User, *, address: str, now: datetime, actor: str) -> AddressChange:
    with _refusing_taken():
        return _change(_lock(user), addresses.canonical(address).lower(), now=now, actor=actor)


def _change(user: User, address: str, *, now: datetime, actor: str) -> AddressChange:
    """Memberships that ended keep the address that their workspaces knew."""
    if address == user.email:
        same = say("%(email)s is the address of this person already.", email=address)
        raise AddressTakenError(same)
    User.objects.filter(pk=user.pk).update(email=address, email_changed_at=now)
    members = Member.objects.select_for_update(no_key=True).filter(user=user, removed_at=None)
    for member in members.order_by("pk"):
        Member.objects.filter(pk=member.pk).update(email=address)
        trail.note(
            member.workspace_id,
            actor=actor,
            action="member.address_changed",
            subject=f"member {member.pk}",
            # Masked, because entries never change.
            data={"from": masking.mask_text(user.email), "to": masking.mask_text(address)},
        )
    return AddressChange(user, user.email, address)


def _lock(user: User) -> User:
    """The person as they are until the transaction ends, so that a link works once."""
    return User.objects.select_for_update().get(pk=user.pk)


def _refusing_taken() -> AbstractContextManager[None]:
    """Of several who claim an address, the unique constraints let one have it."""
    return constraints.refusing(
        accounts_user_email_key=AddressTakenError(
            say("Somebody else signs in with this address already. Choose another one.")
        ),
        accounts_member_once=AddressTakenError(
            say(
                "Another member, or an invitation, of the same workspace has this address. An owner"
                " can remove it there; or choose another address."
            )
        ),
    )


def _signer(user: User) -> signing.Signer:
    # With the moment: a link that was used must not work again once the former address is back.
    facts = (user.pk, user.email, user.email_changed_at, user.password)
    return signing.Signer(salt="\0".join(("address change", *map(str, facts))))


def _read_address(token: str, user: User, now: datetime) -> str:
    try:
        address, valid_until = _signer(user).unsign_object(token.partition("-")[2])
    except signing.BadSignature:
        raise _unknown() from None
    if now.timestamp() >= valid_until:
        raise _unknown()
    return str(address)


def _unknown() -> AddressLinkUnknownError:
    return AddressLinkUnknownError(
        say(
            "This link was used, or it is older than an hour, or the address or the password has"
            " changed since. Ask for a new one under Your account."
        )
    )
