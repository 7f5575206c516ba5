"""Limits guesses of API keys and passwords: of one network, and of all together.

A credential that was right within a month is never limited, so strangers who guess do not lock its
owner out. Redis remembers such credentials for all processes, as hashes that need our secret.
"""

import hmac
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from typing import Final

from django.conf import settings
from redis import Redis
from redis.exceptions import RedisError

from postledger.web.shared import throttle
from postledger.web.shared.throttle import RateExceededError

_MOST_REMEMBERED = 10_000
_REMEMBERED_SECONDS = 30 * 86_400
_TIMEOUT = 0.1  # seconds


class GuessLimit:
    """The wrong credentials of one kind; safe for threads. The rates are settings."""

    def __init__(self, kind: str, *, of_one: str, of_all: str) -> None:
        self._kind = kind
        self._of_one = of_one
        self._of_all = of_all
        self._right: set[bytes] = set()

    def check(self, credential: str, network: str) -> None:
        """Refuses an unfamiliar credential after too many wrong ones; asks no database."""
        if self.is_familiar(credential):
            return
        try:
            for rate, *parts in self._limits(network):
                throttle.check_visits(rate, *parts)
        except RateExceededError:
            if not self._is_remembered(credential):
                raise

    def is_familiar(self, credential: str) -> bool:
        """Whether this process found it right, and not wrong since; asks nobody."""
        return _hash(credential) in self._right

    def note_right(self, credential: str) -> None:
        if self.is_familiar(credential):
            return
        if len(self._right) >= _MOST_REMEMBERED:
            self._right.clear()
        self._right.add(_hash(credential))
        with suppress(RedisError):
            _redis(settings.REDIS_URL).set(self._name(credential), 1, ex=_REMEMBERED_SECONDS)

    def note_wrong(self, credential: str, network: str) -> None:
        self._right.discard(_hash(credential))
        with suppress(RedisError):
            _redis(settings.REDIS_URL).delete(self._name(credential))
        for rate, *parts in self._limits(network):
            throttle.count_visit(rate, *parts)

    def _is_remembered(self, credential: str) -> bool:
        with suppress(RedisError):
            return bool(_redis(settings.REDIS_URL).exists(self._name(credential)))
        return False

    def _name(self, credential: str) -> str:
        text = f"{self._kind}\0{credential}".encode(errors="surrogatepass")
        digest = hmac.digest(settings.SECRET_KEY.encode(), text, "sha256")
        return f"postledger:right:{digest.hex()}"

    def _limits(self, network: str) -> Iterator[tuple[str, ...]]:
        yield getattr(settings, self._of_one), self._kind, network
        yield getattr(settings, self._of_all), self._kind


@cache
def _redis(url: str) -> "Redis":
    return Redis.from_url(url, socket_timeout=_TIMEOUT, socket_connect_timeout=_TIMEOUT)


def _hash(credential: str) -> bytes:
    # A password in JSON may contain unpaired surrogates, which only this handler encodes.
    return sha256(credential.encode(errors="surrogatepass")).digest()


KEYS: Final = GuessLimit("wrong key", of_one="WRONG_KEYS_OF_ONE", of_all="WRONG_KEYS_OF_ALL")
PASSWORDS: Final = GuessLimit(
    "wrong password", of_one="WRONG_PASSWORDS_OF_ONE", of_all="WRONG_PASSWORDS_OF_ALL"
)
