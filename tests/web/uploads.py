"""Files that programs upload, and a worker that does what is due."""

from typing import Any
from urllib.parse import urlencode

from django.test import Client

from postledger.imports import worker_jobs
from tests.web.callers import Caller, Reply, reply

CSV = "text/csv"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PEOPLE = b"Mail,name,=city\nr1@example.com,Ann,Porto\nnobody,Bob,\nR1@example.com,Ann,\n"
MAPPING = {"Mail": "email", "=city": "attributes.city"}

WANTED = {"mapping": MAPPING, "list": "news"}


def bring(who: Caller, content: bytes, kind: str = CSV, **questions: str) -> Reply:
    path = f"/v1/imports?{urlencode(questions)}"
    headers = {"Authorization": f"Bearer {who.token}"}
    return reply(Client().generic("POST", path, content, kind, headers=headers))


def bring_import(who: Caller, content: bytes = PEOPLE) -> int:
    return int(bring(who, content, file_name="people.csv").body["id"])


def work() -> None:
    """Does everything that is due, as a worker would."""
    while worker_jobs.do_next_job(lambda: False):
        pass


def read_import(who: Caller, number: int) -> Any:
    return who.get(f"/v1/imports/{number}").body
