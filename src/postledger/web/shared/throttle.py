"""Rate limits for API keys and for the networks that visit public pages.

Redis counts for all processes. Without it every process counts for itself: less exact, but never
unlimited, and no request fails or waits because of it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from ipaddress import IPv6Address, ip_address, ip_network
from threading import Lock
from time import monotonic, time
from typing import Any, NoReturn

import limits
import structlog
from django.conf import settings
from django.utils.translation import ngettext
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import RateLimiter, SlidingWindowCounterRateLimiter
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from postledger.lib.errors import TooManyRequestsError

_TIMEOUT = 0.1  # seconds; more than Redis ever needs, less than anybody notices
_BACK_OFF = 5.0  # seconds without Redis after it failed: of many requests one waits for it
# A high rate is taken in blocks of a hundredth, so that a busy process asks Redis a hundred times
# and not ten thousand times a second. A block outlives its window by one window at most, so a
# process may let through a hundredth more.
_BLOCKS = 100
_LONGEST_IP = 64

_log = structlog.get_logger(__name__)


class RateExceededError(TooManyRequestsError):
    code = "rate_exceeded"

    def __init__(self, rate: str, retry_after: int) -> None:
        super().__init__(
            f"The limit of {rate} is exceeded. Wait {retry_after} seconds and try again."
        )
        self.retry_after = retry_after


@dataclass(slots=True)
class _Block:
    """Requests that one caller may still make without asking Redis, until a moment."""

    left: int
    until: float


class Throttle:
    """One rate for every caller; safe for threads."""

    def __init__(self, rate: str, redis_url: str) -> None:
        self._rate = limits.parse(rate)
        self._block_size = max(1, self._rate.amount // _BLOCKS)
        self._blocks: dict[int, _Block] = {}
        self._lock = Lock()
        self._shared = SlidingWindowCounterRateLimiter(
            RedisStorage(
                redis_url.replace("unix://", "redis+unix://", 1),
                key_prefix="postledger:api",
                socket_timeout=_TIMEOUT,
                socket_connect_timeout=_TIMEOUT,
                retry=Retry(NoBackoff(), 0),  # type: ignore[arg-type]  # passed on to Redis as it is
            )
        )
        self._own = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._back_at = 0.0

    def take(self, caller_id: int) -> None:
        """Counts one request of a caller, or refuses it; asks Redis at most once."""
        if not self._take_from_block(caller_id):
            self._draw(caller_id)

    def check(self, caller_id: int) -> None:
        """Refuses a caller who has used up the rate; counts nothing."""
        if monotonic() >= self._back_at:
            try:
                return self._check_with(self._shared, caller_id)
            except RedisError as error:
                self._back_off(error)
        return self._check_with(self._own, caller_id)

    def _check_with(self, limiter: RateLimiter, caller_id: int) -> None:
        if not limiter.test(self._rate, str(caller_id)):
            self._refuse(limiter, caller_id)

    def _take_from_block(self, caller_id: int) -> bool:
        if self._block_size == 1:
            return False
        with self._lock:
            block = self._blocks.get(caller_id)
            if block is None or not block.left or block.until < monotonic():
                return False
            block.left -= 1
            return True

    def _draw(self, caller_id: int) -> None:
        if monotonic() >= self._back_at:
            try:
                return self._draw_from(self._shared, caller_id)
            except RedisError as error:
                self._back_off(error)
        return self._draw_from(self._own, caller_id)

    def _back_off(self, error: RedisError) -> None:
        self._back_at = monotonic() + _BACK_OFF
        _log.warning("throttle_without_redis", error=error, seconds=_BACK_OFF)

    def _draw_from(self, limiter: RateLimiter, caller_id: int) -> None:
        for size in sorted({self._block_size, 1}, reverse=True):
            if limiter.hit(self._rate, str(caller_id), cost=size):
                if size > 1:
                    block = _Block(size - 1, monotonic() + self._rate.get_expiry())
                    with self._lock:
                        self._blocks[caller_id] = block
                return
        self._refuse(limiter, caller_id)

    def _refuse(self, limiter: RateLimiter, caller_id: int) -> NoReturn:
        reset_at = limiter.get_window_stats(self._rate, str(caller_id)).reset_time
        raise RateExceededError(str(self._rate), max(1, math.ceil(reset_at - time())))


@cache
def _throttle(rate: str, redis_url: str) -> Throttle:
    return Throttle(rate, redis_url)


def with_rate(rate: str) -> Throttle:
    """The throttle of this process for a rate such as 10/second."""
    return _throttle(rate, settings.REDIS_URL)


def count_visit(rate: str, *parts: str) -> None:
    """Counts one visit of the visitor whom the parts name, or refuses it.

    Redis sees only a hash of the parts.
    """
    with_rate(rate).take(_visitor_id(parts))


def check_visits(rate: str, *parts: str) -> None:
    """Refuses the visitor whom the parts name after too many visits; counts nothing."""
    with_rate(rate).check(_visitor_id(parts))


def describe_wait(trouble: str, seconds: float) -> str:
    """What a page says to those who have to wait: what there was too much of, and how long."""
    minutes = max(1, math.ceil(seconds / 60))
    wait = ngettext(
        "Try again in %(minutes)s minute.", "Try again in %(minutes)s minutes.", minutes
    )
    return f"{trouble} {wait % {'minutes': minutes}}"


def _visitor_id(parts: tuple[str, ...]) -> int:
    digest = sha256("\0".join(("public", *parts)).encode()).digest()
    return int.from_bytes(digest[:12])


def client_ip(meta: Mapping[str, Any]) -> str | None:
    """The IP address behind the trusted proxies; None if the server listens on a socket."""
    hops, trusted = forwarded_addresses(meta), settings.PROXY_COUNT
    # Each proxy appends the address that it saw; the client may have written those further left.
    forwarded = hops[-trusted] if 0 < trusted <= len(hops) else ""
    return _parse_ip(forwarded) or _parse_ip(str(meta.get("REMOTE_ADDR", "")))


def forwarded_addresses(meta: Mapping[str, Any]) -> list[str]:
    """The addresses in X-Forwarded-For, the client's first."""
    header = meta.get("HTTP_X_FORWARDED_FOR", "")
    return [hop.strip() for hop in header.split(",")] if header else []


def client_network(meta: Mapping[str, Any]) -> str:
    return network_of(client_ip(meta))


def network_of(ip: str | None) -> str:
    """The network that counts as one visitor: a /64 for IPv6, the address itself for IPv4."""
    if ip is None or ":" not in ip:
        return ip or "unknown"
    return str(ip_network((ip, 64), strict=False))


def _parse_ip(text: str) -> str | None:
    return _parse_short_ip(text) if 0 < len(text) <= _LONGEST_IP else None


# Every request asks, most of them for few addresses.
@lru_cache(maxsize=1_000)
def _parse_short_ip(text: str) -> str | None:
    try:
        ip = ip_address(text)
    except ValueError:
        return None
    if isinstance(ip, IPv6Address):
        # Without the zone: it names an interface of this machine, and no database stores it.
        return str(ip.ipv4_mapped or IPv6Address(int(ip)))
    return str(ip)
