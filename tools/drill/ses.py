"""The other provider of a drill: the fake SES in a process of its own, behind a proxy."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from postledger.cli.drill import reading, smtp_server
from postledger.cli.drill.records import Taken
from postledger.fakes.ses import journal
from postledger.lib.ids import DeliveryId
from postledger.providers.ses.requests import REFERENCE_TAG
from tools.drill.http_proxy import HttpProxy
from tools.drill.sqs import QUEUE_ARN, Sqs
from tools.drill.waiting import free_port

NAME = "ses"  # of the workspace
CONFIGURATION_SET = "main"
TOPIC = "reports"
TOPIC_ARN = f"arn:aws:sns:us-east-1:123456789012:{TOPIC}"


@dataclass
class Ses:
    folder: Path
    url: str  # where events are posted to
    sqs: Sqs | None = None  # or sent to
    port: int = field(default_factory=free_port)
    proxy: HttpProxy = field(init=False)
    popen: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.proxy = HttpProxy(self.port)

    @property
    def journal(self) -> Path:
        return self.folder / "journal"

    @property
    def mails(self) -> Path:
        return self.folder / "mails"

    def start(self) -> None:
        self.mails.mkdir(parents=True)
        self.journal.touch()
        command = [sys.executable, "-P", "-m", "postledger.fakes.ses.process"]
        named = {
            "port": str(self.port),
            "identity": f"{NAME}.example",
            "journal": str(self.journal),
            "eml": str(self.mails),
            "configuration-set": CONFIGURATION_SET,
            "topic": TOPIC,
            "public-endpoint": f"http://127.0.0.1:{self.proxy.port}",
            "subscribe": self.url if self.sqs is None else QUEUE_ARN,
            "sqs-endpoint": "" if self.sqs is None else self.sqs.endpoint,
        }
        options = [word for name, value in named.items() for word in (f"--{name}", value)]
        self.popen = subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL)

    def set_faults(self, rules: Sequence[Mapping[str, object]]) -> None:
        self._control("PUT", "faults", rules)

    def set_sending(self, *, is_enabled: bool) -> None:
        """Pauses the account, or ends that."""
        self._control("PATCH", "account", {"is_sending_enabled": is_enabled})

    def limit_rate(self, max_send_rate: float) -> None:
        self._control("PATCH", "account", {"max_send_rate": max_send_rate})

    def set_reports(self, shares: Mapping[str, object]) -> None:
        """How many recipients meet each outcome."""
        self._control("PUT", "reports", shares)

    def disturb_events(self, disturbances: Mapping[str, object]) -> None:
        self._control("PUT", "events", disturbances)

    def count_waiting_events(self) -> int:
        """Those that are still to be published, or delivered."""
        return int(self._control("GET", "events")["counts"]["waiting"])

    def strikes(self) -> list[int]:
        """How often each rule has struck."""
        return [rule["strikes"] for rule in self._control("GET", "faults")]

    def taken(self) -> list[Taken]:
        """What the journal has, with the recipients that each message names."""
        return [self._read(entry) for entry in journal.read_mails(self.journal)]

    def end(self) -> None:
        if self.popen is not None:
            self.popen.kill()
            self.popen.wait()

    def _read(self, entry: Mapping[str, Any]) -> Taken:
        try_ = reading.parse_reference(entry["tags"][REFERENCE_TAG])
        assert try_ is not None
        message = (self.mails / f"{entry['message_id']}.eml").read_bytes()
        return Taken(
            DeliveryId(try_.stream_id, try_.position).text(),
            try_.try_number,
            entry["destination"][0],
            datetime.fromisoformat(entry["time"]),
            [name for name in smtp_server.inside(message).split(",") if name],
        )

    def _control(self, method: str, name: str, document: object = None) -> Any:
        data = None if document is None else json.dumps(document).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/_fake/{name}", data=data, method=method
        )
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310  see above
            return json.load(answer)


def name_delivery(tags: Mapping[str, str]) -> str:
    """The id of the delivery that a mail's tags name, whichever try it was."""
    try_ = reading.parse_reference(tags[REFERENCE_TAG])
    assert try_ is not None
    return DeliveryId(try_.stream_id, try_.position).text()
