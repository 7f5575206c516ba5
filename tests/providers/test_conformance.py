"""What every provider promises, whatever it speaks to."""

import asyncio
import re
from collections.abc import Awaitable, Callable

import pytest

from postledger.lib.clock import boottime
from postledger.providers import registry
from postledger.providers.base import (
    Accepted,
    InDoubt,
    NotSent,
    Outcome,
    Refused,
    SenderBlocked,
    Throttled,
    TryLater,
)
from tests.providers.messages import a_letter, a_message, closing, send
from tests.providers.stands import SLOW, STANDS, Stand, Stands

pytestmark = [pytest.mark.slow, pytest.mark.sample]

OUTCOMES: dict[str, type[Outcome]] = {
    "alice": Accepted,
    "refuse": Refused,
    "later": TryLater,
    "throttle": Throttled,
    "block": SenderBlocked,
    "broken": TryLater,
    "vanish": InDoubt,
    "slow": Accepted,
}
# Servers of the stands, and connections that a server has not accepted yet.
SERVERS_OWN = re.compile(r"FakeSmtp|Connection\._serve|_Side|_accept_connection")
MAYBE_TAKEN = (Accepted, InDoubt)


@pytest.fixture(params=STANDS)
def stands(request: pytest.FixtureRequest) -> Stands:
    return STANDS[request.param]


def at(
    stands: Stands,
    story: Callable[[Stand], Awaitable[None]],
    *,
    lanes: int = 4,
    patience: float = 5.0,
) -> None:
    async def play() -> None:
        async with stands(lanes, patience) as stand:
            await story(stand)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not [task for task in left if not SERVERS_OWN.search(str(task.get_coro()))]

    asyncio.run(play())


def test_every_provider_of_the_registry_is_here() -> None:
    assert set(STANDS) == set(registry.KINDS)


def is_storable(outcome: Outcome) -> bool:
    texts = [text for name in ("id", "code", "detail") if (text := getattr(outcome, name, ""))]
    return bool(texts) and all(text.isprintable() and text.encode() for text in texts)


def test_each_answer_is_its_outcome(stands: Stands) -> None:
    async def story(stand: Stand) -> None:
        for word, expected in OUTCOMES.items():
            before = len(stand.taken())

            [outcome] = await send(stand.provider, stand.window(f"{word}@example.com"))

            assert type(outcome) is expected, word
            assert len(stand.taken()) - before == isinstance(outcome, MAYBE_TAKEN), word
            assert is_storable(outcome), word

        # A message may be a letter, or have the form of the provider.
        window = [a_message(content=a_letter()), *stand.window("bob@example.com")]
        outcomes = await send(stand.provider, window)
        assert [type(outcome) for outcome in outcomes] == [Accepted, Accepted]

    at(stands, story)


@pytest.mark.parametrize("lanes", [1, 4])
def test_one_failing_address_never_stops_the_others(stands: Stands, lanes: int) -> None:
    async def story(stand: Stand) -> None:
        words = [word for word in OUTCOMES for _ in range(3)]
        window = stand.window(*(f"{word}+{n}@example.com" for n, word in enumerate(words)))

        outcomes = await send(stand.provider, window)

        assert [type(outcome) for outcome in outcomes] == [OUTCOMES[word] for word in words]
        assert sorted(stand.taken()) == sorted(
            message.recipient
            for message, outcome in zip(window, outcomes, strict=True)
            if isinstance(outcome, MAYBE_TAKEN)
        )

    at(stands, story, lanes=lanes)


def test_a_window_is_handed_over_in_its_order(stands: Stands) -> None:
    async def story(stand: Stand) -> None:
        window = stand.window(*(f"r{n}@example.com" for n in range(30)))

        await send(stand.provider, window)

        assert stand.taken() == [message.recipient for message in window]

    at(stands, story, lanes=1)


@pytest.mark.parametrize("word", ["twice", "garbage", "nul"])
@pytest.mark.parametrize("lanes", [1, 4])
def test_a_service_that_talks_nonsense_about_one_mail_gets_the_others(
    stands: Stands, word: str, lanes: int
) -> None:
    async def story(stand: Stand) -> None:
        others = [f"r{n}@example.com" for n in range(6)]
        window = stand.window(*others[:3], f"{word}@example.com", *others[3:])

        outcomes = await send(stand.provider, window)

        nonsense = outcomes.pop(3)
        assert {type(outcome) for outcome in outcomes} == {Accepted}
        assert isinstance(nonsense, (Accepted, InDoubt, Refused))
        assert is_storable(nonsense)
        assert (f"{word}@example.com" in stand.taken()) == isinstance(nonsense, MAYBE_TAKEN)
        assert sorted(set(stand.taken()) - {f"{word}@example.com"}) == others

    at(stands, story, lanes=lanes)


def test_two_windows_at_once_get_their_own_outcomes(stands: Stands) -> None:
    async def story(stand: Stand) -> None:
        one = stand.window(*(f"r{n}@example.com" for n in range(10)))
        other = stand.window(*(f"refuse+{n}@example.com" for n in range(10)))

        accepted, refused = await asyncio.gather(
            send(stand.provider, one), send(stand.provider, other)
        )

        assert {type(outcome) for outcome in accepted} == {Accepted}
        assert {type(outcome) for outcome in refused} == {Refused}

    at(stands, story)


def test_an_outcome_is_told_as_soon_as_it_is_known_and_who_leaves_then_leaves_nothing_running(
    stands: Stands,
) -> None:
    async def story(stand: Stand) -> None:
        window = stand.window("hang@example.com", "alice@example.com", "hang@example.com")
        async with closing(stand.provider, window) as outcomes:
            index, outcome = await anext(outcomes)

        assert (index, type(outcome)) == (1, Accepted)

    at(stands, story)


def test_the_deadline_ends_a_window_and_nothing_is_started_after_it(stands: Stands) -> None:
    async def story(stand: Stand) -> None:
        window = stand.window("alice@example.com", "hang@example.com", "slow@example.com")
        outcomes = await send(stand.provider, window, within=-0.001)
        assert {type(outcome) for outcome in outcomes} == {NotSent}
        assert stand.taken() == []

        deadline = boottime() + stand.provider.call_time + 0.2
        told = dict([pair async for pair in stand.provider.send(window[:2], deadline)])
        types = {index: type(outcome) for index, outcome in told.items()}
        assert types == {0: Accepted, 1: InDoubt}
        assert boottime() < deadline + 5

    at(stands, story, patience=1)


def test_a_machine_that_slept_through_the_deadline_takes_up_nothing_more(stands: Stands) -> None:
    """Its timers did not run: only the clock, read directly before each hand-over, tells."""

    lanes = 2

    async def story(stand: Stand) -> None:
        window = stand.window("alice@example.com", *(f"slow+{n}@example.com" for n in range(5)))
        sending = asyncio.ensure_future(send(stand.provider, window, within=600))
        await until(lambda: bool(stand.taken()))
        stand.clock.sleep(3600.0)

        outcomes = await sending

        types = [type(outcome) for outcome in outcomes]
        in_flight = lanes if stand.interrupted_while_slow is InDoubt else 0
        assert types[0] is Accepted
        assert set(types[1 : 1 + in_flight]) <= {Accepted, NotSent}  # their answers are still read
        assert set(types[1 + in_flight :]) == {NotSent}
        assert len(stand.taken()) == types.count(Accepted)

    at(stands, story, lanes=lanes)


class Collector:
    """Iterates in a task of its own, which can be cancelled."""

    def __init__(self, stand: Stand, *recipients: str) -> None:
        self.window = stand.window(*recipients)
        self.outcomes: dict[int, Outcome] = {}
        self.task = asyncio.ensure_future(self._collect(stand))

    async def _collect(self, stand: Stand) -> None:
        async for index, outcome in stand.provider.send(self.window, boottime() + 60):
            assert index not in self.outcomes
            self.outcomes[index] = outcome

    async def cancelled(self, times: int = 1) -> list[type[Outcome]]:
        for _ in range(times):
            self.task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await self.task
        return [type(self.outcomes[index]) for index in range(len(self.window))]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110  the server under test has no event to offer
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("times", [1, 3])
def test_a_cancelled_window_still_tells_every_outcome(stands: Stands, times: int) -> None:
    async def story(stand: Stand) -> None:
        collector = Collector(stand, "alice@example.com", "hang@example.com", "slow@example.com")
        slow = stand.interrupted_while_slow
        taken = ["alice@example.com", "hang@example.com", "slow@example.com"]
        taken = taken if slow is InDoubt else taken[:2]
        await until(lambda: sorted(stand.taken()) == taken and 0 in collector.outcomes)

        assert await collector.cancelled(times) == [Accepted, InDoubt, slow]
        await asyncio.sleep(2 * SLOW)
        assert sorted(stand.taken()) == taken

    at(stands, story)


def test_a_window_cancelled_at_once_is_not_sent_and_the_provider_serves_on(stands: Stands) -> None:
    async def story(stand: Stand) -> None:
        collector = Collector(stand, *(f"slow+{n}@example.com" for n in range(9)))
        await asyncio.sleep(0)
        assert set(await collector.cancelled()) == {NotSent}
        assert stand.taken() == []

        collector = Collector(stand, "hang@example.com", *["slow@example.com"] * 5)
        await until(lambda: "hang@example.com" in stand.taken())
        await collector.cancelled()
        outcomes = await send(stand.provider, stand.window(*["alice@example.com"] * 8))
        assert {type(outcome) for outcome in outcomes} == {Accepted}

    at(stands, story)
