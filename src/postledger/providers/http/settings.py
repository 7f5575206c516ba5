"""The settings that accounts at all services of HTTP have."""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, model_validator

from postledger.lib.sentences import say
from postledger.providers import public_addresses

HTTPS_PORT = 443
_HTTP_PORT = 80
_KEY = re.compile(r"[!-~]*")


@dataclass(frozen=True, slots=True)
class Endpoint:
    host: str
    port: int
    is_encrypted: bool

    @property
    def authority(self) -> str:
        """The host as the header Host names it: with its port where that is not the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = HTTPS_PORT if self.is_encrypted else _HTTP_PORT
        return host if self.port == usual else f"{host}:{self.port}"

    @property
    def is_here(self) -> bool:
        """Whether it is on this machine, and so not the service itself."""
        return public_addresses.is_here(self.host)

    @property
    def url(self) -> str:
        return f"{'https' if self.is_encrypted else 'http'}://{self.authority}"


def parse_endpoint(text: str) -> Endpoint | None:
    """None if it is not a URL of a scheme and a host alone, with or without a port."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    host, is_encrypted = parts.hostname or "", parts.scheme == "https"
    is_plain = not (parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc)
    if parts.scheme not in {"http", "https"} or not host or not is_plain or port == 0:
        return None
    return Endpoint(host, port or (HTTPS_PORT if is_encrypted else _HTTP_PORT), is_encrypted)


class Timeouts(BaseModel):
    """Seconds of one call; each includes those before it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    connect: PositiveFloat = 5.0
    request: PositiveFloat = 20.0  # to the last byte of the request
    call: float = Field(default=30.0, gt=0, le=30)  # to the last byte of the answer

    @model_validator(mode="after")
    def _leave_time_for_the_answer(self) -> Self:
        if not self.connect <= self.request < self.call:
            raise ValueError(say("connect is at most request, and request is less than call"))
        return self

    @property
    def answer(self) -> float:
        """So much is left for the answer at the least."""
        return self.call - self.request


class HttpSettings(BaseModel, ABC):
    model_config = ConfigDict(frozen=True, extra="forbid")

    endpoint: str = ""  # empty: the public one
    connections: int = Field(default=20, ge=1, le=100)
    timeouts: Timeouts = Timeouts()

    @property
    @abstractmethod
    def actual_endpoint(self) -> Endpoint: ...


def can_be_key(text: str) -> bool:
    """Keys become headers, and a stray line break comes easily with a copy or a file."""
    return _KEY.fullmatch(text) is not None
