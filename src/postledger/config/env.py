"""Every variable that Postledger reads from its environment, with its type and its default."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, override
from uuid import UUID

import limits
from django.core.exceptions import ImproperlyConfigured
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from postledger.config import database_url
from postledger.dispatch import retry


class BadEnvironmentError(ImproperlyConfigured):
    """Lists every variable that cannot be used, never a value."""


class Env(BaseSettings):
    model_config = SettingsConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    secret_key: SecretStr = Field(
        default=SecretStr(""),
        description="Signs links and seals stored credentials."
        " At least 50 random characters outside `DEBUG`.",
    )
    secret_key_previous: SecretStr = Field(
        default=SecretStr(""),
        description="Earlier secret keys, separated by commas: what they signed is still valid,"
        " what they sealed still opens.",
    )
    debug: bool = Field(
        default=False,
        description="Development only: a fixed secret key and pages that show errors.",
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Host names this installation answers to, separated by commas.",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO",
        description="The least severe log lines that are written.",
    )
    database_url: SecretStr = Field(
        default=SecretStr("postgresql://postgres@127.0.0.1:5432/postledger"),
        description="The PostgreSQL database (15 or newer) that holds the ledger.",
    )
    database_pool_size: int = Field(
        default=0,
        ge=0,
        le=200,
        description="Connections one process may keep open at once; 0 keeps one for each thread.",
    )
    redis_url: SecretStr = Field(
        default=SecretStr("redis://127.0.0.1:6379/0"),
        description="The Redis server that holds the counters of the pace.",
    )
    broker_url: SecretStr = Field(
        default=SecretStr("amqp://guest:guest@127.0.0.1:5672//"),
        description="The broker that wakes workers: RabbitMQ, or Redis on a small installation.",
    )
    api_rate: str = Field(
        default="100/second",
        description="How many requests one API key may make, per second, minute, hour or day.",
    )
    sending: Literal["on", "off"] = Field(
        default="on",
        description="`off` keeps every worker from sending; set it before a copy of a disk is"
        " started elsewhere.",
    )
    state_folder: str = Field(
        default="",
        description="Where a worker writes down how far its database has come; by default the"
        " folder that systemd names in `STATE_DIRECTORY`, or `~/.local/state/postledger`.",
    )
    queue_prefix: str = Field(
        default="postledger",
        pattern=r"[A-Za-z0-9._-]{1,64}",
        description="How names at the broker begin; installations that share one need their own.",
    )
    lease_seconds: int = Field(
        default=120,
        ge=5,
        le=3600,
        description="How long a worker has work to itself; with slow providers, longer by itself.",
    )
    batch_size: int = Field(
        default=50,
        ge=1,
        le=500,
        description="The most mails of one batch that are with a provider at a time.",
    )
    stop_seconds: int = Field(
        default=45,
        ge=0,
        le=900,
        description="How long a worker that is to stop waits for answers before it ends calls.",
    )
    retry_transactional: str = Field(
        default=retry.TRANSACTIONAL,
        description="Attempts and the seconds after each, for single mails.",
    )
    retry_topic: str = Field(
        default=retry.TOPIC,
        description="The same for notifications.",
    )
    retry_campaign: str = Field(
        default=retry.CAMPAIGN,
        description="The same for campaigns.",
    )
    from_email: str = Field(
        default="",
        description="The first sender's address; read once, when the first workspace is made.",
    )
    from_name: str = Field(
        default="",
        description="The first sender's name; read once, together with `FROM_EMAIL`.",
    )
    org_name: str = Field(
        default="",
        description="The sender's name in footers; read once, when the first workspace is made.",
    )
    org_address: str = Field(
        default="",
        description="The postal address in footers; read once, like `ORG_NAME`.",
    )
    unsubscribe_base_url: str = Field(
        default="",
        description="The public address of the unsubscribe page; read once, like `ORG_NAME`.",
    )
    unsubscribe_secret: SecretStr = Field(
        default=SecretStr(""),
        description="Signs unsubscribe links; without it no campaign and no notification goes.",
    )
    unsubscribe_secret_previous: SecretStr = Field(
        default=SecretStr(""),
        description="The secret before that one: links in mail that was sent already still work.",
    )
    unsub_secret: SecretStr = Field(
        default=SecretStr(""),
        description="Another name of `UNSUBSCRIBE_SECRET`, which wins where both are set.",
    )
    unsubscribe_get: Literal["page", "apply"] = Field(
        default="page",
        description="What opening an unsubscribe link does: `page` asks, `apply` acts at once,"
        " also for programs that only look at links.",
    )
    test_emails: str = Field(
        default="",
        description="Whom tests of campaigns go to; read once, when the first workspace is made.",
    )
    admin_password: SecretStr = Field(
        default=SecretStr(""),
        description="Lets whoever knows it send articles of the first workspace without a key;"
        " taken once, by `postledger setup`.",
    )
    public_url: str = Field(
        default="",
        pattern=r"^(https?://[^\s?#]+)?$",
        description="Where the public reaches this installation; without it no subscribe form is"
        " shown, since the confirmation mail needs a link.",
    )
    public_rate: str = Field(
        default="30/minute",
        description="How many forms one visitor may open or send, and links or passwords try.",
    )
    one_click_rate: str = Field(
        default="50/second",
        description="The same for signed links that are opened and for one-click unsubscribing,"
        " which mailbox providers do for many.",
    )
    proxy_count: int = Field(
        default=0,
        ge=0,
        le=10,
        description="How many proxies stand before this installation, each adding to"
        " `X-Forwarded-For`; 0 ignores that header.",
    )
    notion_token: SecretStr = Field(
        default=SecretStr(""),
        description="The secret of the Notion integration that pages of the first workspace are"
        " shared with; taken once, by `postledger setup`.",
    )
    notion_url: str = Field(
        default="https://api.notion.com",
        description="Where Notion answers.",
    )
    notion_db_mailouts: str = Field(
        default="",
        description="The id of the Notion database of mailouts, without which pages from anywhere"
        " are mailed; taken once, together with `NOTION_TOKEN`.",
    )
    notion_db_errors: str = Field(
        default="",
        description="The id of the Notion database that errors of mailouts are written to; taken"
        " once, together with `NOTION_TOKEN`.",
    )
    supabase_url: str = Field(
        default="",
        pattern=r"^(https?://[^\s?#]+)?$",
        description="The address of the Supabase project whose table `subscribers` is synced with"
        " the contacts of the first workspace; taken once, by `postledger setup`.",
    )
    supabase_service_role_key: SecretStr = Field(
        default=SecretStr(""),
        description="The key of that project's service role, which may read and write the table;"
        " taken once, together with `SUPABASE_URL`.",
    )
    pictures_folder: str = Field(
        default="",
        description="Where pictures of Notion pages are kept; all web processes need to see it.",
    )
    pictures_url: str = Field(
        default="",
        description="The public address of `/pictures` of this installation.",
    )
    metrics_token: SecretStr = Field(
        default=SecretStr(""),
        description="The bearer token that `/metrics` asks for; without one, everybody may read.",
    )

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_unreadable(cls, value: object) -> object:
        if isinstance(value, _Unreadable):
            raise ValueError(value.why)  # noqa: TRY004 - pydantic collects ValueErrors only
        return value

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(host.strip() for host in value.split(",") if host.strip())
        return value

    @field_validator("database_url")
    @classmethod
    def _read_address(cls, value: SecretStr) -> SecretStr:
        database_url.parse(value.get_secret_value())
        return value

    @field_validator("api_rate", "public_rate", "one_click_rate")
    @classmethod
    def _read_rate(cls, value: str) -> str:
        try:
            limits.parse(value)
        except ValueError:
            raise ValueError("is no rate such as 100/second") from None
        return value

    @field_validator("notion_db_mailouts", "notion_db_errors")
    @classmethod
    def _read_id(cls, value: str) -> str:
        try:
            return str(UUID(value)) if value else ""
        except ValueError:
            raise ValueError("is no id of a database: it has 32 digits from 0 to f") from None

    @field_validator("retry_transactional", "retry_topic", "retry_campaign")
    @classmethod
    def _read_policy(cls, value: str) -> str:
        retry.read(value)
        return value

    @classmethod
    @override
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (_SecretFiles(settings_cls, os.environ), env_settings)


def load() -> Env:
    """Read the environment once; complain once, about all of it."""
    try:
        return Env()
    except ValidationError as error:
        lines = [
            f"  {_variable(item['loc'])}: {item['msg'].removeprefix('Value error, ')}"
            for item in error.errors()
        ]
        raise BadEnvironmentError("\n".join(["The environment is wrong:", *lines])) from None


def variables() -> dict[str, FieldInfo]:
    return {_variable((name,)): info for name, info in Env.model_fields.items()}


def is_secret(info: FieldInfo) -> bool:
    return info.annotation is SecretStr


def _variable(location: tuple[int | str, ...]) -> str:
    return str(location[0]).upper()


@dataclass(frozen=True, slots=True)
class _Unreadable:
    why: str


class _SecretFiles(PydanticBaseSettingsSource):
    """Reads NAME from the file that NAME_FILE names, for secrets only."""

    def __init__(self, settings_cls: type[BaseSettings], environ: Mapping[str, str]) -> None:
        super().__init__(settings_cls)
        self._environ = environ

    @override
    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        name = field_name.upper()
        path = self._environ.get(f"{name}_FILE")
        if path is None or not is_secret(field):
            return None, field_name, False
        if name in self._environ:
            return _Unreadable(f"{name} and {name}_FILE are both set"), field_name, False
        try:
            return Path(path).read_text(encoding="utf-8").strip(), field_name, False
        except (OSError, UnicodeDecodeError) as error:
            reason = f"{name}_FILE cannot be read ({type(error).__name__})"
            return _Unreadable(reason), field_name, False

    @override
    def __call__(self) -> dict[str, Any]:
        found = {
            name: self.get_field_value(info, name)[0]
            for name, info in self.settings_cls.model_fields.items()
        }
        return {name: value for name, value in found.items() if value is not None}
