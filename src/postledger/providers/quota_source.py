"""Reads the quota of an account from a URL that a person named: one number inside a JSON text.

Providers that are talked to by SMTP have such URLs. The URL and the token may both be secret: no
error repeats them, and none repeats what was answered.
"""

import asyncio
import json
import math
import re
import ssl
from collections.abc import Sequence
from typing import NoReturn, Self
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, ConfigDict, SecretStr, field_validator, model_validator

from postledger.lib.clock import Deadline, boottime
from postledger.providers import public_addresses
from postledger.providers.base import QuotaReading, QuotaUnreadError
from postledger.providers.http.exchange import Break, Exchange, Stage
from postledger.providers.http.messages import Answer, Request
from postledger.providers.http.pool import NoConnectionError, Origin, Pool
from postledger.providers.public_addresses import ForbiddenAddressError

SECONDS = 10.0  # for all of a reading
# Far beyond any quota, and exact wherever numbers are doubles.
MOST = 10**15
_OK = 200
_REDIRECTS = range(300, 400)
_URL = re.compile(r"[!-~]{1,2000}")
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
        async with asyncio.timeout(seconds):
            answer = await _fetch(source, seconds)
    except TimeoutError:
        _fail(source, f"did not answer within {seconds:g} seconds")
    except ForbiddenAddressError:
        raise QuotaUnreadError(
            f"The host of the quota's URL, {source.address.hostname}, is inside a network, and only"
            " public addresses are asked: use another URL."
        ) from None
    except OSError:
        _fail(source, "is not known or cannot be reached")
    return QuotaReading(find_number(answer.body, source.path))


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


async def _fetch(source: QuotaSource, seconds: float) -> Answer:
    parts = source.address
    host, port = parts.hostname or "", _find_port(parts)
    addresses = await public_addresses.find_addresses(host, port)
    context = await asyncio.to_thread(_trust) if parts.scheme == "https" else None
    answer = await _ask([Origin(host, port, context, each) for each in addresses], source, seconds)
    if isinstance(answer, Break):
        _fail(source, f"gave no answer: {answer.detail}")
    if answer.status in _REDIRECTS:
        _fail(source, f"answers with a redirect ({answer.status}), which is not followed")
    if answer.status != _OK:
        _fail(source, f"answers with the status {answer.status}")
    return answer


async def _ask(origins: Sequence[Origin], source: QuotaSource, seconds: float) -> Answer | Break:
    """Asks at the first address that takes a connection."""
    end_by = Deadline(boottime() + seconds, boottime)
    broken = Break(Stage.CONNECT, "connect", "no address")
    for origin in origins:
        pool = Pool(origin, size=1)
        try:
            connection = await pool.connect(end_by.loop_time())
        except NoConnectionError as error:
            broken = error.broken
            continue
        until = end_by.loop_time()
        try:
            request = _write_request(source)
            return await Exchange(connection, request, end_by=end_by, answer_until=until).run()
        finally:
            connection.close()
    return broken


def _write_request(source: QuotaSource) -> Request:
    parts, token = source.address, source.token.get_secret_value()
    headers = [("Host", parts.netloc), ("Accept", "application/json"), ("Connection", "close")]
    if token and source.header:
        headers.append((source.header, token))
    elif token:
        headers.append(("Authorization", f"Bearer {token}"))
    target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
    return Request("GET", target, headers, b"")


def _split(url: str) -> SplitResult:
    """Raises ValueError for a URL that is not fetched: the token goes over TLS, or stays here."""
    if not _URL.fullmatch(url):
        raise ValueError(_FORM)
    try:
        parts = urlsplit(url)
        is_usable = parts.port != 0
    except ValueError:
        raise ValueError(_FORM) from None
    host = parts.hostname
    if not host or not is_usable or "@" in parts.netloc or parts.fragment:
        raise ValueError(_FORM)
    if parts.scheme != "https" and not (parts.scheme == "http" and public_addresses.is_here(host)):
        raise ValueError(_FORM)
    return parts


def _find_port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _trust() -> ssl.SSLContext:
    """In a thread: the trusted authorities take long to load."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _fail(source: QuotaSource, trouble: str) -> NoReturn:
    raise QuotaUnreadError(
        f"The host of the quota's URL, {source.address.hostname}, {trouble}."
    ) from None
