"""Limits guesses of API keys and passwords: of one network, and of all together.

A credential that was right in this process before is never limited, so strangers who guess do not
lock its owner out.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Final

from django.conf import settings

from postledger.web.shared import throttle

_MOST_REMEMBERED = 10_000


class GuessLimit:
    """The wrong credentials of one kind; safe for threads. The rates are settings."""

    def __init__(self, kind: str, *, of_one: str | None = None, of_all: str) -> None:
        self._kind = kind
        self._of_one = of_one
        self._of_all = of_all
        self._right: set[bytes] = set()

    def check(self, credential: str, network: str) -> None:
        """Refuses an unfamiliar credential after too many wrong ones; asks no database."""
        if _hash(credential) not in self._right:
            for rate, *parts in self._limits(network):
                throttle.check_visits(rate, *parts)

    def note_right(self, credential: str) -> None:
        if len(self._right) >= _MOST_REMEMBERED:
            self._right.clear()
        self._right.add(_hash(credential))

    def note_wrong(self, credential: str, network: str) -> None:
        self._right.discard(_hash(credential))
        for rate, *parts in self._limits(network):
            throttle.count_visit(rate, *parts)

    def _limits(self, network: str) -> Iterator[tuple[str, ...]]:
        if self._of_one is not None:
            yield getattr(settings, self._of_one), self._kind, network
        yield getattr(settings, self._of_all), self._kind


def _hash(credential: str) -> bytes:
    # A password in JSON may contain unpaired surrogates, which only this handler encodes.
    return sha256(credential.encode(errors="surrogatepass")).digest()


KEYS: Final = GuessLimit("wrong key", of_one="WRONG_KEYS_OF_ONE", of_all="WRONG_KEYS_OF_ALL")
PASSWORDS: Final = GuessLimit("wrong password", of_all="WRONG_PASSWORDS_OF_ALL")
