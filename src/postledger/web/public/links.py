"""Signed and sealed links to the public pages. Each works more than once."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.http import Http404

from postledger.accounts import sealing
from postledger.contacts import unsubscribe_links
from postledger.contacts.unsubscribe_links import LinkOwner
from postledger.lib import secrets
from postledger.lib.errors import RefusedError
from postledger.lib.secrets import UnsealableError

CONFIRMED_WITHIN = timedelta(days=7)

_PURPOSE = "confirmation link"
_BOUND_TO = "subscribe form"
_LONGEST = 4_000


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
    """What somebody asked for by the subscribe form, which is stored when it is confirmed.

    The link holds it sealed: the owner of the address does not learn who typed what.
    """

    workspace_id: int
    address: str
    list_key: str
    name: str
    language: str
    text_version: str
    ip: str | None
    asked_at: datetime
    match: Mapping[str, str] = field(default_factory=dict)  # of a topic: what it is to be about


def seal_confirmation(confirmation: Confirmation) -> str:
    fields = asdict(confirmation) | {"asked_at": confirmation.asked_at.timestamp()}
    data = json.dumps(fields, ensure_ascii=False).encode()
    sealed = secrets.seal(
        data, secrets=sealing.installation_secrets(), purpose=_PURPOSE, bound_to=_BOUND_TO
    )
    return urlsafe_b64encode(sealed).decode().rstrip("=")


def read_confirmation_link(token: str, *, now: datetime) -> Confirmation:
    confirmation = read_old_confirmation_link(token)
    if now - confirmation.asked_at > CONFIRMED_WITHIN:
        raise StaleLinkError("The link is older than 7 days. Subscribe again.")
    return confirmation


def read_old_confirmation_link(token: str) -> Confirmation:
    """The same, however old the link is."""
    if len(token) > _LONGEST:
        raise _bad_link()
    try:
        data = secrets.unseal(
            urlsafe_b64decode(token + "=" * (-len(token) % 4)),
            secrets=sealing.installation_secrets(),
            purpose=_PURPOSE,
            bound_to=_BOUND_TO,
        )
    except (ValueError, UnsealableError):
        raise _bad_link() from None
    fields = json.loads(data)
    return Confirmation(**fields | {"asked_at": datetime.fromtimestamp(fields["asked_at"], UTC)})


def _bad_link() -> BadLinkError:
    return BadLinkError("This installation did not sign the link. Use the link in the mail.")
