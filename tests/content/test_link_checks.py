"""Links are asked before a launch: as a browser asks, and never inside a network."""

import asyncio
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
import trustme
from django.conf import LazySettings

from postledger.content import link_checks
from postledger.content.link_checks import LinkReport, LinkState
from postledger.providers import public_addresses
from postledger.providers.public_addresses import ForbiddenAddressError
from tests.providers.raw_server import Part, Peer, RawServer

NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)


def answering(*answers: str) -> Part:
    """Answers the connections of a server in turn; the last answer serves all further ones."""
    remaining = list(answers)

    async def answer(peer: Peer) -> None:
        await peer.read_request()
        head = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        peer.say(f"HTTP/1.1 {head}\r\nContent-Length: 0\r\n\r\n".encode())
        await peer.close()

    return answer


async def silent(peer: Peer) -> None:
    await peer.read_to_the_end()


def ask(
    part: Part,
    path: str = "/page",
    *,
    scheme: str = "http",
    seconds: float = 30,
    context: ssl.SSLContext | None = None,
) -> tuple[LinkReport, RawServer]:
    async def play() -> tuple[LinkReport, RawServer]:
        async with RawServer((part,), context=context).running() as server:
            link = f"{scheme}://127.0.0.1:{server.port}{path}"
            [report] = await link_checks.ask_links(
                [link], find_addresses=public_addresses.find_addresses, seconds=seconds
            )
            return report, server

    return asyncio.run(play())


def list_requests(server: RawServer) -> list[str]:
    return [bytes(peer.received).decode().split(" HTTP/1.1")[0] for peer in server.peers]


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("200 OK", LinkState.WORKS),
        ("204 No Content", LinkState.WORKS),
        ("304 Not Modified", LinkState.WORKS),
        ("400 Bad Request", LinkState.FAILS),
        ("401 Unauthorized", LinkState.UNSURE),
        ("403 Forbidden", LinkState.UNSURE),
        ("404 Not Found", LinkState.GONE),
        ("410 Gone", LinkState.GONE),
        ("429 Too Many Requests", LinkState.UNSURE),
        ("500 Internal Server Error", LinkState.FAILS),
        ("503 Service Unavailable", LinkState.FAILS),
        ("999 Request Denied", LinkState.UNSURE),
    ],
)
def test_the_status_says_what_a_link_is_worth(status: str, state: LinkState) -> None:
    report, _ = ask(answering(status))

    assert report.state is state
    assert report.status == int(status.split(maxsplit=1)[0])


def test_the_head_alone_is_asked_of_a_page_that_works() -> None:
    _, server = ask(answering("200 OK"), "/page?a=1#part")

    assert list_requests(server) == ["HEAD /page?a=1"]


def test_a_server_that_does_not_know_the_question_is_asked_for_the_page() -> None:
    report, server = ask(answering("405 Method Not Allowed", "200 OK"))

    assert list_requests(server) == ["HEAD /page", "GET /page"]
    assert report.state is LinkState.WORKS


def test_a_link_is_followed_to_where_it_ends() -> None:
    report, server = ask(
        answering("301 Moved\r\nLocation: /new", "302 Found\r\nLocation: ?a=ä", "404 Gone")
    )

    assert list_requests(server) == [
        "HEAD /page",
        "HEAD /new",
        "HEAD /new?a=%C3%A4",
        "GET /new?a=%C3%A4",
    ]
    assert report.state is LinkState.GONE


def test_a_circle_of_redirects_ends() -> None:
    report, server = ask(answering("302 Found\r\nLocation: /page"))

    assert report.state is LinkState.CIRCLES
    assert len(server.peers) == 6


def test_a_redirect_into_a_network_is_not_followed() -> None:
    asked = list[str]()

    async def find(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        if host != "127.0.0.1":
            raise ForbiddenAddressError
        return [host]

    async def play() -> LinkReport:
        redirect = "302 Found\r\nLocation: http://10.0.0.1/latest/meta-data"
        async with RawServer((answering(redirect),)).running() as server:
            link = f"http://127.0.0.1:{server.port}/"
            [report] = await link_checks.ask_links([link], find_addresses=find)
            return report

    assert asyncio.run(play()).state is LinkState.INSIDE
    assert asked == ["127.0.0.1", "10.0.0.1"]


@pytest.mark.parametrize(
    "link",
    [
        "http://127.0.0.1/",
        "http://localhost:6379/",
        "http://[::1]/",
        "http://10.1.2.3/",
        "http://169.254.169.254/latest/meta-data",
        "http://2130706433/",
        "http://user:password@127.0.0.1/",
    ],
)
def test_nothing_inside_a_network_or_on_this_machine_is_asked(link: str) -> None:
    [report] = asyncio.run(link_checks.ask_links([link]))

    assert report.state is LinkState.INSIDE


@pytest.mark.parametrize(
    "link",
    [
        "http://no-such-host.invalid/",
        "http://",
        "http://[::1",
        "http://a.example:99999/",
        f"http://a.example/{'a' * 3000}",
        "http://a..example/",
        "https://\u200bä.invalid/",
    ],
)
def test_a_link_that_no_browser_can_ask_leads_to_no_host(link: str) -> None:
    [report] = asyncio.run(link_checks.ask_links([link]))

    assert report.state is LinkState.UNKNOWN


def test_a_server_that_says_nothing_is_not_waited_for() -> None:
    report, _ = ask(silent, seconds=0.2)

    assert report.state is LinkState.SILENT


def test_a_certificate_that_nobody_knows_is_not_safe() -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)

    report, _ = ask(answering("200 OK"), scheme="https", context=context)

    assert report.state is LinkState.UNSAFE


def test_answers_are_remembered_for_minutes_and_for_one_workspace() -> None:
    link = "http://127.0.0.1/remembered"
    [report] = link_checks.read_reports(1, [link], now=NOW)
    later = NOW + link_checks.REMEMBERED_FOR

    assert report.state is LinkState.INSIDE
    assert link_checks.recall_reports(1, [link], now=NOW) == [report]
    assert link_checks.recall_reports(1, [link, f"{link}/2"], now=NOW) is None
    assert link_checks.recall_reports(2, [link], now=NOW) is None
    assert link_checks.recall_reports(1, [link], now=later) is None
    assert link_checks.recall_reports(1, [link], now=NOW - timedelta(seconds=1)) is None


def test_a_mail_without_links_needs_no_question() -> None:
    assert link_checks.recall_reports(1, [], now=NOW) == []


def test_own_pages_are_not_asked_and_of_many_links_only_some(settings: LazySettings) -> None:
    settings.PUBLIC_URL = "https://mail.acme.example"
    settings.PICTURES_URL = "https://pictures.acme.example/"
    own = ["https://mail.acme.example/unsubscribe", "https://pictures.acme.example/a.png"]
    others = [f"https://mail.acme.example.other/{n}" for n in range(30)]

    assert link_checks.list_askable([*own, *others]) == others[: link_checks.MOST_ASKED]
