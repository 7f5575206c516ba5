"""Makes and changes accounts at providers; what is stored was checked, and is sealed."""

from collections.abc import Callable, Mapping

from django.db import transaction
from django.db.models.functions import Now
from pydantic import ValidationError

from postledger.accounts import constraints, names, sealing, trail
from postledger.accounts.models import ProviderAccount
from postledger.lib.errors import RefusedError
from postledger.providers import registry

type Settings = Mapping[str, object]


class AccountExistsError(RefusedError):
    code = "account_exists"


class AccountUnknownError(RefusedError):
    code = "account_unknown"


class AccountChangedError(RefusedError):
    code = "account_changed"


class InvalidSettingsError(RefusedError):
    code = "invalid_settings"


def create_account(
    workspace_id: int, *, name: str, kind: str, settings: Settings, actor: str
) -> int:
    names.check("an account", name)
    check_settings(kind, settings)
    taken = AccountExistsError(
        f"This workspace has an account “{name}” already: update that one, or choose another name."
    )
    with constraints.kept(accounts_account_once=taken):
        account = ProviderAccount.objects.create(
            workspace_id=workspace_id,
            name=name,
            kind=kind,
            sealed_settings=sealing.seal(workspace_id, settings),
        )
        trail.note(
            workspace_id,
            actor=actor,
            action="account.created",
            subject=f"account {account.pk}",
            data={"name": name, "kind": kind, "settings": sorted(settings)},
        )
    return account.pk


def update_account(
    workspace_id: int,
    *,
    account_id: int,
    changes: Settings,
    is_anew: bool = False,
    actor: str,
) -> None:
    """Changes some settings, None taking one away; `is_anew` forgets all that were stored.

    Anew is also the way out when what is stored cannot be opened any more.
    """
    account = ProviderAccount.objects.filter(pk=account_id, workspace_id=workspace_id).first()
    if account is None:
        raise AccountUnknownError(
            f"This workspace has no account {account_id}: choose one of its own."
        )
    stored = {} if is_anew else sealing.unseal(workspace_id, bytes(account.sealed_settings))
    settings = merge(stored, changes)
    check_settings(account.kind, settings)
    # Only over the revision that was read: what somebody else stored meanwhile is not undone.
    unchanged = ProviderAccount.objects.filter(pk=account.pk, updated_at=account.updated_at)
    with transaction.atomic():
        sealed = sealing.seal(workspace_id, settings)
        if not unchanged.update(sealed_settings=sealed, updated_at=Now()):
            raise AccountChangedError(
                f"Somebody changed the account “{account.name}” at the same time:"
                " look at it and try again."
            )
        trail.note(
            workspace_id,
            actor=actor,
            action="account.updated",
            subject=f"account {account.pk}",
            data={"settings": sorted(changes), "anew": is_anew},
        )


def merge(stored: Settings, changes: Settings) -> dict[str, object]:
    """The settings after the changes; a group of settings is changed one by one too."""
    merged = dict(stored)
    for name, value in changes.items():
        present = merged.get(name)
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, Mapping) and isinstance(present, Mapping):
            merged[name] = merge(present, value)
        else:
            merged[name] = value
    return merged


def check_settings(kind: str, settings: Settings) -> None:
    """Lets the provider look at its settings; names every wrong one and repeats no value."""
    wrong = wrong_settings(lambda: registry.vendor(kind).build(settings))
    if wrong:
        raise InvalidSettingsError(
            f"These settings do not make an account of kind {kind}: {'; '.join(wrong)}."
            " Correct them and try again."
        )


def wrong_settings(build: Callable[[], object]) -> list[str]:
    try:
        build()
    except ValidationError as error:
        # The values stay behind with the error, which no refusal drags along as its cause.
        found = error.errors(include_url=False, include_context=False, include_input=False)
        return [_told(item["loc"], item["msg"]) for item in found]
    return []


def _told(location: tuple[int | str, ...], message: str) -> str:
    words = message.removeprefix("Value error, ")
    return f"{'.'.join(map(str, location))}: {words}" if location else words
