"""A provider of a drill that speaks HTTP: its fake in a process of its own, behind a proxy."""

import json
import subprocess
import sys
import urllib.request
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from postledger.lib.ids import DeliveryId
from tools.drill import reading, smtp_server
from tools.drill.http_proxy import Dialect, HttpProxy
from tools.drill.records import Taken
from tools.drill.waiting import free_port
from tools.fakes.events.event_books import EventBooks
from tools.fakes.http import journal

type Fault = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Reports:
    """What the journal says of events."""

    mails: Mapping[str, bool]  # deliveries that were taken, and whether an event of each came
    counts: Counter[str]  # of events: published, delivered, lost and so on


@dataclass
class HttpFake(ABC):
    folder: Path
    url: str  # where events are posted to
    port: int = field(default_factory=free_port, kw_only=True)
    proxy: HttpProxy = field(init=False)
    popen: subprocess.Popen[bytes] | None = field(default=None, init=False)

    label: ClassVar[str]
    kind: ClassVar[str]  # in the registry; also of the workspace's name and domain
    dialect: ClassVar[Dialect]
    # Each is an answer: later, never, or too fast.
    service_faults: ClassVar[Mapping[str, Fault]]

    def __post_init__(self) -> None:
        self.proxy = HttpProxy(self.port, self.dialect)

    @property
    @abstractmethod
    def options(self) -> Mapping[str, str]:
        """Of its process, besides port, journal and folder of mails."""

    @property
    @abstractmethod
    def settings(self) -> dict[str, object]:
        """Of an account that sends through the proxy, besides connections and timeouts."""

    @abstractmethod
    def set_sending(self, *, is_enabled: bool) -> None:
        """Blocks the account, or ends that."""

    @abstractmethod
    def listen(self, workspace_id: int, account_id: int) -> None:
        """Has the installation believe what is reported of the account."""

    @abstractmethod
    def read_reference(self, entry: Mapping[str, Any]) -> str:
        """Of a mail in the journal."""

    @abstractmethod
    def read_books(self) -> EventBooks[Any]:
        """What the journal says of events."""

    def read_reports(self) -> Reports:
        books, mails = self.read_books(), dict[str, bool]()
        for entry in journal.read_mails(self.journal):
            mail = _name_delivery(self.read_reference(entry))
            mail_books = books.mails.get(entry["message_id"])
            is_reported = mail_books is not None and mail_books.is_reported
            mails[mail] = mails.get(mail, False) or is_reported
        return Reports(mails, books.counts)

    @property
    def journal(self) -> Path:
        return self.folder / "journal"

    @property
    def mails(self) -> Path:
        return self.folder / "mails"

    def start(self) -> None:
        self.mails.mkdir(parents=True)
        self.journal.touch()
        command = [sys.executable, "-m", f"tools.fakes.{self.kind}"]
        named = {
            "port": str(self.port),
            "journal": str(self.journal),
            "eml": str(self.mails),
            **self.options,
        }
        options = [word for name, value in named.items() for word in (f"--{name}", value)]
        self.popen = subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL)

    def set_faults(self, rules: Sequence[Mapping[str, object]]) -> None:
        self.control("PUT", "faults", rules)

    def set_reports(self, shares: Mapping[str, object]) -> None:
        """How many recipients meet each outcome."""
        self.control("PUT", "reports", shares)

    def disturb_events(self, disturbances: Mapping[str, object]) -> None:
        self.control("PUT", "events", disturbances)

    def count_waiting_events(self) -> int:
        """Those that are still to be published, or delivered."""
        return int(self.control("GET", "events")["counts"]["waiting"])

    def count_queued(self) -> int:
        """Events that wait in a queue for our workers."""
        return 0

    def strikes(self) -> list[int]:
        """How often each rule has struck."""
        return [rule["strikes"] for rule in self.control("GET", "faults")]

    def taken(self) -> list[Taken]:
        """What the journal has, with the recipients that each message names."""
        if self.popen is None:
            return []
        return [self._read(entry) for entry in journal.read_mails(self.journal)]

    def end(self) -> None:
        if self.popen is not None:
            self.popen.kill()
            self.popen.wait()

    def control(self, method: str, name: str, document: object = None) -> Any:
        data = None if document is None else json.dumps(document).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/_fake/{name}", data=data, method=method
        )
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310  see above
            return json.load(answer)

    def _read(self, entry: Mapping[str, Any]) -> Taken:
        try_ = _read_try(self.read_reference(entry))
        message = (self.mails / f"{entry['message_id']}.eml").read_bytes()
        return Taken(
            DeliveryId(try_.stream_id, try_.position).text(),
            try_.try_number,
            entry["destination"][0],
            datetime.fromisoformat(entry["time"]),
            [name for name in smtp_server.inside(message).split(",") if name],
        )


def _name_delivery(reference: str) -> str:
    """The id of the delivery that a reference names, whichever try it was."""
    try_ = _read_try(reference)
    return DeliveryId(try_.stream_id, try_.position).text()


def _read_try(reference: str) -> DeliveryId:
    try_ = reading.parse_reference(reference)
    assert try_ is not None
    return try_
