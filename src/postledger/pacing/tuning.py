"""Finds the rate that a provider takes: throttle answers lower it, clean seconds raise it.

Pure: a state, an event and the limiter's time in, the next state out. The rate belongs to an
account and is shared by all who send over it.
"""

from dataclasses import dataclass, replace
from typing import assert_never

LOWERED_TO = 0.7
# A window's mails are answered within about this time: their throttles are one event.
SHORTEST_BETWEEN_LOWERINGS = 1.0  # seconds
LOWEST_RATE = 1.0  # mails per second: a throttle costs no attempt, and a slow start costs minutes
# Lowerings that follow one another are one trouble: the rate before it stays the aim, and is given
# up step by step if the provider really takes less.
_AIM_KEPT = 0.9

# A clean second moves the rate by a share of the distance to where it was last throttled, and by
# a small share of itself. So it is back near that point soon, dwells there, and goes on faster
# and faster if the provider takes more than before.
_SHARE_OF_DISTANCE = 0.1
_SHARE_OF_RATE = 0.005
# A second counts as clean only if it used this share of the rate: idle seconds prove nothing.
_LEAST_USE = 0.5
_MOST_SECONDS = 5  # that one answer may show to be clean


@dataclass(frozen=True, slots=True)
class Accepted:
    """The provider took mails."""

    count: int = 1


@dataclass(frozen=True, slots=True)
class Throttled:
    """The provider said that mail comes too fast."""

    granted_at: float  # when the limiter gave the mail its moment


type Event = Accepted | Throttled


@dataclass(frozen=True, slots=True)
class Tuning:
    """What an account's answers have shown; times are seconds of the limiter's clock."""

    rate: float | None = None  # mails per second; None: never throttled
    throttled_rate: float = 0.0  # at the last lowering, or before those that came right after it
    lowered_at: float | None = None
    counted_since: float | None = None  # the start of the second in which mails are counted
    accepted: int = 0  # since then
    accepted_before: int = 0  # in the second before that


def find_rate(tuning: Tuning, limit: float | None) -> float | None:
    """The rate to send at: the tuned one, at most the configured one; None is without limit."""
    if tuning.rate is None or limit is None:
        return limit if tuning.rate is None else tuning.rate
    return min(tuning.rate, limit)


def tune(tuning: Tuning, event: Event, now: float, *, limit: float | None = None) -> Tuning:
    """The state after an event. `limit` is the account's configured rate, if it has one."""
    match event:
        case Accepted(count):
            counted = replace(tuning, accepted=tuning.accepted + count)
            return _close_second(counted, now, limit)
        case Throttled(granted_at):
            if _is_known(tuning, granted_at, now):
                return tuning
            return _lower(tuning, now, limit)
        case _:
            assert_never(event)


def _is_known(tuning: Tuning, granted_at: float, now: float) -> bool:
    """Whether the last lowering already answers this throttle.

    A mail that was granted before it went at the old rate. A time ahead of the clock is a clock
    that was set back, and answers nothing.
    """
    if tuning.lowered_at is None or tuning.lowered_at > now:
        return False
    is_soon = now - tuning.lowered_at < SHORTEST_BETWEEN_LOWERINGS
    return is_soon or granted_at <= tuning.lowered_at


def _lower(tuning: Tuning, now: float, limit: float | None) -> Tuning:
    rate = find_rate(tuning, limit)
    if rate is None:  # sent without limit: what was taken within a second is the best guess
        rate = max(tuning.accepted, tuning.accepted_before, 1.0)
    return Tuning(
        rate=max(rate * LOWERED_TO, LOWEST_RATE),
        throttled_rate=max(rate, tuning.throttled_rate * _AIM_KEPT),
        lowered_at=now,
        counted_since=now,
    )


def _close_second(tuning: Tuning, now: float, limit: float | None) -> Tuning:
    """Starts the next second if this one is over, and raises the rate for what has passed."""
    if tuning.counted_since is None or tuning.counted_since > now:
        return replace(tuning, counted_since=now)
    seconds = int(now - tuning.counted_since)
    if not seconds:
        return tuning
    return replace(
        tuning,
        rate=_raise_rate(tuning, seconds, limit),
        counted_since=now,
        accepted=0,
        # Several seconds together say nothing about the fullest one.
        accepted_before=tuning.accepted // seconds,
    )


def _raise_rate(tuning: Tuning, seconds: int, limit: float | None) -> float | None:
    rate = tuning.rate
    if rate is None:
        return None
    if tuning.accepted < _LEAST_USE * rate * seconds:
        return rate
    # A round's answers come together, and show the seconds that the round took.
    for _ in range(min(seconds, _MOST_SECONDS)):
        rate += _SHARE_OF_RATE * rate + _SHARE_OF_DISTANCE * abs(tuning.throttled_rate - rate)
    return rate if limit is None else min(rate, limit)
