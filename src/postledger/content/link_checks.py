"""Asks the links and pictures of a mail, as its readers will."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from http import HTTPStatus
from time import monotonic
from urllib.parse import SplitResult, urljoin, urlsplit

from django.conf import settings
from django.utils.encoding import iri_to_uri

from postledger.content import pictures
from postledger.lib import event_loops
from postledger.providers import addresses, public_addresses, url_reading
from postledger.providers.addresses import InvalidAddressError
from postledger.providers.http.exchange import Break
from postledger.providers.http.messages import Answer
from postledger.providers.public_addresses import ForbiddenAddressError
from postledger.providers.url_reading import FindAddresses

MOST_CHECKED = 20  # of one mail
SLOW_SECONDS = 3.0
# Each link waits for one look-up at a time; one more thread loads the trusted authorities.
_THREADS = MOST_CHECKED + 1
_SECONDS = 8.0  # for a link, with all that it leads to
_MOST_REDIRECTS = 5
_HEADERS = (("Accept", "*/*"), ("User-Agent", "Postledger (link check before a mailing)"))
_GONE = {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}
# What sites answer to programs, whatever they answer to browsers; 999 is LinkedIn's.
_REFUSES_PROGRAMS = {
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.NOT_ACCEPTABLE,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS,
    999,
}


class LinkState(StrEnum):
    WORKS = "works"
    GONE = "gone"
    FAILS = "fails"  # with an error of its server
    REDIRECT_LOOP = "redirect_loop"  # more redirects than browsers follow
    BAD_REDIRECT = "bad_redirect"  # to something other than a web address
    NO_HOST = "no_host"
    PRIVATE = "private"  # its host is in a network, or this machine: it is not asked
    SILENT = "silent"
    UNSAFE = "unsafe"  # browsers warn of its certificate
    UNSURE = "unsure"  # it turns programs away, or leads to an address too long to be asked


@dataclass(frozen=True, slots=True)
class LinkReport:
    url: str
    state: LinkState
    status: int | None = None  # the last one that was answered
    seconds: float = 0.0

    @property
    def is_slow(self) -> bool:
        return self.state is LinkState.WORKS and self.seconds > SLOW_SECONDS


class _Shared[Key, Value]:
    """Values that are each made once, however many tasks wait for them.

    A task that gives up waiting ends the making for no other.
    """

    def __init__(self) -> None:
        self._values: dict[Key, asyncio.Future[Value]] = {}

    async def get(self, key: Key, make: Callable[[], Awaitable[Value]]) -> Value:
        if key not in self._values:
            self._values[key] = asyncio.ensure_future(make())
            # An error that comes when no task waits any more is reported by none.
            self._values[key].add_done_callback(lambda made: made.cancelled() or made.exception())
        return await asyncio.shield(self._values[key])


type _Ask = Callable[[str, SplitResult], Awaitable[Answer | Break]]


def list_to_check(links: Sequence[str]) -> list[str]:
    """The first links that can be asked, and lead elsewhere than to this installation."""
    own_urls = [
        f"{url.rstrip('/')}/" for url in (settings.PUBLIC_URL, pictures.find_base_url()) if url
    ]
    others = [link for link in links if not any(f"{link}/".startswith(url) for url in own_urls)]
    return [link for link in others if not _is_too_long(link)][:MOST_CHECKED]


def check_links(links: Sequence[str]) -> list[LinkReport]:
    """Asks the links all at once, within some seconds.

    Call it outside of a transaction: it asks over the network.
    """
    return event_loops.run_bounded(ask_links(links), threads=_THREADS) if links else []


async def ask_links(
    links: Sequence[str],
    *,
    find_addresses: FindAddresses = public_addresses.find_public_addresses,
    seconds: float = _SECONDS,
) -> list[LinkReport]:
    """Each host is looked up once, and the trusted authorities are loaded once."""
    hosts, contexts = _Shared[str, Sequence[str]](), _Shared[str, ssl.SSLContext]()

    async def find_once(host: str, port: int) -> Sequence[str]:
        return await hosts.get(host, lambda: find_addresses(host, port))

    async def load_once() -> ssl.SSLContext:
        return await contexts.get("authorities", url_reading.load_authorities)

    ask = partial(
        url_reading.ask_url,
        headers=_HEADERS,
        find_addresses=find_once,
        load_authorities=load_once,
        seconds=seconds,
    )
    return await asyncio.gather(*(_check_link(link, ask, seconds) for link in links))


async def _check_link(link: str, ask: _Ask, seconds: float) -> LinkReport:
    began = monotonic()
    try:
        async with asyncio.timeout(seconds):
            state, status = await _follow(link, ask)
    except TimeoutError:
        state, status = LinkState.SILENT, None
    return LinkReport(link, state, status, monotonic() - began)


async def _follow(link: str, ask: _Ask) -> tuple[LinkState, int | None]:
    """Where the link leads to; the host of each redirect is looked up before it is asked."""
    address = _read_address(link, if_malformed=LinkState.NO_HOST)
    for _ in range(_MOST_REDIRECTS + 1):
        if isinstance(address, LinkState):
            return address, None
        answer = await _ask_address(address, ask)
        if isinstance(answer, LinkState):
            return answer, None
        # Headers come as latin-1, whatever their server wrote.
        location = answer.headers.get("location", "").encode("latin-1").decode(errors="replace")
        if answer.status not in url_reading.REDIRECTS or not location:
            return judge_status(answer.status), answer.status
        address = _read_address(
            location, base=address.geturl(), if_malformed=LinkState.BAD_REDIRECT
        )
    return LinkState.REDIRECT_LOOP, None


async def _ask_address(address: SplitResult, ask: _Ask) -> Answer | LinkState:
    """Asks for the head alone; some servers refuse that request, and get the other one."""
    try:
        answer = await ask("HEAD", address)
        if isinstance(answer, Answer) and answer.status >= HTTPStatus.BAD_REQUEST:
            answer = await ask("GET", address)
    except ForbiddenAddressError:
        return LinkState.PRIVATE
    except TimeoutError:
        return LinkState.SILENT
    except (OSError, ValueError):
        return LinkState.NO_HOST
    if isinstance(answer, Break):
        return LinkState.UNSAFE if answer.code == "tls" else LinkState.SILENT
    return answer


def judge_status(status: int) -> LinkState:
    """What a status says about a link; redirects that lead somewhere were followed. Pure."""
    if status in _GONE:
        return LinkState.GONE
    if status in _REFUSES_PROGRAMS:
        return LinkState.UNSURE
    return LinkState.FAILS if status >= HTTPStatus.BAD_REQUEST else LinkState.WORKS


def _read_address(url: str, *, base: str = "", if_malformed: LinkState) -> SplitResult | LinkState:
    """A link as browsers ask for it, or what is said of one that cannot be asked."""
    try:
        encoded_url = _encode(urljoin(base, url))
        if len(encoded_url) > url_reading.MOST_CHARACTERS:
            return LinkState.UNSURE
        return url_reading.split_url(encoded_url)
    except ValueError:
        return if_malformed


def _is_too_long(link: str) -> bool:
    return _read_address(link, if_malformed=LinkState.NO_HOST) is LinkState.UNSURE


def _encode(url: str) -> str:
    """A link in ASCII, as browsers write it; raises ValueError for one that they cannot read."""
    parts = urlsplit(url.strip())
    try:
        host = parts.hostname or ""
        ascii_host = host if host.isascii() else addresses.ascii_domain(host)
    except InvalidAddressError:
        raise ValueError("not the name of a host") from None
    netloc = parts.netloc.rpartition("@")[2].lower().replace(host, ascii_host)
    encoded_url = iri_to_uri(parts._replace(netloc=netloc, fragment="").geturl())
    return encoded_url.replace(" ", "%20")
