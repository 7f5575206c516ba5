"""What is wrong in a workspace, as a pure function of facts and the time.

A cause counts only after it has lasted: what ends by itself within minutes alarms nobody.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

from postledger.deliveries import causes
from postledger.deliveries.entries import Hold
from postledger.deliveries.reasons import LIMIT_REASONS, Reason

# Events end most doubts within minutes.
DOUBT_AFTER = timedelta(hours=1)
# Only a person ends such a hold.
HELD_WITHOUT_END = timedelta(minutes=2)
# The provider is tried again and again, and most outages are shorter.
HELD_WITH_END = timedelta(minutes=15)
# A person knows what they paused; after a day with mail waiting they may have forgotten it.
PAUSED_FOR = timedelta(days=1)
# One lost event is no silence.
FEWEST_SILENT_MAILS = 5
# Without mail nothing can be reported.
MAIL_GOES_OUT_WITHIN = timedelta(days=1)
# A new version is installed in less.
NO_WORKER_AFTER = timedelta(minutes=2)

_NO_DATA: Mapping[str, object] = MappingProxyType({})


class Cause(StrEnum):
    """A constraint of the table lists the same values."""

    NO_WORKER = "no_worker"  # of the whole installation
    BOOKS_UNBALANCED = "books_unbalanced"
    SENDER_HELD = "sender_held"
    NO_FEEDBACK = "no_feedback"  # of a sender whose mail goes out
    IN_DOUBT = "in_doubt"
    FAILED_NOTIFICATIONS = "failed_notifications"  # of one topic


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause that holds now. The subject tells it from others of its kind: a sender's address, or
    the key of a topic.
    """

    cause: Cause
    since: datetime
    count: int = 0  # mails or streams, as the sentence of its cause says
    subject: str = ""
    data: Mapping[str, object] = field(default=_NO_DATA)  # what its sentences need, as JSON


@dataclass(frozen=True, slots=True)
class OldDoubts:
    """Mails that have been in doubt for longer than `DOUBT_AFTER`."""

    count: int
    oldest_at: datetime


@dataclass(frozen=True, slots=True)
class HeldSender:
    address: str
    holds: Sequence[Hold]  # in force
    waiting_count: int


@dataclass(frozen=True, slots=True)
class SilentSender:
    """A sender of which mail was accepted for an hour, and nothing was reported."""

    address: str
    since: datetime
    mail_count: int  # accepted since then
    last_mail_at: datetime


@dataclass(frozen=True, slots=True)
class FailedTopic:
    """A topic with notifications that were given up, and that nobody has dealt with."""

    key: str
    name: str
    count: int
    first_at: datetime


@dataclass(frozen=True, slots=True)
class WrongStream:
    """A stream whose last recount disagreed with its books."""

    stream_id: int
    found_at: datetime


@dataclass(frozen=True, slots=True)
class WorkspaceFacts:
    doubts: OldDoubts | None = None
    held: Sequence[HeldSender] = ()
    silent: Sequence[SilentSender] = ()
    wrong: Sequence[WrongStream] = ()
    failed: Sequence[FailedTopic] = ()


def detect(facts: WorkspaceFacts, *, now: datetime) -> list[Finding]:
    """All that needs a person; each pair of cause and subject once."""
    return [
        *_detect_doubts(facts.doubts, now),
        *(finding for sender in facts.held for finding in _detect_hold(sender, now)),
        *(finding for sender in facts.silent for finding in _detect_silence(sender, now)),
        *_detect_wrong_books(facts.wrong),
        *map(_detect_failures, facts.failed),
    ]


def _detect_doubts(doubts: OldDoubts | None, now: datetime) -> Iterator[Finding]:
    if doubts is not None and doubts.oldest_at <= now - DOUBT_AFTER:
        yield Finding(Cause.IN_DOUBT, doubts.oldest_at, doubts.count)


def _detect_hold(sender: HeldSender, now: datetime) -> Iterator[Finding]:
    """Limits that do their work are no fault; neither is a pause while nothing waits."""
    lasting = [hold for hold in sender.holds if _lasts(hold, sender.waiting_count, now)]
    for first in causes.sort_in_force(lasting, now=now)[:1]:
        since = min(hold.since for hold in lasting)
        data = {
            "reason": first.reason.value,
            "fails_at": first.fails_at and first.fails_at.isoformat(),
        }
        yield Finding(Cause.SENDER_HELD, since, sender.waiting_count, sender.address, data)


def _lasts(hold: Hold, waiting_count: int, now: datetime) -> bool:
    if hold.reason in LIMIT_REASONS:
        return False
    if hold.reason is Reason.PAUSED:
        return waiting_count > 0 and hold.since <= now - PAUSED_FOR
    least = HELD_WITHOUT_END if hold.until is None else HELD_WITH_END
    return hold.since <= now - least


def _detect_silence(sender: SilentSender, now: datetime) -> Iterator[Finding]:
    is_mailing = sender.last_mail_at > now - MAIL_GOES_OUT_WITHIN
    if is_mailing and sender.mail_count >= FEWEST_SILENT_MAILS:
        yield Finding(Cause.NO_FEEDBACK, sender.since, sender.mail_count, sender.address)


def _detect_wrong_books(wrong: Sequence[WrongStream]) -> Iterator[Finding]:
    """One for all streams: what breaks the books of many is one thing to look at."""
    if wrong:
        first = min(wrong, key=lambda stream: (stream.found_at, stream.stream_id))
        data = {"stream": first.stream_id}
        yield Finding(Cause.BOOKS_UNBALANCED, first.found_at, len(wrong), data=data)


def _detect_failures(topic: FailedTopic) -> Finding:
    """At once: a failure is final, and who waits for the notification gets none."""
    data = {"name": topic.name}
    return Finding(Cause.FAILED_NOTIFICATIONS, topic.first_at, topic.count, topic.key, data)


def find_missing_worker(*, watched_at: datetime, has_worker: bool, now: datetime) -> Finding | None:
    """`watched_at` is when a worker last looked for alerts."""
    if has_worker or watched_at > now - NO_WORKER_AFTER:
        return None
    return Finding(Cause.NO_WORKER, watched_at)
