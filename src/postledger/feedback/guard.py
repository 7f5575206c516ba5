"""Decides when a run stops itself: too many of its mails bounce, or too many people complain.

Pure: counters in, a stop or none out. The guard is an early warning: providers and mailbox
services block a sender at about twice these rates.
"""

import re
from dataclasses import dataclass

from postledger.deliveries.reasons import Reason
from postledger.feedback.rates import wilson_lower_bound


@dataclass(frozen=True, slots=True)
class Limits:
    """What is too much of one kind of report.

    `rate` is compared with the lower bound of the estimate, so that a few early reports stop
    nothing; `stop_rate` with the plain share.
    """

    rate: float
    fewest: int  # mails, before `rate` says anything
    stop_rate: float
    fewest_to_stop: int


_PAIR = r"(\d{1,2}(?:\.\d{1,3})?) ?% of (\d{1,9})"
_WRITTEN = re.compile(f"{_PAIR}, {_PAIR}")
OFF = "off"
BOUNCES = "3% of 200, 5% of 500"
COMPLAINTS = "0.1% of 1000, 0.3% of 1000"


def read_limits(text: str) -> Limits | None:
    """Limits as operators write them: `3% of 200, 5% of 500`; None where they are off."""
    if text.strip() == OFF:
        return None
    match = _WRITTEN.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"write it as {BOUNCES}, or {OFF}")
    rate, fewest, stop_rate, fewest_to_stop = match.groups()
    if not 0 < float(rate) <= float(stop_rate) or not int(fewest) or not int(fewest_to_stop):
        raise ValueError(f"the second rate is at least the first, and none is 0: {BOUNCES}")
    return Limits(float(rate) / 100, int(fewest), float(stop_rate) / 100, int(fewest_to_stop))


@dataclass(frozen=True, slots=True)
class Counts:
    """The mails of a run since it was last released, each counted once for each kind of report.

    `bounced` has the permanent bounces alone, without those of addresses that the account's own
    suppression list kept back: these say nothing about the list that is mailed.
    """

    accepted: int
    delivered: int
    bounced: int
    complained: int

    @property
    def known(self) -> int:
        """The mails whose fate is known. Mail that is still under way dilutes no rate.

        An account that reports no deliveries has no such figure; there the accepted mails serve.
        """
        return self.delivered + self.bounced if self.delivered else self.accepted


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a run stops, with the figures."""

    reason: Reason
    detail: str


def judge(counts: Counts, *, bounces: Limits | None, complaints: Limits | None) -> Stop | None:
    """The stop that these counts ask for; of two, the one for bounces."""
    for reason, limits, hits, verb in (
        (Reason.BOUNCE_RATE, bounces, counts.bounced, "bounced"),
        (Reason.COMPLAINT_RATE, complaints, counts.complained, "were reported as spam"),
    ):
        total = max(counts.known, hits)  # a report may be ahead of the others
        if limits is not None and (limit := _find_passed(limits, hits, total)) is not None:
            share = f"{hits:,} of {total:,} mails {verb} ({_percent(hits / total)})"
            return Stop(reason, f"{share}; limit {_percent(limit)}")
    return None


def _find_passed(limits: Limits, hits: int, total: int) -> float | None:
    """The limit that is passed, the higher one first."""
    if total >= limits.fewest_to_stop and hits / total >= limits.stop_rate:
        return limits.stop_rate
    if total >= limits.fewest and wilson_lower_bound(hits, total) > limits.rate:
        return limits.rate
    return None


def _percent(share: float) -> str:
    digits = 1 if share >= 0.01 else 2  # noqa: PLR2004  so that 0.1 % and 0.15 % differ
    text = f"{share * 100:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.')} %"
