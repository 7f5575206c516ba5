"""A program that asks for mail over HTTP and writes down every id it was promised."""

import http.client
import json
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from tools.drill import smtp_server

_PATIENCE = 5.0
_TAKEN = 202


@dataclass
class Customer:
    """Repeats a request with its key until it is answered: the same mail, however often asked."""

    url: str
    token: str
    promised: list[str] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    pause: float = 0.05
    words: tuple[str, ...] = ("",)  # dealt out before the names, for the server to read
    asked: Callable[[], None] = lambda: None  # called before each mail is asked for first
    _goes_on: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _numbers: "count[int]" = field(default_factory=count)

    def start(self) -> None:
        self._goes_on.set()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._goes_on.clear()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while self._goes_on.is_set():
            number = next(self._numbers)
            address = f"{self.words[number % len(self.words)]}s{number}@drill.example"
            self.asked()
            while not self._ask(address) and self._goes_on.is_set():
                time.sleep(0.2)
            time.sleep(self.pause)

    def _ask(self, address: str) -> bool:
        words = f"Thanks {smtp_server.mark(address)}"
        body = {"to": address, "subject": "Order", "html": f"<p>{words}</p>", "text": words}
        request = urllib.request.Request(  # noqa: S310  our own server
            f"{self.url}/v1/email/send",
            data=json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
                "Idempotency-Key": address,
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE) as response:  # noqa: S310  see above
                answer = json.load(response)
        except urllib.error.HTTPError as error:
            self.answers[str(error.code)] += 1
            return False
        except (OSError, http.client.HTTPException):
            self.answers["no answer"] += 1
            return False
        self.answers[str(response.status)] += 1
        if response.status == _TAKEN:
            self.promised.append(str(answer["id"]))
        return True
