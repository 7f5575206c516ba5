"""Keeps each API key to its rate: counted in Redis for all processes, else in this one.

Without Redis every process counts for itself, so a key may get its rate once from each of them:
less exact, but never unlimited, and no request fails or waits for it.
"""

import math
from dataclasses import dataclass
from functools import cache
from threading import Lock
from time import monotonic, time
from typing import ClassVar

import limits
import structlog
from django.conf import settings
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import RateLimiter, SlidingWindowCounterRateLimiter
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from postledger.lib.errors import RefusedError

_PATIENCE = 0.1  # seconds; more than Redis ever needs, less than anybody notices
_BACK_OFF = 5.0  # seconds without Redis after it failed: of many requests one waits for it
# High rates are drawn in blocks of a hundredth, so that a busy process asks Redis a hundred times
# and not ten thousand times a second. A block outlives its window by one window at most, so a
# process may let through a hundredth more.
_BLOCKS = 100

_log = structlog.get_logger(__name__)


class RateExceededError(RefusedError):
    code: ClassVar[str] = "rate_exceeded"

    def __init__(self, rate: str, retry_after: int) -> None:
        super().__init__(
            f"The requests of this key, {rate}, are used up. Wait {retry_after} s, then go on."
        )
        self.retry_after = retry_after


@dataclass(slots=True)
class _Block:
    """Requests that one key may still make without asking, until a moment."""

    left: int
    until: float


class Throttle:
    """One rate for every key; safe to use from many threads."""

    def __init__(self, rate: str, redis_url: str) -> None:
        self._rate = limits.parse(rate)
        self._block_size = max(1, self._rate.amount // _BLOCKS)
        self._blocks: dict[int, _Block] = {}
        self._lock = Lock()
        self._shared = SlidingWindowCounterRateLimiter(
            RedisStorage(
                redis_url.replace("unix://", "redis+unix://", 1),
                key_prefix="postledger:api",
                socket_timeout=_PATIENCE,
                socket_connect_timeout=_PATIENCE,
                retry=Retry(NoBackoff(), 0),  # type: ignore[arg-type]  # passed on to Redis as it is
            )
        )
        self._own = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._back_at = 0.0

    def take(self, key_id: int) -> None:
        """Counts one request of a key, or refuses it; at most one question to Redis."""
        if not self._has_drawn(key_id):
            self._draw(key_id)

    def _has_drawn(self, key_id: int) -> bool:
        if self._block_size == 1:
            return False
        with self._lock:
            block = self._blocks.get(key_id)
            if block is None or not block.left or block.until < monotonic():
                return False
            block.left -= 1
            return True

    def _draw(self, key_id: int) -> None:
        if monotonic() >= self._back_at:
            try:
                return self._draw_from(self._shared, key_id)
            except RedisError as error:
                self._back_at = monotonic() + _BACK_OFF
                _log.warning("throttle_without_redis", error=error, seconds=_BACK_OFF)
        return self._draw_from(self._own, key_id)

    def _draw_from(self, limiter: RateLimiter, key_id: int) -> None:
        for size in sorted({self._block_size, 1}, reverse=True):
            if limiter.hit(self._rate, str(key_id), cost=size):
                if size > 1:
                    block = _Block(size - 1, monotonic() + self._rate.get_expiry())
                    with self._lock:
                        self._blocks[key_id] = block
                return
        reset_at = limiter.get_window_stats(self._rate, str(key_id)).reset_time
        raise RateExceededError(str(self._rate), max(1, math.ceil(reset_at - time())))


@cache
def throttle() -> Throttle:
    """The one of this process."""
    return Throttle(settings.API_RATE, settings.REDIS_URL)
