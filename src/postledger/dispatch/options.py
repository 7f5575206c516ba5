"""The options of a dispatcher, and the leases that follow from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from postledger.deliveries.entries import StreamKind
from postledger.dispatch import retry
from postledger.dispatch.capacity import Limits
from postledger.dispatch.retry import Policy
from postledger.pacing.limits import Horizon, Reserve


@dataclass(frozen=True, slots=True)
class Options:
    shortest_lease: timedelta = timedelta(seconds=120)
    largest_window: int = 50
    stop_within: timedelta = timedelta(seconds=45)  # for calls under way when the process stops
    policies: Mapping[StreamKind, Policy] = field(default_factory=lambda: retry.DEFAULTS)
    limits: Limits = field(default_factory=Limits)
    is_sending: bool = True  # off: nothing is claimed, whatever is due
    # Where mails are granted, and where the witness is kept, also in a file in the folder.
    redis_url: str = ""
    reserve: Reserve = field(default_factory=Reserve)
    review_every: timedelta = timedelta(seconds=15)  # the limits of streams that are held
    horizon: Horizon = field(default_factory=Horizon)
    state_folder: Path | None = None


# The longest time between the end of a call and the commit of its result.
_MARGIN = timedelta(seconds=20)


def lease_time(shortest: timedelta, call_time: float) -> timedelta:
    """The lease that leaves room for one call: the shortest one, or longer for slow providers.

    With 120 s, an HTTP call of up to 80 s fits the shortest lease; an SMTP server that may take
    eleven minutes to answer gets fifteen. Whatever the shortest is, a call has the margin's length
    to begin in: a lease in which none could begin would be taken again and again.
    """
    call = timedelta(seconds=call_time)
    fits = call + 2 * margin(shortest) <= shortest
    return shortest if fits else call + 2 * max(shortest, _MARGIN)


def margin(lease: timedelta) -> timedelta:
    return min(_MARGIN, lease / 6)


def time_for_calls(lease: timedelta) -> float:
    """Seconds by which every call has to be over, counted from before the arm was sent, on a clock
    that also runs while the machine sleeps: the lease has been running at least that long.
    """
    return (lease - margin(lease)).total_seconds()
