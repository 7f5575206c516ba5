"""Signed links to the public pages. Each serves one purpose and works more than once."""

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.core import signing
from django.http import Http404

from postledger.contacts import unsubscribe_links
from postledger.contacts.unsubscribe_links import LinkOwner
from postledger.lib.errors import RefusedError

CONFIRMED_WITHIN = timedelta(days=7)

_SALT = "postledger.web.public.confirm"
_LONGEST = 2_000


class BadLinkError(RefusedError):
    code = "bad_link"


class StaleLinkError(RefusedError):
    code = "stale"


def read_unsubscribe_link(token: str) -> LinkOwner:
    """Raises Http404 if this installation has no secret, and so no links."""
    if not settings.UNSUBSCRIBE_SECRET:
        raise Http404
    owner = unsubscribe_links.read_link(token)
    if owner is None:
        raise _bad_link()
    return owner


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The content of a link in a confirmation mail."""

    workspace_id: int
    contact_id: int
    address: str
    list_key: str


def sign_confirmation(confirmation: Confirmation) -> str:
    fields = [
        confirmation.workspace_id,
        confirmation.contact_id,
        confirmation.address,
        confirmation.list_key,
    ]
    return signing.dumps(fields, salt=_SALT)


def read_confirmation_link(token: str) -> Confirmation:
    if len(token) > _LONGEST:
        raise _bad_link()
    try:
        fields = signing.loads(token, salt=_SALT, max_age=CONFIRMED_WITHIN)
    except signing.SignatureExpired:
        raise StaleLinkError("The link is older than 7 days. Subscribe again.") from None
    except signing.BadSignature:
        raise _bad_link() from None
    return Confirmation(*fields)


def _bad_link() -> BadLinkError:
    return BadLinkError("This installation did not sign the link. Use the link in the mail.")
