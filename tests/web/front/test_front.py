"""The front answers by itself what needs no thread, and reads what Django is allowed to see."""

import asyncio
from threading import Event
from typing import override

import pytest
from django.db import connection, connections
from pytest_django import Settings
from structlog.testing import capture_logs

from postledger.web.front.environ import read_head
from postledger.web.front.front import Front
from postledger.web.shared import bodies, guesses
from tests.web.callers import caller
from tests.web.front import asgi
from tests.web.front.asgi import Client, Reply

JSON = ("content-type", "application/json")
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def front() -> Front:
    return Front(thread_count=1)


def ask(front: Front, method: str, path: str, *headers: tuple[str, str], **more: Client) -> Reply:
    return asyncio.run(asgi.ask(front, method, path, *headers, **more))


def test_a_process_is_live_without_a_database_and_for_every_host(front: Front) -> None:
    reply = ask(front, "GET", "/live", ("host", "10.0.0.7"))

    assert (reply.status, reply.body) == (200, {"live": True})
    assert ask(front, "POST", "/live").status == 405


@pytest.mark.django_db(transaction=True)
def test_cookies_reach_the_browser(front: Front) -> None:
    reply = ask(front, "GET", "/account/login/")

    assert reply.status == 200
    assert reply.headers["set-cookie"].startswith("postledger_csrf=")


def test_bodies_that_do_not_arrive_hold_no_thread(front: Front) -> None:
    async def answers_meanwhile() -> tuple[int, int]:
        stalled = [
            asyncio.create_task(
                asgi.ask(
                    front,
                    "POST",
                    "/v1/campaigns/send",
                    ("content-length", "10000"),
                    client=Client([b"{"], stalls=True),
                )
            )
            for _ in range(20)
        ]
        await asyncio.sleep(0)
        live = await asgi.ask(front, "GET", "/live")
        # Django's only thread.
        document = await asgi.ask(front, "GET", "/v1/openapi.json")
        for task in stalled:
            task.cancel()
        return live.status, document.status

    assert asyncio.run(answers_meanwhile()) == (200, 200)


def test_a_large_body_of_a_stranger_is_not_read_but_discarded_so_that_a_proxy_answers(
    front: Front,
) -> None:
    for framing, most in (
        (("content-length", str(16 * MIB)), 0),
        (("transfer-encoding", "chunked"), 2 * bodies.SMALL),
    ):
        client = Client([b"x" * 65_536] * 256)
        headers = (JSON, framing, ("expect", "100-continue"))

        reply = ask(front, "POST", "/v1/email/send", *headers, client=client)

        assert (reply.status, reply.body["code"]) == (401, "unauthorized")
        assert client.received <= most, framing
    client, size = Client([b"x" * 65_536] * 256), ("content-length", str(16 * MIB))
    reply = ask(front, "POST", "/v1/email/send", JSON, size, client=client)
    assert (reply.status, client.received) == (401, 16 * MIB)


def test_a_form_that_is_too_large_is_refused(front: Front) -> None:
    for size in (65_537, 16 * MIB):
        headers, client = ("content-length", str(size)), Client([b"x" * size])

        assert ask(front, "POST", "/unsubscribe", headers, client=client).status == 413, size


def test_every_endpoint_has_its_own_size() -> None:
    for path, size in (
        ("/v1/campaigns/send", 16 * 1024),
        ("/v1/campaigns", 8 * MIB),
        ("/v1/email/batch", 16 * MIB),
        ("/v1/imports", 50 * MIB),
        ("/v1/imports/7/start", MIB),
        ("/v1/contacts", MIB),
        ("/send-mailout", 64 * 1024),
        ("/subscribe/1/news", 64 * 1024),
        ("/w/1/campaigns/2/edit/", 2 * MIB),
        ("/w/1/campaigns/2/edit/launch/", 64 * 1024),
        ("/w/1/content/templates/welcome/write/", 8 * MIB),
        ("/w/1/content/templates/welcome/", 64 * 1024),
        ("/w/1/campaigns/2/edit/picture/", 6 * MIB),
        ("/w/1/content/branding/save/", 6 * MIB),
        ("/w/1/content/articles/may/slices/new/", 2 * MIB),
        ("/nothing", 64 * 1024),
    ):
        assert bodies.find_largest(path) == size, path


def test_a_body_that_breaks_off_is_a_bad_request(front: Front) -> None:
    headers = (JSON, ("content-length", "10"))

    reply = ask(front, "POST", "/v1/email/send", *headers, client=Client())

    assert reply.status == 400


def test_a_request_for_an_unknown_host_reaches_no_view(front: Front) -> None:
    api = ask(front, "GET", "/v1/email", ("host", "evil.example"))
    page = ask(front, "GET", "/metrics", ("host", "evil.example"))

    assert (api.status, api.body["code"]) == (400, "host_unknown")
    assert (page.status, page.headers["content-type"]) == (400, "text/plain; charset=utf-8")
    assert b"evil" not in api.content + page.content


def test_headers_that_cost_too_much_take_no_thread() -> None:
    many = ";" * 1024
    for headers in (
        [("content-type", f'a/b; x="{many}')],
        [("accept", f'a/b; x="{many}')],
        [("accept", "a/b;" * 200), ("accept", "a/b;" * 200)],
        [("x-a", "a" * 40_000), ("x_b", "b" * 40_000)],
    ):
        reply = ask(Front(thread_count=0), "GET", "/nothing", *headers)

        assert (reply.status, reply.headers["connection"]) == (431, "close"), headers[0][0]


def test_headers_that_cannot_be_read_are_a_bad_request(front: Front) -> None:
    for header in (
        ("content-type", "a/b; x*=nope''secret"),
        ("content-type", "a/b; charset=zlib; x=secret"),
        ("content-type", "a/b; charset=idna; x=secret"),
        ("content-type", "a/b; charset=\0; x=secret"),
        ("accept", "a/b; x*=nope''secret"),
        ("accept", "a/b; x*=secret; x*0=secret"),
        ("content-length", "0" * 5000 + "3"),
    ):
        with capture_logs() as lines:
            reply = ask(front, "POST", "/unsubscribe", header)

        assert reply.status == 400, header
        assert reply.headers["content-type"] == "text/plain; charset=utf-8", header
        assert [line["event"] for line in lines] == ["request_refused"], header
        assert "secret" not in str(lines) + reply.content.decode(), header


def test_usual_encodings_and_unknown_ones_are_taken(front: Front) -> None:
    for charset in ("utf-8", "UTF8", "us-ascii", "latin1", "no-such"):
        header = ("content-type", f"application/json; charset={charset}")

        assert ask(front, "GET", "/v1/openapi.json", header).status == 200, charset


def test_one_network_cannot_take_every_connection(front: Front, settings: Settings) -> None:
    settings.PROXY_COUNT = 1

    async def send_body(network: str, client: Client) -> Reply:
        headers = (("content-length", "10000"), ("x-forwarded-for", network))
        return await asgi.ask(front, "POST", "/v1/campaigns/send", *headers, client=client)

    async def ask_meanwhile() -> tuple[Reply, Reply]:
        slow = [
            asyncio.create_task(send_body(f"2001:db8::{number}", Client([b"{"], stalls=True)))
            for number in range(64)
        ]
        await asyncio.sleep(0)
        refused = await send_body("2001:db8::99", Client([b"{"], stalls=True))
        other = await send_body("2001:db8:0:1::1", Client())
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        return refused, other

    refused, other = asyncio.run(ask_meanwhile())

    assert (refused.status, refused.headers["retry-after"]) == (429, "1")
    assert refused.headers["connection"] == "close"
    assert other.status == 400
    assert asyncio.run(send_body("2001:db8::99", Client())).status == 400


def test_strangers_are_told_apart_by_their_network_and_right_keys_by_their_value() -> None:
    def who(*headers: tuple[str, str]) -> object:
        return read_head(asgi.scope("GET", "/", *headers)).caller

    key, other = ("authorization", "Bearer secret"), ("authorization", "bearer another")
    assert who() == who(key) == "192.0.2.1", "a key that nobody recognised yet"
    guesses.KEYS.note_right("secret")
    guesses.KEYS.note_right("another")
    assert who(key) == who(key, ("x-a", "a"))
    assert len({who(), who(key), who(other)}) == 3
    assert "secret" not in str(who(key))
    guesses.KEYS.note_wrong("secret", "192.0.2.1")
    assert who(key) == "192.0.2.1"


def test_one_key_leaves_a_thread_for_the_others() -> None:
    front, may_end = Front(thread_count=2), Event()
    one, other = ("authorization", "Bearer one"), ("authorization", "Bearer other")
    guesses.KEYS.note_right("one")
    busy = read_head(asgi.scope("GET", "/", one)).caller

    async def ask_meanwhile() -> int:
        held = [asyncio.create_task(front._threads.run(busy, may_end.wait)) for _ in range(3)]
        await asyncio.sleep(0)
        asked = asgi.ask(front, "GET", "/v1/openapi.json", other)
        answered = await asyncio.wait_for(asked, timeout=60)
        may_end.set()
        await asyncio.gather(*held)
        return answered.status

    assert asyncio.run(ask_meanwhile()) == 200


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["/v1/imports", "/w/7/imports/upload/"])
def test_large_mail_does_not_wait_for_files_that_are_read(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)  # as with a pool
    front, key = Front(thread_count=1), ("authorization", f"Bearer {caller('acme').token}")
    large = (JSON, key, ("content-length", "100000"))

    async def send_meanwhile() -> Reply:
        async with front._find_places(path).parsing:
            mail = asgi.ask(
                front, "POST", "/v1/email/send", *large, client=Client([b"x" * 100_000])
            )
            return await asyncio.wait_for(mail, timeout=60)

    assert asyncio.run(send_meanwhile()).status == 400, "no JSON"


@pytest.mark.django_db(transaction=True)
def test_a_thread_keeps_no_connection_while_a_body_or_a_stream_is_on_its_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)  # as with a pool
    front, key = Front(thread_count=1), ("authorization", f"Bearer {caller('acme').token}")
    is_connected = list[bool]()

    async def look() -> None:
        is_connected.append(await front._threads.run("", lambda: connection.connection is not None))

    class Looking(Client):
        @override
        async def receive(self) -> asgi.Message:
            await look()
            return await super().receive()

    class LookingReply(Reply):
        @override
        async def send(self, message: asgi.Message) -> None:
            await look()
            await super().send(message)

    async def ask_both() -> tuple[Reply, Reply]:
        large = (JSON, key, ("content-length", "100000"))
        body = Looking([b"x" * 100_000])
        stream, export = LookingReply(), asgi.scope("GET", "/v1/exports/contacts.csv", key)
        sent = await asgi.ask(front, "POST", "/v1/email/send", *large, client=body)
        await front(export, Client([b""]).receive, stream.send)
        return sent, stream

    sent, stream = asyncio.run(ask_both())

    assert (sent.status, stream.status) == (400, 200)
    assert len(is_connected) > 2
    assert not any(is_connected)
