"""The queue of a drill: moto's stand-in for SQS in a process of its own."""

import subprocess
import sys
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from postledger.providers.ses import aws_client
from postledger.providers.ses.settings import SesSettings
from tools.drill.services import is_open
from tools.drill.waiting import free_port, until
from tools.fakes.ses.service import ACCESS_KEY_ID, SECRET_ACCESS_KEY

NAME = "reports"
QUEUE_ARN = f"arn:aws:sqs:us-east-1:123456789012:{NAME}"
# Seconds after which a message comes again that a dead worker had received. Moto reads a long queue
# for seconds: a shorter time, and messages come again before they are deleted, more and more.
_COMES_AGAIN_AFTER = 30
_COUNTS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")


@dataclass
class Sqs:
    port: int = field(default_factory=free_port)
    popen: subprocess.Popen[bytes] | None = None
    queue_url: str = ""

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, "-P", "-m", "moto.server", "-H", "127.0.0.1"]
        self.popen = subprocess.Popen(
            [*command, "-p", str(self.port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def create_queue(self) -> str:
        """Returns the URL of the queue."""
        until(lambda: is_open(self.port), seconds=60)
        attributes = {"VisibilityTimeout": str(_COMES_AGAIN_AFTER)}
        answer = self._client.create_queue(QueueName=NAME, Attributes=attributes)
        self.queue_url = answer["QueueUrl"]
        return self.queue_url

    def count_messages(self, queue_url: str = "") -> int:
        """Those that wait, and those that somebody received and did not delete yet."""
        answer = self._client.get_queue_attributes(
            QueueUrl=queue_url or self.queue_url, AttributeNames=list(_COUNTS)
        )
        return sum(int(answer["Attributes"][name]) for name in _COUNTS)

    def end(self) -> None:
        if self.popen is not None:
            self.popen.kill()
            self.popen.wait()

    @cached_property
    def _client(self) -> Any:
        settings = SesSettings.model_validate(
            {
                "region": "us-east-1",
                "endpoint": "http://127.0.0.1:9",  # not SES: only the queue is asked
                "sqs_endpoint": self.endpoint,
                "access_key_id": ACCESS_KEY_ID,
                "secret_access_key": SECRET_ACCESS_KEY,
            }
        )
        # Moto is slow on a loaded machine.
        return aws_client.open_client(settings, "sqs", read_timeout=120, tries=3)
