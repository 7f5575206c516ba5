"""Creates senders, attaches them to accounts, limits them, chooses the default, archives them."""

from typing import Unpack

from django.db import transaction
from django.db.models.functions import Now

from postledger.accounts import constraints, limits, provider_accounts, trail, working_hours
from postledger.accounts.limits import LimitChanges
from postledger.accounts.models import Sender, Workspace
from postledger.accounts.provider_accounts import AccountUnknownError
from postledger.accounts.queries import SenderUnknownError, refuse_archived
from postledger.accounts.trail import Action
from postledger.accounts.working_hours import Hours
from postledger.lib.errors import ConflictError
from postledger.lib.sentences import say
from postledger.providers import addresses, headers

LONGEST_NAME = 200


class SenderExistsError(ConflictError):
    code = "sender_exists"


class DefaultSenderError(ConflictError):
    code = "sender_is_default"


def create_sender(
    workspace_id: int,
    *,
    address: str,
    name: str = "",
    account_id: int | None = None,
    actor: str,
) -> int:
    """Creates a From identity; without an account its mail waits until one is attached.

    The first sender of a workspace becomes its default.
    """
    address = addresses.canonical(address)
    headers.check("The sender's name", name)
    taken = SenderExistsError(
        say(
            "%(address)s is already a sender of this workspace: attach another account to it,"
            " restore it if it is archived, or choose another address.",
            address=address,
        )
    )
    with constraints.refusing(
        accounts_sender_once=taken, accounts_sender_own_account=_not_its_account()
    ):
        _lock_default(workspace_id)
        provider_accounts.lock_for_sender(workspace_id, account_id=account_id)
        has_default = Sender.objects.filter(workspace_id=workspace_id, is_default=True).exists()
        sender = Sender.objects.create(
            workspace_id=workspace_id,
            address=address,
            name=name,
            account_id=account_id,
            is_default=not has_default,
        )
        _note(
            workspace_id,
            sender.pk,
            "sender.created",
            actor,
            address=address,
            name=name,
            account=account_id,
        )
    return sender.pk


def rename_sender(workspace_id: int, *, sender_id: int, name: str, actor: str) -> bool:
    """Sets what readers see beside the address; False if it was that already.

    Mail that waits has the new name, too: it is composed at its hand-over.
    """
    headers.check("The sender's name", name)
    with transaction.atomic():
        if lock_sender(workspace_id, sender_id).name == name:
            return False
        Sender.objects.filter(pk=sender_id).update(name=name)
        _note(workspace_id, sender_id, "sender.renamed", actor, name=name)
    return True


def attach_sender(workspace_id: int, *, sender_id: int, account_id: int | None, actor: str) -> None:
    """Sends the mail of a sender through another account; with None its mail waits."""
    with constraints.refusing(accounts_sender_own_account=_not_its_account()):
        lock_sender(workspace_id, sender_id)
        provider_accounts.lock_for_sender(workspace_id, account_id=account_id)
        Sender.objects.filter(pk=sender_id).update(account_id=account_id)
        _note(workspace_id, sender_id, "sender.attached", actor, account=account_id)


def set_limits(
    workspace_id: int, *, sender_id: int, actor: str, **changes: Unpack[LimitChanges]
) -> None:
    """Sets the limits that are named; None removes one, and the others stay."""
    limits.check_changes(changes)
    with transaction.atomic():
        sender = lock_sender(workspace_id, sender_id)
        own = Sender.objects.filter(pk=sender_id)
        own.update(**changes)
        if limits.adds_count(changes, sender.rate_per_hour, sender.daily_limit):
            own.update(counted_since=Now())
        _note(workspace_id, sender_id, "sender.limits_changed", actor, **changes)


def set_hours(workspace_id: int, *, sender_id: int, hours: Hours | None, actor: str) -> None:
    """Sets when bulk mail of a sender may go, beside the workspace's hours; None: always."""
    stored = None if hours is None else working_hours.to_json(hours)
    with transaction.atomic():
        sender = lock_sender(workspace_id, sender_id)
        zone = sender.workspace.time_zone
        text = None if stored is None else working_hours.describe(stored, zone=zone)
        Sender.objects.filter(pk=sender_id).update(working_hours=stored)
        _note(workspace_id, sender_id, "sender.hours_changed", actor, hours=text)


def set_default(workspace_id: int, *, sender_id: int, actor: str) -> bool:
    """Makes a sender the default of its workspace, in place of another; False if it was already."""
    with transaction.atomic():
        _lock_default(workspace_id)
        sender = lock_sender(workspace_id, sender_id)
        refuse_archived(sender)
        if sender.is_default:
            return False
        Sender.objects.filter(workspace_id=workspace_id, is_default=True).update(is_default=False)
        Sender.objects.filter(pk=sender_id).update(is_default=True)
        _note(workspace_id, sender_id, "sender.made_default", actor)
    return True


def archive_sender(
    workspace_id: int, *, sender_id: int, default_id: int | None = None, actor: str
) -> bool:
    """Lets a sender take no new mail; False if it was archived before.

    Mail that waits is still sent. The default is archived only if another takes its place, which
    `default_id` names.
    """
    with transaction.atomic():
        if default_id is not None and default_id != sender_id:
            set_default(workspace_id, sender_id=default_id, actor=actor)
        sender = lock_sender(workspace_id, sender_id)
        if sender.archived_at is not None:
            return False
        if sender.is_default:
            raise DefaultSenderError(
                say(
                    "%(address)s is the default sender of this workspace, for mail that names none."
                    " Name another default sender first; if there is no other, create one.",
                    address=sender.address,
                )
            )
        Sender.objects.filter(pk=sender_id).update(archived_at=Now())
        _note(workspace_id, sender_id, "sender.archived", actor)
    return True


def restore_sender(workspace_id: int, *, sender_id: int, actor: str) -> bool:
    """Lets an archived sender take mail again; False if it was not archived."""
    with transaction.atomic():
        sender = lock_sender(workspace_id, sender_id)
        if sender.archived_at is None:
            return False
        provider_accounts.lock_for_sender(workspace_id, account_id=sender.account_id)
        Sender.objects.filter(pk=sender_id).update(archived_at=None)
        _note(workspace_id, sender_id, "sender.restored", actor)
    return True


def _lock_default(workspace_id: int) -> None:
    """Of two callers that decide which sender is the default, one waits here."""
    Workspace.objects.select_for_update(no_key=True).get(pk=workspace_id)


def lock_sender(workspace_id: int, sender_id: int) -> Sender:
    """The sender's row; a launch that has locked it is over, and a later one sees the change.

    It is locked before an account.
    """
    own = Sender.objects.select_for_update(no_key=True).filter(workspace_id=workspace_id)
    sender = own.filter(pk=sender_id).first()
    if sender is None:
        raise _unknown(sender_id)
    return sender


def _note(
    workspace_id: int, sender_id: int, action: Action, actor: str, **data: trail.Fact
) -> None:
    subject = f"sender {sender_id}"
    trail.note(workspace_id, actor=actor, action=action, subject=subject, data=data)


def _unknown(sender_id: int) -> SenderUnknownError:
    return SenderUnknownError(
        say(
            "This workspace has no sender %(sender_id)s: use one of its senders.",
            sender_id=str(sender_id),
        )
    )


def _not_its_account() -> AccountUnknownError:
    return AccountUnknownError(say("This workspace has no such account: create it first."))
