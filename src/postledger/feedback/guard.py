"""Decides whether a run stops itself because too many of its mails bounce or are complained of.

Pure. Its figures count mails that were reported about, not all that were accepted: events come
later than acceptances, and mails still without a report would make every rate look small.
"""

from dataclasses import dataclass

from postledger.deliveries.reasons import Reason
from postledger.feedback.rates import lower_bound


@dataclass(frozen=True, slots=True)
class Tally:
    """What was reported of a run's mails since it began, or since a person released it."""

    reported: int
    bounced: int  # without the account's own suppression list
    complained: int


@dataclass(frozen=True, slots=True)
class Limit:
    """A share of mails, judged cautiously from few mails on, and plainly from more."""

    least: int  # mails, before anything is judged
    share: float  # the lower bound may not exceed it
    plain_least: int
    plain_share: float  # the share itself may not reach it

    def is_exceeded(self, count: int, total: int) -> bool:
        if total >= self.least and lower_bound(count, total) > self.share:
            return True
        return total >= self.plain_least and count / total >= self.plain_share


@dataclass(frozen=True, slots=True)
class Limits:
    bounces: Limit = Limit(200, 0.03, 500, 0.05)
    complaints: Limit = Limit(1000, 0.001, 1000, 0.003)


@dataclass(frozen=True, slots=True)
class GuardStop:
    reason: Reason
    detail: str  # one sentence with the figures


def judge(tally: Tally, limits: Limits) -> GuardStop | None:
    if limits.bounces.is_exceeded(tally.bounced, tally.reported):
        detail = _describe(tally.bounced, tally.reported, "bounced", limits.bounces.share)
        return GuardStop(Reason.BOUNCE_RATE, detail)
    if limits.complaints.is_exceeded(tally.complained, tally.reported):
        detail = _describe(
            tally.complained, tally.reported, "were called spam", limits.complaints.share
        )
        return GuardStop(Reason.COMPLAINT_RATE, detail)
    return None


def _describe(count: int, total: int, verb: str, limit: float) -> str:
    return (
        f"{count:,} of {total:,} mails that were reported about {verb} ({count / total:.1%});"
        f" the limit is {limit:.1%}."
    )
