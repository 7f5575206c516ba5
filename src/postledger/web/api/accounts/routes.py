"""Routes for provider accounts."""

from typing import Annotated

from django.conf import settings as installation
from django.db import transaction
from ninja import Query

from postledger.accounts import operator_settings, provider_accounts, queries
from postledger.accounts.keys import Scope
from postledger.campaigns import archiving
from postledger.deliveries import account_changes
from postledger.web.api.accounts.schemas import (
    AccountChangeIn,
    AccountOut,
    AccountPage,
    NewAccountIn,
    QuotaSourceIn,
    account_fields,
)
from postledger.web.api.common.fields import path_id
from postledger.web.api.common.pagination import OldestFirstQuery, cut_page
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.senders.schemas import ArchiveIn

routes = Routes("accounts", read=Scope.SETUP_READ, write=Scope.SETUP_WRITE)

AccountId = Annotated[int, path_id("The number of the account.")]


@routes.get("", AccountPage)
def list_accounts(call: Call, query: Query[OldestFirstQuery]) -> dict[str, object]:
    """All accounts of the workspace, archived ones included, with their quotas."""
    rows = queries.page_accounts(call.workspace_id, after=query.after, limit=query.limit + 1)
    page = cut_page("accounts", rows, query.limit, lambda row: row.pk)
    return {**page, "accounts": [account_fields(row) for row in rows[: query.limit]]}


@routes.post("", AccountOut, status=201, shown_with=None)
def create_account(call: Call, payload: NewAccountIn) -> dict[str, object]:
    """Creates an account; its provider checks the settings, which are stored sealed.

    Settings that reach the machine itself are refused: its operator gives them.
    """
    settings = operator_settings.screen_settings(
        payload.kind,
        payload.settings,
        is_whole=True,
        inside_hosts=installation.PRIVATE_HOSTS,
    )
    id_ = provider_accounts.create_account(
        call.workspace_id,
        name=payload.name,
        kind=payload.kind,
        settings=settings,
        actor=call.actor,
    )
    return _show(call, id_)


@routes.get("/{int:account_id}", AccountOut)
def get_account(call: Call, account_id: AccountId) -> dict[str, object]:
    """One account with its quota; its settings are never shown."""
    return _show(call, account_id)


@routes.patch("/{int:account_id}", AccountOut)
def change_account(
    call: Call, account_id: AccountId, payload: AccountChangeIn
) -> dict[str, object]:
    """Changes settings, or the rate. Its senders are tried again within 10 seconds."""
    account = queries.get_account(call.workspace_id, account_id)
    changes = operator_settings.screen_settings(
        account.kind,
        payload.settings,
        is_whole=payload.is_anew,
        inside_hosts=installation.PRIVATE_HOSTS,
    )
    with transaction.atomic():
        if payload.settings or payload.is_anew:
            account_changes.update_account(
                call.workspace_id,
                account_id=account_id,
                changes=changes,
                is_anew=payload.is_anew,
                actor=call.actor,
            )
        if "rate_per_second" in payload.model_fields_set:
            provider_accounts.set_rate(
                call.workspace_id,
                account_id=account_id,
                rate=payload.rate_per_second,
                actor=call.actor,
            )
    return _show(call, account_id)


@routes.put("/{int:account_id}/quota-source", AccountOut)
def set_quota_source(
    call: Call, account_id: AccountId, payload: QuotaSourceIn
) -> dict[str, object]:
    """Has the quota of an account read at a public URL from now on; SES says its own."""
    operator_settings.check_quota_url(payload.url)
    source = {name: value for name, value in dict(payload).items() if value is not None}
    provider_accounts.set_quota_source(
        call.workspace_id, account_id=account_id, source=source, actor=call.actor
    )
    return _show(call, account_id)


@routes.delete("/{int:account_id}/quota-source")
def remove_quota_source(call: Call, account_id: AccountId) -> None:
    """Has the quota read no more; mail goes without it."""
    provider_accounts.set_quota_source(
        call.workspace_id, account_id=account_id, source=None, actor=call.actor
    )


@routes.post("/{int:account_id}/archive", AccountOut)
def archive_account(call: Call, account_id: AccountId, payload: ArchiveIn) -> dict[str, object]:
    """Lets no sender be attached to an account; deletes nothing. Refused while a sender uses it."""
    archiving.archive_account(
        call.workspace_id,
        account_id=account_id,
        although_mail_waits=payload.although_mail_waits,
        actor=call.actor,
    )
    return _show(call, account_id)


@routes.post("/{int:account_id}/restore", AccountOut)
def restore_account(call: Call, account_id: AccountId) -> dict[str, object]:
    """Takes an archived account into use again."""
    provider_accounts.restore_account(call.workspace_id, account_id=account_id, actor=call.actor)
    return _show(call, account_id)


def _show(call: Call, account_id: int) -> dict[str, object]:
    return account_fields(queries.get_account(call.workspace_id, account_id))
