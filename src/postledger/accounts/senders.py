"""Creates senders, and attaches them to provider accounts."""

from postledger.accounts import constraints, trail
from postledger.accounts.models import Sender
from postledger.accounts.provider_accounts import AccountUnknownError
from postledger.accounts.queries import SenderUnknownError
from postledger.lib.errors import ConflictError
from postledger.providers import addresses, headers


class SenderExistsError(ConflictError):
    code = "sender_exists"


def create_sender(
    workspace_id: int,
    *,
    address: str,
    name: str = "",
    account_id: int | None = None,
    actor: str,
) -> int:
    """Creates a From identity; without an account its mail waits until one is attached."""
    address = addresses.canonical(address)
    headers.check("The sender's name", name)
    taken = SenderExistsError(
        f"{address} is already a sender of this workspace: attach another account to it,"
        " or choose another address."
    )
    with constraints.refusing(
        accounts_sender_once=taken, accounts_sender_own_account=_not_its_account()
    ):
        sender = Sender.objects.create(
            workspace_id=workspace_id, address=address, name=name, account_id=account_id
        )
        trail.note(
            workspace_id,
            actor=actor,
            action="sender.created",
            subject=f"sender {sender.pk}",
            data={"address": address, "name": name, "account": account_id},
        )
    return sender.pk


def attach_sender(workspace_id: int, *, sender_id: int, account_id: int | None, actor: str) -> None:
    """Sends the mail of a sender through another account; with None its mail waits."""
    own = Sender.objects.filter(pk=sender_id, workspace_id=workspace_id)
    with constraints.refusing(accounts_sender_own_account=_not_its_account()):
        if not own.update(account_id=account_id):
            raise SenderUnknownError(
                f"This workspace has no sender {sender_id}: use one of its senders."
            )
        trail.note(
            workspace_id,
            actor=actor,
            action="sender.attached",
            subject=f"sender {sender_id}",
            data={"account": account_id},
        )


def _not_its_account() -> AccountUnknownError:
    return AccountUnknownError("This workspace has no such account: create it first.")
