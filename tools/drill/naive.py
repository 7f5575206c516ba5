"""Dispatchers as they are often written, to show that the drill notices what they do.

`python -m tools.drill.naive KIND FILE PORT`: "save-after" sends a mail and then saves that it
was sent; "requeue" marks it first and sends again what has been marked for long without a result;
"swap" hands two mails over to each other's recipients; "give-up" fails every third mail untried.
"""

import smtplib
import sqlite3
import sys
import time
from contextlib import closing
from email.message import EmailMessage
from pathlib import Path

from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId
from tools.drill.records import Booked

STREAM = 1
_REQUEUE_AFTER = 0.5


def plan(file: Path, mails: int, *, prefix: str = "n") -> None:
    """Writes the books anew: numbers that were given out before come again."""
    with closing(sqlite3.connect(file, timeout=10)) as books, books:
        books.execute("PRAGMA journal_mode = WAL")
        books.execute(
            "CREATE TABLE IF NOT EXISTS mail"
            " (id INTEGER PRIMARY KEY, address TEXT, state TEXT, since REAL)"
        )
        books.execute("DELETE FROM mail")
        books.executemany(
            "INSERT INTO mail VALUES (?, ?, 'waiting', 0)",
            [(number, f"{prefix}{number}@drill.example") for number in range(mails)],
        )


def ledger(file: Path) -> dict[str, Booked]:
    with closing(sqlite3.connect(file, timeout=10)) as books:
        return {
            DeliveryId(STREAM, number).text(): Booked(address, _state(state))
            for number, address, state in books.execute("SELECT id, address, state FROM mail")
        }


def _state(name: str) -> State:
    """What it is sending has no result yet."""
    return State.WAITING if name == "sending" else State(name)


class Naive:
    def __init__(self, kind: str, file: Path, port: int) -> None:
        self._kind = kind
        self._books = sqlite3.connect(file, timeout=10, isolation_level=None)
        self._server = smtplib.SMTP("127.0.0.1", port)

    def run(self) -> None:
        while True:
            mail = self._next()
            if mail is None:
                time.sleep(0.05)
            else:
                self._carry(*mail)

    def _carry(self, number: int, address: str) -> None:
        if self._kind == "give-up" and number % 3 == 0:
            self._save(number, "failed")
            return
        recipient = address
        if self._kind == "swap":
            recipient = address.replace(str(number), str(number ^ 1))
        self._send(number, address, recipient)
        self._save(number, "accepted")

    def _save(self, number: int, state: str) -> None:
        self._books.execute("UPDATE mail SET state = ? WHERE id = ?", [state, number])

    def _next(self) -> tuple[int, str] | None:
        if self._kind == "requeue":
            self._books.execute(
                "UPDATE mail SET state = 'waiting' WHERE state = 'sending' AND since < ?",
                [time.time() - _REQUEUE_AFTER],
            )
            statement = (
                "UPDATE mail SET state = 'sending', since = ? WHERE id ="
                " (SELECT min(id) FROM mail WHERE state = 'waiting') RETURNING id, address"
            )
            row = self._books.execute(statement, [time.time()]).fetchone()
        else:
            statement = "SELECT id, address FROM mail WHERE state = 'waiting' ORDER BY id LIMIT 1"
            row = self._books.execute(statement).fetchone()
        return None if row is None else (row[0], row[1])

    def _send(self, number: int, address: str, recipient: str) -> None:
        message = EmailMessage()
        message["To"], message["From"] = address, "news@acme.example"
        message["X-Postledger-Id"] = DeliveryId(STREAM, number, 1).text()
        message.set_content("News")
        self._server.send_message(message, to_addrs=[recipient])


if __name__ == "__main__":
    Naive(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])).run()
