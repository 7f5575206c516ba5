"""How long leases last, and that a call which begins in time ends within its lease."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from postledger.dispatch import options


def of(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


def test_a_lease_leaves_room_for_one_call() -> None:
    for shortest, call_time, lease in (
        (120, 2, 120),
        (120, 40, 120),  # HTTP
        (120, 80, 120),
        (120, 81, 321),
        (120, 660, 900),  # SMTP: a quarter of an hour
        (10, 5, 10),
        (60, 660, 780),
        (5, 660, 700),  # room to begin in, however short a lease an operator wants
        (10, 660, 700),
        (20, 660, 700),
        (3600, 660, 3600),
    ):
        assert options.lease_time(of(shortest), call_time) == of(lease), (shortest, call_time)


@given(st.floats(5, 3600), st.floats(0, 3600))
def test_in_every_lease_a_call_can_begin_and_end(shortest: float, call_time: float) -> None:
    lease = options.lease_time(of(shortest), call_time)

    room = options.time_for_calls(lease) - call_time

    assert lease >= of(shortest)
    assert room >= options.margin(of(shortest)).total_seconds() - 1e-3


def test_calls_end_a_margin_before_the_lease() -> None:
    """It is a sixth of the lease, and at most twenty seconds."""
    for lease, margin in ((6, 1), (12, 2), (60, 10), (120, 20), (900, 20)):
        assert options.margin(of(lease)) == of(margin)
        assert options.time_for_calls(of(lease)) == lease - margin
