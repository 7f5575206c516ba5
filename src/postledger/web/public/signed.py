"""What the links of the public pages say: each is signed, for one purpose, and works often."""

from dataclasses import dataclass, replace
from datetime import timedelta

from django.conf import settings
from django.core import signing
from django.http import Http404

from postledger.contacts import queries, unsubscribe
from postledger.contacts.unsubscribe import Wish
from postledger.lib.errors import RefusedError
from postledger.providers import addresses

CONFIRMED_WITHIN = timedelta(days=7)

_PURPOSE = "postledger.web.public.confirm"
_LONGEST = 2_000


class BadLinkError(RefusedError):
    code = "bad_link"


class StaleLinkError(RefusedError):
    code = "stale"


@dataclass(frozen=True, slots=True)
class Recipient:
    """Whose link it is; the address is written as it is stored."""

    workspace_id: int
    wish: Wish
    token: str

    @property
    def address(self) -> str:
        return self.wish.email


def recipient(token: str) -> Recipient:
    """Who an unsubscribe link was mailed to; without a secret, nobody has one."""
    if not settings.UNSUBSCRIBE_SECRET:
        raise Http404
    known = (settings.UNSUBSCRIBE_SECRET, settings.UNSUBSCRIBE_SECRET_PREVIOUS)
    wish = unsubscribe.read(token, secrets=[secret.encode() for secret in known])
    workspace_id = None if wish is None else queries.workspace_of(wish)
    if wish is None or workspace_id is None:
        raise _bad()
    try:
        address = addresses.canonical(wish.email)
    except addresses.InvalidAddressError:
        raise _bad() from None
    return Recipient(workspace_id, replace(wish, email=address), token)


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What the link of a confirmation mail says."""

    workspace_id: int
    contact_id: int
    address: str
    list_key: str


def confirmation_token(asked: Confirmation) -> str:
    told = [asked.workspace_id, asked.contact_id, asked.address, asked.list_key]
    return signing.dumps(told, salt=_PURPOSE)


def confirmation(token: str) -> Confirmation:
    if len(token) > _LONGEST:
        raise _bad()
    try:
        told = signing.loads(token, salt=_PURPOSE, max_age=CONFIRMED_WITHIN)
    except signing.SignatureExpired:
        raise StaleLinkError("The link is older than 7 days: subscribe again.") from None
    except signing.BadSignature:
        raise _bad() from None
    return Confirmation(*told)


def _bad() -> BadLinkError:
    return BadLinkError("The link was not signed by this installation: use the one in the mail.")
