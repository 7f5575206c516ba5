"""When a mail that was not taken goes again, and when it is given up."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from postledger.deliveries.entries import StreamKind
from postledger.mailing.terms import JobPolicy


@dataclass(frozen=True, slots=True)
class Policy:
    """How often a mail is tried, and the seconds after the first, second, … counted attempt.

    Delays beyond the last attempt are spare: they serve when the number of attempts is raised.
    """

    attempts: int
    delays: tuple[float, ...]
    jitter: float = 0.0  # a share of the delay, added or taken away at random
    longest: float | None = None  # seconds; no delay of the policy's own is longer

    def __post_init__(self) -> None:
        if self.attempts < 1 or not self.delays or min(self.delays) < 0:
            raise ValueError("a retry policy has at least one attempt and one delay, none negative")
        if not 0 <= self.jitter <= 1:
            raise ValueError("the jitter of a retry policy is a share between 0 and 1")


_WRITTEN = re.compile(
    r"(?P<attempts>\d{1,4}):(?P<delays>(?: \d{1,6}+(?:\.\d++)?+)++)"
    r"(?: \+-(?P<jitter>\d{1,3})%)?(?: max (?P<longest>\d{1,6}))?"
)


def read(text: str) -> Policy:
    """A policy as operators write it: `5: 1 5 30 +-25% max 60`."""
    match = _WRITTEN.fullmatch(text.strip())
    if match is None:
        raise ValueError("write it as attempts: seconds …, for example 5: 1 5 30 120 600 +-25%")
    longest = match["longest"]
    return Policy(
        attempts=int(match["attempts"]),
        delays=tuple(float(seconds) for seconds in match["delays"].split()),
        jitter=int(match["jitter"] or 0) / 100,
        longest=float(longest) if longest else None,
    )


_SHORTEST = 1.0  # seconds before the third attempt of a job, and before each later one
TRANSACTIONAL = "5: 1 5 30 120 600 +-25%"
CAMPAIGN = "4: 1 4 10"
TOPIC = "3: 0 2 7 max 120"
DEFAULTS: Mapping[StreamKind, Policy] = {
    StreamKind.TRANSACTIONAL: read(TRANSACTIONAL),
    StreamKind.CAMPAIGN: read(CAMPAIGN),
    StreamKind.TOPIC: read(TOPIC),
}


def adapt(policy: Policy, job: JobPolicy) -> Policy:
    """The policy with what a job says otherwise; its schedule is kept as it is, without chance.

    Only the second attempt may follow at once: a job must not hammer the provider.
    """
    if job.retry_schedule_ms is not None:
        first, *later = [ms / 1000 for ms in job.retry_schedule_ms] or [0.0]
        delays = (first, *(max(_SHORTEST, seconds) for seconds in later or [first]))
        policy = replace(policy, delays=delays, jitter=0.0)
    return replace(
        policy,
        attempts=policy.attempts if job.max_attempts is None else job.max_attempts,
        longest=policy.longest if job.lock_ttl_seconds is None else job.lock_ttl_seconds,
    )


def delay(
    policy: Policy, *, attempts: int, retry_after: timedelta | None, chance: float
) -> timedelta | None:
    """How long a mail waits after its attempt number `attempts`; None when that was the last.

    `chance` is a random number from 0 to 1. The provider's wish wins when it is longer.
    """
    if attempts >= policy.attempts:
        return None
    seconds = policy.delays[min(attempts, len(policy.delays)) - 1]
    seconds *= 1 + policy.jitter * (2 * chance - 1)
    if policy.longest is not None:
        seconds = min(seconds, policy.longest)
    return max(timedelta(seconds=seconds), retry_after or timedelta())


def backoff(times: int) -> timedelta:
    """How long a sender rests after its provider was out of reach, or too busy, `times` in a row.

    Doubles from one second to one minute: nobody's attempts are used up by an outage.
    """
    return timedelta(seconds=min(60, 2 ** min(times - 1, 6)))


def quota_backoff(times: int) -> timedelta:
    """How long a sender rests whose quota was found used up `times` in a row, without a known end.

    Doubles from one minute to one hour: a quota frees slowly.
    """
    return timedelta(minutes=min(60, 2 ** min(times - 1, 6)))
