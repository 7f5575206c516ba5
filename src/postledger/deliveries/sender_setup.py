"""Connects a workspace to a provider: an account, a sender that uses it, and the default."""

from django.db import transaction

from postledger.accounts import provider_accounts, queries, senders
from postledger.accounts.models import Sender
from postledger.accounts.provider_accounts import Settings
from postledger.deliveries import account_changes
from postledger.lib.errors import ConflictError
from postledger.lib.sentences import Sentence, say
from postledger.providers import addresses, registry


class SenderConnectedError(ConflictError):
    code = "sender_connected"

    def __init__(self, sentence: Sentence, *, sender_id: int) -> None:
        super().__init__(sentence)
        self.sender_id = sender_id


def connect_sender(  # noqa: PLR0913  the parts of a connection, each by its name
    workspace_id: int,
    *,
    kind: str,
    settings: Settings,
    address: str,
    is_unchecked: bool = False,
    replaces_sandbox: bool = False,
    actor: str,
) -> None:
    """Stores an account, and sends the mail of the address through it.

    The sender is created if it is missing. One whose mail reaches people already is refused, so
    that nothing is redirected unseen. The sender becomes the default only where there is none, or
    where it was checked and the default has no account; in place of the sandbox, if asked to.
    """
    address = addresses.canonical(address)
    with transaction.atomic():
        sender = queries.sender_by_address(workspace_id, address=address)
        if sender is not None:
            _refuse_connected(sender)
        account_id = _store_account(workspace_id, kind, settings, actor, is_unchecked=is_unchecked)
        sender_id = _attach(workspace_id, sender, address, account_id, actor)
        default = queries.default_sender(workspace_id)
        if default is not None and not is_unchecked and _is_vacant(default, replaces_sandbox):
            senders.set_default(workspace_id, sender_id=sender_id, actor=actor)


def _is_vacant(default: Sender, replaces_sandbox: bool) -> bool:  # noqa: FBT001
    return default.account is None or (replaces_sandbox and not reaches_people(default))


def reaches_people(sender: Sender) -> bool:
    """Whether the mail of a sender leaves this machine."""
    return sender.account is not None and sender.account.kind != registry.SANDBOX


def _refuse_connected(sender: Sender) -> None:
    queries.refuse_archived(sender)
    if sender.account is not None and reaches_people(sender):
        raise SenderConnectedError(
            say(
                "%(address)s is sent through the account “%(name)s” already. Choose another"
                " address, or change that account: postledger account update.",
                address=sender.address,
                name=sender.account.name,
            ),
            sender_id=sender.pk,
        )


def _store_account(
    workspace_id: int, kind: str, settings: Settings, actor: str, *, is_unchecked: bool
) -> int:
    if kind == registry.SANDBOX:
        return provider_accounts.ensure_sandbox(workspace_id, actor=actor)
    taken = {account.name for account in queries.accounts(workspace_id)}
    base = str(settings.get("host") or kind)
    names = (base, *(f"{base} {number}" for number in range(2, len(taken) + 3)))
    name = next(name for name in names if name not in taken)
    return provider_accounts.create_account(
        workspace_id,
        name=name,
        kind=kind,
        settings=settings,
        is_unchecked=is_unchecked,
        actor=actor,
    )


def _attach(
    workspace_id: int, sender: Sender | None, address: str, account_id: int, actor: str
) -> int:
    if sender is None:
        return senders.create_sender(
            workspace_id, address=address, account_id=account_id, actor=actor
        )
    account_changes.attach_sender(
        workspace_id, sender_id=sender.pk, account_id=account_id, actor=actor
    )
    return sender.pk
