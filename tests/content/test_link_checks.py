"""Links are asked before a launch: as a browser asks, and never inside a network."""

import asyncio
import socket
from collections.abc import Sequence

import pytest
from django.conf import LazySettings

from postledger.content import link_checks
from postledger.content.link_checks import LinkReport, LinkState
from postledger.providers import public_addresses
from postledger.providers.public_addresses import ForbiddenAddressError
from tests.providers.raw_server import Part, Peer, RawServer


def answering(*answers: str) -> Part:
    """Answers the connections of a server in turn; the last answer serves all further ones."""
    remaining = list(answers)

    async def answer(peer: Peer) -> None:
        await peer.read_request()
        head = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        peer.say(f"HTTP/1.1 {head}\r\nContent-Length: 0\r\n\r\n".encode())
        await peer.close()

    return answer


def ask(part: Part, path: str = "/page", *, seconds: float = 30) -> tuple[LinkReport, RawServer]:
    async def play() -> tuple[LinkReport, RawServer]:
        async with RawServer((part,)).running() as server:
            link = f"http://127.0.0.1:{server.port}{path}"
            [report] = await link_checks.ask_links(
                [link], find_addresses=public_addresses.find_addresses, seconds=seconds
            )
            return report, server

    return asyncio.run(play())


def list_requests(server: RawServer) -> list[str]:
    return [bytes(peer.received).decode().split(" HTTP/1.1")[0] for peer in server.peers]


def test_the_status_says_what_a_link_is_worth() -> None:
    for status, state in [
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
    ]:
        report, _ = ask(answering(status))

        assert report.state is state, status
        assert report.status == int(status.split(maxsplit=1)[0]), status


def test_the_head_alone_is_asked_unless_the_server_does_not_know_that_question() -> None:
    async def answer(peer: Peer) -> None:
        await peer.read_request()
        if bytes(peer.received).startswith(b"HEAD"):
            peer.say(b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n")
        else:
            size = 300_000
            peer.say(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size, b"x" * size)
        await peer.close()

    _, server = ask(answering("200 OK"), "/page?a=1#part")
    assert list_requests(server) == ["HEAD /page?a=1"]

    report, server = ask(answer)
    assert list_requests(server) == ["HEAD /page", "GET /page"]
    assert (report.state, report.status) == (LinkState.WORKS, 200)


def test_a_page_that_never_ends_is_not_read_and_silence_not_waited_for() -> None:
    async def answer(peer: Peer) -> None:
        await peer.read_request()
        status = b"501 No" if bytes(peer.received).startswith(b"HEAD") else b"200 OK"
        peer.say(b"HTTP/1.1 %b\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n" % status)
        await peer.read_to_the_end()

    report, _ = ask(answer)
    assert report.state is LinkState.WORKS
    report, _ = ask(Peer.read_to_the_end, seconds=0.2)
    assert report.state is LinkState.SILENT


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


def test_a_redirect_in_a_circle_or_to_no_web_address_is_told_as_one() -> None:
    report, server = ask(answering("302 Found\r\nLocation: /page"))
    assert report.state is LinkState.REDIRECT_LOOP
    assert len(server.peers) == 6

    for location in [
        "http://[oops",
        "//[",
        "http://[::1",
        "https://",
        "http://a:99999/",
        "javascript:alert(1)",
    ]:
        report, _ = ask(answering(f"302 Found\r\nLocation: {location}"))

        assert report.state is LinkState.BAD_REDIRECT, location


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

    assert asyncio.run(play()).state is LinkState.PRIVATE
    assert asked == ["127.0.0.1", "10.0.0.1"]


def test_nothing_inside_a_network_or_on_this_machine_is_asked() -> None:
    inside = [
        "http://127.0.0.1/",
        "http://localhost:6379/",
        "http://[::1]/",
        "http://10.1.2.3/",
        "http://169.254.169.254/latest/meta-data",
        "http://2130706433/",
        "http://user:password@127.0.0.1/",
    ]
    nowhere = [
        "http://no-such-host.invalid/",
        "http://",
        "http://[::1",
        "http://a.example:99999/",
        "http://a..example/",
        "https://\u200bä.invalid/",
    ]
    for links, state in [(inside, LinkState.PRIVATE), (nowhere, LinkState.NO_HOST)]:
        for link in links:
            [report] = asyncio.run(link_checks.ask_links([link]))

            assert report.state is state, link


def test_links_to_one_host_look_it_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up = list[str]()

    def find_nothing(host: str, *_args: object, **_options: object) -> object:
        looked_up.append(host)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", find_nothing)

    reports = link_checks.check_links(
        [f"{scheme}://gone.example/{n}" for scheme in ("http", "https") for n in range(10)]
    )

    assert {report.state for report in reports} == {LinkState.NO_HOST}
    assert looked_up == ["gone.example"]


def test_own_pages_and_too_long_links_are_not_asked_and_of_many_links_only_some(
    settings: LazySettings,
) -> None:
    settings.PUBLIC_URL = "https://mail.acme.example"
    settings.PICTURES_URL = "https://pictures.acme.example/"
    own = ["https://mail.acme.example/unsubscribe", "https://pictures.acme.example/a.png"]
    long = [f"http://a.example/{'a' * 3000}", f"http://a.example/{'ы' * 400}"]
    others = ["http://[", *(f"https://mail.acme.example.other/{n}" for n in range(30))]

    assert link_checks.list_to_check([*own, *long, *others]) == others[: link_checks.MOST_CHECKED]
