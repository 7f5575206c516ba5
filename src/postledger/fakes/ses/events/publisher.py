"""Publishes the events of accepted mail to topics, in the background, and keeps account of each.

Sends come first: while many mails come in, few events are published between them.
"""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from heapq import heappop, heappush
from typing import assert_never

from postledger.fakes.ses.account import Account
from postledger.fakes.ses.events import writing
from postledger.fakes.ses.events.delivery import Delivered, Ending, Refused
from postledger.fakes.ses.events.disturbances import Disturbances, Fate
from postledger.fakes.ses.events.fanout import Fanout, write_notice
from postledger.fakes.ses.events.outcomes import ALL_DELIVERED, Report, choose_outcome
from postledger.fakes.ses.events.reported_mail import ReportedMail
from postledger.fakes.ses.mail import Mail
from postledger.fakes.ses.sns.envelopes import Notice, NoticeType, SignedNotice
from postledger.fakes.ses.sns.topics import Subscription, Topic

MAX_WAITING = 300_000  # events; more are lost, and the journal says so
VALIDATED = "Successfully validated SNS topic for Amazon SES event publishing."
_GROUP = 8
_TASKS = 2  # one prepares events while those of another are signed
_REPETITION_SECONDS = 0.3
_WINDOW = 0.1
_MANY = 500  # mails in a second
_PAUSE = 0.02  # before each group of events, while so many come in

type Note = Callable[[Mapping[str, object]], None]


@dataclass(frozen=True, slots=True)
class PendingEvent:
    mail: ReportedMail
    report: Report
    number: int  # among all events; what goes wrong with it is drawn by this
    only: frozenset[str] | None = None  # subscriptions; None: all that there are then
    is_repetition: bool = False


@dataclass(frozen=True, slots=True)
class _Publication:
    event: PendingEvent
    fate: Fate
    subscriptions: Sequence[Subscription]
    notice: Notice


@dataclass(slots=True)
class SendRate:
    """Whether many mails come in, by the count of the last tenth of a second."""

    began: float = 0.0
    count: int = 0
    was_high: bool = False

    def add(self, now: float) -> None:
        if now - self.began >= _WINDOW:
            self.was_high = now - self.began < 2 * _WINDOW and self.count >= _MANY * _WINDOW
            self.began, self.count = now, 0
        self.count += 1

    def is_high(self, now: float) -> bool:
        return self.was_high and now - self.began < 2 * _WINDOW


class Publisher:
    """All its methods belong to the event loop of the fake."""

    def __init__(self, account: Account, note: Note) -> None:
        self.fanout = Fanout(account.topics)
        self.disturbances = Disturbances()
        self.shares = ALL_DELIVERED
        self.counts: Counter[str] = Counter()  # of what became of events
        self._account = account
        self._note = note
        self._due: list[tuple[float, int, PendingEvent]] = []
        self._number = 0
        self._rate = SendRate()
        self._in_hand = 0
        self._is_due = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def waiting(self) -> int:
        """How many events and messages have not ended."""
        return len(self._due) + self._in_hand + self.fanout.size

    def choose_outcomes(self, mail: Mail, configuration_set: str) -> tuple[str, ...]:
        """What becomes of a mail to each recipient; nothing if nobody is told."""
        named = self._account.configuration_sets.get(configuration_set)
        if named is None or not named.list_topics():
            return ()
        return tuple(
            choose_outcome(address, self.shares, is_suppressed=self._account.is_suppressed(address))
            for address in mail.recipients
        )

    def take(self, mail: ReportedMail) -> None:
        """Schedules the events of a mail that was just accepted."""
        self._rate.add(time.monotonic())
        for report in mail.list_reports():
            self._number += 1
            wait = self.disturbances.draw_wait(self._number)
            wait += writing.delay_of(report).total_seconds()
            self._schedule(PendingEvent(mail, report, self._number), wait)

    def take_up(self, mail: ReportedMail, report: Report, only: frozenset[str] | None) -> None:
        """Schedules an event that was not finished before a restart."""
        self._number += 1
        event = PendingEvent(mail, report, self._number, only)
        gone = [arn for arn in only or () if self._account.topics.find_subscription(arn) is None]
        for arn in gone:
            self._record(event, "failed", subscription=arn, why="the subscription has ended")
        if only is None or len(gone) < len(only):
            self._schedule(event, 0.0)

    def disturb(self, disturbances: Disturbances) -> None:
        """Counts for the events to come; a pause also holds those that wait."""
        self.disturbances = disturbances
        self._is_due.set()

    def validate_topic(self, topic_arn: str) -> None:
        """Says what SES says to a topic that becomes an event destination."""
        self.fanout.announce(topic_arn, VALIDATED, writing.SUBJECT)

    def start(self) -> None:
        if not self._tasks:
            loop = asyncio.get_running_loop()
            self._tasks = [loop.create_task(self._run()) for _ in range(_TASKS)]

    async def stop(self) -> None:
        """Leaves events that wait for a start with the same journal."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._tasks = []
        await self.fanout.stop()

    def _schedule(self, event: PendingEvent, wait: float) -> None:
        if len(self._due) >= MAX_WAITING:
            self._record(event, "lost", why="too many events wait")
            return
        self._number += event.is_repetition
        heappush(self._due, (time.monotonic() + wait, self._number, event))
        self._is_due.set()

    async def _run(self) -> None:
        while True:
            if self._rate.is_high(time.monotonic()):
                await asyncio.sleep(_PAUSE)
            events = await self._next_group()
            self._in_hand += len(events)
            try:
                await self._publish(events)
            finally:
                self._in_hand -= len(events)

    async def _next_group(self) -> list[PendingEvent]:
        """Some events whose time has come."""
        while True:
            seconds = None
            if self._due and not self.disturbances.is_paused:
                seconds = self._due[0][0] - time.monotonic()
                if seconds <= 0:
                    return self._pop_due()
            self._is_due.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._is_due.wait()

    def _pop_due(self) -> list[PendingEvent]:
        events: list[PendingEvent] = []
        now = time.monotonic()
        while len(events) < _GROUP and self._due and self._due[0][0] <= now:
            events.append(heappop(self._due)[2])
        return events

    async def _publish(self, events: Sequence[PendingEvent]) -> None:
        publications = [entry for event in events for entry in self._prepare(event)]
        if not publications:
            return
        signed_notices = await self.fanout.sign([entry.notice for entry in publications])
        for publication, signed in zip(publications, signed_notices, strict=True):
            await self._deliver(publication, signed)

    def _prepare(self, event: PendingEvent) -> list[_Publication]:
        """One message for each topic that gets the event, unless it is lost."""
        is_drawn = event.only is None and not event.is_repetition
        fate = self.disturbances.draw_fate(event.number) if is_drawn else Fate.ONCE
        if fate is Fate.LOST:
            self._record(event, "lost", why="on purpose")
            return []
        if fate is Fate.REPEATED_BY_SES:
            self._schedule(replace(event, is_repetition=True), _REPETITION_SECONDS)
        publications = self._address(event, fate)
        if publications:
            self._record(
                event,
                "published",
                messages={
                    entry.notice.topic_arn: entry.notice.message_id for entry in publications
                },
                subscriptions=[to.arn for entry in publications for to in entry.subscriptions],
            )
        else:
            self._record(event, "unheard")
        return publications

    def _address(self, event: PendingEvent, fate: Fate) -> list[_Publication]:
        text = ""
        publications = []
        for topic in self._find_topics(event):
            subscriptions = [
                subscription
                for subscription in topic.confirmed()
                if event.only is None or subscription.arn in event.only
            ]
            if subscriptions:
                text = text or writing.write(event.mail, event.report, self._account.region)
                kind, subject = NoticeType.NOTIFICATION, writing.SUBJECT
                notice = write_notice(kind, topic.arn, text, subject=subject)
                publications.append(_Publication(event, fate, subscriptions, notice))
        return publications

    def _find_topics(self, event: PendingEvent) -> list[Topic]:
        configuration_set = self._account.configuration_sets.get(event.mail.configuration_set)
        if configuration_set is None:
            return []
        arns = configuration_set.list_topics(event.report.event.matching_type)
        topics = (self._account.topics.by_arn.get(arn) for arn in arns)
        return [topic for topic in topics if topic is not None]

    async def _deliver(self, publication: _Publication, signed: SignedNotice) -> None:
        event, sns_id = publication.event, publication.notice.message_id
        copies = 2 if publication.fate is Fate.REPEATED_BY_SNS else 1
        for subscription in publication.subscriptions:
            on_end = partial(self._end, event, sns_id, subscription.arn)
            for _ in range(copies):
                await self.fanout.deliver(signed, subscription, on_end)

    def _end(self, event: PendingEvent, sns_id: str, subscription: str, ending: Ending) -> None:
        match ending:
            case Delivered(status=status):
                # SNS is content with any status below 500; who counts events is not.
                state = "delivered" if status < 300 else "declined"  # noqa: PLR2004  2xx
                self._record(event, state, subscription=subscription, sns_id=sns_id, status=status)
            case Refused(why=why):
                self._record(event, "failed", subscription=subscription, sns_id=sns_id, why=why)
            case other:
                assert_never(other)

    def _record(self, event: PendingEvent, state: str, **more: object) -> None:
        self.counts[state] += 1
        name, outcome = event.report.key
        self._note(
            {
                "event": name,
                "outcome": outcome,
                "mail": event.mail.message_id,
                "state": state,
                "time": datetime.now(UTC).isoformat(),
                **more,
            }
        )
