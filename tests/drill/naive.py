"""Two dispatchers as they are often written, to show that the drill notices what they do.

`python -m tests.drill.naive KIND FILE PORT`: "save-after" sends a mail and then saves that it
was sent; "requeue" marks it first and sends again what has been marked for long without a result.
"""

import smtplib
import sqlite3
import sys
import time
from contextlib import closing
from email.message import EmailMessage
from pathlib import Path

from postledger.lib.ids import DeliveryId
from postledger.workers.drill.oracle import Booked

STREAM = 1
_REQUEUE_AFTER = 0.5


def plan(file: Path, mails: int) -> None:
    with closing(sqlite3.connect(file)) as books, books:
        books.execute("PRAGMA journal_mode = WAL")
        books.execute("CREATE TABLE mail (id INTEGER PRIMARY KEY, state TEXT, since REAL)")
        books.executemany("INSERT INTO mail VALUES (?, 'waiting', 0)", [(n,) for n in range(mails)])


def ledger(file: Path) -> dict[str, Booked]:
    with closing(sqlite3.connect(file)) as books:
        return {
            DeliveryId(STREAM, number).text(): Booked(_address(number), state)
            for number, state in books.execute("SELECT id, state FROM mail")
        }


def _address(number: int) -> str:
    return f"n{number}@drill.example"


class Naive:
    def __init__(self, kind: str, file: Path, port: int) -> None:
        self._kind = kind
        self._books = sqlite3.connect(file, timeout=10, isolation_level=None)
        self._server = smtplib.SMTP("127.0.0.1", port)

    def run(self) -> None:
        while True:
            number = self._next()
            if number is None:
                time.sleep(0.05)
            else:
                self._send(number)
                self._books.execute("UPDATE mail SET state = 'accepted' WHERE id = ?", [number])

    def _next(self) -> int | None:
        if self._kind == "requeue":
            self._books.execute(
                "UPDATE mail SET state = 'waiting' WHERE state = 'sending' AND since < ?",
                [time.time() - _REQUEUE_AFTER],
            )
            statement = (
                "UPDATE mail SET state = 'sending', since = ? WHERE id ="
                " (SELECT min(id) FROM mail WHERE state = 'waiting') RETURNING id"
            )
            row = self._books.execute(statement, [time.time()]).fetchone()
        else:
            row = self._books.execute("SELECT min(id) FROM mail WHERE state = 'waiting'").fetchone()
        return None if row is None else row[0]

    def _send(self, number: int) -> None:
        message = EmailMessage()
        message["To"], message["From"] = _address(number), "news@acme.example"
        message["X-Postledger-Id"] = DeliveryId(STREAM, number, 1).text()
        message.set_content("News")
        self._server.send_message(message)


if __name__ == "__main__":
    Naive(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])).run()
