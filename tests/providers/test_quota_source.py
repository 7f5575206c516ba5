"""A quota is read from a URL: one number, from a public address, and nothing secret is repeated."""

import asyncio
import json

import pytest
from pydantic import ValidationError

from postledger.providers import public_addresses, quota_source
from postledger.providers.base import QuotaReading, QuotaUnreadError
from postledger.providers.quota_source import QuotaSource
from tests.providers.raw_server import Part, Peer, RawServer

TOKEN = "made-up-token"


def answering(
    document: object = None, *, status: str = "200 OK", body: bytes | None = None, head: str = ""
) -> Part:
    async def answer(peer: Peer) -> None:
        await peer.read_request()
        content = json.dumps(document).encode() if body is None else body
        peer.say(f"HTTP/1.1 {status}\r\n{head}Content-Length: {len(content)}\r\n\r\n".encode())
        peer.say(content)
        await peer.close()

    return answer


def read(
    part: Part, *, path: str = "left", seconds: float = 10, **settings: object
) -> tuple[QuotaReading, RawServer]:
    async def play() -> tuple[QuotaReading, RawServer]:
        async with RawServer((part,)).running() as server:
            url = f"http://127.0.0.1:{server.port}/v1/quota?key=url-secret"
            source = QuotaSource.model_validate({"url": url, "path": path, **settings})
            return await quota_source.read_quota(source, seconds=seconds), server

    return asyncio.run(play())


def fail(part: Part, **more: object) -> str:
    with pytest.raises(QuotaUnreadError) as raised:
        read(part, token=TOKEN, **more)  # type: ignore[arg-type]  # of several types
    text = str(raised.value)
    assert TOKEN not in text
    assert "url-secret" not in text
    return text


def test_the_number_at_the_path_is_what_is_left() -> None:
    cases: list[tuple[object, str, int]] = [
        ({"left": 12}, "left", 12),
        ({"data": {"credits": [{"left": 1}, {"left": 99.9}]}}, "data.credits.1.left", 99),
        ([0], "0", 0),
        ({"0": 7}, "0", 7),
        ({"left": 1e300}, "left", quota_source.MOST),
    ]
    for document, path, remaining in cases:
        reading, _ = read(answering(document), path=path)

        assert reading == QuotaReading(remaining), document


def test_the_token_goes_in_its_header() -> None:
    for header, line in [
        ("", f"Authorization: Bearer {TOKEN}"),
        ("X-Api-Key", f"X-Api-Key: {TOKEN}"),
    ]:
        _, server = read(answering({"left": 1}), token=TOKEN, header=header)

        lines = bytes(server.peers[0].received).decode().split("\r\n")
        assert lines[0] == "GET /v1/quota?key=url-secret HTTP/1.1", header
        assert line in lines, header
        assert f"Host: 127.0.0.1:{server.port}" in lines, header


def test_anything_but_a_number_of_at_least_0_is_an_error() -> None:
    cases: list[tuple[object, str]] = [
        ({"left": -1}, "left"),
        ({"left": "12"}, "left"),
        ({"left": None}, "left"),
        ({"left": True}, "left"),
        ({"left": {}}, "left"),
        ({"left": 1}, "right"),
        ({"left": 1}, "left.more"),
        ({"left": [1]}, "left.1"),
        ({"left": [1]}, "left.-1"),
        ({"left": [1]}, "left.99999999999999"),
    ]
    for document, path in cases:
        assert path in fail(answering(document), path=path), document


def test_what_is_no_json_and_no_number_with_an_end_is_an_error() -> None:
    for body in [b"<html>", b"", b"\xff\xfe{", b"[" * 100_000, b'{"left": ' + b"1" * 5000 + b"}"]:
        assert fail(answering(body=body)) == "The quota's URL did not answer with JSON.", body
    for number in [b"NaN", b"Infinity", b"1e400"]:
        assert "no number" in fail(answering(body=b'{"left": ' + number + b"}")), number
    assert "the status 401" in fail(answering({"left": 5}, status="401 Unauthorized"))
    assert "longer than" in fail(answering({"left": 5, "more": "x" * 300_000}))


def test_a_redirect_is_not_followed_wherever_it_leads() -> None:
    async def play() -> tuple[str, int]:
        async with RawServer((answering({"left": 5}),)).running() as inside:
            location = f"Location: http://127.0.0.1:{inside.port}/\r\n"
            part = answering(status="302 Found", head=location)
            async with RawServer((part,)).running() as server:
                source = QuotaSource.model_validate(
                    {"url": f"http://127.0.0.1:{server.port}/", "path": "left"}
                )
                with pytest.raises(QuotaUnreadError) as raised:
                    await quota_source.read_quota(source)
                return str(raised.value), len(inside.peers)

    text, count = asyncio.run(play())

    assert "redirect (302), which is not followed" in text
    assert count == 0


def test_a_service_that_is_silent_or_hangs_up_is_given_up() -> None:
    async def be_silent(peer: Peer) -> None:
        await peer.read_to_the_end()

    async def hang_up(peer: Peer) -> None:
        await peer.read_request()
        await peer.reset()

    text = fail(be_silent, seconds=0.2)
    assert "gave no answer" in text or "did not answer" in text
    assert "gave no answer" in fail(hang_up)


def test_a_host_inside_a_network_or_that_cannot_exist_is_not_asked() -> None:
    inside = [
        "10.0.0.1",
        "127.1",
        "2130706433",
        "0.0.0.0",  # noqa: S104  asked for, not listened at
        "169.254.169.254",
        "192.168.0.1",
        "100.64.0.1",
        "[::]",
        "[fd00::1]",
        "[fe80::1]",
        "[::ffff:10.0.0.1]",
        "[64:ff9b::a00:1]",
        "[2002:a00:1::]",
        "[::10.0.0.1]",
        "[::ffff:0:10.0.0.1]",
        "[fec0::1]",
        "224.0.0.1",
    ]
    nowhere = ["a..example", f"{'a' * 64}.example"]
    for hosts, words in [
        (inside, "only public addresses are asked"),
        (nowhere, "is not known or cannot be reached"),
    ]:
        for host in hosts:
            source = QuotaSource.model_validate({"url": f"https://{host}/", "path": "left"})

            with pytest.raises(QuotaUnreadError, match=words):
                asyncio.run(quota_source.read_quota(source))


def test_only_a_host_that_names_this_machine_is_on_it() -> None:
    assert asyncio.run(public_addresses.find_addresses("127.0.0.1", 80)) == ["127.0.0.1"]
    assert asyncio.run(public_addresses.find_addresses("1.1.1.1", 80)) == ["1.1.1.1"]
    assert public_addresses.is_public("2606:4700:4700::1111")
    assert not public_addresses.is_here("127.1")


def test_a_wrong_source_is_refused_and_a_right_one_shows_no_secret() -> None:
    cases: list[tuple[dict[str, object], str]] = [
        ({"url": "http://api.example.com/"}, "write it as https"),
        ({"url": "ftp://127.0.0.1/"}, "write it as https"),
        ({"url": "https://user:pass@api.example.com/"}, "write it as https"),
        ({"url": "https://api.example.com:0/"}, "write it as https"),
        ({"url": "https://api.example.com:x/"}, "write it as https"),
        ({"url": "https://api.example.com/a b"}, "write it as https"),
        ({"url": "https://api.example.com/\r\nX: y"}, "write it as https"),
        ({"url": "https:///left"}, "write it as https"),
        ({"path": ""}, "names and indexes"),
        ({"path": "a..b"}, "names and indexes"),
        ({"header": "X Y", "token": "a"}, "name of a header"),
        ({"header": "X-Api-Key"}, "needs a token"),
        ({"token": "a\r\nX: y"}, "line break"),
        ({"unheard_of": 1}, "unheard_of"),
    ]
    usual = {"url": "https://api.example.com/?key=hidden", "path": "left", "token": TOKEN}
    for settings, complaint in cases:
        others = {"url": usual["url"], "path": usual["path"]}

        with pytest.raises(ValidationError, match=complaint):
            QuotaSource.model_validate({**others, **settings})
    shown = repr(QuotaSource.model_validate(usual))
    assert "hidden" not in shown
    assert TOKEN not in shown
