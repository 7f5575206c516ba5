"""When a mail goes again: delays, jitter, what the provider asks for, and the end of it."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postledger.deliveries.entries import StreamKind
from postledger.dispatch import retry
from postledger.dispatch.retry import Policy
from postledger.mailing.terms import JobPolicy

GATEWAY = retry.read("5: 1 5 30 120 600 +-25%")
PLAIN = Policy(attempts=4, delays=(1, 4, 10))
MIDDLE = 0.5  # the chance at which jitter changes nothing


def seconds(
    policy: Policy, attempts: int, *, chance: float = MIDDLE, retry_after: float | None = None
) -> float | None:
    asked = None if retry_after is None else timedelta(seconds=retry_after)
    delay = retry.delay(policy, attempts=attempts, retry_after=asked, chance=chance)
    return None if delay is None else delay.total_seconds()


def test_each_kind_waits_as_promised_and_then_gives_up() -> None:
    for kind, delays in (
        (StreamKind.TRANSACTIONAL, [1, 5, 30, 120, None]),
        (StreamKind.CAMPAIGN, [1, 4, 10, None]),
        (StreamKind.TOPIC, [0, 2, None]),
    ):
        policy = retry.DEFAULTS[kind]

        assert [seconds(policy, n) for n in range(1, len(delays) + 1)] == delays, kind


def test_the_delay_is_that_of_the_attempt_just_made() -> None:
    for policy, attempts, expected in (
        (Policy(3, (1, 5, 30, 120)), 2, 5),  # spare delays change nothing
        (Policy(5, (1, 5, 30, 120)), 4, 120),  # and serve when the attempts are raised
        (Policy(9, (1, 5)), 2, 5),
        (Policy(9, (1, 5)), 8, 5),  # too few: the last one stays
        (Policy(9, (1, 5)), 9, None),
        (Policy(1, (1,)), 1, None),
        (Policy(2, (0,)), 1, 0),
        (Policy(4, (1, 4, 10)), 40, None),  # a policy that was shortened meanwhile
    ):
        assert seconds(policy, attempts) == expected, (policy, attempts)


def test_what_the_provider_asks_for_wins_when_it_is_longer() -> None:
    for asked, expected in ((None, 4), (0, 4), (3.9, 4), (4, 4), (4.1, 4.1), (3600, 3600)):
        assert seconds(PLAIN, 2, retry_after=asked) == expected
    assert seconds(PLAIN, 4, retry_after=60) is None, "it gives no further attempt"


@given(st.integers(1, 4), st.floats(0, 1))
def test_jitter_never_leaves_its_bounds(attempts: int, chance: float) -> None:
    plain = GATEWAY.delays[attempts - 1]

    delay = seconds(GATEWAY, attempts, chance=chance)

    assert delay is not None
    assert plain * 0.75 - 1e-6 <= delay <= plain * 1.25 + 1e-6
    bounds = [seconds(GATEWAY, attempts, chance=end) for end in (0.0, 1.0)]
    assert bounds == [plain * 0.75, plain * 1.25], "and reaches them"


def test_the_cap_limits_the_policy_and_not_the_provider() -> None:
    policy = Policy(attempts=3, delays=(100,), jitter=0.5, longest=60)

    for chance, asked, expected in (
        *((0.5, None, 60), (1.0, None, 60), (0.0, None, 50)),
        *((0.5, 90, 90), (0.5, 30, 60)),
    ):
        assert seconds(policy, 1, chance=chance, retry_after=asked) == expected


def test_a_policy_is_read_as_operators_write_it() -> None:
    for text, policy in (
        ("1: 0", Policy(1, (0,))),
        (" 4: 1 4 10 ", Policy(4, (1, 4, 10))),
        ("5: 1 5 30 120 600 +-25%", Policy(5, (1, 5, 30, 120, 600), jitter=0.25)),
        ("3: 0 2 7 max 120", Policy(3, (0, 2, 7), longest=120)),
        ("3: 0.5 2 +-100% max 60", Policy(3, (0.5, 2), jitter=1.0, longest=60)),
        ("9999: 999999", Policy(9999, (999999,))),
    ):
        assert retry.read(text) == policy


def test_what_is_no_policy_is_refused_with_how_to_write_one() -> None:
    unreadable = (
        *("", "5", "5:", "5: ", "5 1 5", "5: 1, 5", "5: 1 -5", "5: 1 5s", "5: 1  5"),
        *("5: 1 5 +-25", "5: 1 5 max 60 +-25%", "10000: 1", "5: 1000000", "5: 1\n5: 2"),
    )
    senseless = {"0: 1": "at least one attempt", "3: 1 +-101%": "between 0 and 1"}
    for text, complaint in (dict.fromkeys(unreadable, "write it as") | senseless).items():
        with pytest.raises(ValueError, match=complaint):
            retry.read(text)


def test_a_policy_that_makes_no_sense_cannot_be_made() -> None:
    for attempts, delays, jitter in (
        *((0, (1,), 0.0), (-1, (1,), 0.0), (1, (), 0.0)),
        *((1, (1, -1), 0.0), (1, (1,), -0.1), (1, (1,), 1.1)),
    ):
        with pytest.raises(ValueError, match="a retry policy"):
            Policy(attempts, delays, jitter)


def test_a_rest_doubles_from_a_second_to_a_minute_and_one_for_a_quota_to_an_hour() -> None:
    rests = [retry.backoff(times).total_seconds() for times in (1, 2, 3, 4, 5, 6, 7, 8, 10_000)]
    waits = [retry.quota_backoff(times).total_seconds() / 60 for times in (1, 2, 3, 6, 7, 10_000)]

    assert rests == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert waits == [1, 2, 4, 32, 60, 60]


def test_only_the_second_attempt_of_a_job_may_follow_at_once() -> None:
    for schedule in ([], [0], [0, 0], [0, 999, 0]):
        policy = retry.adapt(PLAIN, JobPolicy(max_attempts=5, retry_schedule_ms=schedule))

        assert [seconds(policy, attempts) for attempts in range(1, 6)] == [0, 1, 1, 1, None]
