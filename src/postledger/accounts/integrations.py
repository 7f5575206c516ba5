"""What a workspace works with beside sending: the kinds, their settings, and reads of them."""

import hmac
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from postledger.accounts import sealing
from postledger.accounts.models import Integration


class Kind(StrEnum):
    """It stands in the row; the table lets in no other word."""

    NOTION = "notion"  # pages that are mailed
    SUPABASE = "supabase"  # subscribers that are synced with the contacts
    ADMIN = "admin"  # whoever knows its password sends articles without a key


def _database_id(written: str) -> str:
    try:
        return str(UUID(written)) if written else ""
    except ValueError:
        raise ValueError("is no id of a database: it has 32 digits from 0 to f") from None


type DatabaseId = Annotated[str, AfterValidator(_database_id)]


class Settings(BaseModel):
    """What one kind needs; credentials are among it, and are not shown."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    kind: ClassVar[Kind]


class Notion(Settings):
    kind = Kind.NOTION

    token: str = Field(min_length=1, repr=False)
    mailouts: DatabaseId = ""  # where there is one, no page from elsewhere is mailed
    errors: DatabaseId = ""  # where errors of mailouts are written to


class Supabase(Settings):
    kind = Kind.SUPABASE

    url: str = Field(pattern=r"^https?://[^\s?#]+$")
    api_key: str = Field(min_length=1, repr=False)  # of the service role


class Admin(Settings):
    """Given as a password, kept as its hash: nobody needs to read it again."""

    kind = Kind.ADMIN

    password_hash: str = Field(pattern="^[0-9a-f]{64}$", repr=False)

    @model_validator(mode="before")
    @classmethod
    def _hash_password(cls, given: dict[str, object]) -> dict[str, object]:
        rest = {name: value for name, value in given.items() if name != "password"}
        password = given.get("password")
        if isinstance(password, str) and password:
            return {**rest, "password_hash": _hash(password).hex()}
        if "password" in given or "password_hash" not in given:
            raise ValueError("password: write one of at least one character")
        return rest

    def admits(self, password: str) -> bool:
        return hmac.compare_digest(_hash(password), bytes.fromhex(self.password_hash))


def _hash(password: str) -> bytes:
    """A fast one, as of keys: it is sealed, so that nobody with a copy of the table can guess.

    A password from a request may hold halves of characters, which only this encoding takes.
    """
    return sha256(password.encode(errors="surrogatepass")).digest()


MODELS: dict[Kind, type[Settings]] = {model.kind: model for model in (Notion, Supabase, Admin)}


def notion(workspace_id: int) -> Notion | None:
    return _read(workspace_id, Notion)


def supabase(workspace_id: int) -> Supabase | None:
    return _read(workspace_id, Supabase)


def admin(workspace_id: int) -> Admin | None:
    return _read(workspace_id, Admin)


def workspaces(kind: Kind) -> list[int]:
    """Those that are connected to one, the oldest first."""
    connected = Integration.objects.filter(kind=kind).exclude(sealed_settings=None)
    return list(connected.order_by("workspace_id").values_list("workspace_id", flat=True))


def _read[Some: Settings](workspace_id: int, model: type[Some]) -> Some | None:
    row = Integration.objects.filter(workspace_id=workspace_id, kind=model.kind).first()
    stored = stored_settings(row) if row else None
    return model.model_validate(stored) if stored else None


def stored_settings(row: Integration) -> dict[str, object] | None:
    """A row's settings, credentials among them: never show them; None when they were taken away."""
    if row.sealed_settings is None:
        return None
    return sealing.unseal(row.workspace_id, bytes(row.sealed_settings), purpose=sealing.INTEGRATION)


@dataclass(frozen=True, slots=True)
class IntegrationFacts:
    """An integration without its settings."""

    kind: str
    is_removed: bool
    updated_at: datetime


def listed(workspace_id: int) -> list[IntegrationFacts]:
    own = Integration.objects.filter(workspace_id=workspace_id).order_by("kind")
    return [IntegrationFacts(row.kind, row.sealed_settings is None, row.updated_at) for row in own]
