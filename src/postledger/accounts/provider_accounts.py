"""Accounts at providers: created, changed, archived; their settings are validated, then sealed."""

from collections.abc import Mapping

from django.db import transaction
from django.db.models.functions import Now

from postledger.accounts import constraints, limits, quotas, sealing, trail
from postledger.accounts.models import AccountQuota, ProviderAccount, Sender
from postledger.accounts.setting_errors import find_setting_errors, list_errors
from postledger.accounts.trail import Action
from postledger.lib.errors import ConflictError, NotFoundError, RefusedError
from postledger.lib.sentences import say
from postledger.providers import registry
from postledger.providers.quota_source import QuotaSource

type Settings = Mapping[str, object]


class AccountExistsError(ConflictError):
    code = "account_exists"


class AccountUnknownError(NotFoundError):
    code = "account_unknown"


class AccountChangedError(ConflictError):
    code = "account_changed"


class AccountArchivedError(ConflictError):
    code = "account_archived"


class AccountInUseError(ConflictError):
    code = "account_in_use"


class QuotaKnownError(ConflictError):
    code = "quota_known"


class InvalidSettingsError(RefusedError):
    code = "invalid_settings"


def create_account(  # noqa: PLR0913  the parts of an account, each by its name
    workspace_id: int,
    *,
    name: str,
    kind: str,
    settings: Settings,
    is_unchecked: bool = False,
    actor: str,
) -> int:
    constraints.check_name("an account", name)
    check_settings(kind, settings)
    taken = AccountExistsError(
        say(
            "This workspace already has an account “%(name)s”: update it, restore it if it is"
            " archived, or choose another name.",
            name=name,
        )
    )
    with constraints.refusing(accounts_account_once=taken):
        account = ProviderAccount.objects.create(
            workspace_id=workspace_id,
            name=name,
            kind=kind,
            sealed_settings=sealing.seal(workspace_id, settings),
            is_unchecked=is_unchecked,
        )
        _note(account, "account.created", actor, name=name, kind=kind, settings=sorted(settings))
    return account.pk


def ensure_sandbox(workspace_id: int, *, actor: str) -> int:
    """The account that delivers to nobody; created if it is missing."""
    name = "sandbox"
    account = ProviderAccount.objects.filter(workspace_id=workspace_id, name=name).first()
    if account is not None and account.kind == registry.SANDBOX:
        return account.pk
    return create_account(workspace_id, name=name, kind=registry.SANDBOX, settings={}, actor=actor)


def update_account(
    workspace_id: int,
    *,
    account_id: int,
    changes: Settings,
    is_anew: bool = False,
    actor: str,
) -> None:
    """Changes some settings, or removes those whose value is None.

    `is_anew` drops all stored settings first; it also helps when they cannot be unsealed.
    """
    account = ProviderAccount.objects.filter(pk=account_id, workspace_id=workspace_id).first()
    if account is None:
        raise _unknown(account_id)
    stored = {} if is_anew else sealing.unseal_settings(account)
    settings = merge_settings(stored, changes)
    check_settings(account.kind, settings)
    # Only over the revision that was read: a concurrent change is not overwritten.
    unchanged = ProviderAccount.objects.filter(pk=account.pk, updated_at=account.updated_at)
    with transaction.atomic():
        sealed = sealing.seal(workspace_id, settings)
        if not unchanged.update(sealed_settings=sealed, updated_at=Now()):
            raise AccountChangedError(
                say(
                    "The account “%(name)s” was changed at the same time: check it and try again.",
                    name=account.name,
                )
            )
        # It may be another account at the service now.
        AccountQuota.objects.filter(pk=account.pk).update(next_sync_at=Now())
        _note(account, "account.updated", actor, settings=sorted(changes), anew=is_anew)


def set_rate(workspace_id: int, *, account_id: int, rate: float | None, actor: str) -> None:
    """How many mails a second all its senders send together; None: what its provider says."""
    limits.check_rate(rate)
    with transaction.atomic():
        account = lock_account(workspace_id, account_id)
        ProviderAccount.objects.filter(pk=account_id).update(rate_per_second=rate)
        _note(account, "account.rate_set", actor, rate=None if rate is None else f"{rate:g}")


def set_quota_source(
    workspace_id: int, *, account_id: int, source: Settings | None, actor: str
) -> None:
    """Reads the quota of an account at a URL from now on, or no more for None.

    What was read elsewhere is forgotten.
    """
    if source is not None:
        _check_quota_source(source)
    with transaction.atomic():
        account = lock_account(workspace_id, account_id)
        if account.kind in registry.QUOTA_KINDS:
            raise QuotaKnownError(
                say(
                    "The account “%(name)s” is of kind %(kind)s, which says its quota itself: it"
                    " needs no URL.",
                    name=account.name,
                    kind=account.kind,
                )
            )
        sealed = source and sealing.seal(workspace_id, source, purpose=sealing.QUOTA_SOURCE)
        ProviderAccount.objects.filter(pk=account_id).update(sealed_quota_source=sealed)
        AccountQuota.objects.filter(pk=account_id).update(
            **quotas.UNREAD, next_sync_at=Now(), error=""
        )
        _note(
            account, "account.quota_source_set" if source else "account.quota_source_removed", actor
        )


def _check_quota_source(source: Settings) -> None:
    errors = find_setting_errors(lambda: QuotaSource.model_validate(source))
    if errors:
        raise InvalidSettingsError(
            say(
                "The quota cannot be read there: %(errors)s. Correct that and try again.",
                errors=list_errors(errors),
            )
        )


def lock_for_sender(workspace_id: int, *, account_id: int | None) -> None:
    """Refuses an archived account; until the caller commits, the account cannot be archived."""
    if account_id is None:
        return
    own = ProviderAccount.objects.select_for_update(no_key=True).filter(workspace_id=workspace_id)
    account = own.filter(pk=account_id).first()
    if account is not None and account.archived_at is not None:
        raise AccountArchivedError(
            say(
                "The account “%(name)s” is archived, and no sender can use it. Attach the sender to"
                " another account, or restore this one: postledger account restore.",
                name=account.name,
            )
        )


def archive_account(workspace_id: int, *, account_id: int, actor: str) -> bool:
    """Lets no sender be attached to an account; False if it was archived before.

    Refused while a sender that takes mail uses it. Mail that waits is still sent.
    """
    with transaction.atomic():
        account = lock_account(workspace_id, account_id)
        if account.archived_at is not None:
            return False
        senders = Sender.objects.filter(account_id=account_id, archived_at=None)
        in_use_by = sorted(senders.values_list("address", flat=True))
        if in_use_by:
            raise AccountInUseError(
                say(
                    "The account “%(name)s” sends for %(senders)s. Attach these senders to another"
                    " account, or archive them first.",
                    name=account.name,
                    senders=", ".join(in_use_by),
                )
            )
        ProviderAccount.objects.filter(pk=account_id).update(archived_at=Now())
        _note(account, "account.archived", actor)
    return True


def restore_account(workspace_id: int, *, account_id: int, actor: str) -> bool:
    """Lets senders be attached to an archived account again; False if it was not archived."""
    with transaction.atomic():
        account = lock_account(workspace_id, account_id)
        if account.archived_at is None:
            return False
        ProviderAccount.objects.filter(pk=account_id).update(archived_at=None)
        _note(account, "account.restored", actor)
    return True


def lock_account(workspace_id: int, account_id: int) -> ProviderAccount:
    own = ProviderAccount.objects.select_for_update(no_key=True).filter(workspace_id=workspace_id)
    account = own.filter(pk=account_id).first()
    if account is None:
        raise _unknown(account_id)
    return account


def _note(account: ProviderAccount, action: Action, actor: str, **data: trail.Fact) -> None:
    trail.note(
        account.workspace_id,
        actor=actor,
        action=action,
        subject=f"account {account.pk}",
        data=data,
    )


def _unknown(account_id: int) -> AccountUnknownError:
    return AccountUnknownError(
        say(
            "This workspace has no account %(account_id)s: use one of its accounts.",
            account_id=str(account_id),
        )
    )


def merge_settings(stored: Settings, changes: Settings) -> dict[str, object]:
    """The settings after the changes; nested groups are merged too."""
    merged = dict(stored)
    for name, value in changes.items():
        present = merged.get(name)
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, Mapping) and isinstance(present, Mapping):
            merged[name] = merge_settings(present, value)
        else:
            merged[name] = value
    return merged


def check_settings(kind: str, settings: Settings) -> None:
    """Lets the provider validate its settings; names all invalid ones and repeats no value."""
    errors = find_setting_errors(lambda: registry.load_module(kind).build(settings))
    if errors:
        raise InvalidSettingsError(
            say(
                "Invalid settings for an account of kind %(kind)s: %(errors)s. Correct them and try"
                " again.",
                kind=kind,
                errors=list_errors(errors),
            )
        )


def note_answer(sender_id: int) -> None:
    """Its account was seen to take mail, or to pass its check."""
    unchecked = ProviderAccount.objects.filter(sender__id=sender_id, is_unchecked=True)
    unchecked.update(is_unchecked=False)


def store_tuned_rate(account_id: int, rate: float) -> None:
    """Keeps the rate that an account's provider was found to bear."""
    ProviderAccount.objects.filter(pk=account_id).update(tuned_rate=rate)
