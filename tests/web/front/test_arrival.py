"""A body is read in time, up to its limit, and into a file once it is large."""

import asyncio

import pytest

from postledger.web.front import arrival
from postledger.web.front.arrival import Arrival, BrokenOffError, TooLargeError
from tests.web.front.asgi import Client


async def read(client: Client, *, announced: int | None, most: int) -> bytes:
    body = Arrival(client.receive, announced=announced)
    await body.read(most)
    return body.as_stream().read()


async def read_file(client: Client, *, announced: int | None, most: int) -> bytes:
    body = Arrival(client.receive, announced=announced)
    await body.read(10)
    with await body.read_into_file(most) as file:
        return file.read()


def test_the_blocks_of_a_body_are_joined() -> None:
    for announced in (6, None):
        client = Client([b"ab", b"cd", b"ef"])

        assert asyncio.run(read(client, announced=announced, most=100)) == b"abcdef", announced


def test_after_the_announced_size_nothing_more_is_waited_for() -> None:
    client = Client([b"abc"], stalls=True)

    assert asyncio.run(read(client, announced=3, most=100)) == b"abc"


def test_a_large_body_comes_out_of_its_file_as_it_went_in() -> None:
    blocks = [bytes([number]) * 50_000 for number in range(20)]

    content = asyncio.run(read_file(Client(blocks), announced=None, most=1_000_000))

    assert content == b"".join(blocks)


def test_of_a_body_above_its_limit_little_more_than_the_limit_is_read() -> None:
    client = Client([b"x" * 1000] * 1000)

    with pytest.raises(TooLargeError):
        asyncio.run(read_file(client, announced=None, most=50_000))

    assert client.received == 51_000


def test_a_body_that_stops_arriving_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrival, "_GRACE", 0.05)
    for blocks in ([], [b"a"]):
        with pytest.raises(TimeoutError):
            asyncio.run(read(Client(blocks, stalls=True), announced=10, most=100))


def test_the_rest_of_an_unwanted_body_is_not_waited_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(arrival, "_GRACE", 0.05)
    client = Client([b"a" * 1000], stalls=True)

    async def discard() -> int:
        body = Arrival(client.receive, announced=10_000)
        await body.discard()
        return body.size

    assert asyncio.run(discard()) == 1000


def test_a_client_that_closes_the_connection_is_told_from_one_that_is_slow() -> None:
    with pytest.raises(BrokenOffError):
        asyncio.run(read(Client(), announced=10, most=100))


def test_a_body_in_crumbs_is_given_up_and_one_in_many_blocks_of_some_size_is_read() -> None:
    client = Client([b"a"] * 5000)

    async def read_crumbs() -> None:
        body = Arrival(client.receive, announced=None)
        with pytest.raises(TimeoutError):
            await body.read(100_000)
        await body.discard()

    asyncio.run(read_crumbs())

    assert client.received == 1002
    sized = Client([b"a" * 64] * 5000)
    assert len(asyncio.run(read(sized, announced=None, most=1_000_000))) == 320_000


def test_time_is_given_by_what_has_arrived() -> None:
    allowed = [arrival.seconds_allowed(size) for size in (0, 16 * 1024)]

    assert allowed == [20, 21]
    assert arrival.seconds_allowed(16 * 1024 * 1024) < 20 * 60
