"""Makes senders, and says which account takes their mail."""

from postledger.accounts import constraints, trail
from postledger.accounts.actions.accounts import AccountUnknownError
from postledger.accounts.models import Sender
from postledger.lib.errors import RefusedError
from postledger.providers import addresses, headers


class SenderExistsError(RefusedError):
    code = "sender_exists"


class SenderUnknownError(RefusedError):
    code = "sender_unknown"


def create_sender(
    workspace_id: int,
    *,
    address: str,
    name: str = "",
    account_id: int | None = None,
    actor: str,
) -> int:
    """Makes a From identity; without an account its mail waits until one is attached."""
    address = addresses.canonical(address)
    headers.check("The sender's name", name)
    taken = SenderExistsError(
        f"{address} is a sender of this workspace already: attach another account to it,"
        " or choose another address."
    )
    with constraints.kept(accounts_sender_once=taken, accounts_sender_own_account=_foreign()):
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
    """Lets another account take the sender's mail, or none: then it waits."""
    own = Sender.objects.filter(pk=sender_id, workspace_id=workspace_id)
    with constraints.kept(accounts_sender_own_account=_foreign()):
        if not own.update(account_id=account_id):
            raise SenderUnknownError(
                f"This workspace has no sender {sender_id}: choose one of its own."
            )
        trail.note(
            workspace_id,
            actor=actor,
            action="sender.attached",
            subject=f"sender {sender_id}",
            data={"account": account_id},
        )


def _foreign() -> AccountUnknownError:
    return AccountUnknownError("This workspace has no such account: create it here first.")
