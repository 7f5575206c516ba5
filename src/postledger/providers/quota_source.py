"""Reads the quota of an account from a URL that a person named: one number inside a JSON text.

Providers that are talked to by SMTP have such URLs. The URL and the token may both be secret: no
error repeats them, and none repeats what was answered.
"""

import json
import math
import re
from typing import Self
from urllib.parse import SplitResult

from pydantic import BaseModel, ConfigDict, SecretStr, field_validator, model_validator

from postledger.providers import public_addresses, url_reading
from postledger.providers.base import QuotaReading, QuotaUnreadError
from postledger.providers.public_addresses import ForbiddenAddressError
from postledger.providers.url_reading import UrlUnreadError

SECONDS = 10.0  # for all of a reading
# Far beyond any quota, and exact wherever numbers are doubles.
MOST = 10**15
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_TOKEN = re.compile(r"(?:[!-~](?:[ -~]{0,4000}[!-~])?)?")
_PATH = re.compile(r"[^.\x00-\x1f]{1,100}(?:\.[^.\x00-\x1f]{1,100}){0,19}")
_FORM = (
    "write it as https://api.example.com/v1/credits, or http://127.0.0.1:8080/credits on this"
    " machine"
)


class QuotaSource(BaseModel):
    """Where the quota of an account is read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: SecretStr  # services take keys in it, too
    path: str  # to the number, such as data.credits.0.left
    header: str = ""  # which has the token as it is; empty: Authorization, as a bearer's
    token: SecretStr = SecretStr("")

    @field_validator("url")
    @classmethod
    def _check_url(cls, value: SecretStr) -> SecretStr:
        _split(value.get_secret_value())
        return value

    @field_validator("path")
    @classmethod
    def _check_path(cls, value: str) -> str:
        if not _PATH.fullmatch(value):
            raise ValueError("write names and indexes with dots, such as data.credits.0.left")
        return value

    @field_validator("header")
    @classmethod
    def _check_header(cls, value: str) -> str:
        if value and not _HEADER.fullmatch(value):
            raise ValueError("use the name of a header, such as X-Api-Key")
        return value

    @model_validator(mode="after")
    def _check_token(self) -> Self:
        token = self.token.get_secret_value()
        if not _TOKEN.fullmatch(token):
            raise ValueError("the token has a line break or a character that headers cannot have")
        if self.header and not token:
            raise ValueError("the header needs a token: give it with --secret token=FILE")
        return self

    @property
    def address(self) -> SplitResult:
        return _split(self.url.get_secret_value())


async def read_quota(source: QuotaSource, *, seconds: float = SECONDS) -> QuotaReading:
    """Asks the URL once, and follows no redirect; raises QuotaUnreadError."""
    try:
        body = await url_reading.read_url(
            source.address,
            _write_token(source),
            find_addresses=public_addresses.find_addresses,
            seconds=seconds,
        )
    except ForbiddenAddressError:
        raise QuotaUnreadError(
            f"The host of the quota's URL, {source.address.hostname}, is inside a network, and only"
            " public addresses are asked: use another URL."
        ) from None
    except UrlUnreadError as error:
        raise QuotaUnreadError(
            f"The host of the quota's URL, {source.address.hostname}, {error}."
        ) from None
    return QuotaReading(find_number(body, source.path))


def find_number(body: bytes, path: str) -> int:
    """The number at a path of dotted names and list indexes; raises QuotaUnreadError."""
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        raise QuotaUnreadError("The quota's URL did not answer with JSON.") from None
    for step in path.split("."):
        value = _enter(value, step, path)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < math.inf:
        raise QuotaUnreadError(
            f"The answer of the quota's URL has no number of at least 0 at {path}: correct --path."
        )
    return min(int(value), MOST)


def _enter(value: object, step: str, path: str) -> object:
    if isinstance(value, dict) and step in value:
        return value[step]
    if isinstance(value, list) and step.isascii() and step.isdigit() and len(step) < 10:  # noqa: PLR2004  digits of an index
        index = int(step)
        if index < len(value):
            return value[index]
    raise QuotaUnreadError(f"The answer of the quota's URL has no {path}: correct --path.")


def _write_token(source: QuotaSource) -> list[tuple[str, str]]:
    token = source.token.get_secret_value()
    if not token:
        return []
    return [(source.header, token) if source.header else ("Authorization", f"Bearer {token}")]


def _split(url: str) -> SplitResult:
    """Raises ValueError for a URL that is not fetched: the token goes over TLS, or stays here."""
    try:
        parts = url_reading.split_url(url)
    except ValueError:
        raise ValueError(_FORM) from None
    if parts.scheme != "https" and not public_addresses.is_here(parts.hostname or ""):
        raise ValueError(_FORM)
    return parts
