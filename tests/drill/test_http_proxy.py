"""The drill's proxy before a vendor knows, without our client, which answers leave a doubt."""

from tools.drill import sendgrid, ses

TAKEN = b'{"MessageId": "0100"}'


def answer(status: int, body: bytes, *, name: str = "", message_id: str = "") -> bytes:
    header = f"x-amzn-ErrorType: {name}\r\n" if name else ""
    header += f"X-Message-Id: {message_id}\r\n" if message_id else ""
    return f"HTTP/1.1 {status} X\r\n{header}Content-Length: {len(body)}\r\n\r\n".encode() + body


def test_an_answer_is_certain_only_if_it_is_whole_and_of_ses() -> None:
    for given, code in (
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
    ):
        assert ses.DIALECT.judge_answer(given) == code, given


ERRORS = b'{"errors": [{"message": "no", "field": null, "help": null}]}'


def test_an_answer_is_certain_only_if_it_is_whole_and_of_sendgrid() -> None:
    for given, code in (
        (answer(202, b"", message_id="m"), 250),
        (answer(400, ERRORS), 550),
        (answer(413, ERRORS), 550),
        (answer(403, ERRORS), 451),
        (answer(429, ERRORS), 451),
        (answer(500, ERRORS), 451),
        (answer(503, b"<html>"), 451),
        (answer(202, b""), None),
        (answer(202, b"", message_id=" "), None),
        (answer(202, b"", message_id="no id"), None),
        (answer(202, b"", message_id="m")[:-1], None),
        (answer(502, b"<html>"), None),
        (b"\x00garbage", None),
    ):
        assert sendgrid.DIALECT.judge_answer(given) == code, given
