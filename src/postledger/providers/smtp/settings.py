"""The settings of one SMTP account."""

import re
import socket
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    model_validator,
)

from postledger.lib.sentences import say

_WORD = re.compile(r"[A-Za-z0-9.:_-]{1,253}|\[[A-Za-z0-9.:]{1,100}\]")

_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_SELECTOR = re.compile(rf"{_LABEL}(?:\.{_LABEL}){{0,3}}")


class Tls(StrEnum):
    NONE = "none"  # in the open
    STARTTLS = "starttls"  # opened in the open, then encrypted; never without
    IMPLICIT = "implicit"  # encrypted from the first byte


PORTS = {Tls.NONE: 25, Tls.STARTTLS: 587, Tls.IMPLICIT: 465}


def _check_host(value: str) -> str:
    if _has_port(value):
        raise ValueError(
            say("write the name without its port, as smtp.example.com: the port is given apart")
        )
    try:
        value.encode("idna")  # as the resolver does, which raises for an empty or too long label
    except UnicodeError:
        is_name = False
    else:
        is_name = _WORD.fullmatch(value) is not None
    if not is_name:
        raise ValueError(
            say("this is not the name or the address of a host: write it as smtp.example.com")
        )
    return value


def _has_port(value: str) -> bool:
    """Whether a port follows a name, or an IPv6 address in brackets; without these, it is part of
    the address.
    """
    name, colon, port = value.rpartition(":")
    return bool(colon) and port.isdecimal() and (":" not in name or name.endswith("]"))


def _own_name() -> str:
    name = socket.gethostname()
    return name if _WORD.fullmatch(name) else "[127.0.0.1]"


def _check_selector(value: str) -> str:
    if value and not _SELECTOR.fullmatch(value):
        raise ValueError(
            say("this is no selector: use letters, digits, hyphens and dots, such as mail2026")
        )
    return value


type Selector = Annotated[str, AfterValidator(_check_selector)]
type Host = Annotated[str, AfterValidator(_check_host)]


class Timeouts(BaseModel):
    """Seconds for each phase; a shorter wait for the answer would only manufacture doubt."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    connect: PositiveFloat = 30.0  # TCP, TLS, greeting
    command: PositiveFloat = 30.0  # each command's reply
    body: PositiveFloat = 30.0  # each 64 KiB of a large body
    answer: PositiveFloat = 600.0  # after the final dot
    quit: PositiveFloat = 5.0


class SmtpSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    host: Host
    port: int = Field(default=0, ge=0, le=65535)  # 0: the usual port of the TLS mode
    tls: Tls = Tls.STARTTLS
    ca_file: Path | None = None  # trusted instead of the system's authorities
    public_only: bool = False  # a host inside a network is not connected to
    username: str = ""
    password: SecretStr = SecretStr("")
    ehlo_name: Host = Field(default_factory=_own_name)
    connections: int = Field(default=10, ge=1, le=100)
    dkim_selector: Selector = ""  # under which it publishes its key; empty: not known
    messages_per_connection: PositiveInt = 100
    idle_check: float = Field(default=10.0, ge=0)  # idle longer than this: ask with NOOP first
    idle_limit: PositiveFloat = 60.0  # idle longer than this: closed
    timeouts: Timeouts = Timeouts()

    @property
    def actual_port(self) -> int:
        return self.port or PORTS[self.tls]

    @model_validator(mode="after")
    def _keep_the_password_secret(self) -> Self:
        if "\0" in self.username + self.password.get_secret_value():
            raise ValueError(say("username and password must not contain NUL"))
        if self.username and self.tls is Tls.NONE and not _is_loopback(self.host):
            raise ValueError(say("a password is not sent in the open: choose starttls or implicit"))
        return self


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
