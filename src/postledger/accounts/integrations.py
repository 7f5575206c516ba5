"""Integrations of a workspace: Notion, Supabase and the admin password, with sealed settings."""

import hmac
from collections.abc import Iterable, Mapping
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, ClassVar

from django.conf import settings as installation
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from postledger.accounts import constraints, queries, sealing, trail
from postledger.accounts.models import Integration
from postledger.accounts.provider_accounts import (
    InvalidSettingsError,
    Settings,
    merge_settings,
)
from postledger.accounts.setting_errors import find_setting_errors, list_errors
from postledger.lib import values
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say


class IntegrationKind(StrEnum):
    """As the row stores it; a constraint of the table lists the same values."""

    NOTION = "notion"  # pages that are mailed
    SUPABASE = "supabase"  # subscribers that are synced with the contacts
    ADMIN = "admin"  # a password that allows sending articles without an API key


type DatabaseId = Annotated[str, AfterValidator(values.parse_database_id)]


class IntegrationSettings(BaseModel):
    """The settings of one kind; credentials do not appear in its repr."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    kind: ClassVar[IntegrationKind]


class NotionSettings(IntegrationSettings):
    kind = IntegrationKind.NOTION

    token: str = Field(min_length=1, repr=False)
    mailouts: DatabaseId = ""  # if set, only pages of this database are mailed
    errors: DatabaseId = ""  # receives the errors of mailouts


class SupabaseSettings(IntegrationSettings):
    kind = IntegrationKind.SUPABASE

    url: str = Field(pattern=r"^https?://[^\s?#]+$")
    api_key: str = Field(min_length=1, repr=False)  # of the service role


class AdminSettings(IntegrationSettings):
    """Takes a password, and stores its hash."""

    kind = IntegrationKind.ADMIN

    password_hash: str = Field(pattern="^[0-9a-f]{64}$", repr=False)

    @model_validator(mode="before")
    @classmethod
    def _hash_password(cls, given: dict[str, object]) -> dict[str, object]:
        remaining = {name: value for name, value in given.items() if name != "password"}
        password = given.get("password")
        if isinstance(password, str) and len(password) >= constraints.SHORTEST_PASSWORD:
            return {**remaining, "password_hash": _hash(password).hex()}
        if "password" in given or "password_hash" not in given:
            shortest = constraints.SHORTEST_PASSWORD
            raise ValueError(
                say("password: at least %(shortest)s characters are required", shortest=shortest)
            )
        return remaining

    def admits(self, password: str) -> bool:
        return hmac.compare_digest(_hash(password), bytes.fromhex(self.password_hash))


def _hash(password: str) -> bytes:
    """A fast hash is enough: it is sealed, so a copy of the table does not help to guess it.

    A password from a request may contain unpaired surrogates, which only this handler encodes.
    """
    return sha256(password.encode(errors="surrogatepass")).digest()


_MODELS: dict[IntegrationKind, type[IntegrationSettings]] = {
    model.kind: model for model in (NotionSettings, SupabaseSettings, AdminSettings)
}


def notion(workspace_id: int) -> NotionSettings | None:
    return _read(workspace_id, NotionSettings)


def supabase(workspace_id: int) -> SupabaseSettings | None:
    return _read(workspace_id, SupabaseSettings)


def admin(workspace_id: int) -> AdminSettings | None:
    return _read(workspace_id, AdminSettings)


def _read[Model: IntegrationSettings](workspace_id: int, model: type[Model]) -> Model | None:
    row = _rows(workspace_id, model.kind).first()
    stored = sealing.unseal_settings(row) if row else None
    return model.model_validate(stored) if stored else None


def workspaces(kind: IntegrationKind) -> list[int]:
    """The workspaces with this integration, the oldest first."""
    connected = Integration.objects.filter(kind=kind).exclude(sealed_settings=None)
    return list(connected.order_by("workspace_id").values_list("workspace_id", flat=True))


def list_integrations(workspace_id: int) -> list[Integration]:
    """Removed ones too: their rows have no settings."""
    return list(Integration.objects.filter(workspace_id=workspace_id).order_by("kind"))


# The environment variable of each setting.
_VARIABLES: Mapping[IntegrationKind, Mapping[str, str]] = {
    IntegrationKind.NOTION: {
        "token": "NOTION_TOKEN",
        "mailouts": "NOTION_DB_MAILOUTS",
        "errors": "NOTION_DB_ERRORS",
    },
    IntegrationKind.SUPABASE: {"url": "SUPABASE_URL", "api_key": "SUPABASE_SERVICE_ROLE_KEY"},
    IntegrationKind.ADMIN: {"password": "ADMIN_PASSWORD"},
}


def read_environment() -> dict[IntegrationKind, dict[str, object]]:
    """Settings that environment variables give, by kind; kinds without any are left out."""
    settings_by_kind = {
        kind: {
            name: value
            for name, variable in variables.items()
            if (value := getattr(installation, variable))
        }
        for kind, variables in _VARIABLES.items()
    }
    return {kind: settings for kind, settings in settings_by_kind.items() if settings}


def name_variables(kind: IntegrationKind, names: Iterable[str]) -> str:
    """The environment variables of some settings, separated by commas."""
    return ", ".join(_VARIABLES[kind][name] for name in names)


class IntegrationChangedError(RefusedError):
    code = "integration_changed"


class FirstWorkspaceOnlyError(RefusedError):
    code = "first_workspace_only"


def set_integration(
    workspace_id: int,
    kind: IntegrationKind,
    *,
    changes: Settings,
    is_anew: bool = False,
    actor: str,
) -> None:
    """Changes some settings, or removes those whose value is None.

    `is_anew` drops all stored settings first.
    """
    if kind in _FIRST_ONLY and workspace_id != queries.first_workspace_id():
        raise FirstWorkspaceOnlyError(_FIRST_ONLY[kind])
    if changes.get("password", "") is None:
        raise InvalidSettingsError(
            say(
                "A password cannot be unset. Replace it, or remove the integration: postledger"
                " integration remove WORKSPACE %(kind)s.",
                kind=kind.value,
            )
        )
    row = _rows(workspace_id, kind).first()
    stored = {} if is_anew or row is None else sealing.unseal_settings(row)
    settings = _validate(kind, merge_settings(stored, changes))
    with constraints.refusing(accounts_integration_once=_changed(kind)):
        _store(workspace_id, settings, over=row)
        _note(workspace_id, kind, "integration.set", actor=actor, settings=sorted(changes))


def lock_integration(workspace_id: int, kind: IntegrationKind) -> None:
    """Until the transaction ends, nobody else changes the settings."""
    _rows(workspace_id, kind).select_for_update(no_key=True).first()


def remove_integration(workspace_id: int, kind: IntegrationKind, *, actor: str) -> bool:
    """Deletes the settings and keeps the row as removed; False if there are none."""
    connected = _rows(workspace_id, kind).exclude(sealed_settings=None)
    with transaction.atomic():
        if not connected.update(sealed_settings=None, updated_at=Now()):
            return False
        _note(workspace_id, kind, "integration.removed", actor=actor)
    return True


def fill_integration(
    workspace_id: int, kind: IntegrationKind, *, settings: Settings, actor: str
) -> tuple[str, ...] | None:
    """Creates the integration from the environment's settings, and returns None.

    An existing row stays; then returns the names of the settings that differ from it.
    """
    row = _rows(workspace_id, kind).first()
    if row is not None:
        return _find_differing(row, kind, settings)
    validated = _validate(kind, settings)
    with constraints.refusing(accounts_integration_once=_changed(kind)):
        _store(workspace_id, validated, over=None)
        _note(workspace_id, kind, "integration.filled", actor=actor, settings=sorted(settings))
    return None


# A request with the password names no workspace, and only the first one's contacts are synced.
_FIRST_ONLY = {
    IntegrationKind.ADMIN: say(
        "Only the installation's first workspace can have an admin password. Create an API key"
        " instead, under Developers or with postledger key create."
    ),
    IntegrationKind.SUPABASE: say(
        "Only the installation's first workspace can sync with Supabase. Import the subscribers"
        " instead: postledger contacts import."
    ),
}


def _find_differing(row: Integration, kind: IntegrationKind, given: Settings) -> tuple[str, ...]:
    stored = sealing.unseal_settings(row)
    if not stored:
        return tuple(given)
    current = _validate(kind, stored)
    return tuple(
        name for name, value in given.items() if _validate(kind, {**stored, name: value}) != current
    )


def _validate(kind: IntegrationKind, settings: Settings) -> IntegrationSettings:
    model = _MODELS[kind]
    errors = find_setting_errors(lambda: model.model_validate(settings))
    if errors:
        raise InvalidSettingsError(
            say(
                "Invalid settings for the integration %(kind)s: %(errors)s. Correct them and try"
                " again.",
                kind=kind.value,
                errors=list_errors(errors),
            )
        )
    return model.model_validate(settings)


def _store(workspace_id: int, settings: IntegrationSettings, *, over: Integration | None) -> None:
    """Writes only over the revision that was read: a concurrent change is not overwritten."""
    kind = settings.kind
    sealed = sealing.seal(workspace_id, settings.model_dump(), purpose=sealing.INTEGRATION)
    if over is None:
        Integration.objects.create(
            workspace_id=workspace_id, kind=kind.value, sealed_settings=sealed
        )
        return
    unchanged = _rows(workspace_id, kind).filter(updated_at=over.updated_at)
    if not unchanged.update(sealed_settings=sealed, updated_at=Now()):
        raise _changed(kind)


def _changed(kind: IntegrationKind) -> IntegrationChangedError:
    return IntegrationChangedError(
        say(
            "The integration %(kind)s was changed at the same time: check it and try again.",
            kind=kind.value,
        )
    )


def _rows(workspace_id: int, kind: IntegrationKind) -> QuerySet[Integration]:
    return Integration.objects.filter(workspace_id=workspace_id, kind=kind.value)


def _note(
    workspace_id: int, kind: IntegrationKind, action: trail.Action, *, actor: str, **data: list[str]
) -> None:
    subject = f"integration {kind.value}"
    trail.note(workspace_id, actor=actor, action=action, subject=subject, data=data)
