"""Unsubscribe links: signed tokens that name an address and a list.

A token has no date and no serial number. It works as often as it is used, for as long as its secret
or the following one is configured, and an address and a list always have the same token.
"""

import binascii
import hmac
import json
from base64 import urlsafe_b64decode
from binascii import b2a_base64
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from json.encoder import encode_basestring_ascii as _quoted
from urllib.parse import urljoin

from django.conf import settings

from postledger.accounts import queries as accounts
from postledger.accounts.models import Workspace
from postledger.providers import addresses

GENERAL = "general"

_LONGEST = 2_000


@dataclass(frozen=True, slots=True)
class UnsubscribeRequest:
    """Which address wants no more mail of which list; `general` stands for all lists."""

    email: str
    list_key: str = GENERAL
    workspace_id: int | None = None  # None: the first workspace


@dataclass(frozen=True, slots=True)
class UnsubscribeLinks:
    """Makes the unsubscribe links of one workspace."""

    base_url: str
    secret: bytes = field(repr=False)
    workspace_id: int | None  # None: the first workspace
    preferences_url: str = ""  # of the page behind manage links

    @property
    def is_complete(self) -> bool:
        return bool(self.base_url and self.secret)

    def url(self, email: str, *, list_key: str) -> str:
        return f"{self.base_url}?token={self._sign(email, list_key)}"

    def urls(self, email: str, *, list_key: str) -> tuple[str, str]:
        """The unsubscribe link, and that of the page on which a recipient sees and changes what
        they get; the token is the same.
        """
        token = self._sign(email, list_key)
        return f"{self.base_url}?token={token}", f"{self.preferences_url}?token={token}"

    def _sign(self, email: str, list_key: str) -> str:
        request = UnsubscribeRequest(email, list_key, self.workspace_id)
        return sign_token(request, secret=self.secret)


@dataclass(frozen=True, slots=True)
class LinkOwner:
    """The owner of an unsubscribe link; the address is canonical."""

    workspace_id: int
    request: UnsubscribeRequest
    token: str

    @property
    def address(self) -> str:
        return self.request.email


def read_link(token: str) -> LinkOwner | None:
    """None unless this installation signed the token, for a workspace that it has."""
    secrets = (settings.UNSUBSCRIBE_SECRET, settings.UNSUBSCRIBE_SECRET_PREVIOUS)
    request = read_token(token, secrets=[secret.encode() for secret in secrets])
    workspace_id = None if request is None else find_workspace(request)
    if request is None or workspace_id is None:
        return None
    try:
        address = addresses.canonical(request.email)
    except addresses.InvalidAddressError:
        return None
    return LinkOwner(workspace_id, replace(request, email=address), token)


def workspace_links(workspace_id: int) -> UnsubscribeLinks:
    organisation = accounts.organisation(workspace_id)
    return UnsubscribeLinks(
        base_url=organisation.unsubscribe_page,
        secret=settings.UNSUBSCRIBE_SECRET.encode(),
        workspace_id=None if organisation.is_first else workspace_id,
        preferences_url=_find_preferences(organisation.unsubscribe_page),
    )


def _find_preferences(unsubscribe_url: str) -> str:
    """Beside the unsubscribe page, unless this installation's own pages have another address."""
    return urljoin(
        f"{settings.PUBLIC_URL.rstrip('/')}/" if settings.PUBLIC_URL else unsubscribe_url,
        "preferences",
    )


def find_workspace(request: UnsubscribeRequest) -> int | None:
    """The id of the workspace that a request is about; None when it does not exist."""
    if request.workspace_id is None:
        return Workspace.objects.order_by("pk").values_list("pk", flat=True).first()
    # A signed number may still be too large for an id, which PostgreSQL would refuse.
    if not 0 < request.workspace_id < 2**63:
        return None
    workspaces = Workspace.objects.filter(pk=request.workspace_id)
    return workspaces.values_list("pk", flat=True).first()


def sign_token(request: UnsubscribeRequest, *, secret: bytes) -> str:
    workspace = "" if request.workspace_id is None else f',"workspace":{request.workspace_id}'
    # Composed by hand, several times faster than by the encoder: each mail has one.
    email, list_key = _quoted(request.email), _quoted(request.list_key)
    data = f'{{"email":{email},"list_key":{list_key}{workspace}}}'.encode()
    return f"{_base64(data)}.{_base64(_mac(data, secret))}"


def read_token(token: str, *, secrets: Sequence[bytes]) -> UnsubscribeRequest | None:
    """The request in a token; None unless it was signed with one of the secrets."""
    payload, _, signature = token.partition(".")
    data, given = _bytes(payload), _bytes(signature)
    if data is None or given is None or len(token) > _LONGEST:
        return None
    signatures = (_mac(data, secret) for secret in secrets if secret)
    if not any(hmac.compare_digest(signature, given) for signature in signatures):
        return None
    return _parse(data)


def _mac(data: bytes, secret: bytes) -> bytes:
    # Not hmac.digest, which releases the interpreter's lock: among busy threads each mail would
    # wait to get it back.
    code = _prepare_key(secret).copy()
    code.update(data)
    return code.digest()


@lru_cache(maxsize=4)
def _prepare_key(secret: bytes) -> hmac.HMAC:
    return hmac.new(secret, digestmod="sha256")


def _parse(data: bytes) -> UnsubscribeRequest | None:
    """None also for a payload that was signed with the secret for another purpose."""
    try:
        payload = json.loads(data)
    except ValueError:
        return None
    match payload:
        case {"email": str(email), **others} if others.keys() <= {"list_key", "workspace"}:
            list_key, workspace = others.get("list_key", GENERAL), others.get("workspace")
            if isinstance(list_key, str) and (workspace is None or type(workspace) is int):
                return UnsubscribeRequest(email, list_key, workspace)
    return None


_URL_SAFE = bytes.maketrans(b"+/", b"-_")


def _base64(data: bytes) -> str:
    return b2a_base64(data, newline=False).translate(_URL_SAFE, b"=").decode("ascii")


def _bytes(text: str) -> bytes | None:
    try:
        data = urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return None
    # Some bits of the last character have no meaning; only the canonical spelling is accepted.
    return data if data and _base64(data) == text else None
