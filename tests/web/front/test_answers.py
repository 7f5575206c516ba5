"""Answers that are made while they are read leave room for other callers."""

import asyncio
from collections.abc import Iterator
from threading import Event

from django.http import StreamingHttpResponse

from postledger.web.front.answers import Answer, Sender
from tests.web.front.asgi import Reply

PATIENCE = 600.0


def test_slow_streams_of_one_key_leave_threads_for_the_others() -> None:
    may_end = Event()

    def slow() -> Iterator[bytes]:
        may_end.wait(PATIENCE)
        yield b"slow"

    async def read() -> tuple[list[Reply], Reply]:
        sender, slow_replies, quick = Sender(), [Reply() for _ in range(4)], Reply()
        tasks = [
            asyncio.create_task(sender.send(stream(slow()), reply.send, "acme"))
            for reply in slow_replies
        ]
        await asyncio.sleep(0)
        await sender.send(stream(iter([b"quick"])), quick.send, "globex")
        may_end.set()
        await asyncio.gather(*tasks)
        return slow_replies, quick

    slow_replies, quick = asyncio.run(read())

    assert quick.content == b"quick"
    assert [reply.content for reply in slow_replies] == [b"slow"] * 4


def stream(blocks: Iterator[bytes]) -> Answer:
    return Answer(200, [], stream=StreamingHttpResponse(blocks))
