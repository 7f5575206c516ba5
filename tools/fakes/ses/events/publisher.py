"""Publishes the events of accepted mail to the topics of their configuration sets."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import override

from tools.fakes.events import publisher
from tools.fakes.events.delivery import Ending
from tools.fakes.events.disturbances import Fate
from tools.fakes.events.publisher import Note
from tools.fakes.events.reports import PendingEvent
from tools.fakes.ses.account import Account
from tools.fakes.ses.events import writing
from tools.fakes.ses.events.fanout import Fanout, write_notice
from tools.fakes.ses.events.outcomes import Report, Shares, choose_outcome
from tools.fakes.ses.events.reported_mail import ReportedMail
from tools.fakes.ses.mail import Mail
from tools.fakes.ses.sns.envelopes import Notice, NoticeType, SignedNotice
from tools.fakes.ses.sns.topics import Subscription, Topic

VALIDATED = "Successfully validated SNS topic for Amazon SES event publishing."

type _Event = PendingEvent[ReportedMail, Report]


@dataclass(frozen=True, slots=True)
class _Publication:
    event: _Event
    fate: Fate
    subscriptions: Sequence[Subscription]
    notice: Notice


class Publisher(publisher.Publisher[ReportedMail, Report]):
    def __init__(self, account: Account, note: Note) -> None:
        super().__init__(note, Shares())
        self.fanout = Fanout(account.topics)
        self._account = account

    @override
    def has_listener(self, name: str) -> bool:
        return self._account.topics.find_subscription(name) is not None

    @override
    def count_under_way(self) -> int:
        return self.fanout.size

    @override
    async def stop_delivery(self) -> None:
        await self.fanout.stop()

    def choose_outcomes(self, mail: Mail, configuration_set: str) -> tuple[str, ...]:
        """What becomes of a mail to each recipient; nothing if nobody is told."""
        named = self._account.configuration_sets.get(configuration_set)
        if named is None or not named.list_topics():
            return ()
        return tuple(
            choose_outcome(address, self.shares, is_suppressed=self._account.is_suppressed(address))
            for address in mail.recipients
        )

    def validate_topic(self, topic_arn: str) -> None:
        """Says what SES says to a topic that becomes an event destination."""
        self.fanout.announce(topic_arn, VALIDATED, writing.SUBJECT)

    @override
    async def publish(self, events: Sequence[_Event]) -> None:
        publications = [entry for event in events for entry in self._prepare(event)]
        if not publications:
            return
        signed_notices = await self.fanout.sign([entry.notice for entry in publications])
        for publication, signed in zip(publications, signed_notices, strict=True):
            await self._deliver(publication, signed)

    def _prepare(self, event: _Event) -> list[_Publication]:
        """One message for each topic that gets the event, unless it is lost."""
        fate = self.draw_fate(event)
        if fate is Fate.LOST:
            return []
        publications = self._address(event, fate)
        if publications:
            self.record(
                event,
                "published",
                messages={
                    entry.notice.topic_arn: entry.notice.message_id for entry in publications
                },
                listeners=[to.arn for entry in publications for to in entry.subscriptions],
            )
        else:
            self.record(event, "unheard")
        return publications

    def _address(self, event: _Event, fate: Fate) -> list[_Publication]:
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

    def _find_topics(self, event: _Event) -> list[Topic]:
        configuration_set = self._account.configuration_sets.get(event.mail.configuration_set)
        if configuration_set is None:
            return []
        arns = configuration_set.list_topics(event.report.event.matching_type)
        topics = (self._account.topics.by_arn.get(arn) for arn in arns)
        return [topic for topic in topics if topic is not None]

    async def _deliver(self, publication: _Publication, signed: SignedNotice) -> None:
        event, sns_id = publication.event, publication.notice.message_id
        copies = 2 if publication.fate is Fate.REPEATED else 1
        for subscription in publication.subscriptions:
            on_end = partial(self._end, event, sns_id, subscription.arn)
            for _ in range(copies):
                await self.fanout.deliver(signed, subscription, on_end)

    def _end(self, event: _Event, sns_id: str, subscription: str, ending: Ending) -> None:
        self.end(event, subscription, ending, sns_id=sns_id)
