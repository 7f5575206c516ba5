"""Seals the settings of accounts and integrations; only their own workspace can unseal them."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain

from django.conf import settings as installation
from django.db import transaction
from django.utils.encoding import force_str

from postledger.accounts import trail
from postledger.accounts.models import Integration, ProviderAccount
from postledger.lib import references, secrets
from postledger.lib.references import Key
from postledger.lib.secrets import UnsealableError
from postledger.lib.sentences import say

PROVIDER = "provider settings"
INTEGRATION = "integration settings"
QUOTA_SOURCE = "quota source"


def seal(workspace_id: int, settings: Mapping[str, object], *, purpose: str = PROVIDER) -> bytes:
    return secrets.seal(
        json.dumps(dict(settings)).encode(),
        secrets=installation_secrets(),
        purpose=purpose,
        bound_to=f"workspace {workspace_id}",
    )


def unseal(workspace_id: int, sealed: bytes, *, purpose: str = PROVIDER) -> dict[str, object]:
    """The settings in clear text; refused if they were sealed for another workspace."""
    data = secrets.unseal(
        sealed,
        secrets=installation_secrets(),
        purpose=purpose,
        bound_to=f"workspace {workspace_id}",
    )
    settings: dict[str, object] = json.loads(data)
    return settings


def unseal_settings(row: ProviderAccount | Integration) -> dict[str, object]:
    """The settings of a row, credentials included: never show them. A removed one has none."""
    if row.sealed_settings is None:
        return {}
    return unseal(row.workspace_id, bytes(row.sealed_settings), purpose=_purpose(row))


def unseal_quota_source(account: ProviderAccount) -> dict[str, object] | None:
    """Where its quota is read, with the token: never show it. None if no source is stored."""
    if account.sealed_quota_source is None:
        return None
    sealed = bytes(account.sealed_quota_source)
    return unseal(account.workspace_id, sealed, purpose=QUOTA_SOURCE)


def reseal_all(*, actor: str) -> int:
    """Seals every account and integration under the current secret, and returns their number.

    All or none. An open provider notices nothing. Rows that are changed at the same time are
    skipped: that change seals them under the current secret too.
    """
    accounts = ProviderAccount.objects.select_related("workspace").order_by("pk")
    integrations = Integration.objects.select_related("workspace").exclude(sealed_settings=None)
    with transaction.atomic():
        rows = chain[ProviderAccount | Integration](accounts, integrations.order_by("pk"))
        return sum(_reseal(row, actor) for row in rows)


def _reseal(row: ProviderAccount | Integration, actor: str) -> bool:
    is_account = isinstance(row, ProviderAccount)
    try:
        settings = unseal_settings(row)
        if isinstance(row, ProviderAccount):
            _reseal_quota_source(row)
    except UnsealableError as refused:
        name = f"“{row.name}”" if isinstance(row, ProviderAccount) else row.kind
        raise UnsealableError(
            say(
                "Nothing was resealed: %(name)s of %(workspace)s. %(reason)s",
                name=name,
                workspace=row.workspace.name,
                reason=refused.args[0],
            )
        ) from None
    sealed = seal(row.workspace_id, settings, purpose=_purpose(row))
    unchanged = type(row).objects.filter(pk=row.pk, updated_at=row.updated_at)
    if not unchanged.update(sealed_settings=sealed):
        return False
    trail.note(
        row.workspace_id,
        actor=actor,
        action="account.resealed" if is_account else "integration.resealed",
        subject=f"account {row.pk}" if is_account else f"integration {row.kind}",
    )
    return True


def _reseal_quota_source(account: ProviderAccount) -> None:
    source = unseal_quota_source(account)
    if source is not None:
        unchanged = ProviderAccount.objects.filter(
            pk=account.pk, sealed_quota_source=account.sealed_quota_source
        )
        sealed = seal(account.workspace_id, source, purpose=QUOTA_SOURCE)
        unchanged.update(sealed_quota_source=sealed)


def _purpose(row: ProviderAccount | Integration) -> str:
    return PROVIDER if isinstance(row, ProviderAccount) else INTEGRATION


def reference_keys() -> Sequence[Key]:
    """The keys of references: the first signs, all verify."""
    return _derive_keys(tuple(installation_secrets()))


@cache
def _derive_keys(installation_secrets: tuple[str, ...]) -> Sequence[Key]:
    return references.derive_keys(installation_secrets)


def installation_secrets() -> Sequence[str]:
    """SECRET_KEY, and those before it."""
    return [force_str(key) for key in (installation.SECRET_KEY, *installation.SECRET_KEY_FALLBACKS)]
