"""Reads and writes the table `subscribers` of a Supabase project, by PostgREST's protocol.

The key is given to the line and to nobody else: no refusal, log line or traceback shows it.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeGuard

import httpx

from postledger.contacts.supabase import refusals, troubles
from postledger.contacts.supabase.troubles import Trouble

type Record = Mapping[str, object]

PAGE = 1_000  # the most that a project answers with, unless it is set otherwise

_TABLE = "rest/v1/subscribers"
_COLUMNS = "email,status,bounce_type,bounce_subtype,status_updated_at,from_name"
_PAUSES = (1.0, 2.0, 4.0)


@contextmanager
def connect(
    url: str,
    key: str,
    *,
    sleep: Callable[[float], None] = time.sleep,
    seconds: float = 30.0,
) -> Iterator["Subscribers"]:
    """The table for as long as the block lasts; `seconds` is how long one answer may take."""
    key = _checked(key)
    headers = {"apikey": key, "Authorization": f"Bearer {key}", "Accept": "application/json"}
    with httpx.Client(base_url=url, headers=headers, timeout=seconds) as line:
        yield Subscribers(line, sleep)


class Subscribers:
    def __init__(self, line: httpx.Client, sleep: Callable[[float], None]) -> None:
        self._line = line
        self._sleep = sleep

    def after(self, email: str, *, limit: int = PAGE) -> list[Record]:
        """The next rows in the order of their emails; none when that was the last one.

        Fewer than asked for does not mean the end: a project may answer with less at a time.
        """
        query = {
            "select": _COLUMNS,
            "email": f"gt.{email}",
            "order": "email.asc",
            "limit": str(limit),
        }
        return self._insist(lambda: self._ask("GET", query))

    def change(self, seen: Record, values: Record) -> bool:
        """Writes to a row if it still is as it was seen; says whether it was."""
        query = {
            "select": "email",
            "email": f"eq.{seen['email']}",
            "status": _same(seen.get("status")),
            "status_updated_at": _same(seen.get("status_updated_at")),
        }
        return bool(self._insist(lambda: self._ask("PATCH", query, values)))

    def _insist(self, ask: Callable[[], list[Record] | Trouble]) -> list[Record]:
        pauses = iter(_PAUSES)
        while isinstance(answer := ask(), Trouble):
            pause = answer.pause(next(pauses, None))
            if pause is None:
                raise answer.refusal
            self._sleep(pause)
        return answer

    def _ask(
        self, method: str, query: dict[str, str], body: Record | None = None
    ) -> list[Record] | Trouble:
        headers = {} if body is None else {"Prefer": "return=representation"}
        try:
            answer = self._line.request(method, _TABLE, params=query, json=body, headers=headers)
            found = answer.json() if answer.is_success else None
        except httpx.HTTPError as error:
            return troubles.silence(type(error).__name__)
        except ValueError:
            return troubles.silence("its answer is not JSON")
        if found is None:
            wait = answer.headers.get("retry-after", "")
            return troubles.of_status(answer.status_code, retry_after=wait)
        return found if _are_rows(found) else troubles.silence("its answer is no list of rows")


def _are_rows(found: object) -> TypeGuard[list[Record]]:
    """Without the email of its last row, nobody could ask for the next page."""
    return isinstance(found, list) and all(
        isinstance(row, dict) and isinstance(row.get("email"), str) and row["email"]
        for row in found
    )


def _same(value: object) -> str:
    return "is.null" if value is None else f"eq.{value}"


def _checked(key: str) -> str:
    """What cannot be a header would be quoted, secret and all, by the library that refuses it."""
    key = key.strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise refusals.UnauthorizedError(
            "The key of the service role is no usable one: it is empty, or holds characters that no"
            " key has. Copy it from the project's settings to a file again, and run"
            f" {refusals.SET_KEY}."
        )
    return key
