"""The certificates that sign messages of SNS: fetched once each, and kept for a day.

Callers have checked that a URL is one of SNS in the region of a topic that we listen to.
"""

import asyncio
import ssl
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from functools import cache

import httpx
import structlog

from postledger.providers.ses.events import sns_envelope
from postledger.providers.ses.events.sns_envelope import SigningCertificate

type Fetch = Future[SigningCertificate | None]

_SECONDS = 5.0  # for all of a fetch
_LARGEST = 16 * 1024  # bytes
_KEPT_FOR = 24 * 3600.0
_MOST_KEPT = 50
_MOST_FETCHES = 2  # at once; SNS has one certificate for a region, and changes it once a year

_log = structlog.get_logger(__name__)


class Certificates:
    """A cache of certificates; safe for threads. What could not be fetched is never remembered."""

    def __init__(self, *, most_waiting: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most_waiting = most_waiting
        self._clock = clock
        self._lock = threading.Lock()  # of what follows
        self._kept: OrderedDict[str, tuple[float, SigningCertificate]] = OrderedDict()
        self._fetches: dict[str, Fetch] = {}
        self._waiting = 0

    def find(self, url: str) -> SigningCertificate | None:
        """The certificate at a URL, or None if it cannot be had at the moment.

        All who ask for one URL wait for the same fetch. So many threads wait at most; others get
        None at once.
        """
        with self._lock:
            certificate = self._find_kept(url)
            if certificate is not None:
                return certificate
            fetch = self._join_fetch(url)
            if fetch is None:
                return None
            self._waiting += 1
        try:
            return fetch.result(timeout=_SECONDS + 0.5)
        except FutureTimeoutError:
            return None
        finally:
            with self._lock:
                self._waiting -= 1

    def _find_kept(self, url: str) -> SigningCertificate | None:
        until, certificate = self._kept.get(url, (0.0, None))
        if certificate is None or until <= self._clock():
            return None
        self._kept.move_to_end(url)
        return certificate

    def _join_fetch(self, url: str) -> Fetch | None:
        if self._waiting >= self._most_waiting:
            return None
        fetch = self._fetches.get(url)
        if fetch is None and len(self._fetches) < _MOST_FETCHES:
            fetch = Future()
            threading.Thread(
                target=self._fetch, args=(url, fetch), name="certificate", daemon=True
            ).start()
            self._fetches[url] = fetch  # the thread waits for the lock before it removes it
        return fetch

    def _fetch(self, url: str, fetch: Fetch) -> None:
        certificate = None
        try:
            certificate = sns_envelope.load_certificate(asyncio.run(_download(url)))
            if certificate is None:
                _log.warning("certificate_unusable", url=url)
        except Exception as error:  # noqa: BLE001  the thread's edge: the network fails in many ways
            _log.warning("certificate_not_fetched", url=url, error=type(error).__name__)
        with self._lock:
            if certificate is not None:
                self._kept[url] = (self._clock() + _KEPT_FOR, certificate)
                while len(self._kept) > _MOST_KEPT:
                    self._kept.popitem(last=False)
            del self._fetches[url]
        fetch.set_result(certificate)


class _UnexpectedAnswerError(Exception):
    """Not a small document: a redirect, an error, or too many bytes."""


async def _download(url: str) -> bytes:
    """Asynchronous, because only so all of it has one time limit, however slowly bytes come."""
    async with (
        asyncio.timeout(_SECONDS),
        httpx.AsyncClient(verify=_trusted(), follow_redirects=False) as client,
        client.stream("GET", url, headers={"Accept-Encoding": "identity"}) as answer,
    ):
        if answer.status_code != httpx.codes.OK:
            raise _UnexpectedAnswerError
        content = b""
        async for block in answer.aiter_raw():
            content += block
            if len(content) > _LARGEST:
                raise _UnexpectedAnswerError
        return content


@cache
def _trusted() -> ssl.SSLContext:
    """Loads the authorities once: that costs more than a fetch."""
    return httpx.create_ssl_context()


_certificates = Certificates(most_waiting=1)


def install(certificates: Certificates) -> None:
    """Sets how many threads of this process may wait; called once, at its start."""
    global _certificates  # noqa: PLW0603  installed once for each process, at its start
    _certificates = certificates


def find_certificate(url: str) -> SigningCertificate | None:
    return _certificates.find(url)
