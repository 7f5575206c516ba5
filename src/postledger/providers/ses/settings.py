"""The settings of one account at Amazon SES."""

import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    field_validator,
    model_validator,
)

_HTTPS_PORT = 443
_HTTP_PORT = 80
_ENDPOINT_FORM = (
    "write it as https://email.eu-west-1.amazonaws.com, or http://127.0.0.1:8579 on this machine"
)
_OWN_HOST = re.compile(
    r"email(?:-fips)?\.(?P<region>[a-z0-9-]+)"
    r"\.(?:amazonaws\.com|api\.aws|amazonaws\.com\.cn|api\.amazonwebservices\.com\.cn)"
)
_LONG_TERM = "AKIA"
_KEY = re.compile(r"[!-~]*")

# Bounded: it becomes a part of a host name.
_REGION = re.compile(r"[a-z]{2,4}(?:-[a-z]{1,12}){1,3}-[0-9]{1,2}")

_CONFIGURATION_SET = re.compile(r"[A-Za-z0-9_-]{0,64}")
_IDENTITY_ARN = re.compile(r"arn:aws[a-z-]*:ses:[a-z0-9-]+:[0-9]{12}:identity/[!-~]+")


def _check_region(text: str) -> str:
    if not _REGION.fullmatch(text):
        raise ValueError("write it as AWS does, such as eu-west-1")
    return text


def _check_configuration_set(text: str) -> str:
    if not _CONFIGURATION_SET.fullmatch(text):
        raise ValueError("use up to 64 letters, digits, hyphens and underscores, such as main")
    return text


def _check_arn(text: str) -> str:
    if text and not _IDENTITY_ARN.fullmatch(text):
        raise ValueError(
            "write it as AWS does, such as arn:aws:ses:eu-west-1:123456789012:identity/acme.example"
        )
    return text


type Region = Annotated[str, AfterValidator(_check_region)]
type ConfigurationSet = Annotated[str, AfterValidator(_check_configuration_set)]
type Arn = Annotated[str, AfterValidator(_check_arn)]


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
    def is_here(self) -> bool:
        """Whether it is on this machine, and so not AWS."""
        return _is_loopback(self.host)

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
    sqs_endpoint: str = ""  # of a stand-in for SQS on this machine; empty: the public one
    connections: PositiveInt = 20
    timeouts: Timeouts = Timeouts()

    @field_validator("endpoint")
    @classmethod
    def _read_endpoint(cls, value: str) -> str:
        if value:
            parse_endpoint(value)
        return value

    @field_validator("sqs_endpoint")
    @classmethod
    def _read_sqs_endpoint(cls, value: str) -> str:
        if value and not parse_endpoint(value).is_here:
            raise ValueError("leave it out: only a stand-in for SQS on this machine has one")
        return value

    @model_validator(mode="after")
    def _match_the_region(self) -> Self:
        own = _OWN_HOST.fullmatch(self.actual_endpoint.host)
        if own and own["region"] != self.region:
            raise ValueError(
                "endpoint is that of another region: correct one of the two, or remove the"
                " endpoint, because the region has one"
            )
        return self

    @model_validator(mode="after")
    def _complete_the_keys(self) -> Self:
        secret = self.secret_access_key.get_secret_value()
        token = self.session_token.get_secret_value()
        if bool(self.access_key_id) != bool(secret):
            raise ValueError("give both access_key_id and secret_access_key, or neither")
        if token and not secret:
            raise ValueError("session_token belongs to access_key_id and secret_access_key")
        if token and self.access_key_id.startswith(_LONG_TERM):
            raise ValueError(
                f"session_token belongs to temporary keys, and an access_key_id with {_LONG_TERM}"
                " is not temporary: remove the token with --unset session_token"
            )
        if not all(map(can_be_key, (self.access_key_id, secret, token))):
            raise ValueError("keys have no spaces, line breaks or characters outside ASCII")
        return self

    @property
    def actual_endpoint(self) -> Endpoint:
        if self.endpoint:
            return parse_endpoint(self.endpoint)
        suffix = "amazonaws.com.cn" if self.region.startswith("cn-") else "amazonaws.com"
        return Endpoint(f"email.{self.region}.{suffix}", _HTTPS_PORT, is_encrypted=True)


def can_be_key(text: str) -> bool:
    """Keys become headers, and a stray line break comes easily with a copy or a file."""
    return _KEY.fullmatch(text) is not None


def parse_endpoint(text: str) -> Endpoint:
    """AWS's own, over TLS, or one of this machine; raises ValueError for any other."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError(_ENDPOINT_FORM) from None
    host, is_encrypted = parts.hostname or "", parts.scheme == "https"
    is_plain = not (parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc)
    if parts.scheme not in {"http", "https"} or not host or not is_plain or port == 0:
        raise ValueError(_ENDPOINT_FORM)
    usual = _HTTPS_PORT if is_encrypted else _HTTP_PORT
    endpoint = Endpoint(host, port or usual, is_encrypted)
    is_own = _OWN_HOST.fullmatch(host) and is_encrypted and endpoint.port == _HTTPS_PORT
    if not (is_own or endpoint.is_here):
        raise ValueError(
            "mail and credentials go to AWS only: use an endpoint of SES, such as"
            " https://email.eu-west-1.amazonaws.com, or one of this machine, such as"
            " http://127.0.0.1:8579"
        )
    return endpoint


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
