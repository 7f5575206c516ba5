"""Connects workspaces to Notion and others; what is stored was checked, and is sealed."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from postledger.accounts import constraints, integrations, queries, sealing, trail
from postledger.accounts.actions.accounts import InvalidSettingsError, merge, wrong_settings
from postledger.accounts.integrations import Kind, Settings
from postledger.accounts.models import Integration
from postledger.lib.errors import RefusedError

type Given = Mapping[str, object]


class IntegrationChangedError(RefusedError):
    code = "integration_changed"


class FirstWorkspaceOnlyError(RefusedError):
    code = "first_workspace_only"


def set_integration(
    workspace_id: int, kind: Kind, *, changes: Given, is_anew: bool = False, actor: str
) -> None:
    """Changes some settings, None taking one away; `is_anew` forgets all that were stored."""
    _check_place(workspace_id, kind)
    if changes.get("password", "") is None:
        raise InvalidSettingsError(
            "A password is replaced, or taken away with the whole integration: postledger"
            f" integration remove WORKSPACE {kind.value}."
        )
    row = _row(workspace_id, kind)
    stored = {} if is_anew or row is None else integrations.stored_settings(row) or {}
    settings = _checked(kind, merge(stored, changes))
    with constraints.kept(accounts_integration_once=_changed(kind)):
        _store(workspace_id, settings, over=row)
        _note(workspace_id, kind, "set", actor=actor, settings=sorted(changes))


def remove_integration(workspace_id: int, kind: Kind, *, actor: str) -> bool:
    """Forgets the settings, and keeps that they were taken away; False when there are none."""
    connected = _own(workspace_id, kind).exclude(sealed_settings=None)
    with transaction.atomic():
        if not connected.update(sealed_settings=None, updated_at=Now()):
            return False
        _note(workspace_id, kind, "removed", actor=actor)
    return True


@dataclass(frozen=True, slots=True)
class Filled:
    """What came of an offer: it was taken, or these of its settings are not what the row has."""

    is_taken: bool
    differing: tuple[str, ...] = ()


def fill_integration(workspace_id: int, kind: Kind, *, offered: Given, actor: str) -> Filled:
    """Takes what the environment offers if there is no row yet; else the row is what counts."""
    row = _row(workspace_id, kind)
    if row is not None:
        return Filled(is_taken=False, differing=_differing(row, kind, offered))
    settings = _checked(kind, offered)
    with constraints.kept(accounts_integration_once=_changed(kind)):
        _store(workspace_id, settings, over=None)
        _note(workspace_id, kind, "filled", actor=actor, settings=sorted(offered))
    return Filled(is_taken=True)


# A request with a password names no workspace, and only the first one's contacts are synced.
_FIRST_ONLY = {
    Kind.ADMIN: "The admin's password lets into the installation's first workspace, and this is"
    " another one. Make a key of this workspace instead: postledger key create.",
    Kind.SUPABASE: "A Supabase project is synced with the installation's first workspace, and this"
    " is another one. Import its subscribers instead: postledger contacts import.",
}


def _check_place(workspace_id: int, kind: Kind) -> None:
    if kind in _FIRST_ONLY and workspace_id != queries.default_workspace_id():
        raise FirstWorkspaceOnlyError(_FIRST_ONLY[kind])


def _differing(row: Integration, kind: Kind, offered: Given) -> tuple[str, ...]:
    stored = integrations.stored_settings(row)
    if stored is None:
        return tuple(offered)
    known = _checked(kind, stored)
    return tuple(
        name for name, value in offered.items() if _checked(kind, {**stored, name: value}) != known
    )


def _checked(kind: Kind, given: Given) -> Settings:
    model = integrations.MODELS[kind]
    wrong = wrong_settings(lambda: model.model_validate(given))
    if wrong:
        raise InvalidSettingsError(
            f"These settings do not make the integration {kind.value}: {'; '.join(wrong)}."
            " Correct them and try again."
        )
    return model.model_validate(given)


def _store(workspace_id: int, settings: Settings, *, over: Integration | None) -> None:
    """Only over the revision that was read: what somebody else stored meanwhile is not undone."""
    kind = settings.kind
    sealed = sealing.seal(workspace_id, settings.model_dump(), purpose=sealing.INTEGRATION)
    if over is None:
        Integration.objects.create(
            workspace_id=workspace_id, kind=kind.value, sealed_settings=sealed
        )
        return
    unchanged = _own(workspace_id, kind).filter(updated_at=over.updated_at)
    if not unchanged.update(sealed_settings=sealed, updated_at=Now()):
        raise _changed(kind)


def _changed(kind: Kind) -> IntegrationChangedError:
    return IntegrationChangedError(
        f"Somebody changed the integration {kind.value} at the same time: look at it and try again."
    )


def _row(workspace_id: int, kind: Kind) -> Integration | None:
    return _own(workspace_id, kind).first()


def _own(workspace_id: int, kind: Kind) -> QuerySet[Integration]:
    return Integration.objects.filter(workspace_id=workspace_id, kind=kind.value)


def _note(
    workspace_id: int, kind: Kind, done: str, *, actor: str, settings: list[str] | None = None
) -> None:
    trail.note(
        workspace_id,
        actor=actor,
        action=f"integration.{done}",
        subject=f"integration {kind.value}",
        data={} if settings is None else {"settings": settings},
    )
