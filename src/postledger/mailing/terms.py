"""What holds for one notification at the hand-over: whether it may go, when, and how it is tried.

The dispatcher asks for it by the setting TOPIC_TERMS: it does not know topics, and they do not know
how mail is sent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Protocol

from postledger.deliveries.entries import Entry, Recipient
from postledger.deliveries.reasons import Reason


@dataclass(frozen=True, slots=True)
class Wait:
    """Until when one recipient's mail waits by itself, by the database's clock, and why."""

    until: datetime
    reason: Reason


@dataclass(frozen=True, slots=True)
class JobPolicy:
    """How often a job's mail is tried; None leaves it to the topics' own policy.

    The time of the lock caps the delays and nothing else: a lease lasts as long as the provider's
    call needs.
    """

    max_attempts: int | None = None
    lock_ttl_seconds: int | None = None
    retry_schedule_ms: Sequence[int] | None = None


NO_JOB = JobPolicy()


@dataclass(frozen=True, slots=True)
class Terms:
    """A verdict ends the mail, a wait defers it; without both it may go."""

    verdict: Entry | None = None
    wait: Wait | None = None
    policy: JobPolicy = NO_JOB
    tags: Mapping[str, str] = MappingProxyType({})  # go with the mail to its provider

    @property
    def may_go(self) -> bool:
        return self.verdict is None and self.wait is None


NO_TERMS = Terms()


class ReadTerms(Protocol):
    def __call__(
        self, stream_id: int, recipients: Sequence[Recipient], *, leave_out_clear: bool = False
    ) -> Mapping[int, Terms]:
        """The terms of a stream's recipients at this moment, by their positions.

        `leave_out_clear` leaves out those that may go and that nothing needed to be decided about.
        The moment is of the database's clock: by it batches become due and consent is read.
        """
        ...
