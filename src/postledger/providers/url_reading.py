"""Asks a URL that a person named: once, within its time and size, and without redirects.

Whoever calls decides which addresses may be asked. A URL may have a key in it: no error repeats it,
and none repeats what was answered.
"""

import asyncio
import re
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import NoReturn
from urllib.parse import SplitResult, urlsplit

from postledger.lib.clock import Deadline, boottime
from postledger.providers.http.exchange import Break, Exchange, Stage
from postledger.providers.http.messages import MAX_BODY, Answer, Request
from postledger.providers.http.pool import NoConnectionError, Origin, Pool, trust_authorities

type FindAddresses = Callable[[str, int], Awaitable[Sequence[str]]]
type LoadAuthorities = Callable[[], Awaitable[ssl.SSLContext]]

_OK = 200
REDIRECTS = range(300, 400)
MOST_CHARACTERS = 2_000
_URL = re.compile(r"[!-~]+")


class UrlUnreadError(Exception):
    """Its text says what the host did, as the end of a sentence that begins with the host."""


def split_url(url: str) -> SplitResult:
    """The parts of a URL that can be asked by HTTP; raises ValueError for any other text."""
    if len(url) > MOST_CHARACTERS or not _URL.fullmatch(url):
        raise ValueError("not a URL")
    parts = urlsplit(url)
    is_usable = parts.port != 0 and "@" not in parts.netloc and not parts.fragment
    if not parts.hostname or not is_usable or parts.scheme not in {"http", "https"}:
        raise ValueError("not a URL")
    return parts


async def read_url(
    parts: SplitResult,
    headers: Sequence[tuple[str, str]] = (),
    *,
    find_addresses: FindAddresses,
    seconds: float,
    most_bytes: int = MAX_BODY,
) -> bytes:
    """The body of the answer; raises UrlUnreadError, and what `find_addresses` raises."""
    request = _write_request("GET", parts, [("Accept", "application/json"), *headers])
    try:
        async with asyncio.timeout(seconds):
            origins = await _find_origins(parts, find_addresses, load_authorities)
            answer = await _ask(origins, request, seconds, most_bytes=most_bytes)
    except TimeoutError:
        _fail(f"did not answer within {seconds:g} seconds")
    except OSError:
        _fail("is not known or cannot be reached")
    return _take_body(answer)


async def load_authorities() -> ssl.SSLContext:
    return await asyncio.to_thread(trust_authorities)


async def ask_url(  # noqa: PLR0913  one of them with a default
    method: str,
    parts: SplitResult,
    headers: Sequence[tuple[str, str]],
    *,
    find_addresses: FindAddresses,
    seconds: float,
    load_authorities: LoadAuthorities = load_authorities,
) -> Answer | Break:
    """The head of the answer whatever its status, or why none came; its body is not read.

    Raises OSError for a host that is not known, TimeoutError, and what `find_addresses` raises of
    its own.
    """
    request = _write_request(method, parts, headers)
    async with asyncio.timeout(seconds):
        origins = await _find_origins(parts, find_addresses, load_authorities)
        return await _ask(origins, request, seconds, reads_body=False)


async def _find_origins(
    parts: SplitResult, find_addresses: FindAddresses, load_authorities: LoadAuthorities
) -> Sequence[Origin]:
    """Only the addresses that were found are connected to."""
    host, port = parts.hostname or "", _find_port(parts)
    addresses = await find_addresses(host, port)
    context = await load_authorities() if parts.scheme == "https" else None
    return [Origin(host, port, context, address) for address in addresses]


async def _ask(
    origins: Sequence[Origin],
    request: Request,
    seconds: float,
    *,
    most_bytes: int = MAX_BODY,
    reads_body: bool = True,
) -> Answer | Break:
    """Asks at the first address that takes a connection."""
    end_by = Deadline(boottime() + seconds, boottime)
    broken = Break(Stage.CONNECT, "connect", "no address")
    for origin in origins:
        pool = Pool(origin, size=1, most_bytes=most_bytes, reads_body=reads_body)
        try:
            connection = await pool.connect(end_by.loop_time())
        except NoConnectionError as error:
            broken = error.broken
            continue
        until = end_by.loop_time()
        try:
            return await Exchange(connection, request, end_by=end_by, answer_until=until).run()
        finally:
            connection.close()
    return broken


def _write_request(method: str, parts: SplitResult, headers: Sequence[tuple[str, str]]) -> Request:
    usual = [("Host", parts.netloc), ("Connection", "close")]
    target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
    return Request(method, target, [*usual, *headers], b"")


def _take_body(answer: Answer | Break) -> bytes:
    if isinstance(answer, Break):
        _fail(f"gave no answer: {answer.detail}")
    if answer.status in REDIRECTS:
        _fail(f"answers with a redirect ({answer.status}), which is not followed")
    if answer.status != _OK:
        _fail(f"answers with the status {answer.status}")
    return answer.body


def _find_port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _fail(trouble: str) -> NoReturn:
    raise UrlUnreadError(trouble) from None
