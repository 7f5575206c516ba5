"""The settings of one account at Amazon SES."""

import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    StringConstraints,
    field_validator,
    model_validator,
)

_HTTPS_PORT = 443
_HTTP_PORT = 80
_OWN_HOST = re.compile(
    r"email(?:-fips)?\.(?P<region>[a-z0-9-]+)"
    r"\.(?:amazonaws\.com|api\.aws|amazonaws\.com\.cn|api\.amazonwebservices\.com\.cn)"
)
_HEADER_VALUE = re.compile(r"[!-~]*")

type Region = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,4}(-[a-z]+)+-[0-9]{1,2}$")]
type ConfigurationSet = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{0,64}$")]
type Arn = Annotated[
    str, StringConstraints(pattern=r"^(arn:aws[a-z-]*:ses:[a-z0-9-]+:[0-9]{12}:identity/[!-~]+)?$")
]


@dataclass(frozen=True, slots=True)
class Endpoint:
    host: str
    port: int
    is_encrypted: bool

    @property
    def authority(self) -> str:
        """The host as the header Host names it: with its port where that is not the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = _HTTPS_PORT if self.is_encrypted else _HTTP_PORT
        return host if self.port == usual else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{'https' if self.is_encrypted else 'http'}://{self.authority}"


class Timeouts(BaseModel):
    """Seconds of one call; each includes those before it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    connect: PositiveFloat = 5.0
    request: PositiveFloat = 20.0  # to the last byte of the request
    call: float = Field(default=30.0, gt=0, le=30)  # to the last byte of the answer

    @model_validator(mode="after")
    def _leave_time_for_the_answer(self) -> Self:
        if not self.connect <= self.request < self.call:
            raise ValueError("connect is at most request, and request is less than call")
        return self


class SesSettings(BaseModel):
    """Without keys of its own the account uses the credentials of the machine."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    region: Region
    access_key_id: str = ""
    secret_access_key: SecretStr = SecretStr("")
    session_token: SecretStr = SecretStr("")
    configuration_set: ConfigurationSet = ""
    from_identity_arn: Arn = ""  # of an identity that another AWS account lets us use
    endpoint: str = ""  # empty: the public one of the region
    connections: PositiveInt = 20
    timeouts: Timeouts = Timeouts()

    @field_validator("endpoint")
    @classmethod
    def _read_endpoint(cls, value: str) -> str:
        if value:
            parse_endpoint(value)
        return value

    @model_validator(mode="after")
    def _match_the_region(self) -> Self:
        own = _OWN_HOST.fullmatch(self.actual_endpoint.host)
        if own and own["region"] != self.region:
            raise ValueError("endpoint is that of another region")
        return self

    @model_validator(mode="after")
    def _complete_the_keys(self) -> Self:
        secret = self.secret_access_key.get_secret_value()
        token = self.session_token.get_secret_value()
        if bool(self.access_key_id) != bool(secret):
            raise ValueError("give both access_key_id and secret_access_key, or neither")
        if token and not secret:
            raise ValueError("session_token belongs to access_key_id and secret_access_key")
        if not all(_HEADER_VALUE.fullmatch(text) for text in (self.access_key_id, secret, token)):
            raise ValueError("keys have no spaces, line breaks or characters outside ASCII")
        return self

    @property
    def actual_endpoint(self) -> Endpoint:
        if self.endpoint:
            return parse_endpoint(self.endpoint)
        suffix = "amazonaws.com.cn" if self.region.startswith("cn-") else "amazonaws.com"
        return Endpoint(f"email.{self.region}.{suffix}", _HTTPS_PORT, is_encrypted=True)


def parse_endpoint(text: str) -> Endpoint:
    """AWS's own, over TLS, or one of this machine; raises ValueError for any other."""
    parts = urlsplit(text)
    host, is_encrypted = parts.hostname or "", parts.scheme == "https"
    is_plain = not (parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc)
    if parts.scheme not in {"http", "https"} or not host or not is_plain:
        raise ValueError("write it as https://HOST, or http://127.0.0.1:PORT on this machine")
    usual = _HTTPS_PORT if is_encrypted else _HTTP_PORT
    endpoint = Endpoint(host, parts.port or usual, is_encrypted)
    is_own = _OWN_HOST.fullmatch(host) and is_encrypted and endpoint.port == _HTTPS_PORT
    if not (is_own or _is_loopback(host)):
        raise ValueError(
            "mail and credentials go to AWS only: use an endpoint of SES with https,"
            " or one of this machine"
        )
    return endpoint


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
