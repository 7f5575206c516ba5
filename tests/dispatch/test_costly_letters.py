"""A letter that costs much to fill in holds up its own stream, and no other."""

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from postledger.contacts.standings import Standings
from postledger.content.rendering.letter import Letter, Script
from postledger.deliveries.entries import Batch, Body, StreamKind, Window
from postledger.deliveries.ledger import shared_position
from postledger.dispatch.rounds import pipeline
from postledger.dispatch.rounds.compose import Composer
from postledger.dispatch.rounds.round_input import RoundInput
from tests.dispatch.test_compose import SENDER, STREAM, facts, recipients
from tests.providers.messages import NOON

TAGS = "<p>{% if name %}Hello{% endif %}</p>"


def test_quick_steps_are_all_taken_at_once() -> None:
    for count in (0, 1, 3):
        taken: list[int] = []

        assert pipeline._finish(_steps(taken, count, seconds=0), within=60)
        assert taken == list(range(count))


def test_slow_steps_are_left_for_a_thread_and_none_is_taken_twice() -> None:
    taken: list[int] = []
    steps = _steps(taken, 5, seconds=0.02)

    assert not pipeline._finish(steps, within=0.01)
    assert taken == [0]
    assert asyncio.run(asyncio.to_thread(pipeline._finish, steps))
    assert taken == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("is_slow", [True, False])
def test_what_may_be_slow_is_composed_beside_the_loop_from_its_first_mail(*, is_slow: bool) -> None:
    threads: list[int] = []

    def take() -> Iterator[None]:
        threads.append(threading.get_ident())
        yield

    asyncio.run(pipeline._take_steps(take(), is_slow=is_slow))

    assert (threads != [threading.get_ident()]) is is_slow


@pytest.mark.parametrize(("html", "has_tags"), [("<p>{{ name }}</p>", False), (TAGS, True)])
def test_a_letter_with_tags_may_be_slow_until_its_first_mail(html: str, *, has_tags: bool) -> None:
    composer = Composer(facts(StreamKind.CAMPAIGN), SENDER, NOON, sign=str)
    letter, at = Letter(Script("News", html, "News")), shared_position(0)
    read = RoundInput(
        recipients("alice@example.com"), {at: Body()}, Standings({}, {}), letters={at: letter}
    )

    assert composer.has_untried_tags(read) is has_tags
    assert composer.compose([Window(Batch(1, STREAM, 0, 1, 1, 0), 1)], read).mails
    assert not composer.has_untried_tags(read)


def _steps(taken: list[int], count: int, *, seconds: float) -> Iterator[None]:
    for number in range(count):
        time.sleep(seconds)
        taken.append(number)
        yield
