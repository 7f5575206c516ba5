"""Whatever a body holds, and however lenient the server, it is one message."""

import asyncio
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postledger.providers.base import Accepted, Outcome
from postledger.providers.smtp import framing
from postledger.providers.smtp.framing import Frame
from postledger.providers.smtp.provider import Smtp
from tests.providers.fake_smtp import FEATURES, LENIENT, STRICT, FakeSmtp, serving
from tests.providers.messages import a_letter, a_message, send
from tests.providers.stands import opened, smtp_settings

ENDS = ["\n", "\r", "\r\n"]
SECOND = "MAIL FROM:<a@evil.example>\r\nRCPT TO:<b@evil.example>\r\nDATA\r\nsmuggled\r\n.\r\n"
ENDINGS = [
    *(f"{before}.{after}" for before in ENDS for after in ENDS),
    "\r\n\0.\r\n",
    "\r\r\n.\r\r\n",
    "\n\r.\n\r",
    "\r\n.\r\n.\r\n",
    "\r\n..\r\n",
    ".\r\n",
]


@pytest.mark.parametrize("end_of_data", [STRICT, LENIENT], ids=["strict", "lenient"])
def test_no_body_smuggles_a_second_message(end_of_data: re.Pattern[bytes]) -> None:
    bodies = [f"{start}{ending}{SECOND}" for start in ("", "first") for ending in ENDINGS]
    window = [
        *(a_message(content=f"Subject: x\r\n\r\n{body}".encode()) for body in bodies),
        *(a_message(content=replace(a_letter(), text=body, html=body)) for body in bodies),
    ]

    async def play(server: FakeSmtp) -> list[Outcome]:
        async with serving(server), opened(Smtp(smtp_settings(server))) as provider:
            return await send(provider, window)

    for features in (FEATURES, FEATURES[1:]):
        server = FakeSmtp(end_of_data=end_of_data, features=features)

        outcomes = asyncio.run(play(server))

        assert {type(outcome) for outcome in outcomes} == {Accepted}, features
        assert server.recipients == ["alice@example.com"] * len(window), features
        assert not any(line.startswith("MAIL FROM:<a@evil") for line in server.said), features


@pytest.mark.slow
@given(st.lists(st.sampled_from([b"\r", b"\n", b"\r\n", b".", b"..", b"a", b"\0"])).map(b"".join))
@settings(max_examples=500)
def test_framed_data_ends_nowhere_but_at_its_end(body: bytes) -> None:
    framed = framing.frame(a_message(content=body))

    assert isinstance(framed, Frame)
    wire = framed.data + framing.DOT
    assert [ending.end() for ending in LENIENT.finditer(wire)] == [len(wire)]
    assert wire.count(b"\r\n") == wire.count(b"\r") == wire.count(b"\n")
    undone = re.sub(rb"(^|\r\n)\.", rb"\1", framed.data)
    assert undone == framing.with_crlf(body)
    assert framed.size == len(undone)


def test_clean_data_is_passed_on_without_a_copy() -> None:
    clean = b"Subject: x\r\n\r\nhello\r\n"

    assert framing.with_crlf(clean) is clean
