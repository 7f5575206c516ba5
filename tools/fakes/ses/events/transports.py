"""How messages reach an endpoint of HTTP and a queue of SQS."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit

from tools.fakes.events.delivery import Answer, Broken, Delivered, Parcel, Refused
from tools.fakes.events.http_client import BrokenCallError, HttpClient
from tools.fakes.ses.sns.envelopes import NoticeType, SignedNotice
from tools.fakes.ses.sns.topics import Subscription

RETRY_SECONDS = 20.0
_TRIES = 4  # the first, and three more
_SQS_CALLS = 2
_SQS_BATCH = 10
_MAX_CALL = 200_000  # characters; a call may have 256 KB
_SERVER_ERRORS = 500


@dataclass(slots=True)
class HttpTransport:
    """Posts each message alone; any answer below 500 is a success, as SNS has it."""

    subscription: Subscription
    endpoint: str  # of the fake
    client: HttpClient
    pause: float = RETRY_SECONDS
    connections: int = 20
    max_tries: int | None = _TRIES
    linger: float = 0.0

    def count_together(self, _: Sequence[Parcel[SignedNotice]]) -> int:
        return 1

    def pause_after(self, _: int) -> float:
        return self.pause

    async def send(self, notices: Sequence[SignedNotice]) -> Sequence[Answer]:
        return [await self._post(signed) for signed in notices]

    def close(self) -> None:
        self.client.close()

    async def _post(self, signed: SignedNotice) -> Answer:
        notice, subscription = signed.notice, self.subscription
        is_raw = subscription.is_raw and notice.type is NoticeType.NOTIFICATION
        headers = {
            "x-amz-sns-message-type": str(notice.type),
            "x-amz-sns-message-id": notice.message_id,
            "x-amz-sns-topic-arn": notice.topic_arn,
            "Content-Type": "text/plain; charset=UTF-8",
            "User-Agent": "Amazon Simple Notification Service Agent",
        }
        if notice.type is not NoticeType.SUBSCRIPTION:
            headers["x-amz-sns-subscription-arn"] = subscription.arn
        if is_raw:
            headers["x-amz-sns-rawdelivery"] = "true"
        text = notice.text if is_raw else signed.write_envelope(subscription, self.endpoint)
        try:
            answer = await self.client.post(headers, text.encode())
        except BrokenCallError as error:
            return Broken(str(error))
        if answer.status >= _SERVER_ERRORS:
            return Broken(f"status {answer.status}")
        return Delivered(answer.status)


@dataclass(slots=True)
class SqsTransport:
    """Sends up to ten messages in one call; tries until the queue takes them, or is not there."""

    subscription: Subscription
    endpoint: str  # of the fake
    client: HttpClient  # of the server of queues
    pause: float = RETRY_SECONDS / 20
    connections: int = _SQS_CALLS
    max_tries: int | None = None
    linger: float = 0.0

    def count_together(self, waiting: Sequence[Parcel[SignedNotice]]) -> int:
        return min(_SQS_BATCH, len(waiting))

    def pause_after(self, _: int) -> float:
        return self.pause

    async def send(self, notices: Sequence[SignedNotice]) -> Sequence[Answer]:
        texts = [self._write(signed) for signed in notices]
        if len(notices) > 1 and sum(map(len, texts)) > _MAX_CALL:
            middle = len(notices) // 2
            return [*await self.send(notices[:middle]), *await self.send(notices[middle:])]
        entries = [{"Id": str(number), "MessageBody": text} for number, text in enumerate(texts)]
        body = json.dumps({"QueueUrl": self._queue_url(), "Entries": entries}).encode()
        try:
            answer = await self.client.post(self._write_headers(body), body)
        except BrokenCallError as error:
            return [Broken(str(error))] * len(notices)
        if answer.status >= _SERVER_ERRORS:
            return [Broken(f"status {answer.status}")] * len(notices)
        if answer.status != 200:
            return [Refused(answer.body.decode("utf-8", "replace")[:200])] * len(notices)
        return _read_answers(answer.body, len(notices))

    def close(self) -> None:
        self.client.close()

    def _write(self, signed: SignedNotice) -> str:
        if self.subscription.is_raw:
            return signed.notice.text
        return signed.write_envelope(self.subscription, self.endpoint)

    def _queue_url(self) -> str:
        *_, account_id, name = self.subscription.endpoint.split(":")
        origin = urlsplit(self.client.url)
        return f"{origin.scheme}://{origin.netloc}/{account_id}/{name}"

    def _write_headers(self, body: bytes) -> dict[str, str]:
        """With the form of a signature: the stand-in for SQS reads the region from it."""
        region = self.subscription.endpoint.split(":")[3]
        now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        scope = f"fake-sns/{now[:8]}/{region}/sqs/aws4_request"
        digest = hashlib.sha256(body).hexdigest()
        return {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": "AmazonSQS.SendMessageBatch",
            "X-Amz-Date": now,
            "Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host;x-amz-date,"
            f" Signature={digest}",
        }


def _read_answers(body: bytes, count: int) -> list[Answer]:
    answers: list[Answer] = [Delivered(200)] * count
    for failed in json.loads(body).get("Failed") or ():
        why = str(failed.get("Code", "refused"))
        answers[int(failed["Id"])] = Refused(why) if failed.get("SenderFault") else Broken(why)
    return answers
