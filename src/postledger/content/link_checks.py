"""Asks the links and pictures of a mail, as its readers will, and remembers the answers shortly."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
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

MOST_ASKED = 20  # of one mail
SLOW_SECONDS = 3.0
REMEMBERED_FOR = timedelta(minutes=5)
_MOST_REMEMBERED = 2_000
_SECONDS = 8.0  # for a link, with all that it leads to
_MOST_REDIRECTS = 5
_HEADERS = (("Accept", "*/*"), ("User-Agent", "Postledger (link check before a mailing)"))
_GONE = {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}
# What sites answer to programs, whatever they answer to browsers; 999 is LinkedIn's.
_SHY = {
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
    CIRCLES = "circles"  # through more redirects than browsers follow
    UNKNOWN = "unknown"  # there is no such host
    INSIDE = "inside"  # a network, or this machine: it is not asked
    SILENT = "silent"
    UNSAFE = "unsafe"  # browsers warn of its certificate
    UNSURE = "unsure"  # it turns programs away


@dataclass(frozen=True, slots=True)
class LinkReport:
    url: str
    state: LinkState
    status: int | None = None  # the last one that was answered
    seconds: float = 0.0

    @property
    def is_slow(self) -> bool:
        return self.state is LinkState.WORKS and self.seconds > SLOW_SECONDS


type _Key = tuple[int, str]

# By workspace and link; each process has its own.
_remembered: dict[_Key, tuple[datetime, LinkReport]] = {}


def list_askable(links: Sequence[str]) -> list[str]:
    """The links that are worth a question: none to this installation, and no more than a few."""
    own = [f"{url.rstrip('/')}/" for url in (settings.PUBLIC_URL, pictures.find_base_url()) if url]
    return [link for link in links if not any(f"{link}/".startswith(url) for url in own)][
        :MOST_ASKED
    ]


def recall_reports(
    workspace_id: int, links: Sequence[str], *, now: datetime
) -> list[LinkReport] | None:
    """What was answered in the last minutes; None unless every link was asked."""
    reports = [_recall(workspace_id, link, now) for link in links]
    known = [report for report in reports if report is not None]
    return known if len(known) == len(links) else None


def read_reports(workspace_id: int, links: Sequence[str], *, now: datetime) -> list[LinkReport]:
    """Asks the links that were not asked lately, all at once, within some seconds.

    Call it outside of a transaction: it asks over the network.
    """
    new = [link for link in links if _recall(workspace_id, link, now) is None]
    for report in event_loops.run_bounded(ask_links(new)):
        _remember(workspace_id, report, now)
    return recall_reports(workspace_id, links, now=now) or []


async def ask_links(
    links: Sequence[str],
    *,
    find_addresses: FindAddresses = public_addresses.find_public_addresses,
    seconds: float = _SECONDS,
) -> list[LinkReport]:
    return await asyncio.gather(*(_ask_link(link, find_addresses, seconds) for link in links))


async def _ask_link(link: str, find_addresses: FindAddresses, seconds: float) -> LinkReport:
    began = monotonic()
    try:
        async with asyncio.timeout(seconds):
            state, status = await _follow(link, find_addresses, seconds)
    except TimeoutError:
        state, status = LinkState.SILENT, None
    return LinkReport(link, state, status, monotonic() - began)


async def _follow(
    link: str, find_addresses: FindAddresses, seconds: float
) -> tuple[LinkState, int | None]:
    """Where the link leads to; each host on the way is looked at before it is asked."""
    url = link
    for _ in range(_MOST_REDIRECTS + 1):
        try:
            answer = await _ask(_split(url), find_addresses, seconds)
        except ForbiddenAddressError:
            return LinkState.INSIDE, None
        except TimeoutError:
            return LinkState.SILENT, None
        except (OSError, ValueError):
            return LinkState.UNKNOWN, None
        if isinstance(answer, Break):
            return LinkState.UNSAFE if answer.code == "tls" else LinkState.SILENT, None
        # Headers come as latin-1, whatever their server wrote.
        location = answer.headers.get("location", "").encode("latin-1").decode(errors="replace")
        if answer.status not in url_reading.REDIRECTS or not location:
            return judge_status(answer.status), answer.status
        url = urljoin(url, location)
    return LinkState.CIRCLES, None


async def _ask(parts: SplitResult, find_addresses: FindAddresses, seconds: float) -> Answer | Break:
    """Asks for the head alone; some servers do not know that question, and get the other one."""
    ask = partial(
        url_reading.ask_url, headers=_HEADERS, find_addresses=find_addresses, seconds=seconds
    )
    answer = await ask("HEAD", parts)
    if isinstance(answer, Break) or answer.status < HTTPStatus.BAD_REQUEST:
        return answer
    return await ask("GET", parts)


def judge_status(status: int) -> LinkState:
    """What a status says about a link; redirects that lead somewhere were followed. Pure."""
    if status in _GONE:
        return LinkState.GONE
    if status in _SHY:
        return LinkState.UNSURE
    return LinkState.FAILS if status >= HTTPStatus.BAD_REQUEST else LinkState.WORKS


def _split(url: str) -> SplitResult:
    """A link as browsers ask for it; raises ValueError for one that they cannot ask either."""
    parts = urlsplit(url.strip())
    try:
        host = parts.hostname or ""
        ascii_host = host if host.isascii() else addresses.ascii_domain(host)
    except InvalidAddressError:
        raise ValueError("not the name of a host") from None
    netloc = parts.netloc.rpartition("@")[2].lower().replace(host, ascii_host)
    return url_reading.split_url(
        iri_to_uri(parts._replace(netloc=netloc, fragment="").geturl()).replace(" ", "%20")
    )


def _recall(workspace_id: int, link: str, now: datetime) -> LinkReport | None:
    at, report = _remembered.get((workspace_id, link), (now, None))
    return report if at <= now < at + REMEMBERED_FOR else None


def _remember(workspace_id: int, report: LinkReport, now: datetime) -> None:
    while len(_remembered) >= _MOST_REMEMBERED:
        del _remembered[next(iter(_remembered))]
    _remembered[workspace_id, report.url] = now, report
