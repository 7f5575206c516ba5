"""Seals everything under the current secret, so that previous ones can be forgotten."""

from django.db import transaction

from postledger.accounts import integrations, queries, sealing, trail
from postledger.accounts.models import Integration, ProviderAccount
from postledger.lib.secrets import UnsealableError


def reseal_accounts(*, actor: str) -> int:
    """Seals every account, and every integration, under the current secret.

    All or none, and nothing an open provider would notice. What is changed at the same time is
    passed over: whoever changes it seals it under the current secret too.
    """
    accounts = ProviderAccount.objects.select_related("workspace").order_by("pk")
    connected = Integration.objects.select_related("workspace").exclude(sealed_settings=None)
    with transaction.atomic():
        return sum(_reseal_account(account, actor) for account in accounts) + sum(
            _reseal_integration(row, actor) for row in connected.order_by("pk")
        )


def _reseal_account(account: ProviderAccount, actor: str) -> bool:
    try:
        settings = queries.provider_settings(account)
    except UnsealableError as refused:
        raise _nothing(f"“{account.name}” of {account.workspace.name}", refused) from None
    sealed = sealing.seal(account.workspace_id, settings)
    unchanged = ProviderAccount.objects.filter(pk=account.pk, updated_at=account.updated_at)
    if not unchanged.update(sealed_settings=sealed):
        return False
    _note(account.workspace_id, "account.resealed", f"account {account.pk}", actor)
    return True


def _reseal_integration(row: Integration, actor: str) -> bool:
    try:
        settings = integrations.stored_settings(row) or {}
    except UnsealableError as refused:
        raise _nothing(f"{row.kind} of {row.workspace.name}", refused) from None
    sealed = sealing.seal(row.workspace_id, settings, purpose=sealing.INTEGRATION)
    unchanged = Integration.objects.filter(pk=row.pk, updated_at=row.updated_at)
    if not unchanged.update(sealed_settings=sealed):
        return False
    _note(row.workspace_id, "integration.resealed", f"integration {row.kind}", actor)
    return True


def _nothing(where: str, refused: UnsealableError) -> UnsealableError:
    return UnsealableError(f"Nothing was resealed: {where}. {refused}")


def _note(workspace_id: int, action: str, subject: str, actor: str) -> None:
    trail.note(workspace_id, actor=actor, action=action, subject=subject)
