"""Limits that people set for senders, accounts and members: which are allowed, in words. Pure."""

import math
from typing import TypedDict

from postledger.lib.errors import RefusedError
from postledger.lib.sentences import Sentence, say

FASTEST = 10_000  # mails a second; a constraint of the table has the same number
# A mail in 28 hours. The limiter forgets a sender after three days without mail, and then lets the
# first one wait again: at a rate below that, none would ever go.
SLOWEST = 0.00001
MOST = 1_000_000_000  # mails an hour or a day
HOUR, DAY = say("an hour"), say("a day")


class InvalidLimitError(RefusedError):
    code = "invalid_limit"


class LimitChanges(TypedDict, total=False):
    """The limits of a sender that change; None removes one, and what is left out stays."""

    rate_per_second: float | None
    rate_per_hour: int | None
    daily_limit: int | None


def check_changes(changes: LimitChanges) -> None:
    check_rate(changes.get("rate_per_second"))
    check_count(changes.get("rate_per_hour"), HOUR)
    check_count(changes.get("daily_limit"), DAY)


def adds_count(changes: LimitChanges, per_hour: int | None, per_day: int | None) -> bool:
    """Whether a limit of the hour or the day is set where there was none."""
    is_new_hour = per_hour is None and changes.get("rate_per_hour") is not None
    is_new_day = per_day is None and changes.get("daily_limit") is not None
    return is_new_hour or is_new_day


def check_rate(rate: float | None) -> None:
    if rate is None:
        return
    if rate == 0:
        raise _refuse_zero(say("a rate of 0 mails a second"))
    if not math.isfinite(rate) or not SLOWEST <= rate <= FASTEST:
        raise InvalidLimitError(
            say(
                "%(rate)s is not a rate of mails a second: use a number from %(slowest)s to"
                " %(fastest)s, such as 5 or 0.5.",
                rate=f"{rate:g}",
                slowest=f"{SLOWEST:.5f}",
                fastest=FASTEST,
            )
        )


def check_count(count: int | None, period: Sentence) -> None:
    """`period` is `HOUR` or `DAY`."""
    if count is None:
        return
    if count == 0:
        raise _refuse_zero(say("a limit of 0 mails %(period)s", period=period))
    if not 1 <= count <= MOST:
        raise InvalidLimitError(
            say(
                "%(count)s is not a number of mails %(period)s: use 1 to %(most)s.",
                count=str(count)[:20],
                period=period,
                most=MOST,
            )
        )


def _refuse_zero(limit: Sentence) -> InvalidLimitError:
    return InvalidLimitError(
        say(
            "No mail would ever go with %(limit)s. To let mail wait, hold its stream: postledger"
            " stream hold. To end a limit, write none.",
            limit=limit,
        )
    )


def describe(
    *,
    rate_per_second: float | None = None,
    rate_per_hour: int | None = None,
    daily_limit: int | None = None,
) -> str:
    """The limits in words; empty without any."""
    limits = (rate_per_second, "a second"), (rate_per_hour, "an hour"), (daily_limit, "a day")
    parts = [f"{most:,.10g} {period}" for most, period in limits if most is not None]
    return f"at most {', '.join(parts)}" if parts else ""
