"""Reads of who sends: workspaces, accounts, senders and keys, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, F, Subquery, Value
from django.db.models.functions import Lower
from django.db.models.lookups import Exact

from postledger.accounts import sealing
from postledger.accounts.models import ApiKey, ProviderAccount, Sender, Workspace


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A sender with all that is needed to open its provider."""

    sender_id: int
    workspace_id: int
    address: str
    name: str
    account_id: int | None
    kind: str | None
    settings: Mapping[str, object] = field(repr=False)  # credentials are among them
    revision: datetime | None  # changes whenever the account's settings do


def outgoing(sender_id: int) -> Outgoing | None:
    """One sender for the dispatcher; without an account its mail has nowhere to go yet.

    Opened with the sender's workspace, not the account's: an account that came to stand under
    another workspace's sender does not open.
    """
    sender = Sender.objects.select_related("account").filter(pk=sender_id).first()
    if sender is None:
        return None
    account = sender.account
    settings = (
        sealing.unseal(sender.workspace_id, bytes(account.sealed_settings)) if account else {}
    )
    return Outgoing(
        sender_id=sender.pk,
        workspace_id=sender.workspace_id,
        address=sender.address,
        name=sender.name,
        account_id=sender.account_id,
        kind=account.kind if account else None,
        settings=settings,
        revision=account.updated_at if account else None,
    )


def provider_settings(account: ProviderAccount) -> dict[str, object]:
    """An account's settings as they were given, credentials among them: never show them."""
    return sealing.unseal(account.workspace_id, bytes(account.sealed_settings))


@dataclass(frozen=True, slots=True)
class WorkspaceFacts:
    id: int
    name: str
    created_at: datetime


def workspaces() -> list[WorkspaceFacts]:
    found = Workspace.objects.order_by("name").values_list("id", "name", "created_at")
    return [WorkspaceFacts(*row) for row in found]


def workspace_named(name: str) -> WorkspaceFacts | None:
    named = Workspace.objects.filter(Exact(Lower("name"), Lower(Value(name))))
    row = named.values_list("id", "name", "created_at").first()
    return WorkspaceFacts(*row) if row else None


def default_workspace_id() -> int | None:
    """The installation's first workspace, whatever it is called by now."""
    return Workspace.objects.order_by("pk").values_list("pk", flat=True).first()


@dataclass(frozen=True, slots=True)
class Organisation:
    """Who a workspace's mail comes from, and the page on which people stop it."""

    name: str = ""
    address: str = ""
    unsubscribe_base_url: str = ""
    is_default: bool = False  # of the installation's first workspace


NOBODY = Organisation()


def organisation(workspace_id: int) -> Organisation:
    first = Workspace.objects.order_by("pk").values("pk")[:1]
    row = (
        Workspace.objects.filter(pk=workspace_id)
        .annotate(is_default=Exact(F("pk"), Subquery(first)))
        .values_list("org_name", "org_address", "unsubscribe_base_url", "is_default")
        .get()
    )
    return Organisation(*row)


def time_zone(workspace_id: int) -> str:
    """The clock of contacts of whom nobody knows theirs."""
    return Workspace.objects.values_list("time_zone", flat=True).get(pk=workspace_id)


def test_emails(workspace_id: int) -> str:
    """Whom tests of campaigns go to, as somebody wrote it down."""
    return Workspace.objects.values_list("test_emails", flat=True).get(pk=workspace_id)


@dataclass(frozen=True, slots=True)
class AccountFacts:
    """An account without its settings."""

    id: int
    name: str
    kind: str
    updated_at: datetime
    sender_count: int


def accounts(workspace_id: int) -> list[AccountFacts]:
    found = (
        ProviderAccount.objects.filter(workspace_id=workspace_id)
        .annotate(sender_count=Count("sender"))
        .order_by("name")
        .values_list("id", "name", "kind", "updated_at", "sender_count")
    )
    return [AccountFacts(*row) for row in found]


def account_named(workspace_id: int, *, name: str) -> AccountFacts | None:
    return next((found for found in accounts(workspace_id) if found.name == name), None)


@dataclass(frozen=True, slots=True)
class SenderFacts:
    id: int
    workspace_id: int
    address: str
    name: str
    account_id: int | None
    account_name: str | None


_SENDER = ("id", "workspace_id", "address", "name", "account_id", "account__name")


def senders(workspace_id: int) -> list[SenderFacts]:
    own = Sender.objects.filter(workspace_id=workspace_id).order_by("address")
    return [SenderFacts(*row) for row in own.values_list(*_SENDER)]


def sender_by_address(workspace_id: int, *, address: str) -> SenderFacts | None:
    """Capitals make no difference; served by the constraint accounts_sender_once."""
    own = Sender.objects.filter(
        Exact(Lower("address"), Lower(Value(address))), workspace_id=workspace_id
    )
    row = own.values_list(*_SENDER).first()
    return SenderFacts(*row) if row else None


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """A key as it may be shown."""

    id: int
    workspace_id: int
    name: str
    prefix: str
    scopes: list[str]
    is_test: bool
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None


_KEY = tuple(KeyFacts.__annotations__)


def keys(workspace_id: int) -> list[KeyFacts]:
    own = ApiKey.objects.filter(workspace_id=workspace_id).order_by("pk")
    return [KeyFacts(*row) for row in own.values_list(*_KEY)]


def key_by_prefix(prefix: str) -> KeyFacts | None:
    row = ApiKey.objects.filter(prefix=prefix).values_list(*_KEY).first()
    return KeyFacts(*row) if row else None
