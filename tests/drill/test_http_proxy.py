"""The drill's proxy before SES knows, without our client, which answers leave a doubt."""

import pytest

from tools.drill import http_proxy

TAKEN = b'{"MessageId": "0100"}'


def answer(status: int, body: bytes, *, name: str = "") -> bytes:
    header = f"x-amzn-ErrorType: {name}\r\n" if name else ""
    return f"HTTP/1.1 {status} X\r\n{header}Content-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (answer(200, TAKEN), 250),
        (answer(400, b"{}", name="MessageRejected"), 550),
        (answer(400, b"{}", name="SendingPausedException"), 451),
        (answer(500, b"{}", name="InternalServiceErrorException"), 451),
        (answer(503, b"<html>"), 451),
        (answer(200, TAKEN)[:-1], None),
        (answer(200, b"{}"), None),
        (answer(200, b'{"MessageId'), None),
        (answer(502, b"<html>"), None),
        (b"\x00garbage", None),
        (b"", None),
    ],
)
def test_an_answer_is_certain_only_if_it_is_whole_and_of_ses(
    given: bytes, code: int | None
) -> None:
    assert http_proxy.judge(given) == code
