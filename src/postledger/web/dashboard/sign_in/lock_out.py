"""How long somebody has to wait after too many attempts, and how many are left before that."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from allauth.core.internal import ratelimit
from django.core.cache import cache
from django.http import HttpRequest

FAILURES = "login_failed"
_APP = "allauth.account"


@dataclass(frozen=True, slots=True)
class Standing:
    """What one of allauth's limits has counted for somebody."""

    left: int
    wait: float  # seconds until one more attempt is allowed; 0 while one is
    rest: float  # seconds that the limit counts back


def find_wait(request: HttpRequest, action: str, *keys: str) -> float:
    """Seconds until the action is allowed again; 0 if it is allowed now."""
    standings = [standing for key in keys or (None,) for standing in _read(request, action, key)]
    return max((standing.wait for standing in standings), default=0.0)


def find_standing(request: HttpRequest, action: str, key: str) -> Standing:
    """The limit that comes first."""
    return min(_read(request, action, key), key=lambda standing: standing.left)


def take(request: HttpRequest, action: str, key: str) -> bool:
    """Counts one attempt; False if there were too many before it."""
    return ratelimit.consume(request, app=_APP, action=action, key=key) is not None


def forget(request: HttpRequest, action: str, key: str) -> None:
    """Ends the wait for one key; what a network has done stays counted."""
    for rate in ratelimit.get_rates(app=_APP, action=action):
        if rate.per == "key":
            cache.delete(_cache_key(request, action, rate, key))


def _read(request: HttpRequest, action: str, key: str | None) -> Iterator[Standing]:
    now = time.time()
    for rate in ratelimit.get_rates(app=_APP, action=action):
        if (rate.per == "user" and not request.user.is_authenticated) or (
            rate.per == "key" and key is None
        ):
            continue
        history: list[float] = cache.get(_cache_key(request, action, rate, key), [])
        moments = [moment for moment in history if moment > now - rate.duration]
        left = max(0, rate.amount - len(moments))
        # The newest come first; the one that has to be forgotten is the amount-th.
        wait = 0.0 if left else moments[rate.amount - 1] + rate.duration - now
        yield Standing(left, wait, rate.duration)


def _cache_key(request: HttpRequest, action: str, rate: ratelimit.Rate, key: str | None) -> str:
    return str(ratelimit.get_cache_key(request, app=_APP, action=action, rate=rate, key=key))
