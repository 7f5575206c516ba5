"""A person's changes of accounts, senders and limits, after which waiting mail is tried again."""

from collections.abc import Collection
from typing import Unpack

from django.db import transaction

from postledger.accounts import provider_accounts, queries, senders
from postledger.accounts.limits import LimitChanges
from postledger.accounts.models import Sender
from postledger.accounts.people import members
from postledger.accounts.provider_accounts import Settings
from postledger.accounts.working_hours import Hours
from postledger.deliveries import ledger


def update_account(
    workspace_id: int,
    *,
    account_id: int,
    changes: Settings,
    is_anew: bool = False,
    actor: str,
) -> None:
    """Changes settings as `provider_accounts.update_account`; senders of it are tried again."""
    with transaction.atomic():
        provider_accounts.update_account(
            workspace_id, account_id=account_id, changes=changes, is_anew=is_anew, actor=actor
        )
        of_account = Sender.objects.filter(account_id=account_id)
        ledger.retry_senders(list(of_account.values_list("pk", flat=True)))


def attach_sender(workspace_id: int, *, sender_id: int, account_id: int | None, actor: str) -> None:
    """Attaches a sender as `senders.attach_sender`; what held it was the former account's."""
    with transaction.atomic():
        senders.attach_sender(workspace_id, sender_id=sender_id, account_id=account_id, actor=actor)
        ledger.retry_senders([sender_id])
        limits_changed([sender_id])


def set_sender_limits(
    workspace_id: int, *, sender_id: int, actor: str, **changes: Unpack[LimitChanges]
) -> None:
    """Sets the limits that are named, as `senders.set_limits`; what waits for a former one goes."""
    with transaction.atomic():
        senders.set_limits(workspace_id, sender_id=sender_id, actor=actor, **changes)
        limits_changed([sender_id])


def set_sender_hours(workspace_id: int, *, sender_id: int, hours: Hours | None, actor: str) -> None:
    """Sets the hours of a sender, as `senders.set_hours`; what waits for former ones goes."""
    with transaction.atomic():
        senders.set_hours(workspace_id, sender_id=sender_id, hours=hours, actor=actor)
        limits_changed([sender_id])


def set_member_limit(
    workspace_id: int, *, member_id: int, daily_limit: int | None, actor: str
) -> None:
    """Sets the daily limit of a member's runs; what waits for the former one goes."""
    with transaction.atomic():
        members.set_daily_limit(
            workspace_id, member_id=member_id, daily_limit=daily_limit, actor=actor
        )
        limits_changed(queries.sender_ids(workspace_id))


def limits_changed(sender_ids: Collection[int]) -> None:
    """Called in the transaction that changes the limits, hours or account of senders.

    Mail that waits for a former limit is tried again once the workers have read the change.
    """
    ledger.end_limit_holds(sender_ids=sender_ids, within=ledger.SETTINGS_READ_WITHIN)
