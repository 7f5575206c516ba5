"""Signs messages, and hands them to the deliverers of their subscriptions."""

import asyncio
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from tools.fakes.events.delivery import Deliverers, Ending, Parcel, Refused, Transport
from tools.fakes.events.http_client import HttpClient
from tools.fakes.ses.events.transports import RETRY_SECONDS, HttpTransport, SqsTransport
from tools.fakes.ses.sns import envelopes
from tools.fakes.ses.sns.certificate import process_signer
from tools.fakes.ses.sns.envelopes import Notice, NoticeType, SignedNotice
from tools.fakes.ses.sns.operations import Confirmation
from tools.fakes.ses.sns.topics import Subscription, Topics

_TEXTS = {
    NoticeType.SUBSCRIPTION: (
        "You have chosen to subscribe to the topic {0.topic_arn}.\nTo confirm the subscription,"
        " visit the SubscribeURL included in this message."
    ),
    NoticeType.UNSUBSCRIPTION: (
        "You have chosen to deactivate subscription {0.arn}.\nTo cancel this operation and restore"
        " the subscription, visit the SubscribeURL included in this message."
    ),
}


@dataclass(slots=True)
class Fanout:
    topics: Topics
    endpoint: str = ""  # of the fake, as others reach it; messages name it
    sqs_endpoint: str = ""
    retry_seconds: float = RETRY_SECONDS
    _deliverers: Deliverers[SignedNotice] = field(default_factory=Deliverers)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _threads: ThreadPoolExecutor | None = None

    @property
    def size(self) -> int:
        """How many messages have not ended."""
        return self._deliverers.size + len(self._tasks)

    async def sign(self, notices: Sequence[Notice]) -> list[SignedNotice]:
        """In threads: signing takes longer than all else about a message."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(2, thread_name_prefix="sns")
        versions = [self._find_version(notice.topic_arn) for notice in notices]
        pairs = list(zip(notices, versions, strict=True))
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, _sign_all, pairs, self.endpoint)

    async def deliver(
        self, signed: SignedNotice, subscription: Subscription, on_end: Callable[[Ending], None]
    ) -> None:
        """Returns when the message waits for its delivery, which may need room first."""
        if subscription.protocol == "sqs" and not self.sqs_endpoint:
            on_end(Refused("the fake was started without an endpoint of SQS"))
            return
        open_transport = partial(self._open_transport, subscription)
        await self._deliverers.put(subscription.arn, Parcel(signed, on_end), open_transport)

    def confirm(self, confirmation: Confirmation) -> None:
        """Posts what SNS says to a subscription about itself."""
        text = _TEXTS[confirmation.type].format(confirmation.subscription)
        topic_arn, token = confirmation.subscription.topic_arn, confirmation.token
        notice = write_notice(confirmation.type, topic_arn, text, token=token)
        self._start(notice, [confirmation.subscription])

    def announce(self, topic_arn: str, text: str, subject: str) -> None:
        """Posts a message that is no event to all subscriptions of a topic."""
        topic = self.topics.by_arn[topic_arn]
        notice = write_notice(NoticeType.NOTIFICATION, topic_arn, text, subject=subject)
        self._start(notice, topic.confirmed())

    def end_removed(self) -> None:
        """Ends the messages of subscriptions that are gone, except the last word about that."""

        def is_there(arn: str) -> bool:
            return self.topics.find_subscription(arn) is not None

        self._deliverers.end_except(is_there, "the subscription has ended")

    async def stop(self) -> None:
        """Forgets what waits: it is published again after a start with the same journal."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._deliverers.stop()
        if self._threads is not None:
            self._threads.shutdown()
            self._threads = None

    def _start(self, notice: Notice, subscriptions: Sequence[Subscription]) -> None:
        async def post() -> None:
            [signed] = await self.sign([notice])
            for subscription in subscriptions:
                await self.deliver(signed, subscription, lambda _: None)

        task = asyncio.get_running_loop().create_task(post())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _find_version(self, topic_arn: str) -> str:
        topic = self.topics.by_arn.get(topic_arn)
        return topic.signature_version if topic else "1"

    def _open_transport(self, subscription: Subscription) -> Transport[SignedNotice]:
        if subscription.protocol == "sqs":
            client = HttpClient(self.sqs_endpoint)
            return SqsTransport(subscription, self.endpoint, client, self.retry_seconds / 20)
        client = HttpClient(subscription.endpoint)
        return HttpTransport(subscription, self.endpoint, client, self.retry_seconds)


def write_notice(
    kind: NoticeType, topic_arn: str, text: str, *, subject: str = "", token: str = ""
) -> Notice:
    return Notice(kind, topic_arn, str(uuid.uuid4()), text, datetime.now(UTC), subject, token)


def _sign_all(pairs: Sequence[tuple[Notice, str]], endpoint: str) -> list[SignedNotice]:
    signer = process_signer()
    return [envelopes.sign(notice, signer, version, endpoint) for notice, version in pairs]
