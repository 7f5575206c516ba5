"""Every variable that Postledger reads from its environment, with its type and default."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic.fields import FieldInfo

from postledger.accounts import constraints
from postledger.accounts.limits import FASTEST, SLOWEST
from postledger.dispatch import retry
from postledger.feedback import guard
from postledger.lib.values import parse_database_id
from postledger.providers.dns import resolver_address

UNSUBSCRIBE_SECRET_LENGTH = 32


class BadEnvironmentError(ImproperlyConfigured):
    """Names every invalid variable, and repeats no value."""


class Env(BaseModel):
    """The environment; the docstring of each variable is its description on the settings page."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True, use_attribute_docstrings=True)

    secret_key: SecretStr = SecretStr("")
    """Signs links and seals stored secrets. At least 50 random characters outside `DEBUG`."""
    secret_key_previous: SecretStr = SecretStr("")
    """Earlier secret keys, separated by commas: their signatures and sealed values stay valid."""
    debug: bool = False
    """Development only: a fixed secret key and pages that show errors."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names that this installation serves beside that of `PUBLIC_URL`, separated by commas."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """The lowest level of log lines that are written."""
    database_url: SecretStr = SecretStr("postgresql://postgres@127.0.0.1:5432/postledger")
    """The PostgreSQL database (15 or newer) that holds the ledger."""
    database_pool_size: int = Field(0, ge=0, le=200)
    """Connections that one process may keep open; 0 keeps one for each thread."""
    redis_url: SecretStr = SecretStr("redis://127.0.0.1:6379/0")
    """The Redis server that holds the rate counters and the witness of the fence."""
    broker_url: SecretStr = SecretStr("")
    """The broker that wakes workers, RabbitMQ or Redis; without it, the Redis of `REDIS_URL`."""
    api_rate: str = "100/second"
    """How many requests one API key may make, per second, minute, hour or day."""
    sending: Literal["on", "off"] = "on"
    """`off` keeps workers from sending; set it before you start a copy of a disk elsewhere."""
    state_folder: str = ""
    """Where a worker records how far its database has come."""
    queue_prefix: str = Field("postledger", pattern=r"[A-Za-z0-9._-]{1,64}")
    """The prefix of names at the broker; installations that share a broker need their own."""
    lease_seconds: int = Field(120, ge=5, le=3600)
    """How long a lease lasts; slow providers get longer leases automatically."""
    batch_size: int = Field(50, ge=1, le=500)
    """The largest window: how many mails of one batch may be with a provider at a time."""
    reserved_rate: float = Field(0.2, ge=0, le=0.5)
    """The share of an account's rate that only transactional mail and notifications may use."""
    reserved_quota: float = Field(0.05, ge=0, le=0.5)
    """The same of an account's quota."""
    stop_seconds: int = Field(45, ge=0, le=900)
    """How long a stopping worker waits for answers before it ends calls."""
    retry_transactional: str = retry.TRANSACTIONAL
    """Attempts and the seconds after each, for single mails."""
    retry_topic: str = retry.TOPIC
    """The same for notifications."""
    retry_campaign: str = retry.CAMPAIGN
    """The same for campaigns."""
    guard_bounces: str = guard.BOUNCES
    """When a run stops itself for bounces: a share, surely reached, of so many mails, and a share
    of so many as it is; or `off`."""
    guard_complaints: str = guard.COMPLAINTS
    """The same for complaints."""
    from_email: str = ""
    """The first sender's address; read once, when the first workspace is created."""
    from_name: str = ""
    """The first sender's name; read once, together with `FROM_EMAIL`."""
    send_rate_per_sec: float = Field(5, ge=SLOWEST, le=FASTEST, allow_inf_nan=False)
    """How many mails a second the first sender may send; read once, together with `FROM_EMAIL`."""
    org_name: str = ""
    """The sender's name in footers; read once, when the first workspace is created."""
    org_address: str = ""
    """The postal address in footers; read once, like `ORG_NAME`."""
    unsubscribe_base_url: str = ""
    """The public address of the unsubscribe page; read once, like `ORG_NAME`."""
    unsubscribe_secret: SecretStr = SecretStr("")
    """Signs unsubscribe links, with at least 32 characters; without it no campaign is sent."""
    unsubscribe_secret_previous: SecretStr = SecretStr("")
    """The previous `UNSUBSCRIBE_SECRET`: links in mail sent earlier still work."""
    unsub_secret: SecretStr = SecretStr("")
    """Another name of `UNSUBSCRIBE_SECRET`. If both are set, `UNSUBSCRIBE_SECRET` is used."""
    default_locale: str = Field("en", pattern=r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$")
    """The language of notifications where the subscription has none, such as `en` or `pt-BR`."""
    unsubscribe_get: Literal["page", "apply"] = "page"
    """What opening an unsubscribe link does: `page` asks first, `apply` unsubscribes at once."""
    ses_transient_bounce: Literal["keep", "apply"] = "keep"
    """What a bounce that is not permanent does: `keep` notes it, `apply` bounces the contact."""
    test_emails: str = ""
    """Recipients of test sends of campaigns; read once, when the first workspace is created."""
    admin_password: SecretStr = SecretStr("")
    """Allows sending articles without an API key, with at least 16 characters; read by `setup`."""
    public_url: str = Field("", pattern=r"^(https?://[^\s?#]+)?$")
    """The public address of this installation, which links in mail lead to."""
    public_rate: str = "30/minute"
    """How many forms, links and passwords one visitor may open, send or try."""
    subscribe_rate: str = "300/hour"
    """How many confirmation mails the subscribe forms of one workspace may send."""
    one_click_rate: str = "50/second"
    """The same for signed links and for one-click unsubscribes by mailbox providers."""
    proxy_count: int = Field(0, ge=0, le=10)
    """How many proxies in front of this installation add to `X-Forwarded-For`; 0 ignores it."""
    source_hosts: tuple[str, ...] = ()
    """Hosts inside the network that sources of events may be read from, separated by commas."""
    private_hosts: tuple[str, ...] = ()
    """Hosts on this machine or inside the network that accounts may be given on pages and by the
    API, separated by commas: 127.0.0.1:2525, relay.internal:587."""
    dns_resolver: str = ""
    """The resolver that records of senders are looked up at; without it, those of the machine."""
    notion_token: SecretStr = SecretStr("")
    """The secret of the Notion integration of the first workspace; read once, by `setup`."""
    notion_url: str = "https://api.notion.com"
    """The address of the Notion API."""
    notion_db_mailouts: str = ""
    """The id of the Notion database of mailouts; read once, together with `NOTION_TOKEN`."""
    notion_db_errors: str = ""
    """The id of the Notion database for errors of mailouts; read once, like `NOTION_TOKEN`."""
    supabase_url: str = Field("", pattern=r"^(https?://[^\s?#]+)?$")
    """The Supabase project whose subscribers are synced; read once, by `setup`."""
    supabase_service_role_key: SecretStr = SecretStr("")
    """The key of that project's service role; read once, together with `SUPABASE_URL`."""
    pictures_folder: str = ""
    """Where pictures of Notion pages are kept; all web processes need access to it."""
    pictures_url: str = ""
    """The public address of `/pictures` of this installation."""
    metrics_token: SecretStr = SecretStr("")
    """The bearer token that `/metrics` requires; without one, nobody can read them."""

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_unreadable(cls, value: object) -> object:
        if isinstance(value, _Unreadable):
            raise ValueError(value.reason)  # noqa: TRY004 - pydantic collects ValueErrors only
        return value

    @field_validator("allowed_hosts", "source_hosts", "private_hosts", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(host.strip() for host in value.split(",") if host.strip())
        return value

    @field_validator("database_url")
    @classmethod
    def _read_address(cls, value: SecretStr) -> SecretStr:
        parse_database_url(value.get_secret_value())
        return value

    @field_validator("unsubscribe_secret", "unsub_secret")
    @classmethod
    def _refuse_short_secret(cls, value: SecretStr) -> SecretStr:
        if 0 < len(value.get_secret_value()) < UNSUBSCRIBE_SECRET_LENGTH:
            raise ValueError(
                f"has fewer than {UNSUBSCRIBE_SECRET_LENGTH} characters, so strangers could guess"
                " it from a link: use that many random ones"
            )
        return value

    @field_validator("admin_password")
    @classmethod
    def _refuse_short_password(cls, value: SecretStr) -> SecretStr:
        if 0 < len(value.get_secret_value()) < constraints.SHORTEST_PASSWORD:
            raise ValueError(f"has fewer than {constraints.SHORTEST_PASSWORD} characters")
        return value

    @field_validator("api_rate", "public_rate", "subscribe_rate", "one_click_rate")
    @classmethod
    def _read_rate(cls, value: str) -> str:
        import limits  # with its storages, which few commands need

        try:
            limits.parse(value)
        except ValueError:
            raise ValueError("is not a rate such as 100/second") from None
        return value

    @field_validator("dns_resolver")
    @classmethod
    def _read_resolver(cls, value: str) -> str:
        resolver_address.parse_address(value)
        return value

    @field_validator("notion_db_mailouts", "notion_db_errors")
    @classmethod
    def _read_id(cls, value: str) -> str:
        return parse_database_id(value)

    @field_validator("retry_transactional", "retry_topic", "retry_campaign")
    @classmethod
    def _read_policy(cls, value: str) -> str:
        retry.read(value)
        return value

    @field_validator("guard_bounces", "guard_complaints")
    @classmethod
    def _read_limits(cls, value: str) -> str:
        guard.read_limits(value)
        return value


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    name: str
    user: str
    password: str = field(repr=False)
    host: str
    port: str
    options: dict[str, str]


def parse_database_url(url: str) -> DatabaseAddress:
    """Parses `postgresql://user:password@host:port/name?sslmode=require`.

    Raises a ValueError whose text never repeats the address.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError("is not a valid address (is the port a number below 65536?)") from error
    if parts.scheme not in {"postgresql", "postgres"}:
        raise ValueError("must begin with postgresql:// (no other database can keep the ledger)")
    name = unquote(parts.path.removeprefix("/"))
    if not name or "/" in name:
        raise ValueError("must end with one database name, as in postgresql://host/postledger")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    return DatabaseAddress(
        name=name,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        # libpq takes the folder of a socket from the query: it does not fit the host's position.
        host=options.pop("host", "") or unquote(parts.hostname or ""),
        port=str(port or ""),
        options=options,
    )


def load() -> Env:
    """Reads the environment, and reports all invalid variables at once."""
    given = {name: _read(name.upper(), info) for name, info in Env.model_fields.items()}
    try:
        return Env.model_validate(
            {name: value for name, value in given.items() if value is not None}
        )
    except ValidationError as error:
        lines = [
            f"  {_variable(item['loc'])}: {item['msg'].removeprefix('Value error, ')}"
            for item in error.errors()
        ]
        raise BadEnvironmentError("\n".join(["Invalid environment variables:", *lines])) from None


def variables() -> dict[str, FieldInfo]:
    """All variables by their names in the environment."""
    return {_variable((name,)): info for name, info in Env.model_fields.items()}


def is_secret(info: FieldInfo) -> bool:
    return info.annotation is SecretStr


def _variable(location: tuple[int | str, ...]) -> str:
    return str(location[0]).upper()


@dataclass(frozen=True, slots=True)
class _Unreadable:
    reason: str


def _read(name: str, info: FieldInfo) -> str | _Unreadable | None:
    """A variable; a secret may also be in the file whose path is in NAME_FILE."""
    value, path = os.environ.get(name), os.environ.get(f"{name}_FILE")
    if path is None or not is_secret(info):
        return value
    if value is not None:
        return _Unreadable(f"{name} and {name}_FILE are both set")
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        return _Unreadable(f"{name}_FILE cannot be read ({type(error).__name__})")
