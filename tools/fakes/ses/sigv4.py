"""Verifies AWS Signature Version 4, as the gate before SES and SNS does.

Written from AWS's description and not with botocore, so that both check each other.
The requests of one client and second differ in their body and signature alone, so the other
decisions, which are pure, are remembered.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from urllib.parse import quote, unquote_plus

from tools.fakes.http.exchanges import Request
from tools.fakes.ses.errors import SesError

ALGORITHM = "AWS4-HMAC-SHA256"
TOLERANCE = timedelta(minutes=15)
_TIME = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True, slots=True)
class Credential:
    """A secret key; that of a session has a token, and ends."""

    secret_key: str
    session_token: str = ""
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Authorization:
    access_key_id: str
    scope: str  # date/region/service/aws4_request
    signed_headers: tuple[str, ...]


def verify(
    request: Request,
    credentials: Mapping[str, Credential],
    region: str,
    now: datetime,
    service: str = "ses",
) -> str:
    """The access key id that signed the request; any fault of the signature is a SesError."""
    given, _, signature = request.headers.get("authorization", "").rpartition(", Signature=")
    if signature and not given:
        raise SesError("IncompleteSignatureException")
    authorization = _parse(given)
    credential = credentials.get(authorization.access_key_id)
    if credential is None:
        raise SesError("UnrecognizedClientException")
    _check_token(request.headers.get("x-amz-security-token", ""), credential, now)
    signed_at = _check_time(request.headers.get("x-amz-date", ""), now)
    _check_scope(authorization.scope, signed_at, region, service)
    _check_signed_headers(tuple(request.headers), authorization.signed_headers)
    expected = sign(request, authorization.signed_headers, credential, authorization.scope)
    if not hmac.compare_digest(expected, signature):
        raise SesError("InvalidSignatureException")
    return authorization.access_key_id


def sign(
    request: Request, signed_headers: tuple[str, ...], credential: Credential, scope: str
) -> str:
    digest = hashlib.sha256(_canonical_request(request, signed_headers).encode()).hexdigest()
    text = f"{ALGORITHM}\n{request.headers['x-amz-date']}\n{scope}\n{digest}"
    return hmac.digest(_signing_key(credential.secret_key, scope), text.encode(), "sha256").hex()


@lru_cache(maxsize=64)
def _parse(given: str) -> _Authorization:
    """Reads the Authorization header without its signature."""
    if not given:
        raise SesError("MissingAuthenticationTokenException")
    algorithm, _, remainder = given.partition(" ")
    parts = {
        name.strip(): value
        for name, _, value in (part.partition("=") for part in remainder.split(","))
    }
    key, _, scope = parts.get("Credential", "").partition("/")
    names = tuple(parts.get("SignedHeaders", "").split(";"))
    if algorithm != ALGORITHM or not key or not names[0]:
        raise SesError("IncompleteSignatureException")
    return _Authorization(key, scope, names)


def _check_token(token: str, credential: Credential, now: datetime) -> None:
    if not hmac.compare_digest(token.encode(), credential.session_token.encode()):
        raise SesError("UnrecognizedClientException")
    if credential.expires_at is not None and credential.expires_at <= now:
        raise SesError("ExpiredTokenException")


def _check_time(text: str, now: datetime) -> str:
    """The day of a signature that is not more than 15 minutes old or early."""
    signed_at = _parse_time(text)
    if signed_at is None:
        raise SesError("IncompleteSignatureException", "X-Amz-Date is missing or not a date.")
    if signed_at < now - TOLERANCE:
        earliest = (now - TOLERANCE).strftime(_TIME)
        message = f"Signature expired: {text} is now earlier than {earliest}"
        raise SesError("InvalidSignatureException", message)
    if signed_at > now + TOLERANCE:
        latest = (now + TOLERANCE).strftime(_TIME)
        message = f"Signature not yet current: {text} is still later than {latest}"
        raise SesError("InvalidSignatureException", message)
    return text[:8]


@lru_cache(maxsize=64)
def _parse_time(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None


@lru_cache(maxsize=64)
def _check_scope(scope: str, day: str, region: str, service: str) -> None:
    given_day, given_region, given_service, end = [*scope.split("/"), "", "", "", ""][:4]
    message = ""
    if given_region != region:
        message = "Credential should be scoped to a valid region. "
    elif given_service != service:
        message = f"Credential should be scoped to correct service: '{service}'. "
    elif end != "aws4_request":
        message = "Credential should be scoped with a valid terminator: 'aws4_request'. "
    elif given_day != day:
        message = f"Date in Credential scope does not match YYYYMMDD from ISO-8601: {given_day}"
    if message:
        raise SesError("InvalidSignatureException", message)


@lru_cache(maxsize=64)
def _check_signed_headers(headers: tuple[str, ...], signed: tuple[str, ...]) -> None:
    required = {"host", *(name for name in headers if name.startswith("x-amz-"))}
    missing = sorted(required.difference(signed)) or [
        name for name in signed if name not in headers
    ]
    if missing:
        raise SesError(
            "InvalidSignatureException",
            f"'{missing[0]}' must be a header that was sent and a 'SignedHeader' in the AWS"
            " Authorization.",
        )


def _canonical_request(request: Request, signed_headers: tuple[str, ...]) -> str:
    headers = "".join(
        f"{name}:{' '.join(request.headers[name].split())}\n" for name in signed_headers
    )
    return "\n".join(
        (
            request.method,
            _canonical_target(request.target),
            headers,
            ";".join(signed_headers),
            hashlib.sha256(request.body).hexdigest(),
        )
    )


@lru_cache(maxsize=64)
def _canonical_target(target: str) -> str:
    path, _, query = target.partition("?")
    # All services but S3 encode the path twice; once it came encoded.
    return f"{quote(path, safe='/~')}\n{_canonical_query(query)}"


def _canonical_query(query: str) -> str:
    pairs = (part.partition("=") for part in query.split("&") if part)
    encoded = ((_encode(name), _encode(value)) for name, _, value in pairs)
    return "&".join(f"{name}={value}" for name, value in sorted(encoded))


def _encode(text: str) -> str:
    return quote(unquote_plus(text), safe="~")


@lru_cache(maxsize=64)
def _signing_key(secret_key: str, scope: str) -> bytes:
    key = f"AWS4{secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key
