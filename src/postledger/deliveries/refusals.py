"""Says why a click on a mail changed nothing, and what can be done instead."""

from datetime import datetime

from postledger.deliveries.queries import StreamFacts
from postledger.deliveries.states import State
from postledger.deliveries.undecided import Left

_STANDS: dict[State, str] = {
    State.WAITING: "it waits to be sent",
    State.ACCEPTED: "it was accepted",
    State.FAILED: "it failed",
    State.SKIPPED: "it was skipped",
    State.SUPPRESSED: "it was suppressed",
    State.EXPIRED: "it expired",
    State.CANCELLED: "it was cancelled",
    State.IN_DOUBT: "it is in doubt",
}
_IS_NOT: dict[State, str] = {
    State.IN_DOUBT: "it is not in doubt now",
    State.FAILED: "it is no failure now",
}


def why_left(left: Left, stream: StreamFacts, *, before: State, makes_wait: bool) -> str:
    """The reason a click from `before` did not apply, as part of a sentence."""
    if left.state is not before:
        when = f" {time(left.settled_at)}" if left.settled_at else ""
        return f"{_IS_NOT[before]}: {_STANDS[left.state]}{when}"
    if makes_wait and stream.cancelled_at:
        return (
            f"its stream was cancelled {time(stream.cancelled_at)} by {stream.cancelled_by},"
            " so nothing of it is sent any more"
        )
    if makes_wait and left.is_leaving and left.resend_after:
        return (
            f"bytes of its doubtful try may still leave until {time(left.resend_after)},"
            " so it is not sent again before that"
        )
    if makes_wait and left.is_covered:
        return "mails beside it are with the provider just now; try again in some minutes"
    return "it changed while it was looked at; look again"


def time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} {moment.tzname()}"
