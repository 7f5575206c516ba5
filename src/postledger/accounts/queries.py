"""Reads of workspaces, provider accounts, senders and API keys."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings
from django.db.models import F, Subquery, Value
from django.db.models.functions import Lower
from django.db.models.lookups import Exact

from postledger.accounts import sealing, sending_limits
from postledger.accounts.models import ApiKey, Member, ProviderAccount, Sender, User, Workspace
from postledger.accounts.sending_limits import SendingLimits
from postledger.lib.errors import NotFoundError, RefusedError
from postledger.lib.sentences import say
from postledger.providers import addresses


class SenderUnknownError(RefusedError):
    code = "sender_unknown"


class SenderArchivedError(RefusedError):
    code = "sender_archived"


class MemberUnknownError(RefusedError):
    code = "member_unknown"


class SenderNotFoundError(NotFoundError):
    code = "sender_not_found"


class MemberNotFoundError(NotFoundError):
    code = "member_not_found"


class AccountNotFoundError(NotFoundError):
    code = "account_not_found"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A sender with everything that its provider needs."""

    sender_id: int
    workspace_id: int
    address: str
    name: str
    account_id: int | None
    kind: str | None
    settings: Mapping[str, object] = field(repr=False)  # includes credentials
    revision: datetime | None  # changes with every change of the account's settings
    limits: SendingLimits


def outgoing(sender_id: int) -> Outgoing | None:
    """One sender for the dispatcher; its mail waits while it has no account.

    Unsealed with the sender's workspace, not the account's: another workspace's account cannot be
    used, even if a sender refers to it.
    """
    senders = Sender.objects.select_related("account__accountquota", "workspace")
    sender = senders.filter(pk=sender_id).first()
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
        limits=sending_limits.describe(sender),
    )


def workspaces() -> list[Workspace]:
    return list(Workspace.objects.order_by("name"))


def workspace_named(name: str) -> Workspace | None:
    return Workspace.objects.filter(Exact(Lower("name"), Lower(Value(name)))).first()


def first_workspace_id() -> int | None:
    """The installation's first workspace, whatever its name is now."""
    return Workspace.objects.order_by("pk").values_list("pk", flat=True).first()


@dataclass(frozen=True, slots=True)
class Organisation:
    """The sender's identity in footers, and the address of the unsubscribe page."""

    name: str = ""
    address: str = ""
    unsubscribe_base_url: str = ""  # empty: the page of this installation
    is_first: bool = False  # of the installation's first workspace

    @property
    def unsubscribe_page(self) -> str:
        """Where unsubscribe links lead; empty without a page and without a public address."""
        own = f"{settings.PUBLIC_URL.rstrip('/')}/unsubscribe" if settings.PUBLIC_URL else ""
        return self.unsubscribe_base_url or own


NOBODY = Organisation()


def organisation(workspace_id: int) -> Organisation:
    first = Workspace.objects.order_by("pk").values("pk")[:1]
    row = (
        Workspace.objects.filter(pk=workspace_id)
        .annotate(is_first=Exact(F("pk"), Subquery(first)))
        .values_list("org_name", "org_address", "unsubscribe_base_url", "is_first")
        .get()
    )
    return Organisation(*row)


def time_zone(workspace_id: int) -> str:
    """The zone of daily limits, and of contacts and working hours without one of their own."""
    return Workspace.objects.values_list("time_zone", flat=True).get(pk=workspace_id)


def test_emails(workspace_id: int) -> str:
    """The recipients of test sends, as a person wrote them."""
    return Workspace.objects.values_list("test_emails", flat=True).get(pk=workspace_id)


def accounts(workspace_id: int) -> list[ProviderAccount]:
    return list(ProviderAccount.objects.filter(workspace_id=workspace_id).order_by("name"))


def account_named(workspace_id: int, *, name: str) -> ProviderAccount | None:
    return ProviderAccount.objects.filter(workspace_id=workspace_id, name=name).first()


def get_account(workspace_id: int, account_id: int) -> ProviderAccount:
    """An account by its number, with its quota."""
    own = ProviderAccount.objects.select_related("accountquota").filter(workspace_id=workspace_id)
    account = own.filter(pk=account_id).first()
    if account is None:
        raise AccountNotFoundError(
            say("This workspace has no account %(account_id)s.", account_id=str(account_id))
        )
    return account


def senders(workspace_id: int) -> list[Sender]:
    own = Sender.objects.filter(workspace_id=workspace_id)
    return list(own.select_related("account").order_by("address"))


def get_sender(workspace_id: int, sender_id: int) -> Sender:
    """A sender by its number, with its account."""
    own = Sender.objects.select_related("account").filter(workspace_id=workspace_id)
    sender = own.filter(pk=sender_id).first()
    if sender is None:
        raise _unknown_sender(sender_id)
    return sender


def _unknown_sender(sender_id: int) -> SenderNotFoundError:
    return SenderNotFoundError(
        say("This workspace has no sender %(sender_id)s.", sender_id=str(sender_id))
    )


def list_limited_senders(workspace_id: int) -> list[Sender]:
    """All senders with everything that limits them: workspace, account and quota."""
    own = Sender.objects.filter(workspace_id=workspace_id)
    return list(own.select_related("workspace", "account__accountquota").order_by("address"))


def get_limited_sender(workspace_id: int, sender_id: int) -> Sender:
    """One of these, by its number."""
    own = Sender.objects.select_related("workspace", "account__accountquota")
    sender = own.filter(workspace_id=workspace_id, pk=sender_id).first()
    if sender is None:
        raise _unknown_sender(sender_id)
    return sender


def sender_ids(workspace_id: int) -> list[int]:
    own = Sender.objects.filter(workspace_id=workspace_id)
    return list(own.order_by("pk").values_list("pk", flat=True))


def sender_by_address(workspace_id: int, *, address: str) -> Sender | None:
    """Ignores case; served by the constraint accounts_sender_once."""
    own = Sender.objects.filter(workspace_id=workspace_id)
    return own.filter(Exact(Lower("address"), Lower(Value(address)))).first()


def default_sender(workspace_id: int) -> Sender | None:
    """Served by the constraint accounts_sender_default_once; None without any sender."""
    return Sender.objects.filter(workspace_id=workspace_id, is_default=True).first()


def select_sender(workspace_id: int, *, address: str | None) -> Sender:
    """The sender of new mail: the one with this address, or the default for None.

    Refuses an archived sender; a default is never archived.
    """
    if address is not None:
        sender = find_sender(workspace_id, address=address)
        refuse_archived(sender)
        return sender
    default = default_sender(workspace_id)
    if default is None:
        raise SenderUnknownError(say("This workspace has no sender. Add one, then try again."))
    return default


def refuse_archived(sender: Sender) -> None:
    if sender.archived_at is not None:
        raise SenderArchivedError(
            say(
                "The sender %(address)s is archived and takes no new mail. Choose another sender,"
                " or restore this one on its page under Senders.",
                address=sender.address,
            )
        )


def find_sender(workspace_id: int, *, address: str) -> Sender:
    """The sender with this address, archived or not."""
    try:
        sender = sender_by_address(workspace_id, address=addresses.canonical(address))
    except addresses.InvalidAddressError:
        sender = None
    if sender is None:
        raise SenderUnknownError(
            say(
                "'%(address)s' is not a sender of this workspace. Use the address of a sender, or"
                " add it as a sender first.",
                address=address[:254],
            )
        )
    return sender


def members(workspace_id: int) -> list[Member]:
    own = Member.objects.filter(workspace_id=workspace_id, removed_at=None)
    return list(own.order_by("email"))


def people_who_joined(workspace_id: int) -> list[User]:
    """Whose entries the audit trail may have: also those who were removed since."""
    return list(User.objects.filter(member__workspace_id=workspace_id).distinct().order_by("email"))


def member_by_email(workspace_id: int, *, email: str) -> Member | None:
    """Ignores case; served by the constraint accounts_member_once."""
    own = Member.objects.filter(workspace_id=workspace_id, removed_at=None)
    return own.filter(Exact(Lower("email"), Lower(Value(email)))).first()


def get_member(workspace_id: int, member_id: int) -> Member:
    own = Member.objects.filter(workspace_id=workspace_id, removed_at=None)
    member = own.filter(pk=member_id).first()
    if member is None:
        raise MemberNotFoundError(
            say("This workspace has no member %(member_id)s.", member_id=str(member_id))
        )
    return member


def keys(workspace_id: int) -> list[ApiKey]:
    own = ApiKey.objects.filter(workspace_id=workspace_id)
    return list(own.select_related("member").order_by("pk"))


def key_by_prefix(prefix: str) -> ApiKey | None:
    return ApiKey.objects.filter(prefix=prefix).first()


def page_accounts(workspace_id: int, *, after: int, limit: int) -> list[ProviderAccount]:
    """Some accounts with their quotas, in the order in which they were created."""
    own = ProviderAccount.objects.filter(workspace_id=workspace_id, pk__gt=after)
    return list(own.select_related("accountquota").order_by("pk")[:limit])


def page_senders(workspace_id: int, *, after: int, limit: int) -> list[Sender]:
    """Some senders with their accounts, in the order in which they were created."""
    own = Sender.objects.filter(workspace_id=workspace_id, pk__gt=after)
    return list(own.select_related("account").order_by("pk")[:limit])


def page_keys(workspace_id: int, *, after: int, limit: int) -> list[ApiKey]:
    """Some keys with their members, in the order in which they were created."""
    own = ApiKey.objects.filter(workspace_id=workspace_id, pk__gt=after)
    return list(own.select_related("member").order_by("pk")[:limit])


def page_members(workspace_id: int, *, after: int, limit: int) -> list[Member]:
    """Some members, in the order in which they were added."""
    own = Member.objects.filter(workspace_id=workspace_id, removed_at=None, pk__gt=after)
    return list(own.order_by("pk")[:limit])
