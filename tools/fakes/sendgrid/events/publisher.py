"""Publishes the events of accepted mail to the webhooks of the account."""

from collections.abc import Sequence
from functools import partial
from typing import override

from tools.fakes.events import publisher
from tools.fakes.events.delivery import Deliverers, Parcel
from tools.fakes.events.disturbances import Fate
from tools.fakes.events.http_client import HttpClient
from tools.fakes.events.publisher import Note
from tools.fakes.events.reports import PendingEvent
from tools.fakes.sendgrid.account import Account
from tools.fakes.sendgrid.events import writing
from tools.fakes.sendgrid.events.outcomes import Report, Shares, choose_outcome
from tools.fakes.sendgrid.events.posts import BATCH_SECONDS, RETRY_SECONDS, WebhookTransport
from tools.fakes.sendgrid.events.reported_mail import ReportedMail
from tools.fakes.sendgrid.mail import Mail
from tools.fakes.sendgrid.webhooks import Webhook

type _Event = PendingEvent[ReportedMail, Report]


class Publisher(publisher.Publisher[ReportedMail, Report]):
    def __init__(self, account: Account, note: Note) -> None:
        super().__init__(note, Shares())
        self.batch_seconds = BATCH_SECONDS
        self.retry_seconds = RETRY_SECONDS
        self._account = account
        self._deliverers: Deliverers[bytes] = Deliverers()

    @override
    def has_listener(self, name: str) -> bool:
        return name in self._account.webhooks

    @override
    def count_under_way(self) -> int:
        return self._deliverers.size

    @override
    async def stop_delivery(self) -> None:
        await self._deliverers.stop()

    def choose_outcomes(self, mail: Mail) -> tuple[str, ...]:
        """What becomes of a mail to each recipient; nothing if nobody is told."""
        if not any(webhook.enabled for webhook in self._account.webhooks.values()):
            return ()
        return tuple(choose_outcome(address, self.shares) for address in mail.recipients)

    def end_removed(self) -> None:
        """Ends the events that wait for webhooks that are gone."""
        self._deliverers.end_except(self.has_listener, "the webhook was deleted")

    @override
    async def publish(self, events: Sequence[_Event]) -> None:
        for event in events:
            fate = self.draw_fate(event)
            if fate is not Fate.LOST:
                await self._post(event, copies=2 if fate is Fate.REPEATED else 1)

    async def _post(self, event: _Event, *, copies: int) -> None:
        webhooks = [
            webhook
            for webhook in self._account.webhooks.values()
            if webhook.wants(event.report.event)
            if event.only is None or webhook.id in event.only
        ]
        if not webhooks:
            self.record(event, "unheard")
            return
        self.record(event, "published", listeners=[webhook.id for webhook in webhooks])
        text = writing.write(event.mail, event.report, is_repetition=event.is_repetition)
        for webhook in webhooks:
            parcels = [Parcel(text, partial(self.end, event, webhook.id)) for _ in range(copies)]
            for parcel in parcels:
                opening = partial(self._open_transport, webhook)
                await self._deliverers.put(webhook.id, parcel, opening)

    def _open_transport(self, webhook: Webhook) -> WebhookTransport:
        client = HttpClient(webhook.url)
        return WebhookTransport(webhook, client, self.batch_seconds, self.retry_seconds)
