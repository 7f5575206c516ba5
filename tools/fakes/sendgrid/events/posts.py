"""Posts events to webhooks: many in one signed post, several posts at once, until they are taken.

A post has at most 768 KB; it waits a moment for events that could go with it.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from tools.fakes.events.delivery import Answer, Broken, Delivered, Parcel
from tools.fakes.events.http_client import BrokenCallError, HttpClient
from tools.fakes.sendgrid.webhooks import Webhook

BATCH_SECONDS = 0.1  # SendGrid: 30
RETRY_SECONDS = 1.0  # before the second try; each pause is twice as long as the one before
MAX_POST = 768 * 1024
_CONNECTIONS = 4
_LONGEST_PAUSE = 64  # times the first one
_SIGNATURE = "X-Twilio-Email-Event-Webhook-Signature"
_TIMESTAMP = "X-Twilio-Email-Event-Webhook-Timestamp"
_BEGIN, _BETWEEN, _END = b"[", b",\r\n", b"]\r\n"


@dataclass(slots=True)
class WebhookTransport:
    webhook: Webhook
    client: HttpClient
    linger: float = BATCH_SECONDS
    pause: float = RETRY_SECONDS
    connections: int = _CONNECTIONS
    max_tries: int | None = None  # SendGrid gives up after 24 hours

    def count_together(self, waiting: Sequence[Parcel[bytes]]) -> int:
        size = len(_BEGIN) + len(_END)
        for count, parcel in enumerate(waiting):
            size += len(parcel.message) + len(_BETWEEN)
            if count and size > MAX_POST:
                return count
        return len(waiting)

    def pause_after(self, failures: int) -> float:
        return self.pause * min(2.0 ** (failures - 1), _LONGEST_PAUSE)

    async def send(self, messages: Sequence[bytes]) -> Sequence[Answer]:
        return [await self._post(_BEGIN + _BETWEEN.join(messages) + _END)] * len(messages)

    def close(self) -> None:
        self.client.close()

    async def _post(self, body: bytes) -> Answer:
        headers = {"Content-Type": "application/json", "User-Agent": "SendGrid Event API"}
        if self.webhook.private_key:
            timestamp = str(int(time.time()))
            headers[_SIGNATURE] = self.webhook.sign(timestamp, body)
            headers[_TIMESTAMP] = timestamp
        if self.client.url != self.webhook.url:
            self.client.close()
            self.client = HttpClient(self.webhook.url)
        try:
            answer = await self.client.post(headers, body)
        except BrokenCallError as error:
            return Broken(str(error))
        if answer.status // 100 != 2:
            return Broken(f"status {answer.status}")
        return Delivered(answer.status)
