"""What the tests of Notion stand on: a time that passes at once, and readers of the fake."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from postledger.content.notion import client, pages
from postledger.content.notion.album import Album
from postledger.content.notion.client import Reader
from postledger.content.notion.pages import Page
from tests.fakes.notion import TOKEN, FakeNotion

PICTURES = "https://mail.example/pictures"
PNG = b"\x89PNG\r\n\x1a\n" + b"a picture"


@dataclass
class Time:
    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@contextmanager
def reading(
    fake: FakeNotion,
    *,
    token: str = TOKEN,
    time: Time | None = None,
    seconds: float = 30.0,
    patience: float = math.inf,
) -> Iterator[Reader]:
    passing = time or Time()
    with client.connect(
        token,
        base_url=fake.url,
        sleep=passing.sleep,
        clock=passing.clock,
        seconds=seconds,
        patience=patience,
    ) as reader:
        yield reader


def album(fake: FakeNotion, folder: Path, *, seconds: float = 10.0) -> Album:
    origins = frozenset({fake.url})
    return Album(folder, base_url=PICTURES, origins=origins, seconds=seconds)


def read(fake: FakeNotion, page_id: str, *, folder: Path) -> Page:
    with reading(fake) as reader:
        return pages.read(reader, page_id, keep=album(fake, folder).keep)
