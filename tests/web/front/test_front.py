"""The front answers by itself what needs no thread, and reads what Django is allowed to see."""

import asyncio

import pytest

from postledger.web.front.front import Front
from postledger.web.shared import bodies
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


@pytest.mark.parametrize("headers", [[("content-length", str(16 * MIB))], []])
def test_a_large_body_of_a_stranger_is_not_read(
    front: Front, headers: list[tuple[str, str]]
) -> None:
    client = Client([b"x" * 65_536] * 256)
    framing = [*headers, *([] if headers else [("transfer-encoding", "chunked")])]

    reply = ask(
        front, "POST", "/v1/email/send", JSON, *framing, ("expect", "100-continue"), client=client
    )

    assert (reply.status, reply.body["code"]) == (401, "unauthorized")
    assert client.received <= (0 if headers else 2 * bodies.SMALL)


def test_a_refused_body_is_discarded_so_that_a_proxy_passes_the_answer_on(front: Front) -> None:
    client = Client([b"x" * 65_536] * 256)

    reply = ask(
        front, "POST", "/v1/email/send", JSON, ("content-length", str(16 * MIB)), client=client
    )

    assert (reply.status, client.received) == (401, 16 * MIB)


@pytest.mark.parametrize("size", [65_537, 16 * MIB])
def test_a_form_that_is_too_large_is_refused(front: Front, size: int) -> None:
    client = Client([b"x" * size])

    reply = ask(front, "POST", "/unsubscribe", ("content-length", str(size)), client=client)

    assert reply.status == 413


@pytest.mark.parametrize(
    ("path", "size"),
    [
        ("/v1/campaigns/send", 16 * 1024),
        ("/v1/campaigns", 8 * MIB),
        ("/v1/email/batch", 16 * MIB),
        ("/v1/imports", 50 * MIB),
        ("/v1/imports/7/start", MIB),
        ("/v1/contacts", MIB),
        ("/send-mailout", 64 * 1024),
        ("/subscribe/1/news", 64 * 1024),
        ("/nothing", 64 * 1024),
    ],
)
def test_every_endpoint_has_its_own_size(path: str, size: int) -> None:
    assert bodies.find_largest(path) == size


def test_a_client_that_goes_away_gets_no_answer(front: Front) -> None:
    headers = (JSON, ("content-length", "10"))

    reply = ask(front, "POST", "/v1/email/send", *headers, client=Client())

    assert reply.messages == []


def test_a_request_for_an_unknown_host_reaches_no_view(front: Front) -> None:
    api = ask(front, "GET", "/v1/email", ("host", "evil.example"))
    page = ask(front, "GET", "/metrics", ("host", "evil.example"))

    assert (api.status, api.body["code"]) == (400, "host_unknown")
    assert (page.status, page.headers["content-type"]) == (400, "text/plain; charset=utf-8")
    assert b"evil" not in api.content + page.content
