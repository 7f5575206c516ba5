"""How long a lease lasts, and until when a hand-over may begin under it."""

from datetime import timedelta

# What may pass between the last moment of a call and the commit of its result.
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
